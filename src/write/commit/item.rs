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

/// What an event does to an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Its first version.
    New,
    /// A further version.
    Changed,
    /// Published again after it was retired.
    Restored,
    /// It leaves the map.
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
    /// What a step of a review does.
    #[derive(PartialOrd, Ord)]
    pub enum Step {
        /// It submits a text.
        Submit = "submit",
        /// It approves a submission that waits for more approvals.
        ApproveInPart = "approve-in-part",
        /// It rejects a submission.
        Reject = "reject",
        /// It withdraws a submission.
        Withdraw = "withdraw",
        /// It ratifies an emergency retirement.
        Ratify = "ratify",
    }
}

impl Step {
    /// What it decides about a governance file, whose text cannot say it; none of a submission.
    pub(crate) fn decision(self) -> Option<&'static str> {
        match self {
            Self::Submit | Self::Ratify => None,
            Self::ApproveInPart => Some("partial"),
            Self::Reject => Some("rejected"),
            Self::Withdraw => Some("withdrawn"),
        }
    }
}

/// What happens to the live file after the commit.
#[derive(Clone, Debug)]
pub enum Live {
    /// Stays as it is.
    Keep,
    /// Gets a new text if it still holds the old one.
    Replace {
        /// As read.
        old: Fingerprint,
        /// As published.
        new: Arc<str>,
    },
    /// Is made, if nothing has its name.
    Create(Vec<u8>),
    /// Goes away if it still holds these bytes.
    Remove(Vec<u8>),
}

/// One version of an event, with everything that is written for it.
#[derive(Clone, Debug)]
pub struct Item {
    /// The artifact.
    pub id: DocumentId,
    /// What the event does to it.
    pub change: Change,
    /// The new version.
    pub version: Version,
    /// Its chain hash.
    pub chain_hash: Digest,
    /// How foreign values were understood.
    pub warnings: Vec<Problem>,
    /// What happens to the live file.
    pub live: Live,
    /// The set of submissions that it belongs to.
    pub set: Option<String>,
    /// What it is to sources, and they to it.
    pub(crate) dependent: Dependent,
    /// The text of a submission.
    pub(crate) submitted: Option<Arc<str>>,
    /// Its path, and the text, which mostly is that of the live file too.
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
    /// Whether the artifact leaves the map.
    pub fn is_retirement(&self) -> bool {
        self.change == Change::Retired
    }
}
