//! The last line that this user wrote to each log, recorded outside of the vault. A log that no
//! longer contains this line was truncated or replaced (AUDIT-21, STAGE-8).

use std::io::{self, Read as _};
use std::path::Path;

use super::writer::WriterId;
use crate::files::vault::disk::Disk;
use crate::files::vault::outside;
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;
use crate::values::yaml::canonical_number;

/// Maximum length of a file in bytes.
const LIMIT: u64 = 64 << 10;
/// Length in bytes from which a file is replaced instead of appended to.
const GROWN: usize = 48 << 10;
/// Maximum number of writers that are recorded.
const MOST: usize = 256;

/// The last line of a writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The id of the writer.
    pub writer: WriterId,
    /// The number of the line.
    pub seq: u64,
    /// The hash of the line.
    pub hash: String,
    /// The last checkpoint that the writer recorded; `None` before the first.
    pub sealed: Option<u64>,
}

impl Tail {
    fn line(&self) -> String {
        let Self { writer, seq, hash, sealed } = self;
        format!("{writer} {seq} {hash} {}\n", sealed.unwrap_or(0))
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

/// The last lines of this user's writers, the current writer last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tails(Vec<Tail>);

impl FromIterator<Tail> for Tails {
    fn from_iter<T: IntoIterator<Item = Tail>>(tails: T) -> Self {
        Self(tails.into_iter().collect())
    }
}

impl Tails {
    /// Reads a file, and returns its text with the parsed tails; both empty if the file is missing.
    pub(crate) fn read_from(path: &Path) -> (String, Self) {
        let mut text = String::new();
        let opened = outside::open_regular(path);
        let read = opened.and_then(|file| file.take(LIMIT).read_to_string(&mut text));
        match read {
            Ok(_) => {
                let mut tails = Self::default();
                text.lines().filter_map(Tail::read).for_each(|tail| tails.advance(tail));
                (text, tails)
            }
            Err(_) => Default::default(),
        }
    }

    /// Returns the tail of the current writer.
    pub(crate) fn last(&self) -> Option<&Tail> {
        self.0.last()
    }

    /// Iterates over the tails.
    pub fn iter(&self) -> impl Iterator<Item = &Tail> {
        self.0.iter()
    }

    /// Removes the tail that matches a line with this hash.
    pub(crate) fn found(&mut self, (writer, seq): (&str, u64), hash: Option<Digest>) {
        let is_it = |tail: &Tail| tail.seq == seq && tail.writer.is(writer);
        if let Some(at) = self.0.iter().position(is_it)
            && hash.is_some_and(|hash| hash.to_string() == self.0[at].hash)
        {
            self.0.remove(at);
        }
    }

    /// Removes tails from a file in the user's state, because a user declared the vault valid as it
    /// is, or declared it to be another vault.
    ///
    /// # Errors
    /// Fails if the file could not be written.
    pub(crate) fn retain_in(
        disk: &Disk,
        (dir, name): (&Path, &str),
        heading: &str,
        is_kept: impl Fn(&Tail) -> bool,
    ) -> io::Result<()> {
        let (_, mut tails) = Self::read_from(&dir.join(name));
        let before = tails.0.len();
        tails.0.retain(is_kept);
        match tails.0.len() == before {
            true => Ok(()),
            false => tails.write_to(disk, (dir, name), heading),
        }
    }

    /// Forgets the recorded checkpoints after this one, because a log that ends there was
    /// declared valid.
    pub(crate) fn end_at(&mut self, checkpoint: u64) {
        for tail in &mut self.0 {
            tail.sealed = tail.sealed.filter(|sealed| *sealed <= checkpoint);
        }
    }

    /// Returns true if a checkpoint, or one after it, was recorded.
    pub(crate) fn has_sealed(&self, checkpoint: CheckpointNumber) -> bool {
        self.0.iter().any(|tail| tail.sealed.is_some_and(|sealed| sealed >= checkpoint.0))
    }

    /// Records a line that was written.
    pub(crate) fn advance(&mut self, tail: Tail) {
        let before = self.0.iter().position(|known| known.writer == tail.writer);
        let before = before.map(|at| self.0.remove(at)).and_then(|known| known.sealed);
        self.0.push(Tail { sealed: tail.sealed.or(before), ..tail });
        let old = self.0.len().saturating_sub(MOST);
        self.0.drain(..old);
    }

    /// Writes the tails to a file in an existing folder, after a heading.
    pub(crate) fn write_to(
        &self,
        disk: &Disk,
        (dir, name): (&Path, &str),
        heading: &str,
    ) -> io::Result<()> {
        let lines: String = self.0.iter().map(Tail::line).collect();
        let (text, new) = (format!("{heading}{lines}"), dir.join(format!("{name}.new")));
        let _ = std::fs::remove_file(&new);
        let file = disk.create_outside(&new)?;
        disk.write(&file, &new.to_string_lossy(), 0, text.as_bytes())?;
        Ok(disk.rename_outside(&new, &dir.join(name))?)
    }

    /// Writes the tails after [`Tails::advance`] if the text of the file is known. If the file can
    /// grow, only the line of the current writer is appended, which costs less than a new file.
    pub(crate) fn append_to(
        &self,
        disk: &Disk,
        (dir, name): (&Path, &str),
        (heading, before): (&str, &str),
    ) -> io::Result<()> {
        // The line must not be joined with an incomplete one that a crash left.
        let can_grow =
            before.starts_with(heading) && before.ends_with('\n') && before.len() < GROWN;
        let Some(tail) = self.last().filter(|_| can_grow) else {
            return self.write_to(disk, (dir, name), heading);
        };
        let path = dir.join(name);
        let file = outside::open_to_append(&path)?;
        disk.write(&file, &path.to_string_lossy(), before.len() as u64, tail.line().as_bytes())
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests tear a file")]
mod tests {
    use super::*;

    fn tail(writer: u64, seq: u64) -> Tail {
        let writer: WriterId = format!("{writer:032x}").parse().unwrap();
        Tail { writer, seq, hash: format!("sha256:{seq:064x}"), sealed: None }
    }

    /// Appends like a writer, and returns the length of the file.
    fn append(dir: &Path, one: Tail) -> usize {
        let (before, mut tails) = Tails::read_from(&dir.join("a"));
        tails.advance(one);
        tails.append_to(&Disk::default(), (dir, "a"), ("source s\n", &before)).unwrap();
        std::fs::read(dir.join("a")).unwrap().len()
    }

    #[test]
    fn tails_keep_the_last_line_of_each_writer_in_a_bounded_file() {
        let dir = tempfile::tempdir().unwrap();
        let lengths: Vec<usize> =
            (1..1000_u64).map(|n| append(dir.path(), tail(n % 3, n))).collect();
        assert!(lengths[1] > lengths[0] && lengths.iter().all(|length| *length < GROWN + 200));
        assert!(lengths.windows(2).any(|pair| pair[1] < pair[0]));
        let (_, read) = Tails::read_from(&dir.path().join("a"));
        assert_eq!(read, Tails(vec![tail(1, 997), tail(2, 998), tail(0, 999)]));
    }

    #[test]
    fn tails_read_from_a_pipe_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("a"), mode).unwrap();
        assert_eq!(Tails::read_from(&dir.path().join("a")).1, Tails::default());
    }

    #[test]
    fn tails_survive_an_incomplete_line() {
        let dir = tempfile::tempdir().unwrap();
        for n in 1..3 {
            append(dir.path(), tail(1, n));
        }
        let path = dir.path().join("a");
        let text = std::fs::read_to_string(&path).unwrap();
        for torn in [format!("{text}0000"), format!("{text}\0\0\0"), text[..40].to_owned()] {
            std::fs::write(&path, torn).unwrap();
            append(dir.path(), tail(2, 7));
            let (text, read) = Tails::read_from(&path);
            assert_eq!(read.last(), Some(&tail(2, 7)), "{text}");
            assert!(text.starts_with("source s\n") && text.ends_with('\n'));
        }
    }
}
