//! One version of an event, with the bytes that are written for it.

use std::sync::Arc;

use crate::files::vault::replace::Fingerprint;
use crate::text::document::dependent::Dependent;
use crate::text::document::validate::Problem;
use crate::values::codes::serialize_as_words;
use crate::values::codes::words;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// The change of an artifact by an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Its first version is published.
    New,
    /// A further version is published.
    Changed,
    /// A version is published after a retirement.
    Restored,
    /// The artifact is retired and leaves the maps.
    Retired,
    /// A step of a review, which changes no map.
    Step(Step),
}

serialize_as_words!(Change);

impl Change {
    /// Returns the word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Restored => "restored",
            Self::Retired => "retired",
            Self::Step(Step::Submit) => "submitted",
            Self::Step(Step::ApproveInPart) => "approved in part",
            Self::Step(Step::Reject) => "rejected",
            Self::Step(Step::Withdraw) => "withdrawn",
            Self::Step(Step::Ratify) => "ratified",
        }
    }
}

words! {
    /// The kind of a step of a review.
    #[derive(PartialOrd, Ord)]
    pub enum Step {
        /// A text is submitted.
        Submit = "submit",
        /// A submission is approved, but needs more approvals.
        ApproveInPart = "approve-in-part",
        /// A submission is rejected.
        Reject = "reject",
        /// A submission is withdrawn.
        Withdraw = "withdraw",
        /// An emergency retirement is ratified.
        Ratify = "ratify",
    }
}

impl Step {
    /// Returns the decision about a governance file, which is marked in its diff; `None` for
    /// a submission.
    pub(crate) fn decision(self) -> Option<&'static str> {
        match self {
            Self::Submit | Self::Ratify => None,
            Self::ApproveInPart => Some("partial"),
            Self::Reject => Some("rejected"),
            Self::Withdraw => Some("withdrawn"),
        }
    }
}

/// The change of the live file after the commit.
#[derive(Clone, Debug)]
pub enum Live {
    /// The file stays as it is.
    Keep,
    /// The file gets a new text, if it still has the old one.
    Replace {
        /// Fingerprint of the file as it was read.
        old: Fingerprint,
        /// The published text.
        new: Arc<str>,
    },
    /// The file is created, if no file has its name.
    Create(Vec<u8>),
    /// The file is removed, if it still has these bytes.
    Remove(Vec<u8>),
}

/// One version of an event, with everything that is written for it.
#[derive(Clone, Debug)]
pub struct Item {
    /// The artifact.
    pub id: DocumentId,
    /// The change of the artifact.
    pub change: Change,
    /// Number of the new version.
    pub version: Version,
    /// Chain hash of the new version.
    pub chain_hash: Digest,
    /// Warnings about values in another program's spelling.
    pub warnings: Vec<Problem>,
    /// The change of the live file.
    pub live: Live,
    /// Name of the set of submissions that contains it.
    pub set: Option<String>,
    /// The dependencies of a source; empty for other artifacts.
    pub(crate) dependent: Dependent,
    /// The text of a submission.
    pub(crate) submitted: Option<Arc<str>>,
    /// The text that an approval publishes, or approves in part.
    pub(crate) approved: Option<Arc<str>>,
    /// Path and text of the keyframe; the text is mostly that of the live file, too.
    pub(crate) keyframe: Option<(String, Arc<str>)>,
    pub(crate) history: Extension,
}

/// Bytes to append to a history.
#[derive(Clone, Debug)]
pub(crate) struct Extension {
    pub(crate) path: String,
    pub(crate) length: u64,
    pub(crate) bytes: String,
}

impl Item {
    /// Returns true if the artifact leaves the maps.
    pub fn is_retirement(&self) -> bool {
        self.change == Change::Retired
    }
}
