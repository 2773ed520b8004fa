//! Proposing: a text, a retirement or a move becomes a version that awaits a decision.

use std::collections::BTreeSet;

use super::super::artifact::Governed;
use super::super::governance::Includes;
use super::super::transaction::{Submits, Transaction};
use super::super::{
    Author, Event, Gate, Mode, NewDocument, Outcome, PublishError, Refusal, Which, check_place,
    event,
};
use super::queue::waiting_in;
use super::{Decision, Refusing, ReviewError, withdraw};
use crate::chain::replay;
use crate::document::edit::Edit;
use crate::document::live_form::LiveForm;
use crate::document::review::{Action, ReviewEdit};
use crate::document::text::normalise;
use crate::document::{Document, utf8};
use crate::live;
use crate::model::hint::{Call, Hint, Verb};
use crate::model::id::DocumentId;
use crate::model::layout::limit;
use crate::model::principal::PrincipalKey;
use crate::review::Pending;
use crate::stewards::Role;
use crate::txn::stamp::is_submitted;
use crate::txn::{Change, Step};
use crate::vault::Vault;

use super::decide::check_text;

/// What is submitted.
#[derive(Clone, Debug)]
pub struct Submission<'s> {
    /// Who, when, and with which note.
    pub author: &'s Author,
    /// Which documents.
    pub which: Which,
    /// The text of the one document, instead of that of its live file.
    pub from: Option<NewDocument>,
    /// The set that they belong to.
    pub change: Option<&'s str>,
    /// Whether another principal's submission is withdrawn for it.
    pub supersede: bool,
    /// How.
    pub mode: Mode,
}

/// Submits texts of documents and governance files, as one step.
///
/// # Errors
/// Nothing was submitted; see [`PublishError`].
pub fn submit(vault: &Vault, submission: &Submission<'_>) -> Result<Outcome, PublishError> {
    let Submission { author, which, from, change, mode, .. } = submission;
    let ids: Vec<DocumentId> = match which {
        Which::Ids(ids) | Which::Within { ids, .. } => ids.clone(),
        Which::All | Which::Changed => Vec::new(),
    };
    supersede(vault, submission, &ids)?;
    let subjects: Vec<&DocumentId> = ids.iter().collect();
    let (includes, gate) = (Includes::Only(&[]), Gate::Steps);
    let what = Event { author, mode: *mode, subjects: &subjects, includes, gate };
    event(vault, &what, |transaction, outcome| {
        transaction.begin_change(*change, outcome)?;
        let new: &[NewDocument] = from.as_slice();
        for new in new.iter().filter(|new| !live::is_known(transaction.vault, &new.id)) {
            check_place(transaction.vault, &new.id)?;
        }
        let mut ids = transaction.candidates(which, outcome);
        if matches!(which, Which::Changed) {
            let deleted = transaction.state.iter().map(|(id, _)| id).filter(|id| id.is_pack());
            let live = live::governance_ids(transaction.vault);
            let found: BTreeSet<DocumentId> = live.into_iter().chain(deleted.cloned()).collect();
            ids.extend(found);
        }
        transaction.check_known(which, new)?;
        transaction.begin_after(&ids);
        transaction.prepare_all(&ids, new, which, outcome);
        transaction.check_submitted(outcome, submission.supersede, new)
    })
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
        |transaction, outcome| {
            transaction.submits = Some(Submits::default());
            match transaction.edited(id, &edit) {
                Ok(Governed::Version(item)) => outcome.items.push(*item),
                Ok(_) => outcome.unchanged.push(id.clone()),
                Err(refusal) => outcome.refused.push(refusal),
            }
            transaction.check_submitted(outcome, false, &[])
        },
    )
}

/// Proposes to retire documents.
///
/// # Errors
/// Nothing was submitted; see [`PublishError`].
pub fn propose_retirement(
    vault: &Vault,
    ids: &[DocumentId],
    (author, mode): (&Author, Mode),
    change: Option<&str>,
) -> Result<Outcome, PublishError> {
    let ids: BTreeSet<&DocumentId> = ids.iter().collect();
    let subjects: Vec<&DocumentId> = ids.iter().copied().collect();
    let (includes, gate) = (Includes::Only(&[]), Gate::Steps);
    event(vault, &Event { author, mode, subjects: &subjects, includes, gate }, |t, outcome| {
        t.begin_change(change, outcome)?;
        for id in &ids {
            t.propose(id, &Action::Retire, outcome)?;
        }
        t.check_submitted(outcome, false, &[])
    })
}

