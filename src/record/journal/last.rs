//! The last line that this user wrote to each access log in the vault, recorded outside of the
//! vault. A log that no longer contains this line was truncated or replaced (AUDIT-30).
//!
//! A power cut may remove a line that was not synced, but keep the record of it. Therefore both the
//! last line and the last durable line are recorded: only the loss of the latter is damage.

use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::end::End;
use super::tails::Tail;
use super::writer::WriterId;
use crate::files::vault::outside::{self, StateFolder};
use crate::values::yaml::canonical_number;

/// Name of the file in a vault's folder of state.
const NAME: &str = "accesses-in-vault";
/// Maximum length of the file in bytes.
const LIMIT: u64 = 16 << 10;
/// Maximum number of writers that are recorded.
const MOST: usize = 32;

/// The last lines that this user wrote as one writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Last {
    pub(crate) writer: WriterId,
    /// The last line.
    pub(crate) line: End,
    /// The last line that was synced; number 0 before the first.
    pub(crate) durable: End,
}

/// Converts the tail of a log whose lines are always synced.
impl From<&Tail> for Last {
    fn from(Tail { writer, seq, hash, .. }: &Tail) -> Self {
        let line = End { seq: *seq, hash: hash.clone() };
        Self { writer: writer.clone(), durable: line.clone(), line }
    }
}

impl Last {
    /// Returns true if a log with this end may still contain the last line.
    pub(crate) fn may_be_followed_by(&self, end: &End) -> bool {
        end.seq > self.line.seq || *end == self.line
    }

    fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [writer, seq, hash, durable_seq, durable_hash] = words.as_slice() else { return None };
        let end = |seq: &str, hash: &str| {
            Some(End { seq: canonical_number(seq)?, hash: hash.to_owned() })
        };
        Some(Self {
            writer: writer.parse().ok()?,
            line: end(seq, hash)?,
            durable: end(durable_seq, durable_hash)?,
        })
    }
}

/// The last lines of this user's writers, the current writer last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastLines(Vec<Last>);

impl LastLines {
    /// Reads the record in a folder of state; empty without a directory of state.
    pub fn read(state: Option<&StateFolder>) -> Self {
        state.map(|state| Self::read_from(&state.dir)).unwrap_or_default()
    }

    /// Reads the record in a folder of state.
    pub(crate) fn read_from(dir: &Path) -> Self {
        let read = || {
            let mut text = String::new();
            let file = outside::open_regular(&dir.join(NAME)).ok()?;
            file.take(LIMIT).read_to_string(&mut text).ok()?;
            Some(Self(text.lines().filter_map(Last::read).collect()))
        };
        read().unwrap_or_default()
    }

    /// Returns the current writer.
    pub(crate) fn into_writer(mut self) -> Option<WriterId> {
        self.0.pop().map(|last| last.writer)
    }

    /// Iterates over the writers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Last> {
        self.0.iter()
    }

    /// Returns true if a writer is one of this user.
    pub(crate) fn has(&self, writer: &WriterId) -> bool {
        self.0.iter().any(|last| last.writer == *writer)
    }

    /// Returns the record after a line was written.
    #[must_use]
    pub(crate) fn advance(
        mut self,
        (writer, genesis): (&WriterId, String),
        line: End,
        is_durable: bool,
    ) -> Self {
        let before = self.0.iter().position(|last| last.writer == *writer);
        let before = before.map(|at| self.0.remove(at).durable);
        let durable = match is_durable {
            true => line.clone(),
            false => before.unwrap_or_else(|| End::begin(genesis)),
        };
        self.0.push(Last { writer: writer.clone(), line, durable });
        let old = self.0.len().saturating_sub(MOST);
        self.0.drain(..old);
        self
    }

    /// Writes the record. A single write to an existing file is not torn if the process is killed,
    /// and is cheap enough for each access.
    pub(crate) fn write(&self, state: &StateFolder) -> io::Result<()> {
        outside::make_private(&state.dir)?;
        state.write_mark()?;
        self.write_to(&state.dir)
    }

    /// Writes the record to an existing folder of state.
    pub(crate) fn write_to(&self, dir: &Path) -> io::Result<()> {
        let mut text = String::new();
        for Last { writer, line, durable } in &self.0 {
            let (line, durable) = ((line.seq, &line.hash), (durable.seq, &durable.hash));
            text += &format!("{writer} {} {} {} {}\n", line.0, line.1, durable.0, durable.1);
        }
        let file = outside::open_to_write(&dir.join(NAME))?;
        file.write_all_at(text.as_bytes(), 0)?;
        match file.metadata()?.len() > text.len() as u64 {
            true => file.set_len(text.len() as u64),
            false => Ok(()),
        }
    }

    /// Removes some writers, because a user declared the vault valid as it is.
    pub(crate) fn without(mut self, writers: &[WriterId]) -> Self {
        self.0.retain(|last| !writers.contains(&last.writer));
        self
    }
}
