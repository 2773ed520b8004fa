//! The end of a writer's log: which line the next one follows, and the bytes of those that come.

use memchr::memrchr;
use serde::Deserialize;

use super::event::Event;
use super::line::{Line, Request};
use super::writer::WriterId;
use crate::model::digest::Digest;
use crate::model::timestamp::Timestamp;

/// No line is longer.
pub(super) const MAX_LINE: u64 = 16 << 20;

/// The line that the next one of a writer follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Its number; 0 before the first.
    pub(crate) seq: u64,
    /// Its hash, or what begins the chain.
    pub(crate) hash: String,
}

/// What is read of the last line.
#[derive(Deserialize)]
struct Last<'l> {
    writer: &'l str,
    seq: u64,
    hash: &'l str,
}

impl End {
    /// Before the first line of a writer.
    pub(super) fn begin(writer: &WriterId) -> Self {
        Self { seq: 0, hash: writer.genesis() }
    }

    /// What the last line of a writer says of itself; none where it is no line of that writer.
    /// Whether it was changed is for the verifier, which would find it before the next line as after.
    pub(super) fn of_line(line: &[u8], writer: &WriterId) -> Option<Self> {
        let last: Last<'_> = serde_json::from_slice(line).ok()?;
        let is_ours = last.writer == writer.to_string() && last.hash.parse::<Digest>().is_ok();
        is_ours.then(|| Self { seq: last.seq, hash: last.hash.to_owned() })
    }

    /// The lines of an event after this one, with their line ends, and the end that they make.
    pub(super) fn then(
        &self,
        writer: &WriterId,
        at: Timestamp,
        request: &Request,
        event: Event,
    ) -> Result<(Vec<u8>, Self), serde_json::Error> {
        let (mut bytes, mut end) = (Vec::new(), self.clone());
        let mut first = None;
        for part in event.parts() {
            let seat = (writer, end.seq + 1, end.hash);
            let line = Line::new(seat, at.to_string(), request.clone(), first.clone(), part);
            let (spelled, hash) = line.spell()?;
            bytes.extend_from_slice(&spelled);
            bytes.push(b'\n');
            end = Self { seq: line.seq, hash: hash.to_string() };
            first.get_or_insert_with(|| line.trace().to_string());
        }
        Ok((bytes, end))
    }
}

/// The last whole line of a file of this length, without its end, and the length up to and with that
/// end: what follows was left by a crash. `read` gives bytes from a place on. A line that is longer
/// than any of ours comes out empty.
pub(crate) fn last_line<E>(
    length: u64,
    read: impl Fn(u64, usize) -> Result<Vec<u8>, E>,
) -> Result<(Option<Vec<u8>>, u64), E> {
    let mut step = 4096_u64;
    loop {
        let from = length.saturating_sub(step);
        let tail = read(from, usize::try_from(length - from).unwrap_or(usize::MAX))?;
        let end = memrchr(b'\n', &tail);
        let begin = end.and_then(|end| memrchr(b'\n', &tail[..end]));
        match (begin, end) {
            (None, None) if from == 0 => return Ok((None, 0)),
            (begin, Some(end)) if begin.is_some() || from == 0 => {
                let line = tail[begin.map_or(0, |begin| begin + 1)..end].to_vec();
                return Ok((Some(line), from + end as u64 + 1));
            }
            _ if step > 2 * MAX_LINE => return Ok((Some(Vec::new()), length)),
            _ => step *= 8,
        }
    }
}
