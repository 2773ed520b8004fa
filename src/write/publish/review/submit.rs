//! Submission of texts: a text becomes a version that awaits a decision.

use std::collections::{BTreeMap, BTreeSet};

use super::super::governance_files::Includes;
use super::super::transaction::{Submits, Transaction};
use super::super::{
    Act, Author, Event, Gate, Mode, NewDocument, Outcome, PublishError, Which, check_place, event,
};
use super::admissible::Checks;
use super::decide::check_text;
use super::queue::{Waits, is_readable, waiting_in};
use super::{Refusing, ReviewError};
use crate::files::vault::Vault;
use crate::policy::rules::{Pending, Track};
use crate::policy::stewards::Role;
use crate::read::working;
use crate::text::document::utf8;
use crate::values::model::id::{DocumentId, fold};
use crate::values::model::layout::limit;
use crate::values::model::principal::PrincipalKey;

/// A request to submit texts.
#[derive(Clone, Debug)]
pub struct Submission<'s> {
    /// The principal, the time and the note.
    pub author: &'s Author,
    /// The documents to submit.
    pub which: Which,
    /// The text of the one document, instead of that of its live file.
    pub from: Option<NewDocument>,
    /// Name of the set for the submissions.
    pub change: Option<&'s str>,
    /// True if a pending submission of another principal is withdrawn for it.
    pub supersede: bool,
    /// True if the published texts are submitted as they are, to be approved again.
    pub renew: bool,
    /// The mode of the event.
    pub mode: Mode,
}

/// Submits texts of documents and governance files, as one step.
///
/// # Errors
/// Nothing was submitted; see [`PublishError`].
pub fn submit(vault: &Vault, submission: &Submission<'_>) -> Result<Outcome, PublishError> {
    let Submission { author, which, from, change, mode, supersede, renew } = submission;
    let ids: Vec<DocumentId> = which.ids().into_iter().cloned().collect();
    let subjects: Vec<&DocumentId> = ids.iter().collect();
    let (includes, gate) = (Includes::Only(&[]), Gate::Steps);
    let what = Event { author, mode: *mode, subjects: &subjects, includes, gate };
    let choose = |transaction: &mut Transaction<'_>,
                  outcome: &mut Outcome|
     -> Result<(), PublishError> {
        transaction.check_editable(&ids, from.as_ref())?;
        transaction.check_read(which)?;
        let waits = transaction.begin_change(*change, outcome)?;
        let new: &[NewDocument] = from.as_slice();
        let is_new = |new: &&NewDocument| {
            new.id.is_document() && !working::is_known(transaction.vault, &new.id)
        };
        for new in new.iter().filter(is_new) {
            check_place(transaction.vault, &new.id)?;
        }
        let mut ids = transaction.candidates(which, outcome);
        if matches!(which, Which::Changed) {
            let deleted = transaction.state.iter().map(|(id, _)| id).filter(|id| id.is_pack());
            let live = working::governance_ids(transaction.vault);
            let found: BTreeSet<DocumentId> = live.into_iter().chain(deleted.cloned()).collect();
            ids.extend(found);
        }
        transaction.check_known(which, new)?;
        let replaced = if *supersede { transaction.replaced(&waits, &ids) } else { Vec::new() };
        transaction.begin_after(&ids);
        transaction.begin_after(&replaced);
        match renew {
            false => transaction.prepare_all(&ids, new, which, outcome),
            true => ids.iter().try_for_each(|id| transaction.renewed(id, outcome))?,
        }
        let leaves_out = matches!(which, Which::Changed);
        let how = Checks { supersede: *supersede, leaves_out, new, waits: &waits };
        transaction.check_submitted(outcome, &how)?;
        transaction.withdraw_rest(&waits, &replaced, outcome)?;
        let hidden = transaction.hidden_parts(outcome)?;
        outcome.hidden = hidden.into_iter().filter(|id| replaced.contains(id)).collect();
        Ok(())
    };
    event(vault, &what, |transaction, outcome| {
        choose(transaction, outcome).map_err(|why| transaction.told(why, &ids))
    })
    .map(Outcome::without_hidden)
}

/// Submits a governance file as a program edits it, and writes the live file.
///
/// # Errors
/// Nothing was submitted; see [`PublishError`].
pub fn submit_edit(
    vault: &Vault,
    id: &DocumentId,
    author: &Author,
    mode: Mode,
    edit: impl Fn(&str) -> Result<String, String>,
) -> Result<Outcome, PublishError> {
    let (includes, gate) = (Includes::Only(&[]), Gate::Steps);
    event(
        vault,
        &Event { author, mode, subjects: &[id], includes, gate },
        |transaction, outcome| transaction.submit_edit(id, &edit, outcome),
    )
}

