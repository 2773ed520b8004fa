//! Reads the lines of a delta log piece by piece. Memory contains the entries, one piece and at
//! most one line, however long the file is.

use std::io::{self, BufRead as _, Read};

use rayon::prelude::*;

use super::MAX_FAULTY;
use super::delta;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::fault::EntryFault;
use crate::values::model::layout::limit;

/// Contents of a file of lines.
#[derive(Default)]
pub(super) struct Lines {
    /// The entries in file order.
    pub(super) entries: Vec<Result<Checkpoint, EntryFault>>,
    /// Number of entries that are faults. Reading stops if there are too many.
    pub(super) faulty: usize,
    /// Number of bytes after the last newline.
    pub(super) torn: usize,
    /// Number of bytes that were read.
    pub(super) length: u64,
    /// Offset of the last whole line.
    pub(super) last_at: u64,
    /// The beginning of that line.
    pub(super) last_line: Vec<u8>,
}

/// Number of bytes that are read at a time; most files are shorter.
const PIECE: u64 = 8 << 20;
/// Beginning of every line. A line longer than a piece that begins otherwise is never kept.
const START: &[u8] = b"{\"at\":\"";
/// Number of lines from which threads are faster despite their start and their own memory.
const WORTH_THREADS: usize = 64;
/// Maximum number of lines that are parsed before faults are counted.
const BATCH: usize = 4_096;
/// Number of bytes that are kept of the last line: its hash precedes everything that makes a
/// line long.
const KEPT: usize = 256;

fn parse(line: &[u8]) -> Result<Checkpoint, EntryFault> {
    if line.len() as u64 >= limit::HISTORY {
        return Err(too_long());
    }
    delta::parse(line)
}

fn too_long() -> EntryFault {
    EntryFault::Unreadable("longer than a checkpoint can be".to_owned())
}

/// Splits off the first whole lines, without their newlines, and returns them with the rest.
fn split(mut rest: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut lines = Vec::new();
    while lines.len() < BATCH {
        let mut after = rest;
        // Reading from memory does not fail.
        let length = after.skip_until(b'\n').unwrap_or(0);
        let Some(line) = rest[..length].strip_suffix(b"\n") else { break };
        lines.push(line);
        rest = after;
    }
    (lines, rest)
}

/// Reads a log to its end.
pub(super) fn read(mut file: impl Read) -> io::Result<Lines> {
    let mut read = Lines::default();
    // Bytes that were read but not parsed, and number of bytes that were dropped from a line that
    // is too long.
    let (mut held, mut dropped) = (Vec::new(), 0);
    while read.faulty <= MAX_FAULTY {
        let begin = held.len();
        let more = (&mut file).take(PIECE).read_to_end(&mut held)?;
        if more == 0 {
            break;
        }
        read.length += more as u64;
        let end = held[begin..].iter().rposition(|b| *b == b'\n').map_or(0, |n| begin + n + 1);
        if end > 0 {
            let at = read.length - held.len() as u64;
            let whole = if dropped > 0 { read.end_of_dropped(&held[..end]) } else { &held[..end] };
            read.lines(whole, at + (end - whole.len()) as u64);
            held.drain(..end);
            dropped = 0;
        }
        let is_long = held.len() as u64 >= limit::HISTORY;
        if is_long || dropped > 0 || (held.len() as u64 >= PIECE && !held.starts_with(START)) {
            dropped += held.len();
            held = Vec::new();
        }
    }
    read.torn = dropped + held.len();
    read.entries.shrink_to_fit();
    Ok(read)
}

impl Lines {
    /// Skips the end of a line whose beginning was dropped; returns the bytes after it.
    fn end_of_dropped<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        self.entries.push(Err(too_long()));
        self.faulty += 1;
        let end = bytes.iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| n + 1);
        &bytes[end..]
    }

    /// Parses whole lines, the first one at offset `at`.
    fn lines(&mut self, mut bytes: &[u8], mut at: u64) {
        while !bytes.is_empty() && self.faulty <= MAX_FAULTY {
            let (lines, rest) = split(bytes);
            let before = self.entries.len();
            if lines.len() < WORTH_THREADS {
                self.entries.extend(lines.iter().map(|line| parse(line)));
            } else {
                self.entries.par_extend(lines.par_iter().map(|line| parse(line)));
            }
            self.faulty += self.entries[before..].iter().filter(|entry| entry.is_err()).count();
            at += (bytes.len() - rest.len()) as u64;
            if let Some(line) = lines.last() {
                self.last_at = at - line.len() as u64 - 1;
                self.last_line = line[..line.len().min(KEPT)].to_vec();
            }
            bytes = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns bytes in pieces of any length, as a file may.
    struct Pieces<'b>(&'b [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(buffer.len()).min(self.0.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn read_all(bytes: &[u8]) -> Lines {
        let read = read(Pieces(bytes, bytes.len().div_ceil(3))).unwrap();
        assert_eq!(read.length, bytes.len() as u64);
        read
    }

    #[test]
    fn lines_reads_on_after_an_invalid_line() {
        let long = vec![b'x'; 3 * usize::try_from(PIECE).unwrap()];
        let bytes = [&b"{}\n"[..], &long, b"\n[]\n{}\ntorn"].concat();
        let read = read_all(&bytes);
        assert_eq!((read.entries.len(), read.faulty, read.torn), (4, 4, 4));
        assert_eq!(read.entries[1], Err(too_long()));
        assert_eq!((read.last_at, read.last_line), (bytes.len() as u64 - 7, b"{}".to_vec()));
        let read = read_all(&[b"{}\n", &long[..]].concat());
        assert_eq!((read.entries.len(), read.torn), (1, long.len()));
    }

    #[test]
    fn lines_records_the_last_whole_line() {
        let last = [&b"{\"at\":\""[..], &vec![b'x'; 2 * KEPT]].concat();
        let bytes = [&b"{}\n[1]\n"[..], &last, b"\ntorn"].concat();
        for piece in [1, 2, 7, bytes.len()] {
            let read = read(Pieces(&bytes, piece)).unwrap();
            assert_eq!((read.entries.len(), read.torn, read.last_at), (3, 4, 7), "{piece}");
            assert_eq!(read.last_line, last[..KEPT]);
        }
    }

    #[test]
    fn lines_stops_after_too_many_faults() {
        let bytes = b"\n".repeat(4 * usize::try_from(PIECE).unwrap());
        let read = read(&bytes[..]).unwrap();
        assert!(read.faulty > MAX_FAULTY && read.length == PIECE, "{}", read.length);
    }
}
