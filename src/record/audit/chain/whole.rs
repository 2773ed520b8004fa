//! Puts the blocks of a file together in their order.

use std::io;

use super::super::blocks::{Ending, LineReader, LogFile};
use super::super::cut::Pruning;
use super::super::fault::{Fault, FaultKind, Faults};
use super::super::line::Line;
use super::block::{Doubtful, Said};
use super::follows::{Expected, Jump, Step};
use crate::record::journal::last_line;

/// State of a file whose blocks are put together.
pub(super) struct Whole<'w, 'c> {
    pub(super) name: &'w str,
    /// The number of the next line.
    pub(super) number: u64,
    pub(super) expected: &'w mut Expected,
    /// Cuts at which the log was pruned.
    pub(super) cuts: &'c [Pruning],
    pub(super) jumps: &'w mut Vec<Jump<'c>>,
    /// Lines that a power cut may have left, unless a sound line follows.
    pub(super) doubtful: Option<Doubtful>,
}

impl<'c> Whole<'_, 'c> {
    /// Adds the faults of the next block, and a fault if it does not follow the blocks before it.
    pub(super) fn add(&mut self, said: Said<'c>, all: &mut Faults) {
        let (name, number) = (self.name, self.number);
        let placed = |fault: Fault| fault.placed(name, number);
        let (before, first) = match &said.ends {
            Some(ends) => {
                if let Some(doubtful) = self.doubtful.take() {
                    all.join(doubtful.faults, (0, None), |fault| fault);
                }
                let fault = match self.expected.step(&ends.first, self.cuts) {
                    Step::Next => None,
                    Step::Jump(jump) => {
                        self.jumps.push(jump);
                        None
                    }
                    Step::Fault(kind, why) => Some(Fault::new(kind, ends.line, why)),
                };
                (ends.faults, fault)
            }
            None => (0, None),
        };
        let faults = self.doubtful.as_mut().map_or(all, |doubtful| &mut doubtful.faults);
        faults.join(said.faults, (before, first), placed);
        if let Some(Doubtful { line, faults: later }) = said.doubtful {
            let begin = Doubtful { line: line + number, faults: Faults::default() };
            let doubtful = self.doubtful.get_or_insert(begin);
            doubtful.faults.join(later, (0, None), placed);
        }
        if let Some(ends) = said.ends {
            *self.expected = ends.next;
        }
        self.jumps.extend(said.jumps);
        self.number += said.lines;
    }

    /// Checks whether a line is missing in a file that was only partly read: compares the numbers
    /// of its first and last line with the number of lines.
    pub(super) fn count(&mut self, file: &LogFile, all: &mut Faults) -> io::Result<()> {
        let name = self.name;
        let mut fault = |kind, line, why| all.add(Fault::new(kind, line, why).placed(name, 0));
        let mut lines = LineReader::new(file);
        let Ending::Line(first) = lines.next()? else { return Ok(()) };
        let first = Line::read(first);
        let (last, _) = last_line(file.length(), |from, length| file.part(from, length))?;
        let last = Line::read(&last.unwrap_or_default());
        let ((first, _), (last, hash)) = match (first, last) {
            (Ok(first), Ok(last)) => (first, last),
            (Err(why), _) => {
                fault(why.kind(), 1, why.to_string());
                return Ok(());
            }
            (_, Err(why)) => {
                fault(why.kind(), self.number - 1, why.to_string());
                return Ok(());
            }
        };
        match self.expected.step(&Expected { seq: first.seq, prev: first.prev }, self.cuts) {
            Step::Next => {}
            Step::Jump(jump) => self.jumps.push(jump),
            Step::Fault(kind, why) => fault(kind, 1, why),
        }
        let (lines, numbered) = (self.number - 1, last.seq.saturating_sub(first.seq) + 1);
        // A copy may lack lines in between that were pruned from its source.
        let is_cut = self.cuts.iter().any(|cut| (first.seq..last.seq).contains(&cut.seq));
        if lines > numbered || lines < numbered && !is_cut {
            let (from, to) = (first.seq, last.seq);
            let why = format!("the file has {lines} lines, but their numbers are {from} to {to}");
            fault(FaultKind::Gap, lines, why);
        }
        *self.expected = Expected::after(last.seq, hash);
        Ok(())
    }

    /// Reports doubtful lines at the end of the file.
    pub(super) fn end(self, all: &mut Faults) {
        if let Some(doubtful) = self.doubtful {
            let why = "the line contains NUL, and no sound line follows".to_owned();
            all.add(Fault::new(FaultKind::Torn, doubtful.line, why).placed(self.name, 0));
        }
    }
}
