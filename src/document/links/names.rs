//! Names in wikilinks: which document one of them means among those that it may mean
//! (`spec/graph.md`, GRAPH-10).
//!
//! An attacker gives many documents one name and links to it many times. So a name is not compared
//! with each document: [`Names`] orders the documents by their last segments once, and finds the
//! group that ends in a name by binary search.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::OnceLock;

use crate::document::id::{Id, fold};

use super::last_segment;

/// Where a name leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved<'i> {
    /// The document that is meant.
    pub id: &'i Id,
    /// How many others fit as well, where only byte order decided: then the name is ambiguous.
    pub others: usize,
}

/// Documents that names may mean: those whose last segments fold to one text, or more.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// In byte order, each once.
    ids: Vec<Id>,
    /// Made when a name is first resolved: most groups are never asked.
    order: OnceLock<Order>,
}

/// The documents in the orders that names are looked up in, as places in [`Names::ids`].
#[derive(Clone, Debug)]
struct Order {
    folded: Vec<String>,
    exact: ByEnd,
    similar: ByEnd,
    /// By folder, then in byte order.
    by_folder: Vec<usize>,
}

impl Names {
    /// Takes in documents, in any order.
    pub fn new(mut ids: Vec<Id>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        Self { ids, order: OnceLock::new() }
    }

    /// Resolves the name in a wikilink of `from`. The documents must be at least those whose last
    /// segment folds to that of the name.
    ///
    /// An id that equals the name wins, then ids that end in it, then ids that do so apart from
    /// case. Of several, the one in the folder of `from` is meant, else the least in byte order.
    pub fn resolve(&self, name: &str, from: &Id) -> Option<Resolved<'_>> {
        let Self { ids, order } = self;
        if let Ok(n) = ids.binary_search_by(|id| id.as_str().cmp(name)) {
            return Some(Resolved { id: &ids[n], others: 0 });
        }
        let Order { folded, exact, similar, by_folder } = order.get_or_init(|| Order::of(ids));
        let here = folder(from.as_str());
        let fits = exact.range(name, |n| ids[n].as_str());
        if !fits.is_empty() {
            let beside = format!("{here}{}", last_segment(name));
            let beside = Some(beside).filter(|beside| ends_in(beside, name));
            let beside = beside.and_then(|b| ids.binary_search_by(|id| id.as_str().cmp(&b)).ok());
            return resolved(ids, beside, exact, fits);
        }
        let name = fold(name);
        let fits = similar.range(&name, |n| folded[n].as_str());
        let first = by_folder.partition_point(|n| folder(ids[*n].as_str()) < here);
        let beside = by_folder[first..].iter().copied();
        let beside = beside.take_while(|n| folder(ids[*n].as_str()) == here);
        let beside = beside.into_iter().find(|n| ends_in(&folded[*n], &name));
        resolved(ids, beside, similar, fits)
    }
}

fn resolved<'i>(
    ids: &'i [Id],
    beside: Option<usize>,
    order: &ByEnd,
    fits: Range<usize>,
) -> Option<Resolved<'i>> {
    let (place, others) = match beside {
        Some(place) => (place, 0),
        None => (order.least(&fits)?, fits.len() - 1),
    };
    ids.get(place).map(|id| Resolved { id, others })
}

impl Order {
    fn of(ids: &[Id]) -> Self {
        let folded: Vec<String> = ids.iter().map(Id::folded).collect();
        let exact = ByEnd::of(ids.len(), |n| ids[n].as_str());
        let similar = ByEnd::of(ids.len(), |n| folded[n].as_str());
        let mut by_folder: Vec<usize> = (0..ids.len()).collect();
        by_folder.sort_by_key(|n| folder(ids[*n].as_str()));
        Self { folded, exact, similar, by_folder }
    }
}

/// Places of texts in the order of their segments, the last one first: texts that end in the same
/// segments are neighbours.
#[derive(Clone, Debug)]
struct ByEnd {
    places: Vec<usize>,
    /// In line k the least place of each 2^k neighbours.
    least: Vec<Vec<usize>>,
}

