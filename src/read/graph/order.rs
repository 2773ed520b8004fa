//! Dependencies of sources: the order in which sources are hydrated, and cycles, which prevent such
//! an order (paper, section 10.2). All functions are iterative, because a chain of dependencies may
//! be long.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::text::document::Document;
use crate::text::document::frontmatter::Frontmatter;
use crate::text::document::links;
use crate::text::document::validate::{Problem, Severity};
use crate::values::model::id::DocumentId;

/// Dependencies of each source. A source without an entry depends on nothing.
pub(crate) type Dependencies = BTreeMap<DocumentId, BTreeSet<DocumentId>>;

/// Sources that wait for each other: each depends on the next one, and the last on the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cycle(Vec<DocumentId>);

/// Maximum number of sources of a cycle that are printed.
const SHOWN: usize = 20;

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for id in self.0.iter().take(SHOWN) {
            write!(f, "{id} -> ")?;
        }
        if self.0.len() > SHOWN {
            write!(f, "({} more) -> ", self.0.len() - SHOWN)?;
        }
        self.0.first().map_or(Ok(()), |id| write!(f, "{id}"))
    }
}

impl Cycle {
    /// Returns the problem of a source in the cycle.
    pub(crate) fn problem(&self, line: Option<usize>) -> Problem {
        Problem {
            code: "dependency-cycle",
            severity: Severity::Error,
            line,
            message: format!("sources depend on each other: {self}"),
            hint: "remove one of these from `source.depends_on`".into(),
        }
    }
}

/// Returns the problem of a source that depends on a document that is not a source.
pub(crate) fn not_a_source(other: &DocumentId, line: Option<usize>) -> Problem {
    Problem {
        code: "dependency-kind",
        severity: Severity::Error,
        line,
        message: format!("`source.depends_on` names `{other}`, which is not a source"),
        hint: "remove it: a link in the text is enough, or set `type: source` there".into(),
    }
}

/// Returns the problem of a source whose text links another source that it does not depend on.
pub(crate) fn unlisted(other: &DocumentId, line: usize) -> Problem {
    Problem {
        code: "dependency-unlisted",
        severity: Severity::Warning,
        line: Some(line),
        message: format!("the text links the source `{other}`, which it does not depend on"),
        hint: format!("add `contextnest://{other}` to `source.depends_on` if its result is used")
            .into(),
    }
}

/// Returns the dependencies in the frontmatter of a source; empty for other documents.
pub(crate) fn needed(id: &DocumentId, fields: &Frontmatter) -> BTreeSet<DocumentId> {
    links::dependencies(id, fields).iter().filter_map(|link| link.target.document()).collect()
}

/// Returns the dependencies in the text of a source; `None` if the text cannot be parsed.
pub(crate) fn needed_by_text(id: &DocumentId, text: &str) -> Option<BTreeSet<DocumentId>> {
    Some(needed(id, &Document::parse(text).ok()?.frontmatter))
}

/// Returns everything that `starts` depend on, directly or indirectly. `of` returns the
/// dependencies of one source.
pub(crate) fn closure(
    starts: impl IntoIterator<Item = DocumentId>,
    mut of: impl FnMut(&DocumentId) -> BTreeSet<DocumentId>,
) -> Dependencies {
    let mut open: Vec<DocumentId> = starts.into_iter().collect();
    let mut found = Dependencies::new();
    while let Some(id) = open.pop() {
        if !found.contains_key(&id) {
            let needed = of(&id);
            open.extend(needed.iter().filter(|id| !found.contains_key(*id)).cloned());
            found.insert(id, needed);
        }
    }
    found
}

