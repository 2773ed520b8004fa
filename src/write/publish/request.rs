//! What an event is asked to do: by whom, with which documents, and how.

use crate::record::audit::Recorder;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::principal::Principal;
use crate::values::model::timestamp::Timestamp;
use crate::write::commit::expect::Expect;

/// Who publishes, when, and with which remark.
#[derive(Clone, Debug)]
pub struct Author {
    /// Recorded as `edited_by`.
    pub principal: Principal,
    /// Put into documents that have no `author`; the principal where this is absent.
    pub author: Option<String>,
    /// The clock.
    pub now: Timestamp,
    /// A remark that no hash covers.
    pub note: Option<String>,
    /// How the change log says who it was.
    pub recorder: Recorder,
}

/// Which documents a publication takes.
#[derive(Clone, Debug)]
pub enum Which {
    /// These, drafts or not.
    Ids(Vec<DocumentId>),
    /// The same, each as the live file whose bytes have this hash.
    Read(Vec<(DocumentId, Digest)>),
    /// Every document that differs, but those that are retired, drafts, or say that they are not for
    /// use.
    All,
    /// Published documents whose live file differs, is not a draft, and does not say that it is not for
    /// use.
    Changed,
    /// These, and those of `Changed` in these folders, with packs.
    Within {
        /// Drafts or not.
        ids: Vec<DocumentId>,
        /// Each with a `/` at its end; the empty text is the vault's folder.
        folders: Vec<String>,
    },
}

impl Which {
    /// The documents that this names.
    pub(super) fn ids(&self) -> Vec<&DocumentId> {
        match self {
            Self::Ids(ids) | Self::Within { ids, .. } => ids.iter().collect(),
            Self::Read(read) => read.iter().map(|(id, _)| id).collect(),
            Self::All | Self::Changed => Vec::new(),
        }
    }

    /// How one document of a publication is treated.
    pub(super) fn of(&self, id: &DocumentId) -> &Self {
        match self {
            Self::Within { ids, .. } if !ids.contains(id) => &Self::Changed,
            which => which,
        }
    }

    /// Whether this names a document, and is not about all that differ.
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

/// What a publication is asked to do.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who, when, why.
    pub author: Author,
    /// Which documents.
    pub which: Which,
    /// How.
    pub mode: Mode,
}

/// How an event treats what it cannot take, and whether it is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mode {
    /// Leave invalid documents out instead of refusing all.
    pub skip_invalid: bool,
    /// Include drafts in an event of all documents.
    pub drafts: bool,
    /// Compute everything, write nothing.
    pub dry_run: bool,
    /// What the writer has read.
    pub expect: Expect,
    /// Change the links that a move concerns, in live files, so that they lead where they led.
    pub fix_links: bool,
}

impl Author {
    /// What a command that waits for the lock shows.
    pub fn holder(&self) -> String {
        format!("{}, since {}", self.principal, self.now)
    }
}
