//! Lines at the end of a chain of an audit log: reads the last one, and spells the next ones.

use serde::Deserialize;

use super::event::Event;
use super::line::{Line, Request};
use crate::record::journal::{End, WriterId};
use crate::values::model::digest::Digest;
use crate::values::model::timestamp::Timestamp;

/// The members that are read of the last line.
#[derive(Deserialize)]
struct Last<'l> {
    writer: &'l str,
    seq: u64,
    hash: &'l str,
}

/// Returns number and hash of a writer's last line; `None` if the line is not of that writer. Its
/// hash is not recomputed, because a verifier finds a changed line later as well.
pub(super) fn end_of_line(line: &[u8], writer: &WriterId) -> Option<End> {
    let last: Last<'_> = serde_json::from_slice(line).ok()?;
    let is_ours = last.writer == writer.to_string() && last.hash.parse::<Digest>().is_ok();
    is_ours.then(|| End { seq: last.seq, hash: last.hash.to_owned() })
}

/// Returns the lines of an event after an end, with their line ends, and the end that they make.
pub(super) fn lines_after(
    end: &End,
    writer: &WriterId,
    at: Timestamp,
    request: &Request,
    event: Event,
) -> Result<(Vec<u8>, End), serde_json::Error> {
    let (mut bytes, mut end) = (Vec::new(), end.clone());
    let mut first = None;
    for part in event.parts() {
        let seat = (writer, end.seq + 1, end.hash);
        let line = Line::new(seat, at.to_string(), request.clone(), first.clone(), part);
        let (spelled, hash) = line.spell()?;
        bytes.extend_from_slice(&spelled);
        bytes.push(b'\n');
        end = End { seq: line.seq, hash: hash.to_string() };
        first.get_or_insert_with(|| line.trace().to_string());
    }
    Ok((bytes, end))
}
