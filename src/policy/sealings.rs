//! Whether what checkpoints seal and remove was approved, from the log and one history at a time.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;

use super::approvals::{Approvals, Taken};
use super::decided::{Contradiction, Decided, contradictions};
use super::in_force::InForce;
use super::moves::{Judge, Moves};
use crate::chain::error::{ChainError, Unapproved};
use crate::chain::history::{Entry, History};
use crate::chain::replay;
use crate::chain::walk::Walk;
use crate::checkpoint::record::{Record, Records, Removal, Searched};
use crate::checkpoint::state::Mark;
use crate::model::digest::Digest;
use crate::model::id::DocumentId;
use crate::model::number::{CheckpointNumber, Version};
use crate::review::{Fault, Track};
use crate::vault::files::Files;

/// Judges what the checkpoints of a log seal and remove.
#[derive(Debug)]
pub(crate) struct Sealings<'c> {
    records: Searched<'c>,
    in_force: OnceLock<InForce>,
    moves: Moves,
    /// What the versions of an event say of each other, by its checkpoint.
    events: Mutex<HashMap<CheckpointNumber, Event>>,
}

/// The versions of an event that others of it contradict, read once.
type Event = Arc<OnceLock<Vec<Contradiction>>>;

impl<'c> Sealings<'c> {
    /// Judges by these records.
    pub(crate) fn new(records: Searched<'c>) -> Self {
        let (in_force, moves, events) = Default::default();
        Self { records, in_force, moves, events }
    }

    /// The rules in force at each checkpoint.
    pub(crate) fn in_force(&self, files: &Files) -> &InForce {
        self.in_force.get_or_init(|| InForce::of(files, &self.records))
    }

    /// What is wrong with the approval of a version that a checkpoint seals. A version that was
    /// sealed first before the vault was governed needs none.
    pub(crate) fn version(
        &self,
        files: &Files,
        (id, history): (&DocumentId, &History),
        (version, chain_hash): (Version, &Digest),
    ) -> Option<ChainError> {
        if !self.in_force(files).was_governed() {
            return None;
        }
        let record = self.records.record(id);
        let mark = Mark::new(version, *chain_hash);
        let first = record.seals.iter().find(|seal| seal.mark == mark)?;
        self.in_force(files).rules_before(first.checkpoint)?;
        let recorded = history.entry(version).and_then(Entry::published_at);
        if let Some(recorded) = recorded.filter(|recorded| *recorded != first.at) {
            let bound = format!("the checkpoint that sealed it is of {}", first.at);
            return Some(ChainError::PublicationTime { recorded, bound });
        }
        self.judge(files, (id, history), &record, |entry| entry.version == version)
    }

    /// What is wrong with the approval of each event of a history, as far as the chain vouches for it.
    pub(crate) fn events(
        &self,
        files: &Files,
        (id, history): (&DocumentId, &History),
    ) -> BTreeMap<Version, ChainError> {
        let (mut found, in_force) = (BTreeMap::new(), self.in_force(files));
        if !in_force.was_governed() {
            return found;
        }
        let record = self.records.record(id);
        let judge = Judge { files, in_force, records: &self.records, moves: &self.moves };
        let mut approvals = Approvals::new(id);
        let mut walk = Walk::new(files, id, history);
        while let Some(step) = walk.next() {
            let Ok(Some((entry, text, fields))) = step.vouched() else { break };
            let event = record.event_of(entry);
            let fields = Some(fields.as_deref());
            let taken = approvals.take_described((entry, text, fields), event, &judge);
            let Some(decided) = taken.decided else { continue };
            let own = taken.faults.into_iter().next();
            let fault = own.or_else(|| {
                let event = self.event(files, decided.checkpoint());
                let of = event.get()?.iter().find(|one| one.is_of(&decided))?;
                Some((of.version, of.fault.clone()))
            });
            if let Some((version, fault)) = fault {
                found.insert(entry.version, unapproved(version, fault));
            }
        }
        found
    }

    /// The reviews of a history up to its end, with what is wrong with its approvals.
    ///
    /// # Errors
    /// The first version that the chain does not vouch for.
    pub(crate) fn track(
        &self,
        files: &Files,
        id: &DocumentId,
        history: &History,
    ) -> Result<Track, ChainError> {
        let in_force = self.in_force(files);
        Judge { files, in_force, records: &self.records, moves: &self.moves }.track(id, history)
    }

    /// What is wrong with the removal of an artifact that no later checkpoint seals.
    pub(crate) fn removal(&self, files: &Files, id: &DocumentId) -> Option<ChainError> {
        if !self.in_force(files).was_governed() {
            return None;
        }
        let record = self.records.record(id);
        self.removal_of(files, id, &record, record.removed()?)
    }

