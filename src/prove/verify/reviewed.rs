//! Checks the reviews of a governed vault from the histories alone: every version that was
//! published or retired was approved by the rules in force before it (`spec/review.md`, section 4).

use std::collections::{BTreeMap, BTreeSet};

use super::artifact::Pass;
use super::finding::{Code, Finding};
use super::review_steps::{NamedKind, Steps};
use crate::policy::in_force::{Approvals, Contradiction, Decided, Judge, Taken, contradictions};
use crate::policy::rules::{FaultKind, StepKind, fields_of};
use crate::record::chain::history::{Entry, EntryState, History};
use crate::text::document::review::ReviewState;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// State of the reviews of one history.
pub(super) struct Reviews {
    pub(super) approvals: Approvals,
    /// Versions that are steps of reviews.
    pub(super) steps: BTreeSet<Version>,
    /// Kind of each version that a line of a change log may name.
    kinds: BTreeMap<Version, NamedKind>,
}

impl Reviews {
    pub(super) fn new(id: &DocumentId) -> Self {
        Self { approvals: Approvals::new(id), steps: BTreeSet::new(), kinds: BTreeMap::new() }
    }
}

/// A submission that belonged to a set, and the period in which it was pending.
#[derive(Clone, Debug)]
pub(super) struct ChangePart {
    change: String,
    id: DocumentId,
    version: Version,
    from: Timestamp,
    /// Time of the decision or replacement; `None` while it is pending.
    to: Option<Timestamp>,
    /// True if it was rejected or withdrawn.
    is_refused: bool,
    /// Checkpoint that published or retired it, and the time of the event: a merge brings several.
    sealed: Option<(CheckpointNumber, Option<Timestamp>)>,
}

impl Pass<'_> {
    /// Reads the next version of the history, and judges it if the vault was governed.
    pub(super) fn review(&mut self, entry: &Entry, text: &str) {
        let checkpoint = self.checkpoint_of(entry);
        let Some(reviews) = &mut self.reviews else { return };
        let before = reviews.approvals.track.pending.as_ref();
        let before = before.map(|p| (p.version, p.change.clone(), p.at));
        let judge = Judge {
            files: self.vault.files(),
            in_force: &self.rules.in_force,
            records: &self.view.records,
            moves: self.moves,
        };
        let Taken { kind, faults, decided } =
            reviews.approvals.take((entry, text), checkpoint, &judge);
        if !matches!(kind, StepKind::Event | StepKind::Other) {
            reviews.steps.insert(entry.version);
        }
        let is_emergency = || {
            let fields = fields_of(text).filter(|_| self.id.is_document());
            fields.is_some_and(|fields| fields.state == ReviewState::Emergency)
        };
        let said = match kind {
            StepKind::Event if entry.retired_at().is_some() && is_emergency() => {
                NamedKind::Emergency
            }
            kind => NamedKind::Step(kind),
        };
        reviews.kinds.insert(entry.version, said);
        self.checked.decided.extend(decided);
        let track = &reviews.approvals.track;
        let after = track.pending.as_ref().map(|pending| pending.version);
        let emergency = track.emergency.as_ref();
        let is_emergency = emergency.is_some_and(|found| found.version == entry.version);
        if let Some((version, Some(change), from)) = before
            && after != Some(version)
        {
            let (id, to) = (self.id.clone(), Some(entry.edited_at));
            // An emergency retirement does not publish a part of a set.
            let sealed = checkpoint.filter(|_| kind == StepKind::Event && !is_emergency);
            let sealed = sealed.map(|checkpoint| (checkpoint, entry.event_at()));
            let is_refused = matches!(kind, StepKind::Rejected | StepKind::Withdrawn);
            let part = ChangePart { change, id, version, from, to, is_refused, sealed };
            self.checked.parts.push(part);
        }
        for (version, fault) in faults {
            self.find(code_of(fault.kind), version, fault.message);
        }
    }

    /// Skips a version whose text is lost; `entry` is `None` if the entry cannot be read.
    pub(super) fn lose_review(&mut self, entry: Option<&Entry>) {
        if let Some(reviews) = &mut self.reviews {
            reviews.approvals.lose(entry);
        }
    }

    /// Records the pending submission at the end of the history.
    pub(super) fn review_end(&mut self, history: &History, steps: &Steps) {
        self.unnamed_steps(steps);
        self.mistaken_steps(history, steps);
        let pending =
            self.reviews.as_ref().and_then(|reviews| reviews.approvals.track.pending.as_ref());
        if let Some(pending) = pending
            && let Some(change) = pending.change.clone()
        {
            let (id, version, from) = (self.id.clone(), pending.version, pending.at);
            let (to, is_refused, sealed) = (None, false, None);
            let part = ChangePart { change, id, version, from, to, is_refused, sealed };
            self.checked.parts.push(part);
        }
    }

    /// Notes steps at the end of the history that no line of a change log names. They may be parts
    /// of a step whose writer was interrupted (REV-10).
    fn unnamed_steps(&mut self, steps: &Steps) {
        let Some(reviews) = self.reviews.as_ref().filter(|_| steps.is_begun()) else { return };
        let tail = reviews.approvals.track.tail.steps.iter();
        let unnamed = tail.filter(|(version, hash)| !steps.names(self.id, *version, hash));
        for version in unnamed.map(|(version, _)| *version).collect::<Vec<_>>() {
            let message =
                "no line of a change log names this step: its writer may have been interrupted";
            self.find(Code::Unfinished, version, message);
        }
    }

    /// Reports lines of change logs that name a version of another kind (AUDIT-37).
    fn mistaken_steps(&mut self, history: &History, steps: &Steps) {
        let found = steps.mistaken(self.id, |version, chain_hash| {
            let entry = history.entry(version)?;
            // Another version in its place is reported as such.
            if entry.chain_hash.to_string() != chain_hash {
                return None;
            }
            match &self.reviews {
                Some(reviews) => reviews.kinds.get(&version).copied(),
                None => entry.event_at().map(|_| NamedKind::Step(StepKind::Event)),
            }
        });
        found.into_iter().for_each(|found| self.push(found));
    }

    /// Returns the checkpoint whose event published or retired a version.
    fn checkpoint_of(&self, entry: &Entry) -> Option<CheckpointNumber> {
        match entry.state {
            EntryState::Published(_) => self.sealed.first_seal(entry.version),
            EntryState::Retired(at) => self.sealed.removal_at(at),
            EntryState::Unpublished => None,
        }
    }
}

