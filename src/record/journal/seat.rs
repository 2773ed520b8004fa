//! The position of a writer's next line in the vault, for the holder of the write lock.

use super::end::{End, last_line};
use super::tails::{Tail, Tails};
use super::writer::{FULL, Random, WriterId};
use crate::files::vault::files::{FileError, Files};
use crate::files::vault::write::{TornLine, Written};
use crate::values::model::layout;

/// Maximum number of lines after the last recorded one.
pub(crate) const MOST_AFTER: usize = 4096;

/// A kind of log in the vault, with the format of its lines.
pub(crate) trait Journal {
    /// The file that keeps git from converting the log.
    const ATTRIBUTES: &'static str;
    /// True if the writer of a full file continues in another one; else another writer begins.
    const GOES_ON: bool;

    /// Returns the genesis of a writer's chain.
    fn genesis(&self, writer: &WriterId) -> String;

    /// Returns the path of the file of a writer whose first line has this number.
    fn path(&self, writer: &WriterId, first: u64) -> String;

    /// Returns the number of the first line in the last file of a writer; `None` if no file exists.
    ///
    /// # Errors
    /// Fails if the files cannot be listed.
    fn last_file(&self, files: &Files, writer: &WriterId) -> Result<Option<u64>, FileError>;

    /// Parses a line of a writer; `None` if it is not one.
    fn read(&self, line: &[u8], writer: &WriterId) -> Option<End>;
}

/// The position of a writer's next line.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) writer: WriterId,
    /// The line before it.
    pub(crate) end: End,
    path: String,
    /// Length of the file up to the position.
    length: u64,
    /// Length of the whole file. A crash left the bytes after the last whole line.
    total: u64,
}

impl Seat {
    /// Returns the seat of the current writer, or of a new writer if the log is full or was
    /// changed. An incomplete line after a crash is truncated.
    ///
    /// # Errors
    /// Fails if the log cannot be read or truncated.
    pub(crate) fn take(
        files: &Files,
        journal: &impl Journal,
        (tails, random): (&Tails, Random),
    ) -> Result<Self, FileError> {
        let found = match tails.last() {
            Some(tail) => Self::find(files, journal, tail)?,
            None => None,
        };
        if let Some(seat) = found {
            if let Some(torn) = seat.torn() {
                torn.cut(files)?;
            }
            match seat.length >= FULL {
                false => return Ok(Self { total: seat.length, ..seat }),
                true => {
                    if let Some(seat) = seat.in_next_file(journal) {
                        return Ok(seat);
                    }
                }
            }
        }
        let writer = WriterId::new(random);
        let (path, end) = (journal.path(&writer, 1), End::begin(journal.genesis(&writer)));
        Ok(Self { writer, end, path, length: 0, total: 0 })
    }

    fn in_next_file<J: Journal>(self, journal: &J) -> Option<Self> {
        let path = journal.path(&self.writer, self.end.seq + 1);
        J::GOES_ON.then_some(Self { path, length: 0, total: 0, ..self })
    }

    /// Returns the end of a writer's log; `None` if the last recorded line is missing or differs.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub(crate) fn find(
        files: &Files,
        journal: &impl Journal,
        tail: &Tail,
    ) -> Result<Option<Self>, FileError> {
        let writer = tail.writer.clone();
        let Some(first) = journal.last_file(files, &writer)? else { return Ok(None) };
        let path = journal.path(&writer, first);
        let total = match files.stamp(&path) {
            Err(FileError::Link { .. } | FileError::NotRegular { .. }) => return Ok(None),
            Err(why) if why.is_absent() => return Ok(None),
            other => other?.length,
        };
        let read = |from, length| files.read_at(&path, from, length);
        let line = |line: &[u8]| journal.read(line, &writer);
        let Some((end, length)) = whole_end((total, first), read, &line, tail)? else {
            return Ok(None);
        };
        Ok(Some(Self { writer, end, path, length, total }))
    }

    /// Appends lines and syncs them.
    ///
    /// # Errors
    /// Fails if nothing was appended.
    pub(crate) fn append<J: Journal>(&self, files: &Files, lines: &[u8]) -> Result<(), FileError> {
        let Self { path, length, .. } = self;
        if *length == 0 && !files.exists(J::ATTRIBUTES) {
            // Recording must not fail because this file cannot be written.
            let _ = files.create_new(J::ATTRIBUTES, layout::ATTRIBUTES_TEXT.as_bytes());
        }
        files.append(path, *length, lines)?;
        let written = match length {
            0 => Written::New(path),
            _ => Written::Longer(path),
        };
        files.sync(&[written]).inspect_err(|_| files.take_back(path, *length, lines))
    }

    fn torn(&self) -> Option<TornLine> {
        let Self { path, total, length, .. } = self;
        let (total, length) = (*total, *length);
        (length < total).then(|| TornLine { path: path.clone(), total, length })
    }
}