    /// What is wrong with the removal of an artifact by a checkpoint.
    pub(crate) fn removal_by(
        &self,
        files: &Files,
        id: &DocumentId,
        checkpoint: CheckpointNumber,
    ) -> Option<ChainError> {
        self.in_force(files).rules_before(checkpoint)?;
        let record = self.records.record(id);
        let removal = record.removals.iter().find(|removal| removal.checkpoint == checkpoint)?;
        self.removal_of(files, id, &record, *removal)
    }

    /// Every removal without a valid approval, in byte order of the ids.
    pub(crate) fn removals(&self, files: &Files) -> Vec<(DocumentId, ChainError)> {
        if !self.in_force(files).was_governed() {
            return Vec::new();
        }
        let removed = self.records.removed().into_par_iter();
        let judged = removed.filter_map(|(id, record)| {
            let found = self.removal_of(files, &id, &record, record.removed()?)?;
            Some((id, found))
        });
        judged.collect()
    }

    fn removal_of(
        &self,
        files: &Files,
        id: &DocumentId,
        record: &Record,
        Removal { checkpoint, at }: Removal,
    ) -> Option<ChainError> {
        self.in_force(files).rules_before(checkpoint)?;
        let unrecorded = || {
            let message = "the checkpoint removes it, but its history does not record a retirement"
                .to_owned();
            let version = record.seals.iter().filter_map(|seal| seal.mark.version).max();
            let version = version.unwrap_or_default();
            Some(Unapproved { code: "unrecorded-removal", version, message }.into())
        };
        let history = replay::load(files, id).ok();
        let retires = |entry: &Entry| entry.retired_at() == Some(at);
        let Some(history) = history.filter(|history| history.entries().any(&retires)) else {
            return unrecorded();
        };
        self.judge(files, (id, &history), record, retires)
    }

    /// What is wrong with the approval of the first version of a history that is asked for.
    fn judge(
        &self,
        files: &Files,
        (id, history): (&DocumentId, &History),
        record: &Record,
        is_it: impl Fn(&Entry) -> bool,
    ) -> Option<ChainError> {
        let decided = match self.decided(files, (id, history), record, is_it) {
            Ok(decided) => decided,
            Err(why) => return Some(why),
        };
        let event = self.event(files, decided.checkpoint());
        let found = event.get()?.iter().find(|one| one.is_of(&decided))?;
        Some(unapproved(found.version, found.fault.clone()))
    }

    /// What the versions of an event say of each other (REV-32).
    fn event(&self, files: &Files, checkpoint: CheckpointNumber) -> Event {
        let event = {
            // A thread that panicked has left whole entries.
            let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(events.entry(checkpoint).or_default())
        };
        event.get_or_init(|| {
            // On this thread alone: a thread that waits here must not begin another judgement.
            let changed = self.records.changed_by(checkpoint).into_iter();
            // What is wrong with another version alone is said of that one.
            let decided = changed.filter_map(|id| {
                let (history, record) = (replay::load(files, &id).ok()?, self.records.record(&id));
                let is_it = |entry: &Entry| record.event_of(entry) == Some(checkpoint);
                self.said(files, (&id, &history), &record, is_it).ok()?.decided
            });
            contradictions(&decided.collect::<Vec<_>>())
        });
        event
    }

    /// What the first version of a history that is asked for decided, if nothing is wrong with it.
    fn decided(
        &self,
        files: &Files,
        of: (&DocumentId, &History),
        record: &Record,
        is_it: impl Fn(&Entry) -> bool,
    ) -> Result<Decided, ChainError> {
        let taken = self.said(files, of, record, is_it)?;
        match taken.faults.into_iter().next() {
            Some((version, fault)) => Err(unapproved(version, fault)),
            None => taken.decided.ok_or(ChainError::HistoryMissing),
        }
    }

    fn said(
        &self,
        files: &Files,
        (id, history): (&DocumentId, &History),
        record: &Record,
        is_it: impl Fn(&Entry) -> bool,
    ) -> Result<Taken, ChainError> {
        let in_force = self.in_force(files);
        let judge = Judge { files, in_force, records: &self.records, moves: &self.moves };
        let mut approvals = Approvals::new(id);
        let mut walk = Walk::new(files, id, history);
        while let Some(step) = walk.next() {
            let mut version = match step.version {
                Ok(version) => version,
                Err(faults) => return Err(ChainError::Malformed(step.slot.line, faults.to_vec())),
            };
            // An approval is only as good as the steps that it is read from.
            if !version.lacks_nothing() {
                return Err(version.wrong.swap_remove(0));
            }
            let Some(text) = version.text else {
                approvals.lose();
                continue;
            };
            let entry = version.entry;
            let taken = approvals.take((entry, text), record.event_of(entry), &judge);
            if is_it(entry) {
                return Ok(taken);
            }
        }
        Err(ChainError::VersionMissing(history.last_version().unwrap_or_default().next()))
    }
}

fn unapproved(version: Version, fault: Fault) -> ChainError {
    Unapproved { code: fault.kind.code(), version, message: fault.message }.into()
}
