//! Appends lines to chains (STAGE-7). Only the holder of the vault's write lock appends, so that a
//! payload cannot be removed while a line that names it is written.

use std::collections::BTreeSet;
use std::io;

use super::chain::{self, path_of};
use super::line::{LineKind, StagedLine, genesis};
use super::tails;
use crate::files::vault::Vault;
use crate::files::vault::files::{FileError, Files};
use crate::files::vault::lock::LockError;
use crate::files::vault::write::TornLine;
use crate::record::audit::LineFault;
use crate::record::journal::{self, End, Journal, Random, Seat, Tail, WriterId};
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::timestamp::Timestamp;

/// Failure to record lines in a chain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StagingError {
    /// The payload is too long.
    #[error("the result has {bytes} bytes, but at most {limit} are staged")]
    TooLarge {
        /// Length of the payload in bytes.
        bytes: u64,
        /// Maximum length in bytes.
        limit: u64,
    },
    /// Another process holds the write lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The line was written, but the user's directory does not record it as the last one.
    #[error("the end of the chain could not be written to the user's directory of state: {0}")]
    Tail(io::Error),
    /// A reader would refuse the line.
    #[error("the line cannot be written: {0}")]
    Line(#[from] LineFault),
    /// The line cannot be written as JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// Lines that were appended.
#[derive(Debug)]
pub(crate) struct Appended {
    /// The writer of the chain.
    pub(crate) writer: WriterId,
    /// The lines.
    pub(crate) lines: Vec<StagedLine>,
}

/// Appends lines to this user's chain for a source and syncs them, for the holder of the
/// write lock.
///
/// # Errors
/// Fails if nothing was appended, or with [`StagingError::Tail`] if the lines were not recorded as
/// the last ones.
pub(crate) fn append(
    (vault, random): (&Vault, Random),
    source: &DocumentId,
    at: Timestamp,
    kinds: Vec<LineKind>,
) -> Result<Appended, StagingError> {
    let (files, known) = (vault.files(), tails::read(vault.state(), source));
    let seat = Seat::take(files, &ChainsOf(source), (&known.1, random))?;
    let (mut bytes, mut lines) = (Vec::new(), Vec::new());
    let End { mut seq, hash: mut prev } = seat.end.clone();
    for kind in kinds {
        seq += 1;
        let mut line = StagedLine::new((seq, prev), at, kind);
        let (spelled, hash) = line.spell()?;
        // A line that a reader would refuse is not written.
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
    seat.append::<ChainsOf<'_>>(files, &bytes)?;
    let tail = Tail { writer: seat.writer.clone(), seq, hash: prev, sealed: None };
    tails::advance(vault, source, known, tail).map_err(StagingError::Tail)?;
    Ok(Appended { writer: seat.writer, lines })
}

/// Journal of the chains of a source.
struct ChainsOf<'s>(&'s DocumentId);

impl Journal for ChainsOf<'_> {
    const ATTRIBUTES: &'static str = layout::STAGING_ATTRIBUTES;
    const GOES_ON: bool = false;

    fn genesis(&self, writer: &WriterId) -> String {
        genesis(self.0, writer)
    }

    fn path(&self, writer: &WriterId, _: u64) -> String {
        path_of(self.0, writer)
    }

    fn last_file(&self, _: &Files, _: &WriterId) -> Result<Option<u64>, FileError> {
        Ok(Some(1))
    }

    fn read(&self, line: &[u8], _: &WriterId) -> Option<End> {
        let StagedLine { seq, hash, .. } = StagedLine::read(line, self.0).ok()?;
        Some(End { seq, hash: hash?.to_string() })
    }
}

/// Returns the torn lines at the ends of this user's chains, which the writer's next line
/// would replace.
///
/// # Errors
/// Fails if a chain cannot be read.
pub(crate) fn torn(vault: &Vault) -> Result<Vec<TornLine>, FileError> {
    let (chains, _) = chain::walk(vault.files())?;
    let sources: BTreeSet<DocumentId> = chains.into_iter().map(|(source, _)| source).collect();
    let mut found = Vec::new();
    for source in sources {
        let tails = tails::read(vault.state(), &source).1;
        found.extend(journal::torn(vault.files(), &ChainsOf(&source), &tails)?);
    }
    Ok(found)
}
