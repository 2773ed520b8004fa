//! The report of a merge.

use serde::Serialize;

use super::Report;
use crate::exchange::merge::take::Sides;
use crate::exchange::merge::{InConflict, Merged, Side};
use crate::files::vault::Vault;
use crate::record::chain::replay;
use crate::record::checkpoint::merge::Conflict;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};

/// The answer of `merge`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct MergeReport {
    /// True if nothing was written.
    dry_run: bool,
    /// The side whose log goes on as the main line.
    pub(crate) trunk: SideReport,
    /// The side whose checkpoints are kept as a side line.
    pub(crate) branch: SideReport,
    /// Last checkpoint that both main lines have.
    pub(crate) base: CheckpointNumber,
    /// Checkpoint that merges both logs; absent if one log goes on from the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) checkpoint: Option<CheckpointNumber>,
    /// Hash of that checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_hash: Option<String>,
    /// Artifacts that the merge takes from the branch.
    pub(crate) carried: Vec<CarriedReport>,
    /// Number of checkpoints that the merge adds as side lines.
    pub(crate) side_checkpoints: u64,
    /// Artifacts that keep the value of the trunk, although the branch has another one.
    pub(crate) conflicts: Vec<ConflictReport>,
    /// True if an earlier run wrote the merged log.
    pub(crate) done: bool,
}

/// An artifact in conflict.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ConflictReport {
    /// Id of the artifact.
    pub(crate) id: DocumentId,
    /// Reason: `both-changed`, `event` (it was changed together with another one in conflict),
    /// `approval` or `history`.
    pub(crate) why: Conflict,
    /// Its last entry on the trunk; absent if the trunk does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trunk: Option<EntryReport>,
    /// Its last entry on the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<EntryReport>,
    /// True if its live file is settled, false if it still has conflict markers; absent if no text
    /// was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) settled: Option<bool>,
}

/// The last entry of a history on one side.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct EntryReport {
    /// Number of the version.
    pub(crate) version: Version,
    /// Its chain hash.
    chain_hash: String,
    /// Its author.
    pub(crate) edited_by: String,
    /// Its time.
    edited_at: String,
    /// True if it retired the artifact.
    pub(crate) retired: bool,
}

/// A side of a merge.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SideReport {
    /// Name of the branch, or the beginning of its commit.
    pub(crate) name: String,
    /// Last checkpoint of its log.
    pub(crate) checkpoint: CheckpointNumber,
    /// Hash of that checkpoint.
    checkpoint_hash: String,
}

/// An artifact that a merge takes from the branch.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CarriedReport {
    /// Id of the artifact.
    pub(crate) id: DocumentId,
    /// Its version; absent if the branch retired it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<Version>,
}

impl Report for MergeReport {
    const SCHEMA: &'static str = "merge";
}

impl MergeReport {
    /// Reports a merge or its dry run. `names` are those of the branch that is checked out, and of
    /// the other one.
    pub(crate) fn new(
        merged: &Merged,
        names: &[String; 2],
        sides: &Sides<'_>,
        dry_run: bool,
    ) -> Self {
        let [ours, theirs] = names;
        let (trunk, branch) = match merged.trunk {
            Side::Ours => (ours, theirs),
            Side::Theirs => (theirs, ours),
        };
        let side = |name: &String, (checkpoint, hash): (CheckpointNumber, _)| SideReport {
            name: name.clone(),
            checkpoint,
            checkpoint_hash: format!("{hash}"),
        };
        let [main, other] = merged.heads;
        let checkpoint = merged.checkpoint.as_ref();
        let set = checkpoint.iter().flat_map(|one| &one.set);
        let set = set.map(|(id, mark)| CarriedReport { id: id.clone(), version: mark.version });
        let removed = checkpoint.iter().flat_map(|one| &one.removed);
        let removed = removed.map(|id| CarriedReport { id: id.clone(), version: None });
        Self {
            dry_run,
            trunk: side(trunk, main),
            branch: side(branch, other),
            base: merged.base,
            checkpoint: checkpoint.map(|one| one.number),
            checkpoint_hash: checkpoint.map(|one| one.hash.to_string()),
            carried: set.chain(removed).collect(),
            side_checkpoints: checkpoint.map_or(0, |one| one.sides().len() as u64),
            conflicts: merged.conflicts.iter().map(|one| conflict(one, sides)).collect(),
            done: merged.is_done,
        }
    }
}

impl MergeReport {
    /// Returns the conflicts whose live files are not settled.
    pub(crate) fn open(&self) -> impl Iterator<Item = &ConflictReport> {
        self.conflicts.iter().filter(|one| one.settled != Some(true))
    }
}

fn conflict(one: &InConflict, sides: &Sides<'_>) -> ConflictReport {
    let entry = |vault: &Vault| {
        let history = replay::load(vault.files(), &one.id).ok()?;
        let entry = history.entries().next_back()?;
        Some(EntryReport {
            version: entry.version,
            chain_hash: entry.chain_hash.to_string(),
            edited_by: entry.edited_by.clone(),
            edited_at: entry.edited_at.to_string(),
            retired: entry.is_retirement(),
        })
    };
    let [trunk, branch] = sides.sides.map(entry);
    ConflictReport { id: one.id.clone(), why: one.why, trunk, branch, settled: None }
}
