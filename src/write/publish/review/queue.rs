//! What awaits a decision, as it follows from the histories of the [`candidates`](super::candidates).

use std::collections::{BTreeSet, HashSet};

use rayon::prelude::*;

use super::super::PublishError;
use super::super::before_event::BeforeEvent;
use super::candidates::{Maps, candidates, unlisted};
use super::lines::StepLines;
use super::{ReviewError, fault_of};
use crate::files::vault::Vault;
use crate::policy::in_force;
use crate::policy::rules::{EmergencyRetirement, PastSubmission, Rules, SubmissionEnd, Track};
use crate::policy::stewards::Role;
use crate::policy::viewer::Viewer;
use crate::read::snapshot::{CheckpointSource, Need, Snapshot, Withheld};
use crate::record::chain::error::ChainError;
use crate::record::chain::replay;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::trusted_head;
use crate::text::document::review::Action;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::principal::{Principal, PrincipalKey};

/// A submission that an approval does not publish yet, or a retirement that is ratified.
#[derive(Clone, Debug)]
pub struct Awaited {
    /// The artifact.
    pub id: DocumentId,
    /// Whether this approval is recorded of it.
    pub is_new: bool,
    /// How many approved it, with this one.
    pub found: usize,
    /// How many have to; 0 where it is ratified.
    pub required: u32,
    /// The set that it belongs to.
    pub change: Option<String>,
}

impl Awaited {
    /// A retirement that is ratified.
    pub(super) fn ratified(track: &Track) -> Self {
        Self { id: track.id().clone(), is_new: true, found: 1, required: 0, change: None }
    }
}

/// What awaits a decision in a vault.
#[derive(Debug)]
pub struct Queue {
    /// The rules in force.
    pub rules: Rules,
    /// Each artifact with a submission, or an emergency retirement, in byte order of the ids.
    pub waiting: Vec<Waiting>,
    /// The artifacts whose last step may be a part of an interrupted one (REV-10), with its version.
    pub incomplete: Vec<(DocumentId, Version)>,
    /// The artifacts whose history cannot be read, so that it is unknown whether they await a decision.
    pub withheld: Vec<Withheld>,
}

/// One artifact that awaits a decision.
#[derive(Debug)]
pub struct Waiting {
    /// Its reviews.
    pub track: Track,
    /// How many approvals are required.
    pub required: u32,
    /// Whether this principal may approve it, or ratify the retirement if nothing is submitted.
    pub is_mine: bool,
    /// Whether this principal is asked about it: they may approve it, could if it had no fault, or
    /// submitted what has one.
    pub is_asked: bool,
    /// Whether this principal may ratify the retirement in an emergency, which a submission upon it
    /// does not end.
    pub may_ratify: bool,
    /// Why what is submitted cannot be approved by any reviewer: an approval counts no more (REV-13).
    pub lapsed: Option<String>,
}

/// Reads what awaits a decision.
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

/// The same for every reader: the mode ends only if nothing awaits a decision.
///
/// # Errors
/// As [`queue`].
pub(super) fn whole_queue(vault: &Vault, who: Option<&Principal>) -> Result<Queue, PublishError> {
    let source = CheckpointSource::open(vault, Need::Versions, &mut |_, _| ())?;
    let (rules, waits, _) = found(vault, &source)?;
    Ok(Queue::of((rules, waits), vault, who, None))
}

/// The rules in force, what awaits a decision, and who may read it.
type Found = (Rules, Waits, Option<Viewer>);

fn found(vault: &Vault, source: &CheckpointSource) -> Result<Found, PublishError> {
    match of_index(vault, source)? {
        Some(found) => Ok(found),
        None => of_log(vault, source),
    }
}

impl Queue {
    /// What of it awaits a decision, as far as it may be read.
    fn of(
        (rules, waits): (Rules, Waits),
        vault: &Vault,
        who: Option<&Principal>,
        viewer: Option<&Viewer>,
    ) -> Self {
        let Waits { waiting, incomplete, .. } = waits;
        let waiting = waiting.into_par_iter().filter(|(_, track)| may_read(viewer, track));
        let waiting = waiting.map(|(_, track)| Waiting::of(track, &rules, who)).collect();
        let mut queue = Self { rules, waiting, incomplete: Vec::new(), withheld: Vec::new() };
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

/// By an index, so that the log is not read: none where that does not say which rules are in force.
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

/// What is in force upon the head of a governed vault.
fn governed(vault: &Vault, chronicle: &Chronicle<'_>) -> Result<BeforeEvent, PublishError> {
    let in_force = BeforeEvent::of(vault, chronicle)?;
    if !in_force.is_governed {
        return Err(PublishError::Ungoverned);
    }
    in_force.check_rules(vault, chronicle)?;
    Ok(in_force)
}

/// The rules in force upon the head; none in an ungoverned vault.
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

/// What awaits a decision of one artifact, with the other parts of its set.
#[derive(Debug)]
pub struct About {
    /// The rules in force.
    pub rules: Rules,
    /// The submission, or the emergency retirement.
    pub waiting: Waiting,
    /// The other artifacts of its set, in byte order.
    pub members: Vec<DocumentId>,
    /// How many further ones of its set its reader may not read.
    pub hidden: usize,
    /// Whether it has its approvals, and another part of its set has not.
    pub waits_for_others: bool,
    /// Why it cannot be approved by any reviewer.
    pub fault: Option<String>,
    /// How it ended, if it does not await a decision any more.
    pub end: Option<SubmissionEnd>,
}

/// The log of a governed vault, with the rules in force and who may read it.
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
        let waiting = Waiting::of(track, rules, Some(who));
        let rules = self.rules;
        Ok(About { rules, waiting, members, hidden, waits_for_others, fault, end: None })
    }

