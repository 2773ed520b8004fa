//! Neighbours: documents within a number of steps from a document.

use std::collections::{BTreeMap, BTreeSet};

use super::{Catalog, Edge, Incoming, outgoing};
use crate::text::document::links::LinkKind;
use crate::values::model::id::DocumentId;

/// Direction in which edges are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To documents that refer to this one: backlinks.
    In,
    /// To documents that this one refers to.
    Out,
    /// Both directions.
    Both,
}

/// Limits and filters of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    /// Maximum number of steps.
    pub(crate) hops: usize,
    pub(crate) direction: Direction,
    /// Kind of the edges that are followed; `None` for every kind.
    pub(crate) kind: Option<LinkKind>,
    /// Maximum number of neighbours.
    pub(crate) limit: usize,
}

/// A document that was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Neighbor {
    pub(crate) id: DocumentId,
    /// Fewest steps to the document.
    pub(crate) hops: usize,
    /// Edges that reached it, from documents one step nearer.
    pub(crate) via: BTreeSet<Edge>,
}

/// Result of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Neighborhood {
    /// Neighbours, nearest first, equally near ones in byte order, without the start.
    pub(crate) neighbors: Vec<Neighbor>,
    /// True if there are more neighbours than the limit.
    pub(crate) truncated: bool,
}

/// Walks from a document, breadth first.
pub(crate) fn neighbors(catalog: &impl Catalog, start: &DocumentId, walk: &Walk) -> Neighborhood {
    let mut found = Neighborhood::default();
    let mut seen = BTreeSet::from([start.clone()]);
    let mut frontier = vec![start.clone()];
    let incoming = Incoming::new(catalog);
    for hops in 1..=walk.hops {
        let mut reached: BTreeMap<DocumentId, BTreeSet<Edge>> = BTreeMap::new();
        for id in &frontier {
            for edge in edges_of(catalog, &incoming, id, walk) {
                let other = if edge.from == *id { &edge.to } else { &edge.from };
                if !seen.contains(other) {
                    reached.entry(other.clone()).or_default().insert(edge);
                }
            }
        }
        frontier = Vec::with_capacity(reached.len());
        for (id, via) in reached {
            if found.neighbors.len() == walk.limit {
                found.truncated = true;
                return found;
            }
            seen.insert(id.clone());
            frontier.push(id.clone());
            found.neighbors.push(Neighbor { id, hops, via });
        }
        if frontier.is_empty() {
            break;
        }
    }
    found
}

