//! Proposing: a text, a retirement or a move becomes a version that awaits a decision.

use std::collections::{BTreeMap, BTreeSet};

use super::super::artifact::Governed;
use super::super::governance::Includes;
use super::super::transaction::{Submits, Transaction};
use super::super::{
    Author, Event, Gate, Mode, NewDocument, Outcome, PublishError, Refusal, Which, check_place,
    event,
};
use super::queue::{Waits, is_readable, waiting_in};
use super::{Refusing, ReviewError};
use crate::chain::replay;
use crate::document::edit::Edit;
use crate::document::live_form::LiveForm;
use crate::document::review::{Action, ReviewEdit, ReviewFields};
use crate::document::text::normalise;
use crate::document::{Document, utf8};
use crate::live;
use crate::model::hint::{Call, Hint, Verb};
use crate::model::id::DocumentId;
use crate::model::layout::limit;
use crate::model::number::Version;
use crate::model::principal::PrincipalKey;
use crate::resolve::readers::Readers;
use crate::review::{Pending, Rules, Track, fields_of};
use crate::stewards::Role;
use crate::txn::stamp::is_submitted;
use crate::txn::{Change, Item, Step};
use crate::vault::Vault;
use crate::yaml::Node;

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
    /// Whether the published texts are submitted as they are, to be approved again.
    pub renew: bool,
    /// How.
    pub mode: Mode,
}

/// Submits texts of documents and governance files, as one step.
///
/// # Errors
/// Nothing was submitted; see [`PublishError`].
pub fn submit(vault: &Vault, submission: &Submission<'_>) -> Result<Outcome, PublishError> {
    let Submission { author, which, from, change, mode, supersede, renew } = submission;
    let ids: Vec<DocumentId> = match which {
        Which::Ids(ids) | Which::Within { ids, .. } => ids.clone(),
        Which::All | Which::Changed => Vec::new(),
    };
    let subjects: Vec<&DocumentId> = ids.iter().collect();
    let (includes, gate) = (Includes::Only(&[]), Gate::Steps);
    let what = Event { author, mode: *mode, subjects: &subjects, includes, gate };
    event(vault, &what, |transaction, outcome| {
        transaction.check_editable(&ids)?;
        let waits = transaction.begin_change(*change, outcome)?;
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
        let replaced = if *supersede { transaction.replaced(&waits, &ids) } else { Vec::new() };
        transaction.begin_after(&ids);
        transaction.begin_after(&replaced);
        match renew {
            false => transaction.prepare_all(&ids, new, which, outcome),
            true => ids.iter().try_for_each(|id| transaction.renewed(id, outcome))?,
        }
        let how = Checks { supersede: *supersede, new, waits: &waits };
        transaction.check_submitted(outcome, &how)?;
        transaction.withdraw_rest(&waits, &replaced, outcome)
    })
}

/// How submissions are compared with what awaits a decision.
struct Checks<'c> {
    /// Whether those of other principals are replaced.
    supersede: bool,
    /// Texts that no live file has.
    new: &'c [NewDocument],
    waits: &'c Waits,
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
            let waits = transaction.begin_change(None, outcome)?;
            match transaction.edited(id, &edit) {
                Ok(Governed::Version(item)) => outcome.items.push(*item),
                Ok(_) => outcome.unchanged.push(id.clone()),
                Err(refusal) => outcome.refused.push(refusal),
            }
            transaction.check_submitted(outcome, &Checks::plain(&waits))
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
    let named = ids;
    let ids: BTreeSet<&DocumentId> = ids.iter().collect();
    let subjects: Vec<&DocumentId> = ids.iter().copied().collect();
    let (includes, gate) = (Includes::Only(&[]), Gate::Steps);
    event(vault, &Event { author, mode, subjects: &subjects, includes, gate }, |t, outcome| {
        t.check_readable(named)?;
        let waits = t.begin_change(change, outcome)?;
        for id in &ids {
            t.propose(id, &Action::Retire, outcome)?;
        }
        t.check_submitted(outcome, &Checks::plain(&waits))
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
        t.check_readable(std::slice::from_ref(old))?;
        let waits = t.begin_change(None, outcome)?;
        t.check_move(old, new)?;
        t.propose(old, &Action::Move(new.clone()), outcome)?;
        t.check_submitted(outcome, &Checks::plain(&waits))
    })
}