/// Returns the order in which `wanted` sources are hydrated: each after those it depends on, even
/// through a source that is not wanted. If several may come next, the smallest in byte order does.
/// Sources without such an order come last, in byte order.
pub(crate) fn hydration_order(
    dependencies: &Dependencies,
    wanted: &BTreeSet<DocumentId>,
) -> Vec<DocumentId> {
    let mut waiting: BTreeMap<&DocumentId, usize> = BTreeMap::new();
    let mut dependents: BTreeMap<&DocumentId, Vec<&DocumentId>> = BTreeMap::new();
    for id in wanted {
        waiting.entry(id).or_insert(0);
    }
    for (id, needed) in dependencies {
        *waiting.entry(id).or_insert(0) += needed.len();
        for other in needed {
            waiting.entry(other).or_insert(0);
            dependents.entry(other).or_default().push(id);
        }
    }
    // Unwanted sources go first, so that they never decide between two wanted ones.
    let key = |id| (wanted.contains(id), id);
    let mut ready: BTreeSet<(bool, &DocumentId)> =
        waiting.iter().filter(|(_, n)| **n == 0).map(|(id, _)| key(*id)).collect();
    let mut order = Vec::with_capacity(wanted.len());
    while let Some((is_wanted, id)) = ready.pop_first() {
        if is_wanted {
            order.push(id.clone());
        }
        for dependent in dependents.remove(id).into_iter().flatten() {
            if let Some(left) = waiting.get_mut(dependent) {
                *left -= 1;
                if *left == 0 {
                    ready.insert(key(dependent));
                }
            }
        }
    }
    let done: BTreeSet<DocumentId> = order.iter().cloned().collect();
    order.extend(wanted.difference(&done).cloned());
    order
}

/// Returns the groups of sources that wait for each other, directly or indirectly (strongly
/// connected components), in byte order of their smallest source.
pub(crate) fn cyclic_groups(dependencies: &Dependencies) -> Vec<BTreeSet<DocumentId>> {
    let mut graph = DiGraph::<&DocumentId, (), usize>::default();
    let mut nodes: BTreeMap<&DocumentId, NodeIndex<usize>> = BTreeMap::new();
    for (id, needed) in dependencies {
        let from = *nodes.entry(id).or_insert_with(|| graph.add_node(id));
        for other in needed {
            let to = *nodes.entry(other).or_insert_with(|| graph.add_node(other));
            graph.add_edge(from, to, ());
        }
    }
    // Kosaraju's algorithm has its own stack; a long chain would overflow that of a recursive one.
    let components = kosaraju_scc(&graph).into_iter();
    let is_cyclic = |nodes: &Vec<NodeIndex<usize>>| {
        nodes.len() > 1 || nodes.iter().any(|node| graph.contains_edge(*node, *node))
    };
    let ids = |nodes: Vec<NodeIndex<usize>>| nodes.into_iter().map(|n| graph[n].clone()).collect();
    let mut groups: Vec<BTreeSet<DocumentId>> = components.filter(is_cyclic).map(ids).collect();
    groups.sort();
    groups
}

