//! Judges the versions that checkpoints seal and remove, from the log and one history at a time.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;

use super::approvals::{Approvals, Taken};
use super::decided::{Contradiction, Decided, contradictions};
use super::moves::{Judge, Moves};
use super::timeline::InForce;
use crate::policy::rules::{Fault, Track};
use crate::record::chain::error::{ChainError, Unapproved};
use crate::record::chain::history::{Entry, History};
use crate::record::chain::replay::Histories;
use crate::record::chain::walk::Walk;
use crate::record::checkpoint::record::{Record, Records, Removal, Seal, Searched};
use crate::record::checkpoint::state::Mark;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};

/// Judges the versions that the checkpoints of a log seal and remove.
#[derive(Debug)]
pub(crate) struct Sealings<'c> {
    records: Searched<'c>,
    in_force: OnceLock<InForce>,
    moves: Moves,
    /// The contradictions between the versions of each event, by its checkpoint.
    events: Mutex<HashMap<CheckpointNumber, Event>>,
    /// True if each version is compared with the others of its event.
    compares_events: bool,
}

/// The versions of an event that others of it contradict, computed once.
type Event = Arc<OnceLock<Vec<Contradiction>>>;

impl<'c> Sealings<'c> {
    /// Creates a judge for these records.
    pub(crate) fn new(records: Searched<'c>) -> Self {
        let (in_force, moves, events) = Default::default();
        Self { records, in_force, moves, events, compares_events: false }
    }

    /// Compares each version with the others of its event, even if its own editor approved it.
    ///
    /// A verifier does so; a reader does not.
    pub(crate) fn comparing_events(self) -> Self {
        Self { compares_events: true, ..self }
    }

    /// Uses rules in force that are known already.
    pub(crate) fn under(self, in_force: InForce) -> Self {
        Self { in_force: OnceLock::from(in_force), ..self }
    }

    /// Returns the rules in force at each checkpoint.
    pub(crate) fn in_force(&self, files: &dyn Histories) -> &InForce {
        self.in_force.get_or_init(|| InForce::of(files, &self.records))
    }

    /// Returns the fault of the approval of a version that a checkpoint seals.
    ///
    /// A version that was first sealed before the vault was governed needs no approval.
    pub(crate) fn version(
        &self,
        files: &dyn Histories,
        (id, history): (&DocumentId, &History),
        (version, chain_hash): (Version, &Digest),
    ) -> Option<ChainError> {
        let mark = Mark::new(version, *chain_hash);
        self.versions(files, (id, history), &BTreeMap::from([(version, mark)])).remove(&version)
    }

    /// Returns the faults of several versions of a history, read in one walk.
    pub(crate) fn versions(
        &self,
        files: &dyn Histories,
        (id, history): (&DocumentId, &History),
        marks: &BTreeMap<Version, Mark>,
    ) -> BTreeMap<Version, ChainError> {
        let mut found = BTreeMap::new();
        let mut left = BTreeSet::new();
        for (version, mark) in marks {
            let Some(seal) = self.approved_by(files, id, *mark) else { continue };
            let recorded = history.entry(*version).and_then(Entry::published_at);
            match recorded.filter(|recorded| *recorded != seal.at) {
                Some(recorded) => {
                    let bound = format!("the time of the checkpoint that sealed it is {}", seal.at);
                    found.insert(*version, ChainError::PublicationTime { recorded, bound });
                }
                None => _ = left.insert(*version),
            }
        }
        if left.is_empty() {
            return found;
        }
        let record = self.records.record(id);
        let walked = self.walk(files, (id, history), &record, |entry, taken| {
            if left.remove(&entry.version) {
                let fault = self.fault_of(files, taken);
                found.extend(fault.map(|fault| (entry.version, fault)));
            }
            !left.is_empty()
        });
        // A fault of the history is reported for the first version after it.
        let mut broken = walked.err();
        for version in left {
            let why = broken.take().unwrap_or(ChainError::VersionMissing(version));
            found.insert(version, why);
        }
        found
    }

    /// Returns the first checkpoint that seals a version, if the version needs an approval.
    ///
    /// A version needs one if the vault was governed before that checkpoint.
    pub(crate) fn approved_by(
        &self,
        files: &dyn Histories,
        id: &DocumentId,
        mark: Mark,
    ) -> Option<Seal> {
        if !self.in_force(files).was_governed() {
            return None;
        }
        let record = self.records.record(id);
        let first = record.seals.iter().find(|seal| seal.mark == mark)?;
        self.in_force(files).rules_before(first.checkpoint)?;
        Some(*first)
    }

