//! Reports of drafts: texts in live files and submissions of a principal.

use serde::Serialize;

use super::Report;
use crate::text::document::frontmatter::Status;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::write::publish::Draft;

/// The answer of `add --draft`, and of other commands that write a draft.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct DraftReport<'d> {
    /// Id of the document.
    pub id: &'d DocumentId,
    /// Path of its live file.
    pub path: &'d str,
    /// `draft`, or `published` if the file has the published text again.
    pub status: Status,
    /// Hash of the bytes of the file, which the next write can expect.
    pub live_hash: String,
    /// Published version that the draft is based on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub based_on: Option<Version>,
}

impl<'d> DraftReport<'d> {
    /// Reports a draft that was written.
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

/// A text of the calling principal that is not published.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct DraftTextReport<'d> {
    /// Id of the document.
    pub id: &'d DocumentId,
    /// Path of its live file.
    pub path: String,
    /// State of the text.
    pub state: DraftState,
    /// Version of the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Hash of the bytes of the live file, for a draft.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live_hash: Option<String>,
    /// Whole text with its frontmatter.
    pub text: &'d str,
}

/// State of a text that is not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DraftState {
    /// The text is in the live file and in no version.
    Draft,
    /// The text is submitted and awaits a decision.
    Submitted,
}

impl DraftState {
    /// Returns the word for the state.
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
