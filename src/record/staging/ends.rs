//! Ends of chains for a checkpoint to bind (STAGE-21). Only the lines after the bound one are read
//! of each chain, from the end.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::chain::{MAX_CHAIN, path_of, walk};
use super::line::StagedLine;
use crate::files::vault::files::Files;
use crate::record::checkpoint::state::Mark;
use crate::record::journal::{MOST_AFTER, WriterId, last_line};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// Maximum number of chains whose new ends one event binds; the next events bind further ones. A
/// folder may have any number of chains, and the line of a checkpoint has a limited length.
const MOST_BOUND: usize = 10_000;

/// Returns the chains with lines after the `bound` ones, each with its end, in the order of their
/// ids. A chain is left out if its end cannot be read, or if it does not continue from its bound
/// line. A verifier reports its faults.
pub(crate) fn unbound_ends(
    files: &Files,
    bound: &BTreeMap<DocumentId, Mark>,
) -> Vec<(DocumentId, Mark)> {
    let Ok((found, _)) = walk(files) else { return Vec::new() };
    let end = |(source, writer): (DocumentId, WriterId)| {
        // ctx stages no results for an id that artifacts cannot have.
        let id: DocumentId = path_of(&source, &writer).parse().ok()?;
        let before = bound.get(&id).and_then(Mark::sealed).map(|(seq, hash)| (seq.0, hash));
        let end =
            end_of(files, id.as_str(), &source, before).filter(|_| source.unfit().is_none())?;
        (Some(end) != before).then(|| (id, Mark::new(Version(end.0), end.1)))
    };
    let mut ends: Vec<(DocumentId, Mark)> = found.into_par_iter().filter_map(end).collect();
    ends.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    ends.truncate(MOST_BOUND);
    ends
}

/// Returns number and hash of the last sound line of a chain, if the lines after the one that was
/// bound `before` follow one another. Incomplete lines after a crash are skipped.
fn end_of(
    files: &Files,
    path: &str,
    source: &DocumentId,
    before: Option<(u64, Digest)>,
) -> Option<(u64, Digest)> {
    let mut at = files.stamp(path).ok()?.length;
    if at > MAX_CHAIN {
        return None;
    }
    let read = |from, length| files.read_at(path, from, length);
    let (mut end, mut later): (_, Option<StagedLine>) = (None, None);
    let mut torn = 0;
    loop {
        let (bytes, length) = last_line(at, read).ok()?;
        let bytes = bytes?;
        at = length.saturating_sub(bytes.len() as u64 + 1);
        // A power cut leaves NUL only in the last lines, not before a sound line.
        if end.is_none() && bytes.contains(&0) && torn < MOST_AFTER {
            torn += 1;
            continue;
        }
        let line = StagedLine::read(&bytes, source).ok()?;
        let this = (line.seq, line.hash?);
        if let Some(later) = &later
            && (this.0.checked_add(1) != Some(later.seq) || later.prev != this.1.to_string())
        {
            return None;
        }
        let end = *end.get_or_insert(this);
        match before {
            Some((bound, _)) if this.0 > bound => later = Some(line),
            Some(before) => return (this == before).then_some(end),
            None => return Some(end),
        }
    }
}
