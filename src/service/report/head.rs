//! Reports of the head of the log, and of the trusted heads of this user.

use serde::Serialize;

use super::Report;
use crate::record::audit::LostLines;
use crate::record::trusted_head::{Head, TrustedHead};
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;

/// The answer of `head`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct HeadReport {
    /// Number of the last checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Time at which the checkpoint was made, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// Hash of the last checkpoint; null for the empty vault.
    checkpoint_hash: Option<String>,
    /// Hash of checkpoint 1.
    genesis: Option<String>,
    /// Trusted head of this machine.
    trusted: Option<TrustedReport>,
}

/// A trusted head.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct TrustedReport {
    /// Folder of the vault.
    path: String,
    /// Ref or commit that git had checked out; null without git.
    #[serde(rename = "ref")]
    branch: Option<String>,
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Hash of the checkpoint; null for the empty vault.
    checkpoint_hash: Option<String>,
    /// Time from which the head is trusted, in UTC.
    since: String,
}

impl From<&TrustedHead> for TrustedReport {
    fn from(trusted: &TrustedHead) -> Self {
        Self {
            path: trusted.path.display().to_string(),
            branch: trusted.branch.clone(),
            checkpoint: trusted.head.checkpoint,
            checkpoint_hash: hash(&trusted.head),
            since: trusted.at.to_string(),
        }
    }
}

fn hash(head: &Head) -> Option<String> {
    head.hashes.map(|hashes| hashes.last.to_string())
}

impl Report for HeadReport {
    const SCHEMA: &'static str = "head";
}

impl HeadReport {
    /// Reports the head of a log, made at `at`, with the trusted head.
    pub(crate) fn new(head: &Head, at: Option<Timestamp>, trusted: Option<&TrustedHead>) -> Self {
        Self {
            checkpoint: head.checkpoint,
            at: at.map(|at| at.to_string()),
            checkpoint_hash: hash(head),
            genesis: head.hashes.map(|hashes| hashes.genesis.to_string()),
            trusted: trusted.map(TrustedReport::from),
        }
    }
}

/// The answer of `head trust`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct TrustReport {
    /// True if nothing was written.
    dry_run: bool,
    /// Head that was trusted before; null if there was none.
    from: Option<TrustedReport>,
    /// Head that is trusted now.
    to: EndReport,
    /// Lines of this user that are missing in the logs of the vault.
    lost: Vec<LostLines>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct EndReport {
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Hash of the checkpoint; null for the empty vault.
    checkpoint_hash: Option<String>,
}

impl Report for TrustReport {
    const SCHEMA: &'static str = "head.trust";
}

impl TrustReport {
    /// Reports a change of the trusted head.
    pub(crate) fn new(
        from: Option<&TrustedHead>,
        to: &Head,
        lost: Vec<LostLines>,
        dry_run: bool,
    ) -> Self {
        let to = EndReport { checkpoint: to.checkpoint, checkpoint_hash: hash(to) };
        Self { dry_run, from: from.map(TrustedReport::from), to, lost }
    }
}

/// The answer of `head forget`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ForgetReport {
    /// True if there was a trusted head.
    pub forgotten: bool,
}

impl Report for ForgetReport {
    const SCHEMA: &'static str = "head.forget";
}

/// The answer of `head list`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct HeadsReport {
    /// Trusted heads of this user.
    heads: Vec<TrustedReport>,
}

impl Report for HeadsReport {
    const SCHEMA: &'static str = "head.list";
}

impl HeadsReport {
    /// Reports all trusted heads of this user.
    pub(crate) fn new(trusted: &[TrustedHead]) -> Self {
        Self { heads: trusted.iter().map(TrustedReport::from).collect() }
    }
}
