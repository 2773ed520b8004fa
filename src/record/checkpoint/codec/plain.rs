//! A reader of the usual lines of a delta log, those without escapes and nulls. It needs one pass,
//! because the first line of a large vault is most of its log, and every command without an index
//! reads it.
//!
//! The reader accepts only lines that `delta::parse` accepts, and returns the same checkpoint;
//! builds with debug assertions compare both. It reports no faults.

use rayon::prelude::*;

use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::state::{Mark, json_order};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// Length of the shortest entry of `set`: a quote, an id of one byte, a version of one digit,
/// a digest.
const SHORTEST: usize = "\"x\":[1,\"\"],".len() + Digest::TEXT_LENGTH;
/// Minimum number of bytes of `set` for one thread.
const PIECE: usize = if cfg!(test) { 100 } else { 256 << 10 };
const END_OF_ENTRY: &str = "],";
/// Text after the entries.
const AFTER_SET: &str = "},\"triggered_by\":\"";
/// Maximum number of digits of a recorded number.
const MOST_DIGITS: usize = 16;

/// Parses a line without its newline; `None` if another reader must decide.
pub(super) fn parse(line: &str) -> Option<Checkpoint> {
    let mut rest = Rest(line);
    rest.skip("{\"at\":\"")?;
    let at = rest.until_quote()?;
    let at: Timestamp = at.parse().ok().filter(|read: &Timestamp| read.to_string() == at)?;
    rest.skip("\",\"checkpoint\":")?;
    let number = CheckpointNumber::recordable(rest.number()?)?;
    rest.skip(",\"checkpoint_hash\":\"")?;
    let hash = rest.digest()?;
    rest.skip("\",\"removed\":[")?;
    let mut removed: Vec<DocumentId> = Vec::new();
    while rest.skip("]").is_none() {
        rest.skip(if removed.is_empty() { "\"" } else { ",\"" })?;
        let id = rest.id()?;
        if removed.last().is_some_and(|last| *last >= id) {
            return None;
        }
        rest.skip("\"")?;
        removed.push(id);
    }
    rest.skip(",\"set\":")?;
    let set = rest.take(rest.0.rfind(AFTER_SET)?)?.strip_prefix('{')?;
    let set = match &pieces(set)[..] {
        [""] => Vec::new(),
        [one] => entries(one)?,
        several => in_order(several.par_iter().map(|piece| entries(piece)).collect())?,
    };
    rest.skip("}")?;
    rest.skip(",\"triggered_by\":\"")?;
    let triggered_by = rest.id()?;
    rest.skip("\"}")?;
    let (mut set, removed, bound) = super::delta::partition(set, removed);
    set.shrink_to_fit();
    let found = Checkpoint { number, at, triggered_by, hash, set, removed, bound, merged: None };
    (rest.0.is_empty() && !found.sets_what_it_removes()).then_some(found)
}

/// Splits the entries of `set` into pieces that are worth a thread. An id without escapes contains
/// no quote, so the end of an entry can be found from any offset.
fn pieces(mut set: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while set.len() > PIECE
        && let Some(end) = memchr::memmem::find(&set.as_bytes()[PIECE..], END_OF_ENTRY.as_bytes())
    {
        let (piece, rest) = set.split_at(PIECE + end + 1);
        pieces.push(piece);
        set = &rest[1..];
    }
    pieces.push(set);
    pieces
}

/// Parses one or more entries, separated by commas.
fn entries(piece: &str) -> Option<Vec<(DocumentId, Mark)>> {
    let mut rest = Rest(piece);
    let mut set: Vec<(DocumentId, Mark)> = Vec::with_capacity(piece.len() / SHORTEST + 1);
    loop {
        rest.skip("\"")?;
        let id = rest.id()?;
        if set.last().is_some_and(|(last, _)| !is_before(last, &id)) {
            return None;
        }
        rest.skip("\":[")?;
        let version = Version::recordable(rest.number()?)?;
        rest.skip(",\"")?;
        let chain_hash = rest.digest()?;
        rest.skip("\"]")?;
        set.push((id, Mark::new(version, chain_hash)));
        if rest.0.is_empty() {
            return Some(set);
        }
        rest.skip(",")?;
    }
}

