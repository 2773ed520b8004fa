//! Comments in the body: `%% ... %%` (`spec/document.md`, DOC-38).

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;
use pulldown_cmark::{Event, Parser, Tag as Element};

use crate::text::document::sections::{self, MARKDOWN, Section};

/// Delimiter at the beginning and at the end of a comment.
const DELIMITER: &str = "%%";
/// Character that replaces each byte of a comment.
const BLANK: char = '\u{c}';
/// Maximum number of times that the rest of a body is read again after a comment that contains the
/// beginning of code. With more such comments, the rest of a body is a comment, so that the work
/// stays linear.
const MAX_AGAIN: usize = 8;

/// The comments of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comments {
    /// Ranges of bytes, delimiters included, in order; adjacent ones are merged.
    pub ranges: Vec<Range<usize>>,
    /// Start of an unclosed comment, which continues to the end of the body.
    pub unclosed: Option<usize>,
}

impl Comments {
    /// Finds the comments of a body.
    pub(super) fn of(body: &str) -> Self {
        let mut found = Self::default();
        let mut start = Some(0);
        for _ in 0..=MAX_AGAIN {
            match start {
                Some(at) => start = found.read(body, at),
                None => return found,
            }
        }
        if let Some(at) = start {
            found.unclosed = Some(at);
            found.push(at..body.len());
        }
        found
    }

    /// Reads a body from a position; returns the position from which it must be read again.
    fn read(&mut self, body: &str, start: usize) -> Option<usize> {
        let next = |from: usize| memmem::find(&body.as_bytes()[from..], DELIMITER.as_bytes());
        next(start)?;
        let code = code(body, start);
        let code_at = |at: usize| {
            let after = code.partition_point(|range| range.start <= at);
            code[..after].last().filter(|range| range.contains(&at))
        };
        let mut at = start;
        while let Some(opening) = next(at).map(|n| at + n) {
            if let Some(block) = code_at(opening) {
                at = block.end.max(opening + 1);
                continue;
            }
            let inside = opening + DELIMITER.len();
            let Some(closing) = next(inside).map(|n| inside + n) else {
                self.unclosed = Some(opening);
                self.push(opening..body.len());
                return None;
            };
            at = closing + DELIMITER.len();
            self.push(opening..at);
            // Code that begins in a comment is not code after it.
            if code_at(closing).is_some() {
                return Some(at);
            }
        }
        None
    }

    /// Shifts all positions, for a text in which the body begins later.
    pub(crate) fn shifted(mut self, by: usize) -> Self {
        self.ranges.iter_mut().for_each(|range| *range = range.start + by..range.end + by);
        self.unclosed = self.unclosed.map(|at| at + by);
        self
    }

    /// Returns a part of the text without its comments, and the number of comments in it.
    pub fn left_out<'t>(&self, text: &'t str, range: Range<usize>) -> (Cow<'t, str>, usize) {
        let (kept, count) = self.kept(range.clone());
        match count {
            0 => (Cow::Borrowed(&text[range]), 0),
            _ => (Cow::Owned(kept.into_iter().map(|piece| &text[piece]).collect()), count),
        }
    }

    /// Returns the number of comments that overlap a part of the text.
    pub(crate) fn count(&self, range: &Range<usize>) -> usize {
        let first = self.ranges.partition_point(|comment| comment.end <= range.start);
        let after = self.ranges.partition_point(|comment| comment.start < range.end);
        after.saturating_sub(first)
    }

    /// Returns the pieces of a part of the text outside of comments, and the number of comments
    /// in it.
    pub(crate) fn kept(&self, range: Range<usize>) -> (Vec<Range<usize>>, usize) {
        let first = self.ranges.partition_point(|comment| comment.end <= range.start);
        let inside = self.ranges[first..].iter().take_while(|comment| comment.start < range.end);
        let (mut kept, mut at, mut count) = (Vec::new(), range.start, 0);
        for comment in inside {
            kept.push(at..comment.start.max(at));
            at = comment.end.min(range.end);
            count += 1;
        }
        kept.push(at..range.end);
        kept.retain(|piece| !piece.is_empty());
        (kept, count)
    }

    fn push(&mut self, range: Range<usize>) {
        match self.ranges.last_mut().filter(|last| last.end == range.start) {
            Some(last) => last.end = range.end,
            None => self.ranges.push(range),
        }
    }

    /// Returns the text with a blank in place of each byte of a comment except line ends, so that
    /// the rest keeps its position. The blank is a form feed, which is white space but
    /// not indentation.
    pub(crate) fn blanked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.ranges.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        for range in &self.ranges {
            out.push_str(&text[at..range.start]);
            out.extend(text[range.clone()].bytes().map(|byte| match byte {
                b'\n' | b'\r' => char::from(byte),
                _ => BLANK,
            }));
            at = range.end;
        }
        out.push_str(&text[at..]);
        Cow::Owned(out)
    }
}

/// Returns the sections of a body with blanked comments. Titles do not contain these blanks.
pub(crate) fn sections(blanked: &str) -> Vec<Section> {
    let mut found = sections::sections(blanked);
    for section in found.iter_mut().filter(|section| section.title.contains(BLANK)) {
        section.title = section.title.replace(BLANK, "").trim().to_owned();
    }
    found
}