    /// That nothing of an id awaits a decision, with what does under its name: the parts of a change, or
    /// a move to it.
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
        let PastSubmission { track, end } = past;
        if end.is_none() {
            return self.about(id, who);
        }
        let rules = self.rules;
        let by = track.pending.as_ref().map(|pending| PrincipalKey::of(&pending.by));
        if by != Some(who.key()) {
            rules
                .require(who.as_str(), Role::Editor, track.awaited())
                .map_err(ReviewError::from)?;
        }
        let waiting = Waiting::of(track, &rules, None);
        let (members, hidden, waits_for_others) = (Vec::new(), 0, false);
        Ok(About { rules, waiting, members, hidden, waits_for_others, fault: None, end })
    }
}

/// Reads what awaits a decision of one artifact, for a principal who may read it.
///
/// # Errors
/// As [`queue`]; or nothing awaits a decision, or the principal has no role there.
pub fn about(vault: &Vault, id: &DocumentId, who: &Principal) -> Result<About, PublishError> {
    let log = trusted_head::open_log(vault)?;
    AtHead::of(vault, &log.sound()?)?.about(id, who)
}

/// Reads a submission by its version, decided or not, for its submitter and for those who may edit or
/// review its texts (REV-11).
///
/// # Errors
/// As [`about`]; or the version is no submission.
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

/// Refuses a principal who may not approve or ratify what awaits a decision, with the reason.
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
            // The other reasons of `Track::approver` are those above.
            let by = pending.approvers();
            let required = rules.required(track.subjects(pending)).required;
            let is_enough = pending.change.is_none() && by.len() as u64 >= u64::from(required);
            match by.iter().any(|by| PrincipalKey::of(by) == who.key()) {
                // One of the approvers publishes what needs no further approval (REV-8).
                true if !is_enough => barred("approved it already"),
                _ => Ok(()),
            }
        }
        (None, Some(emergency)) => may_ratify(track, emergency, who, rules),
        (None, None) => barred("has nothing to decide"),
    }
}

/// Every principal who may decide about what awaits a decision: the stewards of the scopes, less those
/// whom the rules bar.
pub fn reviewers(track: &Track, rules: &Rules) -> Vec<String> {
    let Some((id, text)) = track.awaited().into_iter().next() else { return Vec::new() };
    // A reviewer has the role for each of the texts: so it is one of the first text's.
    let Some(scope) = rules.stewards.scope_of(id, &rules.tags(id, text)) else { return Vec::new() };
    let holders = rules.stewards.holders(scope).into_iter();
    let may = holders.filter(|holder| may_decide(track, holder.principal, rules).is_ok());
    may.map(|holder| holder.principal.to_string()).collect()
}

/// Refuses a principal who may not ratify a retirement in an emergency, with the reason.
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

/// What awaits a decision, and what may be a part of an interrupted step, as the change logs and the
/// histories that they name say.
pub(super) struct Waits {
    /// What awaits, in byte order of the ids.
    pub(super) waiting: Vec<(DocumentId, Track)>,
    /// What nothing is decided about.
    pub(super) incomplete: Vec<Incomplete>,
    pub(super) lines: StepLines,
}

/// An artifact about which nothing is decided: no line names one of its last steps, or its history
/// cannot be read.
pub(super) struct Incomplete {
    pub(super) id: DocumentId,
    /// The set that its last submission belonged to.
    pub(super) set: Option<String>,
    /// Its reviews with the first step that no line names, or why its history cannot be read.
    pub(super) step: Result<(Track, Version), ChainError>,
}

impl Waits {
    /// The first artifact whose last submission belongs to one of these sets, and which no line
    /// names: what names the sets does not name it. Every history is looked at.
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

    /// Refuses an artifact whose last steps may be parts of an interrupted one, or which lines say
    /// was decided.
    pub(super) fn unrecorded(&self, track: &Track) -> Option<ReviewError> {
        let id = || track.id().clone();
        if let Some(version) = self.lines.first_unnamed(track) {
            return Some(ReviewError::Unrecorded { id: id(), version });
        }
        let of_pending = track.pending.as_ref().map(|pending| pending.version);
        let version = of_pending.or_else(|| Some(track.emergency.as_ref()?.version));
        let version = version.filter(|_| self.lines.has_decided(track))?;
        Some(ReviewError::Decided { id: id(), version })
    }

    /// The submissions that await a decision, whether or not they are whole.
    pub(super) fn tracks(&self) -> impl Iterator<Item = &Track> {
        let incomplete = self.incomplete.iter().filter_map(|one| Some(&one.step.as_ref().ok()?.0));
        self.waiting.iter().map(|(_, track)| track).chain(incomplete.filter(|t| is_waiting(t)))
    }

    /// How many others than this one await a decision.
    pub(super) fn others(&self, id: &DocumentId) -> usize {
        self.tracks().filter(|track| track.id() != id).count()
    }
}

/// Reads what awaits a decision.
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

/// Whether a reader may read what awaits a decision, and what is published of the artifact.
fn may_read(viewer: Option<&Viewer>, track: &Track) -> bool {
    viewer.is_none_or(|viewer| viewer.may_read_track(track))
}

/// Whether a reader may know of an artifact that has a history.
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
