//! Finds the lines with the trace id of an access. The lines of a writer are ordered by their
//! numbers, so few of them are read.

use std::cmp::Ordering;
use std::io;

use super::blocks::{Ending, LineReader, LogFile};
use super::canonical::Members;
use super::chain::{LogFiles, Logs};
use super::hydration::Hydration;
use super::line::{Line, TraceId};
use crate::record::journal::{End, WriterId, last_line};

/// Result of comparing a log with a line that its writer wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The log has the line, or the line was pruned.
    Has,
    /// The log has another line with this number, or continues without it.
    Another,
    /// The log ends before the line; contains the number of its last line.
    Shorter(u64),
    /// No file of the writer exists.
    Absent,
}

/// Maximum number of unsound lines at the end of a file that are skipped.
const MOST_TORN: usize = 4096;

impl Logs {
    /// Returns the hydration that a trace names, if its line satisfies `is_asked`; `None` if no
    /// sound line has this trace.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn hydration(
        &self,
        trace: &TraceId,
        is_asked: impl Fn(&Line) -> bool,
    ) -> io::Result<Option<Hydration>> {
        let found = self.find(trace)?;
        let mut asked = found.iter().filter(|line| is_asked(line));
        Ok(asked.find_map(Line::hydration).cloned())
    }

    /// Compares the log of a writer with a line that the writer wrote.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub(super) fn standing(&self, writer: &WriterId, end: &End) -> io::Result<Standing> {
        let cuts = self.cuts().of_writer(&writer.to_string());
        match end.seq == 0 || cuts.iter().any(|cut| end.seq <= cut.seq) {
            true => Ok(Standing::Has),
            false => self.unpruned(writer, end),
        }
    }

    /// Works like [`Logs::standing`], but a line that was pruned is missing.
    pub(super) fn unpruned(&self, writer: &WriterId, end: &End) -> io::Result<Standing> {
        let name = writer.to_string();
        let Some(files) = self.files.get(writer) else { return Ok(Standing::Absent) };
        let found = self.find(&TraceId::of(&name, end.seq))?;
        let mut found = found.iter().filter(|line| writer.is(&line.writer)).peekable();
        let is_there = found.peek().is_some();
        let is_it = |line: &Line| line.hash.is_some_and(|hash| hash.to_string() == end.hash);
        if found.any(is_it) {
            return Ok(Standing::Has);
        }
        Ok(match self.last_of(writer, files)? {
            last if is_there || last >= end.seq => Standing::Another,
            last => Standing::Shorter(last),
        })
    }

    /// Returns the number of the last sound line of a writer; 0 if there is none.
    pub(super) fn last_of(&self, writer: &WriterId, files: &LogFiles) -> io::Result<u64> {
        let lasts = files.firsts.iter().map(|first| self.last_sound(writer, *first));
        let last = lasts.collect::<io::Result<Vec<_>>>()?.into_iter().flatten().max();
        Ok(last.unwrap_or(0))
    }

    /// Returns the number of the last sound line of a file. A crash may have left other lines
    /// after it.
    fn last_sound(&self, writer: &WriterId, first: u64) -> io::Result<Option<u64>> {
        let Ok((_, file)) = self.opened(writer, first)? else { return Ok(None) };
        let mut length = file.length();
        for _ in 0..MOST_TORN {
            let (line, end) = last_line(length, |from, length| file.part(from, length))?;
            let Some(line) = line else { break };
            if let Ok((line, _)) = Line::read(&line) {
                return Ok(Some(line.seq));
            }
            length = end.saturating_sub(line.len() as u64 + 1);
        }
        Ok(None)
    }

    /// Returns the line that a trace names, with the further lines of the same answer.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn find(&self, trace: &TraceId) -> io::Result<Vec<Line>> {
        let is_writer = |writer: &WriterId| writer.to_string().starts_with(&trace.writer);
        if !self.files.keys().any(is_writer) {
            return Ok(Vec::new());
        }
        for (writer, files) in &self.files {
            let first = files.firsts.iter().rev().find(|first| **first <= trace.seq);
            if let Some(first) = first.filter(|_| is_writer(writer)) {
                let Ok((_, file)) = self.opened(writer, *first)? else { continue };
                let found = lines_of(&file, writer, trace)?;
                if !found.is_empty() {
                    let seen = found.into_iter().filter_map(|line| self.seen(line, writer));
                    return Ok(seen.collect());
                }
            }
        }
        self.search(trace)
    }

    /// Works like [`Logs::find`] for a log whose lines are not in order.
    fn search(&self, trace: &TraceId) -> io::Result<Vec<Line>> {
        let name = trace.to_string();
        let mut found = Vec::new();
        let is_it = |line: Line| (line.trace() == *trace).then_some(line);
        let is_further = |line: Line| (line.cause.as_ref() == Some(&name)).then_some(line);
        let of_writer = format!("\"writer\":\"{}", trace.writer).into_bytes();
        let needles = [format!("\"seq\":{},", trace.seq).into_bytes(), of_writer];
        self.having(&needles, &is_it, &mut |line| found.push(line))?;
        if !found.is_empty() {
            let needles = [format!("\"cause\":\"{name}\"").into_bytes()];
            self.having(&needles, &is_further, &mut |line| found.push(line))?;
        }
        Ok(found)
    }
}

/// Returns the line of a file that a trace names, and the further ones right after it; empty if the
/// line is missing, or if a line that the search reads is unsound.
fn lines_of(file: &LogFile, writer: &WriterId, trace: &TraceId) -> io::Result<Vec<Line>> {
    let Some(begin) = begin_of(file, trace.seq)? else { return Ok(Vec::new()) };
    let (mut lines, name) = (LineReader::new(file), trace.to_string());
    lines.go_to(begin)?;
    let mut found = Vec::new();
    while let Ending::Line(bytes) = lines.next()? {
        let Ok((line, _)) = Line::read(bytes) else { break };
        let is_it = if found.is_empty() {
            line.seq == trace.seq
        } else {
            line.cause.as_ref() == Some(&name)
        };
        if !is_it || !writer.is(&line.writer) {
            break;
        }
        found.push(line);
    }
    Ok(found)
}

/// Returns the offset of the line with a number.
pub(super) fn begin_of(file: &LogFile, wanted: u64) -> io::Result<Option<u64>> {
    let mut lines = LineReader::new(file);
    // The line begins in `from..to` if it exists; a line begins at `from`.
    let (mut from, mut to) = (0, file.length());
    while from < to {
        let middle = from + (to - from) / 2;
        let begin = if middle == from { from } else { lines.line_after(middle - 1)? };
        if begin >= to {
            to = middle;
            continue;
        }
        lines.go_to(begin)?;
        let Ending::Line(bytes) = lines.next()? else { return Ok(None) };
        let length = bytes.len() as u64 + 1;
        let seq = Members::read(bytes).ok().and_then(|line| line.need::<u64>("seq").ok());
        match seq.map(|seq| seq.cmp(&wanted)) {
            None => return Ok(None),
            Some(Ordering::Equal) => return Ok(Some(begin)),
            Some(Ordering::Less) => from = begin + length,
            Some(Ordering::Greater) => to = middle,
        }
    }
    Ok(None)
}
