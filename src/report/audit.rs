//! What is said of an event whose line is missing.

use serde::Serialize;

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
