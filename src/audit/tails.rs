//! The last line of each change log that this user wrote, kept outside of the vault: a log that no
//! longer holds it was truncated or replaced (AUDIT-21).

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::end::End;
use super::line::Line;
use super::writer::WriterId;
use crate::model::number::CheckpointNumber;
use crate::vault::Vault;
use crate::vault::disk::Disk;
use crate::vault::outside::{self, StateFolder};
use crate::yaml::canonical_number;

/// More than any file of ours has.
const LIMIT: u64 = 64 << 10;
/// So many writers are kept in mind.
const MOST: usize = 256;

/// The last line of a writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The writer.
    pub writer: WriterId,
    /// The number of the line.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
    /// The checkpoint that the writer recorded last; none before the first.
    pub sealed: Option<u64>,
}

impl Tail {
    /// Whether a log with this end may still hold the line.
    pub(super) fn may_be_followed_by(&self, end: &End) -> bool {
        end.seq > self.seq || end.seq == self.seq && end.hash == self.hash
    }

    fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [writer, seq, hash, sealed] = words.as_slice() else { return None };
        let sealed = canonical_number(sealed)?;
        Some(Self {
            writer: writer.parse().ok()?,
            seq: canonical_number(seq)?,
            hash: (*hash).to_owned(),
            sealed: (sealed > 0).then_some(sealed),
        })
    }
}

/// What this user wrote of a vault; the writer that goes on is the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tails(Vec<Tail>);

impl FromIterator<Tail> for Tails {
    fn from_iter<T: IntoIterator<Item = Tail>>(tails: T) -> Self {
        Self(tails.into_iter().collect())
    }
}

impl Tails {
    /// What is kept in mind; nothing without a directory of state.
    pub fn read(state: Option<&StateFolder>) -> Self {
        let read = |state: &StateFolder| Self::read_from(&state.dir.join(outside::CHANGES)).1;
        state.map(read).unwrap_or_default()
    }

    /// What a file says, and its whole text; nothing if there is none.
    pub(crate) fn read_from(path: &Path) -> (String, Self) {
        let mut text = String::new();
        let read = File::open(path).and_then(|file| file.take(LIMIT).read_to_string(&mut text));
        match read {
            Ok(_) => {
                let tails = text.lines().filter_map(Tail::read).collect();
                (text, Self(tails))
            }
            Err(_) => Default::default(),
        }
    }

    /// The writer that goes on.
    pub(crate) fn last(&self) -> Option<&Tail> {
        self.0.last()
    }

    /// Each.
    pub fn iter(&self) -> impl Iterator<Item = &Tail> {
        self.0.iter()
    }

    /// Takes off the one that a line is.
    pub(crate) fn find(&mut self, line: &Line) {
        let is_it = |tail: &Tail| tail.seq == line.seq && tail.writer.to_string() == line.writer;
        if let Some(at) = self.0.iter().position(is_it)
            && line.hash.is_some_and(|hash| hash.to_string() == self.0[at].hash)
        {
            self.0.remove(at);
        }
    }

    /// The same without some of its writers: a user declared that the vault counts as it is.
    pub(super) fn without(mut self, writers: &[WriterId]) -> Self {
        self.0.retain(|tail| !writers.contains(&tail.writer));
        self
    }

    /// A log that ends there was declared to be the one that counts: what was recorded of later
    /// checkpoints is of another one.
    pub(super) fn end_at(&mut self, checkpoint: u64) {
        for tail in &mut self.0 {
            tail.sealed = tail.sealed.filter(|sealed| *sealed <= checkpoint);
        }
    }

    /// Whether a checkpoint, or one after it, was recorded.
    pub(super) fn has_sealed(&self, checkpoint: CheckpointNumber) -> bool {
        self.0.iter().any(|tail| tail.sealed.is_some_and(|sealed| sealed >= checkpoint.0))
    }

    /// A line was written.
    pub(crate) fn advance(&mut self, tail: Tail) {
        let before = self.0.iter().position(|known| known.writer == tail.writer);
        let before = before.map(|at| self.0.remove(at)).and_then(|known| known.sealed);
        self.0.push(Tail { sealed: tail.sealed.or(before), ..tail });
        let old = self.0.len().saturating_sub(MOST);
        self.0.drain(..old);
    }

    /// Keeps it in mind, for the holder of the vault's write lock.
    pub(super) fn write(&self, vault: &Vault) -> io::Result<()> {
        let Some(StateFolder { dir, .. }) = vault.state() else { return Ok(()) };
        outside::make_private(dir)?;
        vault.state().map_or(Ok(()), StateFolder::write_mark)?;
        self.write_to(vault.files().disk(), (dir, outside::CHANGES), "")
    }

    /// Writes it into a file of a folder that is there, with a heading before it.
    pub(crate) fn write_to(
        &self,
        disk: &Disk,
        (dir, name): (&Path, &str),
        heading: &str,
    ) -> io::Result<()> {
        let line = |tail: &Tail| {
            let Tail { writer, seq, hash, sealed } = tail;
            format!("{writer} {seq} {hash} {}\n", sealed.unwrap_or(0))
        };
        let lines: String = self.0.iter().map(line).collect();
        let (text, new) = (format!("{heading}{lines}"), dir.join(format!("{name}.new")));
        let _ = std::fs::remove_file(&new);
        let file = disk.create_outside(&new)?;
        disk.write(&file, &new.to_string_lossy(), 0, text.as_bytes())?;
        Ok(disk.rename_outside(&new, &dir.join(name))?)
    }
}
