//! First seal of each version of an artifact, from the index or from the log.

use std::collections::{HashMap, HashSet};

use super::CheckpointSource;
use crate::files::vault::Vault;
use crate::record::chain::history::{Entry, History};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::record::{Record, Records};
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// First checkpoint that seals each version of an artifact; for a retirement, the one that removes
/// the artifact.
pub(crate) type Seals = HashMap<Version, CheckpointNumber>;

impl CheckpointSource {
    /// Returns the first checkpoint that seals each version of an artifact.
    ///
    /// # Errors
    /// Fails if the index is missing or unusable, and the log is unreliable.
    pub(crate) fn seals(
        &self,
        vault: &Vault,
        id: &DocumentId,
        history: &History,
    ) -> Result<Seals, LogError> {
        match self.recorded(id) {
            Some(record) => Ok(of_record(&record, history)),
            None => Ok(of_log(&self.log(vault)?.sound()?, id, history)),
        }
    }

    /// Returns the versions that checkpoints seal and a history lacks, each with the first
    /// checkpoint that seals it. A retirement is `None`. A verifier reports the same.
    ///
    /// # Errors
    /// Fails if the log is unreliable.
    pub(crate) fn lacking(
        &self,
        vault: &Vault,
        id: &DocumentId,
        history: &History,
    ) -> Result<Vec<(CheckpointNumber, Option<Version>)>, LogError> {
        let is_whole = |record: &Record| lacking(record, history).is_empty();
        if self.recorded(id).as_ref().is_some_and(is_whole) {
            return Ok(Vec::new());
        }
        let log = self.log(vault)?;
        let chronicle = log.sound()?;
        Ok(lacking(&chronicle.own_record(id, history), history))
    }
}

fn lacking(record: &Record, history: &History) -> Vec<(CheckpointNumber, Option<Version>)> {
    // A malformed entry is reported as such.
    let mut known: HashSet<Version> =
        history.slots.iter().filter_map(|slot| slot.version).collect();
    let retired: HashSet<Timestamp> = history.entries().filter_map(Entry::retired_at).collect();
    let mut lacking = Vec::new();
    for seal in &record.seals {
        let version = seal.mark.version.filter(|version| known.insert(*version));
        lacking.extend(version.map(|version| (seal.checkpoint, Some(version))));
    }
    let removals = record.removals.iter().filter(|removal| !retired.contains(&removal.at));
    lacking.extend(removals.map(|removal| (removal.checkpoint, None)));
    lacking.sort_unstable();
    lacking
}

/// Returns the first seals from the log alone.
pub(crate) fn of_log(chronicle: &Chronicle<'_>, id: &DocumentId, history: &History) -> Seals {
    of_record(&chronicle.record(id), history)
}

fn of_record(record: &Record, history: &History) -> Seals {
    let retired: HashMap<Timestamp, Version> =
        history.entries().filter_map(|e| Some((e.retired_at()?, e.version))).collect();
    let sealed = record.seals.iter().filter_map(|seal| Some((seal.mark.version?, seal.checkpoint)));
    let removed = record.removals.iter();
    let removed = removed.filter_map(|one| Some((*retired.get(&one.at)?, one.checkpoint)));
    let mut seals = Seals::new();
    for (version, checkpoint) in sealed.chain(removed) {
        let first = seals.entry(version).or_insert(checkpoint);
        *first = checkpoint.min(*first);
    }
    seals
}
