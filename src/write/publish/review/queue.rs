//! The submissions and emergency retirements that await a decision, read from the histories of
//! the [`candidates`](super::candidates).

use std::collections::{BTreeSet, HashSet};

use rayon::prelude::*;

use super::super::PublishError;
use super::super::before_event::BeforeEvent;
use super::candidates::{Maps, candidates, unlisted};
use super::lines::StepLines;
use super::reasons::add_reason;
use super::{ReviewError, fault_of};
use crate::files::vault::Vault;
use crate::policy::in_force::{self, Judge, Moves};
use crate::policy::rules::{EmergencyRetirement, PastSubmission, Rules, SubmissionEnd, Track};
use crate::policy::stewards::Role;
use crate::policy::viewer::Viewer;
use crate::read::snapshot::{CheckpointSource, Need, Snapshot, Withheld};
use crate::record::chain::error::ChainError;
use crate::record::chain::history::Slot;
use crate::record::chain::replay;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::trusted_head;
use crate::text::document::review::Action;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::principal::{Principal, PrincipalKey};

/// A submission that needs more approvals, or a retirement that is ratified.
#[derive(Clone, Debug)]
pub struct Awaited {
    /// The artifact.
    pub id: DocumentId,
    /// True if this approval is recorded for it.
    pub is_new: bool,
    /// Number of approvals, including this one.
    pub found: usize,
    /// Number of approvals that are required; 0 if the retirement is ratified.
    pub required: u32,
    /// Name of the set that contains it.
    pub change: Option<String>,
}

impl Awaited {
    /// Creates the value of a retirement that is ratified.
    pub(super) fn ratified(track: &Track) -> Self {
        Self { id: track.id().clone(), is_new: true, found: 1, required: 0, change: None }
    }
}

/// The pending work of a vault.
#[derive(Debug)]
pub struct Queue {
    /// The rules in force.
    pub rules: Rules,
    /// Each artifact with a submission, or an emergency retirement, in byte order of the ids.
    pub waiting: Vec<Waiting>,
    /// The artifacts whose last step may be part of an interrupted one (REV-10), with its version.
    pub incomplete: Vec<(DocumentId, Version)>,
    /// The artifacts whose history cannot be read, so that it is unknown if they await a decision.
    pub withheld: Vec<Withheld>,
    /// The parts that left the sets of this work by an emergency retirement.
    pub left: Vec<LeftPart>,
}

/// A part of a set whose submission an emergency retirement ended.
#[derive(Clone, Debug)]
pub struct LeftPart {
    /// The document.
    pub id: DocumentId,
    /// The version that retired it.
    pub version: Version,
    /// Name of the set.
    pub change: String,
}

/// One artifact that awaits a decision.
#[derive(Debug)]
pub struct Waiting {
    /// The reviews of the artifact.
    pub track: Track,
    /// Number of approvals that are required.
    pub required: u32,
    /// True if this principal may approve it, or ratify the retirement if no text is submitted.
    pub is_mine: bool,
    /// True if it is listed for this principal.
    ///
    /// A principal is asked who may approve it, could approve it without its fault, or submitted it
    /// with a fault.
    pub is_asked: bool,
    /// True if this principal may ratify the emergency retirement, which a submission does not end.
    pub may_ratify: bool,
    /// The reason for which no reviewer can approve the submission: an approval is no longer
    /// valid (REV-13).
    pub lapsed: Option<String>,
}

/// Reads the pending work that the reader may see.
///
/// # Errors
/// The log or the configuration cannot be relied on, or the change logs cannot be read.
pub fn queue(
    vault: &Vault,
    source: &CheckpointSource,
    who: Option<&Principal>,
) -> Result<Queue, PublishError> {
    let (rules, waits, viewer) = found(vault, source)?;
    Ok(Queue::of((rules, waits), vault, who, viewer.as_ref()))
}

