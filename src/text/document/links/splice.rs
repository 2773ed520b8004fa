//! Edits of a text that are kept only if the edited text reads as expected.

use std::collections::BTreeMap;
use std::ops::Range;

/// A replacement in a text.
pub(super) struct Edit<T> {
    pub(super) range: Range<usize>,
    pub(super) by: String,
    /// Objects that it changes.
    pub(super) of: Vec<T>,
}

/// A text with some edits applied, and the objects that they change.
pub(super) struct Applied<T> {
    pub(super) text: String,
    pub(super) kept: Vec<T>,
    /// Objects of edits that would change the meaning of other text.
    pub(super) dropped: Vec<T>,
}

/// Number of edits of a text that are tried one by one.
const MOST_ALONE: usize = 50;

/// Applies the edits with which `reads_right` accepts the text: all of them, if that works. Edits
/// at one position are merged.
pub(super) fn applied<T>(
    text: &str,
    edits: Vec<Edit<T>>,
    reads_right: impl Fn(&str, &mut dyn Iterator<Item = &T>) -> bool,
) -> Applied<T> {
    let mut by_place: BTreeMap<usize, Edit<T>> = BTreeMap::new();
    for mut edit in edits {
        let start = edit.range.start;
        match by_place.get_mut(&start) {
            Some(known) => known.of.append(&mut edit.of),
            None => _ = by_place.insert(start, edit),
        }
    }
    let checked = |edits: &[Edit<T>]| {
        let edited = spliced(text, edits)?;
        reads_right(&edited, &mut edits.iter().flat_map(|edit| &edit.of)).then_some(edited)
    };
    let edits: Vec<Edit<T>> = by_place.into_values().collect();
    let of = |edits: Vec<Edit<T>>| edits.into_iter().flat_map(|edit| edit.of).collect();
    if let Some(text) = checked(&edits) {
        return Applied { text, kept: of(edits), dropped: Vec::new() };
    }
    // An edit that breaks other text must not prevent the others.
    let (mut good, mut bad, mut edited) = (Vec::new(), Vec::new(), text.to_owned());
    for (n, edit) in edits.into_iter().enumerate() {
        good.push(edit);
        match Some(&good).filter(|_| n < MOST_ALONE).and_then(|good| checked(good)) {
            Some(text) => edited = text,
            None => bad.extend(good.pop()),
        }
    }
    Applied { text: edited, kept: of(good), dropped: of(bad) }
}

/// Returns the text with these edits, which are in the order of the text; `None` if two overlap.
fn spliced<T>(text: &str, edits: &[Edit<T>]) -> Option<String> {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for Edit { range, by, .. } in edits {
        out.push_str(text.get(at..range.start)?);
        out.push_str(by);
        at = range.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}
