//! The bytes of lines, and where they are: what evidence of an access consists of (EVID-13).

use std::io::{self, BufRead as _, Read as _};

use super::chain::Logs;
use super::line::{Line, genesis};
use crate::record::journal::{MAX_LINE, WriterId};
use crate::values::model::digest::Digest;

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

impl Logs {
    /// The bytes of every line that is wanted, writer by writer in their order. A line that is none is
    /// a fault, which a verifier names.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn raw(&self, wants: &dyn Fn(&Line) -> bool) -> io::Result<Vec<RawLine>> {
        let mut found = Vec::new();
        for (writer, first) in self.each_file() {
            let Ok((file, log)) = self.opened(writer, first)? else { continue };
            let mut log = log.into_reader();
            for number in 1.. {
                let mut bytes = Vec::new();
                let read = log.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes)?;
                // A last line without an end was never acknowledged.
                if read == 0 || bytes.pop_if(|byte| *byte == b'\n').is_none() {
                    break;
                }
                if let Ok((line, _)) = Line::read(&bytes)
                    && self.answers(&line, writer)
                    && wants(&line)
                {
                    found.push(RawLine { file: file.clone(), number, bytes, line });
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
        if self.seq == 1 && self.prev != genesis(&writer) {
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
