//! What is said of holds and of pruned accesses.

use serde::Serialize;

use super::Report;
use super::trace::FaultReport;
use crate::record::audit::{Hold, Holds, PlacedHold, Pruned, WriterPlan};
use crate::values::model::timestamp::Timestamp;

/// A hold.
#[derive(Debug, Serialize)]
pub struct HoldRow {
    /// When it was placed.
    pub at: String,
    /// Who placed it.
    pub by: Option<String>,
    /// What is held, and why.
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
#[serde(transparent)]
pub struct HoldPlaced(pub HoldRow);

impl Report for HoldPlaced {
    const SCHEMA: &'static str = "trace.hold.place";
}

/// The answer of `trace hold lift`.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct HoldLifted(pub HoldRow);

impl Report for HoldLifted {
    const SCHEMA: &'static str = "trace.hold.lift";
}

/// The answer of `trace hold list`.
#[derive(Debug, Serialize)]
pub struct HoldsReport {
    /// The holds in force, by their names.
    pub holds: Vec<HoldRow>,
}

impl Report for HoldsReport {
    const SCHEMA: &'static str = "trace.hold.list";
}

/// The answer of `trace prune`.
#[derive(Debug, Serialize)]
pub struct PruneReport {
    /// The folder of the logs.
    pub folder: String,
    /// Whether nothing was deleted.
    pub dry_run: bool,
    /// For how many days accesses are kept.
    pub retention_days: u64,
    /// Only accesses before this time go.
    pub before: String,
    /// How many lines go.
    pub lines: u64,
    /// The logs that lines go from.
    pub writers: Vec<PrunedWriter>,
    /// The holds that keep lines that are old enough.
    pub held: Vec<Keeping>,
    /// How many lines that are old enough stay in logs with held lines.
    pub kept: u64,
    /// The logs that are damaged: nothing goes from them.
    pub damaged: Vec<FaultReport>,
    /// The writers of logs in the vault that may go on elsewhere: nothing goes from them here.
    pub elsewhere: Vec<String>,
}

/// What goes of one log.
#[derive(Debug, Serialize)]
pub struct PrunedWriter {
    /// The writer.
    pub writer: String,
    /// How many lines go.
    pub lines: u64,
    /// The number of the first one.
    pub from: u64,
    /// The time of the first one.
    pub from_at: String,
    /// The number of the last one.
    pub to: u64,
    /// The time of the last one.
    pub to_at: String,
}

/// A hold that keeps lines.
#[derive(Debug, Serialize)]
pub struct Keeping {
    /// How many lines it keeps.
    pub lines: u64,
    /// The hold.
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
    /// What a plan does to the logs in a folder.
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
pub struct PrunedRow {
    /// The writer.
    pub writer: String,
    /// The number of the first of them.
    pub from: u64,
    /// The number of the last one.
    pub to: u64,
    /// Only accesses before this time were pruned.
    pub before: String,
    /// The line of the change log that records it.
    pub by: String,
    /// When that was.
    pub at: String,
    /// Who pruned.
    pub principal: Option<String>,
}

impl From<Pruned> for PrunedRow {
    fn from(Pruned { writer, from, cut }: Pruned) -> Self {
        let (to, before) = (cut.seq, cut.before);
        Self { writer, from, to, before, by: cut.by, at: cut.at, principal: cut.principal }
    }
}