fn code_of(kind: FaultKind) -> Code {
    match kind {
        FaultKind::Missing => Code::ApprovalMissing,
        FaultKind::SelfApproval => Code::ApprovalSelf,
        FaultKind::Unauthorised => Code::ApprovalUnauthorised,
        FaultKind::Altered => Code::ApprovalAltered,
    }
}

/// Reports versions that other versions of their event contradict (REV-32), except in the events of
/// these checkpoints: of these, not all versions are known, and the rest may look contradictory.
pub(super) fn contradicted(
    decided: &[Decided],
    skipped: &BTreeSet<CheckpointNumber>,
) -> Vec<Finding> {
    let is_known = |one: &&Decided| !skipped.contains(&one.checkpoint());
    let decided: Vec<Decided> = decided.iter().filter(is_known).cloned().collect();
    let found = contradictions(&decided).into_iter();
    let finding = |Contradiction { checkpoint, id, version, fault }| {
        let found = Finding::new(code_of(fault.kind), id.history_path(), fault.message);
        found.id(&id).version(version).checkpoint(checkpoint)
    };
    found.map(finding).collect()
}

/// Reports sets with one part that was published while another was pending, or after another one
/// alone was rejected or withdrawn.
pub(super) fn split_changes(parts: &[ChangePart]) -> Vec<Finding> {
    let mut by_change: BTreeMap<&str, Vec<&ChangePart>> = BTreeMap::new();
    for part in parts {
        by_change.entry(&part.change).or_default().push(part);
    }
    let mut findings = Vec::new();
    for (change, parts) in by_change {
        for one in &parts {
            let (Some(sealed), Some(at)) = (one.sealed, one.to) else { continue };
            let left = parts.iter().find(|other| {
                let awaits = other.from < at && other.to.is_none_or(|to| to >= at);
                let is_refused = other.is_refused && other.to.is_some_and(|to| to > one.from);
                let is_alone = awaits || is_refused && other.from < at;
                other.id != one.id && is_alone && other.sealed != Some(sealed)
            });
            if let Some(left) = left {
                let message = format!(
                    "it was published without `{}`, which belongs to the same change `{change}`",
                    left.id
                );
                let path = one.id.history_path();
                let finding = Finding::new(Code::ApprovalMissing, path, message);
                findings.push(finding.id(&one.id).version(one.version).checkpoint(sealed.0));
            }
        }
    }
    findings
}
