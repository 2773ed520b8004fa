//! Reasons why the chain does not vouch for a version.

use super::diff;
use super::history::{ChainGap, Fault, HistoryError};
use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::text::document::Unreadable;
use crate::values::model::digest::Digest;
use crate::values::model::id::{DocumentId, IdError};
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;

/// Reason why the chain does not vouch for a version.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// The history is missing.
    #[error("its history is missing")]
    HistoryMissing,
    /// Git does not check out files of the history.
    #[error("git leaves its history out here (a sparse checkout)")]
    LeftOut,
    /// The file is not a readable history.
    #[error("the history cannot be read: {0}")]
    HistoryUnreadable(#[from] HistoryError),
    /// A file could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The history lacks this version.
    #[error("the history has no version {0}")]
    VersionMissing(Version),
    /// An entry is malformed.
    #[error("the entry on line {0} of the history is malformed")]
    Malformed(usize, Vec<Fault>),
    /// No keyframe precedes the version.
    #[error("no keyframe comes before it")]
    NoKeyframe,
    /// The file `v<N>.md` is missing.
    #[error("the keyframe `{0}` is missing")]
    KeyframeMissing(String),
    /// The file `v<N>.diff` is missing.
    #[error("the diff `{0}` is missing")]
    DiffMissing(String),
    /// The reference implementation marked the text as forgotten.
    #[error("its text is marked as forgotten")]
    Forgotten,
    /// The stored text or diff does not match its recorded hash.
    #[error("the stored text has hash {found}, but the history records {expected}")]
    ContentHash {
        /// The recorded hash.
        expected: Digest,
        /// The computed hash.
        found: Digest,
    },
    /// The entry does not match its recorded chain hash.
    #[error("the entry has chain hash {found}, but the history records {expected}")]
    ChainHash {
        /// The recorded hash.
        expected: Digest,
        /// The computed hash.
        found: Digest,
    },
    /// The checkpoint log seals another chain hash.
    #[error("the history records chain hash {found}, but the checkpoint log {expected}")]
    CrossChain {
        /// The chain hash in the log.
        expected: Digest,
        /// The chain hash in the history.
        found: Digest,
    },
    /// The diff does not apply.
    #[error("the diff does not apply: {0}")]
    Patch(#[from] diff::PatchError),
    /// The id is not allowed for a document.
    #[error(transparent)]
    Unfit(IdError),
    /// The text is not a document.
    #[error("the text is {0}")]
    Text(Unreadable),
    /// The text is larger than 16 MiB.
    #[error("the text is larger than 16 MiB")]
    TooLarge,
    /// Too much text was rebuilt since the last keyframe.
    #[error(
        "more than 2 GiB of text, or 24 MiB of frontmatter, would be rebuilt since the last full text"
    )]
    TooFarFromKeyframe,
    /// The text of the version before could not be rebuilt.
    #[error("the version before it cannot be rebuilt")]
    NoBase,
    /// Version or status in the frontmatter differ from the entry.
    #[error("the text describes itself as {found}, but the entry is {expected}")]
    SelfMismatch {
        /// Version and status of the entry.
        expected: String,
        /// Version and status in the text.
        found: String,
    },
    /// The text or the log contradicts the recorded time of publication.
    #[error("it is recorded as published at {recorded}, but {bound}")]
    PublicationTime {
        /// The recorded time.
        recorded: Timestamp,
        /// The contradiction, for people.
        bound: String,
    },
    /// The artifact was retired before the checkpoint that seals the version.
    #[error("version {version} was retired at {at}")]
    Retired {
        /// The version that retired it.
        version: Version,
        /// The time of the retirement.
        at: Timestamp,
    },
    /// A retirement changed more than a retirement may change.
    #[error("its retiring text changes more than status, version and updated_at")]
    RetiredOtherwise,
    /// A governance file's full text could be a diff from the version before, with the same hash.
    #[error("its stored full text reads as a diff from the version before")]
    PatchAsKeyframe,
    /// A governance file's diff does not begin like a diff of a writer, and could therefore be a
    /// full text.
    #[error("its stored diff does not begin as a diff from the version before")]
    KeyframeAsPatch,
    /// The record in the checkpoint log cannot be read.
    #[error("the record in the checkpoint log cannot be read: {0}")]
    Log(Box<dyn std::error::Error + Send + Sync>),
    /// Only one of the two maps of the log contains the artifact.
    #[error("the checkpoint log has it in only one of its two maps")]
    HalfSealed,
    /// A governed vault published or retired the version without a valid approval.
    #[error(transparent)]
    Unapproved(#[from] Unapproved),
    /// The approval of a governance file in force cannot be judged; contains the reason.
    #[error("its approval cannot be judged, because {0}")]
    Unjudged(String),
    /// A governance file in force cannot be parsed; contains the reason.
    #[error("its text cannot be parsed: {0}")]
    Rules(String),
    /// A version of a governance file in force has this fault.
    #[error("version {0}: {1}")]
    OfVersion(Version, Box<Self>),
    /// The log seals a version that was never published.
    #[error("version {0} was never published")]
    Unpublished(Version),
}

impl ChainError {
    /// Returns the fault of the approval; `None` if the chain itself does not vouch for the text.
    pub(crate) fn unapproved(&self) -> Option<&Unapproved> {
        match self {
            Self::Unapproved(found) => Some(found),
            _ => None,
        }
    }

    /// Returns true if the chain vouches for the text, but no valid approval does.
    pub(crate) fn is_unapproved(&self) -> bool {
        self.unapproved().is_some()
    }

    /// Returns the error, or [`ChainError::LeftOut`] if git does not check out the missing file.
    pub(crate) fn explained(self, vault: &Vault, id: &DocumentId) -> Self {
        let why = match &self {
            Self::OfVersion(_, why) => why,
            why => why,
        };
        let is_left_out = match why {
            Self::HistoryMissing => vault.gone().has(&id.history_path()),
            Self::KeyframeMissing(_) | Self::DiffMissing(_) | Self::NoBase => {
                vault.gone().has_within(&id.history_dir())
            }
            _ => false,
        };
        if is_left_out { Self::LeftOut } else { self }
    }
}

/// The finding of a verifier about an event without the approval that the rules before it require.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("[{code}] version {version}: {message}")]
pub struct Unapproved {
    /// The code of the finding.
    pub code: &'static str,
    /// The version that the finding names.
    pub version: Version,
    /// The finding in one sentence without full stop.
    pub message: String,
    /// The governance file without which the approval cannot be judged.
    pub lost: Option<DocumentId>,
}

impl From<ChainGap> for ChainError {
    fn from(gap: ChainGap) -> Self {
        match gap {
            ChainGap::Missing(version) => Self::VersionMissing(version),
            ChainGap::Faulty(line, faults) => Self::Malformed(line, faults),
            ChainGap::NoKeyframe => Self::NoKeyframe,
        }
    }
}
