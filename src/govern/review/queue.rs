//! What awaits a decision, as it follows from the histories of the [`candidates`](super::candidates).

use rayon::prelude::*;

use super::super::PublishError;
use super::super::in_force::InForce;
use super::ReviewError;
use super::candidates::{Maps, candidates};
use crate::chain::replay;
use crate::checkpoint::chronicle::Chronicle;
use crate::checkpoint::state::PublishedSet;
use crate::model::id::DocumentId;
use crate::model::principal::{Principal, PrincipalKey};
use crate::resolve::readers::Readers;
use crate::resolve::{CheckpointSource, Need, Snapshot};
use crate::review::{Rules, Track};
use crate::stewards::Role;
use crate::trust;
use crate::vault::Vault;

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
}

/// One artifact that awaits a decision.
#[derive(Debug)]
pub struct Waiting {
    /// Its reviews.
    pub track: Track,
    /// How many approvals are required.
    pub required: u32,
    /// Whether this principal may decide it.
    pub is_mine: bool,
}

/// Reads what awaits a decision.
///
/// # Errors
/// The log or the configuration cannot be relied on, or the change logs cannot be read.
pub fn queue(vault: &Vault, who: Option<&Principal>) -> Result<Queue, PublishError> {
    let (rules, mut found, readers) = found(vault)?;
    found.retain(|(_, track)| may_read(readers.as_ref(), track));
    Ok(Queue::of(rules, found, who))
}

/// The same, whoever reads: for the state of the files of the working copy (REV-25).
///
/// # Errors
/// As [`queue`].
pub(super) fn whole_queue(vault: &Vault, who: Option<&Principal>) -> Result<Queue, PublishError> {
    let (rules, found, _) = found(vault)?;
    Ok(Queue::of(rules, found, who))
}

/// The rules in force, what awaits a decision, and who may read it.
type Found = (Rules, Vec<(DocumentId, Track)>, Option<Readers>);

fn found(vault: &Vault) -> Result<Found, PublishError> {
    let source = CheckpointSource::open(vault, Need::Versions, &mut |_, _| ())?;
    match of_index(vault, &source)? {
        Some(found) => Ok(found),
        None => of_log(vault, &source),
    }
}

impl Queue {
    fn of(rules: Rules, found: Vec<(DocumentId, Track)>, who: Option<&Principal>) -> Self {
        let waiting = found.into_iter().map(|(_, track)| Waiting::of(track, &rules, who)).collect();
        Self { rules, waiting }
    }
}

/// By an index, so that the log is not read: none where that does not say which rules are in force.
fn of_index(vault: &Vault, source: &CheckpointSource) -> Result<Option<Found>, PublishError> {
    if !source.is_indexed() {
        return Ok(None);
    }
    let head = Snapshot::whole_of(vault, source, None)?;
    let Some((is_governed, rules)) = InForce::held(vault, &head) else { return Ok(None) };
    if !is_governed {
        return Err(PublishError::Ungoverned);
    }
    let found = waiting_upon(vault, &Maps::Index { source, head: &head })?;
    Ok(Some((rules, found, Readers::of(vault, source)?)))
}

fn of_log(vault: &Vault, source: &CheckpointSource) -> Result<Found, PublishError> {
    let chronicle = source.log(vault)?.sound()?;
    let in_force = InForce::of(vault, &chronicle)?;
    if !in_force.is_governed {
        return Err(PublishError::Ungoverned);
    }
    let state = chronicle.state_at(chronicle.head_number())?;
    let found = waiting_in(vault, &chronicle, &state)?;
    Ok((in_force.rules(vault, &chronicle), found, Readers::of_log(vault, &chronicle)?))
}

/// The rules in force upon the head; none in an ungoverned vault.
///
/// # Errors
/// The configuration cannot be relied on.
pub fn rules_in_force(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
) -> Result<Option<Rules>, PublishError> {
    let in_force = InForce::of(vault, chronicle)?;
    Ok(in_force.is_governed.then(|| in_force.rules(vault, chronicle)))
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
}

