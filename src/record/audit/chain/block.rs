//! A block of lines, as one thread reads it.

use memchr::{memchr, memchr_iter};

use super::super::blocks::{Lines, Unread};
use super::super::cut::{self, Pruning};
use super::super::fault::{Fault, FaultKind, Faults};
use super::super::heads::Heads;
use super::super::line::{Line, LineFault};
use super::follows::{Expected, Jump, Step};
use super::needles::Needles;
use crate::record::journal::WriterId;

/// Maps a line to what is kept of it, on the thread that reads the line.
pub type Keep<'k, T> = &'k (dyn Fn(Line) -> Option<T> + Sync);

/// Result of reading a block.
pub(super) struct Read<'c, T> {
    /// Number of lines that match their hashes.
    pub(super) sound: u64,
    pub(super) found: Vec<T>,
    pub(super) said: Said<'c>,
}

/// Faults and ends of a block. Lines are counted from 0, from the first of the block.
pub(super) struct Said<'c> {
    /// Number of lines that begin in the block.
    pub(super) lines: u64,
    pub(super) faults: Faults,
    /// Lines that were pruned between two lines of the block.
    pub(super) jumps: Vec<Jump<'c>>,
    pub(super) ends: Option<Ends>,
    /// A line with NUL, if no sound line follows it in the block, with the faults from there on.
    pub(super) doubtful: Option<Doubtful>,
}

/// Lines that a power cut may have left. If a sound line follows them in the file, they are damage.
pub(super) struct Doubtful {
    /// The number of the first one.
    pub(super) line: u64,
    pub(super) faults: Faults,
}

impl Said<'_> {
    fn fault(&mut self, fault: Fault) {
        match &mut self.doubtful {
            Some(doubtful) => doubtful.faults.add(fault),
            None => self.faults.add(fault),
        }
    }

    /// Records that a sound line follows.
    fn is_sound_here(&mut self) {
        if let Some(doubtful) = self.doubtful.take() {
            self.faults.join(doubtful.faults, (0, None), |fault| fault);
        }
    }
}

/// The first and the last line of a block that match their hashes.
pub(super) struct Ends {
    /// Number and previous hash in the first line.
    pub(super) first: Expected,
    /// Index of the first line in the block.
    pub(super) line: u64,
    /// Number of faults before it.
    pub(super) faults: usize,
    /// Expected number and previous hash of the line after the last one.
    pub(super) next: Expected,
}

/// Parameters for reading the blocks of a file.
pub(super) struct Reader<'r, T> {
    pub(super) writer: &'r WriterId,
    /// The number of the first line, from the name of the file.
    pub(super) first: u64,
    /// Bytes that a line must contain to be read; `None` to read every line and check the order.
    pub(super) needles: Option<&'r Needles<'r>>,
    pub(super) keep: Keep<'r, T>,
    /// Cuts at which the log was pruned.
    pub(super) cuts: &'r [Pruning],
    /// Checkpoint hashes that the lines' heads are compared with.
    pub(super) heads: &'r Heads,
}

impl<'r, T> Reader<'r, T> {
    pub(super) fn block(&self, is_first: bool, lines: &Lines<'_>) -> Read<'r, T> {
        let (faults, jumps) = (Faults::default(), Vec::new());
        let said = Said { lines: 0, faults, jumps, ends: None, doubtful: None };
        let mut read = Read { sound: 0, found: Vec::new(), said };
        let text = lines.text;
        match self.needles {
            Some(needles) => {
                let number = |at: usize| memchr_iter(b'\n', &text[..at]).count() as u64;
                needles.each(text, |at, bytes| {
                    self.line(bytes, (is_first && at == 0, &|| number(at)), &mut read);
                });
                // A wanted line may have been lost to a power cut, which left NUL in its place.
                if let Some(at) = memchr(0, text) {
                    let why = "the line contains NUL".to_owned();
                    read.said.fault(Fault::new(FaultKind::Torn, number(at), why));
                }
                read.said.lines = number(text.len());
            }
            None => {
                for bytes in text.split_inclusive(|byte| *byte == b'\n') {
                    let number = read.said.lines;
                    let bytes = &bytes[..bytes.len() - 1];
                    // JSON contains no NUL.
                    if read.said.doubtful.is_none() && memchr(0, bytes).is_some() {
                        let faults = Faults::default();
                        read.said.doubtful = Some(Doubtful { line: number, faults });
                    }
                    self.line(bytes, (is_first && number == 0, &|| number), &mut read);
                    read.said.lines += 1;
                }
            }
        }
        if let Some(unread) = lines.unread {
            let (kind, why) = match unread {
                Unread::Torn => (FaultKind::Torn, "the last line is incomplete"),
                Unread::TooLong => (FaultKind::Malformed, "the line is longer than 16 MiB"),
            };
            read.said.fault(Fault::new(kind, read.said.lines, why.to_owned()));
            read.said.lines += 1;
        }
        read
    }

    fn line(
        &self,
        bytes: &[u8],
        (begins_file, number): (bool, &dyn Fn() -> u64),
        read: &mut Read<'r, T>,
    ) {
        let said = &mut read.said;
        let (line, hash) = match Line::read(bytes) {
            Ok(read) => read,
            Err(fault) => {
                return said.fault(Fault::new(fault.kind(), number(), fault.to_string()));
            }
        };
        if !self.writer.is(&line.writer) {
            let why = format!("the line names another writer, {}", line.writer);
            return said.fault(Fault::new(FaultKind::Mismatch, number(), why));
        }
        said.is_sound_here();
        let seq = line.seq;
        if self.needles.is_none() {
            let found = Expected { seq, prev: line.prev.clone() };
            let next = Expected::after(seq, hash);
            match &mut said.ends {
                Some(ends) => {
                    match ends.next.step(&found, self.cuts) {
                        Step::Next => {}
                        Step::Jump(jump) => said.jumps.push(jump),
                        Step::Fault(kind, why) => {
                            said.faults.add(Fault::new(kind, number(), why));
                        }
                    }
                    ends.next = next;
                }
                None => {
                    let (line, faults) = (number(), said.faults.kept());
                    said.ends = Some(Ends { first: found, line, faults, next });
                }
            }
        }
        if let Some(why) = line.value_fault() {
            said.faults.add(Fault::new(FaultKind::Malformed, number(), why));
        }
        if let Some(why) = self.heads.contradict(&line) {
            said.faults.add(Fault::new(FaultKind::Contradicts, number(), why));
        }
        let is_after_cut = || seq > self.first && cut::find(self.cuts, seq, &line.prev).is_some();
        if begins_file && seq != self.first && !is_after_cut() {
            let first = self.first;
            let why = format!("the file is named for line {first}, but begins with {seq}");
            said.faults.add(Fault::new(FaultKind::Mismatch, number(), why));
        }
        read.sound += 1;
        read.found.extend((self.keep)(line));
    }
}

impl LineFault {
    /// Returns the kind of fault to report.
    pub(super) fn kind(&self) -> FaultKind {
        match self {
            Self::Malformed(_) => FaultKind::Malformed,
            Self::Hash { .. } => FaultKind::Mismatch,
        }
    }
}
