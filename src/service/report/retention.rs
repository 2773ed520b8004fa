//! Reports of holds and of pruned accesses.

use serde::Serialize;

use super::Report;
use super::trace::FaultReport;
use crate::record::audit::{Hold, Holds, PlacedHold, Pruned, WriterPlan};
use crate::values::model::timestamp::Timestamp;

/// A hold.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct HoldRow {
    /// Time at which the hold was placed, in UTC.
    pub at: String,
    /// Principal who placed the hold.
    pub by: Option<String>,
    /// Scope and reason of the hold.
    #[serde(flatten)]
    pub hold: Hold,
}

impl From<&PlacedHold> for HoldRow {
    fn from(placed: &PlacedHold) -> Self {
        Self { at: placed.at.clone(), by: placed.by.clone(), hold: placed.hold.clone() }
    }
}

/// The answer of `trace hold place`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct HoldPlaced(pub HoldRow);

impl Report for HoldPlaced {
    const SCHEMA: &'static str = "trace.hold.place";
}

/// The answer of `trace hold lift`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct HoldLifted(pub HoldRow);

impl Report for HoldLifted {
    const SCHEMA: &'static str = "trace.hold.lift";
}

/// The answer of `trace hold list`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct HoldsReport {
    /// Holds in force, ordered by name.
    pub holds: Vec<HoldRow>,
}

impl Report for HoldsReport {
    const SCHEMA: &'static str = "trace.hold.list";
}

/// The answer of `trace prune`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PruneReport {
    /// Folder of the logs.
    pub folder: String,
    /// True if nothing was deleted.
    pub dry_run: bool,
    /// Number of days for which accesses are kept.
    pub retention_days: u64,
    /// Time before which accesses are pruned.
    pub before: String,
    /// Number of pruned lines.
    pub lines: u64,
    /// Logs with pruned lines.
    pub writers: Vec<PrunedWriter>,
    /// Holds that keep lines old enough to be pruned.
    pub held: Vec<Keeping>,
    /// Number of old lines that remain in logs with held lines.
    pub kept: u64,
    /// Damaged logs, which are not pruned.
    pub damaged: Vec<FaultReport>,
    /// Writers in the vault whose logs may continue elsewhere; they are not pruned here.
    pub elsewhere: Vec<String>,
}

/// The pruned lines of one log.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PrunedWriter {
    /// Id of the writer.
    pub writer: String,
    /// Number of pruned lines.
    pub lines: u64,
    /// Number of the first pruned line.
    pub from: u64,
    /// Time of the first pruned line.
    pub from_at: String,
    /// Number of the last pruned line.
    pub to: u64,
    /// Time of the last pruned line.
    pub to_at: String,
}

/// A hold that keeps lines.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct Keeping {
    /// Number of lines that the hold keeps.
    pub lines: u64,
    /// Hold that keeps them.
    #[serde(flatten)]
    pub hold: HoldRow,
}

impl PrunedWriter {
    fn of(plan: &WriterPlan) -> Option<Self> {
        let [(from, from_at), (to, to_at)] = plan.ends.clone()?;
        let writer = plan.writer.to_string();
        Some(Self { writer, lines: plan.lines, from, from_at, to, to_at })
    }
}

impl PruneReport {
    /// Reports the effect of a plan on the logs in a folder.
    pub(crate) fn new(
        (folder, dry_run): (String, bool),
        (retention_days, before): (u64, Timestamp),
        plan: &crate::record::audit::Plan,
        holds: &Holds,
    ) -> Self {
        let keeping = |placed: &PlacedHold| {
            let of = |writer: &WriterPlan| writer.held.get(&placed.hold.id).copied().unwrap_or(0);
            let lines: u64 = plan.writers.iter().map(of).sum();
            (lines > 0).then(|| Keeping { lines, hold: placed.into() })
        };
        let sum = |of: fn(&WriterPlan) -> u64| plan.writers.iter().map(of).sum();
        Self {
            folder,
            dry_run,
            retention_days,
            before: before.to_string(),
            lines: sum(|writer| writer.lines),
            writers: plan.writers.iter().filter_map(PrunedWriter::of).collect(),
            held: holds.iter().filter_map(keeping).collect(),
            kept: sum(|writer| writer.kept),
            damaged: plan.damaged.iter().map(FaultReport::from).collect(),
            elsewhere: plan.elsewhere.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Report for PruneReport {
    const SCHEMA: &'static str = "trace.prune";
}

/// Lines that a log lacks because they were pruned.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PrunedRow {
    /// Id of the writer.
    pub writer: String,
    /// Number of the first pruned line.
    pub from: u64,
    /// Number of the last pruned line.
    pub to: u64,
    /// Time before which accesses were pruned.
    pub before: String,
    /// Name of the line of the change log that records the pruning.
    pub by: String,
    /// Time of the pruning, in UTC.
    pub at: String,
    /// Principal who pruned the log.
    pub principal: Option<String>,
}

impl From<Pruned> for PrunedRow {
    fn from(Pruned { writer, from, cut }: Pruned) -> Self {
        let (to, before) = (cut.seq, cut.before);
        Self { writer, from, to, before, by: cut.by, at: cut.at, principal: cut.principal }
    }
}
