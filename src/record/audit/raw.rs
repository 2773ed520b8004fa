//! The bytes of lines with their places, for evidence of accesses (EVID-13).

use std::io::{self, BufRead as _, Read as _};

use super::chain::Logs;
use super::line::{Line, genesis};
use crate::record::journal::{MAX_LINE, WriterId};
use crate::values::model::digest::Digest;

/// A line with its bytes and its place in a file.
#[derive(Clone, Debug)]
pub struct RawLine {
    /// The name of the file.
    pub file: String,
    /// The number of the line in the file, from 1.
    pub number: u64,
    /// The bytes of the line, without the line end.
    pub bytes: Vec<u8>,
    /// The parsed line.
    pub line: Line,
}

impl Logs {
    /// Returns the bytes of every line that `wants` accepts, writer by writer in order. Unsound
    /// lines are skipped, because a verifier reports them.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn raw(&self, wants: &dyn Fn(&Line) -> bool) -> io::Result<Vec<RawLine>> {
        let mut found = Vec::new();
        for (writer, first) in self.each_file() {
            let Ok((file, log)) = self.opened(writer, first)? else { continue };
            let mut log = log.into_reader();
            for number in 1.. {
                let mut bytes = Vec::new();
                let read = log.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes)?;
                // An incomplete last line was never acknowledged.
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
    /// Returns a reason if the line cannot follow the line `before`, which has the given hash.
    /// Other lines may be missing between the two.
    pub(crate) fn chain_fault(&self, before: Option<(&Self, &Digest)>) -> Option<&'static str> {
        let Ok(writer) = self.writer.parse::<WriterId>() else {
            return Some("its writer is not a valid id");
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
