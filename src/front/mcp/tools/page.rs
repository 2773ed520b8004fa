//! Pages of lists, and the cursors that name them (MCP-34). A cursor is a text of the client:
//! one that no page of this list could have returned is refused, and so is one of a list that
//! has changed.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use super::At;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::moment::Moment;
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;
use crate::values::text_util::beginning;

/// Maximum length of an invalid cursor in a message, in bytes.
const LONGEST: usize = 64;

/// The list of a cursor: that of a tool or method, with arguments. Every cursor ends with it, so
/// that another list refuses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::front::mcp) struct Tag(String);

/// The content of a list, as a short hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark(String);

/// The start of a page: the number of entries before it, in the list of a checkpoint, as long as
/// its reader may read the same.
#[derive(Clone, Debug)]
struct Page {
    checkpoint: CheckpointNumber,
    skipped: usize,
    seen: Mark,
}

/// The start of a page in a list without a checkpoint: the number of entries before it, as long as
/// the list has this mark.
#[derive(Clone, Debug)]
pub(super) struct Marked {
    pub(super) mark: Mark,
    pub(super) skipped: usize,
}

/// The end of a page of versions: before the one at this position of the history, which only grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before(pub(super) usize);

impl Tag {
    /// Length of a tag.
    const LENGTH: usize = 8;

    /// Returns the tag of a list: of its name, and of the arguments that determine its content.
    /// Position and size of a page are not part of it.
    pub(in crate::front::mcp) fn of(name: &str, arguments: &Value) -> Self {
        let list = json!([name, arguments]).to_string();
        Self(Digest::of(list.as_bytes()).hex()[..Self::LENGTH].to_owned())
    }

    /// Returns true if a text is only the tag, which begins the list of another vault.
    pub(in crate::front::mcp) fn is(&self, text: &str) -> bool {
        self.0 == text
    }

    /// Returns a cursor of the list.
    pub(super) fn cursor(&self, place: &impl fmt::Display) -> String {
        format!("{place}:{self}")
    }

    /// Parses a cursor of the list, which has one spelling.
    ///
    /// # Errors
    /// The text is not a cursor of the list.
    pub(super) fn read<C: FromStr + fmt::Display>(&self, cursor: &str) -> Result<C, Failure> {
        let place = cursor.strip_suffix(&self.0).and_then(|place| place.strip_suffix(':'));
        let read = |place: &str| place.parse::<C>().ok().filter(|read| read.to_string() == place);
        place.and_then(read).ok_or_else(|| none(cursor))
    }
}

impl Mark {
    /// Length of a mark.
    const LENGTH: usize = 16;

    /// Returns the mark of a list with this hash.
    pub(super) fn of(hash: Option<Digest>) -> Self {
        let hash = hash.unwrap_or_else(|| Digest::of(b""));
        Self(hash.hex()[..Self::LENGTH].to_owned())
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.checkpoint, self.skipped, self.seen)
    }
}

impl fmt::Display for Marked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.mark, self.skipped)
    }
}

impl fmt::Display for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "before:{}", self.0)
    }
}

/// A text that no page returned.
pub(super) struct NoCursor;

impl FromStr for Mark {
    type Err = NoCursor;

    fn from_str(mark: &str) -> Result<Self, NoCursor> {
        let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        let is_mark = mark.len() == Self::LENGTH && mark.bytes().all(is_digit);
        if is_mark { Ok(Self(mark.to_owned())) } else { Err(NoCursor) }
    }
}

impl FromStr for Page {
    type Err = NoCursor;

    fn from_str(place: &str) -> Result<Self, NoCursor> {
        let (checkpoint, rest) = place.split_once(':').ok_or(NoCursor)?;
        let (skipped, seen) = rest.split_once(':').ok_or(NoCursor)?;
        let checkpoint = checkpoint.parse().map_err(|_| NoCursor)?;
        // Pages begin with the first checkpoint.
        if checkpoint == CheckpointNumber(0) {
            return Err(NoCursor);
        }
        Ok(Self { checkpoint, skipped: some(skipped)?, seen: seen.parse()? })
    }
}

impl FromStr for Marked {
    type Err = NoCursor;

    fn from_str(place: &str) -> Result<Self, NoCursor> {
        let (mark, skipped) = place.split_once(':').ok_or(NoCursor)?;
        Ok(Self { mark: mark.parse()?, skipped: some(skipped)? })
    }
}

impl FromStr for Before {
    type Err = NoCursor;

    fn from_str(place: &str) -> Result<Self, NoCursor> {
        some(place.strip_prefix("before:").ok_or(NoCursor)?).map(Self)
    }
}

