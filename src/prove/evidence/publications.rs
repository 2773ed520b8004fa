//! Every publication and retirement in a period: the population from which an auditor takes a
//! sample (`spec/evidence.md`, section 5).

use std::collections::{BTreeMap, BTreeSet};

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::files::vault::Vault;
use crate::files::vault::files::Files;
use crate::policy::in_force::Sealings;
use crate::policy::rules::Reviewed;
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{Entry, EntryState};
use crate::record::chain::replay;
use crate::record::chain::walk::Walk;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::record::Searched;
use crate::record::checkpoint::state::Mark;
use crate::text::document::review::{ReviewFields, ReviewState};
use crate::values::codes::words;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

words! {
    /// Effect of an event on an artifact.
    #[derive(PartialOrd, Ord)]
    pub(crate) enum Act {
        /// A version was published.
        Published = "published",
        /// The artifact was retired.
        Retired = "retired",
        /// The artifact was removed from the maps, and its history does not record a retirement.
        Removed = "removed",
    }
}

/// One artifact in one event.
#[derive(Clone, Debug)]
pub(crate) struct Publication {
    /// Number of the checkpoint.
    pub(crate) checkpoint: CheckpointNumber,
    /// Time of the checkpoint.
    pub(crate) at: Timestamp,
    /// Hash of the checkpoint.
    pub(crate) checkpoint_hash: Digest,
    pub(crate) act: Act,
    pub(crate) id: DocumentId,
    /// Version, as recorded in the checkpoint or the retirement.
    pub(crate) version: Option<Version>,
    /// Entry of the version, if it exists.
    pub(crate) entry: Option<Entry>,
    /// Review of the version; `None` if it was not reviewed.
    pub(crate) reviewed: Option<Reviewed>,
    /// Retirement by one reviewer alone; `None` otherwise.
    pub(crate) emergency: Option<Emergency>,
    /// Field `author` of the version.
    pub(crate) author: Option<String>,
    /// Reason why the record does not verify; `None` if it does.
    pub(crate) why: Option<String>,
}

/// A retirement by one reviewer (REV-14).
#[derive(Clone, Debug)]
pub(crate) struct Emergency {
    /// Reason that the reviewer gave.
    pub(crate) reason: String,
    /// Entry that records the ratification by another reviewer; `None` until then.
    pub(crate) ratified: Option<Entry>,
}

/// Facts that a history proves about one version.
struct Fact {
    entry: Entry,
    reviewed: Option<Reviewed>,
    emergency: Option<Emergency>,
    author: Option<String>,
    /// Fault of the version or of a version before it.
    why: Option<String>,
}

/// Returns the publications in a half-open period, in the order of checkpoints and ids.
pub(crate) fn publications(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> Vec<Publication> {
    let faults = Faults::of(chronicle, vault.files());
    let is_in = |at: Timestamp| from.is_none_or(|from| at >= from) && to.is_none_or(|to| at < to);
    let events = chronicle.checkpoints().iter().copied();
    let changes = events.flat_map(|event| event.changes().map(move |change| (event, change)));
    let mut changes: Vec<_> = changes.filter(|(_, (_, at, _))| is_in(*at)).collect();
    // The changes of a merge have the times of their own events.
    changes.sort_by_key(|(event, (id, at, _))| (event.number, *at, *id));
    let ids: BTreeSet<&DocumentId> = changes.iter().map(|(_, (id, ..))| *id).collect();
    let ids: Vec<&DocumentId> = ids.into_iter().collect();
    let facts: BTreeMap<&DocumentId, Result<Vec<Fact>, String>> =
        ids.into_par_iter().map(|id| (id, facts(vault, id))).collect();
    let approvals = Sealings::new(Searched::new(chronicle.checkpoints().to_vec()));
    let mut rows = Vec::new();
    for (event, (id, at, mark)) in changes {
        let mut row = match &mark {
            Some(mark) => published((event, at), id, mark, &facts[id]),
            None => removed((event, at), id, &facts[id]),
        };
        if row.why.is_none() {
            row.why = unapproved(vault.files(), &approvals, event, &row, mark);
        }
        if let Some(why) = faults.at(event.number) {
            row.why = Some(why.to_owned());
        }
        rows.push(row);
    }
    rows
}

/// Returns the fault in the approval of an event of one artifact.
fn unapproved(
    files: &Files,
    approvals: &Sealings<'_>,
    event: &Checkpoint,
    row: &Publication,
    mark: Option<Mark>,
) -> Option<String> {
    let found = match mark.as_ref().and_then(Mark::sealed) {
        Some((version, hash)) => {
            let history = replay::load(files, &row.id).ok()?;
            approvals.version(files, (&row.id, &history), (version, &hash))
        }
        None => approvals.removal_by(files, &row.id, event.number),
    };
    found.map(|why| why.to_string())
}

/// Checkpoints whose hashes do not match, or were not compared.
struct Faults {
    wrong: BTreeSet<CheckpointNumber>,
    not_compared: Option<CheckpointNumber>,
}

impl Faults {
    fn of(chronicle: &Chronicle<'_>, files: &Files) -> Self {
        let mut faults = Self { wrong: BTreeSet::new(), not_compared: None };
        for fault in chronicle.hash_faults(files) {
            match fault {
                LogError::Hash { number, .. } => drop(faults.wrong.insert(number)),
                LogError::NotCompared { from } => faults.not_compared = Some(from),
                _ => {}
            }
        }
        faults
    }

    fn at(&self, number: CheckpointNumber) -> Option<&'static str> {
        if self.wrong.contains(&number) {
            return Some("the hash of the checkpoint does not follow from its maps");
        }
        let is_compared = self.not_compared.is_none_or(|from| number < from);
        (!is_compared).then_some("the hash of the checkpoint was not recomputed")
    }
}