impl Transaction<'_> {
    /// Submits a governance file as a program edits it.
    pub(in super::super) fn submit_edit(
        &mut self,
        id: &DocumentId,
        edit: impl Fn(&str) -> Result<String, String>,
        outcome: &mut Outcome,
    ) -> Result<(), PublishError> {
        let waits = self.begin_change(None, outcome)?;
        self.prepare_edit(id, &edit, outcome);
        self.check_submitted(outcome, &Checks::plain(&waits))
    }

    /// Submits what follows, as parts of a set.
    pub(super) fn begin_change(
        &mut self,
        change: Option<&str>,
        outcome: &mut Outcome,
    ) -> Result<Waits, PublishError> {
        let waits = waiting_in(self.vault, &self.maps())?;
        let me = self.author.principal.key();
        let pending = waits.tracks().filter_map(|t| Some((t.id(), t.pending.as_ref()?)));
        let pending: Vec<(&DocumentId, &Pending)> = pending.collect();
        if let Some(name) = change {
            check_text("the name of a change", name, 100)?;
            self.check_spelling(name, pending.iter().map(|(id, pending)| (*id, *pending)))?;
            let mut of_others = pending.iter().filter(|(_, pending)| {
                pending.change.as_deref() == Some(name) && PrincipalKey::of(&pending.by) != me
            });
            if of_others.clone().next().is_some() {
                // The submitter is revealed only if the principal may read a part of the set.
                let viewer = self.viewer()?;
                let known = of_others.find(|(id, _)| {
                    viewer.is_none_or(|viewer| is_readable(self.vault, viewer, id))
                });
                let (name, by) = (name.to_owned(), known.map(|(_, pending)| pending.by.clone()));
                return Err(ReviewError::OthersChange { name, by }.into());
            }
        }
        let mine = pending.iter().filter(|(_, pending)| PrincipalKey::of(&pending.by) == me);
        let kept = mine.filter_map(|(id, p)| Some(((*id).clone(), p.change.clone()?)));
        let kept: BTreeMap<DocumentId, String> = kept.collect();
        let change = change.map(str::to_owned);
        outcome.change.clone_from(&change);
        outcome.act = Act::Submit;
        self.submits = Some(Submits { change, kept });
        self.is_step = true;
        Ok(waits)
    }

    /// Refuses the name of a set that differs from that of a pending one in case or Unicode
    /// form only.
    ///
    /// People would confuse the two.
    fn check_spelling<'p>(
        &self,
        name: &str,
        pending: impl Iterator<Item = (&'p DocumentId, &'p Pending)>,
    ) -> Result<(), PublishError> {
        let Some((_, known)) = self.alike(name, pending) else { return Ok(()) };
        // The spelling is revealed only if the principal may read a part of the set.
        let (name, other) = (name.to_owned(), known.map(str::to_owned));
        Err(ReviewError::ChangeSpelling { name, other }.into())
    }

    /// Returns the name of a pending set that differs from this one in case or Unicode form only.
    ///
    /// The second name is that of such a set with a part that the principal may read, if any.
    pub(super) fn alike<'p>(
        &self,
        name: &str,
        pending: impl Iterator<Item = (&'p DocumentId, &'p Pending)>,
    ) -> Option<(&'p str, Option<&'p str>)> {
        let folded = fold(name.trim());
        let is_alike = |other: &str| other != name && fold(other.trim()) == folded;
        let mut alike = pending
            .filter_map(|(id, pending)| Some((id, pending.change.as_deref()?)))
            .filter(|(_, other)| is_alike(other))
            .peekable();
        let (_, first) = *alike.peek()?;
        let known = alike.find(|(id, _)| self.may_name(id)).map(|(_, other)| other);
        Some((first, known))
    }

    /// Refuses documents that the principal may not know of as it refuses those that do not exist. If
    /// no live file exists, the roles for a text that is handed in decide first, so that the answer does
    /// not depend on whether the id is taken.
    pub(in crate::library::write::publish) fn check_editable(
        &self,
        ids: &[DocumentId],
        from: Option<&NewDocument>,
    ) -> Result<(), PublishError> {
        let Some(viewer) = self.viewer()? else { return Ok(()) };
        let (files, me) = (self.vault.files(), self.author.principal.as_str());
        let may_edit = |id: &DocumentId, text: &str| {
            let fit = self.rules().require(me, Role::Editor, [(id, text)]);
            fit.map_err(|why| PublishError::from(ReviewError::from(why)))
        };
        for id in ids {
            let has_history = files.exists(&id.history_path());
            if has_history && is_readable(self.vault, viewer, id) {
                continue;
            }
            let live = files.read_optional(&id.live_path(), limit::DOCUMENT)?;
            let new = from.filter(|new| new.id == *id && live.is_none());
            if let Some(new) = new {
                may_edit(id, &new.text)?;
            }
            match live {
                _ if !has_history => {}
                Some(live) => may_edit(id, utf8(&live).unwrap_or_default())?,
                None => return Err(PublishError::UnknownId { id: id.clone(), near: None }),
            }
        }
        Ok(())
    }

    /// Returns the other parts of the sets in which submissions of others are replaced.
    fn replaced(&self, waits: &Waits, ids: &[DocumentId]) -> Vec<DocumentId> {
        let me = self.author.principal.key();
        let is_of_others = |track: &&Track| {
            let by = track.pending.as_ref().map(|pending| PrincipalKey::of(&pending.by));
            ids.contains(track.id()) && by.is_some_and(|by| by != me)
        };
        let set_of = |track: &Track| track.pending.as_ref()?.change.clone();
        let sets: BTreeSet<String> =
            waits.tracks().filter(is_of_others).filter_map(set_of).collect();
        let is_in = |set: Option<String>| set.is_some_and(|set| sets.contains(&set));
        let tracks = waits.tracks().filter(|track| is_in(set_of(track)));
        tracks.map(Track::id).filter(|id| !ids.contains(id)).cloned().collect()
    }

    /// Withdraws the other parts of sets in which a part is replaced, in the same step.
    fn withdraw_rest(
        &self,
        waits: &Waits,
        replaced: &[DocumentId],
        outcome: &mut Outcome,
    ) -> Result<(), PublishError> {
        if outcome.items.is_empty() {
            return Ok(());
        }
        let reason = format!("superseded by {}", self.author.principal);
        for id in replaced {
            let reviewed = self.reviewed(id)?;
            // A part of an incomplete step is not withdrawn: an editor submits to that
            // document, too.
            if waits.unrecorded(&reviewed.track).is_some() {
                continue;
            }
            outcome.items.push(self.ended(&reviewed, Refusing::Supersede(&reason))?);
        }
        Ok(())
    }
}
