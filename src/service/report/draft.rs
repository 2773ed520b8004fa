//! Drafts: what a principal wrote into a live file, and what they submitted.

use serde::Serialize;

use super::Report;
use crate::text::document::frontmatter::Status;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::write::publish::Draft;

/// The answer of `add --draft`, and of what else writes a draft.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct DraftReport<'d> {
    /// The document.
    pub id: &'d DocumentId,
    /// Its file.
    pub path: &'d str,
    /// `draft`, or `published` where the file has the published text again.
    pub status: Status,
    /// The hash of the bytes of the file, by which the next write names it.
    pub live_hash: String,
    /// The published version that it is an edit of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub based_on: Option<Version>,
}

impl<'d> DraftReport<'d> {
    /// The report of a draft that was written.
    pub(crate) fn new(id: &'d DocumentId, draft: &'d Draft) -> Self {
        Self {
            id,
            path: &draft.path,
            status: if draft.is_published { Status::Published } else { Status::Draft },
            live_hash: draft.hash.to_string(),
            based_on: draft.based_on,
        }
    }
}

impl Report for DraftReport<'_> {
    const SCHEMA: &'static str = "add";
}

/// A text of the principal who asks that is not published.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct DraftTextReport<'d> {
    /// The document.
    pub id: &'d DocumentId,
    /// The path of its file.
    pub path: String,
    /// Whether it is a draft or a submission.
    pub state: DraftState,
    /// The version that was submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The hash of the bytes of the file, of a draft.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live_hash: Option<String>,
    /// The whole text, frontmatter included.
    pub text: &'d str,
}

/// What a text that is not published is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DraftState {
    /// It is in the live file, and in no version.
    Draft,
    /// It awaits a decision.
    Submitted,
}

impl DraftState {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Submitted => "submitted",
        }
    }
}

impl Report for DraftTextReport<'_> {
    const SCHEMA: &'static str = "draft";
}