fn edges_of<C: Catalog>(
    catalog: &C,
    incoming: &Incoming<'_, C>,
    id: &DocumentId,
    walk: &Walk,
) -> BTreeSet<Edge> {
    let mut edges = BTreeSet::new();
    if walk.direction != Direction::In {
        edges.extend(outgoing(catalog, id));
    }
    if walk.direction != Direction::Out {
        edges.extend(incoming.of(id));
    }
    edges.retain(|edge| walk.kind.is_none_or(|kind| kind == edge.kind));
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::vault::site::SiteLinks;
    use crate::read::graph::memory::Memory;
    use crate::read::graph::rank::hubs;
    use crate::read::graph::{Mention, edges};
    use crate::text::document::links::LinkTarget;
    use proptest::prelude::*;

    fn id(text: &str) -> DocumentId {
        text.parse().unwrap()
    }

    /// Makes a catalog of lines `from kind target`; `?name` is a wikilink.
    fn catalog(ids: &[&str], lines: &[(&str, LinkKind, &str)]) -> Memory {
        let mut documents: BTreeMap<DocumentId, BTreeSet<Mention>> =
            ids.iter().map(|text| (id(text), BTreeSet::new())).collect();
        for (from, kind, target) in lines {
            let target = match target.strip_prefix('?') {
                Some(name) => LinkTarget::Name(name.to_owned()),
                None => LinkTarget::Document((*target).to_owned()),
            };
            let mention = Mention { kind: *kind, target };
            documents.get_mut(&id(from)).unwrap().insert(mention);
        }
        Memory::new(documents, SiteLinks::default())
    }

    fn walked(catalog: &Memory, start: &str, walk: Walk) -> String {
        let found = neighbors(catalog, &id(start), &walk);
        let lines = found.neighbors.iter().map(|n| {
            let via = n.via.iter().map(|e| format!("{}>{}", e.from, e.to)).collect::<Vec<_>>();
            format!("{} {} {}", n.hops, n.id, via.join(" "))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    const ALL: Walk = Walk { hops: 9, direction: Direction::Both, kind: None, limit: 100 };

    #[test]
    fn neighbors_come_nearest_first_with_their_edges() {
        use LinkKind::{DerivedFrom, Reference};
        let lines = [
            ("a", Reference, "b"),
            ("a", Reference, "?n"),
            ("b", DerivedFrom, "x/n"),
            ("c", Reference, "a"),
            ("c", Reference, "c"),
            ("a", Reference, "gone"),
        ];
        let vault = catalog(&["a", "b", "c", "x/n", "y"], &lines);
        insta::assert_snapshot!(walked(&vault, "a", ALL), @"
        1 b a>b
        1 c c>a
        1 x/n a>x/n
        ");
        insta::assert_snapshot!(walked(&vault, "x/n", Walk { direction: Direction::In, ..ALL }), @"
        1 a a>x/n
        1 b b>x/n
        2 c c>a
        ");
        let origins = Walk { kind: Some(DerivedFrom), ..ALL };
        assert_eq!(walked(&vault, "b", origins), "1 x/n b>x/n");
        let two = neighbors(&vault, &id("a"), &Walk { limit: 2, ..ALL });
        assert!(two.truncated && two.neighbors.len() == 2);
        let ranked: Vec<(String, usize)> =
            hubs(&vault, 2).into_iter().map(|hub| (hub.id.to_string(), hub.degree)).collect();
        assert_eq!(ranked, [("a".to_owned(), 1), ("b".to_owned(), 1)]);
    }

    proptest! {
        #[test]
        fn a_walk_reaches_what_naive_joining_reaches(
            pairs in prop::collection::vec((0..6_u8, 0..6_u8), 0..14),
            start in 0..6_u8,
            hops in 0..5_usize,
            way in 0..3_usize,
        ) {
            let names: Vec<String> = (0..6).map(|n| format!("d/{n}")).collect();
            let ids: Vec<&str> = names.iter().map(String::as_str).collect();
            let lines: Vec<(&str, LinkKind, &str)> = pairs
                .iter()
                .map(|(a, b)| (ids[usize::from(*a)], LinkKind::Reference, ids[usize::from(*b)]))
                .collect();
            let vault = catalog(&ids, &lines);
            let direction = [Direction::In, Direction::Out, Direction::Both][way];
            let start = id(ids[usize::from(start)]);
            let mut near = BTreeMap::from([(start.clone(), 0)]);
            for hop in 1..=hops {
                for edge in edges(&vault) {
                    let mut steps = Vec::new();
                    if direction != Direction::In { steps.push((&edge.from, &edge.to)); }
                    if direction != Direction::Out { steps.push((&edge.to, &edge.from)); }
                    for (from, to) in steps {
                        if near.get(from).is_some_and(|n| *n < hop) && !near.contains_key(to) {
                            near.insert(to.clone(), hop);
                        }
                    }
                }
            }
            near.remove(&start);
            let walk = Walk { hops, direction, kind: None, limit: 100 };
            let found = neighbors(&vault, &start, &walk).neighbors;
            // A walk with a lower limit is a prefix of it, so its pages are its parts.
            for limit in 0..=found.len() {
                let part = neighbors(&vault, &start, &Walk { limit, ..walk });
                prop_assert_eq!(&part.neighbors, &found[..limit]);
                prop_assert_eq!(part.truncated, limit < found.len());
            }
            let order: Vec<(usize, &DocumentId)> = found.iter().map(|n| (n.hops, &n.id)).collect();
            prop_assert!(order.is_sorted());
            let found: BTreeMap<DocumentId, usize> = found.iter().map(|n| (n.id.clone(), n.hops)).collect();
            prop_assert_eq!(found, near);
        }
    }
}
