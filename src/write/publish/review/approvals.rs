//! The submissions of a decision: those that it names and the other parts of their sets, and checks
//! of the principal for each.

use std::collections::{BTreeMap, BTreeSet};

use super::super::transaction::Transaction;
use super::super::{Outcome, PublishError};
use super::decide::Decision;
use super::hidden::is_told;
use super::queue::{LeftPart, Waits, is_readable, track_of, waiting_in};
use super::{Awaited, ReviewError, Reviewed};
use crate::policy::rules::{FaultKind, Pending, Proposal, Rules, Track};
use crate::policy::stewards::Role;
use crate::read::working;
use crate::values::model::id::DocumentId;
use crate::values::model::principal::PrincipalKey;
use crate::values::model::timestamp::Timestamp;

/// One submission of a set.
pub(super) struct Member {
    pub(super) reviewed: Reviewed,
    /// The approvers, including this principal if they approve it now.
    pub(super) by: Vec<String>,
    required: u32,
    /// True if this principal approves it now.
    pub(super) is_mine: bool,
}

impl Member {
    pub(super) fn is_complete(&self) -> bool {
        self.by.len() as u64 >= u64::from(self.required)
    }

    pub(super) fn awaited(&self) -> Awaited {
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

/// The sets of a decision, each whole, and the retirements to ratify.
#[derive(Default)]
pub(super) struct Approvals {
    pub(super) sets: Vec<Vec<Member>>,
    pub(super) ratified: Vec<Reviewed>,
    /// Parts that left the sets by emergency retirements, if this principal may read them.
    pub(super) left: Vec<LeftPart>,
}

impl Approvals {
    /// Refuses an approval that names a document, but not which of its two decisions.
    pub(super) fn check_named(&self, decision: &Decision<'_>) -> Result<(), ReviewError> {
        let tracks = self.sets.iter().flatten().map(|member| &member.reviewed.track);
        let mut named = tracks.filter(|track| decision.ids.contains(track.id()));
        let two = named.find_map(|track| {
            let (submission, emergency) = (track.pending.as_ref()?, track.emergency.as_ref()?);
            let (submission, emergency) = (submission.version, emergency.version);
            Some(ReviewError::TwoAwait { id: track.id().clone(), submission, emergency })
        });
        two.filter(|_| decision.version.is_none()).map_or(Ok(()), Err)
    }
}

/// For each set, the artifacts with a part that was rejected or withdrawn since their last event.
///
/// The time is that of the last such decision. Read once for each set.
type RefusedParts = BTreeMap<String, Vec<(DocumentId, Timestamp)>>;

impl Transaction<'_> {
    /// Returns the submissions that a decision approves, and the retirements that it ratifies.
    pub(super) fn approvals(&mut self, decision: &Decision<'_>) -> Result<Approvals, PublishError> {
        let rules = self.rules();
        let waits = waiting_in(self.vault, &self.maps())?;
        let mut sets: BTreeMap<(Option<String>, Option<DocumentId>), Vec<Member>> = BTreeMap::new();
        let mut ratified = Vec::new();
        let concerned = self.concerned(&waits, decision)?;
        self.begin_after(&concerned);
        for id in concerned {
            let is_named = decision.ids.contains(&id);
            let mut reviewed = self.reviewed(&id)?;
            let history = Some(&*reviewed.base.history);
            waits.lines.bar_lost((self.vault, &self.maps()), history, &mut reviewed.track);
            waits.unrecorded(&reviewed.track).map_or(Ok(()), Err)?;
            let Some(pending) = &reviewed.track.pending else {
                self.may_ratify(&reviewed, &rules)?;
                self.check_version(decision, &reviewed)?;
                ratified.push(reviewed);
                continue;
            };
            let is_in_change =
                decision.change.is_some() && decision.change == pending.change.as_deref();
            let required = rules.required(reviewed.track.subjects(pending)).required;
            // A part with all of its approvals needs no further one: it only waits for the
            // other parts.
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
        let names = sets.keys().filter_map(|(change, _)| change.as_ref());
        let left = names.flat_map(|name| waits.left(self.vault, name)).map(|(part, _)| part);
        let left = left.filter(|part| self.may_name(&part.id)).collect();
        let sets: Vec<Vec<Member>> = sets.into_values().collect();
        let mut refused = BTreeMap::new();
        let publishes = |set: &&Vec<Member>| set.iter().all(Member::is_complete);
        let published = sets.iter().filter(publishes).map(Vec::len).sum::<usize>();
        for member in sets.iter().filter(publishes).flatten() {
            self.check_approvers(member, &rules)?;
            let track = &member.reviewed.track;
            self.check_not_split(&waits, track, &mut refused)?;
            let others = waits.tracks().count().saturating_sub(published);
            self.check_mode_change(track.id(), &member.reviewed.pending()?.text, others)?;
        }
        // If this principal can approve no part of a set, the first reason is returned.
        let is_idle = |set: &&Vec<Member>| {
            let is_mine = set.iter().any(|member| member.is_mine);
            let has_approved = || set.iter().any(|member| self.has_approved(member));
            !(is_mine || publishes(set) && has_approved())
        };
        for set in sets.iter().filter(is_idle) {
            let is_named = |member: &&Member| decision.ids.contains(member.reviewed.track.id());
            let (named, others): (Vec<_>, Vec<_>) = set.iter().partition(is_named);
            for member in named.into_iter().chain(others) {
                if self.has_approved(member)
                    && let Some(change) = member.reviewed.pending()?.change.clone()
                {
                    let id = member.reviewed.track.id().clone();
                    let mut parts = set.iter().map(|other| other.reviewed.track.id());
                    let is_shown = parts.all(|part| self.may_name(part));
                    return Err(ReviewError::WaitsForOthers { id, change, is_shown }.into());
                }
                self.may_approve(&member.reviewed.track, member.reviewed.pending()?, &rules)?;
            }
        }
        Ok(Approvals { sets, ratified, left })
    }

    /// Returns the artifacts of a decision: those that it names, and the other parts of their sets.
    ///
    /// Refuses a set if a part of it may belong to an interrupted step.
    pub(super) fn concerned(
        &self,
        waits: &Waits,
        decision: &Decision<'_>,
    ) -> Result<Vec<DocumentId>, PublishError> {
        let change_of = |track: &Track| track.pending.as_ref()?.change.clone();
        if let Some(name) = decision.change {
            // If the principal may read no part of a set, the set is treated as unknown.
            let parts = waits.tracks().filter(|t| change_of(t).as_deref() == Some(name));
            let parts: Vec<&Track> = parts.collect();
            if !parts.is_empty() && !parts.iter().any(|track| self.may_name(track.id())) {
                return Err(ReviewError::NoChange { name: name.to_owned(), alike: None }.into());
            }
        }
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
        if !sets.is_empty()
            && let Some(part) = waits.unlisted_in(self.vault, &sets)
        {
            waits.unrecorded(&part).map_or(Ok(()), Err)?;
        }
        let in_sets = waits.waiting.iter().filter(|(_, track)| is_of(change_of(track).as_ref()));
        let mut ids: BTreeSet<DocumentId> = in_sets.map(|(id, _)| id.clone()).collect();
        if let (Some(name), true) = (decision.change, ids.is_empty()) {
            let alike = self
                .alike(name, waits.tracks().filter_map(|t| Some((t.id(), t.pending.as_ref()?))));
            let alike = alike.and_then(|(_, readable)| readable).map(str::to_owned);
            return Err(ReviewError::NoChange { name: name.to_owned(), alike }.into());
        }
        ids.extend(decision.ids.iter().cloned());
        Ok(ids.into_iter().collect())
    }

    /// Refuses ids that the principal may not read, like ids that do not exist (REV-22).
    pub(super) fn check_readable(&self, ids: &[DocumentId]) -> Result<(), PublishError> {
        let Some(viewer) = self.viewer()? else { return Ok(()) };
        for id in ids {
            let is_readable = match self.vault.files().exists(&id.history_path()) {
                false => working::is_known(self.vault, id),
                true => is_readable(self.vault, viewer, id),
            };
            if !is_readable {
                return Err(PublishError::UnknownId { id: id.clone(), near: None });
            }
        }
        Ok(())
    }

    /// Returns true if the principal may read an artifact, and so its name.
    pub(in crate::library::write::publish) fn may_name(&self, id: &DocumentId) -> bool {
        is_told(self.vault, self.viewer(), id)
    }

    /// Returns the parts of the decided sets that the principal may not read.
    pub(super) fn hidden_parts(
        &self,
        outcome: &Outcome,
    ) -> Result<BTreeSet<DocumentId>, PublishError> {
        let Some(viewer) = self.viewer()? else { return Ok(BTreeSet::new()) };
        let items = outcome.items.iter().map(|item| &item.id);
        let ids = items.chain(outcome.awaited.iter().map(|awaited| &awaited.id));
        let hidden = ids.filter(|id| match self.vault.files().exists(&id.history_path()) {
            true => !is_readable(self.vault, viewer, id),
            // The target of a move does not have a history yet.
            false => !viewer.may_know(id),
        });
        Ok(hidden.cloned().collect())
    }

    /// Refuses a decision about another submission, or emergency retirement, than the one that the
    /// reviewer has read.
    pub(super) fn check_version(
        &self,
        decision: &Decision<'_>,
        reviewed: &Reviewed,
    ) -> Result<(), PublishError> {
        let found = reviewed.track.awaited_version();
        let (Some(expected), Some(found)) = (decision.version, found) else { return Ok(()) };
        if expected == found {
            return Ok(());
        }
        let id = reviewed.track.id().clone();
        Err(ReviewError::Changed { id, expected, found }.into())
    }

    /// Returns true if a submission has all required approvals, and one of them is by
    /// this principal.
    fn is_approved_by_me(&self, pending: &Pending, required: u32) -> bool {
        let me = self.author.principal.key();
        let by = pending.approvers();
        by.len() as u64 >= u64::from(required) && by.iter().any(|by| PrincipalKey::of(by) == me)
    }

    fn has_approved(&self, member: &Member) -> bool {
        let pending = member.reviewed.track.pending.as_ref();
        pending.is_some_and(|pending| self.is_approved_by_me(pending, member.required))
    }

    /// Refuses a part of a set if another part alone was rejected or withdrawn after
    /// its submission.
    ///
    /// An interrupted step leaves a set in this state (REV-8).
    fn check_not_split(
        &self,
        waits: &Waits,
        track: &Track,
        refused: &mut RefusedParts,
    ) -> Result<(), PublishError> {
        let Some(pending) = &track.pending else { return Ok(()) };
        let Some(set) = pending.change.as_ref() else { return Ok(()) };
        let read = || {
            let others =
                waits.lines.since_published_in(set).filter_map(|id| track_of(self.vault, &id));
            let last = |other: Track| {
                let parts = other.tail.refused.iter().filter(|(of, _)| of == set);
                Some((other.id().clone(), parts.map(|(_, at)| *at).max()?))
            };
            others.filter_map(last).collect()
        };
        let parts: &Vec<_> = refused.entry(set.clone()).or_insert_with(read);
        let is_split = |(id, at): &&(DocumentId, Timestamp)| id != track.id() && *at > pending.at;
        match parts.iter().find(is_split) {
            Some((other, _)) => {
                let (id, other) = (track.id().clone(), other.clone());
                let proposal = Box::new(Proposal::of(track, pending));
                Err(ReviewError::Split { id, other, proposal }.into())
            }
            None => Ok(()),
        }
    }

    /// Refuses to publish a submission that a verifier would report.
    ///
    /// Approvals in part were checked by the rules in force at their time, but those before the
    /// event decide.
    fn check_approvers(&self, member: &Member, rules: &Rules) -> Result<(), PublishError> {
        let track = &member.reviewed.track;
        let pending = member.reviewed.pending()?;
        let id = track.id();
        let (id, version) = (id.clone(), pending.version);
        let proposal = || Box::new(Proposal::of(track, pending));
        if let Some(fault) = self.fault_of(track, pending) {
            let (why, proposal, published) = (fault.message, proposal(), None);
            return Err(ReviewError::Altered { id, version, why, proposal, published }.into());
        }
        let mut approvers = member.by.iter().enumerate();
        let judge = |(n, who): (usize, &String)| {
            track.approver(pending, (who, &member.by[..n]), rules).into_iter().next()
        };
        match approvers.find_map(judge) {
            Some(fault) => {
                let (why, proposal) = (fault.message, proposal());
                Err(ReviewError::Lapsed { id, version, why, proposal }.into())
            }
            None => Ok(()),
        }
    }

    /// Refuses a principal who may not approve a submission, or a submission that cannot
    /// be approved.
    fn may_approve(
        &self,
        track: &Track,
        pending: &Pending,
        rules: &Rules,
    ) -> Result<(), ReviewError> {
        let who = self.author.principal.as_str();
        let id = || track.id().clone();
        let proposal = || Box::new(Proposal::of(track, pending));
        if let Some(fault) = self.fault_of(track, pending) {
            if fault.kind == FaultKind::Unauthorised {
                let (version, why) = (pending.version, fault.message);
                return Err(ReviewError::NoEditor { id: id(), version, why });
            }
            let published = track.published.as_ref().filter(|_| fault.kind == FaultKind::Altered);
            let published = published.map(|last| last.version);
            let (version, why, proposal) = (pending.version, fault.message, proposal());
            return Err(ReviewError::Altered { id: id(), version, why, proposal, published });
        }
        let who = || who.to_owned();
        if let Some(why) = track.bars(pending, &self.author.principal.key(), rules) {
            return Err(ReviewError::Own { id: id(), who: who(), why });
        }
        rules.require(&who(), Role::Reviewer, track.subjects(pending))?;
        if let Some(fault) = track.lapsed(pending, rules) {
            let (version, why, proposal) = (pending.version, fault.message, proposal());
            return Err(ReviewError::Lapsed { id: id(), version, why, proposal });
        }
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
            return Err(ReviewError::NotSubmitted { id: id.clone(), others: Vec::new() });
        };
        let who = self.author.principal.to_string();
        if PrincipalKey::of(&emergency.by) == self.author.principal.key() {
            return Err(ReviewError::OwnEmergency { id: id.clone(), who });
        }
        Ok(rules.require(&who, Role::Reviewer, reviewed.track.retired(&emergency.text))?)
    }
}
