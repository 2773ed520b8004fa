//! Pages of lists, and the cursors that name them (MCP-34). A cursor is a text of the client: what no
//! page could have given is refused, and where the list is another one now, no page of that is given.

use std::fmt;
use std::str::FromStr;

use super::At;
use crate::model::number::CheckpointNumber;
use crate::report::failure::{Code, Failure};
use crate::words::beginning;
use crate::workspace::moment::Moment;

/// So many bytes of what is no cursor are said back.
const LONGEST: usize = 64;

/// Where a page begins: so many entries further, in the list of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(in crate::mcp) struct Page {
    pub(in crate::mcp) checkpoint: CheckpointNumber,
    pub(in crate::mcp) skipped: usize,
}

/// Where a page begins in a list that belongs to no checkpoint: so many entries further, as long as
/// the list has this mark.
#[derive(Clone, Debug)]
pub(super) struct Marked {
    pub(super) mark: String,
    pub(super) skipped: usize,
}

/// Where a page of versions ends: before the one in this place of the history, which only grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before(pub(super) usize);

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.checkpoint, self.skipped)
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

/// A text that no page gave.
pub(in crate::mcp) struct NoCursor;

impl FromStr for Page {
    type Err = NoCursor;

    fn from_str(cursor: &str) -> Result<Self, NoCursor> {
        let (checkpoint, skipped) = cursor.split_once(':').ok_or(NoCursor)?;
        let checkpoint = checkpoint.parse().map_err(|_| NoCursor)?;
        Ok(Self { checkpoint, skipped: skipped.parse().map_err(|_| NoCursor)? })
    }
}

impl FromStr for Marked {
    type Err = NoCursor;

    fn from_str(cursor: &str) -> Result<Self, NoCursor> {
        let (mark, skipped) = cursor.split_once(':').ok_or(NoCursor)?;
        let skipped = skipped.parse().map_err(|_| NoCursor)?;
        let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        let is_mark = mark.len() == Self::LENGTH && mark.bytes().all(is_digit);
        if is_mark { Ok(Self { mark: mark.to_owned(), skipped }) } else { Err(NoCursor) }
    }
}

impl FromStr for Before {
    type Err = NoCursor;

    fn from_str(cursor: &str) -> Result<Self, NoCursor> {
        let place = cursor.strip_prefix("before:").ok_or(NoCursor)?;
        place.parse().map(Self).map_err(|_| NoCursor)
    }
}

impl Marked {
    /// The length of a mark.
    const LENGTH: usize = crate::workspace::call::review::MARK;
}

/// Reads a cursor, which has one spelling.
///
/// # Errors
/// It is none.
pub(super) fn read<C: FromStr + fmt::Display>(cursor: &str) -> Result<C, Failure> {
    let read = cursor.parse::<C>().ok().filter(|read| read.to_string() == cursor);
    read.ok_or_else(|| none(cursor))
}

/// What is no cursor of a list.
pub(super) fn none(cursor: &str) -> Failure {
    let cursor = beginning(cursor, LONGEST);
    Failure::new(Code::Usage, format!("`{cursor}` is no cursor"))
        .hint("pass `next_cursor` of an answer as it is")
}

impl Page {
    pub(in crate::mcp) fn read(cursor: &str) -> Result<Self, Failure> {
        read(cursor)
    }

    /// What is no cursor of a list.
    pub(in crate::mcp) fn none(cursor: &str) -> Failure {
        none(cursor)
    }
}

/// Where the answer to a call begins: in a list of the checkpoint of a cursor, or of `at`, or of the
/// last one.
#[derive(Debug)]
pub(super) struct Start<'c> {
    cursor: Option<&'c str>,
    /// The checkpoint, where one is named.
    pub(super) at: Option<Moment>,
    /// How many entries the pages before had.
    pub(super) skipped: usize,
}

impl<'c> Start<'c> {
    /// That of a call with these arguments.
    ///
    /// # Errors
    /// The cursor is none, or both name a checkpoint.
    pub(super) fn of(cursor: Option<&'c str>, at: Option<&At>) -> Result<Self, Failure> {
        let at = At::moment(at)?;
        let Some(text) = cursor else { return Ok(Self { cursor, at, skipped: 0 }) };
        let Page { checkpoint, skipped } = read(text)?;
        if at.is_some() {
            let message = "`cursor` and `at` both name a checkpoint";
            return Err(Failure::new(Code::Usage, message)
                .hint("leave `at` out: a cursor keeps the checkpoint of the first page"));
        }
        Ok(Self { cursor, at: Some(Moment::Number(checkpoint)), skipped })
    }

    /// The checkpoint that the cursor names.
    pub(super) fn pinned(&self) -> Option<CheckpointNumber> {
        match self.at {
            Some(Moment::Number(number)) if self.cursor.is_some() => Some(number),
            _ => None,
        }
    }

    /// The cursor of the page after one with so many entries.
    pub(super) fn next(&self, checkpoint: CheckpointNumber, given: usize) -> String {
        Page { checkpoint, skipped: self.skipped.saturating_add(given) }.to_string()
    }

    /// A failure of the call: a cursor of a checkpoint that there is not is none.
    pub(super) fn explained(&self, failure: Failure) -> Failure {
        match (failure.code, self.cursor) {
            (Code::UnknownCheckpoint, Some(cursor)) => none(cursor),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cursor_has_one_spelling() {
        assert!(read::<Page>("2:1").is_ok() && read::<Before>("before:7").is_ok());
        assert!(read::<Marked>("0123456789abcdef:50").is_ok());
        let largest = format!("{}:{}", u64::MAX, usize::MAX);
        let start = Start::of(Some(&largest), None).unwrap();
        assert_eq!(start.next(CheckpointNumber(2), 50), format!("2:{}", usize::MAX));
        for text in [
            "",
            ":",
            "2",
            "2:",
            ":1",
            "+2:1",
            "2:+1",
            "02:1",
            "2:01",
            "2:-1",
            "2:1 ",
            " 2:1",
            "2:1:1",
            "2:18446744073709551616",
            "18446744073709551616:1",
            "before:",
            "before:+7",
            "before:07",
            "7",
            "0123456789abcdef",
            "0123456789abcde:1",
            "0123456789abcdéf:1",
            "0123456789abcdefa:1",
            "\u{661}:1",
        ] {
            assert!(read::<Page>(text).is_err(), "{text}");
            assert!(read::<Before>(text).is_err(), "{text}");
            assert!(read::<Marked>(text).is_err(), "{text}");
        }
        let long = "9".repeat(1 << 20);
        let why = read::<Page>(&long).unwrap_err();
        assert!(why.code == Code::Usage && why.message.len() < 2 * LONGEST, "{}", why.message);
    }

    proptest! {
        #[test]
        fn any_text_is_a_cursor_or_none(text in "(before)?[0-9a-f:+ \u{661}]{0,40}|\\PC{0,80}") {
            for read in [
                read::<Page>(&text).map(|c| c.to_string()),
                read::<Marked>(&text).map(|c| c.to_string()),
                read::<Before>(&text).map(|c| c.to_string()),
            ] {
                match read {
                    Ok(same) => prop_assert_eq!(&same, &text),
                    Err(why) => prop_assert_eq!(why.code, Code::Usage),
                }
            }
        }
    }
}
