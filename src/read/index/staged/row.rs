//! The row of a line of a staging chain, with a fixed number of bytes: the position of the
//! line, its hash, and the fields that questions select it by. A row does not contain any
//! content or label.

use crate::record::audit::WriterId;
use crate::record::staging::{ActKind, LineKind, StagedLine};
use crate::values::model::digest::Digest;
use crate::values::model::principal::PrincipalKey;
use crate::values::model::timestamp::Timestamp;

/// Number of bytes of a row.
pub(super) const ROW: usize = 1 + 4 + 4 + 32 + 16 + 16 + 32 + 8;
const ENTRY: u8 = 0;
const COLLECT: u8 = 1;
const ACT: u8 = 2;

/// Key to compare sessions or principals: the first half of a SHA-256. The key of a missing label
/// is zero.
pub(crate) type Key = [u8; 16];

/// A row of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Start of the line in its file.
    pub(super) start: u32,
    /// Length without the line end.
    pub(super) length: u32,
    /// Hash of the line.
    pub(super) hash: [u8; 32],
    pub(super) says: Says,
}

/// Fields of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// A staged result.
    Entry { session: Key, principal: Key, content: [u8; 32], until: i64 },
    /// An act on the entry of a writer with this number and hash.
    Act { collects: bool, writer: Key, seq: u64, entry: [u8; 32], at: i64 },
}

/// Returns the key of a session.
pub(crate) fn session_key(session: Option<&str>) -> Key {
    session.map_or([0; 16], key)
}

/// Returns the key of a principal, for any case of the recorded name.
pub(crate) fn principal_key(principal: Option<&PrincipalKey>) -> Key {
    principal.map_or([0; 16], |principal| key(principal.as_str()))
}

fn key(text: &str) -> Key {
    let digest = Digest::of(text.as_bytes());
    let (first, _) = digest.bytes().split_first_chunk().expect("a SHA-256 has 32 bytes");
    *first
}

/// Returns the bytes that the digits of a writer spell.
pub(super) fn writer_key(writer: &WriterId) -> Key {
    bytes_of(&writer.to_string()).unwrap_or_default()
}

fn bytes_of(digits: &str) -> Option<Key> {
    u128::from_str_radix(digits, 16).ok().map(u128::to_be_bytes)
}

fn digest(text: &str) -> Option<[u8; 32]> {
    text.parse::<Digest>().ok().map(|digest| *digest.bytes())
}

fn millis(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::millis)
}

impl Row {
    /// Returns the row of a line at a place in its file; `None` if the line is invalid.
    pub(super) fn of(line: &StagedLine, (start, length): (usize, usize)) -> Option<Self> {
        let says = match &line.kind {
            LineKind::Stage(entry) => Says::Entry {
                session: session_key(entry.session.as_deref()),
                principal: principal_key(entry.principal.as_deref().map(PrincipalKey::of).as_ref()),
                content: digest(&entry.raw_hash)?,
                until: millis(&entry.retention_until)?,
            },
            acted => {
                let (kind, act) = acted.act()?;
                Says::Act {
                    collects: kind == ActKind::Collect,
                    writer: bytes_of(&act.entry.writer)?,
                    seq: act.entry.seq,
                    entry: digest(&act.entry.hash)?,
                    at: millis(&line.at)?,
                }
            }
        };
        let (start, length) = (u32::try_from(start).ok()?, u32::try_from(length).ok()?);
        Some(Self { start, length, hash: *line.hash?.bytes(), says })
    }

    pub(super) fn encode(&self) -> [u8; ROW] {
        let (kind, first, second, third, time) = match self.says {
            Says::Entry { session, principal, content, until } => {
                (ENTRY, session, principal, content, until)
            }
            Says::Act { collects, writer, seq, entry, at } => {
                let mut number = [0; 16];
                number[..8].copy_from_slice(&seq.to_le_bytes());
                (if collects { COLLECT } else { ACT }, writer, number, entry, at)
            }
        };
        let mut row = [0; ROW];
        let mut rest = row.as_mut_slice();
        let mut put = |bytes: &[u8]| {
            let (now, later) = std::mem::take(&mut rest).split_at_mut(bytes.len());
            now.copy_from_slice(bytes);
            rest = later;
        };
        put(&[kind]);
        put(&self.start.to_le_bytes());
        put(&self.length.to_le_bytes());
        put(&self.hash);
        put(&first);
        put(&second);
        put(&third);
        put(&time.to_le_bytes());
        row
    }

    /// Parses the bytes of a row.
    pub(super) fn decode(bytes: &[u8; ROW]) -> Self {
        let mut rest = bytes.as_slice();
        let kind = take::<1>(&mut rest)[0];
        let start = u32::from_le_bytes(take(&mut rest));
        let length = u32::from_le_bytes(take(&mut rest));
        let hash = take(&mut rest);
        let (first, second, third): (Key, Key, _) =
            (take(&mut rest), take(&mut rest), take(&mut rest));
        let time = i64::from_le_bytes(take(&mut rest));
        let says = match kind {
            ENTRY => Says::Entry { session: first, principal: second, content: third, until: time },
            kind => {
                let seq = u64::from_le_bytes(take(&mut second.as_slice()));
                let collects = kind == COLLECT;
                Says::Act { collects, writer: first, seq, entry: third, at: time }
            }
        };
        Self { start, length, hash, says }
    }

    /// Returns true if the bytes are the row of an entry.
    pub(super) fn is_entry(bytes: &[u8; ROW]) -> bool {
        bytes[0] == ENTRY
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (now, later) = rest.split_first_chunk().expect("a row has fields of fixed lengths");
    *rest = later;
    *now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_decodes_what_it_encodes() {
        let entry = Says::Entry {
            session: session_key(Some("s-1")),
            principal: principal_key(Some(&PrincipalKey::of("Ana@example.com"))),
            content: [7; 32],
            until: -5,
        };
        let act =
            |collects| Says::Act { collects, writer: [9; 16], seq: 1 << 40, entry: [3; 32], at: 8 };
        for says in [entry, act(true), act(false)] {
            let row = Row { start: 70_000, length: 812, hash: [1; 32], says };
            let bytes = row.encode();
            assert_eq!(Row::decode(&bytes), row);
            assert_eq!(Row::is_entry(&bytes), says == entry);
        }
        assert_eq!(
            principal_key(Some(&PrincipalKey::of("ANA@example.com"))),
            principal_key(Some(&PrincipalKey::of("ana@example.com")))
        );
    }
}
