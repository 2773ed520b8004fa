//! What can be wrong with a log, and with one entry of it.

use crate::files::vault::files::FileError;
use crate::record::torn_tail;
use crate::values::model::digest::{Digest, DigestError};
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::number::{CheckpointNumber, Version};

/// What is wrong with the files of a log beyond single entries, or strange about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// Why the file as a whole cannot be read.
    pub unreadable: Option<String>,
    /// The line of a conflict marker of git.
    pub conflict: Option<usize>,
    /// Bytes after the last whole entry: an append that was cut short.
    pub torn: usize,
    /// The line from which on a log of whole maps that is ours is spelled otherwise than by a
    /// writer of ours (CKPT-28).
    pub respelled: Option<usize>,
    /// What a log file of the other form says, if there is one.
    pub duplicate: Option<Duplicate>,
}

/// A second log file, of the other form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicate {
    /// It holds the same checkpoints: what an interrupted conversion leaves.
    Same,
    /// It holds others. No reader relies on either; the log is the one with more checkpoints.
    Different,
}

/// What is wrong with one entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryFault {
    /// It is not an entry.
    #[error("{0}")]
    Unreadable(String),
    /// A field has not its one form.
    #[error("`{0}` is malformed: {1}")]
    Field(&'static str, String),
    /// A timestamp has not its one form.
    #[error("`at` is not a timestamp: `{0}`")]
    Timestamp(String),
    /// A hash of another algorithm.
    #[error("`{0}` is not a sha256 hash: `{1}`")]
    UnknownHashAlgorithm(&'static str, String),
    /// A merge of git left its marks.
    #[error("it is a conflict marker of git")]
    Conflict,
}

impl EntryFault {
    pub(super) fn of_digest(field: &'static str, text: &str, error: &DigestError) -> Self {
        let found: String = text.chars().take(80).collect();
        match error {
            DigestError::UnknownAlgorithm(_) => Self::UnknownHashAlgorithm(field, found),
            DigestError::Malformed => Self::Field(field, found),
        }
    }
}

/// An index that is not what was written: cut short, altered, or of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the index in the cache is damaged")]
pub struct Damaged;

/// What is said of a number that is smaller than that of its place.
fn again(entry: usize, found: CheckpointNumber) -> String {
    match found < CheckpointNumber::of_count(entry) {
        true => format!(" again, {}", torn_tail::UNION),
        false => String::new(),
    }
}

/// Why a log cannot be relied on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// What may be read depends on who reads, which is not known.
    #[error(
        "this vault shows each principal what its stewards allow, and no principal is configured"
    )]
    NoReader,
    /// No trusted head vouches for the log, and a version of the configuration that it does not seal
    /// limits readers.
    #[error(
        "the log does not seal the last version of `.context/config.yaml`, by which only stewards read \
         this vault"
    )]
    LostLimit,
    /// The file could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is not a log.
    #[error("`{path}` cannot be read: {why}")]
    Unreadable {
        /// Path of the log.
        path: &'static str,
        /// Where and why.
        why: String,
    },
    /// A merge of git left its marks.
    #[error("line {line} of `{path}` is a conflict marker of git")]
    Conflict {
        /// Path of the log.
        path: &'static str,
        /// The line, from 1.
        line: usize,
    },
    /// One entry is faulty.
    #[error("`{path}`, entry {entry}: {fault}")]
    Entry {
        /// Path of the log.
        path: &'static str,
        /// Position in the file, from 1.
        entry: usize,
        /// What is wrong.
        fault: EntryFault,
    },
    /// Numbers do not rise by one.
    #[error("`{path}`, entry {entry} is checkpoint {found}{}", again(*entry, *found))]
    Gap {
        /// Path of the log.
        path: &'static str,
        /// Position in the file, from 1.
        entry: usize,
        /// The number that stands there.
        found: CheckpointNumber,
    },
    /// It does not end in a whole entry.
    #[error("{bytes} bytes follow the last whole entry of `{path}`")]
    Torn {
        /// Path of the log.
        path: &'static str,
        /// How many.
        bytes: usize,
    },
    /// What is appended would not be the next entry.
    #[error("`{path}` is spelled so that nothing can be appended to it")]
    Spelling {
        /// Path of the log.
        path: &'static str,
    },
    /// Git leaves it, or a history that it is rebuilt from, out of the working copy.
    #[error("git leaves `{path}` out of the working copy (a sparse checkout)")]
    LeftOut {
        /// Path of the file.
        path: String,
    },
    /// Both forms exist, so neither is the authority.
    #[error("`{}` and `{}` exist both", layout::DELTA_LOG, layout::FULL_LOG)]
    BothForms,
    /// The hash of a checkpoint does not follow from its maps.
    #[error("checkpoint {number} has hash {found}, but the log records {expected}")]
    Hash {
        /// The checkpoint.
        number: CheckpointNumber,
        /// As recorded.
        expected: Digest,
        /// As computed.
        found: Digest,
    },
    /// The log is not worth the work of recomputing the rest of it.
    #[error(
        "the hashes from checkpoint {from} on were not recomputed: too many before them are wrong, or \
         artifacts without a history are sealed"
    )]
    NotCompared {
        /// The first checkpoint that was not recomputed.
        from: CheckpointNumber,
    },
    /// A checkpoint seals an older version than one before it did, or one that was retired.
    #[error("checkpoint {number} goes back to version {version} of `{id}`")]
    Regression {
        /// The checkpoint.
        number: CheckpointNumber,
        /// The artifact.
        id: DocumentId,
        /// The version that stands there.
        version: Version,
    },
    /// Nothing is recorded, though there are histories.
    #[error("`{path}` records nothing, but there are version histories")]
    Missing {
        /// Path of the log.
        path: &'static str,
    },
    /// The index that stood for the log is not as it was written.
    #[error(transparent)]
    Index(#[from] Damaged),
    /// There is no such checkpoint.
    #[error("checkpoint {asked} does not exist; the last one is {last}")]
    Unknown {
        /// The number asked for.
        asked: CheckpointNumber,
        /// The last checkpoint.
        last: CheckpointNumber,
    },
}