impl ByEnd {
    fn of<'t>(count: usize, text: impl Fn(usize) -> &'t str) -> Self {
        let mut places: Vec<usize> = (0..count).collect();
        places.sort_by(|a, b| text(*a).rsplit('/').cmp(text(*b).rsplit('/')));
        let mut least = vec![places.clone()];
        for half in (0..).map(|k| 1_usize << k).take_while(|half| 2 * half <= count) {
            let below = &least[least.len() - 1];
            let pairs = below.iter().zip(&below[half..]);
            let line = pairs.map(|(a, b)| *a.min(b)).collect();
            least.push(line);
        }
        Self { places, least }
    }

    /// The texts whose last segments are those of a name.
    fn range<'t>(&self, name: &str, text: impl Fn(usize) -> &'t str) -> Range<usize> {
        let segments = name.split('/').count();
        let order = |n: usize| text(n).rsplit('/').take(segments).cmp(name.rsplit('/'));
        let from = self.places.partition_point(|n| order(*n) == Ordering::Less);
        let to = self.places.partition_point(|n| order(*n) != Ordering::Greater);
        from..to
    }

    /// The least place in a range.
    fn least(&self, range: &Range<usize>) -> Option<usize> {
        let k = range.len().checked_ilog2()?;
        let line = self.least.get(k as usize)?;
        let last = range.end - (1 << k);
        Some(*line.get(range.start)?.min(line.get(last)?))
    }
}

/// Whether the last segments of an id are those of a name.
fn ends_in(id: &str, name: &str) -> bool {
    id.strip_suffix(name).is_some_and(|above| above.is_empty() || above.ends_with('/'))
}

/// The folder of an id, with its final `/`; empty in the root.
pub(super) fn folder(id: &str) -> &str {
    id.rfind('/').map_or("", |n| &id[..=n])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(text: &str) -> Id {
        text.parse().unwrap()
    }

    /// GRAPH-10 as it reads: each document is compared with the name.
    fn compared<'i>(name: &str, from: &Id, ids: &'i [Id]) -> Option<(&'i Id, usize)> {
        if let Some(id) = ids.iter().find(|id| id.as_str() == name) {
            return Some((id, 0));
        }
        let same = ids.iter().filter(|id| ends_in(id.as_str(), name));
        let mut fits: Vec<&Id> = same.collect();
        if fits.is_empty() {
            fits.extend(ids.iter().filter(|id| ends_in(&id.folded(), &fold(name))));
        }
        fits.sort_unstable();
        fits.dedup();
        let here = folder(from.as_str());
        match fits.iter().find(|id| folder(id.as_str()) == here) {
            Some(id) => Some((id, 0)),
            None => Some((fits.first()?, fits.len() - 1)),
        }
    }

    #[test]
    fn a_name_leads_to_the_nearest_fit() {
        let names = Names::new(["a/Note", "b/note", "b/x/note", "c/Other", "note"].map(id).into());
        let resolve = |name: &str, from: &str| {
            names.resolve(name, &id(from)).map(|r| (r.id.to_string(), r.others))
        };
        let found = |id: &str, others| Some((id.to_owned(), others));
        assert_eq!(resolve("note", "z/from"), found("note", 0));
        assert_eq!(resolve("Note", "z/from"), found("a/Note", 0));
        assert_eq!(resolve("NOTE", "z/from"), found("a/Note", 3));
        assert_eq!(resolve("NOTE", "b/x/from"), found("b/x/note", 0));
        assert_eq!(resolve("NOTE", "from"), found("note", 0));
        assert_eq!(resolve("x/note", "from"), found("b/x/note", 0));
        assert_eq!(resolve("other", "from"), found("c/Other", 0));
        assert_eq!(resolve("ote", "from"), None);
    }

    proptest! {
        #[test]
        fn a_name_means_what_comparing_it_with_each_document_gives(
            ids in prop::collection::vec("([aAß]/){0,2}[aAß\u{e9}]{1,2}", 0..12),
            name in "([aAß]/){0,2}[aAß\u{e9}]{1,2}", from in "([aAß]/){0,2}x",
        ) {
            let ids: Vec<Id> = ids.iter().map(|text| id(text)).collect();
            let names = Names::new(ids.clone());
            let found = names.resolve(&name, &id(&from)).map(|r| (r.id, r.others));
            prop_assert_eq!(found, compared(&name, &id(&from), &ids));
        }
    }
}
