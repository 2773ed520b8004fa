//! The one table of characters that are invisible, look like a blank, or change the direction of
//! the line (`spec/vault.md`, VAULT-11), and functions that spell such characters out.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use super::emoji;

/// Invisible characters in order: first, last, and name. These are the code points with the
/// property Default_Ignorable_Code_Point, the blanks and line separators that are not ASCII, and
/// the characters that fonts do not draw. Control characters are not in the table, because they are
/// refused separately.
const INVISIBLE: [(char, char, &str); 35] = [
    ('\u{a0}', '\u{a0}', "no-break space"),
    ('\u{ad}', '\u{ad}', "soft hyphen"),
    ('\u{34f}', '\u{34f}', "combining grapheme joiner"),
    ('\u{61c}', '\u{61c}', "direction mark"),
    ('\u{115f}', '\u{1160}', "Hangul filler"),
    ('\u{1680}', '\u{1680}', "Ogham space"),
    ('\u{17b4}', '\u{17b5}', "inherent vowel"),
    ('\u{180b}', '\u{180d}', "variation selector"),
    ('\u{180e}', '\u{180e}', "vowel separator"),
    ('\u{180f}', '\u{180f}', "variation selector"),
    ('\u{2000}', '\u{200a}', "space"),
    ('\u{200b}', '\u{200b}', "zero width space"),
    ('\u{200c}', '\u{200c}', "zero width non-joiner"),
    ('\u{200d}', '\u{200d}', "zero width joiner"),
    ('\u{200e}', '\u{200f}', "direction mark"),
    ('\u{2028}', '\u{2029}', "line separator"),
    ('\u{202a}', '\u{202e}', "direction override"),
    ('\u{202f}', '\u{202f}', "narrow no-break space"),
    ('\u{205f}', '\u{205f}', "space"),
    ('\u{2060}', '\u{206f}', "format character"),
    ('\u{2800}', '\u{2800}', "blank braille pattern"),
    ('\u{3000}', '\u{3000}', "ideographic space"),
    ('\u{3164}', '\u{3164}', "Hangul filler"),
    ('\u{fe00}', '\u{fe0f}', "variation selector"),
    ('\u{feff}', '\u{feff}', "byte order mark"),
    ('\u{ffa0}', '\u{ffa0}', "Hangul filler"),
    ('\u{fff0}', '\u{fffb}', "format character"),
    ('\u{13441}', '\u{13442}', "blank hieroglyph"),
    ('\u{16fe4}', '\u{16fe4}', "Khitan filler"),
    ('\u{1bca0}', '\u{1bca3}', "format character"),
    ('\u{1d159}', '\u{1d159}', "null notehead"),
    ('\u{1d173}', '\u{1d17a}', "format character"),
    ('\u{e0000}', '\u{e00ff}', "tag character"),
    ('\u{e0100}', '\u{e01ef}', "variation selector"),
    ('\u{e01f0}', '\u{e0fff}', "format character"),
];

/// An invisible character in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invisible {
    /// Character that was found.
    pub found: char,
    /// Position of the character, counted in characters from 1.
    pub at: usize,
    /// Name of the kind of character.
    name: &'static str,
}

impl Invisible {
    /// Returns the first invisible character of a text.
    pub fn first_in(text: &str) -> Option<Self> {
        if text.is_ascii() {
            return None;
        }
        let found = |(n, c)| Some(Self { found: c, at: n + 1, name: name_of(c)? });
        text.chars().enumerate().find_map(found)
    }

    /// Returns the first invisible character of a name; RGI emoji sequences are visible.
    pub fn first_in_name(text: &str) -> Option<Self> {
        let found = Self::first_in(text)?;
        if !emoji::has_joiner(text) {
            return Some(found);
        }
        let (mut rest, mut at) = (text, 1);
        while let Some(c) = rest.chars().next() {
            let length = match emoji::sequence_at(rest) {
                0 => match name_of(c) {
                    Some(name) => return Some(Self { found: c, at, name }),
                    None => c.len_utf8(),
                },
                length => length,
            };
            at += rest[..length].chars().count();
            rest = &rest[length..];
        }
        None
    }
}

impl fmt::Display for Invisible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "U+{:04X} ({}) at character {}", u32::from(self.found), self.name, self.at)
    }
}

/// Returns the name of an invisible character; `None` for a visible one.
fn name_of(c: char) -> Option<&'static str> {
    // Most characters of most texts end here.
    if c < '\u{a0}' {
        return None;
    }
    let after = INVISIBLE.partition_point(|(first, ..)| *first <= c);
    let (_, last, name) = INVISIBLE.get(after.checked_sub(1)?)?;
    (c <= *last).then_some(*name)
}

/// Returns true if a character is invisible. Recorded names cannot contain one.
pub(crate) fn is_invisible(c: char) -> bool {
    name_of(c).is_some()
}