impl<'c> Checks<'c> {
    /// Those of a command that replaces no submission of another principal.
    fn plain(waits: &'c Waits) -> Self {
        Self { supersede: false, new: &[], waits }
    }
}

impl Transaction<'_> {
    /// Submits what follows, as parts of a set.
    fn begin_change(
        &mut self,
        change: Option<&str>,
        outcome: &mut Outcome,
    ) -> Result<Waits, PublishError> {
        let waits = waiting_in(self.vault, self.chronicle, &self.state)?;
        let me = self.author.principal.key();
        let pending = waits.tracks().filter_map(|t| Some((t.id(), t.pending.as_ref()?)));
        let pending: Vec<(&DocumentId, &Pending)> = pending.collect();
        if let Some(name) = change {
            check_text("the name of a change", name, 100)?;
            let mut of_others = pending.iter().filter(|(_, pending)| {
                pending.change.as_deref() == Some(name) && PrincipalKey::of(&pending.by) != me
            });
            if let Some((_, pending)) = of_others.next() {
                let (name, by) = (name.to_owned(), pending.by.clone());
                return Err(ReviewError::OthersChange { name, by }.into());
            }
        }
        let mine = pending.iter().filter(|(_, pending)| PrincipalKey::of(&pending.by) == me);
        let kept = mine.filter_map(|(id, p)| Some(((*id).clone(), p.change.clone()?)));
        let kept: BTreeMap<DocumentId, String> = kept.collect();
        let change = change.map(str::to_owned);
        outcome.change.clone_from(&change);
        self.submits = Some(Submits { change, kept });
        Ok(waits)
    }

    /// Refuses documents that the principal may not know of as it refuses those that do not exist.
    fn check_editable(&self, ids: &[DocumentId]) -> Result<(), PublishError> {
        let Some(readers) = Readers::of_log(self.vault, self.chronicle)? else { return Ok(()) };
        for id in ids.iter().filter(|id| self.vault.files().exists(&id.history_path())) {
            if is_readable(self.vault, &readers, id) {
                continue;
            }
            let live = self.vault.files().read_optional(&id.live_path(), limit::DOCUMENT)?;
            let Some(live) = live else {
                return Err(PublishError::UnknownId { id: id.clone(), near: None });
            };
            let text = utf8(&live).unwrap_or_default();
            let me = self.author.principal.as_str();
            self.rules().require(me, Role::Editor, [(id, text)]).map_err(ReviewError::from)?;
        }
        Ok(())
    }

    /// The other parts of the sets of which submissions of others are replaced.
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

    /// Withdraws the other parts of sets of which a part is replaced, in the same step.
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
            waits.unrecorded(&reviewed.track).map_or(Ok(()), Err)?;
            outcome.items.push(self.ended(&reviewed, Refusing::Supersede(&reason))?);
        }
        Ok(())
    }

    /// Proposes to approve a published text again, as it is (REV-27).
    fn renewed(&self, id: &DocumentId, outcome: &mut Outcome) -> Result<(), PublishError> {
        self.propose(id, &Action::Publish, outcome)
    }

    /// Leaves out what was submitted already, and refuses what this principal may not submit, or
    /// what another principal submitted before.
    fn check_submitted(&self, outcome: &mut Outcome, how: &Checks<'_>) -> Result<(), PublishError> {
        let rules = self.rules();
        for mut item in std::mem::take(&mut outcome.items) {
            let reviewed = match self.vault.files().exists(&item.id.history_path()) {
                true => Some(self.reviewed(&item.id)?),
                false => None,
            };
            let track = reviewed.as_ref().map(|reviewed| &reviewed.track);
            item.set = self.submits.as_ref().and_then(|submits| submits.set_of(&item.id));
            let target = self.check_roles(&item, track, &rules)?;
            if !self.has_reviewer(&item, track, target.as_ref(), &rules) {
                outcome.unapprovable.push(item.id.clone());
            }
            self.check_targets(&item.id, target.as_ref(), how.waits)?;
            let text = item.submitted.as_deref().unwrap_or_default();
            self.check_reviewers(&item.id, text)?;
            if item.id == DocumentId::config() {
                self.check_mode_change(&item.id, text, how.waits.others(&item.id))?;
            }
            match self.is_replaced(&item, track, how)? {
                true => outcome.items.push(item),
                false => outcome.unchanged.push(item.id.clone()),
            }
        }
        Ok(())
    }

    /// Refuses a principal who is no editor of a text; gives the target of a move.
    fn check_roles(
        &self,
        item: &Item,
        track: Option<&Track>,
        rules: &Rules,
    ) -> Result<Option<DocumentId>, PublishError> {
        let text = item.submitted.as_deref().unwrap_or_default();
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
        let me = self.author.principal.as_str();
        rules.require(me, Role::Editor, subjects).map_err(ReviewError::from)?;
        Ok(target)
    }

    /// Whether some steward other than the submitter is a reviewer of a text.
    fn has_reviewer(
        &self,
        item: &Item,
        track: Option<&Track>,
        target: Option<&DocumentId>,
        rules: &Rules,
    ) -> bool {
        let text = item.submitted.as_deref().unwrap_or_default();
        let published = track.and_then(|track| Some(track.published.as_ref()?.text.as_str()));
        let texts = [Some(text).filter(|text| !text.is_empty()), published];
        let texts: Vec<&str> = texts.into_iter().flatten().collect();
        let ids = [Some(&item.id), target];
        let subjects = || {
            let of = |id| texts.iter().map(move |text| (id, *text));
            ids.iter().flatten().copied().flat_map(of).collect::<Vec<_>>()
        };
        let Some((id, text)) = subjects().first().copied() else { return true };
        let scope = rules.stewards.scope_of(id, &rules.tags(id, text));
        let holders = scope.map(|scope| rules.stewards.holders(scope)).unwrap_or_default();
        let me = self.author.principal.key();
        let mut others = holders.iter().filter(|holder| holder.principal.key() != me);
        others.any(|holder| {
            rules.require(holder.principal.as_str(), Role::Reviewer, subjects()).is_ok()
        })
    }

    /// Refuses an id that an approval of a move would use.
    fn check_targets(
        &self,
        id: &DocumentId,
        target: Option<&DocumentId>,
        waits: &Waits,
    ) -> Result<(), PublishError> {
        for track in waits.tracks().filter(|track| track.id() != id) {
            let action = track.pending.as_ref().and_then(|pending| pending.action.as_ref());
            let Some(taken) = action.and_then(Action::target) else { continue };
            if taken != id && Some(taken) != target {
                continue;
            }
            let message = format!("a move of `{}` to `{taken}` awaits a decision", track.id());
            let hint = "choose another id, or wait for that decision";
            let refusal = Refusal::new(taken.live_path(), "id-taken", message, hint);
            return Err(PublishError::Refused(vec![refusal]));
        }
        Ok(())
    }

    /// Whether a submission takes the place of what awaits a decision; it does not where it is the
    /// same. Refuses to replace what another principal submitted.
    fn is_replaced(
        &self,
        item: &Item,
        track: Option<&Track>,
        how: &Checks<'_>,
    ) -> Result<bool, PublishError> {
        let Some(track) = track else { return Ok(true) };
        let Some(pending) = &track.pending else { return Ok(true) };
        let text = item.submitted.as_deref().unwrap_or_default();
        let fresh = how.new.iter().find(|new| new.id == item.id);
        let is_mine = PrincipalKey::of(&pending.by) == self.author.principal.key();
        let replaces = how.supersede && !is_mine;
        // What no line of a change log names may be undone: it is submitted again.
        let is_known = how.waits.unrecorded(track).is_none();
        let is_same_set = pending.change == item.set;
        if is_same_set && !replaces && is_known && self.is_same(&item.id, track, text, fresh) {
            return Ok(false);
        }
        if !is_mine && !how.supersede {
            let (id, version) = (item.id.clone(), pending.version);
            let is_text = action_of(&item.id, text).is_none_or(|action| !action.is_retirement());
            let by = pending.by.clone();
            return Err(ReviewError::Pending { id, version, by, is_text }.into());
        }
        if !is_mine {
            let rules = self.rules();
            let reason = Refusing::Supersede("");
            self.may_end(track, pending, reason, &rules)?;
        }
        // A part leaves its set with the whole set only.
        match pending.change.as_ref().filter(|change| is_mine && Some(*change) != item.set.as_ref())
        {
            Some(change) => {
                let (id, change) = (item.id.clone(), change.clone());
                Err(ReviewError::InChange { id, change }.into())
            }
            None => Ok(true),
        }
    }

    /// Whether a submission is the one that awaits a decision already.
    fn is_same(
        &self,
        id: &DocumentId,
        track: &Track,
        text: &str,
        fresh: Option<&NewDocument>,
    ) -> bool {
        let Some(pending) = &track.pending else { return false };
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
        // Of a renewal the published text is submitted, and not the file.
        if self.is_renewal(track, text) {
            return self.is_renewal(track, &pending.text);
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

    /// Whether a submission is the published text, as it is.
    fn is_renewal(&self, track: &Track, text: &str) -> bool {
        let Some(published) = &track.published else { return false };
        let Some(fields) = fields_of(text).filter(|fields| fields.base.is_some()) else {
            return false;
        };
        let (Some(base), Some(action)) = (fields.base, &fields.action) else { return false };
        let step = ReviewEdit::Submit { base, action, change: fields.change.as_deref() };
        let Ok(document) = Document::parse(text) else { return false };
        let number = document.frontmatter.get("version").and_then(Node::number);
        let at = document.frontmatter.get("updated_at").and_then(Node::text);
        let (Some(number), Some(at)) = (number, at) else { return false };
        let edit = Edit::step(Version(number), at, "draft", &step);
        edit.apply(&published.text).as_deref() == Ok(text)
    }

    /// Proposes what becomes of a published document with its text as it is: it is retired, moved, or
    /// approved again.
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
        if !id.is_document() && *action == Action::Publish {
            let message = "only approvals of documents become due".to_owned();
            let hint = "the next change of the file is approved in any case";
            outcome.refused.push(Refusal::new(id.live_path(), "not-a-document", message, hint));
            return Ok(());
        }
        if !id.is_document() {
            let submit = Call::new(Verb::Submit).value(id.as_str());
            let (message, hint) = match id.is_pack() {
                true => {
                    let hint = Hint::call("delete the file, and run {}", submit);
                    ("a pack is retired by deleting it".to_owned(), hint)
                }
                false => {
                    let hint = Hint::call("edit the file, and run {}", submit);
                    ("a governed vault keeps this file: it cannot be retired".to_owned(), hint)
                }
            };
            outcome.refused.push(Refusal::new(id.live_path(), "not-a-document", message, hint));
            return Ok(());
        }
        let base = mark.version.unwrap_or_default();
        let reviewed = self.reviewed(id)?;
        let change = self.submits.as_ref().and_then(|submits| submits.set_of(id));
        let step = ReviewEdit::Submit { base, action, change: change.as_deref() };
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
    ReviewFields::of(&document.frontmatter)?.action
}
