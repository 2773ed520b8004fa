//! The bytes of a document: its lines, its frontmatter block, its normal form.

use std::borrow::Cow;
use std::ops::Range;

use crate::values::model::digest::Digest;

/// Byte order mark that some editors write before a text.
pub(crate) const BOM: char = '\u{feff}';

/// Returns the normal form of a text, which content hashes cover: without one leading U+FEFF, and
/// with LF for CRLF and lone CR (`spec/document.md`, section 2).
pub fn normalise(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the normal form of an owned text, nearly always without a copy.
pub(crate) fn normalised(text: String) -> String {
    if is_normal(&text) { text } else { normalise(&text).into_owned() }
}

/// Returns true if a text is its own normal form.
pub(crate) fn is_normal(text: &str) -> bool {
    !text.starts_with(BOM) && memchr::memchr(b'\r', text.as_bytes()).is_none()
}

/// The positions of the parts of a document in its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Lines between the delimiters; `None` if the text does not begin with a delimiter.
    pub frontmatter: Option<Range<usize>>,
    /// Everything after the closing delimiter's `---`, beginning with its line end; the whole text
    /// (without U+FEFF) if it lacks a frontmatter.
    pub rest: Range<usize>,
    /// Start of the body: the line after the closing delimiter.
    pub body: usize,
    /// Line end of the file: that of its first line, else LF.
    pub line_end: &'static str,
}

/// A text whose first line is `---`, but without a closing delimiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unclosed;

/// Splits a document. A delimiter is a line that is exactly `---`. Lines end in LF, CRLF or CR, so
/// that a text and its normal form have the same parts.
pub fn split(text: &str) -> Result<Parts, Unclosed> {
    let line_end = line_end(text);
    let mut lines = Lines::of(text);
    let start = lines.at;
    let whole = Parts { frontmatter: None, rest: start..text.len(), body: start, line_end };
    if lines.next().is_none_or(|line| &text[line] != "---") {
        return Ok(whole);
    }
    let first = lines.at;
    while let Some(line) = lines.next() {
        if &text[line.clone()] == "---" {
            return Ok(Parts {
                frontmatter: Some(first..line.start),
                rest: line.end..text.len(),
                body: lines.at,
                line_end,
            });
        }
    }
    Err(Unclosed)
}

/// Returns the `checksum` of a document: the hash of the normal form of the text after the
/// closing delimiter.
pub fn checksum(rest: &str) -> Digest {
    Digest::of(normalise(rest).as_bytes())
}

/// Returns the line end of a file: that of its first line, else LF.
pub(super) fn line_end(text: &str) -> &'static str {
    match first_end(text) {
        Some(at) if text[at..].starts_with("\r\n") => "\r\n",
        Some(at) if text[at..].starts_with('\r') => "\r",
        _ => "\n",
    }
}

/// Returns the end of the first line of a text.
fn first_end(text: &str) -> Option<usize> {
    memchr::memchr2(b'\n', b'\r', text.as_bytes())
}

/// The lines of a text without their ends.
pub(super) struct Lines<'t> {
    text: &'t str,
    /// Start of the next line.
    pub(super) at: usize,
}

impl<'t> Lines<'t> {
    /// Returns the lines of a text after the byte order mark.
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, at: if text.starts_with(BOM) { BOM.len_utf8() } else { 0 } }
    }
}

impl Iterator for Lines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        let rest = &self.text[start..];
        if rest.is_empty() {
            return None;
        }
        let end = start + first_end(rest).unwrap_or(rest.len());
        self.at = match &self.text[end..] {
            after if after.starts_with("\r\n") => end + 2,
            "" => end,
            _ => end + 1,
        };
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(text: &str) -> Option<(Option<&str>, &str)> {
        let parts = split(text).ok()?;
        Some((parts.frontmatter.map(|r| &text[r]), &text[parts.body..]))
    }

    #[test]
    fn a_delimiter_is_a_line_that_is_exactly_three_dashes() {
        let cases = [
            ("---\na: 1\n---\nbody\n", Some((Some("a: 1\n"), "body\n"))),
            ("\u{feff}---\r\na: 1\r\n---\r\nbody", Some((Some("a: 1\r\n"), "body"))),
            ("---\n---\n", Some((Some(""), ""))),
            ("---\na: 1\n---", Some((Some("a: 1\n"), ""))),
            ("--- \na: 1\n---\n", Some((None, "--- \na: 1\n---\n"))),
            ("\n---\na: 1\n---\n", Some((None, "\n---\na: 1\n---\n"))),
            ("---\na: |\n  ---\n---\nb\n", Some((Some("a: |\n  ---\n"), "b\n"))),
            ("---\na: 1\n----\n", None),
            ("", Some((None, ""))),
        ];
        for (text, expected) in cases {
            assert_eq!(parts(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_text_and_its_normal_form_have_the_same_parts(text in "(\u{feff})?(---|a|\r|\n|\r\n| ){0,12}") {
            let normal = normalise(&text);
            let normalised = parts(&text).map(|(f, b)| {
                (f.map(|f| f.replace("\r\n", "\n").replace('\r', "\n")),
                 b.replace("\r\n", "\n").replace('\r', "\n"))
            });
            let expected = parts(&normal).map(|(f, b)| (f.map(str::to_owned), b.to_owned()));
            prop_assert_eq!(normalised, expected);
        }
    }
}
