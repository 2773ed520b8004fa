//! Entries that may follow the sealed versions of a history although no command was interrupted:
//! the steps of a review (`spec/review.md`, REV-10).
//!
//! A step is recorded without a checkpoint. It is committed when all of its entries are durable, so
//! a writer that was interrupted between them has left a step that did not happen.

use std::collections::BTreeSet;

use super::hint;
use crate::files::vault::Vault;
use crate::files::vault::config::LogForm;
use crate::policy::in_force::InForce;
use crate::record::chain::history::{Entry, EntryState, Forget, History};
use crate::record::chain::replay;
use crate::record::chain::vouched;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::foreign::Part;
use crate::record::trusted_head::{self, EventKey, Head};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// The entries that may follow the sealed versions of a history.
#[derive(Clone, Debug)]
pub(crate) struct Beyond {
    form: LogForm,
    /// True if some checkpoint sealed a configuration that was governed.
    is_reviewed: bool,
    /// A step that was interrupted before all of its entries were written.
    undone: Option<EventKey>,
    /// The part of the log in which the reference implementation may have left versions
    /// of erasures.
    foreign: Part,
}

impl Beyond {
    /// Creates it for a log of this form, of a vault that was governed at some checkpoint or never.
    pub(crate) fn in_log(form: LogForm, is_reviewed: bool) -> Self {
        Self { form, is_reviewed, undone: None, foreign: Part::None }
    }

    /// Creates it for the histories of a vault.
    pub(crate) fn of(vault: &Vault, chronicle: &Chronicle<'_>) -> Self {
        Self::known(vault, chronicle, may_have_governed(vault, chronicle))
    }

    /// Creates it if the caller knows whether the vault may have been governed at some checkpoint.
    pub(crate) fn known(vault: &Vault, chronicle: &Chronicle<'_>, is_reviewed: bool) -> Self {
        let step = trusted_head::interrupted(vault, &Head::of(chronicle)).filter(|_| is_reviewed);
        let undone = step.filter(|step| !is_whole(vault, step));
        let foreign = chronicle.foreign_part();
        Self { foreign, ..Self::in_log(chronicle.form(), is_reviewed).but_for(undone) }
    }

    /// Returns it with a step that did not happen, see [`is_whole`].
    pub(crate) fn but_for(self, undone: Option<EventKey>) -> Self {
        Self { undone, ..self }
    }

    /// Returns true if histories may contain steps of reviews.
    pub(crate) fn is_reviewed(&self) -> bool {
        self.is_reviewed
    }

    /// Returns the index of the first entry of a history that is not sealed and must not be there.
    ///
    /// `last_sealed` is the last version that any checkpoint seals, or 0; `is_published` is true if
    /// the artifact is in the head.
    ///
    /// A retirement is sealed when the id leaves the maps. The reference implementation records
    /// versions of documents that were never published; ctx does so only in reviews.
    pub(crate) fn first_unsealed(
        &self,
        id: &DocumentId,
        history: &History,
        last_sealed: Version,
        is_published: bool,
    ) -> usize {
        let is_sealed = |version| version == Some(last_sealed);
        let sealed = history.slots.iter().rposition(|slot| is_sealed(slot.version));
        let mut next = sealed.map_or(0, |n| n + 1);
        let mut may_retire = last_sealed > Version::NONE && !is_published;
        // An incomplete step that another writer's step follows cannot be removed, and is ignored.
        let last = history.slots.last().and_then(|slot| slot.version);
        let is_undone = |entry: &Entry| {
            self.undone.as_ref() == Some(&EventKey::of(entry)) && last == Some(entry.version)
        };
        let may_be_unpublished = |entry: &Entry| {
            self.is_reviewed && !is_undone(entry) || self.form.is_shared() && id.is_document()
        };
        let is_stub = |entry: &Entry| {
            let is_foreign = id.is_document() && self.foreign.covers_time(entry.edited_at);
            entry.forget == Forget::Stub && is_foreign
        };
        while let Some(Ok(entry)) = history.slots.get(next).map(|slot| &slot.entry) {
            match entry.state {
                EntryState::Retired(_) if may_retire => may_retire = false,
                EntryState::Unpublished if may_be_unpublished(entry) => {}
                EntryState::Published(_) if is_stub(entry) => {}
                _ => break,
            }
            next += 1;
        }
        next
    }
}

/// Returns the step that was interrupted after all of its entries were written, and its artifacts.
///
/// The step is committed; only its line in the change log may be missing.
pub(crate) fn standing(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
) -> Option<(EventKey, BTreeSet<DocumentId>)> {
    let step = trusted_head::interrupted(vault, &Head::of(chronicle))?;
    let ids = hint::read(vault.files(), step.at).filter(|ids| !ids.is_empty())?;
    let is_step = |id: &DocumentId| {
        let history = replay::load(vault.files(), id).ok();
        let last = history.and_then(|history| Some(history.entries().next_back()?.state));
        last == Some(EntryState::Unpublished)
    };
    let stands =
        ids.iter().all(is_step) && may_have_governed(vault, chronicle) && is_whole(vault, &step);
    stands.then_some((step, ids))
}

/// Returns true if every history that a step was about to extend has its entry.
///
/// Only the writer's hint names these histories: without one the step is not whole.
pub(crate) fn is_whole(vault: &Vault, step: &EventKey) -> bool {
    let Some(ids) = hint::read(vault.files(), step.at) else { return false };
    let files = vault.files();
    let is_there = |id: &DocumentId| {
        let history = replay::load(files, id).ok()?;
        let entry = history.entries().rev().find(|entry| EventKey::of(entry) == *step)?;
        vouched::vouched(files, id, &history, entry.version).ok()
    };
    ids.iter().all(|id| is_there(id).is_some())
}

fn may_have_governed(vault: &Vault, chronicle: &Chronicle<'_>) -> bool {
    InForce::of(vault.files(), chronicle).may_have_governed()
}
