//! Reports of the checkpoint log: entries, differences, rebuilding, adoption and conversion.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Report;
use super::verify::FindingReport;
use crate::exchange::convert::Converted;
use crate::files::vault::config::LogForm;
use crate::prove::recover::{Replacement, Unapproved};
use crate::read::snapshot::Snapshot;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::state::{Mark, PublishedSet};
use crate::values::codes::words;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::write::publish::Outcome;

/// A checkpoint without its changes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CheckpointReport {
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Time at which the checkpoint was made, in UTC.
    at: String,
    /// Artifact that caused the event; absent if the reader may not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    triggered_by: Option<String>,
    /// Hash of the checkpoint, with `sha256:`.
    checkpoint_hash: String,
}

impl From<&Checkpoint> for CheckpointReport {
    fn from(checkpoint: &Checkpoint) -> Self {
        Self {
            checkpoint: checkpoint.number,
            at: checkpoint.at.to_string(),
            triggered_by: Some(checkpoint.triggered_by.to_string()),
            checkpoint_hash: checkpoint.hash.to_string(),
        }
    }
}

/// A checkpoint with its changes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct EntryReport {
    #[serde(flatten)]
    checkpoint: CheckpointReport,
    /// Artifacts whose versions the checkpoint sets.
    set: Vec<MarkReport>,
    /// Artifacts that the checkpoint removes.
    removed: Vec<DocumentId>,
}

/// Version of an artifact that a checkpoint seals.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct MarkReport {
    /// Id of the document or governance file.
    id: DocumentId,
    /// Number of the version; null if a log in full form lacks it.
    version: Option<Version>,
    /// Chain hash of the version; null if a log in full form lacks it.
    chain_hash: Option<String>,
}

impl MarkReport {
    fn new(id: &DocumentId, mark: &Mark) -> Self {
        let chain_hash = mark.chain_hash.map(|hash| hash.to_string());
        Self { id: id.clone(), version: mark.version, chain_hash }
    }
}

impl EntryReport {
    /// Reports the parts of a checkpoint that the reader of `head` may know.
    fn seen(checkpoint: &Checkpoint, head: &Snapshot<'_>) -> Self {
        let mut report = Self::from(checkpoint);
        report.set.retain(|mark| head.may_name(&mark.id));
        report.removed.retain(|id| head.may_name(id));
        if !head.may_name(&checkpoint.triggered_by) {
            report.checkpoint.triggered_by = None;
        }
        report
    }
}

impl From<&Checkpoint> for EntryReport {
    fn from(checkpoint: &Checkpoint) -> Self {
        Self {
            checkpoint: checkpoint.into(),
            set: checkpoint.set.iter().map(|(id, mark)| MarkReport::new(id, mark)).collect(),
            removed: checkpoint.removed.clone(),
        }
    }
}

/// The answer of `checkpoint list`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CheckpointsReport {
    /// Checkpoints, the newest last.
    checkpoints: Vec<EntryReport>,
}

impl Report for CheckpointsReport {
    const SCHEMA: &'static str = "checkpoint.list";
}

impl CheckpointsReport {
    /// Reports checkpoints of a log, the newest last.
    pub(crate) fn new(checkpoints: &[&Checkpoint], head: &Snapshot<'_>) -> Self {
        Self { checkpoints: checkpoints.iter().map(|c| EntryReport::seen(c, head)).collect() }
    }
}

/// The answer of `checkpoint show`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StateReport {
    #[serde(flatten)]
    entry: EntryReport,
    /// Everything that is published at the checkpoint.
    holds: Vec<MarkReport>,
}

impl Report for StateReport {
    const SCHEMA: &'static str = "checkpoint.show";
}

impl StateReport {
    /// Reports a checkpoint with everything that is published at it.
    pub(crate) fn new(checkpoint: &Checkpoint, state: &PublishedSet, head: &Snapshot<'_>) -> Self {
        let holds = state.iter().map(|(id, mark)| MarkReport::new(id, mark)).collect();
        Self { entry: EntryReport::seen(checkpoint, head), holds }
    }
}

