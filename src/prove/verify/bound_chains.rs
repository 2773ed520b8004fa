//! Compares the bound lines of staging chains in checkpoints with the chains, and with the lines of
//! change logs that record them (STAGE-22).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::finding::{Code, Finding};
use crate::record::audit::{BindLines, StagedEnd};
use crate::record::staging::Chains;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::AUDIT_DIR;
use crate::values::model::number::CheckpointNumber;
use crate::values::text_util::count;

/// Number and hash of a line of a chain.
type BoundLine = (u64, Digest);

/// Staging chains in the maps of checkpoints.
#[derive(Debug, Default)]
pub struct BoundChains {
    /// Changes of each chain in the order of the checkpoints; `None` if the chain left the maps.
    changes: BTreeMap<DocumentId, Vec<(CheckpointNumber, Option<BoundLine>)>>,
}

impl BoundChains {
    /// Records that a checkpoint binds another line of a chain, or drops the chain.
    pub fn change(
        &mut self,
        chain: DocumentId,
        checkpoint: CheckpointNumber,
        line: Option<BoundLine>,
    ) {
        self.changes.entry(chain).or_default().push((checkpoint, line));
    }

    /// Returns the line of a chain in the maps of a checkpoint.
    fn at(&self, chain: &str, checkpoint: CheckpointNumber) -> Option<BoundLine> {
        let changes = self.changes.get(chain)?;
        changes.iter().rfind(|(n, _)| *n <= checkpoint).and_then(|(_, line)| *line)
    }

    /// Returns the chains whose bound line each checkpoint changes.
    fn by_checkpoint(&self) -> BTreeMap<CheckpointNumber, BTreeSet<&str>> {
        let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (chain, changes) in &self.changes {
            for (checkpoint, _) in changes.iter().filter(|(_, line)| line.is_some()) {
                found.entry(*checkpoint).or_default().insert(chain.as_str());
            }
        }
        found
    }

    /// Reports bound lines that a chain lacks, one finding for each chain.
    pub(super) fn lost(&self, chains: &Chains) -> Vec<Finding> {
        if self.changes.is_empty() {
            return Vec::new();
        }
        let read: BTreeMap<String, _> = chains.chains.iter().map(|one| (one.path(), one)).collect();
        let lost = |(chain, changes): (&DocumentId, &Vec<_>)| {
            let lines = read.get(chain.as_str()).map_or(&[][..], |chain| &chain.lines);
            let lines: HashSet<BoundLine> =
                lines.iter().filter_map(|line| Some((line.seq, line.hash?))).collect();
            let bound = changes.iter().filter_map(|(n, line): &(_, Option<BoundLine>)| {
                line.filter(|line| !lines.contains(line)).map(|(seq, _)| (*n, seq))
            });
            let mut lost = bound;
            let (checkpoint, seq): (CheckpointNumber, u64) = lost.next()?;
            let more = match lost.count() {
                0 => String::new(),
                more => format!(", nor {}", count(more, "later bound line")),
            };
            let message = format!(
                "checkpoint {checkpoint} binds line {seq}, which the chain does not have{more}"
            );
            let finding = Finding::new(Code::StagedRollback, chain.as_str(), message);
            Some(finding.checkpoint(checkpoint))
        };
        self.changes.iter().filter_map(lost).collect()
    }
}

/// Compares the chains that lines of change logs name with the maps of the checkpoints that bind
/// these lines.
#[derive(Debug)]
pub(super) struct Named<'b> {
    bound: &'b BoundChains,
    /// Bound chains that no line has named so far.
    unnamed: BTreeMap<CheckpointNumber, BTreeSet<&'b str>>,
    /// Number of the chain ends that a line binds and the maps of its checkpoint lack, with the
    /// first one.
    unheld: BTreeMap<CheckpointNumber, (StagedEnd, usize)>,
}

impl<'b> Named<'b> {
    pub(super) fn new(bound: &'b BoundChains) -> Self {
        Self { bound, unnamed: bound.by_checkpoint(), unheld: BTreeMap::new() }
    }

    /// Records the lines of an event. The checkpoint binds the last of them.
    pub(super) fn take(&mut self, checkpoint: CheckpointNumber, lines: &BindLines) {
        for end in &lines.staged {
            let (held, said) = (self.bound.at(&end.chain, checkpoint), end.line());
            // In merged branches, an earlier event may have bound more of the chain (CKPT-37).
            let is_held = held
                .zip(said)
                .is_some_and(|((seq, hash), said)| seq > said.0 || (seq, hash) == said);
            if !is_held {
                self.unheld.entry(checkpoint).or_insert((end.clone(), 0)).1 += 1;
            } else if held == said
                && let Some(unnamed) = self.unnamed.get_mut(&checkpoint)
            {
                unnamed.remove(end.chain.as_str());
            }
        }
    }

    /// Removes checkpoints whose lines are missing or wrong, so that a missing chain name is not
    /// reported a second time.
    pub(super) fn excuse(&mut self, checkpoints: impl Iterator<Item = CheckpointNumber>) {
        checkpoints.for_each(|checkpoint| drop(self.unnamed.remove(&checkpoint)));
    }

    /// Reports contradictions to the checkpoints.
    pub(super) fn findings(&self) -> impl Iterator<Item = Finding> {
        let unnamed = self.unnamed.iter().filter_map(|(checkpoint, chains)| {
            let (first, more) = (chains.first()?, more(chains.len()));
            let message =
                format!("it binds `{first}`{more}, but no line of its event records that");
            Some((*checkpoint, message))
        });
        let unheld = self.unheld.iter().map(|(checkpoint, (end, count))| {
            let (StagedEnd { chain, seq, .. }, more) = (end, more(*count));
            let message = format!(
                "the line of its event binds line {seq} of `{chain}`{more}, but its maps do not"
            );
            (*checkpoint, message)
        });
        unnamed.chain(unheld).map(|(checkpoint, message)| {
            Finding::new(Code::AuditContradicts, AUDIT_DIR, message).checkpoint(checkpoint)
        })
    }
}

/// Returns the number of further chains, as text.
fn more(all: usize) -> String {
    match all.saturating_sub(1) {
        0 => String::new(),
        more => format!(" and {}", count(more, "further chain")),
    }
}
