//! Names in wikilinks, and the documents that they resolve to (`spec/graph.md`, GRAPH-10).
//!
//! An attacker can give many documents one name and link to it many times. So a name is not
//! compared with each document: [`Names`] orders the documents by their last segments once, and
//! finds the group that ends in a name by binary search.

use std::ops::Range;
use std::sync::OnceLock;

use crate::values::model::id::{DocumentId, fold};

use super::last_segment;

/// The document that a name resolves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved<'i> {
    /// Resolved document.
    pub id: &'i DocumentId,
    /// Number of other matches if only byte order decided: then the name is ambiguous.
    pub others: usize,
}

/// Documents that names may resolve to: at least those whose last segments fold to the same text.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Ids in byte order, without duplicates.
    ids: Vec<DocumentId>,
    /// Order of the documents, computed at the first look-up, because most groups are never used.
    order: OnceLock<Order>,
}

/// The documents in the orders used for look-ups, as indexes into [`Names::ids`].
#[derive(Clone, Debug)]
struct Order {
    folded: Vec<String>,
    exact: ByEnd,
    similar: ByEnd,
    /// By folder, then in byte order: the length of the folder's path, and the index.
    by_folder: Vec<(usize, usize)>,
}

impl Names {
    /// Makes names of documents, in any order.
    pub fn new(mut ids: Vec<DocumentId>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        Self { ids, order: OnceLock::new() }
    }

    /// Resolves the name in a wikilink of `from`. The documents must include all whose last segment
    /// folds to that of the name.
    ///
    /// An id that equals the name has precedence, then ids that end in it, then ids that do so
    /// apart from case. Of several, the one in the folder of `from` is returned, else the first in
    /// byte order.
    pub fn resolve(&self, name: &str, from: &DocumentId) -> Option<Resolved<'_>> {
        let Self { ids, order } = self;
        if let Ok(n) = ids.binary_search_by(|id| id.as_str().cmp(name)) {
            return Some(Resolved { id: &ids[n], others: 0 });
        }
        let Order { folded, exact, similar, by_folder } = order.get_or_init(|| Order::of(ids));
        let here = folder(from.as_str());
        let fits = exact.range(name);
        if !fits.is_empty() {
            let beside = format!("{here}{}", last_segment(name));
            let beside = Some(beside).filter(|beside| ends_in(beside, name));
            let beside = beside.and_then(|b| ids.binary_search_by(|id| id.as_str().cmp(&b)).ok());
            return resolved(ids, beside, exact, fits);
        }
        let name = fold(name);
        let fits = similar.range(&name);
        let mut beside = in_folder(ids, by_folder, here).iter().map(|(_, n)| *n);
        let beside = beside.find(|n| ends_in(&folded[*n], &name));
        resolved(ids, beside, similar, fits)
    }

    /// Returns the document whose id differs from this one only in case, if there is exactly one.
    pub fn in_other_case(&self, id: &DocumentId) -> Option<&DocumentId> {
        let Self { ids, order } = self;
        let similar = &order.get_or_init(|| Order::of(ids)).similar;
        let folded = from_the_end(&id.folded());
        let first = similar.keys.partition_point(|key| *key < folded);
        let is_alike = |n| similar.keys.get(n) == Some(&folded);
        let place = *similar.least[0].get(first)?;
        ids.get(place).filter(|_| is_alike(first) && !is_alike(first + 1))
    }

    /// Resolves a text of `from` that all of these documents match: the first in the folder of
    /// `from` is returned, else the first of all.
    pub fn nearest(&self, from: &DocumentId) -> Option<Resolved<'_>> {
        let Self { ids, order } = self;
        let by_folder = &order.get_or_init(|| Order::of(ids)).by_folder;
        // Unlike file names, a text may match several documents in one folder.
        let (place, others) = match in_folder(ids, by_folder, folder(from.as_str())) {
            [(_, place), others @ ..] => (*place, others.len()),
            [] => (0, ids.len().saturating_sub(1)),
        };
        ids.get(place).map(|id| Resolved { id, others })
    }
}

/// Returns the documents directly in a folder, in byte order: each with the length of the folder's
/// path and its index.
fn in_folder<'i>(
    ids: &[DocumentId],
    by_folder: &'i [(usize, usize)],
    here: &str,
) -> &'i [(usize, usize)] {
    let above = |(length, n): &(usize, usize)| &ids[*n].as_str()[..*length];
    let first = by_folder.partition_point(|place| above(place) < here);
    let end = by_folder.partition_point(|place| above(place) <= here);
    &by_folder[first..end]
}

fn resolved<'i>(
    ids: &'i [DocumentId],
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
    fn of(ids: &[DocumentId]) -> Self {
        let folded: Vec<String> = ids.iter().map(DocumentId::folded).collect();
        let exact = ByEnd::of(ids.iter().map(DocumentId::as_str));
        let similar = ByEnd::of(folded.iter().map(String::as_str));
        let length = |id: &DocumentId| folder(id.as_str()).len();
        let mut by_folder: Vec<(usize, usize)> = ids.iter().map(length).zip(0..).collect();
        by_folder.sort_by_key(|(length, n)| &ids[*n].as_str()[..*length]);
        Self { folded, exact, similar, by_folder }
    }
}