/// Parses the number of entries before a page. The first page needs no cursor.
fn some(count: &str) -> Result<usize, NoCursor> {
    count.parse().ok().filter(|count| *count > 0).ok_or(NoCursor)
}

/// Returns the failure for an invalid cursor of a list.
pub(in crate::front::mcp) fn none(cursor: &str) -> Failure {
    let cursor = beginning(cursor, LONGEST);
    Failure::new(Code::Usage, format!("`{cursor}` is not a cursor of this list"))
        .hint("pass `next_cursor` of an answer as it is, with the arguments of its call")
}

/// The start of an answer: in a list of the checkpoint of a cursor, or of `at`, or of the last one.
#[derive(Debug)]
pub(in crate::front::mcp) struct Start<'c> {
    /// The cursor, and the mark of the list that the reader of its page could read.
    cursor: Option<(&'c str, Mark)>,
    tag: Tag,
    /// The checkpoint, if one is named.
    pub(in crate::front::mcp) at: Option<Moment>,
    /// Number of entries of the pages before.
    pub(in crate::front::mcp) skipped: usize,
}

/// A page that was found.
#[derive(Clone, Copy, Debug)]
pub(in crate::front::mcp) struct Found {
    /// The checkpoint of its list.
    pub(in crate::front::mcp) checkpoint: CheckpointNumber,
    /// The hash of everything that the reader may read at that checkpoint.
    pub(in crate::front::mcp) seen: Option<Digest>,
    /// Number of entries of the page.
    pub(in crate::front::mcp) given: usize,
    /// True if there are entries after it.
    pub(in crate::front::mcp) goes_on: bool,
    /// True if the page begins after the last entry.
    pub(in crate::front::mcp) is_past: bool,
}

impl<'c> Start<'c> {
    /// Returns the start of a call for a list.
    ///
    /// # Errors
    /// The cursor is invalid, or both name a checkpoint.
    pub(super) fn of(tag: Tag, cursor: Option<&'c str>, at: Option<&At>) -> Result<Self, Failure> {
        let at = At::moment(at)?;
        let start = Self::in_list(tag, cursor)?;
        if at.is_some() && cursor.is_some() {
            let message = "`cursor` and `at` both name a checkpoint";
            return Err(Failure::new(Code::Usage, message)
                .hint("leave `at` out: a cursor keeps the checkpoint of the first page"));
        }
        Ok(Self { at: at.or(start.at), ..start })
    }

    /// Returns the start of a list for which only a cursor names a checkpoint.
    ///
    /// # Errors
    /// The cursor is invalid.
    pub(in crate::front::mcp) fn in_list(
        tag: Tag,
        cursor: Option<&'c str>,
    ) -> Result<Self, Failure> {
        let Some(text) = cursor else {
            return Ok(Self { cursor: None, tag, at: None, skipped: 0 });
        };
        let Page { checkpoint, skipped, seen } = tag.read(text)?;
        let at = Some(Moment::Number(checkpoint));
        Ok(Self { cursor: Some((text, seen)), tag, at, skipped })
    }

    /// Returns the checkpoint that the cursor names.
    pub(in crate::front::mcp) fn pinned(&self) -> Option<CheckpointNumber> {
        match self.at {
            Some(Moment::Number(number)) if self.cursor.is_some() => Some(number),
            _ => None,
        }
    }

    /// Returns the cursor of the page after the one that was found; `None` after the last one.
    ///
    /// # Errors
    /// The page does not belong to the list of the pages before: the reader may read other
    /// documents of the checkpoint, or the cursor names no position in it.
    pub(in crate::front::mcp) fn next(&self, found: &Found) -> Result<Option<String>, Failure> {
        let seen = Mark::of(found.seen);
        if let Some((cursor, before)) = &self.cursor {
            if *before != seen {
                let message =
                    "the part of this list that you may read changed since the page before";
                return Err(Failure::new(Code::Changed, message)
                    .hint("begin again from the first page, without `cursor`"));
            }
            if found.is_past {
                return Err(none(cursor));
            }
        }
        let skipped = self.skipped.saturating_add(found.given);
        let next = || self.tag.cursor(&Page { checkpoint: found.checkpoint, skipped, seen });
        Ok(found.goes_on.then(next))
    }

