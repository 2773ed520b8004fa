//! What checkpoints bind of staging chains, compared with the chains and with the lines of change
//! logs that say so (STAGE-22).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::finding::{Code, Finding};
use crate::record::audit::{BindLines, StagedEnd};
use crate::record::staging::Chains;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::AUDIT_DIR;
use crate::values::model::number::CheckpointNumber;
use crate::values::text_util::count;

/// A line of a chain: its number and its hash.
type BoundLine = (u64, Digest);

/// What the maps of checkpoints have of staging chains.
#[derive(Debug, Default)]
pub struct BoundChains {
    /// The changes of each chain in the order of the checkpoints; none where it left the maps.
    changes: BTreeMap<DocumentId, Vec<(CheckpointNumber, Option<BoundLine>)>>,
}

impl BoundChains {
    /// A checkpoint binds another line of a chain, or drops it.
    pub fn change(
        &mut self,
        chain: DocumentId,
        checkpoint: CheckpointNumber,
        line: Option<BoundLine>,
    ) {
        self.changes.entry(chain).or_default().push((checkpoint, line));
    }

    /// The line of a chain that the maps of a checkpoint have.
    fn at(&self, chain: &str, checkpoint: CheckpointNumber) -> Option<BoundLine> {
        let changes = self.changes.get(chain)?;
        changes.iter().rfind(|(n, _)| *n <= checkpoint).and_then(|(_, line)| *line)
    }

    /// The chains that each checkpoint binds by another line than the one before.
    fn by_checkpoint(&self) -> BTreeMap<CheckpointNumber, BTreeSet<&str>> {
        let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (chain, changes) in &self.changes {
            for (checkpoint, _) in changes.iter().filter(|(_, line)| line.is_some()) {
                found.entry(*checkpoint).or_default().insert(chain.as_str());
            }
        }
        found
    }

    /// The bound lines that chains lack, for each chain the first.
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

/// Compares what lines of change logs say of chains with the maps of the checkpoints that bind them.
#[derive(Debug)]
pub(super) struct Named<'b> {
    bound: &'b BoundChains,
    /// The chains that checkpoints bind, until a line names them.
    unnamed: BTreeMap<CheckpointNumber, BTreeSet<&'b str>>,
    /// What a line binds and the maps of its checkpoint do not have: the first, and how many.
    unheld: BTreeMap<CheckpointNumber, (StagedEnd, usize)>,
}

impl<'b> Named<'b> {
    pub(super) fn new(bound: &'b BoundChains) -> Self {
        Self { bound, unnamed: bound.by_checkpoint(), unheld: BTreeMap::new() }
    }

    /// A checkpoint binds the last of these lines, which are of its event.
    pub(super) fn take(&mut self, checkpoint: CheckpointNumber, lines: &BindLines) {
        for end in &lines.staged {
            let (held, said) = (self.bound.at(&end.chain, checkpoint), end.line());
            // Where branches were merged, an earlier event may have bound more of it (CKPT-37).
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

    /// Lines of the events of these checkpoints are missing, or others are in their place: that they
    /// do not name a chain is not reported a second time.
    pub(super) fn excuse(&mut self, checkpoints: impl Iterator<Item = CheckpointNumber>) {
        checkpoints.for_each(|checkpoint| drop(self.unnamed.remove(&checkpoint)));
    }

    /// What contradicts the checkpoints.
    pub(super) fn findings(&self) -> impl Iterator<Item = Finding> {
        let unnamed = self.unnamed.iter().filter_map(|(checkpoint, chains)| {
            let (first, more) = (chains.first()?, more(chains.len()));
            let message = format!("it binds `{first}`{more}, and no line of its event says so");
            Some((*checkpoint, message))
        });
        let unheld = self.unheld.iter().map(|(checkpoint, (end, count))| {
            let (StagedEnd { chain, seq, .. }, more) = (end, more(*count));
            let message = format!(
                "the line of its event binds line {seq} of `{chain}`{more}, and its maps do not"
            );
            (*checkpoint, message)
        });
        unnamed.chain(unheld).map(|(checkpoint, message)| {
            Finding::new(Code::AuditContradicts, AUDIT_DIR, message).checkpoint(checkpoint)
        })
    }
}

/// How many there are beside the first.
fn more(all: usize) -> String {
    match all.saturating_sub(1) {
        0 => String::new(),
        more => format!(" and {}", count(more, "further chain")),
    }
}
