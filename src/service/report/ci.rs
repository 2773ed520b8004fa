//! Report of a job of continuous integration.

use serde::Serialize;

use super::Report;
use super::checkpoint::ChangeReport;
use super::problem::ValidateReport;
use super::verify::VerifyReport;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// The answer of `ci`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CiReport<'r> {
    /// Commit with which the vault was compared; null for the first push to a repository.
    pub base: Option<BaseReport>,
    /// Problems of live files.
    pub problems: ValidateReport,
    /// Result of the verification.
    pub verification: VerifyReport,
    /// Artifacts that the vault publishes or retires since the base, in byte order of their ids.
    pub published: Vec<ChangeReport<'r>>,
    /// Live files that differ from what is published, in byte order of their paths, without those
    /// that are the same at the base.
    pub unpublished: Vec<UnpublishedReport>,
    /// Number of live files that differ from what is published, and are the same at the base.
    pub unchanged: usize,
    /// Reason why the changes since the base are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// Base of a job.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct BaseReport {
    /// Name of the revision.
    pub revision: String,
    /// Commit of the revision, or of the merge base with it.
    pub commit: String,
}

/// A live file that is not published in its current form.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct UnpublishedReport {
    /// Id of the document or governance file; null if the name cannot be an id.
    pub id: Option<DocumentId>,
    /// Path in the vault.
    pub path: String,
    /// State of the file, as `status` reports it.
    pub state: &'static str,
    /// Published version; null if there is none.
    pub version: Option<Version>,
    /// Number of bytes; null if the file is missing.
    pub bytes: Option<u64>,
    /// Number of bytes at the base; null if the base does not contain the file.
    pub bytes_at_base: Option<u64>,
    /// Number of tokens, one for every four bytes.
    pub tokens: Option<u64>,
    /// Reviewers of the scope that decides about the file. Empty if the reader may not see them.
    pub reviewers: Vec<String>,
}

impl Report for CiReport<'_> {
    const SCHEMA: &'static str = "ci";
}
