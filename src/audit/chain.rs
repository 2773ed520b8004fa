//! Reading the logs of a vault's accesses again: every line in order, and what is wrong with the
//! chains (AUDIT-10).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::append::MAX_LINE;
use super::filter::Filter;
use super::line::{Line, LineFault, TraceId};
use super::writer::{WriterId, files_in};

/// The logs of a vault's accesses on this machine.
#[derive(Debug)]
pub struct Logs {
    dir: PathBuf,
    /// The number of the first line of each file, by writer.
    files: BTreeMap<WriterId, Vec<u64>>,
}

/// Whether a line is wanted, by its bytes.
pub type Wanted<'w> = &'w dyn Fn(&[u8]) -> bool;

/// What is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind.
    pub kind: FaultKind,
    /// The file.
    pub file: String,
    /// The line in the file, from 1 on.
    pub line: u64,
    /// What it is.
    pub why: String,
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A line is not one, or is not in its one spelling.
    Malformed,
    /// A line was changed, or does not follow the one before it.
    Mismatch,
    /// Lines are missing at the beginning or between two files.
    Gap,
    /// The last line was not written to its end; no fault of anybody.
    Torn,
}

impl FaultKind {
    /// Its code.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "audit-malformed",
            Self::Mismatch => "audit-chain-mismatch",
            Self::Gap => "audit-gap",
            Self::Torn => "audit-torn",
        }
    }

    /// Whether the log can no longer be relied on.
    pub fn is_damage(self) -> bool {
        self != Self::Torn
    }
}

/// What the next line of a writer has to be.
struct Expected {
    seq: u64,
    prev: String,
}

impl Logs {
    /// The logs in a folder; none if it does not exist.
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let files = files_in(dir)?;
        Ok(Self { dir: dir.to_owned(), files })
    }

    /// The name and the place of each file, writer by writer in their order.
    pub(super) fn paths(&self) -> impl Iterator<Item = (String, PathBuf)> {
        let names = self
            .files
            .iter()
            .flat_map(|(writer, firsts)| firsts.iter().map(move |first| writer.file(*first)));
        names.map(|name| (name.clone(), self.dir.join(name)))
    }

    /// How many writers there are.
    pub fn writers(&self) -> usize {
        self.files.len()
    }

    /// Hands out every line that is what its hash says, writer by writer in their order, and gives
    /// the faults. With `wanted`, only lines that it wants by their bytes are read, and whether each
    /// follows the one before it is not looked at.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn each(
        &self,
        wanted: Option<Wanted<'_>>,
        found: &mut dyn FnMut(Line),
    ) -> io::Result<Vec<Fault>> {
        let mut faults = Vec::new();
        for (writer, firsts) in &self.files {
            let mut expected = Expected { seq: 1, prev: writer.genesis() };
            for first in firsts {
                let name = writer.file(*first);
                let file = read_from(&self.dir.join(&name))?;
                let (expected, faults) = (&mut expected, &mut faults);
                let mut walk = Walk { name: &name, writer, wanted, expected, faults };
                walk.file(file, *first, found)?;
            }
        }
        Ok(faults)
    }

    /// Hands out the lines that a filter wants, without looking at whether each follows the one
    /// before it, and gives the faults of those that were read.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn matching(&self, filter: &Filter, found: &mut dyn FnMut(Line)) -> io::Result<Vec<Fault>> {
        let needles = filter.needles();
        let has_all = |line: &[u8]| needles.iter().all(|n| memmem::find(line, n).is_some());
        let mut keep = |line| {
            if filter.wants(&line) {
                found(line);
            }
        };
        self.each(Some(&has_all), &mut keep)
    }

    /// The line that a trace id names, with the further lines of the same answer.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn find(&self, trace: &TraceId) -> io::Result<Vec<Line>> {
        let name = trace.to_string();
        let mut found = Vec::new();
        let needle = format!("\"writer\":\"{}", trace.writer);
        let has = |bytes: &[u8]| memmem::find(bytes, needle.as_bytes()).is_some();
        self.each(Some(&has), &mut |line| {
            if line.trace() == *trace || line.cause.as_ref() == Some(&name) {
                found.push(line);
            }
        })?;
        Ok(found)
    }
}

pub(super) fn read_from(path: &Path) -> io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(1 << 16, File::open(path)?))
}

/// One file of a writer, line by line.
struct Walk<'w> {
    name: &'w str,
    writer: &'w WriterId,
    /// Which lines are read; all of them, if each has to follow the one before it.
    wanted: Option<Wanted<'w>>,
    expected: &'w mut Expected,
    faults: &'w mut Vec<Fault>,
}

impl Walk<'_> {
    fn file(
        &mut self,
        mut file: BufReader<File>,
        first: u64,
        found: &mut dyn FnMut(Line),
    ) -> io::Result<()> {
        let mut bytes = Vec::new();
        for number in 1.. {
            bytes.clear();
            let read = file.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes)?;
            if read == 0 {
                break;
            }
            if bytes.pop_if(|byte| *byte == b'\n').is_none() {
                let kind =
                    if read as u64 == MAX_LINE { FaultKind::Malformed } else { FaultKind::Torn };
                self.fault(kind, number, "the last line has no end".to_owned());
                break;
            }
            if self.wanted.is_none_or(|is_wanted| is_wanted(&bytes)) {
                self.line(&bytes, (number, first), found);
            }
        }
        Ok(())
    }

    fn line(&mut self, bytes: &[u8], (number, first): (u64, u64), found: &mut dyn FnMut(Line)) {
        let (line, hash) = match Line::read(bytes) {
            Ok(read) => read,
            Err(fault) => {
                let kind = match fault {
                    LineFault::Malformed(_) => FaultKind::Malformed,
                    LineFault::Hash { .. } => FaultKind::Mismatch,
                };
                return self.fault(kind, number, fault.to_string());
            }
        };
        if line.writer != self.writer.to_string() {
            let why = format!("it is of the writer {}", line.writer);
            return self.fault(FaultKind::Mismatch, number, why);
        }
        let Expected { seq, prev } = &*self.expected;
        let is_chained = self.wanted.is_none();
        if is_chained && line.seq > *seq {
            let why = format!("it is line {} of its writer, but line {seq} is missing", line.seq);
            self.fault(FaultKind::Gap, number, why);
        } else if is_chained && (line.seq < *seq || line.prev != *prev) {
            let why = format!("line {} does not follow the line before it", line.seq);
            self.fault(FaultKind::Mismatch, number, why);
        }
        if number == 1 && line.seq != first {
            let why = format!("the file is named for line {first}, but begins with {}", line.seq);
            self.fault(FaultKind::Mismatch, number, why);
        }
        *self.expected = Expected { seq: line.seq.saturating_add(1), prev: hash.to_string() };
        found(line);
    }

    fn fault(&mut self, kind: FaultKind, line: u64, why: String) {
        self.faults.push(Fault { kind, file: self.name.to_owned(), line, why });
    }
}
