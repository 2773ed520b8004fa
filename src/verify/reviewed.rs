//! The reviews of a governed vault, from the histories alone: every version that was published or
//! retired was approved as the rules in force before it ask (`spec/verify.md`, section 9).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::artifact::Pass;
use super::decided::Decided;
use super::finding::{Code, Finding};
use super::log::Seal;
use super::steps::Steps;
use crate::chain::history::{Entry, EntryState};
use crate::chain::replay;
use crate::chain::walk::Walk;
use crate::document::Document;
use crate::document::review::{Action, ReviewFields, ReviewState};
use crate::model::id::DocumentId;
use crate::model::number::{CheckpointNumber, Version};
use crate::model::timestamp::Timestamp;
use crate::review::{Fault, FaultKind, MovedText, Rules, StepKind, Track};
use crate::vault::Vault;

/// The reviews of one history, as far as it was read.
pub(super) struct Reviews {
    pub(super) track: Track,
    /// The versions that are steps of reviews.
    pub(super) steps: BTreeSet<Version>,
    /// What is wrong with the submission that awaits a decision; it counts once that is approved.
    submission: Vec<(Version, Fault)>,
}

impl Reviews {
    pub(super) fn new(id: &DocumentId) -> Self {
        Self { track: Track::new(id), steps: BTreeSet::new(), submission: Vec::new() }
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

/// What moves made of the documents that they retired, for each checkpoint at which a first version
/// may be the target of one.
#[derive(Debug, Default)]
pub(super) struct Moves {
    /// The artifacts that each checkpoint removes.
    removed: OnceLock<BTreeMap<CheckpointNumber, Vec<(DocumentId, Timestamp)>>>,
    found: Mutex<HashMap<CheckpointNumber, Once>>,
}

/// What the moves of one checkpoint publish, by its id.
type Once = Arc<OnceLock<HashMap<DocumentId, MovedText>>>;

impl Moves {
    /// What the approved moves of a checkpoint publish, each history of a source read once.
    fn of(&self, pass: &Pass<'_>, checkpoint: CheckpointNumber, rules: &Rules) -> Once {
        let cell = {
            // A thread that panicked has left whole entries.
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(found.entry(checkpoint).or_default())
        };
        cell.get_or_init(|| {
            let removed = self.removed.get_or_init(|| removals(pass)).get(&checkpoint);
            let made = removed.into_iter().flatten().filter_map(|(source, at)| {
                moved_away(pass.vault, (source, *at), rules, checkpoint.previous())
            });
            made.map(|made| (made.target.clone(), made)).collect()
        });
        cell
    }
}

fn removals(pass: &Pass<'_>) -> BTreeMap<CheckpointNumber, Vec<(DocumentId, Timestamp)>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (id, record) in pass.view.records.iter().filter(|(id, _)| id.is_document()) {
        for removal in &record.removals {
            found.entry(removal.checkpoint).or_default().push((id.clone(), removal.at));
        }
    }
    found
}

/// What the retirement of a document at an instant publishes under another id.
fn moved_away(
    vault: &Vault,
    (source, at): (&DocumentId, Timestamp),
    rules: &Rules,
    head: CheckpointNumber,
) -> Option<MovedText> {
    let history = replay::load(vault.files(), source).ok()?;
    let mut track = Track::new(source);
    let mut walk = Walk::new(vault.files(), source, &history);
    while let Some(step) = walk.next() {
        let version = step.version.ok()?;
        let text = version.text?;
        if version.entry.retired_at() == Some(at) {
            return track.moved((version.entry, text), rules, head);
        }
        track.step(version.entry, text);
    }
    None
}

impl Pass<'_> {
    /// Takes the next version of the history, and judges it where the vault was governed.
    pub(super) fn review(&mut self, entry: &Entry, text: &str) {
        let mut submission =
            self.reviews.as_mut().map(|r| std::mem::take(&mut r.submission)).unwrap_or_default();
        let Some(reviews) = &self.reviews else { return };
        let checkpoint = self.checkpoint_of(entry);
        let rules = checkpoint.and_then(|checkpoint| self.rules.review_before(checkpoint));
        let of_entry = |fault| (entry.version, fault);
        let mut faults = Vec::new();
        if let (Some(checkpoint), Some(_)) = (checkpoint, rules) {
            let decided = Decided::of(&reviews.track, (entry, text), checkpoint);
            self.checked.decided.push(decided);
        }
        if let Some(rules) = rules
            && !self.is_target_of_move((entry, text), rules)
        {
            let judged = reviews.track.judge(entry, text, rules);
            faults = judged.into_iter().map(of_entry).collect();
            // A retirement in an emergency approves nothing.
            if !is_in_state(text, ReviewState::Emergency) {
                faults.splice(..0, submission.drain(..));
                self.moved_away(entry, checkpoint);
            }
        } else if entry.state == EntryState::Unpublished
            && let Some(rules) = self.rules.review_at(entry.edited_at)
        {
            let judged = reviews.track.judge_step(entry, text, rules).into_iter().map(of_entry);
            match reviews.track.kind_of(entry, text) {
                StepKind::Submitted => submission = judged.collect(),
                StepKind::ApprovedInPart => {}
                _ => {
                    submission.clear();
                    faults = judged.collect();
                }
            }
        }
        self.take_step(entry, text, checkpoint);
        if let Some(reviews) = &mut self.reviews
            && entry.state == EntryState::Unpublished
        {
            reviews.submission = submission;
        }
        for (version, fault) in faults {
            let code = match fault.kind {
                FaultKind::Missing => Code::ApprovalMissing,
                FaultKind::SelfApproval => Code::ApprovalSelf,
                FaultKind::Unauthorised => Code::ApprovalUnauthorised,
                FaultKind::Altered => Code::ApprovalAltered,
            };
            self.find(code, version, fault.message);
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
        let emergency = reviews.track.emergency.as_ref();
        let is_emergency = emergency.is_some_and(|found| found.version == entry.version);
        if let Some((version, Some(change), from)) = before
            && after != Some(version)
        {
            let (id, to) = (self.id.clone(), Some(entry.edited_at));
            // A retirement in an emergency publishes nothing of a set.
            let sealed = checkpoint.filter(|_| kind == StepKind::Event && !is_emergency);
            let is_refused = matches!(kind, StepKind::Rejected | StepKind::Withdrawn);
            let part = ChangePart { change, id, version, from, to, is_refused, sealed };
            self.checked.parts.push(part);
        }
    }

    /// Takes the submission that awaits a decision at the end of the history.
    pub(super) fn review_end(&mut self, steps: &Steps) {
        self.unnamed_steps(steps);
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

    /// Notes the steps at the end of the history that no line of a change log names: they may be parts
    /// of a step whose writer was interrupted (REV-10).
    fn unnamed_steps(&mut self, steps: &Steps) {
        let Some(reviews) = self.reviews.as_ref().filter(|_| steps.is_begun()) else { return };
        let tail = reviews.track.tail.steps.iter();
        let unnamed = tail.filter(|(version, hash)| !steps.names(self.id, *version, hash));
        for version in unnamed.map(|(version, _)| *version).collect::<Vec<_>>() {
            let message =
                "no line of a change log names this step: its writer may have been interrupted";
            self.find(Code::Unfinished, version, message);
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

    /// Whether a first version is, byte for byte, what an approved move of its checkpoint publishes:
    /// then the submission of the source vouches for it.
    fn is_target_of_move(&self, (entry, text): (&Entry, &str), rules: &Rules) -> bool {
        let track = self.reviews.as_ref().map(|reviews| &reviews.track);
        let is_first =
            entry.version == Version::FIRST && track.is_none_or(|track| track.pending.is_none());
        if !is_first || !entry.is_published() || !is_in_state(text, ReviewState::Approved) {
            return false;
        }
        let Some(checkpoint) = self.checkpoint_of(entry) else { return false };
        let moves = self.moves.of(self, checkpoint, rules);
        let made = moves.get().and_then(|moves| moves.get(self.id));
        made.is_some_and(|made| made.text == text && made.by == entry.edited_by)
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

/// Whether a text says that a review has this state.
fn is_in_state(text: &str, state: ReviewState) -> bool {
    let document = Document::parse(text).ok();
    let fields = document.and_then(|document| ReviewFields::of(&document.frontmatter));
    fields.is_some_and(|fields| fields.state == state)
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