    /// Returns the record of an artifact in the log.
    pub(crate) fn record(&self, id: &DocumentId) -> Cow<'_, Record> {
        self.records.record(id)
    }

    /// Returns the artifacts that the event of a checkpoint publishes or retires.
    pub(crate) fn changed_by(&self, checkpoint: CheckpointNumber) -> Vec<DocumentId> {
        self.records.changed_by(checkpoint)
    }

    /// Returns the event that may have moved a document here.
    ///
    /// This is an event of a governed vault that publishes the first version and retires documents.
    pub(crate) fn moved_by(
        &self,
        files: &dyn Histories,
        id: &DocumentId,
    ) -> Option<CheckpointNumber> {
        let record = self.records.record(id);
        let first = record.seals.first().filter(|s| s.mark.version == Some(Version::FIRST))?;
        self.in_force(files).rules_before(first.checkpoint)?;
        (!self.retired_by(first.checkpoint).is_empty()).then_some(first.checkpoint)
    }

    fn retired_by(&self, checkpoint: CheckpointNumber) -> Vec<DocumentId> {
        let changed = self.records.changed_by(checkpoint).into_iter();
        let is_retired = |id: &DocumentId| {
            id.is_document() && self.records.record(id).removed_by().contains(&checkpoint)
        };
        changed.filter(is_retired).collect()
    }

    /// Returns the documents that an event retired, each with the event that retired it.
    ///
    /// If one of them may be the target of an earlier move, the documents retired by that event
    /// follow, and so on.
    pub(crate) fn sources(
        &self,
        files: &dyn Histories,
        event: CheckpointNumber,
    ) -> Vec<(DocumentId, CheckpointNumber)> {
        let (mut seen, mut waiting) = (BTreeSet::from([event]), vec![event]);
        let mut found = Vec::new();
        while let Some(event) = waiting.pop() {
            for source in self.retired_by(event) {
                waiting.extend(self.moved_by(files, &source).filter(|at| seen.insert(*at)));
                found.push((source, event));
            }
        }
        found
    }

    /// Returns the fault of each event of a history, up to the first version that is not
    /// vouched for.
    pub(crate) fn events(
        &self,
        files: &dyn Histories,
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
            if taken.decided.is_none() {
                continue;
            }
            if let Some(why) = self.fault_of(files, taken) {
                found.insert(entry.version, why);
            }
        }
        found
    }

    /// Returns the reviews of a history up to its end, with every event judged.
    ///
    /// # Errors
    /// The first version that the chain does not vouch for.
    pub(crate) fn track(
        &self,
        files: &dyn Histories,
        id: &DocumentId,
        history: &History,
    ) -> Result<Track, ChainError> {
        let in_force = self.in_force(files);
        Judge { files, in_force, records: &self.records, moves: &self.moves }.track(id, history)
    }

    /// Returns the fault of the removal of an artifact that no later checkpoint seals.
    pub(crate) fn removal(&self, files: &dyn Histories, id: &DocumentId) -> Option<ChainError> {
        if !self.in_force(files).was_governed() {
            return None;
        }
        let record = self.records.record(id);
        self.removal_of(files, id, &record, record.removed()?)
    }

    /// Returns the fault of the removal of an artifact by a checkpoint.
    pub(crate) fn removal_by(
        &self,
        files: &dyn Histories,
        id: &DocumentId,
        checkpoint: CheckpointNumber,
    ) -> Option<ChainError> {
        self.in_force(files).rules_before(checkpoint)?;
        let record = self.records.record(id);
        let removal = record.removals.iter().find(|removal| removal.checkpoint == checkpoint)?;
        self.removal_of(files, id, &record, *removal)
    }

    /// Returns every removal without a valid approval, in byte order of the ids.
    pub(crate) fn removals(&self, files: &dyn Histories) -> Vec<(DocumentId, ChainError)> {
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
        files: &dyn Histories,
        id: &DocumentId,
        record: &Record,
        Removal { checkpoint, at, .. }: Removal,
    ) -> Option<ChainError> {
        self.in_force(files).rules_before(checkpoint)?;
        let unrecorded = || {
            let message = "the checkpoint removes it, but its history does not record a retirement"
                .to_owned();
            let version = record.seals.iter().filter_map(|seal| seal.mark.version).max();
            let version = version.unwrap_or_default();
            Some(Unapproved { code: "unrecorded-removal", version, message, lost: None }.into())
        };
        let history = files.history(id).ok();
        let retires = |entry: &Entry| entry.retired_at() == Some(at);
        let Some(history) = history.filter(|history| history.entries().any(&retires)) else {
            return unrecorded();
        };
        self.judge(files, (id, &history), record, retires)
    }

    /// Returns the fault of the first version of a history that satisfies `is_it`.
    fn judge(
        &self,
        files: &dyn Histories,
        (id, history): (&DocumentId, &History),
        record: &Record,
        is_it: impl Fn(&Entry) -> bool,
    ) -> Option<ChainError> {
        match self.said(files, (id, history), record, is_it) {
            Ok(taken) => self.fault_of(files, taken),
            Err(why) => Some(why),
        }
    }

    /// Returns the fault of a version.
    ///
    /// If its editor is not one of its approvers, the other versions of its event must show an
    /// approval by the editor. An event can have very many versions, so a reader compares only in
    /// this case.
    fn fault_of(&self, files: &dyn Histories, taken: Taken) -> Option<ChainError> {
        if let Some((version, fault)) = taken.faults.into_iter().next() {
            return Some(unapproved(version, fault));
        }
        let Some(decided) = taken.decided else { return Some(ChainError::HistoryMissing) };
        if decided.is_own() && !self.compares_events {
            return None;
        }
        let event = self.event(files, decided.checkpoint());
        let found = event.get()?.iter().find(|one| one.is_of(&decided))?;
        Some(unapproved(found.version, found.fault.clone()))
    }

    /// Returns the contradictions between the versions of an event (REV-32).
    fn event(&self, files: &dyn Histories, checkpoint: CheckpointNumber) -> Event {
        let event = {
            // Entries are inserted whole, so the map is usable even if a thread panicked.
            let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(events.entry(checkpoint).or_default())
        };
        event.get_or_init(|| {
            // Runs on this thread alone: a thread that waits here must not begin another judgement.
            let changed = self.records.changed_by(checkpoint).into_iter();
            // A fault of another version alone is reported for that version.
            // A merge may change one artifact several times.
            let changed: BTreeSet<DocumentId> = changed.collect();
            let decided = changed.iter().filter_map(|id| {
                let history = files.history(id).ok()?;
                Some(self.decided(files, (id, &history), checkpoint))
            });
            let decided = decided.flatten();
            contradictions(&decided.collect::<Vec<_>>())
        });
        event
    }

    /// Returns the version of an artifact that the event of a checkpoint made, or, for a merge, the
    /// versions that it carries.
    ///
    /// Versions after the first one that cannot be read are left out. Nothing is judged: an event can
    /// contain a hundred thousand documents.
    fn decided(
        &self,
        files: &dyn Histories,
        (id, history): (&DocumentId, &History),
        checkpoint: CheckpointNumber,
    ) -> Vec<Decided> {
        let (record, mut track) = (self.records.record(id), Track::new(id));
        let seals = record.seals.iter().map(|seal| (seal.checkpoint, seal.at));
        let removals = record.removals.iter().map(|removal| (removal.checkpoint, removal.at));
        let mut left = seals.chain(removals).filter(|(number, _)| *number == checkpoint).count();
        let (mut walk, mut found) = (Walk::new(files, id, history), Vec::new());
        while let Some(step) = walk.next().filter(|_| left > 0) {
            let version = step.version.ok().filter(|version| version.wrong.is_empty());
            let Some((entry, text)) = version.and_then(|one| Some((one.entry, one.text?))) else {
                break;
            };
            let fields = track.review_fields(text);
            if record.event_of(entry) == Some(checkpoint) {
                // The recorded time of a version may be altered, the time in the log may not.
                let is_it = |seal: &&Seal| seal.mark.version == Some(entry.version);
                let sealed = record.seals.iter().find(is_it).map(|seal| seal.at);
                let event = entry.retired_at().or(sealed).map(|at| (checkpoint, at));
                let fields = fields.as_ref();
                found.extend(event.map(|event| Decided::of(&track, (entry, fields), event)));
                left -= 1;
            }
            track.take(entry, text, fields.as_ref());
        }
        found
    }

    fn said(
        &self,
        files: &dyn Histories,
        of: (&DocumentId, &History),
        record: &Record,
        is_it: impl Fn(&Entry) -> bool,
    ) -> Result<Taken, ChainError> {
        let mut found = None;
        self.walk(files, of, record, |entry, taken| {
            found = is_it(entry).then_some(taken);
            found.is_none()
        })?;
        let next = || of.1.last_version().unwrap_or_default().next();
        found.ok_or_else(|| ChainError::VersionMissing(next()))
    }

    /// Judges the versions of a history in order, until `goes_on` returns false.
    fn walk(
        &self,
        files: &dyn Histories,
        (id, history): (&DocumentId, &History),
        record: &Record,
        mut goes_on: impl FnMut(&Entry, Taken) -> bool,
    ) -> Result<(), ChainError> {
        let in_force = self.in_force(files);
        let judge = Judge { files, in_force, records: &self.records, moves: &self.moves };
        let mut approvals = Approvals::new(id);
        let mut walk = Walk::new(files, id, history);
        while let Some(step) = walk.next() {
            let mut version = match step.version {
                Ok(version) => version,
                Err(faults) => return Err(ChainError::Malformed(step.slot.line, faults.to_vec())),
            };
            // An approval is valid only if the steps before it are intact.
            if !version.wrong.is_empty() {
                return Err(version.wrong.swap_remove(0));
            }
            let Some(text) = version.text else { continue };
            // The fields of an unreadable text are unknown.
            let described = version.describe().ok().flatten();
            let fields = described.and_then(|described| described.fields.review);
            let entry = version.entry;
            let of = (entry, text, Some(fields.as_deref()));
            let taken = approvals.take_described(of, record.event_of(entry), &judge);
            if !goes_on(entry, taken) {
                break;
            }
        }
        Ok(())
    }
}

fn unapproved(version: Version, fault: Fault) -> ChainError {
    let Fault { kind, message, lost } = fault;
    Unapproved { code: kind.code(), version, message, lost }.into()
}
