//! Deciding about submissions: approval, rejection, withdrawal, ratification, and remarks.

use std::collections::{BTreeMap, BTreeSet};

use super::super::governance::{Includes, recorder_of};
use super::super::transaction::Transaction;
use super::super::{Author, Event, Gate, Mode, Outcome, PublishError, Refusal, event};
use super::publication::difference;
use super::queue::{Waits, is_readable, track_of, waiting_in};
use super::{Awaited, ReviewError, Reviewed};
use crate::audit::{Change as Recorded, VersionRef, changes};
use crate::chain::vouched;
use crate::document::edit::Edit;
use crate::document::review::ReviewEdit;
use crate::live;
use crate::model::id::DocumentId;
use crate::model::number::Version;
use crate::model::principal::PrincipalKey;
use crate::model::timestamp::Timestamp;
use crate::model::visible::Invisible;
use crate::resolve::readers::Readers;
use crate::review::{FaultKind, Pending, Rules, Track};
use crate::stewards::Role;
use crate::trust::Head;
use crate::txn::{Change, Item, Step};
use crate::vault::Vault;

/// What is decided about, and by whom.
#[derive(Clone, Debug)]
pub struct Decision<'d> {
    /// Who, when, and with which note.
    pub author: &'d Author,
    /// The artifacts.
    pub ids: &'d [DocumentId],
    /// All submissions of this set, beside them.
    pub change: Option<&'d str>,
    /// The version that the reviewer has read, of the one artifact.
    pub version: Option<Version>,
    /// How.
    pub mode: Mode,
}

impl<'d> Decision<'d> {
    /// About these artifacts.
    pub fn of(author: &'d Author, ids: &'d [DocumentId], mode: Mode) -> Self {
        Self { author, ids, change: None, version: None, mode }
    }
}