fn published(
    event: (&Checkpoint, Timestamp),
    id: &DocumentId,
    mark: &Mark,
    facts: &Result<Vec<Fact>, String>,
) -> Publication {
    let found = facts
        .as_ref()
        .map(|facts| facts.iter().find(|fact| Some(fact.entry.version) == mark.version));
    let mismatch = |fact: &Fact| {
        let differs = mark.chain_hash != Some(fact.entry.chain_hash);
        let unpublished = !fact.entry.is_published();
        match (differs, unpublished) {
            (true, _) => Some("the history has another chain hash than the checkpoint".to_owned()),
            (_, true) => Some("the history does not record the version as published".to_owned()),
            _ => None,
        }
    };
    let (fact, why) = match found {
        Err(why) => (None, Some(why.clone())),
        Ok(None) => (None, Some("the history does not have the version".to_owned())),
        Ok(Some(fact)) => (Some(fact), fact.why.clone().or_else(|| mismatch(fact))),
    };
    row(event, Act::Published, (id, mark.version), fact, why)
}

fn removed(
    event: (&Checkpoint, Timestamp),
    id: &DocumentId,
    facts: &Result<Vec<Fact>, String>,
) -> Publication {
    let retirement = facts
        .as_ref()
        .map(|facts| facts.iter().find(|fact| fact.entry.retired_at() == Some(event.1)));
    let (act, fact, why) = match retirement {
        Err(why) => (Act::Removed, None, Some(why.clone())),
        Ok(None) => (
            Act::Removed,
            None,
            Some("the history does not record a retirement at that time".to_owned()),
        ),
        Ok(Some(fact)) => (Act::Retired, Some(fact), fact.why.clone()),
    };
    row(event, act, (id, fact.map(|fact| fact.entry.version)), fact, why)
}

fn row(
    (event, at): (&Checkpoint, Timestamp),
    act: Act,
    (id, version): (&DocumentId, Option<Version>),
    fact: Option<&Fact>,
    why: Option<String>,
) -> Publication {
    Publication {
        checkpoint: event.number,
        at,
        checkpoint_hash: event.hash,
        act,
        id: id.clone(),
        version,
        entry: fact.map(|fact| fact.entry.clone()),
        reviewed: fact.and_then(|fact| fact.reviewed.clone()),
        emergency: fact.and_then(|fact| fact.emergency.clone()),
        author: fact.and_then(|fact| fact.author.clone()),
        why,
    }
}

/// Returns the facts about each version of an artifact.
///
/// # Errors
/// Returns the reason why the history cannot be read.
fn facts(vault: &Vault, id: &DocumentId) -> Result<Vec<Fact>, String> {
    let files = vault.files();
    let history = replay::load(files, id).map_err(|why| why.explained(vault, id).to_string())?;
    let mut walk = Walk::new(files, id, &history);
    let mut facts: Vec<Fact> = Vec::new();
    let mut fault: Option<String> = None;
    while let Some(step) = walk.next() {
        let line = step.slot.line;
        let Ok(mut version) = step.version else {
            fault.get_or_insert_with(|| ChainError::Malformed(line, Vec::new()).to_string());
            continue;
        };
        let entry = version.entry.clone();
        let follows = facts.last().is_none_or(|last| last.entry.version.next() == entry.version);
        if fault.is_none() {
            let wrong = version.wrong.first().map(ToString::to_string);
            let gap =
                (!follows).then(|| format!("version {} is missing", entry.version.previous()));
            let text = || version_fault(&mut version);
            fault =
                wrong.or(gap).or_else(text).map(|why| format!("version {}: {why}", entry.version));
        }
        let fields = version.describe().ok().flatten().map(|said| said.fields);
        let review = fields.as_ref().and_then(|fields| fields.review.as_deref());
        let emergency = review.and_then(|review| emergency(&entry, review));
        if review.is_some_and(|review| is_ratification(&entry, review)) && fault.is_none() {
            ratify(&mut facts, &entry);
        }
        let reviewed = Reviewed::of(files, id, &history, entry.version, review);
        let author = fields.and_then(|fields| fields.author);
        facts.push(Fact { entry, reviewed, emergency, author, why: fault.clone() });
    }
    Ok(facts)
}

/// Returns the emergency retirement that a version makes by these review fields.
fn emergency(entry: &Entry, review: &ReviewFields) -> Option<Emergency> {
    let is_emergency = review.state == ReviewState::Emergency && entry.retired_at().is_some();
    let reason = review.reason.clone().unwrap_or_default();
    is_emergency.then_some(Emergency { reason, ratified: None })
}

/// Returns true if a version with these review fields ratifies the emergency before it.
fn is_ratification(entry: &Entry, review: &ReviewFields) -> bool {
    review.state == ReviewState::Ratified && entry.state == EntryState::Unpublished
}

/// Records the ratification of the last event, if that is an emergency that was not yet ratified.
fn ratify(facts: &mut [Fact], entry: &Entry) {
    let mut events = facts.iter_mut().rev().filter(|f| f.entry.state != EntryState::Unpublished);
    if let Some(emergency) = events.next().and_then(|fact| fact.emergency.as_mut()) {
        emergency.ratified.get_or_insert_with(|| entry.clone());
    }
}

/// Returns the reason why a text may not match its entry.
fn version_fault(version: &mut crate::record::chain::walk::Recomputed<'_, '_>) -> Option<String> {
    let said = version.check_text().and_then(|()| version.check_retirement());
    said.err().map(|why| why.to_string())
}
