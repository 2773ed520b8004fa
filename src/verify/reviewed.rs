//! The reviews of a governed vault, from the histories alone: every version that was published or
//! retired was approved as the rules in force before it ask (`spec/verify.md`, section 9).

use std::collections::{BTreeMap, BTreeSet};

use super::artifact::Pass;
use super::finding::{Code, Finding};
use super::log::Seal;
use crate::chain::history::{Entry, EntryState};
use crate::chain::replay;
use crate::chain::walk::Walk;
use crate::document::Document;
use crate::document::frontmatter::one_or_many;
use crate::document::live_form::LiveForm;
use crate::document::review::{Action, ReviewFields};
use crate::model::id::DocumentId;
use crate::model::number::{CheckpointNumber, Version};
use crate::model::timestamp::Timestamp;
use crate::review::{FaultKind, StepKind, Track};
use crate::txn::stamp::moved_behind;
use crate::uri::{Target, Uri};

/// The reviews of one history, as far as it was read.
pub(super) struct Reviews {
    pub(super) track: Track,
    /// The versions that are steps of reviews.
    pub(super) steps: BTreeSet<Version>,
}

impl Reviews {
    pub(super) fn new(id: &DocumentId) -> Self {
        Self { track: Track::new(id), steps: BTreeSet::new() }
    }
}

/// A submission that belonged to a set, and how long it awaited a decision.
#[derive(Clone, Debug)]
pub(super) struct ChangePart {
    change: String,
    id: DocumentId,
    version: Version,
    from: Timestamp,
    /// When it was decided or replaced; none while it awaits.
    to: Option<Timestamp>,
    /// Whether it was rejected or withdrawn.
    is_refused: bool,
    /// The checkpoint that published or retired it.
    sealed: Option<CheckpointNumber>,
}

