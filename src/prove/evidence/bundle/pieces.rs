//! Byte ranges of a version's text that make up a text of an access: all of it, a range, or a range
//! without comments (EVID-15).

use std::ops::Range;

use crate::read::snapshot::Served;
use crate::record::audit::{Part, Text};
use crate::text::pack;
use crate::values::model::digest::Digest;

/// Returns the byte ranges of a served version that make up the text; `None` if the text is not a
/// part of a version. If no ranges match, returns the range that the line names, so that a verifier
/// reports a different hash.
pub(super) fn pieces(served: Option<&Served>, text: &Text) -> Option<Vec<[u64; 2]>> {
    match (text.part, served) {
        (Some(Part::Snippet | Part::Diff), _) | (Some(Part::Instructions), None) => None,
        (Some(Part::Instructions), Some(served)) => {
            let (value, span) = pack::instructions(&served.text)?;
            in_order(&served.text, span, &value).map(|pieces| as_numbers(&pieces))
        }
        (None | Some(Part::Submission), None) => Some(vec![text.range.unwrap_or([0, text.bytes])]),
        (None | Some(Part::Submission), Some(served)) => {
            let place = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
            let range = text.range.map_or(0..served.text.len(), |[a, b]| place(a)..place(b));
            if served.text.get(range.clone()).is_none() {
                return Some(vec![[range.start as u64, range.end as u64]]);
            }
            let shown = served.shown_pieces(range.clone());
            let found = match gives(&served.text, &shown, text) {
                true => shown,
                false => Some(range).filter(|range| !range.is_empty()).into_iter().collect(),
            };
            Some(as_numbers(&found))
        }
    }
}

/// Returns true if these pieces make up the text that was handed out.
fn gives(whole: &str, pieces: &[Range<usize>], text: &Text) -> bool {
    let joined: String = pieces.iter().map(|piece| &whole[piece.clone()]).collect();
    joined.len() as u64 == text.bytes && Digest::of(joined.as_bytes()).to_string() == text.sha256
}

fn as_numbers(pieces: &[Range<usize>]) -> Vec<[u64; 2]> {
    pieces.iter().map(|piece| [piece.start as u64, piece.end as u64]).collect()
}

/// Finds each line of a YAML value in the spelling of the value, in order. A block value is the
/// text without its indentation, and many others are spelled literally. Returns `None` if anything
/// but blanks and quotes is left out.
fn in_order(text: &str, span: Range<usize>, value: &str) -> Option<Vec<Range<usize>>> {
    let (mut at, end) = (start_of(text, span.start, value), span.end.min(text.len()));
    let is_left_out = |range: Range<usize>| {
        let left_out = text.get(range);
        left_out.is_some_and(|left_out| left_out.trim_matches(QUOTES).trim().is_empty())
    };
    let place = |line: &str| {
        let start = at + text.get(at..)?.find(line)?;
        let is_next = is_left_out(at..start);
        at = start + line.len();
        is_next.then_some(start..at)
    };
    let pieces = value.split_inclusive('\n').map(place).collect();
    if is_left_out(at.min(end)..end) { pieces } else { None }
}

/// Returns the start of a value, given the place of its first non-blank character. Empty lines
/// before it are part of the value if the value begins with a line end.
fn start_of(text: &str, first: usize, value: &str) -> usize {
    let before = text.get(..first).filter(|_| value.starts_with('\n')).map(str::trim_end);
    let line =
        before.and_then(|before| Some(before.len() + text.get(before.len()..)?.find('\n')? + 1));
    line.filter(|line| *line <= first).unwrap_or(first)
}

/// Quotes around a YAML value.
const QUOTES: [char; 2] = ['"', '\''];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_block_form_is_found_line_by_line() {
        let text = "a: |\n  one\n  two\nb: 'it''s'\n";
        let found = in_order(text, 5..17, "one\ntwo\n").unwrap();
        let joined: String = found.into_iter().map(|piece| &text[piece]).collect();
        assert_eq!(joined, "one\ntwo\n");
        assert_eq!(in_order(text, 20..27, "it's"), None);
        assert_eq!(in_order(text, 5..17, "two\n"), None);
        assert_eq!(in_order(text, 5..17, "one\n"), None);
        assert_eq!(in_order(text, 3..3, ""), Some(Vec::new()));
        let of = |yaml: &str| {
            let (value, span) = pack::instructions(yaml)?;
            in_order(yaml, span, &value).map(|_| value)
        };
        for yaml in
            ["one", "'one'", "\"one\"", "|\n  one", "|2-\n  one\n", "|\n\n  one\n\n    two\n\n"]
        {
            assert!(
                of(&format!("label: one\nagent_instructions: {yaml}\nid: p\n")).is_some(),
                "{yaml}"
            );
        }
    }
}
