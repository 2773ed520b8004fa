//! The record of one artifact in a log, over all checkpoints.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::chronicle::Chronicle;
use super::event::Checkpoint;
use super::state::Mark;
use crate::record::chain::history::{Entry, EntryState, History};
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;

/// One version of one artifact as a checkpoint seals it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seal {
    /// The number of the checkpoint.
    pub(crate) checkpoint: CheckpointNumber,
    /// The time of the checkpoint.
    pub(crate) at: Timestamp,
    /// The sealed version and its chain hash.
    pub(crate) mark: Mark,
}

/// The removal of an artifact from the maps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Removal {
    /// The number of the checkpoint.
    pub(crate) checkpoint: CheckpointNumber,
    /// The time of the event.
    pub(crate) at: Timestamp,
    /// The checkpoint that the event follows on its own line.
    pub(crate) head: CheckpointNumber,
}

/// The record of one artifact in a log, in the order of the checkpoints.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// The versions that checkpoints seal.
    pub(crate) seals: Vec<Seal>,
    /// The checkpoints that remove the artifact.
    pub(crate) removals: Vec<Removal>,
}

/// A source of the records of artifacts in a log.
pub(crate) trait Records: Sync {
    /// Returns the record of an artifact; empty if the log never names it.
    fn record(&self, id: &DocumentId) -> Cow<'_, Record>;

    /// Returns the documents that each event removes.
    fn removals(&self) -> Removals;
}

/// An event, by the checkpoint that brought it to the main line and its time: a merge brings several.
pub(crate) type Brought = (CheckpointNumber, Timestamp);

/// The documents that events remove, each with the checkpoint that the event follows on its own line.
pub(crate) type Removals = BTreeMap<Brought, Vec<(DocumentId, CheckpointNumber)>>;

impl Records for HashMap<DocumentId, Record> {
    fn record(&self, id: &DocumentId) -> Cow<'_, Record> {
        self.get(id).map_or_else(|| Cow::Owned(Record::default()), Cow::Borrowed)
    }

    fn removals(&self) -> Removals {
        let mut found = Removals::new();
        for (id, record) in self.iter().filter(|(id, _)| id.is_document()) {
            for removal in &record.removals {
                let event = (removal.checkpoint, removal.at);
                found.entry(event).or_default().push((id.clone(), removal.head));
            }
        }
        found
    }
}

impl Records for Chronicle<'_> {
    fn record(&self, id: &DocumentId) -> Cow<'_, Record> {
        Cow::Owned(Record::of(self.checkpoints(), id))
    }

    fn removals(&self) -> Removals {
        removals(self.checkpoints())
    }
}

impl Chronicle<'_> {
    /// Returns the record of the history that an artifact has now, without the records that the
    /// reference implementation may have written for an earlier one or dropped (CKPT-41).
    pub(crate) fn own_record(&self, id: &DocumentId, history: &History) -> Record {
        let mut record = self.record(id).into_owned();
        let foreign = &self.log.foreign;
        if id.is_document() {
            let seals = record.seals.iter().map(|seal| (seal.checkpoint, seal.mark));
            let begin = foreign.begin_of_history(seals, &record.removed_by(), Some(history));
            record.seals.drain(..begin);
            record
                .seals
                .retain(|seal| seal.mark.sealed().is_some() || !foreign.covers(seal.checkpoint));
            record.removals.retain(|removal| !foreign.covers_removal(removal.checkpoint));
        } else if self.form().is_shared() {
            record.removals.clear();
        }
        record
    }
}

fn removals(checkpoints: &[&Checkpoint]) -> Removals {
    let mut found = Removals::new();
    for checkpoint in checkpoints {
        let removed = checkpoint.changes().filter(|(_, _, mark)| mark.is_none());
        for (id, at, _) in removed.filter(|(id, ..)| id.is_document()) {
            let removed = (id.clone(), checkpoint.removed_after(id, at));
            found.entry((checkpoint.number, at)).or_default().push(removed);
        }
    }
    found
}

impl Record {
    /// Returns the record of an artifact in checkpoints, which are in the order of the log.
    pub(crate) fn of(checkpoints: &[&Checkpoint], id: &DocumentId) -> Self {
        let mut record = Self::default();
        for checkpoint in checkpoints {
            if checkpoint.merged.is_some() {
                let own = checkpoint.changes().filter(|(changed, ..)| *changed == id);
                own.for_each(|change| record.add(checkpoint, change));
            } else if let Some(mark) = checkpoint.mark_of(id) {
                record.add(checkpoint, (id, checkpoint.at, Some(*mark)));
            } else if checkpoint.removed.contains(id) {
                record.add(checkpoint, (id, checkpoint.at, None));
            }
        }
        record
    }

    /// Adds a change of the artifact by a checkpoint (see [`Checkpoint::changes`]).
    pub(crate) fn add(
        &mut self,
        by: &Checkpoint,
        (id, at, mark): (&DocumentId, Timestamp, Option<Mark>),
    ) {
        let checkpoint = by.number;
        match mark {
            Some(mark) => self.seals.push(Seal { checkpoint, at, mark }),
            None => {
                let head = by.removed_after(id, at);
                self.removals.push(Removal { checkpoint, at, head });
            }
        }
    }