/// Returns true if a character changes the direction of the line.
pub(crate) fn turns_line(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns true if a character is printed with zero width.
pub(crate) fn is_zero_width(c: char) -> bool {
    is_invisible(c) && !c.is_whitespace() && c != '\u{2800}'
}

/// Returns a name without invisible characters; blanks become ASCII blanks.
pub(crate) fn without_invisible(text: &str) -> String {
    let kept = text.chars().filter(|c| c.is_whitespace() || !is_invisible(*c));
    let kept: String = kept.map(|c| if is_invisible(c) { ' ' } else { c }).collect();
    kept.trim().to_owned()
}

/// Returns a text from the vault, escaped for display in one line.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, steers)
}

/// Returns true if a character steers a terminal, or does not print as itself.
pub(crate) fn steers(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

/// Returns true if a text has only line feeds and ASCII characters that print as themselves. Most
/// answers are such texts, and bytes are faster to check than characters.
pub(crate) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'\n' | b' '..=b'~'))
}

/// Returns true if a character steers a terminal in a text of several lines. Line feeds and tabs
/// are allowed, and so are the blanks of French or Japanese, which print as blanks.
pub(crate) fn steers_text(c: char) -> bool {
    let is_blank = c.is_whitespace() && !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}');
    !matches!(c, '\n' | '\t') && !is_blank && steers(c)
}

/// Returns the text with every harmful character spelled out, except in RGI emoji sequences.
pub(crate) fn escaped(text: &str, harmful: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let has_joiner = emoji::has_joiner(text);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let emoji = if has_joiner { emoji::sequence_at(rest) } else { 0 };
        let (now, after) = rest.split_at(emoji.max(c.len_utf8()));
        rest = after;
        match c {
            _ if emoji > 0 => out.push_str(now),
            '\n' if harmful(c) => out.push_str("\\n"),
            '\t' if harmful(c) => out.push_str("\\t"),
            '\r' if harmful(c) => out.push_str("\\r"),
            c if harmful(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_table_is_sorted_and_has_no_visible_character() {
        let ends: Vec<char> =
            INVISIBLE.iter().flat_map(|(first, last, _)| [*first, *last]).collect();
        assert!(ends.is_sorted());
        assert!(!('\0'..='\u{10ffff}').any(|c| is_invisible(c) && c.is_control()));
        for visible in "aé日ं\u{301}①👍✓\u{600}\u{2764}\u{1f3fd}".chars() {
            assert!(!is_invisible(visible), "{visible:?}");
        }
    }

    #[test]
    fn blanks_and_default_ignorable_characters_are_invisible() {
        let blanks = ('\u{a0}'..='\u{10ffff}').filter(|c| c.is_whitespace());
        let ignorable = "\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{180b}\u{180f}\u{200b}\u{200d}\
                         \u{202e}\u{2060}\u{2066}\u{206f}\u{3164}\u{fe00}\u{fe0f}\u{feff}\u{ffa0}\
                         \u{fff8}\u{1bca3}\u{1d17a}\u{e0001}\u{e0041}\u{e01ef}\u{e0fff}";
        for c in blanks.chain(ignorable.chars()).chain(['\u{2800}']) {
            assert!(is_invisible(c), "{c:?}");
        }
    }

    #[test]
    fn an_invisible_character_is_named_with_its_place() {
        let found = |text| Invisible::first_in(text).map(|found| found.to_string());
        assert_eq!(found("abc"), None);
        assert_eq!(
            found("日a\u{2800}").as_deref(),
            Some("U+2800 (blank braille pattern) at character 3")
        );
        for visible in ["\u{2764}\u{fe0f} a", "\u{1f469}\u{200d}\u{1f4bb}/1\u{fe0f}\u{20e3}"] {
            assert_eq!(Invisible::first_in_name(visible), None);
            assert_eq!(shown(visible), visible);
        }
        for (hidden, at) in
            [("\u{2764}\u{fe0f}a\u{fe0f}", 4), ("a\u{200d}b", 2), ("\u{2764}\u{fe0f}\u{a0}", 3)]
        {
            let found = Invisible::first_in_name(hidden);
            assert_eq!(found.map(|found| found.at), Some(at), "{hidden:?}");
        }
        assert_eq!(shown("\u{2764}\u{fe0f}a\u{fe0f}"), "\u{2764}\u{fe0f}a\\u{fe0f}");
        assert_eq!(without_invisible("\u{3000}a\u{a0}b\u{fe0f}c\u{2028}"), "a bc");
    }

    #[test]
    fn a_text_keeps_its_lines_and_blanks() {
        let text = "a\n\tb\u{a0}:\u{3000}\u{fe0f}\u{2028}\u{85}\r";
        assert_eq!(escaped(text, steers_text), "a\n\tb\u{a0}:\u{3000}\\u{fe0f}\\u{2028}\\u{85}\\r");
        assert_eq!(shown("b\u{a0}"), "b\\u{a0}");
    }

    #[test]
    fn a_plain_text_has_no_character_that_steers() {
        for c in (0..=0x2_ffff).filter_map(char::from_u32) {
            let is_plain = is_plain(&c.to_string());
            assert!(!is_plain || c == '\n' || !steers(c), "{c:?}");
            assert_eq!(is_plain, c == '\n' || c.is_ascii() && !c.is_control(), "{c:?}");
        }
    }
}