/// Indexes of texts in the order of their segments, the last one first, so that texts with the same
/// last segments are neighbours.
#[derive(Clone, Debug)]
struct ByEnd {
    keys: Vec<String>,
    /// In row k, the smallest index of each 2^k neighbours.
    least: Vec<Vec<usize>>,
}

impl ByEnd {
    fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut order: Vec<(String, usize)> = texts.map(from_the_end).zip(0..).collect();
        order.sort_unstable();
        let (keys, places): (Vec<String>, Vec<usize>) = order.into_iter().unzip();
        let mut least = vec![places];
        for half in (0..).map(|k| 1_usize << k).take_while(|half| 2 * half <= keys.len()) {
            let below = &least[least.len() - 1];
            let pairs = below.iter().zip(&below[half..]);
            let line = pairs.map(|(a, b)| *a.min(b)).collect();
            least.push(line);
        }
        Self { keys, least }
    }

    /// Returns the range of texts whose last segments are those of a name.
    fn range(&self, name: &str) -> Range<usize> {
        // NUL separates segments in the keys.
        if name.contains('\0') {
            return 0..0;
        }
        let mut end = from_the_end(name);
        let from = self.keys.partition_point(|key| key.as_str() < end.as_str());
        // After the segments of the name a key ends, or has another segment.
        end.push('\u{1}');
        let fits = self.keys[from..].partition_point(|key| key.as_str() < end.as_str());
        from..from + fits
    }

    /// Returns the smallest index in a range.
    fn least(&self, range: &Range<usize>) -> Option<usize> {
        let k = range.len().checked_ilog2()?;
        let line = self.least.get(k as usize)?;
        let last = range.end - (1 << k);
        Some(*line.get(range.start)?.min(line.get(last)?))
    }
}

/// Returns the segments of a text, the last one first. The separator NUL is less than every
/// character of an id.
fn from_the_end(text: &str) -> String {
    let mut key = String::with_capacity(text.len() + 1);
    for (n, segment) in text.rsplit('/').enumerate() {
        if n > 0 {
            key.push('\0');
        }
        key.push_str(segment);
    }
    key
}

/// Returns true if the last segments of an id are those of a name.
fn ends_in(id: &str, name: &str) -> bool {
    id.strip_suffix(name).is_some_and(|above| above.is_empty() || above.ends_with('/'))
}

/// Returns the folder of an id, with its final `/`; empty in the root.
pub(super) fn folder(id: &str) -> &str {
    id.rfind('/').map_or("", |n| &id[..=n])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(text: &str) -> DocumentId {
        text.parse().unwrap()
    }

    #[test]
    fn an_id_in_another_case_is_found_if_exactly_one_has_it() {
        let names = Names::new(["d/A", "d/b", "d/B", "e/d/A", "A"].map(id).to_vec());
        assert_eq!(names.in_other_case(&id("d/a")), Some(&id("d/A")));
        assert_eq!(names.in_other_case(&id("D/a")), Some(&id("d/A")));
        for none in ["d/b", "d/c", "e/a", "x/d/A"] {
            assert_eq!(names.in_other_case(&id(none)), None, "{none}");
        }
        assert_eq!(Names::default().in_other_case(&id("a")), None);
    }

    /// GRAPH-10 literally: each document is compared with the name.
    fn compared<'i>(
        name: &str,
        from: &DocumentId,
        ids: &'i [DocumentId],
    ) -> Option<(&'i DocumentId, usize)> {
        if let Some(id) = ids.iter().find(|id| id.as_str() == name) {
            return Some((id, 0));
        }
        let same = ids.iter().filter(|id| ends_in(id.as_str(), name));
        let mut fits: Vec<&DocumentId> = same.collect();
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
    fn control_characters_do_not_separate_segments_of_names() {
        let names = Names::new(["y/x", "y/x/a"].map(id).into());
        for name in ["x\0y", "x\u{1}", "a\0x"] {
            assert_eq!(names.resolve(name, &id("z")), None, "{name:?}");
        }
    }

    #[test]
    fn names_resolve_to_the_nearest_match() {
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
        fn names_resolve_as_if_compared_with_each_document(
            ids in prop::collection::vec("([aAß]/){0,2}[aAß\u{e9}]{1,2}", 0..12),
            name in "([aAß]/){0,2}[aAß\u{e9}]{1,2}", from in "([aAß]/){0,2}x",
        ) {
            let ids: Vec<DocumentId> = ids.iter().map(|text| id(text)).collect();
            let names = Names::new(ids.clone());
            let found = names.resolve(&name, &id(&from)).map(|r| (r.id, r.others));
            prop_assert_eq!(found, compared(&name, &id(&from), &ids));
        }
    }
}
