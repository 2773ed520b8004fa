//! The request of an event: the principal, the documents, and the mode.

use crate::record::audit::Recorder;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::principal::Principal;
use crate::values::model::timestamp::Timestamp;
use crate::write::commit::expect::Expect;

/// The principal of an event, its time, and its note.
#[derive(Clone, Debug)]
pub struct Author {
    /// Recorded as `edited_by`.
    pub principal: Principal,
    /// Inserted into documents without `author`; the principal if this is `None`.
    pub author: Option<String>,
    /// Time of the clock.
    pub now: Timestamp,
    /// A note that no hash covers.
    pub note: Option<String>,
    /// The data about the principal and program that the change log records.
    pub recorder: Recorder,
}

/// The documents that an event publishes.
#[derive(Clone, Debug)]
pub enum Which {
    /// These documents, even if they are drafts.
    Ids(Vec<DocumentId>),
    /// These documents, each if the hash of its live file is this one.
    Read(Vec<(DocumentId, Digest)>),
    /// Every document that differs, except those that are retired, drafts, or marked as not
    /// for use.
    All,
    /// Published documents whose live file differs, and is neither a draft nor marked as not
    /// for use.
    Changed,
    /// These documents, and those of `Changed` in these folders, with packs.
    Within {
        /// Documents, even if they are drafts.
        ids: Vec<DocumentId>,
        /// Folders, each with a final `/`; the empty text is the root of the vault.
        folders: Vec<String>,
    },
}

impl Which {
    /// Returns the documents that this names.
    pub(super) fn ids(&self) -> Vec<&DocumentId> {
        match self {
            Self::Ids(ids) | Self::Within { ids, .. } => ids.iter().collect(),
            Self::Read(read) => read.iter().map(|(id, _)| id).collect(),
            Self::All | Self::Changed => Vec::new(),
        }
    }

    /// Returns the rule that chooses one document.
    pub(super) fn of(&self, id: &DocumentId) -> &Self {
        match self {
            Self::Within { ids, .. } if !ids.contains(id) => &Self::Changed,
            which => which,
        }
    }

    /// Returns true if this names documents or folders.
    pub(super) fn is_named(&self) -> bool {
        matches!(self, Self::Ids(_) | Self::Read(_) | Self::Within { .. })
    }
}

/// A new document that is not on disk yet.
#[derive(Clone, Debug)]
pub struct NewDocument {
    /// Its id.
    pub id: DocumentId,
    /// Its text.
    pub text: String,
}

/// A request to publish.
#[derive(Clone, Debug)]
pub struct Request {
    /// The principal, the time and the note.
    pub author: Author,
    /// The documents to publish.
    pub which: Which,
    /// The mode of the event.
    pub mode: Mode,
}

/// The treatment of documents that cannot be published, and options of the event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mode {
    /// Skip invalid documents instead of refusing the event.
    pub skip_invalid: bool,
    /// Include drafts in an event of all documents.
    pub drafts: bool,
    /// Compute everything, but write nothing.
    pub dry_run: bool,
    /// The version or head that the writer has read.
    pub expect: Expect,
    /// Edit links of live files that a move concerns, so that they keep their targets.
    pub fix_links: bool,
}

impl Author {
    /// Returns the text that a command shows while it waits for the lock.
    pub fn holder(&self) -> String {
        format!("{}, since {}", self.principal, self.now)
    }
}
