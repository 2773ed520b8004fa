//! The cuts of access logs, from the lines of pruning in the change log (AUDIT-27). Lines before a
//! cut were deleted on purpose, so their absence is not a fault.

use std::collections::BTreeMap;

use super::change::{Change, Cut};
use super::event::Event;
use super::line::{Line, TraceId};

/// A cut, and the line of the change log that records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruning {
    /// The number of the last line that was pruned.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
    /// Only accesses before this time were pruned.
    pub before: String,
    /// The trace of the line that records the pruning.
    pub by: String,
    /// The time of the pruning.
    pub at: String,
    /// The principal who pruned.
    pub principal: Option<String>,
}

/// The cuts of each writer.
#[derive(Clone, Debug, Default)]
pub struct Cuts(BTreeMap<String, Vec<Pruning>>);

impl Cuts {
    pub(super) fn take(&mut self, line: &Line) {
        let Event::Change(Change::Prune { before, pruned }) = &line.event else { return };
        for Cut { writer, seq, hash } in pruned {
            let pruning = Pruning {
                seq: *seq,
                hash: hash.clone(),
                before: before.clone(),
                by: line.trace().to_string(),
                at: line.at.clone(),
                principal: line.request.principal.clone(),
            };
            self.0.entry(writer.clone()).or_default().push(pruning);
        }
    }

    /// Returns the cuts of a writer.
    pub(super) fn of_writer(&self, writer: &str) -> &[Pruning] {
        self.0.get(writer).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns true if a cut is recorded.
    pub(super) fn has(&self, cut: &Cut) -> bool {
        find(self.of_writer(&cut.writer), cut.seq.saturating_add(1), &cut.hash).is_some()
    }

    /// Returns the cut that a line was pruned with, if any.
    pub fn covers(&self, trace: &TraceId) -> Option<&Pruning> {
        let of_writer = self.0.iter().filter(|(writer, _)| writer.starts_with(&trace.writer));
        of_writer.flat_map(|(_, cuts)| cuts).find(|cut| trace.seq <= cut.seq)
    }

    /// Returns the pruning of these writers with the latest `before`.
    pub(super) fn last(&self, writers: impl Iterator<Item = String>) -> Option<&Pruning> {
        writers.flat_map(|writer| self.of_writer(&writer)).max_by(|a, b| a.before.cmp(&b.before))
    }
}

/// Returns the cut before the line with the number `next`, whose previous hash is `prev`.
pub(super) fn find<'c>(cuts: &'c [Pruning], next: u64, prev: &str) -> Option<&'c Pruning> {
    cuts.iter().find(|cut| cut.seq.checked_add(1) == Some(next) && cut.hash == prev)
}

/// Lines of a writer that were pruned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// The id of the writer.
    pub writer: String,
    /// The number of the first pruned line.
    pub from: u64,
    /// The cut that removed them.
    pub cut: Pruning,
}
