//! Reports of acknowledged events without a line, and of dismissed submissions.

use serde::Serialize;

use crate::record::audit::VersionRef;

use super::Report;

/// The answer of `audit acknowledge`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct AuditAcknowledged {
    /// Number of the checkpoint of the event.
    pub checkpoint: u64,
    /// Hash of the checkpoint.
    pub checkpoint_hash: String,
    /// Reason why the line is missing, as the user stated it.
    pub reason: String,
    /// Principal who acknowledged the event.
    pub principal: String,
    /// True if nothing was recorded.
    pub dry_run: bool,
}

impl Report for AuditAcknowledged {
    const SCHEMA: &'static str = "audit.acknowledge";
}

/// The answer of `audit dismiss`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct AuditDismissed {
    /// Id of the artifact.
    pub id: String,
    /// Dismissed submissions, by id and version.
    pub dismissed: Vec<DismissedSubmission>,
    /// Number of submissions by this principal, which only another reviewer can dismiss.
    pub own: usize,
    /// Number of submissions that remain because this principal may not read their documents.
    pub hidden: usize,
    /// Reason for the dismissal.
    pub reason: String,
    /// Principal who dismissed them.
    pub principal: String,
    /// True if nothing was recorded.
    pub dry_run: bool,
}

/// A submission that is missing in every history.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct DismissedSubmission {
    /// Version that the line of the change log names.
    #[serde(flatten)]
    pub version: VersionRef,
    /// Principal who submitted it.
    pub submitter: String,
    /// Time of the submission, in UTC.
    pub at: String,
}

impl Report for AuditDismissed {
    const SCHEMA: &'static str = "audit.dismiss";
}