/// Returns the torn lines at the ends of these writers' logs, which their next lines would replace.
///
/// # Errors
/// Fails if a log cannot be read.
pub(crate) fn torn(
    files: &Files,
    journal: &impl Journal,
    tails: &Tails,
) -> Result<Vec<TornLine>, FileError> {
    let mut found = Vec::new();
    for tail in tails.iter() {
        found.extend(Seat::find(files, journal, tail)?.and_then(|seat| seat.torn()));
    }
    Ok(found)
}

/// Returns the last whole line after a crash, and the length up to its end. The last recorded line
/// must be in this file or in an earlier one, else the result is `None`. A power cut leaves NUL in
/// lines that were not synced.
fn whole_end<E>(
    (total, first): (u64, u64),
    read: impl Fn(u64, usize) -> Result<Vec<u8>, E>,
    line: &dyn Fn(&[u8]) -> Option<End>,
    tail: &Tail,
) -> Result<Option<(End, u64)>, E> {
    let (mut found, mut at) = (None, total);
    for _ in 0..MOST_AFTER {
        let (Some(bytes), length) = last_line(at, &read)? else {
            return Ok(found.filter(|_| first > tail.seq));
        };
        at = length.saturating_sub(bytes.len() as u64 + 1);
        if bytes.contains(&0) {
            found = None;
            continue;
        }
        let Some(end) = line(&bytes) else { return Ok(None) };
        let is_before = end.seq <= tail.seq;
        let is_it = end.seq == tail.seq && end.hash == tail.hash;
        found.get_or_insert((end, length));
        if is_before {
            return Ok(found.filter(|_| is_it));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the end of a log whose lines are a number and a hash each, if `5 a` is the last
    /// recorded line.
    fn end_of(text: &str, first: u64) -> Option<(u64, u64)> {
        let read = |from: u64, length: usize| {
            let from = usize::try_from(from).unwrap();
            Ok::<_, ()>(text.as_bytes()[from..from + length].to_vec())
        };
        let line = |line: &[u8]| {
            let (seq, hash) = std::str::from_utf8(line).ok()?.split_once(' ')?;
            Some(End { seq: seq.parse().ok()?, hash: hash.to_owned() })
        };
        let writer = "0123456789abcdef0123456789abcdef".parse().unwrap();
        let tail = Tail { writer, seq: 5, hash: "a".to_owned(), sealed: None };
        let found = whole_end((text.len() as u64, first), read, &line, &tail).unwrap();
        found.map(|(end, length)| (end.seq, length))
    }

    #[test]
    fn seat_ends_at_the_last_whole_line_after_the_recorded_one() {
        assert_eq!(end_of("4 z\n5 a\n", 1), Some((5, 8)));
        assert_eq!(end_of("5 a\n6 b\n", 1), Some((6, 8)));
        assert_eq!(end_of("5 a\n6 b", 1), Some((5, 4)));
        // A power cut leaves NUL, and the lines after it were not synced either.
        assert_eq!(end_of("5 a\n6 \0\0\n7 c\n", 1), Some((5, 4)));
        // A file that begins after the recorded line need not contain it.
        assert_eq!(end_of("6 b\n", 6), Some((6, 4)));
    }

    #[test]
    fn seat_refuses_a_log_without_the_recorded_line() {
        for text in
            ["", "4 z\n", "5 other\n", "5 other\n6 b\n", "4 z\n6 b\n", "5 a\nx\n6 b\n", "6 b\n"]
        {
            assert_eq!(end_of(text, 1), None, "{text}");
        }
    }
}
