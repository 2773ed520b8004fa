//! Report of a recovery: files moved away, completed steps, and lost versions.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Report;
use super::checkpoint::VersionReason;
use crate::prove::recover::{CompletedAct, CompletedPromotion, LostVersion, Recovery};
use crate::record::trusted_head::EventKey;
use crate::values::model::number::CheckpointNumber;
use crate::write::commit::{Recovered, UncommittedFile, UncommittedKind};

/// The answer of `recover`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct RecoverReport<'r> {
    /// True if nothing was written.
    dry_run: bool,
    /// True if an intent record explains all uncommitted files.
    explained: bool,
    #[serde(flatten)]
    recovered: RecoveredReport<'r>,
    /// Checkpoints whose events were added to the change log.
    added_to_change_log: &'r [CheckpointNumber],
    /// Versions of an interrupted review step whose lines were added to the change log.
    completed_steps: Vec<StepReport<'r>>,
    /// Acts on staged entries whose lines were added to the change log.
    completed_acts: Vec<ActReport<'r>>,
    /// Promotions of staged entries that were completed.
    completed_promotions: Vec<PromotionReport<'r>>,
    /// Contents without a staged entry, which were removed.
    removed_contents: &'r [String],
    /// Files of logs and chains whose torn end was removed.
    torn_lines: &'r [String],
    /// Derived files that were written again.
    derived: &'r [String],
    /// Artifacts next to whose histories no file was moved.
    broken: Vec<BrokenReport<'r>>,
    /// Number of files that git leaves out of the working copy.
    left_out: usize,
    /// Versions that the log seals and that cannot be read.
    lost_versions: Vec<VersionReason>,
    /// Entries of the checkpoint log that are missing or invalid.
    lost_checkpoints: Vec<LostCheckpoint<'r>>,
}

/// Uncommitted files that were moved away, and live files that were updated.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct RecoveredReport<'r> {
    /// Folder to which the files were moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<&'r str>,
    /// Files and ends of files that no checkpoint seals.
    uncommitted: Vec<UncommittedReport<'r>>,
    /// Live files that were updated to the published text.
    brought_up_to_date: &'r [String],
}

/// A file, or the end of a file, that no checkpoint seals.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct UncommittedReport<'r> {
    /// Path in the vault.
    pub path: &'r str,
    /// Kind of the file.
    pub kind: UncommittedKind,
    /// Position of the first uncommitted byte.
    pub from: u64,
    /// Number of uncommitted bytes.
    pub bytes: u64,
    /// Events that recorded the bytes.
    pub events: Vec<EventReport<'r>>,
}

/// Principal and time of an event.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct EventReport<'r> {
    /// Time of the event, in UTC.
    at: String,
    /// Principal of the event.
    by: &'r str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct StepReport<'r> {
    /// Id of the document or governance file.
    id: &'r str,
    /// Number of the version.
    version: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct ActReport<'r> {
    /// Act, as the change log names it.
    action: &'static str,
    /// URIs of the entries.
    staged: &'r [String],
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct PromotionReport<'r> {
    /// URI of the entry.
    staged: &'r str,
    /// Id of the document.
    document: &'r str,
    /// Number of the version.
    version: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct BrokenReport<'r> {
    /// Id of the document or governance file.
    id: &'r str,
    /// Reason why no file was moved.
    reason: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct LostCheckpoint<'r> {
    /// Place of the entry in the log, from 1.
    checkpoint: usize,
    /// Reason why the checkpoint cannot be used.
    reason: &'r str,
}

impl Report for RecoverReport<'_> {
    const SCHEMA: &'static str = "recover";
}

impl<'r> RecoverReport<'r> {
    /// Reports a recovery or its dry run.
    pub(crate) fn new(recovery: &'r Recovery, dry_run: bool) -> Self {
        let lost = |lost: &LostVersion| VersionReason {
            id: lost.id.clone(),
            version: lost.version,
            reason: lost.why.to_string(),
        };
        let gone = |(checkpoint, reason): &'r (usize, String)| LostCheckpoint {
            checkpoint: *checkpoint,
            reason,
        };
        let promotion = |one: &'r CompletedPromotion| PromotionReport {
            staged: &one.entry,
            document: one.document.as_str(),
            version: one.version.0,
        };
        let act = |one: &'r CompletedAct| ActReport { action: one.action, staged: &one.staged };
        let broken = recovery.broken.iter();
        Self {
            dry_run,
            explained: recovery.is_explained,
            recovered: RecoveredReport::from(&recovery.recovered),
            added_to_change_log: &recovery.owed,
            completed_steps: recovery
                .steps
                .iter()
                .map(|step| StepReport { id: &step.id, version: step.version })
                .collect(),
            completed_acts: recovery.acts.iter().map(act).collect(),
            completed_promotions: recovery.promotions.iter().map(promotion).collect(),
            removed_contents: &recovery.unclaimed,
            torn_lines: &recovery.torn,
            derived: &recovery.derived.written,
            broken: broken
                .map(|(id, why)| BrokenReport { id: id.as_str(), reason: why.to_string() })
                .collect(),
            left_out: recovery.lost.left_out.count(),
            lost_versions: recovery.lost.versions.iter().map(lost).collect(),
            lost_checkpoints: recovery.lost.checkpoints.iter().map(gone).collect(),
        }
    }
}

impl<'r> From<&'r Recovered> for RecoveredReport<'r> {
    fn from(recovered: &'r Recovered) -> Self {
        Self {
            folder: recovered.folder.as_deref(),
            uncommitted: recovered.kept.iter().map(UncommittedReport::from).collect(),
            brought_up_to_date: &recovered.caught_up,
        }
    }
}

impl<'r> From<&'r UncommittedFile> for UncommittedReport<'r> {
    fn from(file: &'r UncommittedFile) -> Self {
        let UncommittedFile { path, remains, from, bytes, .. } = file;
        let events = recorded_by(file).into_iter();
        let events = events.map(|key| EventReport { at: key.at.to_string(), by: &key.by });
        Self { path, kind: *remains, from: *from, bytes: *bytes, events: events.collect() }
    }
}

/// Returns the events that recorded uncommitted bytes, as far as they can be read.
pub fn recorded_by(file: &UncommittedFile) -> BTreeSet<&EventKey> {
    file.events.iter().flatten().collect()
}
