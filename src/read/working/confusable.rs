//! Ids that look alike: different letters that people read as the same (Unicode Technical Standard
//! 39, section 4). Such an id is allowed, because honest ids of one script look alike, too.

use std::collections::{BTreeSet, HashMap};

use unicode_security::confusable_detection::skeleton;

use super::linked::warning;
use crate::text::document::validate::Problem;
use crate::values::model::id::DocumentId;

/// Code of the warning.
pub const CODE: &str = "id-confusable";

/// Returns a warning for each live document, given by path and id, whose id has the skeleton of
/// another id among `ids`. `ids` are those of the live and the published documents. Ids that
/// collide are not reported here.
pub fn problems<'f>(
    live: impl Iterator<Item = (&'f str, &'f DocumentId)>,
    ids: &BTreeSet<DocumentId>,
) -> Vec<(String, Problem)> {
    let mut alike: HashMap<String, Alike<'_>> = HashMap::new();
    for id in ids {
        let same = alike.entry(skeleton_of(id)).or_insert(Alike { first: id, second: None });
        if same.second.is_none() && same.first.folded() != id.folded() {
            same.second = Some(id);
        }
    }
    let problem = |(path, id): (&str, &DocumentId)| {
        let Alike { first, second } = alike.get(&skeleton_of(id))?;
        let other = if first.folded() == id.folded() { (*second)? } else { *first };
        let message = format!("its id looks like `{other}`, but {}", difference(id, other));
        let hint = "if one of the two imitates the other, rename or delete it".to_owned();
        Some((path.to_owned(), warning(CODE, None, message, hint)))
    };
    live.filter_map(problem).collect()
}

/// The first of the ids with one skeleton, and the first that does not collide with it. At least
/// one of them differs from any id that is asked about.
struct Alike<'i> {
    first: &'i DocumentId,
    second: Option<&'i DocumentId>,
}

fn skeleton_of(id: &DocumentId) -> String {
    skeleton(id.as_str()).collect()
}

/// Describes the first difference of two different ids.
fn difference(id: &DocumentId, other: &DocumentId) -> String {
    let (mut ours, mut theirs) = (id.as_str().chars(), other.as_str().chars());
    for at in 1.. {
        match (ours.next(), theirs.next()) {
            (a, b) if a == b && a.is_some() => {}
            (a, b) => return format!("character {at} is {}, not {}", named(a), named(b)),
        }
    }
    String::new()
}

fn named(c: Option<char>) -> String {
    c.map_or_else(|| "missing".to_owned(), |c| format!("U+{:04X}", u32::from(c)))
}