/// Reads what awaits a decision of one artifact, for a principal who may read it.
///
/// # Errors
/// As [`queue`]; or nothing awaits a decision, or the principal has no role there.
pub fn about(vault: &Vault, id: &DocumentId, who: &Principal) -> Result<About, PublishError> {
    let log = trust::open_log(vault)?;
    let chronicle = log.sound()?;
    let in_force = InForce::of(vault, &chronicle)?;
    if !in_force.is_governed {
        return Err(PublishError::Ungoverned);
    }
    let readers = Readers::of_log(vault, &chronicle)?;
    let track = track_of(vault, id).filter(is_waiting);
    let track = track.filter(|track| may_read(readers.as_ref(), track));
    let track = track.ok_or_else(|| ReviewError::NotSubmitted(id.clone()))?;
    let rules = in_force.rules(vault, &chronicle);
    rules
        .require(who.as_str(), Role::Viewer, track.awaited())
        .map_err(|why| ReviewError::Unfit { id: id.clone(), why })?;
    let change = track.pending.as_ref().and_then(|pending| pending.change.clone());
    let members = match change {
        None => Vec::new(),
        Some(name) => {
            let state = chronicle.state_at(chronicle.head_number())?;
            let all = waiting_in(vault, &chronicle, &state)?.into_iter();
            let is_member = |track: &Track| {
                let is_known = may_read(readers.as_ref(), track);
                is_known && track.pending.as_ref().is_some_and(|p| p.change.as_ref() == Some(&name))
            };
            all.filter(|(other, track)| other != id && is_member(track)).map(|(id, _)| id).collect()
        }
    };
    let waiting = Waiting::of(track, &rules, Some(who));
    Ok(About { rules, waiting, members })
}

impl Waiting {
    fn of(track: Track, rules: &Rules, who: Option<&Principal>) -> Self {
        let required =
            track.pending.as_ref().map_or(1, |p| rules.required(track.subjects(p)).required);
        let is_mine = who.is_some_and(|who| may_decide(&track, who, rules).is_ok());
        Self { track, required, is_mine }
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
            match track.approver(pending, (who.as_str(), &pending.approvers()), rules).is_empty() {
                true => Ok(()),
                false => barred("approved it already"),
            }
        }
        (None, Some(emergency)) => {
            if who.key() == PrincipalKey::of(&emergency.by) {
                return barred("retired it");
            }
            let fit = rules.require(who.as_str(), Role::Reviewer, track.awaited());
            fit.map_err(|why| why.to_string())
        }
        (None, None) => barred("has nothing to decide"),
    }
}

/// Every artifact that awaits a decision, in byte order of the ids.
pub(super) fn waiting_in(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    state: &PublishedSet,
) -> Result<Vec<(DocumentId, Track)>, PublishError> {
    waiting_upon(vault, &Maps::Log { chronicle, state })
}

fn waiting_upon(vault: &Vault, maps: &Maps<'_>) -> Result<Vec<(DocumentId, Track)>, PublishError> {
    let tracks = candidates(vault, maps)?.into_par_iter().filter_map(|id| {
        let track = track_of(vault, &id).filter(is_waiting)?;
        Some((id, track))
    });
    Ok(tracks.collect())
}

fn is_waiting(track: &Track) -> bool {
    track.pending.is_some() || track.emergency.is_some()
}

/// Whether a reader may read what awaits a decision, and what is published of the artifact.
fn may_read(readers: Option<&Readers>, track: &Track) -> bool {
    let Some(readers) = readers else { return true };
    let pending = track.pending.iter().map(|pending| &pending.text);
    let published = track.published.iter().map(|published| &published.text);
    let emergency = track.emergency.iter().map(|emergency| &emergency.text);
    let mut texts = pending.chain(published).chain(emergency);
    texts.all(|text| readers.may_read(track.id(), text))
}

fn track_of(vault: &Vault, id: &DocumentId) -> Option<Track> {
    let history = replay::load(vault.files(), id).ok()?;
    Track::of(vault.files(), id, &history).ok()
}
