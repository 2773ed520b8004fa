//! Words of a text, as queries, the built-in index and snippets define them (`spec/search.md`,
//! section 2).
//!
//! A word is folded, so that spellings that a reader considers equal are equal: NFKC, case folding,
//! accents of Latin, Greek and Cyrillic letters, and the plural `s` of words in ASCII letters.
//! Scripts without blanks between words cannot be split without a dictionary, so each of their
//! characters is one word.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Maximum length of a folded word in bytes. A longer run of letters is counted, but never found.
pub(super) const MAX_WORD_BYTES: usize = 128;

/// Iterator over the words of a text.
pub(super) struct Words<'t> {
    text: &'t str,
    at: usize,
    next_position: usize,
    /// Byte range of the current word in the text.
    pub(super) range: Range<usize>,
    /// Number of words before the current one, including those that are too long.
    pub(super) position: usize,
    /// Current word, folded.
    pub(super) word: String,
}

impl<'t> Words<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, at: 0, next_position: 0, range: 0..0, position: 0, word: String::new() }
    }

    /// Moves to the next word. Returns false at the end of the text.
    pub(super) fn advance(&mut self) -> bool {
        while let Some(range) = self.next_run() {
            self.at = range.end;
            self.position = self.next_position;
            self.next_position += 1;
            fold_into(&self.text[range.clone()], &mut self.word);
            if !self.word.is_empty() && self.word.len() <= MAX_WORD_BYTES {
                self.range = range;
                return true;
            }
        }
        self.at = self.text.len();
        false
    }

    /// Counts the words of a text, including those that are too long to be found.
    pub(super) fn count(text: &'t str) -> usize {
        let mut words = Self::of(text);
        let mut count = 0;
        while let Some(range) = words.next_run() {
            words.at = range.end;
            count += 1;
        }
        count
    }

    /// Returns the next run of characters that are one word.
    fn next_run(&self) -> Option<Range<usize>> {
        let from = match ascii_run(self.text.as_bytes(), self.at) {
            Ok(run) => return Some(run),
            Err(from) => from,
        };
        let rest = &self.text[from..];
        let (start, first) = rest.char_indices().find(|(_, c)| is_letter(*c))?;
        let alone = stands_alone(first);
        let mut end = start + first.len_utf8();
        for (at, c) in rest[end..].char_indices().map(|(at, c)| (start + first.len_utf8() + at, c))
        {
            let goes_on = is_combining_mark(c) || (!alone && is_letter(c) && !stands_alone(c));
            if goes_on {
                end = at + c.len_utf8();
            } else if alone || !is_invisible(c) {
                break;
            }
        }
        Some(from + start..from + end)
    }
}

/// Returns the next word, if everything up to its end is ASCII, as in most texts. Otherwise returns
/// the place from which to continue character by character.
fn ascii_run(text: &[u8], from: usize) -> Result<Range<usize>, usize> {
    let is_letter = |at: &usize| text.get(*at).is_some_and(u8::is_ascii_alphanumeric);
    let is_blank = |at: &usize| text.get(*at).is_some_and(u8::is_ascii) && !is_letter(at);
    let start = (from..).find(|at| !is_blank(at)).unwrap_or(from);
    let end = (start..).find(|at| !is_letter(at)).unwrap_or(start);
    let ends_here = text.get(end).is_none_or(u8::is_ascii);
    if start < end && ends_here { Ok(start..end) } else { Err(start) }
}

/// Returns the folded words of a text.
pub(super) fn folded(text: &str) -> Vec<String> {
    let mut words = Words::of(text);
    let mut all = Vec::new();
    while words.advance() {
        all.push(words.word.clone());
    }
    all
}

fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { c.is_alphanumeric() }
}

/// Invisible characters inside a word: they neither split it nor belong to it.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// Returns true for a character of a script without blanks between words, or of one that joins
/// particles to words, like Hangul.
pub(super) fn stands_alone(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}'            // Thai, Lao
        | '\u{1000}'..='\u{109f}'        // Myanmar
        | '\u{1100}'..='\u{11ff}'        // Hangul Jamo
        | '\u{1780}'..='\u{17ff}'        // Khmer
        | '\u{2e80}'..='\u{2fdf}'        // radicals
        | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{318f}'        // kana, Bopomofo, Hangul compatibility Jamo
        | '\u{31a0}'..='\u{31ff}'
        | '\u{3400}'..='\u{9fff}'        // Han
        | '\u{ac00}'..='\u{d7ff}'        // Hangul
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ffdc}'        // half-width kana and Hangul
        | '\u{20000}'..='\u{3ffff}')
}