impl Pass<'_> {
    /// Takes the next version of the history, and judges it where the vault was governed.
    pub(super) fn review(&mut self, entry: &Entry, text: &str) {
        let Some(reviews) = &self.reviews else { return };
        let checkpoint = self.checkpoint_of(entry);
        let rules = checkpoint.and_then(|checkpoint| self.rules.review_before(checkpoint));
        let mut faults = Vec::new();
        if let Some(rules) = rules
            && !self.is_target_of_move(&reviews.track, entry, text, checkpoint)
        {
            faults = reviews.track.judge(entry, text, rules);
            self.moved_away(entry, checkpoint);
        } else if entry.state == EntryState::Unpublished
            && let Some(rules) = self.rules.review_at(entry.edited_at)
        {
            faults = reviews.track.judge_step(entry, text, rules);
        }
        self.take_step(entry, text, checkpoint);
        for fault in faults {
            let code = match fault.kind {
                FaultKind::Missing => Code::ApprovalMissing,
                FaultKind::SelfApproval => Code::ApprovalSelf,
                FaultKind::Unauthorised => Code::ApprovalUnauthorised,
                FaultKind::Altered => Code::ApprovalAltered,
            };
            self.find(code, entry.version, fault.message);
        }
    }

    /// Passes over a version whose text is lost.
    pub(super) fn lose_review(&mut self) {
        if let Some(reviews) = &mut self.reviews {
            reviews.track.lose();
        }
    }

    fn take_step(&mut self, entry: &Entry, text: &str, checkpoint: Option<CheckpointNumber>) {
        let Some(reviews) = &mut self.reviews else { return };
        let before = reviews.track.pending.as_ref();
        let before = before.map(|p| (p.version, p.change.clone(), p.at));
        let kind = reviews.track.step(entry, text);
        if !matches!(kind, StepKind::Event | StepKind::Other) {
            reviews.steps.insert(entry.version);
        }
        let after = reviews.track.pending.as_ref().map(|pending| pending.version);
        if let Some((version, Some(change), from)) = before
            && after != Some(version)
        {
            let (id, to) = (self.id.clone(), Some(entry.edited_at));
            let sealed = checkpoint.filter(|_| kind == StepKind::Event);
            let is_refused = matches!(kind, StepKind::Rejected | StepKind::Withdrawn);
            let part = ChangePart { change, id, version, from, to, is_refused, sealed };
            self.checked.parts.push(part);
        }
    }

    /// Takes the submission that awaits a decision at the end of the history.
    pub(super) fn review_end(&mut self) {
        let pending = self.reviews.as_ref().and_then(|reviews| reviews.track.pending.as_ref());
        if let Some(pending) = pending
            && let Some(change) = pending.change.clone()
        {
            let (id, version, from) = (self.id.clone(), pending.version, pending.at);
            let (to, is_refused, sealed) = (None, false, None);
            let part = ChangePart { change, id, version, from, to, is_refused, sealed };
            self.checked.parts.push(part);
        }
    }

    /// The checkpoint whose event published or retired a version.
    fn checkpoint_of(&self, entry: &Entry) -> Option<CheckpointNumber> {
        match entry.state {
            EntryState::Published(_) => self.sealed.first_seal(entry.version),
            EntryState::Retired(at) => self.sealed.removal_at(at),
            EntryState::Unpublished => None,
        }
    }

    /// Whether a first version is what an approved move makes of the document that it retires: then
    /// the submission of that one vouches for it.
    fn is_target_of_move(
        &self,
        track: &Track,
        entry: &Entry,
        text: &str,
        checkpoint: Option<CheckpointNumber>,
    ) -> bool {
        let is_first = entry.version == Version::FIRST && track.pending.is_none();
        is_first && entry.is_published() && self.moved_from(entry, text, checkpoint).is_some()
    }

    fn moved_from(
        &self,
        entry: &Entry,
        text: &str,
        checkpoint: Option<CheckpointNumber>,
    ) -> Option<()> {
        let document = Document::parse(text).ok()?;
        let fields = ReviewFields::of(&document.frontmatter)?;
        let origin = one_or_many(document.frontmatter.get("derived_from")).first()?.text()?;
        let source = match origin.parse::<Uri>().ok()?.target {
            Target::Document { id, .. } => id,
            _ => return None,
        };
        // The same checkpoint removes the source, so that the retirement is judged by the same rules.
        let removals = &self.view.records.get(&source)?.removals;
        let removal = removals.iter().find(|removal| Some(removal.at) == entry.published_at())?;
        if Some(removal.checkpoint) != checkpoint {
            return None;
        }
        let history = replay::load(self.vault.files(), &source).ok()?;
        let mut track = Track::new(&source);
        let mut walk = Walk::new(self.vault.files(), &source, &history);
        while let Some(step) = walk.next() {
            let version = step.version.ok()?;
            let found = version.text?;
            if version.entry.retired_at() == entry.published_at() {
                let action = track.pending.as_ref()?.action.as_ref()?;
                let retired = ReviewFields::of(&Document::parse(found).ok()?.frontmatter)?;
                let is_same = retired.approved_by == fields.approved_by
                    && retired.approved_at == fields.approved_at
                    && *action == Action::Move(self.id.clone());
                let form = LiveForm::of(&track.published.as_ref()?.text).into_text();
                return (is_same && is_moved(self.id, &form, text)).then_some(());
            }
            track.step(version.entry, found);
        }
        None
    }

    /// A move publishes its target with the event that retires its source.
    fn moved_away(&mut self, entry: &Entry, checkpoint: Option<CheckpointNumber>) {
        let pending = self.reviews.as_ref().and_then(|reviews| reviews.track.pending.as_ref());
        let Some(Action::Move(target)) = pending.and_then(|pending| pending.action.clone()) else {
            return;
        };
        let record = self.view.records.get(&target);
        let is_there = record.is_some_and(|record| {
            let is_first = |seal: &Seal| seal.mark.version == Some(Version::FIRST);
            let mut seals = record.seals.iter().filter(|seal| is_first(seal));
            seals.any(|seal| Some(seal.checkpoint) == checkpoint)
        });
        if entry.is_retirement() && !is_there {
            let message =
                format!("it was moved to `{target}`, which its checkpoint does not publish");
            self.find(Code::ApprovalAltered, entry.version, message);
        }
    }
}

/// Whether a text is what moving makes of the live form of a published one.
fn is_moved(id: &DocumentId, form: &str, text: &str) -> bool {
    let target = LiveForm::of(text);
    if target.is_untouched() {
        return target.text() == form;
    }
    let document = Document::of_live(form);
    document.is_ok_and(|document| moved_behind(id, form, &document, text).is_some())
}

/// Reports sets of which one part was published while another one awaited a decision, or after
/// another one alone was rejected or withdrawn.
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
                findings.push(finding.id(&one.id).version(one.version).checkpoint(sealed));
            }
        }
    }
    findings
}