    /// Returns the checkpoint whose event published or retired a version; `None` if there is none.
    pub(crate) fn event_of(&self, entry: &Entry) -> Option<CheckpointNumber> {
        match entry.state {
            EntryState::Published(_) => {
                // An earlier history may have had a version of this number (CKPT-41).
                let mark = Mark::new(entry.version, entry.chain_hash);
                let first = |is_it: &dyn Fn(&Mark) -> bool| {
                    self.seals.iter().find(|seal| is_it(&seal.mark)).map(|seal| seal.checkpoint)
                };
                first(&|sealed| *sealed == mark)
                    .or_else(|| first(&|sealed| sealed.version == mark.version))
            }
            EntryState::Retired(at) => self.removal_at(at),
            EntryState::Unpublished => None,
        }
    }

    /// Returns the checkpoints that remove the artifact from the maps.
    pub(crate) fn removed_by(&self) -> Vec<CheckpointNumber> {
        self.removals.iter().map(|removal| removal.checkpoint).collect()
    }

    /// Returns the last removal, if no later checkpoint seals the artifact.
    pub(crate) fn removed(&self) -> Option<Removal> {
        let removal = self.removals.last()?;
        let is_later = |seal: &Seal| seal.checkpoint > removal.checkpoint;
        (!self.seals.last().is_some_and(is_later)).then_some(*removal)
    }

    /// Returns the first checkpoint at exactly this time that removes the artifact.
    pub(crate) fn removal_at(&self, at: Timestamp) -> Option<CheckpointNumber> {
        let removal = self.removals.iter().find(|removal| removal.at == at);
        removal.map(|removal| removal.checkpoint)
    }
}

/// Records of a log. After several searches for single artifacts, all records are collected.
#[derive(Debug)]
pub(crate) struct Searched<'c> {
    checkpoints: Vec<&'c Checkpoint>,
    gathered: OnceLock<HashMap<DocumentId, Record>>,
    /// Number of searches of the log for one artifact.
    searches: AtomicUsize,
}

/// Number of searches for one artifact after which all records are collected.
const MANY: usize = 16;

impl<'c> Searched<'c> {
    /// Returns the records of these checkpoints, which are in the order of the log.
    pub(crate) fn new(checkpoints: Vec<&'c Checkpoint>) -> Self {
        Self { checkpoints, gathered: OnceLock::new(), searches: AtomicUsize::new(0) }
    }

    /// Returns the artifacts that a checkpoint sets or removes.
    pub(crate) fn changed_by(&self, checkpoint: CheckpointNumber) -> Vec<DocumentId> {
        let place = self.checkpoints.partition_point(|found| found.number < checkpoint);
        if let Some(found) = self.checkpoints.get(place).filter(|found| found.number == checkpoint)
        {
            return found.changes().map(|(id, ..)| id.clone()).collect();
        }
        let changes = |record: &Record| {
            let mut sealed = record.seals.iter().map(|seal| seal.checkpoint);
            sealed.any(|number| number == checkpoint) || record.removed_by().contains(&checkpoint)
        };
        let all = self.gathered.get().into_iter().flatten();
        all.filter(|(_, record)| changes(record)).map(|(id, _)| id.clone()).collect()
    }

    /// Returns every artifact that was removed, with its record, in byte order of the ids.
    pub(crate) fn removed(&self) -> Vec<(DocumentId, Record)> {
        let all = self.gathered.get_or_init(|| gather(&self.checkpoints));
        let removed = all.iter().filter(|(_, record)| record.removed().is_some());
        let mut removed: Vec<_> =
            removed.map(|(id, record)| (id.clone(), record.clone())).collect();
        removed.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        removed
    }
}

impl Searched<'static> {
    /// Returns the records of these checkpoints, without a reference to them.
    pub(crate) fn gathered(checkpoints: &[&Checkpoint]) -> Self {
        let gathered = OnceLock::from(gather(checkpoints));
        Self { checkpoints: Vec::new(), gathered, searches: AtomicUsize::new(0) }
    }
}

fn gather(checkpoints: &[&Checkpoint]) -> HashMap<DocumentId, Record> {
    let mut records: HashMap<DocumentId, Record> = HashMap::new();
    for checkpoint in checkpoints {
        for change in checkpoint.changes() {
            records.entry(change.0.clone()).or_default().add(checkpoint, change);
        }
    }
    records
}

impl Records for Searched<'_> {
    fn record(&self, id: &DocumentId) -> Cow<'_, Record> {
        if self.gathered.get().is_none() && self.searches.fetch_add(1, Ordering::Relaxed) < MANY {
            return Cow::Owned(Record::of(&self.checkpoints, id));
        }
        self.gathered.get_or_init(|| gather(&self.checkpoints)).record(id)
    }

    fn removals(&self) -> Removals {
        match self.gathered.get() {
            Some(gathered) => gathered.removals(),
            None => removals(&self.checkpoints),
        }
    }
}