/// The answer of `checkpoint diff`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StateDiffReport<'d> {
    /// Number of the older checkpoint.
    older: CheckpointNumber,
    /// Number of the newer checkpoint.
    newer: CheckpointNumber,
    /// Artifacts that differ, in byte order of their ids.
    pub changes: Vec<ChangeReport<'d>>,
}

words! {
    /// Difference of an artifact between two checkpoints.
    pub enum SealedChange {
        /// Only the newer checkpoint contains the artifact.
        New = "new",
        /// The checkpoints contain different versions.
        Changed = "changed",
        /// Only the older checkpoint contains the artifact.
        Removed = "removed",
    }
}

/// An artifact that differs between two checkpoints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ChangeReport<'d> {
    /// Id of the artifact.
    pub id: &'d DocumentId,
    /// `new`, `changed` or `removed`.
    pub change: SealedChange,
    /// Version at the older checkpoint.
    pub from: Option<Version>,
    /// Version at the newer checkpoint.
    pub to: Option<Version>,
}

impl Report for StateDiffReport<'_> {
    const SCHEMA: &'static str = "checkpoint.diff";
}

impl<'d> StateDiffReport<'d> {
    /// Reports the differences between the states of two checkpoints.
    pub(crate) fn new(
        (older, before): (CheckpointNumber, &'d PublishedSet),
        (newer, after): (CheckpointNumber, &'d PublishedSet),
    ) -> Self {
        let ids: BTreeSet<&DocumentId> =
            before.iter().chain(after.iter()).map(|(id, _)| id).collect();
        let change = |id: &'d DocumentId| {
            let (old, new) = (before.get(id.as_str()), after.get(id.as_str()));
            let change = match (old, new) {
                (None, _) => SealedChange::New,
                (_, None) => SealedChange::Removed,
                (Some(old), Some(new)) if old == new => return None,
                _ => SealedChange::Changed,
            };
            let version = |mark: Option<&Mark>| mark.and_then(|mark| mark.version);
            Some(ChangeReport { id, change, from: version(old), to: version(new) })
        };
        Self { older, newer, changes: ids.into_iter().filter_map(change).collect() }
    }
}

/// The answer of `checkpoint rebuild`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct RebuildReport {
    /// True if nothing was written.
    dry_run: bool,
    /// True if a rebuild from the histories returns the current log.
    same: bool,
    /// Number of checkpoints of the old log that are kept.
    kept: usize,
    /// Checkpoints that the rebuild derives from the histories.
    derived: Vec<EntryReport>,
    /// Number of checkpoints of the old log.
    entries_before: usize,
    /// Hash of the last checkpoint of the new log; null if it is empty.
    checkpoint_hash: Option<String>,
    /// Versions that are left out because the chain does not vouch for them.
    unsound: Vec<VersionReason>,
    /// Versions of a governed vault that are left out because a valid approval is missing.
    unapproved: Vec<VersionReason>,
    /// Reason why the new log is not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// First checkpoint of the old log, if the new log starts with another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced_first: Option<String>,
    /// Versions recorded before the last kept checkpoint that no checkpoint contains.
    passed_over: Vec<PassedOver>,
    /// Path of the copy of the old log.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct PassedOver {
    /// Id of the document or governance file.
    id: DocumentId,
    /// Number of the version.
    version: Version,
}

/// A version, and the reason why it is left out.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub(super) struct VersionReason {
    /// Id of the document or governance file.
    pub(super) id: DocumentId,
    /// Number of the version.
    pub(super) version: Version,
    /// Reason why the version is left out or cannot be read.
    pub(super) reason: String,
}

impl Report for RebuildReport {
    const SCHEMA: &'static str = "checkpoint.rebuild";
}