/// How a submission ends without being published.
#[derive(Clone, Copy, Debug)]
pub enum Refusing<'r> {
    /// A reviewer rejects it, for this reason.
    Reject(&'r str),
    /// Its submitter withdraws it.
    Withdraw(Option<&'r str>),
    /// An editor replaces it by a submission of their own.
    Supersede(&'r str),
}

/// Refuses a text that has no characters, too many, or some that are not seen.
pub(super) fn check_text(what: &'static str, text: &str, most: usize) -> Result<(), ReviewError> {
    let refuse = |why: String| Err(ReviewError::Text { what, why });
    if text.trim().is_empty() {
        return refuse("is empty".to_owned());
    }
    if text.len() > most {
        return refuse(format!("has {} bytes, but may have {most}", text.len()));
    }
    if let Some(c) = text.chars().find(|c| c.is_control()) {
        return refuse(format!("has the control character `{}`", c.escape_default()));
    }
    match Invisible::first_in(text) {
        Some(found) => refuse(format!("has the invisible {found}")),
        None => Ok(()),
    }
}

/// Approves submissions. What is then approved as the rules ask is published, as one event; the rest
/// waits for more approvals.
///
/// # Errors
/// Nothing was approved; see [`PublishError`].
pub fn approve(vault: &Vault, decision: &Decision<'_>) -> Result<Outcome, PublishError> {
    // What is published is one event, and what waits is a step.
    let mut outcome = run(vault, decision, Gate::Decides, |transaction, outcome| {
        let Approvals { sets, ratified } = transaction.approvals(decision)?;
        for set in sets {
            match set.iter().all(Member::is_complete) {
                true => set.iter().try_for_each(|member| {
                    transaction.approved(&member.reviewed, &member.by, outcome)
                })?,
                false => outcome.awaited.extend(set.iter().map(Member::awaited)),
            }
        }
        outcome.awaited.extend(ratified.iter().map(|reviewed| Awaited::ratified(&reviewed.track)));
        Ok(())
    })?;
    let rest = outcome.awaited.iter().filter(|awaited| awaited.is_new);
    let rest: Vec<DocumentId> = rest.map(|awaited| awaited.id.clone()).collect();
    if rest.is_empty() {
        return Ok(outcome);
    }
    let decision = Decision { ids: &rest, change: None, ..decision.clone() };
    let waiting = run(vault, &decision, Gate::Steps, |transaction, outcome| {
        let Approvals { sets, ratified } = transaction.approvals(&decision)?;
        for member in sets.iter().flatten().filter(|member| member.is_mine) {
            outcome.items.push(transaction.approved_in_part(&member.reviewed, &member.by)?);
        }
        for reviewed in &ratified {
            outcome.items.push(transaction.ratified(reviewed)?);
        }
        Ok(())
    })?;
    outcome.awaited.retain(|awaited| awaited.required > 0);
    outcome.items.extend(waiting.items);
    if outcome.checkpoint.is_none() {
        outcome.committed = waiting.committed;
    }
    Ok(outcome)
}

/// Ends submissions without publishing them, with the other parts of their sets.
///
/// # Errors
/// Nothing was changed; see [`PublishError`].
pub fn reject(
    vault: &Vault,
    decision: &Decision<'_>,
    reason: &str,
) -> Result<Outcome, PublishError> {
    check_text("the reason", reason, 1000)?;
    end(vault, decision, Refusing::Reject(reason))
}

/// Withdraws submissions, with the other parts of their sets.
///
/// # Errors
/// Nothing was changed; see [`PublishError`].
pub fn withdraw(
    vault: &Vault,
    decision: &Decision<'_>,
    how: Refusing<'_>,
) -> Result<Outcome, PublishError> {
    if let Refusing::Withdraw(Some(reason)) = how {
        check_text("the reason", reason, 1000)?;
    }
    end(vault, decision, how)
}

fn end(vault: &Vault, decision: &Decision<'_>, how: Refusing<'_>) -> Result<Outcome, PublishError> {
    run(vault, decision, Gate::Steps, |transaction, outcome| {
        let rules = transaction.rules();
        let named: BTreeSet<&DocumentId> = decision.ids.iter().collect();
        let waits = waiting_in(vault, transaction.chronicle, &transaction.state)?;
        let concerned = transaction.concerned(&waits, decision)?;
        transaction.begin_after(&concerned);
        for id in &concerned {
            let reviewed = transaction.reviewed(id)?;
            waits.unrecorded(&reviewed.track).map_or(Ok(()), Err)?;
            let pending = reviewed.pending()?;
            // A set is refused with any of its parts.
            if named.contains(id) || decision.change.is_some() {
                transaction.may_end(&reviewed.track, pending, how, &rules)?;
                transaction.check_version(decision, &reviewed)?;
            }
            outcome.items.push(transaction.ended(&reviewed, how)?);
        }
        Ok(())
    })
}

/// Records a remark about a submission; it makes no version.
///
/// # Errors
/// Nothing was recorded; see [`PublishError`].
pub fn comment(
    vault: &Vault,
    id: &DocumentId,
    author: &Author,
    text: &str,
) -> Result<(), PublishError> {
    check_text("the comment", text, 4000)?;
    let ids = std::slice::from_ref(id);
    let decision = Decision::of(author, ids, Mode { dry_run: true, ..Mode::default() });
    run(vault, &decision, Gate::Steps, |transaction, _| {
        let reviewed = transaction.reviewed(id)?;
        let pending = reviewed.pending()?;
        let subjects = reviewed.track.subjects(pending);
        let fit = transaction.rules().require(author.principal.as_str(), Role::Viewer, subjects);
        fit.map_err(ReviewError::from)?;
        let entry = reviewed.base.history.entry(pending.version);
        let chain_hash = entry.map(|entry| entry.chain_hash.to_string()).unwrap_or_default();
        let version = VersionRef { id: id.to_string(), version: pending.version.0, chain_hash };
        let change = Recorded::Comment { version, text: text.to_owned() };
        let head = Head::of(transaction.chronicle);
        let _lock = vault.lock(&author.holder())?;
        let recorder = recorder_of(vault, transaction.chronicle, author);
        let recorded = changes::other(vault, Some(&head), &recorder, author.now, change);
        recorded.map_err(|why| {
            let why = std::io::Error::other(why.to_string());
            ReviewError::Text { what: "the comment", why: format!("was not recorded: {why}") }
        })?;
        Ok(())
    })?;
    Ok(())
}

fn run(
    vault: &Vault,
    decision: &Decision<'_>,
    gate: Gate,
    choose: impl Fn(&mut Transaction<'_>, &mut Outcome) -> Result<(), PublishError>,
) -> Result<Outcome, PublishError> {
    let subjects: Vec<&DocumentId> = decision.ids.iter().collect();
    let includes = Includes::Only(&[]);
    let (author, mode) = (decision.author, decision.mode);
    event(vault, &Event { author, mode, subjects: &subjects, includes, gate }, |t, outcome| {
        t.check_readable(decision.ids)?;
        choose(t, outcome)
    })
}

/// One submission of a set that this principal approves, or that is published with the others.
struct Member {
    reviewed: Reviewed,
    /// Who approved it, with the one who does now.
    by: Vec<String>,
    required: u32,
    /// Whether this principal approves it now.
    is_mine: bool,
}

impl Member {
    fn is_complete(&self) -> bool {
        self.by.len() as u64 >= u64::from(self.required)
    }

    fn awaited(&self) -> Awaited {
        let track = &self.reviewed.track;
        Awaited {
            id: track.id().clone(),
            is_new: self.is_mine,
            found: self.by.len(),
            required: self.required,
            change: track.pending.as_ref().and_then(|pending| pending.change.clone()),
        }
    }
}

/// The sets that a decision is about, each whole, and what is to be ratified.
#[derive(Default)]
struct Approvals {
    sets: Vec<Vec<Member>>,
    ratified: Vec<Reviewed>,
}

impl Transaction<'_> {
    /// Reads what a decision approves.
    fn approvals(&mut self, decision: &Decision<'_>) -> Result<Approvals, PublishError> {
        let rules = self.rules();
        let waits = waiting_in(self.vault, self.chronicle, &self.state)?;
        let mut sets: BTreeMap<(Option<String>, Option<DocumentId>), Vec<Member>> = BTreeMap::new();
        let mut ratified = Vec::new();
        let concerned = self.concerned(&waits, decision)?;
        self.begin_after(&concerned);
        for id in concerned {
            let is_named = decision.ids.contains(&id);
            let reviewed = self.reviewed(&id)?;
            waits.unrecorded(&reviewed.track).map_or(Ok(()), Err)?;
            let Some(pending) = &reviewed.track.pending else {
                self.may_ratify(&reviewed, &rules)?;
                ratified.push(reviewed);
                continue;
            };
            let is_in_change =
                decision.change.is_some() && decision.change == pending.change.as_deref();
            let required = rules.required(reviewed.track.subjects(pending)).required;
            // A part that has its approvals waits for the others alone: no further one is needed.
            let is_done = self.is_approved_by_me(pending, required);
            let may = || self.may_approve(&reviewed.track, pending, &rules).is_ok();
            let is_mine = !is_done && (is_named || is_in_change && may());
            if is_mine {
                self.may_approve(&reviewed.track, pending, &rules)?;
            }
            if is_named || is_mine {
                self.check_version(decision, &reviewed)?;
            }
            let me = is_mine.then(|| self.author.principal.to_string());
            let by = pending.approvers().into_iter().chain(me).collect();
            let set = (pending.change.clone(), pending.change.is_none().then_some(id));
            sets.entry(set).or_default().push(Member { reviewed, by, required, is_mine });
        }
        let sets: Vec<Vec<Member>> = sets.into_values().collect();
        let publishes = |set: &&Vec<Member>| set.iter().all(Member::is_complete);
        let published = sets.iter().filter(publishes).map(Vec::len).sum::<usize>();
        for member in sets.iter().filter(publishes).flatten() {
            self.check_approvers(member, &rules)?;
            let track = &member.reviewed.track;
            self.check_not_split(&waits, track)?;
            let others = waits.tracks().count().saturating_sub(published);
            self.check_mode_change(track.id(), &member.reviewed.pending()?.text, others)?;
        }
        // If no part of a set can be approved by this principal, the first reason is given.
        let is_idle = |set: &&Vec<Member>| {
            let is_mine = set.iter().any(|member| member.is_mine);
            let has_approved = || set.iter().any(|member| self.has_approved(member));
            !(is_mine || publishes(set) && has_approved())
        };
        for set in sets.iter().filter(is_idle) {
            for member in set {
                self.may_approve(&member.reviewed.track, member.reviewed.pending()?, &rules)?;
            }
        }
        Ok(Approvals { sets, ratified })
    }

    /// The artifacts that a decision is about: those that it names, and the other parts of their sets.
    /// Nothing is decided about a set of which a part may belong to an interrupted step.
    fn concerned(
        &self,
        waits: &Waits,
        decision: &Decision<'_>,
    ) -> Result<Vec<DocumentId>, PublishError> {
        let change_of = |track: &Track| track.pending.as_ref()?.change.clone();
        let is_named = |track: &&Track| decision.ids.contains(track.id());
        let mut sets: BTreeSet<String> =
            waits.tracks().filter(is_named).filter_map(change_of).collect();
        sets.extend(decision.change.map(str::to_owned));
        let is_of = |set: Option<&String>| set.is_some_and(|set| sets.contains(set));
        for one in waits.incomplete.iter().filter(|one| is_of(one.set.as_ref())) {
            // A history that cannot be read is refused for that reason.
            let track = self.reviewed(&one.id)?.track;
            waits.unrecorded(&track).map_or(Ok(()), Err)?;
        }
        let in_sets = waits.waiting.iter().filter(|(_, track)| is_of(change_of(track).as_ref()));
        let mut ids: BTreeSet<DocumentId> = in_sets.map(|(id, _)| id.clone()).collect();
        if let (Some(name), true) = (decision.change, ids.is_empty()) {
            return Err(ReviewError::NoChange(name.to_owned()).into());
        }
        ids.extend(decision.ids.iter().cloned());
        Ok(ids.into_iter().collect())
    }

    /// Refuses ids that the principal may not read: they answer like those that do not exist (REV-22).
    pub(super) fn check_readable(&self, ids: &[DocumentId]) -> Result<(), PublishError> {
        let Some(readers) = Readers::of_log(self.vault, self.chronicle)? else { return Ok(()) };
        for id in ids {
            let is_readable = match self.vault.files().exists(&id.history_path()) {
                false => live::is_known(self.vault, id),
                true => is_readable(self.vault, &readers, id),
            };
            if !is_readable {
                return Err(PublishError::UnknownId { id: id.clone(), near: None });
            }
        }
        Ok(())
    }

    /// Refuses a decision about another submission than the one that the reviewer has read, with what
    /// differs between them.
    fn check_version(
        &self,
        decision: &Decision<'_>,
        reviewed: &Reviewed,
    ) -> Result<(), PublishError> {
        let pending = reviewed.pending()?;
        let Some(expected) = decision.version.filter(|version| *version != pending.version) else {
            return Ok(());
        };
        let (id, files) = (reviewed.track.id(), self.vault.files());
        let read = vouched::vouched(files, id, &reviewed.base.history, expected).ok();
        let diff =
            read.and_then(|read| difference((&read, expected), (&pending.text, pending.version)));
        let (id, found) = (id.clone(), pending.version);
        Err(ReviewError::Changed { id, expected, found, diff }.into())
    }

    /// Whether a submission has the approvals that it needs, one of them of this principal.
    fn is_approved_by_me(&self, pending: &Pending, required: u32) -> bool {
        let me = self.author.principal.key();
        let by = pending.approvers();
        by.len() as u64 >= u64::from(required) && by.iter().any(|by| PrincipalKey::of(by) == me)
    }

    fn has_approved(&self, member: &Member) -> bool {
        let pending = member.reviewed.track.pending.as_ref();
        pending.is_some_and(|pending| self.is_approved_by_me(pending, member.required))
    }

    /// Refuses a part of a set of which another part alone was rejected or withdrawn since this one was
    /// submitted, as an interrupted step leaves it (REV-8).
    fn check_not_split(&self, waits: &Waits, track: &Track) -> Result<(), PublishError> {
        let Some(pending) = &track.pending else { return Ok(()) };
        let Some(set) = pending.change.as_deref() else { return Ok(()) };
        for other in waits.lines.ever_in(set).filter(|other| other != track.id()) {
            let refused = track_of(self.vault, &other).map(|other| other.tail.refused);
            let is_after = |(of, at): &(String, Timestamp)| of == set && *at > pending.at;
            if refused.is_some_and(|refused| refused.iter().any(is_after)) {
                return Err(ReviewError::Split { id: track.id().clone(), other }.into());
            }
        }
        Ok(())
    }

    /// Refuses to publish what a verifier would not take: an approval in part was of the rules that
    /// were in force then, and those before the event count.
    fn check_approvers(&self, member: &Member, rules: &Rules) -> Result<(), PublishError> {
        let track = &member.reviewed.track;
        let pending = member.reviewed.pending()?;
        let id = track.id();
        let fault = self.fault_of(track, pending).or_else(|| {
            let mut approvers = member.by.iter().enumerate();
            let judge = |(n, who): (usize, &String)| {
                track.approver(pending, (who, &member.by[..n]), rules).into_iter().next()
            };
            approvers.find_map(judge)
        });
        let Some(fault) = fault else { return Ok(()) };
        let (id, version, why) = (id.clone(), pending.version, fault.message);
        Err(ReviewError::Altered { id, version, why, diff: None }.into())
    }

    /// Refuses a principal who may not approve a submission, or a submission that cannot be approved.
    fn may_approve(
        &self,
        track: &Track,
        pending: &Pending,
        rules: &Rules,
    ) -> Result<(), ReviewError> {
        let who = self.author.principal.as_str();
        let id = || track.id().clone();
        if let Some(fault) = self.fault_of(track, pending) {
            if fault.kind == FaultKind::Unauthorised {
                let (version, why) = (pending.version, fault.message);
                return Err(ReviewError::NoEditor { id: id(), version, why });
            }
            let published = track.published.as_ref().filter(|_| fault.kind == FaultKind::Altered);
            let diff = published.and_then(|last| {
                difference((&last.text, last.version), (&pending.text, pending.version))
            });
            let (version, why) = (pending.version, fault.message);
            return Err(ReviewError::Altered { id: id(), version, why, diff });
        }
        let who = || who.to_owned();
        if let Some(why) = track.bars(pending, &self.author.principal.key(), rules) {
            return Err(ReviewError::Own { id: id(), who: who(), why: why.reason() });
        }
        rules.require(&who(), Role::Reviewer, track.subjects(pending))?;
        let faults = track.approver(pending, (&who(), &pending.approvers()), rules);
        match faults.iter().any(|fault| fault.kind == FaultKind::Missing) {
            true => Err(ReviewError::Twice { id: id(), who: who() }),
            false => Ok(()),
        }
    }

    /// Refuses a principal who may not ratify an emergency retirement.
    fn may_ratify(&self, reviewed: &Reviewed, rules: &Rules) -> Result<(), ReviewError> {
        let id = reviewed.track.id();
        let Some(emergency) = &reviewed.track.emergency else {
            return Err(ReviewError::NotSubmitted(id.clone()));
        };
        let who = self.author.principal.to_string();
        if PrincipalKey::of(&emergency.by) == self.author.principal.key() {
            return Err(ReviewError::OwnEmergency { id: id.clone(), who });
        }
        Ok(rules.require(&who, Role::Reviewer, [(id, emergency.text.as_str())])?)
    }

    /// The version that ratifies an emergency retirement.
    fn ratified(&self, reviewed: &Reviewed) -> Result<Item, PublishError> {
        let by = [self.author.principal.to_string()];
        let step = ReviewEdit::Ratify { by: &by, at: self.at };
        let text = reviewed.track.emergency.as_ref().map(|emergency| emergency.text.as_str());
        self.stepped(reviewed, text.unwrap_or_default(), Step::Ratify, &step)
    }

    /// The version that approves a submission which waits for more approvals.
    fn approved_in_part(&self, reviewed: &Reviewed, by: &[String]) -> Result<Item, PublishError> {
        let step = ReviewEdit::ApproveInPart { by, at: self.at };
        let text = &reviewed.pending()?.last.1;
        self.stepped(reviewed, text, Step::ApproveInPart, &step)
    }

    /// The version that ends a submission.
    pub(super) fn ended(
        &self,
        reviewed: &Reviewed,
        how: Refusing<'_>,
    ) -> Result<Item, PublishError> {
        let me = self.author.principal.as_str();
        let (kind, step) = match how {
            Refusing::Reject(reason) => (Step::Reject, ReviewEdit::Reject { by: me, reason }),
            Refusing::Withdraw(reason) => (Step::Withdraw, ReviewEdit::Withdraw { reason }),
            Refusing::Supersede(reason) => {
                (Step::Withdraw, ReviewEdit::Withdraw { reason: Some(reason) })
            }
        };
        let text = &reviewed.pending()?.last.1;
        self.stepped(reviewed, text, kind, &step)
    }

    /// Refuses a principal who may not end a submission.
    pub(super) fn may_end(
        &self,
        track: &Track,
        pending: &Pending,
        how: Refusing<'_>,
        rules: &Rules,
    ) -> Result<(), ReviewError> {
        let (id, who) = (track.id(), self.author.principal.as_str());
        let needed = match how {
            Refusing::Withdraw(_)
                if PrincipalKey::of(&pending.by) == self.author.principal.key() =>
            {
                return Ok(());
            }
            Refusing::Withdraw(_) => {
                return Err(ReviewError::NotTheSubmitter {
                    id: id.clone(),
                    by: pending.by.clone(),
                });
            }
            Refusing::Reject(_) => Role::Reviewer,
            Refusing::Supersede(_) => Role::Editor,
        };
        // To end a submission publishes nothing: the role for one of the texts is enough, so that none
        // can be held by its new tags alone.
        Ok(rules.require_any(who, needed, track.subjects(pending))?)
    }

    /// The version that a step makes of a text.
    fn stepped(
        &self,
        reviewed: &Reviewed,
        text: &str,
        kind: Step,
        step: &ReviewEdit<'_>,
    ) -> Result<Item, PublishError> {
        let (base, id) = (&reviewed.base, reviewed.track.id());
        let refused = |refusal: Refusal| PublishError::Refused(vec![refusal]);
        let text = match id.is_document() {
            true => {
                let edit = Edit::step(base.next(), &self.at.to_string(), "draft", step);
                let text = edit.apply(text);
                text.map_err(|why| refused(Refusal::spelling(&id.live_path(), &why)))?
            }
            false => text.to_owned(),
        };
        let change = Change::Step(kind);
        let item = self.decided_version(id, base, &text.into(), change, kind.decision());
        let set = reviewed.track.pending.as_ref().and_then(|pending| pending.change.clone());
        Ok(Item { set, ..item.map_err(refused)? })
    }
}