/// Returns a shortest cycle through one source of a cyclic group.
pub(crate) fn cycle(
    dependencies: &Dependencies,
    group: &BTreeSet<DocumentId>,
    through: &DocumentId,
) -> Cycle {
    let mut before: BTreeMap<&DocumentId, &DocumentId> = BTreeMap::new();
    let mut open = VecDeque::from([through]);
    while let Some(id) = open.pop_front() {
        for next in dependencies.get(id).into_iter().flatten().filter(|id| group.contains(*id)) {
            if next == through {
                let mut path = vec![id];
                while let Some(previous) = path.last().and_then(|id| before.get(id)) {
                    path.push(previous);
                }
                return Cycle(path.into_iter().rev().cloned().collect());
            }
            if !before.contains_key(next) {
                before.insert(next, id);
                open.push_back(next);
            }
        }
    }
    Cycle(vec![through.clone()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(pairs: &[(&str, &str)]) -> Dependencies {
        let mut found = Dependencies::new();
        for (from, to) in pairs {
            found.entry(from.parse().unwrap()).or_default().insert(to.parse().unwrap());
        }
        found
    }

    fn ids(text: &str) -> BTreeSet<DocumentId> {
        text.split(' ').map(|id| id.parse().unwrap()).collect()
    }

    fn order(pairs: &[(&str, &str)], wanted: &str) -> String {
        let order = hydration_order(&of(pairs), &ids(wanted));
        order.iter().map(DocumentId::as_str).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn dependencies_come_first_and_byte_order_decides_the_rest() {
        assert_eq!(order(&[("a", "c"), ("b", "a")], "a b c d"), "c a b d");
        assert_eq!(order(&[("a", "x"), ("x", "c")], "a b c"), "b c a", "by way of another");
        assert_eq!(order(&[("b", "zz")], "a b z"), "a b z", "what is not wanted decides nothing");
        assert_eq!(order(&[("b", "a"), ("a", "b"), ("c", "b")], "a b c d"), "d a b c");
    }

    #[test]
    fn a_cycle_is_found_and_printed() {
        let found = of(&[("b", "c"), ("c", "a"), ("a", "b"), ("c", "d"), ("e", "e"), ("a", "c")]);
        let printed: Vec<String> = cyclic_groups(&found)
            .iter()
            .map(|group| cycle(&found, group, group.first().unwrap()).to_string())
            .collect();
        assert_eq!(printed, ["a -> c -> a", "e -> e"]);
        let group = ids("a b c");
        assert_eq!(cycle(&found, &group, &"b".parse().unwrap()).to_string(), "b -> c -> a -> b");
    }

    #[test]
    fn order_handles_a_long_chain_without_recursion() {
        let name = |n: usize| -> DocumentId { format!("s/{n:06}").parse().unwrap() };
        let next = |id: &DocumentId| -> BTreeSet<DocumentId> {
            let n: usize = id.as_str()[2..].parse().unwrap();
            BTreeSet::from([name((n + 1) % 50_000)])
        };
        let found = closure([name(0)], next);
        assert_eq!(found.len(), 50_000);
        let cyclic_groups = cyclic_groups(&found);
        assert_eq!(cyclic_groups[0].len(), 50_000);
        let printed = cycle(&found, &cyclic_groups[0], &name(7)).to_string();
        assert!(printed.ends_with("s/000026 -> (49980 more) -> s/000007"), "{printed}");
        assert_eq!(hydration_order(&found, &BTreeSet::from([name(7)])), [name(7)]);
    }

    fn graphs() -> impl Strategy<Value = Dependencies> {
        let pairs = prop::collection::vec((0..7_u8, 0..7_u8), 0..12);
        pairs.prop_map(|pairs| {
            let mut found = Dependencies::new();
            for (from, to) in pairs {
                let id = |n: u8| -> DocumentId { format!("s{n}").parse().unwrap() };
                found.entry(id(from)).or_default().insert(id(to));
            }
            found
        })
    }

    /// Returns the sources that each source reaches, by repeated joining.
    fn reachable(found: &Dependencies) -> Dependencies {
        let mut all = found.clone();
        loop {
            let mut next = all.clone();
            for needed in next.values_mut() {
                let more = needed.iter().filter_map(|id| all.get(id)).flatten().cloned();
                let more: BTreeSet<DocumentId> = more.collect();
                needed.extend(more);
            }
            if next == all {
                return all;
            }
            all = next;
        }
    }

    proptest! {
        #[test]
        fn an_order_respects_every_path(found in graphs(), wanted in prop::collection::btree_set(0..7_u8, 0..7)) {
            let wanted: BTreeSet<DocumentId> = wanted.iter().map(|n| format!("s{n}").parse().unwrap()).collect();
            let order = hydration_order(&found, &wanted);
            prop_assert_eq!(&order.iter().cloned().collect::<BTreeSet<DocumentId>>(), &wanted);
            prop_assert_eq!(order.len(), wanted.len());
            let reach = reachable(&found);
            let waits = |id: &DocumentId| reach.get(id).into_iter().flatten().any(|to| {
                reach.get(to).is_some_and(|back| back.contains(to))
            });
            let place = |id: &DocumentId| order.iter().position(|other| other == id);
            for (from, needed) in &reach {
                for to in needed.iter().filter(|to| !waits(from) && *to != from) {
                    if let (Some(from), Some(to)) = (place(from), place(to)) {
                        prop_assert!(to < from, "{order:?}");
                    }
                }
            }
        }

        #[test]
        fn a_cyclic_group_reaches_itself(found in graphs()) {
            let reach = reachable(&found);
            let cyclic: BTreeSet<DocumentId> = cyclic_groups(&found).into_iter().flatten().collect();
            let looped = reach.iter().filter(|(id, to)| to.contains(*id)).map(|(id, _)| id.clone());
            prop_assert_eq!(&cyclic, &looped.collect::<BTreeSet<DocumentId>>());
            for group in cyclic_groups(&found) {
                for id in &group {
                    let Cycle(path) = cycle(&found, &group, id);
                    let next = path.iter().cycle().skip(1);
                    for (from, to) in path.iter().zip(next) {
                        prop_assert!(found[from].contains(to));
                    }
                }
            }
        }
    }
}