/// Proposes to give a document another id.
///
/// # Errors
/// Nothing was submitted; see [`PublishError`].
pub fn propose_move(
    vault: &Vault,
    (old, new): (&DocumentId, &DocumentId),
    (author, mode): (&Author, Mode),
) -> Result<Outcome, PublishError> {
    let (includes, gate) = (Includes::Only(&[]), Gate::Steps);
    event(vault, &Event { author, mode, subjects: &[old], includes, gate }, |t, outcome| {
        t.begin_change(None, outcome)?;
        t.check_move(old, new)?;
        t.propose(old, &Action::Move(new.clone()), outcome)?;
        t.check_submitted(outcome, false, &[])
    })
}

/// Withdraws what others submitted of these artifacts, with the rest of its sets.
fn supersede(
    vault: &Vault,
    submission: &Submission<'_>,
    ids: &[DocumentId],
) -> Result<(), PublishError> {
    if !submission.supersede || submission.mode.dry_run {
        return Ok(());
    }
    let by = &submission.author.principal;
    let reason = format!("superseded by {by}");
    for id in ids {
        let decision = Decision::of(submission.author, std::slice::from_ref(id), submission.mode);
        match withdraw(vault, &decision, Refusing::Supersede(&reason)) {
            Ok(_) | Err(PublishError::Review(ReviewError::NotSubmitted(_))) => {}
            Err(PublishError::UnknownId { .. }) => {}
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

impl Transaction<'_> {
    /// Submits what follows, as parts of a set.
    fn begin_change(
        &mut self,
        change: Option<&str>,
        outcome: &mut Outcome,
    ) -> Result<(), PublishError> {
        if let Some(name) = change {
            check_text("the name of a change", name, 100)?;
            let me = self.author.principal.key();
            let waiting = waiting_in(self.vault, self.chronicle, &self.state)?;
            let of_others = waiting.iter().find(|(_, track)| {
                let pending = track.pending.as_ref();
                pending.is_some_and(|pending| {
                    pending.change.as_deref() == Some(name) && PrincipalKey::of(&pending.by) != me
                })
            });
            if let Some(pending) = of_others.and_then(|(_, track)| track.pending.as_ref()) {
                let (name, by) = (name.to_owned(), pending.by.clone());
                return Err(ReviewError::OthersChange { name, by }.into());
            }
        }
        outcome.change = change.map(str::to_owned);
        self.submits = Some(Submits { change: change.map(str::to_owned) });
        Ok(())
    }

    /// Leaves out what was submitted already, and refuses what this principal may not submit, or
    /// what another principal submitted before.
    fn check_submitted(
        &self,
        outcome: &mut Outcome,
        supersede: bool,
        new: &[NewDocument],
    ) -> Result<(), PublishError> {
        let (rules, me) = (self.rules(), &self.author.principal);
        let mut items = Vec::with_capacity(outcome.items.len());
        for item in std::mem::take(&mut outcome.items) {
            let reviewed = match self.vault.files().exists(&item.id.history_path()) {
                true => Some(self.reviewed(&item.id)?),
                false => None,
            };
            let text = item.submitted.as_deref().unwrap_or_default();
            let track = reviewed.as_ref().map(|reviewed| &reviewed.track);
            let published = track.and_then(|track| track.published.as_ref());
            let target = match track.and_then(|_| action_of(&item.id, text)) {
                Some(Action::Move(target)) => Some(target),
                _ => None,
            };
            let texts =
                [Some(text).filter(|text| !text.is_empty()), published.map(|p| p.text.as_str())];
            let mut subjects: Vec<(&DocumentId, &str)> =
                texts.into_iter().flatten().map(|text| (&item.id, text)).collect();
            subjects.extend(target.as_ref().map(|target| (target, text)));
            rules
                .require(me.as_str(), Role::Editor, subjects)
                .map_err(|why| ReviewError::Unfit { id: item.id.clone(), why })?;
            self.check_reviewers(&item.id, text)?;
            if item.id == DocumentId::config() {
                let waiting = waiting_in(self.vault, self.chronicle, &self.state)?;
                let others = waiting.iter().filter(|(id, _)| *id != item.id).count();
                self.check_mode_change(&item.id, text, others)?;
            }
            if let Some(pending) = track.and_then(|track| track.pending.as_ref()) {
                let fresh = new.iter().find(|new| new.id == item.id);
                let change = self.submits.as_ref().and_then(|submits| submits.change.as_ref());
                let is_mine = PrincipalKey::of(&pending.by) == me.key();
                if pending.change.as_ref() == change && self.is_same(&item.id, pending, text, fresh)
                {
                    outcome.unchanged.push(item.id.clone());
                    continue;
                }
                if !is_mine && !supersede {
                    let (id, version) = (item.id.clone(), pending.version);
                    return Err(ReviewError::Pending { id, version, by: pending.by.clone() }.into());
                }
            }
            items.push(item);
        }
        outcome.items = items;
        Ok(())
    }

    /// Whether a submission is the one that awaits a decision already.
    fn is_same(
        &self,
        id: &DocumentId,
        pending: &Pending,
        text: &str,
        fresh: Option<&NewDocument>,
    ) -> bool {
        let action = if id.is_document() { action_of(id, text) } else { Some(Action::Publish) };
        if !id.is_document() {
            return pending.text == text;
        }
        if action != pending.action {
            return false;
        }
        if action.is_some_and(|action| action.is_retirement()) {
            return true;
        }
        let read = || self.vault.files().read_optional(&id.live_path(), limit::DOCUMENT).ok()?;
        let bytes = match fresh {
            Some(new) => Some(new.text.clone().into_bytes()),
            None => read(),
        };
        let Some(live) = bytes.as_deref().and_then(|bytes| utf8(bytes).ok()) else { return false };
        let document = Document::of_live(live);
        document.is_ok_and(|document| is_submitted(id, live, &document, &pending.text))
    }

    /// Proposes what retires a published document: its text, and what is to become of it.
    fn propose(
        &self,
        id: &DocumentId,
        action: &Action,
        outcome: &mut Outcome,
    ) -> Result<(), PublishError> {
        let Some(mark) = self.state.get(id.as_str()) else {
            if !live::is_known(self.vault, id) {
                return Err(self.unknown(id));
            }
            let message = "it is not published".to_owned();
            let hint = "leave it as a draft, or delete the file";
            outcome.refused.push(Refusal::new(id.live_path(), "not-published", message, hint));
            return Ok(());
        };
        if !id.is_document() {
            let message = "a governance file is retired by deleting it".to_owned();
            let submit = Call::new(Verb::Submit).value(id.as_str());
            let hint = Hint::call("delete the file and run {}; packs alone can be deleted", submit);
            outcome.refused.push(Refusal::new(id.live_path(), "not-a-document", message, hint));
            return Ok(());
        }
        let base = mark.version.unwrap_or_default();
        let reviewed = self.reviewed(id)?;
        let change = self.submits.as_ref().and_then(|submits| submits.change.as_deref());
        let step = ReviewEdit::Submit { base, action, change };
        let edit = Edit::step(reviewed.base.next(), &self.at.to_string(), "draft", &step);
        let sealed = reviewed.base.sealed.as_deref().unwrap_or_default();
        let made = edit.apply(sealed).map_err(|why| Refusal::spelling(&id.live_path(), &why));
        let made = made.and_then(|text| {
            self.next_version(id, &reviewed.base, &text.into(), Change::Step(Step::Submit))
        });
        match made {
            Ok(item) => outcome.items.push(item),
            Err(refusal) => outcome.refused.push(refusal),
        }
        Ok(())
    }

    /// Refuses a move that could not be made.
    fn check_move(&self, old: &DocumentId, new: &DocumentId) -> Result<(), PublishError> {
        let refuse = |code, message: String, hint: Hint| {
            Err(PublishError::Refused(vec![Refusal::new(old.live_path(), code, message, hint)]))
        };
        if self.state.get(old.as_str()).is_none() {
            return match live::is_known(self.vault, old) {
                false => Err(self.unknown(old)),
                true => {
                    let hint = "rename the file; nothing is recorded about it".into();
                    refuse("not-published", "it is not published".to_owned(), hint)
                }
            };
        }
        if replay::has_files(self.vault.files(), new) {
            let hint = "choose an id that was never used: histories stay".into();
            return refuse("id-taken", format!("`{new}` has a history already"), hint);
        }
        let files = self.vault.files();
        let is_moved = !files.exists(&old.live_path()) && files.exists(&new.live_path());
        if !is_moved {
            check_place(self.vault, new)?;
        }
        let path = if is_moved { new.live_path() } else { old.live_path() };
        let live = files.read_optional(&path, limit::DOCUMENT)?.unwrap_or_default();
        let live = utf8(&live).unwrap_or_default();
        let sealed = self.reviewed(old)?.base.sealed.unwrap_or_default();
        if LiveForm::of(&sealed).text() != &*normalise(live) {
            let hint = "submit the change first, or undo it".into();
            return refuse("unpublished-changes", "its live file was changed".to_owned(), hint);
        }
        Ok(())
    }
}

/// What the text of a submission proposes.
fn action_of(id: &DocumentId, text: &str) -> Option<Action> {
    let document = id.is_document().then(|| Document::parse(text).ok()).flatten()?;
    crate::document::review::ReviewFields::of(&document.frontmatter)?.action
}