impl RebuildReport {
    /// Reports a rebuild or its dry run.
    pub(crate) fn new(replacement: &Replacement, dry_run: bool) -> Self {
        let rebuilt = &replacement.rebuilt;
        let unsound = |(id, version, why): &(DocumentId, Version, _)| VersionReason {
            id: id.clone(),
            version: *version,
            reason: ToString::to_string(why as &crate::record::chain::error::ChainError),
        };
        let unapproved = |one: &Unapproved| VersionReason {
            id: one.id.clone(),
            version: one.version,
            reason: one.why.clone(),
        };
        let passed_over = |(id, version): &(DocumentId, Version)| PassedOver {
            id: id.clone(),
            version: *version,
        };
        Self {
            dry_run,
            same: replacement.is_same,
            kept: rebuilt.kept,
            derived: rebuilt.derived().map(EntryReport::from).collect(),
            entries_before: rebuilt.before,
            checkpoint_hash: replacement.head.hashes.map(|hashes| hashes.last.to_string()),
            unsound: rebuilt.unsound.iter().map(unsound).collect(),
            unapproved: rebuilt.unapproved.iter().map(unapproved).collect(),
            refused: replacement.refused.as_ref().map(ToString::to_string),
            replaced_first: replacement.replaced_first.map(|first| first.to_string()),
            passed_over: rebuilt.passed_over.iter().map(passed_over).collect(),
            replaced: replacement.kept.clone(),
        }
    }
}

/// The answer of `checkpoint adopt`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct AdoptReport {
    /// True if nothing was written.
    dry_run: bool,
    /// True if the log is adopted by this command; false if it was adopted before.
    adopted: bool,
    /// Findings about the foreign part of the log that the adoption accepts.
    accepted: Vec<FindingReport>,
    /// Documents without a history, which are removed from the maps.
    removed: Vec<DocumentId>,
    /// First checkpoint that is strict.
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed_by: Option<CheckpointNumber>,
    /// Path of the copy of the old log.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<String>,
}

impl Report for AdoptReport {
    const SCHEMA: &'static str = "checkpoint.adopt";
}

impl AdoptReport {
    /// Reports an adoption or its dry run.
    pub(crate) fn new(converted: &Converted, dry_run: bool) -> Self {
        let checkpoint = converted.event.as_ref().and_then(|event| event.checkpoint.as_ref());
        Self {
            dry_run,
            adopted: converted.bytes.is_some(),
            accepted: converted.accepted.iter().map(FindingReport::from).collect(),
            removed: checkpoint.map(|made| made.removed.clone()).unwrap_or_default(),
            sealed_by: checkpoint.map(|made| made.number),
            replaced: converted.kept.clone(),
        }
    }
}

/// The answer of `checkpoint convert`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ConvertReport {
    /// True if nothing was written.
    dry_run: bool,
    /// Encoding of the log after the conversion.
    form: LogForm,
    /// True if the log is converted; false if it already has the encoding.
    converted: bool,
    /// Number of checkpoints in the log.
    checkpoints: u64,
    /// Checkpoint that seals the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed_by: Option<CheckpointNumber>,
    /// Size of the old log in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_before: Option<u64>,
    /// Size of the new log in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_after: Option<u64>,
    /// Path of the copy of the old log.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<String>,
}

impl Report for ConvertReport {
    const SCHEMA: &'static str = "checkpoint.convert";
}

impl ConvertReport {
    /// Reports a conversion or its dry run.
    pub(crate) fn new(converted: &Converted, form: LogForm, dry_run: bool) -> Self {
        let number = |outcome: &Outcome| outcome.checkpoint.as_ref().map(|c| c.number);
        Self {
            dry_run,
            form,
            converted: converted.bytes.is_some(),
            checkpoints: converted.checkpoints,
            sealed_by: converted.event.as_ref().and_then(number),
            bytes_before: converted.bytes.map(|(before, _)| before),
            bytes_after: converted.bytes.map(|(_, after)| after),
            replaced: converted.kept.clone(),
        }
    }
}
