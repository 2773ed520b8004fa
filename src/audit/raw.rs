//! The bytes of lines, and where they are: what evidence of an access consists of (EVID-13).

use std::io::{self, BufRead as _, Read as _};

use super::chain::Logs;
use super::end::MAX_LINE;
use super::line::Line;
use super::writer::WriterId;
use crate::model::digest::Digest;

/// A line as a file of the log has it.
#[derive(Clone, Debug)]
pub struct RawLine {
    /// The name of the file.
    pub file: String,
    /// The place in the file, from 1 on.
    pub number: u64,
    /// Its bytes, without the line end.
    pub bytes: Vec<u8>,
    /// What it says.
    pub line: Line,
}

/// The lines that were asked for, and how many of the log cannot be read.
#[derive(Clone, Debug, Default)]
pub struct RawLines {
    /// The lines, writer by writer in their order.
    pub lines: Vec<RawLine>,
    /// How many lines are none, or were changed; any of them may have been one of these.
    pub unreadable: u64,
}

impl Logs {
    /// The bytes of every line that is wanted.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn raw(&self, wants: &dyn Fn(&Line) -> bool) -> io::Result<RawLines> {
        let mut found = RawLines::default();
        for (writer, first) in self.each_file() {
            let Ok((file, log)) = self.opened(writer, first)? else {
                found.unreadable += 1;
                continue;
            };
            let mut log = log.into_reader();
            for number in 1.. {
                let mut bytes = Vec::new();
                let read = log.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes)?;
                // A last line without an end was never acknowledged.
                if read == 0 || bytes.pop_if(|byte| *byte == b'\n').is_none() {
                    found.unreadable += u64::from(read as u64 == MAX_LINE);
                    break;
                }
                match Line::read(&bytes) {
                    Ok((line, _)) if wants(&line) => {
                        found.lines.push(RawLine { file: file.clone(), number, bytes, line });
                    }
                    Ok(_) => {}
                    Err(_) => found.unreadable += 1,
                }
            }
        }
        Ok(found)
    }
}

impl Line {
    /// What is wrong with the place of a line among lines of a log that may have others between
    /// them: `before` is the one before it, with its hash.
    pub(crate) fn chain_fault(&self, before: Option<(&Self, &Digest)>) -> Option<&'static str> {
        let Ok(writer) = self.writer.parse::<WriterId>() else {
            return Some("its writer is none");
        };
        if self.seq == 1 && self.prev != writer.genesis() {
            return Some("it does not begin the chain of its writer");
        }
        let (last, hash) = before?;
        match (last.writer == self.writer, last.seq.checked_add(1)) {
            (false, _) if last.writer > self.writer => Some("the lines are not in order"),
            (true, _) if last.seq >= self.seq => Some("the lines are not in order"),
            (true, Some(next)) if next == self.seq && self.prev != hash.to_string() => {
                Some("it does not follow the line before it")
            }
            _ => None,
        }
    }
}