/// Reads all pending work, even if the reader may not see it.
///
/// Review can be turned off only if there is none.
///
/// # Errors
/// As [`queue`].
pub(super) fn whole_queue(vault: &Vault, who: Option<&Principal>) -> Result<Queue, PublishError> {
    let source = CheckpointSource::open(vault, Need::Versions, &mut |_, _| ())?;
    let (rules, waits, _) = found(vault, &source)?;
    Ok(Queue::of((rules, waits), vault, who, None))
}

/// The rules in force, the pending work, and the viewer of the head.
type Found = (Rules, Waits, Option<Viewer>);

fn found(vault: &Vault, source: &CheckpointSource) -> Result<Found, PublishError> {
    match of_index(vault, source)? {
        Some(found) => Ok(found),
        None => of_log(vault, source),
    }
}

impl Queue {
    /// Creates a queue of the pending work that the viewer may read.
    fn of(
        (rules, waits): (Rules, Waits),
        vault: &Vault,
        who: Option<&Principal>,
        viewer: Option<&Viewer>,
    ) -> Self {
        let readable = waits.waiting.iter().filter(|(_, track)| may_read(viewer, track));
        let change = |(_, track): &'_ (_, Track)| track.pending.as_ref()?.change.clone();
        let sets: BTreeSet<String> = readable.filter_map(change).collect();
        let left = sets.iter().flat_map(|set| waits.left(vault, set));
        let left = left.filter(|(_, track)| may_read(viewer, track)).map(|(part, _)| part);
        let left = left.collect();
        let Waits { waiting, incomplete, .. } = waits;
        let waiting = waiting.into_par_iter().filter(|(_, track)| may_read(viewer, track));
        let waiting = waiting.map(|(_, track)| Waiting::of(track, &rules, who)).collect();
        let mut queue = Self { rules, waiting, incomplete: Vec::new(), withheld: Vec::new(), left };
        for one in incomplete {
            match one.step {
                Ok((track, version)) if may_read(viewer, &track) => {
                    queue.incomplete.push((one.id, version));
                }
                Err(why) if viewer.is_none_or(|viewer| viewer.may_know(&one.id)) => {
                    queue.withheld.push(Withheld::new(vault, &one.id, why));
                }
                _ => {}
            }
        }
        queue
    }
}

/// Reads the pending work by an index, without the log; `None` if that lacks the rules in force.
fn of_index(vault: &Vault, source: &CheckpointSource) -> Result<Option<Found>, PublishError> {
    if !source.is_indexed() {
        return Ok(None);
    }
    let head = Snapshot::whole_of(vault, source, None)?;
    let Some((is_governed, rules)) = BeforeEvent::held(&head) else { return Ok(None) };
    if !is_governed {
        return Err(PublishError::Ungoverned);
    }
    if let Some(lost) = source.lost_rules(vault).into_iter().next() {
        let why = lost.fault(vault.files());
        return Err(PublishError::Policy { id: lost.id, why });
    }
    let found = waiting_in(vault, &Maps::Index { source, head: &head })?;
    Ok(Some((rules, found, source.viewer(vault)?)))
}

fn of_log(vault: &Vault, source: &CheckpointSource) -> Result<Found, PublishError> {
    let chronicle = source.log(vault)?.sound()?;
    let in_force = governed(vault, &chronicle)?;
    let state = chronicle.state_at(chronicle.head_number())?;
    let maps = Maps::Log { chronicle: &chronicle, state: &state, in_force: &in_force.timeline };
    let waits = waiting_in(vault, &maps)?;
    let viewer = Viewer::by_rules(vault, &chronicle, &in_force.timeline)?;
    Ok((in_force.rules(&chronicle), waits, viewer))
}

/// Returns the rules in force at the head of a governed vault.
fn governed(vault: &Vault, chronicle: &Chronicle<'_>) -> Result<BeforeEvent, PublishError> {
    let in_force = BeforeEvent::of(vault, chronicle)?;
    if !in_force.is_governed {
        return Err(PublishError::Ungoverned);
    }
    in_force.check_rules(vault, chronicle)?;
    Ok(in_force)
}

