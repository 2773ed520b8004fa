//! Emoji of several code points in which U+FE0F and U+200D are visible: the RGI sequences that
//! `spec/emoji-sequences.txt` lists (`spec/vault.md`, VAULT-11).

use std::borrow::Cow;
use std::sync::LazyLock;

/// Code points that are invisible outside of these sequences.
const JOINERS: [char; 2] = ['\u{fe0f}', '\u{200d}'];

/// All sequences, in byte order.
static SEQUENCES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let lines = include_str!("../../../spec/emoji-sequences.txt").lines();
    let code_point = |hex| u32::from_str_radix(hex, 16).ok().and_then(char::from_u32);
    let lines = lines.filter(|line| !line.starts_with('#'));
    let mut all: Vec<String> =
        lines.map(|line| line.split(' ').filter_map(code_point).collect()).collect();
    all.sort_unstable();
    all
});

/// Maximum number of code points in a sequence.
const LONGEST: usize = 10;

/// Returns true if a text may contain a sequence.
pub(crate) fn has_joiner(text: &str) -> bool {
    text.contains(JOINERS)
}

/// Returns the length in bytes of the longest sequence at the beginning of a text; 0 if there is
/// no sequence.
pub(crate) fn sequence_at(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    let from =
        SEQUENCES.partition_point(|sequence| !sequence.starts_with(first) && **sequence < *text);
    if !SEQUENCES.get(from).is_some_and(|sequence| sequence.starts_with(first)) {
        return 0;
    }
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).take(LONGEST);
    let is_sequence =
        |end: &usize| SEQUENCES.binary_search_by(|s| s.as_str().cmp(&text[..*end])).is_ok();
    ends.filter(is_sequence).last().unwrap_or_default()
}

/// Returns the kind of difference between two colliding names.
pub(crate) fn difference(a: &str, b: &str) -> &'static str {
    match without_joiners(a) == without_joiners(b) {
        true => "invisible characters of emoji (U+FE0F, U+200D)",
        false => "case or Unicode form",
    }
}

/// Returns a name without U+FE0F and U+200D.
pub(crate) fn without_joiners(name: &str) -> Cow<'_, str> {
    match has_joiner(name) {
        true => name.replace(JOINERS, "").into(),
        false => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_sequence_is_found() {
        assert!(SEQUENCES.iter().all(|s| s.chars().count() <= LONGEST && has_joiner(s)));
        assert!(SEQUENCES.iter().all(|s| sequence_at(s) == s.len()));
        for (text, expected) in [
            ("\u{2764}\u{fe0f}x", 6),
            ("\u{2764}\u{fe0f}\u{200d}\u{1f525}", 13),
            ("\u{2764}\u{fe0f}\u{200d}x", 6),
            ("1\u{fe0f}\u{20e3}", 7),
            ("1\u{fe0f}", 0),
            ("\u{2764}\u{200d}\u{1f525}", 0),
            ("\u{1f469}\u{1f4bb}", 0),
            ("\u{1f525}\u{fe0f}", 0),
            ("", 0),
        ] {
            assert_eq!(sequence_at(text), expected, "{text:?}");
        }
    }
}
