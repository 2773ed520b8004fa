//! The bytes of a version's text that a text of an access consists of: all of it, a range, or what
//! is left of one without comments (EVID-15).

use std::ops::Range;

use crate::audit::{Part, Text};
use crate::model::digest::Digest;
use crate::pack;
use crate::resolve::Served;
use crate::vault::Vault;

/// The pieces of a served version that give the text, or, where none do, the range that the line
/// names, so that a verifier says that it has another hash. None of what is no piece of a version.
pub(super) fn pieces(vault: &Vault, served: Option<&Served>, text: &Text) -> Option<Vec<[u64; 2]>> {
    match (text.part, served) {
        (Some(Part::Snippet | Part::Diff), _) | (Some(Part::Instructions), None) => None,
        (Some(Part::Instructions), Some(served)) => {
            let pack = pack::read(&served.text, &vault.config().authorities).pack?;
            in_order(&served.text, &pack.agent_instructions?).map(|pieces| as_numbers(&pieces))
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

/// Whether these pieces are the text that was handed out.
fn gives(whole: &str, pieces: &[Range<usize>], text: &Text) -> bool {
    let joined: String = pieces.iter().map(|piece| &whole[piece.clone()]).collect();
    joined.len() as u64 == text.bytes && Digest::of(joined.as_bytes()).to_string() == text.sha256
}

fn as_numbers(pieces: &[Range<usize>]) -> Vec<[u64; 2]> {
    pieces.iter().map(|piece| [piece.start as u64, piece.end as u64]).collect()
}

/// Where the lines of a value are in a text, in their order: a value of YAML in block form is the
/// text without its indentation, and many others are as they are.
fn in_order(text: &str, value: &str) -> Option<Vec<Range<usize>>> {
    let mut at = 0;
    let place = |line: &str| {
        let start = at + text[at..].find(line)?;
        at = start + line.len();
        Some(start..at)
    };
    value.split_inclusive('\n').map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_block_form_is_found_line_by_line() {
        let text = "a: |\n  one\n  two\nb: 'it''s'\n";
        let found = in_order(text, "one\ntwo\n").unwrap();
        let joined: String = found.into_iter().map(|piece| &text[piece]).collect();
        assert_eq!(joined, "one\ntwo\n");
        assert_eq!(in_order(text, "it's"), None);
        assert_eq!(in_order(text, ""), Some(Vec::new()));
    }
}
