//! The steps that follow the commit of an event: the change log, the trusted head, the index,
//! derived files.

use super::governance::sealed_config;
use super::review;
use crate::audit::changes;
use crate::derived;
use crate::index;
use crate::model::id::DocumentId;
use crate::model::layout;
use crate::trust::{self, Head};
use crate::txn::StepFailure;
use crate::txn::after::Commit;
use crate::vault::config::Config;

/// The name of the step that records the event: without it the vault is incomplete.
pub(crate) const RECORD_CHANGE: &str = "change-log";

/// Records the event in the change log, where changes are recorded.
pub(super) fn record_change(commit: &Commit<'_>) -> Vec<StepFailure> {
    let Commit { vault, before, checkpoint, now, recorder, .. } = *commit;
    if !changes::is_begun(vault) {
        return Vec::new();
    }
    let sealed = sealed_config(vault, before);
    let recorder = recorder.under(sealed.as_ref().ok().map(Option::as_ref));
    let is_governed =
        sealed.as_ref().is_ok_and(|config| config.as_ref().is_some_and(Config::is_governed));
    let beside = is_governed.then(|| review::beside(vault, checkpoint)).flatten();
    let head = Head::of(before);
    let recorded = beside
        .into_iter()
        .try_for_each(|change| changes::other(vault, Some(&head), &recorder, now, change))
        .and_then(|()| changes::sealed((vault, before), checkpoint, &recorder, now));
    let path = Some(layout::AUDIT_DIR.to_owned());
    recorded.err().map(|why| failure(RECORD_CHANGE, path, why.to_string())).into_iter().collect()
}

/// Makes the new head the trusted one.
pub(super) fn trust_head(commit: &Commit<'_>) -> Vec<StepFailure> {
    let head = Head::after(commit.before, commit.checkpoint);
    let Err(why) = trust::advance(commit.vault, &head, commit.now) else { return Vec::new() };
    // Else the log could be cut back to where it was, and what it lost pass for uncommitted files.
    let upon = Head::of(commit.before);
    trust::withdraw(commit.vault, |intent| {
        intent.upon == upon && intent.event.at == commit.checkpoint.at
    });
    vec![failure("trusted-head", None, why.to_string())]
}

/// Brings the posting index up to the new checkpoint.
pub(super) fn follow_index(commit: &Commit<'_>) -> Vec<StepFailure> {
    let Some(dir) = commit.vault.cache() else { return Vec::new() };
    let followed = index::follow(dir, commit.vault, commit.before, commit.checkpoint);
    followed.err().map(|why| failure("index", None, why.to_string())).into_iter().collect()
}

/// Writes the derived files again that follow an event (DERIV-9).
pub(super) fn write_derived(commit: &Commit<'_>) -> Vec<StepFailure> {
    let removed: Vec<DocumentId> =
        commit.checkpoint.removed.iter().filter(|id| id.is_document()).cloned().collect();
    let followed = derived::follow(commit.vault, commit.documents, &removed, false);
    followed.failed.into_iter().map(|(path, why)| failure("derived", Some(path), why)).collect()
}

fn failure(step: &'static str, path: Option<String>, why: String) -> StepFailure {
    StepFailure { step, path, why }
}