/// Returns the rules in force at the head; `None` in an ungoverned vault.
///
/// # Errors
/// The configuration or the stewards cannot be read.
pub fn rules_in_force(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
) -> Result<Option<Rules>, PublishError> {
    let in_force = BeforeEvent::of(vault, chronicle)?;
    in_force.check_rules(vault, chronicle)?;
    Ok(in_force.is_governed.then(|| in_force.rules(chronicle)))
}

/// The pending work of one artifact, with the other parts of its set.
#[derive(Debug)]
pub struct About {
    /// The rules in force.
    pub rules: Rules,
    /// The submission, or the emergency retirement.
    pub waiting: Waiting,
    /// The other artifacts of its set, in byte order.
    pub members: Vec<DocumentId>,
    /// Number of further artifacts of its set that the reader may not read.
    pub hidden: usize,
    /// The artifacts that left its set by an emergency retirement, if the reader may read them.
    pub left: Vec<DocumentId>,
    /// True if it has its approvals, but another part of its set lacks some.
    pub waits_for_others: bool,
    /// The reason for which no reviewer can approve it.
    pub fault: Option<String>,
    /// The version that ended it, if it no longer awaits a decision.
    pub end: Option<SubmissionEnd>,
}

/// The log of a governed vault, with the rules in force and the viewer.
struct AtHead<'a, 'l> {
    vault: &'a Vault,
    chronicle: &'a Chronicle<'l>,
    rules: Rules,
    in_force: in_force::InForce,
    viewer: Option<Viewer>,
}

impl<'a, 'l> AtHead<'a, 'l> {
    fn of(vault: &'a Vault, chronicle: &'a Chronicle<'l>) -> Result<Self, PublishError> {
        let in_force = governed(vault, chronicle)?;
        let viewer = Viewer::by_rules(vault, chronicle, &in_force.timeline)?;
        let rules = in_force.rules(chronicle);
        Ok(Self { vault, chronicle, rules, in_force: in_force.timeline, viewer })
    }

    fn may_read(&self, track: &Track) -> bool {
        may_read(self.viewer.as_ref(), track)
    }

    fn about(self, id: &DocumentId, who: &Principal) -> Result<About, PublishError> {
        let state = self.chronicle.state_at(self.chronicle.head_number())?;
        let in_force = &self.in_force;
        let maps = Maps::Log { chronicle: self.chronicle, state: &state, in_force };
        let waits = waiting_in(self.vault, &maps)?;
        let track = match waits.lines.track_of(self.vault, &maps, id) {
            Ok(track) => track.filter(is_waiting),
            Err(why) if self.viewer.as_ref().is_none_or(|viewer| viewer.may_know(id)) => {
                return Err(PublishError::Withheld(Withheld::new(self.vault, id, why)));
            }
            Err(_) => None,
        };
        let track = track.filter(|track| self.may_read(track));
        let track = track.ok_or_else(|| self.not_submitted(&waits, id))?;
        let rules = &self.rules;
        rules.require(who.as_str(), Role::Viewer, track.awaited()).map_err(ReviewError::from)?;
        let change = track.pending.as_ref().and_then(|pending| pending.change.clone());
        let is_member = |track: &&Track| {
            let of = track.pending.as_ref().and_then(|pending| pending.change.as_ref());
            track.id() != id && change.is_some() && of == change.as_ref()
        };
        let tracks = waits.waiting.iter().map(|(_, track)| track);
        let others: Vec<&Track> = tracks.filter(is_member).collect();
        let known = others.iter().filter(|track| self.may_read(track));
        let members: Vec<DocumentId> = known.map(|track| track.id().clone()).collect();
        let hidden = others.len() - members.len();
        let is_whole = |track: &Track| {
            let pending = track.pending.as_ref();
            pending.is_some_and(|pending| {
                let required = rules.required(track.subjects(pending)).required;
                pending.approvals.len() as u64 >= u64::from(required)
            })
        };
        let waits_for_others = is_whole(&track) && !others.iter().all(|other| is_whole(other));
        let fault = waits.unrecorded(&track).map(|why| why.to_string()).or_else(|| {
            let pending = track.pending.as_ref()?;
            let fault = fault_of(&self.in_force, &track, pending);
            Some(fault.or_else(|| track.lapsed(pending, rules))?.message)
        });
        let left = change.iter().flat_map(|set| waits.left(self.vault, set));
        let left = left.filter(|(_, track)| self.may_read(track)).map(|(part, _)| part.id);
        let left = left.collect();
        let waiting = Waiting::of(track, rules, Some(who));
        let rules = self.rules;
        Ok(About { rules, waiting, members, hidden, left, waits_for_others, fault, end: None })
    }