    /// Converts a failure of the call: a cursor of a missing checkpoint is invalid.
    pub(in crate::front::mcp) fn explained(&self, failure: Failure) -> Failure {
        match (failure.code, &self.cursor) {
            (Code::UnknownCheckpoint, Some((cursor, _))) => none(cursor),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MARK: &str = "0123456789abcdef";

    fn tag() -> Tag {
        Tag::of("context_overview", &json!([null]))
    }

    #[test]
    fn a_cursor_has_one_spelling() {
        let tag = tag();
        let read = |place: &str| {
            let text = format!("{place}:{tag}");
            let all = [
                tag.read::<Page>(&text).map(|c| tag.cursor(&c)),
                tag.read::<Marked>(&text).map(|c| tag.cursor(&c)),
                tag.read::<Before>(&text).map(|c| tag.cursor(&c)),
            ];
            all.into_iter().flatten().inspect(|same| assert_eq!(*same, text)).count()
        };
        let largest = format!("{}:{}:{MARK}", u64::MAX, usize::MAX);
        for place in ["before:7", &format!("2:1:{MARK}"), &format!("{MARK}:50"), &largest] {
            assert_eq!(read(place), 1, "{place}");
        }
        for place in [
            "",
            ":",
            "2",
            "2:",
            ":1",
            "2:1",
            "before:",
            "before:0",
            "before:+7",
            "before:07",
            "7",
            MARK,
            "0123456789abcde:1",
            "0123456789abcdéf:1",
            "0123456789abcdefa:1",
            "0123456789abcdef:0",
            "0123456789ABCDEF:1",
            "\u{661}:1",
        ] {
            assert_eq!(read(place), 0, "{place}");
            let is_count = ["2", "7"].contains(&place);
            assert_eq!(read(&format!("2:{place}:{MARK}")), usize::from(is_count), "{place}");
        }
        for place in ["+2:1", "2:+1", "02:1", "2:01", "2:0", "2:-1", " 2:1", "2:1 ", "2:1:1"] {
            assert_eq!(read(&format!("{place}:{MARK}")), 0, "{place}");
        }
        for place in ["2:18446744073709551616", "18446744073709551616:1"] {
            assert_eq!(read(&format!("{place}:{MARK}")), 0, "{place}");
        }
        let long = "9".repeat(1 << 20);
        let why = tag.read::<Page>(&long).unwrap_err();
        assert!(why.code == Code::Usage && why.message.len() < 2 * LONGEST, "{}", why.message);
    }

    #[test]
    fn a_cursor_is_of_one_list() {
        let text = tag().cursor(&Before(3));
        assert!(tag().read::<Before>(&text).is_ok());
        for other in [
            Tag::of("context_history", &json!([null])),
            Tag::of("context_overview", &json!(["#a"])),
            Tag::of("context_overview", &json!([])),
        ] {
            assert_eq!(other.read::<Before>(&text).err().unwrap().code, Code::Usage);
        }
    }

    #[test]
    fn the_page_after_one_is_of_the_same_list() {
        let seen = Some(Digest::of(b"a"));
        let page = Found {
            checkpoint: CheckpointNumber(2),
            seen,
            given: 5,
            goes_on: true,
            is_past: false,
        };
        let first = Start::of(tag(), None, None).unwrap();
        let cursor = first.next(&page).unwrap().unwrap();
        let start = Start::of(tag(), Some(&cursor), None).unwrap();
        assert_eq!((start.pinned(), start.skipped), (Some(CheckpointNumber(2)), 5));
        let code = |found: Found| start.next(&found).map_err(|why| why.code);
        assert!(code(page).unwrap().unwrap().starts_with("2:10:"));
        assert_eq!(code(Found { goes_on: false, ..page }), Ok(None));
        let other = Found { seen: Some(Digest::of(b"b")), ..page };
        assert_eq!(code(other), Err(Code::Changed));
        assert_eq!(code(Found { is_past: true, ..page }), Err(Code::Usage));
        assert_eq!(code(Found { is_past: true, ..other }), Err(Code::Changed));
        let both = Start::of(tag(), Some(&cursor), Some(&At("2".to_owned())));
        assert_eq!(both.err().unwrap().code, Code::Usage);
    }

    proptest! {
        #[test]
        fn any_text_is_a_cursor_or_none(text in "(before)?[0-9a-f:+ \u{661}]{0,40}|\\PC{0,80}") {
            let tag = tag();
            for text in [text.clone(), format!("{text}:{tag}"), format!("2:{text}:{MARK}:{tag}")] {
                for read in [
                    tag.read::<Page>(&text).map(|c| tag.cursor(&c)),
                    tag.read::<Marked>(&text).map(|c| tag.cursor(&c)),
                    tag.read::<Before>(&text).map(|c| tag.cursor(&c)),
                ] {
                    match read {
                        Ok(same) => prop_assert_eq!(&same, &text),
                        Err(why) => prop_assert_eq!(why.code, Code::Usage),
                    }
                }
            }
        }
    }
}