/// Writes the folded form of a word.
fn fold_into(word: &str, out: &mut String) {
    out.clear();
    if word.is_ascii() {
        // Most words are ASCII. A text longer than any word is cut, and is still too long.
        let kept = word.get(..=MAX_WORD_BYTES).unwrap_or(word);
        out.push_str(kept);
        out.make_ascii_lowercase();
        singular(out);
        return;
    }
    let visible: Cow<'_, str> = match word.chars().any(is_invisible) {
        true => word.chars().filter(|c| !is_invisible(*c)).collect::<String>().into(),
        false => word.into(),
    };
    // Folding may make a text several times as long, so a much too long text is cut first.
    let cut = visible.chars().take(MAX_WORD_BYTES + 1);
    let folded = caseless::default_case_fold_str(&cut.nfkc().collect::<String>());
    let mut is_bare = false;
    let without_accents = folded.nfkd().filter(|c| match is_combining_mark(*c) {
        true => !is_bare,
        false => {
            is_bare = has_accents(*c);
            true
        }
    });
    out.extend(without_accents.nfkc());
    singular(out);
}

/// Returns true for a letter whose combining marks are accents that people leave out: Latin, Greek,
/// Cyrillic. In other scripts, marks are vowels and tones, and part of the word.
fn has_accents(c: char) -> bool {
    c.is_ascii_alphabetic()
        || matches!(c,
            '\u{c0}'..='\u{24f}'            // Latin
            | '\u{370}'..='\u{3ff}'         // Greek
            | '\u{400}'..='\u{52f}'         // Cyrillic
            | '\u{1c80}'..='\u{1c8f}'
            | '\u{1e00}'..='\u{1fff}'       // Latin, Greek
            | '\u{2c60}'..='\u{2c7f}'
            | '\u{a640}'..='\u{a69f}'
            | '\u{a720}'..='\u{a7ff}')
}

/// Removes the plural `s` of a word of at least four ASCII letters, as in `policies`, `returns` and
/// `cases`, but not in `status` or `access`.
fn singular(word: &mut String) {
    let bytes = word.as_bytes();
    if bytes.len() < 4 || !bytes.iter().all(u8::is_ascii_lowercase) {
        return;
    }
    match bytes {
        [.., b'a' | b'e', b'i', b'e', b's'] | [.., b'u' | b's', b's'] => {}
        [.., b'i', b'e', b's'] => {
            word.truncate(word.len() - 3);
            word.push('y');
        }
        [.., b's'] => word.truncate(word.len() - 1),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_with_their_places() {
        for (text, expected) in [
            ("The Policies of 2026, v1.2!", "the policy of 2026 v1 2"),
            (
                "returns cases status access series gas ties",
                "return case status access sery gas ty",
            ),
            ("snake_case payments-service a/b", "snake case payment service a b"),
            ("Straße STRASSE ÉTÉ été", "strasse strasse ete ete"),
            ("cafés Naïve Ｃｒème Ά ёй İ", "cafe naive creme α еи i"),
            ("ﬁne Ｆｕｌｌ Ⅳ e\u{301}te\u{301}", "fine full iv ete"),
            ("pay\u{200b}ment soft\u{ad}en", "payment soften"),
            ("返品ポリシー und 정책", "返 品 ポ リ シ ー und 정 책"),
            ("ไทย हिन्दी", "ไ ท ย हिन्दी"),
            ("\u{1b}[31m — …", "31m"),
            ("\u{2014}a\u{2014}b1\u{a0}c d\u{301}e \u{ad}f\u{ad}", "a b1 c de f"),
            ("", ""),
        ] {
            assert_eq!(folded(text).join(" "), expected, "{text}");
        }
        let mut words = Words::of("Ab, \u{e9}t\u{e9}s x");
        let mut places = Vec::new();
        while words.advance() {
            places.push((words.position, words.range.clone()));
        }
        assert_eq!(places, [(0, 0..2), (1, 4..10), (2, 11..12)]);
    }

    #[test]
    fn words_skip_an_endless_word_in_linear_time() {
        for letter in ["a", "\u{e9}", "\u{fdfa}"] {
            let text = format!("x {} y", letter.repeat(1 << 20));
            let mut words = Words::of(&text);
            assert!(words.advance() && words.position == 0);
            assert!(words.advance() && words.position == 2, "{letter}");
            assert!(!words.advance());
        }
        assert_eq!(folded(&"日".repeat(100_000)).len(), 100_000);
    }
}