/// Joins pieces; `None` if they are not in the order of RFC 8785.
fn in_order(pieces: Option<Vec<Vec<(DocumentId, Mark)>>>) -> Option<Vec<(DocumentId, Mark)>> {
    let mut pieces = pieces?.into_iter();
    let mut set = pieces.next()?;
    set.reserve_exact(pieces.as_slice().iter().map(Vec::len).sum());
    for mut piece in pieces {
        if !is_before(&set.last()?.0, &piece.first()?.0) {
            return None;
        }
        set.append(&mut piece);
    }
    Some(set)
}

fn is_before(a: &DocumentId, b: &DocumentId) -> bool {
    json_order(a.as_str(), b.as_str()).is_lt()
}

/// The part of a line that was not read yet.
struct Rest<'l>(&'l str);

impl<'l> Rest<'l> {
    /// Reads exactly this text.
    fn skip(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    /// Reads this number of bytes.
    fn take(&mut self, length: usize) -> Option<&'l str> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads the text before the next quote.
    fn until_quote(&mut self) -> Option<&'l str> {
        self.take(memchr::memchr(b'"', self.0.as_bytes())?)
    }

    /// Reads an id. Ids contain no backslash or control character, so the text is its own spelling.
    fn id(&mut self) -> Option<DocumentId> {
        self.until_quote()?.parse().ok()
    }

    fn digest(&mut self) -> Option<Digest> {
        self.take(Digest::TEXT_LENGTH)?.parse().ok()
    }

    /// Reads a number in its only spelling.
    fn number(&mut self) -> Option<u64> {
        let digits = self.0.bytes().take_while(u8::is_ascii_digit).take(MOST_DIGITS + 1).count();
        let digits = self.take(digits).filter(|digits| digits.len() <= MOST_DIGITS)?;
        digits.parse().ok().filter(|_| !digits.starts_with('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::checkpoint::codec::delta;
    use proptest::prelude::*;

    const LINE: &str = concat!(
        "{\"at\":\"2026-11-21T20:06:06.689Z\",\"checkpoint\":3,\"checkpoint_hash\":\"sha256:",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\",\"removed\":",
        "[\"nodes/a\",\"nodes/c\"],\"set\":{\".context/audit/00112233445566778899aabbccddeeff.jsonl\":",
        "[7,\"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"],\"nodes/b\":",
        "[1,\"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"],\"nodes/é\":",
        "[12,\"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"]},",
        "\"triggered_by\":\"nodes/é\"}"
    );

    #[test]
    fn plain_reads_usual_lines() {
        let found = parse(LINE);
        assert!(found.is_some());
        assert_eq!(found, delta::parse_general(LINE.as_bytes()).ok());
    }

    #[test]
    fn plain_declines_lines_of_another_spelling() {
        for (from, to) in [
            ("689Z", "6890Z"),
            (":3,", ":03,"),
            (":3,", ":0,"),
            (":3,", ":9007199254740992,"),
            (":3,", ":18446744073709551619,"),
            ("[1,", "[,"),
            ("[1,", "[01,"),
            ("[1,", "[null,"),
            ("sha256:e", "sha256:E"),
            ("\"nodes/c\"", "\"nodes/a\""),
            ("\"nodes/c\"", "\"nodes/b\""),
            ("\"nodes/c\"", "\"Nodes/c\""),
            ("nodes/b", "nodes/\\u0062"),
            ("nodes/b", "nodes/\\\"b"),
            ("\"nodes/b\"", "\"nodes/\u{ea}\""),
            ("nodes/b", "nodes//b"),
            (",\"nodes/b\"", "\"nodes/b\""),
            ("]},", "],},"),
            ("\"}", "\"} "),
            ("\"}", "\""),
        ] {
            let other = LINE.replacen(from, to, 1);
            assert_ne!(other, LINE, "{from}");
            assert_eq!(parse(&other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn plain_accepts_only_lines_that_the_general_reader_accepts(
            at in 0..LINE.len(),
            length in 0..4usize,
            new in "[0-9a-f\",:{}\\[\\]\\\\/é\u{0} ]{0,3}",
        ) {
            let end = (at + length).min(LINE.len());
            prop_assume!(LINE.is_char_boundary(at) && LINE.is_char_boundary(end));
            let other = format!("{}{new}{}", &LINE[..at], &LINE[end..]);
            if let Some(found) = parse(&other) {
                prop_assert_eq!(delta::parse_general(other.as_bytes()), Ok(found));
            }
        }
    }
}
