//! Putting lines at the end of a chain (STAGE-7). Only the holder of the vault's write lock appends,
//! so that a payload cannot go while a line is written that names it.

use std::collections::BTreeSet;
use std::io;

use super::line::{LineKind, StagedLine, genesis};
use super::{chain, tails};
use crate::audit::{FULL, LineFault, Random, Tail, WriterId, last_line};
use crate::model::id::DocumentId;
use crate::model::layout::{self, STAGING_CHAINS};
use crate::model::timestamp::Timestamp;
use crate::vault::Vault;
use crate::vault::files::{FileError, Files};
use crate::vault::lock::LockError;
use crate::vault::write::{TornLine, Written};

/// So many lines after the one that was written last are looked at.
pub(super) const MOST_AFTER: usize = 4096;

/// Why nothing was recorded in a chain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StagingError {
    /// The payload is longer than any that is kept.
    #[error("the result has {bytes} bytes, but at most {limit} are staged")]
    TooLarge {
        /// Its length.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// Another process writes.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The line was written; that it is the last one could not be kept in mind.
    #[error("the end of the chain could not be written to the user's directory of state: {0}")]
    Tail(io::Error),
    /// A line would not be one.
    #[error("the line cannot be written: {0}")]
    Line(#[from] LineFault),
    /// A line could not be written as JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// Lines that were appended.
#[derive(Debug)]
pub(crate) struct Appended {
    /// Whose chain it is.
    pub(crate) writer: WriterId,
    /// The lines.
    pub(crate) lines: Vec<StagedLine>,
}

/// Where a chain is in the vault.
pub(crate) fn path_of(source: &DocumentId, writer: &WriterId) -> String {
    format!("{STAGING_CHAINS}/{source}/{writer}.jsonl")
}

/// Appends lines to this user's chain for a source, durable; for the holder of the write lock.
///
/// # Errors
/// Nothing was appended, or (see [`StagingError::Tail`]) it was not kept in mind.
pub(crate) fn append(
    (vault, random): (&Vault, Random),
    source: &DocumentId,
    at: Timestamp,
    kinds: Vec<LineKind>,
) -> Result<Appended, StagingError> {
    let files = vault.files();
    let known = tails::read(vault.state(), source);
    let seat = match known.1.last() {
        Some(tail) => Seat::of(files, source, tail)?,
        None => None,
    };
    let seat = seat.unwrap_or_else(|| Seat::begin(source, random));
    let (mut bytes, mut lines) = (Vec::new(), Vec::new());
    let (mut seq, mut prev) = (seat.seq, seat.hash);
    for kind in kinds {
        seq += 1;
        let mut line = StagedLine::new((seq, prev), at, kind);
        let (spelled, hash) = line.spell()?;
        // What a reader would refuse is not written.
        StagedLine::read(&spelled, source)?;
        line.hash = Some(hash);
        prev = hash.to_string();
        bytes.extend_from_slice(&spelled);
        bytes.push(b'\n');
        lines.push(line);
    }
    if lines.is_empty() {
        return Ok(Appended { writer: seat.writer, lines });
    }
    if seat.length == 0 && !files.exists(layout::STAGING_ATTRIBUTES) {
        // That it cannot be written is no reason to record nothing.
        let text = layout::ATTRIBUTES_TEXT.as_bytes();
        let _ = files.create_new(layout::STAGING_ATTRIBUTES, text);
    }
    files.append(&seat.path, seat.length, &bytes)?;
    let written = match seat.length {
        0 => Written::New(&seat.path),
        _ => Written::Longer(&seat.path),
    };
    files.sync(&[written]).inspect_err(|_| files.take_back(&seat.path, seat.length, &bytes))?;
    let tail = Tail { writer: seat.writer.clone(), seq, hash: prev, sealed: None };
    tails::advance(vault, source, known, tail).map_err(StagingError::Tail)?;
    Ok(Appended { writer: seat.writer, lines })
}

/// Where the next line goes.
struct Seat {
    writer: WriterId,
    /// The number and the hash of the line before it.
    seq: u64,
    hash: String,
    path: String,
    length: u64,
}

impl Seat {
    /// A new writer's.
    fn begin(source: &DocumentId, random: Random) -> Self {
        let writer = WriterId::new(random);
        let (hash, path) = (genesis(source, &writer), path_of(source, &writer));
        Self { writer, seq: 0, hash, path, length: 0 }
    }

    /// The end of a writer's chain; none where it is full, or is not what it was: the line that was
    /// written last is gone, or another. What a crash left of a line is truncated.
    fn of(files: &Files, source: &DocumentId, tail: &Tail) -> Result<Option<Self>, FileError> {
        let Some((seat, total)) = Self::find(files, source, tail)? else { return Ok(None) };
        if seat.length >= FULL {
            return Ok(None);
        }
        if seat.length < total {
            files.cut(&seat.path, total, seat.length)?;
        }
        Ok(Some(seat))
    }

    /// The end of a writer's chain, and the length of its file; none where it is not what it was.
    fn find(
        files: &Files,
        source: &DocumentId,
        tail: &Tail,
    ) -> Result<Option<(Self, u64)>, FileError> {
        let path = path_of(source, &tail.writer);
        let total = match files.stamp(&path) {
            Err(FileError::Link { .. } | FileError::NotRegular { .. }) => return Ok(None),
            Err(why) if why.is_absent() => return Ok(None),
            other => other?.length,
        };
        let read = |from, length| files.read_at(&path, from, length);
        let Some((end, length)) = whole_end(total, read, (source, tail))? else { return Ok(None) };
        let hash = end.hash.map(|hash| hash.to_string()).unwrap_or_default();
        Ok(Some((Self { writer: tail.writer.clone(), seq: end.seq, hash, path, length }, total)))
    }
}

/// The torn lines at the ends of this user's chains, which the next line of the writer would replace.
///
/// # Errors
/// A chain cannot be read.
pub(crate) fn torn(vault: &Vault) -> Result<Vec<TornLine>, FileError> {
    let (chains, _) = chain::walk(vault.files())?;
    let sources: BTreeSet<DocumentId> = chains.into_iter().map(|(source, _)| source).collect();
    let mut found = Vec::new();
    for source in sources {
        for tail in tails::read(vault.state(), &source).1.iter() {
            if let Some((Seat { path, length, .. }, total)) =
                Seat::find(vault.files(), &source, tail)?
                && length < total
            {
                found.push(TornLine { path, total, length });
            }
        }
    }
    Ok(found)
}

/// The last line that a crash left whole, and the length up to its end, if the line that was written
/// last is there. A power cut leaves NUL in a line that was not synced.
fn whole_end<E>(
    total: u64,
    read: impl Fn(u64, usize) -> Result<Vec<u8>, E>,
    (source, tail): (&DocumentId, &Tail),
) -> Result<Option<(StagedLine, u64)>, E> {
    let (mut found, mut at) = (None, total);
    for _ in 0..MOST_AFTER {
        let (Some(bytes), length) = last_line(at, &read)? else { return Ok(None) };
        at = length.saturating_sub(bytes.len() as u64 + 1);
        if bytes.contains(&0) {
            found = None;
            continue;
        }
        let Ok(line) = StagedLine::read(&bytes, source) else { return Ok(None) };
        let (seq, hash) = (line.seq, line.hash);
        found.get_or_insert((line, length));
        if seq <= tail.seq {
            let is_it = seq == tail.seq && hash.is_some_and(|hash| hash.to_string() == tail.hash);
            return Ok(found.filter(|_| is_it));
        }
    }
    Ok(None)
}
