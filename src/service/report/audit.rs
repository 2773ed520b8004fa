//! What is said of an event whose line is missing, and of submissions that no history has.

use serde::Serialize;

use crate::record::audit::VersionRef;

use super::Report;

/// The answer of `audit acknowledge`.
#[derive(Debug, Serialize)]
pub struct AuditAcknowledged {
    /// The checkpoint of the event.
    pub checkpoint: u64,
    /// Its hash.
    pub checkpoint_hash: String,
    /// Why its line is missing.
    pub reason: String,
    /// Who acknowledged it.
    pub principal: String,
    /// Whether nothing was recorded.
    pub dry_run: bool,
}

impl Report for AuditAcknowledged {
    const SCHEMA: &'static str = "audit.acknowledge";
}

/// The answer of `audit dismiss`.
#[derive(Debug, Serialize)]
pub struct AuditDismissed {
    /// The artifact that was asked about.
    pub id: String,
    /// The submissions, by id and version.
    pub dismissed: Vec<DismissedSubmission>,
    /// How many submissions of this principal stay: another reviewer has to dismiss these.
    pub own: usize,
    /// How many are of documents that this principal may not read, and stay.
    pub hidden: usize,
    /// Why.
    pub reason: String,
    /// Who dismissed them.
    pub principal: String,
    /// Whether nothing was recorded.
    pub dry_run: bool,
}

/// A submission that no history has.
#[derive(Debug, Serialize)]
pub struct DismissedSubmission {
    /// Its version, as its line names it.
    #[serde(flatten)]
    pub version: VersionRef,
    /// Who submitted it.
    pub submitter: String,
    /// When.
    pub at: String,
}

impl Report for AuditDismissed {
    const SCHEMA: &'static str = "audit.dismiss";
}
