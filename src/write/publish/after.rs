//! The steps after the commit of an event: the change log, the trusted head, the index,
//! derived files (`spec/transactions.md`, TXN-11). The event is committed; a step that fails
//! is only reported.

use super::before_event::BeforeEvent;
use super::{Author, review};
use crate::files::vault::Vault;
use crate::policy::in_force::Sealings;
use crate::read::derived;
use crate::read::index;
use crate::record::audit::changes;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::record::Searched;
use crate::record::trusted_head::{self, Head};
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::write::commit::{AfterCommit, StepFailure};

/// A commit, for the steps after it.
pub(super) struct Commit<'c> {
    pub(super) vault: &'c Vault,
    /// The log before the commit.
    pub(super) before: &'c Chronicle<'c>,
    /// The checkpoint of the commit.
    pub(super) checkpoint: &'c Checkpoint,
    /// The rules in force before the commit.
    pub(super) in_force: &'c BeforeEvent,
    /// Number of documents in the checkpoint.
    pub(super) documents: usize,
    /// The writer of the commit.
    pub(super) author: &'c Author,
}

impl Commit<'_> {
    /// Returns a judge of the approvals of the log including the checkpoint.
    fn judge(&self) -> Sealings<'_> {
        let checkpoints = self.before.checkpoints().iter().copied().chain([self.checkpoint]);
        let sealings = Sealings::new(Searched::new(checkpoints.collect()));
        let is_changed = |id: &DocumentId| {
            self.checkpoint.mark_of(id).is_some() || self.checkpoint.removed.contains(id)
        };
        match DocumentId::rules().iter().any(is_changed) {
            true => sealings,
            false => sealings.under(self.in_force.timeline.clone()),
        }
    }
}

/// An after-commit step, which returns its failures.
type Step = fn(&Commit<'_>) -> Vec<StepFailure>;

/// The steps in their order.
const STEPS: [Step; 4] = [record_change, trust_head, follow_index, write_derived];

/// Runs the steps in their order, even if an earlier one failed.
pub(super) fn run(commit: &Commit<'_>) -> Vec<StepFailure> {
    STEPS.iter().flat_map(|step| step(commit)).collect()
}

/// Records the event in the change log, if changes are recorded.
fn record_change(commit: &Commit<'_>) -> Vec<StepFailure> {
    let Commit { vault, before, checkpoint, in_force, author, .. } = *commit;
    if !changes::is_begun(vault) {
        return Vec::new();
    }
    let (recorder, now) = (in_force.recorder(author), author.now);
    let beside = in_force.is_governed.then(|| review::beside(vault, checkpoint)).flatten();
    let head = Head::of(before);
    let recorded = beside
        .into_iter()
        .try_for_each(|change| changes::other(vault, Some(&head), &recorder, now, change))
        .and_then(|()| changes::sealed((vault, before), checkpoint, &recorder, now));
    let path = Some(layout::AUDIT_DIR.to_owned());
    recorded
        .err()
        .map(|why| failure(AfterCommit::ChangeLog, path, why.to_string()))
        .into_iter()
        .collect()
}

/// Makes the new head the trusted one.
fn trust_head(commit: &Commit<'_>) -> Vec<StepFailure> {
    let head = Head::after(commit.before, commit.checkpoint);
    let Err(why) = trusted_head::advance(
        commit.vault,
        &head,
        |hash| commit.before.holds(hash),
        commit.author.now,
    ) else {
        return Vec::new();
    };
    // Otherwise the log could be cut back to the old trusted head, and the lost part be taken for
    // uncommitted files.
    let upon = Head::of(commit.before);
    trusted_head::withdraw(commit.vault, |intent| {
        intent.upon == upon && intent.event.at == commit.checkpoint.at
    });
    vec![failure(AfterCommit::TrustedHead, None, why.to_string())]
}

/// Brings the posting index up to the new checkpoint.
fn follow_index(commit: &Commit<'_>) -> Vec<StepFailure> {
    let Some(dir) = commit.vault.cache() else { return Vec::new() };
    let judge = commit.judge();
    let followed = index::follow(dir, commit.vault, commit.before, commit.checkpoint, &judge);
    followed
        .err()
        .map(|why| failure(AfterCommit::Index, None, why.to_string()))
        .into_iter()
        .collect()
}

/// Writes the derived files that depend on the event (DERIV-9).
fn write_derived(commit: &Commit<'_>) -> Vec<StepFailure> {
    let removed: Vec<DocumentId> =
        commit.checkpoint.removed.iter().filter(|id| id.is_document()).cloned().collect();
    let followed = derived::follow(commit.vault, commit.documents, &removed, false);
    followed
        .failed
        .into_iter()
        .map(|(path, why)| failure(AfterCommit::Derived, Some(path), why))
        .collect()
}

fn failure(step: AfterCommit, path: Option<String>, why: String) -> StepFailure {
    StepFailure { step, path, why }
}