    /// Returns the error for an id without pending work.
    ///
    /// Pending parts of a change with this name, and moves to this id, are named.
    fn not_submitted(&self, waits: &Waits, id: &DocumentId) -> ReviewError {
        let is_named = |track: &&Track| {
            track.pending.as_ref().is_some_and(|pending| {
                let target = pending.action.as_ref().and_then(Action::target);
                pending.change.as_deref() == Some(id.as_str()) || target == Some(id)
            })
        };
        let named = waits.tracks().filter(is_named).filter(|track| self.may_read(track));
        let others = named.map(|track| track.id().clone()).collect();
        ReviewError::NotSubmitted { id: id.clone(), others }
    }

    fn about_version(
        self,
        id: &DocumentId,
        version: Version,
        who: &Principal,
    ) -> Result<About, PublishError> {
        let none = || ReviewError::NoSubmission { id: id.clone(), version };
        let is_known =
            self.viewer.as_ref().is_none_or(|viewer| is_readable(self.vault, viewer, id));
        let files = self.vault.files();
        if !is_known || !replay::has_files(files, id) {
            return Err(none().into());
        }
        let withheld = |why| PublishError::Withheld(Withheld::new(self.vault, id, why));
        let history = replay::load(files, id).map_err(withheld)?;
        let past = PastSubmission::of(files, id, &history, version).map_err(withheld)?;
        let past = past.filter(|past| self.may_read(&past.track)).ok_or_else(none)?;
        let Some(mut end) = past.end else { return self.about(id, who) };
        // The approvals of the versions before its end are judged, too.
        let is_before = |slot: &Slot| slot.version.is_some_and(|version| version < end.version);
        let mut until = history;
        until.slots.truncate(until.slots.iter().take_while(|slot| is_before(slot)).count());
        let moves = Moves::default();
        let judge =
            Judge { files, in_force: &self.in_force, records: self.chronicle, moves: &moves };
        let track = judge.track(id, &until).map_err(withheld)?;
        add_reason(self.vault, id, &mut end)?;
        let rules = self.rules;
        let by = track.pending.as_ref().map(|pending| PrincipalKey::of(&pending.by));
        if by != Some(who.key()) {
            rules
                .require(who.as_str(), Role::Editor, track.awaited())
                .map_err(ReviewError::from)?;
        }
        let waiting = Waiting::of(track, &rules, None);
        let (members, hidden, left, waits_for_others) = (Vec::new(), 0, Vec::new(), false);
        let (fault, end) = (None, Some(end));
        Ok(About { rules, waiting, members, hidden, left, waits_for_others, fault, end })
    }
}

/// Reads the pending work of one artifact, for a principal who may read it.
///
/// # Errors
/// As [`queue`]; or the artifact does not await a decision, or the principal lacks a role there.
pub fn about(vault: &Vault, id: &DocumentId, who: &Principal) -> Result<About, PublishError> {
    let log = trusted_head::open_log(vault)?;
    AtHead::of(vault, &log.sound()?)?.about(id, who)
}

/// Reads a submission by its version, pending or decided.
///
/// The submitter may read it, and principals who may edit or review its texts (REV-11).
///
/// # Errors
/// As [`about`]; or the version is not a submission.
pub fn about_version(
    vault: &Vault,
    id: &DocumentId,
    version: Version,
    who: &Principal,
) -> Result<About, PublishError> {
    let log = trusted_head::open_log(vault)?;
    AtHead::of(vault, &log.sound()?)?.about_version(id, version, who)
}