/// Returns the ranges of code, links, and HTML tags and comments in a body after a position, in
/// order. In the address of a link `%%` is an encoded character, and a page shows the text
/// after it.
fn code(body: &str, start: usize) -> Vec<Range<usize>> {
    let events = Parser::new_ext(&body[start..], MARKDOWN).into_offset_iter();
    let is_code = |(event, range): &(Event<'_>, Range<usize>)| match event {
        Event::Start(element) => match element {
            Element::CodeBlock(_) | Element::Link { .. } | Element::Image { .. } => true,
            // Other blocks have text between their tags.
            Element::HtmlBlock => body[start + range.start..].starts_with("<!--"),
            _ => false,
        },
        Event::Code(_) | Event::InlineHtml(_) => true,
        _ => false,
    };
    let mut end = start;
    let code = events.filter(is_code);
    let code = code.map(|(_, range)| start + range.start..start + range.end);
    // An image may be in a link.
    code.filter(|range| {
        let is_outer = range.start >= end;
        end = end.max(range.end);
        is_outer
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blanked(body: &str) -> String {
        let comments = Comments::of(body);
        let open = if comments.unclosed.is_some() { " (unclosed)" } else { "" };
        let blanked = comments.blanked(body);
        assert_eq!(blanked.len(), body.len());
        format!("{}{open}", blanked.replace(BLANK, "_"))
    }

    #[test]
    fn a_comment_is_between_two_delimiters_outside_of_code() {
        for (body, expected) in [
            ("a %%b%% c\n", "a _____ c\n"),
            ("a\n\n%%\nb\n\nc\n%%\nd\n", "a\n\n__\n_\n\n_\n__\nd\n"),
            ("%%%%a%%%b%% %c %", "____a______ %c %"),
            ("a %%b", "a ___ (unclosed)"),
            ("`%%` a `` %% ` `` b %%c%%\n", "`%%` a `` %% ` `` b _____\n"),
            ("```\n%%\n```\n\n    %%\n\na %%b%%\n", "```\n%%\n```\n\n    %%\n\na _____\n"),
            ("> ~~~\n> %%\n\nb %%c%%\n", "> ~~~\n> %%\n\nb _____\n"),
            ("%%\n```\n%%\n`%%`\n```\n%%\n", "__\n___\n__\n`%%`\n```\n%%\n"),
            ("%% ` %% ` %%a%% ` b", "_______ ` %%a%% ` b"),
            ("%% ` %% ` %% ` b %%c%%", "_______ ` %% ` b _____"),
            (
                "a [b %%](http://x/%%20y) c <!-- %% --> d %%e%%\n",
                "a [b %%](http://x/%%20y) c <!-- %% --> d _____\n",
            ),
            ("<!-- %%\n-->\n\nx %%y%%\n", "<!-- %%\n-->\n\nx _____\n"),
            ("%%\u{e9}\r\n\u{1f680}%%\u{e9}", "____\r\n______\u{e9}"),
        ] {
            assert_eq!(blanked(body), expected, "{body:?}");
        }
    }

    #[test]
    fn left_out_removes_only_comments() {
        let text = "ab %%c%% d %%e%%%%f%% g";
        let comments = Comments::of(text);
        let left = |range: Range<usize>| {
            let (left, count) = comments.left_out(text, range);
            format!("{left} {count}")
        };
        assert_eq!(left(0..text.len()), "ab  d  g 2");
        assert_eq!(
            (left(0..3), left(5..10), left(4..6)),
            ("ab  0".into(), " d 1".into(), " 1".into())
        );
    }

    #[test]
    fn headings_in_comments_do_not_begin_sections() {
        let body = "# A %%x%% b\n\n%%\n# Hidden\n%%\n---\n\n## C %%y%%\n%%z%% # No\n";
        let blanked = Comments::of(body).blanked(body).into_owned();
        let found = sections(&blanked);
        let found: Vec<_> =
            found.iter().map(|s| (&*s.anchor, &*s.title, s.range.clone())).collect();
        assert_eq!(found, [("a--b", "A  b", 0..55), ("c", "C", 33..55)]);
    }

    #[test]
    fn hostile_bodies_are_read_in_bounds() {
        let straddling = "%% ` %% ` ".repeat(1 << 14);
        let comments = Comments::of(&straddling);
        assert_eq!(comments.ranges.last().unwrap().end, straddling.len());
        assert!(comments.ranges.len() <= MAX_AGAIN + 2);
        for pattern in ["%%", "%", "%% ", "`%%", "%%\n", "%%\n```\n", "> %%", "%%[", "%%%"] {
            let body = pattern.repeat((1 << 20) / pattern.len());
            let comments = Comments::of(&body);
            assert_eq!(comments.blanked(&body).len(), body.len(), "{pattern:?}");
        }
    }

    proptest! {
        #[test]
        fn blanking_keeps_the_position_of_other_text(body in "(%|%%|`|```|\n|a| |    |> |\u{e9}){0,40}") {
            let comments = Comments::of(&body);
            let blanked = comments.blanked(&body);
            prop_assert_eq!(blanked.len(), body.len());
            let mut at = 0;
            for range in &comments.ranges {
                prop_assert!(range.start >= at && range.end > range.start);
                prop_assert_eq!(&blanked[at..range.start], &body[at..range.start]);
                prop_assert!(body[range.clone()].starts_with(DELIMITER));
                at = range.end;
            }
            prop_assert_eq!(&blanked[at..], &body[at..]);
            let whole = comments.left_out(&body, 0..body.len()).0;
            let kept: usize = comments.ranges.iter().map(Range::len).sum();
            prop_assert_eq!(whole.len() + kept, body.len());
            prop_assert_eq!(blanked.matches('\n').count(), body.matches('\n').count());
        }
    }
}
