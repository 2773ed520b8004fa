//! Faults of a log and of its entries.

use crate::files::vault::files::FileError;
use crate::record::torn_tail;
use crate::values::model::digest::{Digest, DigestError};
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::number::{CheckpointNumber, Version};

/// Faults and peculiarities of the files of a log, other than those of single entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// Reason why the file as a whole cannot be read.
    pub unreadable: Option<String>,
    /// The number of the line with a conflict marker of git.
    pub conflict: Option<usize>,
    /// Number of bytes after the last whole entry, from an incomplete append.
    pub torn: usize,
    /// The first line at which a log in full form is not in the spelling of ctx, although ctx wrote
    /// it (CKPT-28).
    pub respelled: Option<usize>,
    /// The first merge that is not one of two logs, and the reason.
    pub merge: Option<(CheckpointNumber, String)>,
    /// Comparison with a log file of the other form, if there is one.
    pub duplicate: Option<Duplicate>,
}

/// A second log file, of the other form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicate {
    /// The file has the same checkpoints, as after an interrupted conversion.
    Same,
    /// The file has other checkpoints. No reader relies on either file; the log is the one with
    /// more checkpoints.
    Different,
}

/// A fault of one entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryFault {
    /// The entry cannot be parsed.
    #[error("{0}")]
    Unreadable(String),
    /// A field is not in its canonical form.
    #[error("`{0}` is malformed: {1}")]
    Field(&'static str, String),
    /// A timestamp is not in its canonical form.
    #[error("`at` is not a timestamp: `{0}`")]
    Timestamp(String),
    /// A hash is of another algorithm.
    #[error("`{0}` is not a sha256 hash: `{1}`")]
    UnknownHashAlgorithm(&'static str, String),
    /// A merge of git left a conflict marker.
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

/// An index that differs from what was written: truncated, altered, or of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the index in the cache is damaged")]
pub struct Damaged;

/// Returns an addition to the message if the number of an entry is smaller than its place.
fn again(entry: usize, found: CheckpointNumber) -> String {
    match found < CheckpointNumber::of_count(entry) {
        true => format!(" again, {}", torn_tail::UNION),
        false => String::new(),
    }
}

/// Reason why a log cannot be relied on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The readable documents depend on the principal, and none is configured.
    #[error(
        "this vault shows each principal what its stewards allow, and no principal is configured"
    )]
    NoReader,
    /// No trusted head vouches for the log, and a version of the configuration that it does not seal
    /// limits readers.
    #[error(
        "the log does not seal the last version of `.context/config.yaml`, which limits reading to \
         stewards"
    )]
    LostLimit,
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is not a log.
    #[error("`{path}` cannot be read: {why}")]
    Unreadable {
        /// Path of the log.
        path: &'static str,
        /// Place and reason.
        why: String,
    },
    /// A merge of git left a conflict marker.
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
        /// The fault of the entry.
        fault: EntryFault,
    },
    /// The numbers do not increase by one.
    #[error("`{path}`, entry {entry} is checkpoint {found}{}", again(*entry, *found))]
    Gap {
        /// Path of the log.
        path: &'static str,
        /// Position in the file, from 1.
        entry: usize,
        /// The number in the entry.
        found: CheckpointNumber,
    },
    /// A merge is not one of two logs.
    #[error("checkpoint {number} is not a merge of two logs: {why}")]
    Merge {
        /// The checkpoint.
        number: CheckpointNumber,
        /// The reason.
        why: String,
    },
    /// The file does not end with a whole entry.
    #[error("{bytes} bytes follow the last whole entry of `{path}`")]
    Torn {
        /// Path of the log.
        path: &'static str,
        /// Number of bytes after the last whole entry.
        bytes: usize,
    },
    /// An appended entry would not become the next one.
    #[error("`{path}` has a spelling to which nothing can be appended")]
    Spelling {
        /// Path of the log.
        path: &'static str,
    },
    /// Git does not check out the log, or a history that it is rebuilt from.
    #[error("git leaves `{path}` out of the working copy (a sparse checkout)")]
    LeftOut {
        /// Path of the file.
        path: String,
    },
    /// Log files of both forms exist with different checkpoints, so neither is authoritative.
    #[error("both `{}` and `{}` exist", layout::DELTA_LOG, layout::FULL_LOG)]
    BothForms,
    /// The hash of a checkpoint does not follow from its maps.
    #[error("checkpoint {number} has hash {found}, but the log records {expected}")]
    Hash {
        /// The checkpoint.
        number: CheckpointNumber,
        /// The recorded hash.
        expected: Digest,
        /// The computed hash.
        found: Digest,
    },
    /// Further recomputation of the log would cost too much.
    #[error(
        "the hashes from checkpoint {from} on were not recomputed: too many before them are wrong, or \
         artifacts without a history are sealed"
    )]
    NotCompared {
        /// The first checkpoint that was not recomputed.
        from: CheckpointNumber,
    },
    /// A checkpoint seals a version older than one before it, or one that was retired.
    #[error("checkpoint {number} goes back to version {version} of `{id}`")]
    Regression {
        /// The checkpoint.
        number: CheckpointNumber,
        /// The artifact.
        id: DocumentId,
        /// The version in the checkpoint.
        version: Version,
    },
    /// The log is empty, although there are histories.
    #[error("`{path}` records nothing, but there are version histories")]
    Missing {
        /// Path of the log.
        path: &'static str,
    },
    /// The index that replaces the log differs from what was written.
    #[error(transparent)]
    Index(#[from] Damaged),
    /// The log has no such checkpoint.
    #[error("checkpoint {asked} does not exist; the last one is {last}")]
    Unknown {
        /// The requested number.
        asked: CheckpointNumber,
        /// The last checkpoint.
        last: CheckpointNumber,
    },
}
