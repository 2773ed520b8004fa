//! Why a version cannot be vouched for.

use super::diff;
use super::history::{ChainGap, Fault, HistoryError};
use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::text::document::Unreadable;
use crate::values::model::digest::Digest;
use crate::values::model::id::{DocumentId, IdError};
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;

/// Why a version cannot be vouched for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// There is no history.
    #[error("its history is missing")]
    HistoryMissing,
    /// Git leaves files of the history out of the working copy.
    #[error("git leaves its history out here (a sparse checkout)")]
    LeftOut,
    /// The file is no history.
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
    /// No full text to start from.
    #[error("no keyframe comes before it")]
    NoKeyframe,
    /// `v<N>.md` is not there.
    #[error("the keyframe `{0}` is missing")]
    KeyframeMissing(String),
    /// `v<N>.diff` is not there.
    #[error("the diff `{0}` is missing")]
    DiffMissing(String),
    /// The reference implementation marked the text as forgotten.
    #[error("its text is marked as forgotten")]
    Forgotten,
    /// The stored text or diff is not the one that was hashed.
    #[error("the stored text has hash {found}, but the history records {expected}")]
    ContentHash {
        /// As recorded.
        expected: Digest,
        /// As computed.
        found: Digest,
    },
    /// The entry is not bound to those before it.
    #[error("the entry has chain hash {found}, but the history records {expected}")]
    ChainHash {
        /// As recorded.
        expected: Digest,
        /// As computed.
        found: Digest,
    },
    /// The checkpoint log binds another version.
    #[error("the history records chain hash {found}, but the checkpoint log {expected}")]
    CrossChain {
        /// In the log.
        expected: Digest,
        /// In the history.
        found: Digest,
    },
    /// The diff does not apply.
    #[error("the diff does not apply: {0}")]
    Patch(#[from] diff::PatchError),
    /// No document can have the id.
    #[error(transparent)]
    Unfit(IdError),
    /// The text is no document.
    #[error("the text is {0}")]
    Text(Unreadable),
    /// The text grows beyond 16 MiB.
    #[error("the text is larger than 16 MiB")]
    TooLarge,
    /// Too much text was rebuilt since the last keyframe.
    #[error(
        "more than 2 GiB of text, or 24 MiB of frontmatter, would be rebuilt since the last full text"
    )]
    TooFarFromKeyframe,
    /// The text before it cannot be read.
    #[error("the version before it cannot be reconstructed")]
    NoBase,
    /// The text says that it is another version, or has another status, than the entry.
    #[error("the text describes itself as {found}, but the entry is {expected}")]
    SelfMismatch {
        /// What the entry says.
        expected: String,
        /// What the text says.
        found: String,
    },
    /// The recorded time of publication is not one that text and log allow.
    #[error("it is recorded as published at {recorded}, but {bound}")]
    PublicationTime {
        /// As recorded.
        recorded: Timestamp,
        /// What contradicts it.
        bound: String,
    },
    /// The history says that it was retired before the checkpoint that seals it.
    #[error("version {version} was retired at {at}")]
    Retired {
        /// The version.
        version: Version,
        /// When.
        at: Timestamp,
    },
    /// A retirement that changed more than a retirement changes.
    #[error("its retiring text changes more than status, version and updated_at")]
    RetiredOtherwise,
    /// A governance file's full text could be a diff from the version before, with the same hash.
    #[error("what is stored as its full text reads as a diff from the version before")]
    PatchAsKeyframe,
    /// A governance file's diff begins otherwise than writers begin diffs: it could be a full text.
    #[error("what is stored as its diff does not begin as a diff from the version before")]
    KeyframeAsPatch,
    /// What the log records of it cannot be read.
    #[error("the record in the checkpoint log cannot be read: {0}")]
    Log(Box<dyn std::error::Error + Send + Sync>),
    /// The log has the document in one of its two maps only.
    #[error("the checkpoint log has it in one of its two maps only")]
    HalfSealed,
    /// A governed vault published or retired it without a valid approval.
    #[error(transparent)]
    Unapproved(#[from] Unapproved),
    /// A governance file in force whose approval cannot be judged, and why.
    #[error("its approval cannot be judged, because {0}")]
    Unjudged(String),
    /// A governance file in force that cannot be parsed, and why.
    #[error("its text cannot be parsed: {0}")]
    Rules(String),
    /// What is wrong with this version of a governance file in force.
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

    /// Returns the same reason, or that git leaves out the file of the history that is missing.
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
    /// What was found, in one sentence without full stop.
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
