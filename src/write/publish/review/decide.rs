//! Decisions about submissions: approval, rejection, withdrawal, ratification, and comments.

use std::collections::BTreeSet;

use super::super::governance_files::Includes;
use super::super::transaction::Transaction;
use super::super::{Act, Author, Event, Gate, Mode, Outcome, PublishError, event};
use super::approvals::{Approvals, Member};
use super::queue::waiting_in;
use super::{Awaited, ReviewError};
use crate::files::vault::Vault;
use crate::policy::stewards::Role;
use crate::read::working;
use crate::record::audit::{Change as Recorded, VersionRef, changes};
use crate::record::trusted_head::Head;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::visible::Invisible;
use crate::write::commit::expect::Expect;

/// A request to decide about submissions.
#[derive(Clone, Debug)]
pub struct Decision<'d> {
    /// The principal, the time and the note.
    pub author: &'d Author,
    /// The artifacts to decide about.
    pub ids: &'d [DocumentId],
    /// The name of a set whose submissions are decided, too.
    pub change: Option<&'d str>,
    /// The version that the reviewer has read, if one artifact is decided.
    pub version: Option<Version>,
    /// The mode of the event.
    pub mode: Mode,
}

impl<'d> Decision<'d> {
    /// Creates a decision about these artifacts.
    pub fn of(author: &'d Author, ids: &'d [DocumentId], mode: Mode) -> Self {
        Self { author, ids, change: None, version: None, mode }
    }
}

/// A way in which a submission ends without being published.
#[derive(Clone, Copy, Debug)]
pub enum Refusing<'r> {
    /// A reviewer rejects it, for this reason.
    Reject(&'r str),
    /// Its submitter withdraws it.
    Withdraw(Option<&'r str>),
    /// An editor replaces it with a submission of their own.
    Supersede(&'r str),
}

/// Refuses a text that is empty, too long, or contains control or invisible characters.
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

/// Approves submissions.
///
/// Those with enough approvals are published as one event; the others wait for more.
///
/// # Errors
/// Nothing was approved; see [`PublishError`].
pub fn approve(vault: &Vault, decision: &Decision<'_>) -> Result<Outcome, PublishError> {
    let mut outcome = run(vault, decision, Gate::Decides, |transaction, outcome| {
        outcome.act = Act::Approve;
        let approvals = transaction.approvals(decision)?;
        approvals.check_named(decision)?;
        let is_complete = |set: &&Vec<Member>| set.iter().all(Member::is_complete);
        for set in &approvals.sets {
            match is_complete(&set) {
                true => set.iter().try_for_each(|member| {
                    transaction.approved(&member.reviewed, &member.by, outcome)
                })?,
                false => outcome.awaited.extend(set.iter().map(Member::awaited)),
            }
        }
        outcome.left.clone_from(&approvals.left);
        let ratified = approvals.ratified.iter();
        outcome.awaited.extend(ratified.map(|reviewed| Awaited::ratified(&reviewed.track)));
        match approvals.sets.iter().any(|set| is_complete(&set)) {
            true => Ok(()),
            false => transaction.approve_in_part(&approvals, outcome),
        }
    })?;
    let rest = outcome.awaited.iter().filter(|awaited| awaited.is_new);
    let rest: Vec<DocumentId> = rest.map(|awaited| awaited.id.clone()).collect();
    if rest.is_empty() {
        return Ok(outcome);
    }
    outcome.awaited.retain(|awaited| awaited.required > 0);
    // Where nothing is published, the approvals are recorded already.
    if rest.iter().all(|id| outcome.items.iter().any(|item| item.id == *id)) {
        return Ok(outcome);
    }
    // What is published is one event, and what waits is a step after it. What the reviewer expected
    // was so before the event.
    let mode = Mode { expect: Expect::default(), ..decision.mode };
    let decision = Decision { ids: &rest, change: None, mode, ..decision.clone() };
    let waiting = run(vault, &decision, Gate::Steps, |transaction, outcome| {
        outcome.act = Act::Approve;
        let approvals = transaction.approvals(&decision)?;
        transaction.approve_in_part(&approvals, outcome)
    })?;
    outcome.items.extend(waiting.items);
    outcome.hidden.extend(waiting.hidden);
    Ok(outcome)
}

impl Transaction<'_> {
    /// Records the approvals of this principal that publish nothing, as a step.
    fn approve_in_part(
        &mut self,
        approvals: &Approvals,
        outcome: &mut Outcome,
    ) -> Result<(), PublishError> {
        self.is_step = true;
        for member in approvals.sets.iter().flatten().filter(|member| member.is_mine) {
            outcome.items.push(self.approved_in_part(&member.reviewed, &member.by)?);
        }
        for reviewed in &approvals.ratified {
            outcome.items.push(self.ratified(reviewed)?);
        }
        Ok(())
    }
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
        outcome.act = match how {
            Refusing::Reject(reason) => Act::Reject(reason.to_owned()),
            Refusing::Withdraw(reason) => Act::Withdraw(reason.map(str::to_owned)),
            Refusing::Supersede(reason) => Act::Withdraw(Some(reason.to_owned())),
        };
        let rules = transaction.rules();
        let named: BTreeSet<&DocumentId> = decision.ids.iter().collect();
        let waits = waiting_in(vault, &transaction.maps())?;
        let concerned = transaction.concerned(&waits, decision)?;
        transaction.begin_after(&concerned);
        for id in &concerned {
            let reviewed = transaction.reviewed(id)?;
            waits.unrecorded(&reviewed.track).map_or(Ok(()), Err)?;
            let pending = reviewed.pending()?;
            // A set is refused with any of its parts. The reason of an unreadable part is
            // not revealed.
            let is_asked = || decision.change.is_some() && transaction.may_name(id);
            if named.contains(id) || is_asked() {
                transaction.may_end(&reviewed.track, pending, how, &rules)?;
                transaction.check_version(decision, &reviewed)?;
            }
            outcome.items.push(transaction.ended(&reviewed, how)?);
        }
        Ok(())
    })
}

/// Records a comment about a submission, without a version.
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
        let (id, version) = (id.to_string(), pending.version.0);
        let version = VersionRef { id, version, chain_hash, target: None };
        let change = Recorded::Comment { version, text: text.to_owned() };
        let head = Head::of(transaction.chronicle);
        let _lock = vault.lock(&author.holder())?;
        let recorder = transaction.in_force.recorder(author);
        let recorded = changes::other(vault, Some(&head), &recorder, author.now, change);
        recorded.map_err(PublishError::Comment)
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
        let is_known = |id: &&DocumentId| {
            vault.files().exists(&id.history_path()) || working::is_known(vault, id)
        };
        if let Some(id) = decision.ids.iter().find(|id| !is_known(id)) {
            return Err(t.unknown(id));
        }
        choose(t, outcome).map_err(|why| t.told(why, decision.ids))?;
        outcome.hidden = t.hidden_parts(outcome)?;
        Ok(())
    })
    .map(Outcome::without_hidden)
}