impl Waiting {
    fn of(track: Track, rules: &Rules, who: Option<&Principal>) -> Self {
        let required =
            track.pending.as_ref().map_or(1, |p| rules.required(track.subjects(p)).required);
        let may = who.is_some_and(|who| may_decide(&track, who, rules).is_ok());
        let may_ratify = || {
            let (who, emergency) = (who?, track.emergency.as_ref()?);
            may_ratify(&track, emergency, who, rules).ok()
        };
        let may_ratify = may_ratify().is_some();
        let lapsed = track.pending.as_ref().and_then(|pending| track.lapsed(pending, rules));
        let lapsed = lapsed.map(|fault| fault.message);
        let by = track.pending.as_ref().map(|pending| PrincipalKey::of(&pending.by));
        let is_own = by.is_some() && by == who.map(Principal::key);
        let is_asked = may || lapsed.is_some() && is_own;
        Self { track, required, is_mine: may && lapsed.is_none(), is_asked, may_ratify, lapsed }
    }
}

/// Checks that a principal may approve or ratify pending work.
///
/// # Errors
/// The reason, as a sentence.
pub fn may_decide(track: &Track, who: &Principal, rules: &Rules) -> Result<(), String> {
    let barred = |why: &str| Err(format!("{who} {why}"));
    match (&track.pending, &track.emergency) {
        (Some(pending), _) => {
            if let Some(why) = track.bars(pending, &who.key(), rules) {
                return barred(why.reason());
            }
            let fit = rules.require(who.as_str(), Role::Reviewer, track.awaited());
            fit.map_err(|why| why.to_string())?;
            // The other reasons of `Track::approver` were checked above.
            let by = pending.approvers();
            let required = rules.required(track.subjects(pending)).required;
            let is_enough = pending.change.is_none() && by.len() as u64 >= u64::from(required);
            match by.iter().any(|by| PrincipalKey::of(by) == who.key()) {
                // If no further approval is needed, one of the approvers publishes (REV-8).
                true if !is_enough => barred("approved it already"),
                _ => Ok(()),
            }
        }
        (None, Some(emergency)) => may_ratify(track, emergency, who, rules),
        (None, None) => barred("has nothing to decide"),
    }
}

/// Returns the principals who may decide about pending work: the stewards of its scope who are
/// not barred.
pub fn reviewers(track: &Track, rules: &Rules) -> Vec<String> {
    let Some((id, text)) = track.awaited().into_iter().next() else { return Vec::new() };
    // A reviewer needs the role for each text, so it is enough to look at the first text's scope.
    let Some(scope) = rules.stewards.scope_of(id, &rules.tags(id, text)) else { return Vec::new() };
    let holders = rules.stewards.holders(scope).into_iter();
    let may = holders.filter(|holder| may_decide(track, holder.principal, rules).is_ok());
    may.map(|holder| holder.principal.to_string()).collect()
}

/// Checks that a principal may ratify an emergency retirement.
///
/// The error is the reason, as a sentence.
fn may_ratify(
    track: &Track,
    emergency: &EmergencyRetirement,
    who: &Principal,
    rules: &Rules,
) -> Result<(), String> {
    if who.key() == PrincipalKey::of(&emergency.by) {
        return Err(format!("{who} retired it"));
    }
    let fit = rules.require(who.as_str(), Role::Reviewer, track.retired(&emergency.text));
    fit.map_err(|why| why.to_string())
}

/// The pending work, and possible parts of interrupted steps, read from the change logs
/// and histories.
pub(super) struct Waits {
    /// The pending work, in byte order of the ids.
    pub(super) waiting: Vec<(DocumentId, Track)>,
    /// The artifacts that cannot be decided about.
    pub(super) incomplete: Vec<Incomplete>,
    pub(super) lines: StepLines,
}

/// An artifact that cannot be decided about.
///
/// One of its last steps lacks a line, or its history cannot be read.
pub(super) struct Incomplete {
    pub(super) id: DocumentId,
    /// Name of the set of its last submission.
    pub(super) set: Option<String>,
    /// Its reviews and the first step without a line, or the reason for which its history cannot
    /// be read.
    pub(super) step: Result<(Track, Version), ChainError>,
}

