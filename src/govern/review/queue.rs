//! What awaits a decision. Which artifacts to look at is known from the change logs, whose lines name
//! every submission; what awaits follows from the histories of these alone.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::super::PublishError;
use super::super::in_force::InForce;
use super::ReviewError;
use crate::audit::{Change, Event, Logs};
use crate::chain::replay;
use crate::checkpoint::chronicle::Chronicle;
use crate::checkpoint::state::PublishedSet;
use crate::model::id::DocumentId;
use crate::model::number::Version;
use crate::model::principal::{Principal, PrincipalKey};
use crate::resolve::readers::Readers;
use crate::review::{Rules, Track};
use crate::stewards::Role;
use crate::trust;
use crate::vault::Vault;
use crate::vault::files::FileError;

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
    let log = trust::open_log(vault)?;
    let chronicle = log.sound()?;
    let in_force = InForce::of(vault, &chronicle)?;
    if !in_force.is_governed {
        return Err(PublishError::Ungoverned);
    }
    let rules = in_force.rules(vault, &chronicle);
    let state = chronicle.state_at(chronicle.head_number())?;
    let mut found = waiting_in(vault, &chronicle, &state)?;
    let readers = Readers::of_log(vault, &chronicle)?;
    found.retain(|(_, track)| may_read(readers.as_ref(), track));
    let waiting = found.into_iter().map(|(_, track)| Waiting::of(track, &rules, who)).collect();
    Ok(Queue { rules, waiting })
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
    _chronicle: &Chronicle<'_>,
    state: &PublishedSet,
) -> Result<Vec<(DocumentId, Track)>, PublishError> {
    let candidates = candidates(vault, state)?;
    let tracks = candidates.into_par_iter().filter_map(|id| {
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

/// The artifacts whose last submission the change logs do not name as decided, and no checkpoint
/// holds as published; and those that were retired.
fn candidates(vault: &Vault, state: &PublishedSet) -> Result<Vec<DocumentId>, FileError> {
    // The last version that awaits, and the last that ends what awaits.
    let mut last: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    // A retirement may be one in an emergency whose own line was not written.
    let mut gone: BTreeSet<String> = BTreeSet::new();
    let logs = Logs::of_changes(vault);
    let read = logs.and_then(|logs| {
        logs.each(&mut |line| {
            let Event::Change(change) = &line.event else { return };
            if let Change::Event { ids, .. } = change {
                gone.extend(ids.iter().filter(|id| state.get(id).is_none()).cloned());
            }
            let is_end =
                matches!(change, Change::Reject(_) | Change::Withdraw(_) | Change::Ratify(_));
            let is_begin = matches!(
                change,
                Change::Submit(_) | Change::ApproveInPart(_) | Change::Emergency(_)
            );
            for version in change.versions().iter().filter(|_| is_end || is_begin) {
                let found = last.entry(version.id.clone()).or_default();
                match is_end {
                    true => found.1 = found.1.max(version.version),
                    false => found.0 = found.0.max(version.version),
                }
            }
        })
    });
    read.map_err(|why| FileError::Io {
        path: crate::model::layout::AUDIT_DIR.to_owned(),
        action: "read",
        source: why,
    })?;
    let is_open = |(id, (begun, ended)): &(String, (u64, u64))| {
        let published = state.get(id).and_then(|mark| mark.version).unwrap_or(Version::NONE);
        begun > ended && *begun > published.0
    };
    gone.extend(last.into_iter().filter(is_open).map(|(id, _)| id));
    Ok(gone.into_iter().filter_map(|id| id.parse().ok()).collect())
}