impl Waits {
    /// Returns the first artifact without a line whose last submission belongs to one of
    /// these sets.
    ///
    /// No line names such a submission, so every history is read.
    pub(super) fn unlisted_in(&self, vault: &Vault, sets: &BTreeSet<String>) -> Option<Track> {
        let known: HashSet<&DocumentId> = self.known().collect();
        let mut found = unlisted(vault, &self.lines, |id| known.contains(id));
        found.retain(|track| track.tail.change.as_ref().is_some_and(|set| sets.contains(set)));
        found.into_iter().min_by(|a, b| a.id().cmp(b.id()))
    }

    fn known(&self) -> impl Iterator<Item = &DocumentId> {
        let waiting = self.waiting.iter().map(|(id, _)| id);
        waiting.chain(self.incomplete.iter().map(|one| &one.id))
    }

    /// Returns the reason to refuse an artifact: its last steps may be parts of an interrupted one,
    /// or a line decides it.
    pub(super) fn unrecorded(&self, track: &Track) -> Option<ReviewError> {
        let id = || track.id().clone();
        if let Some(version) = self.lines.first_unnamed(track) {
            return Some(ReviewError::Unrecorded { id: id(), version });
        }
        let version = track.awaited_version().filter(|_| self.lines.has_decided(track))?;
        Some(ReviewError::Decided { id: id(), version })
    }

    /// Returns the pending submissions, including those without a line.
    pub(super) fn tracks(&self) -> impl Iterator<Item = &Track> {
        let incomplete = self.incomplete.iter().filter_map(|one| Some(&one.step.as_ref().ok()?.0));
        self.waiting.iter().map(|(_, track)| track).chain(incomplete.filter(|t| is_waiting(t)))
    }

    /// Returns the number of other artifacts that await a decision.
    pub(super) fn others(&self, id: &DocumentId) -> usize {
        self.tracks().filter(|track| track.id() != id).count()
    }
}

/// Reads the pending work.
pub(super) fn waiting_in(vault: &Vault, maps: &Maps<'_>) -> Result<Waits, PublishError> {
    let lines = StepLines::read(vault, maps)?;
    let looked = candidates(vault, maps, &lines)?.into_par_iter().map(|id| {
        let track = lines.track_of(vault, maps, &id);
        (id, track)
    });
    let looked: Vec<(DocumentId, Result<Option<Track>, ChainError>)> = looked.collect();
    let (mut waiting, mut incomplete) = (Vec::new(), Vec::new());
    for (id, track) in looked {
        let set = lines.set_of(&id).map(str::to_owned);
        match track {
            Ok(None) => {}
            Err(why) => incomplete.push(Incomplete { id, set, step: Err(why) }),
            Ok(Some(track)) => match lines.first_unnamed(&track) {
                Some(version) => {
                    let set = track.tail.change.clone().or(set);
                    incomplete.push(Incomplete { id, set, step: Ok((track, version)) });
                }
                None if is_waiting(&track) => waiting.push((id, track)),
                None => {}
            },
        }
    }
    Ok(Waits { waiting, incomplete, lines })
}

fn is_waiting(track: &Track) -> bool {
    track.pending.is_some() || track.emergency.is_some()
}

/// Returns true if a reader may read the pending and published texts of an artifact.
fn may_read(viewer: Option<&Viewer>, track: &Track) -> bool {
    viewer.is_none_or(|viewer| viewer.may_read_track(track))
}

/// Returns true if a reader may learn about an artifact with a history.
pub(super) fn is_readable(vault: &Vault, viewer: &Viewer, id: &DocumentId) -> bool {
    let track = track_of(vault, id);
    let has_text = |track: &Track| is_waiting(track) || track.published.is_some();
    match track.filter(has_text) {
        Some(track) => may_read(Some(viewer), &track),
        None => viewer.may_know(id),
    }
}

pub(super) fn track_of(vault: &Vault, id: &DocumentId) -> Option<Track> {
    let history = replay::load(vault.files(), id).ok()?;
    Track::of(vault.files(), id, &history).ok()
}
