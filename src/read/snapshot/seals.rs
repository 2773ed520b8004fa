//! Which checkpoint sealed each version of an artifact first, from the index or from the log.

use std::collections::HashMap;

use super::CheckpointSource;
use crate::files::vault::Vault;
use crate::read::index::Life;
use crate::record::chain::history::History;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::fault::LogError;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// The first checkpoint that seals each version of an artifact; for a retirement, the one that
/// removes the artifact.
pub(crate) type Seals = HashMap<Version, CheckpointNumber>;

impl CheckpointSource {
    /// The first checkpoint that seals each version of an artifact.
    ///
    /// # Errors
    /// There is no usable index, and the log cannot be relied on.
    pub(crate) fn seals(
        &self,
        vault: &Vault,
        id: &DocumentId,
        history: &History,
    ) -> Result<Seals, LogError> {
        match self.lives(id) {
            Some(lives) => Ok(of_lives(&lives, history)),
            None => Ok(of_log(&self.log(vault)?.sound()?, id, history)),
        }
    }
}

/// The versions of a history that retire its artifact, by their instants.
fn retirements(history: &History) -> HashMap<Timestamp, Version> {
    history.entries().filter_map(|e| Some((e.retired_at()?, e.version))).collect()
}

/// The same from the log alone.
pub(crate) fn of_log(chronicle: &Chronicle<'_>, id: &DocumentId, history: &History) -> Seals {
    let retired = retirements(history);
    let mut seals = Seals::new();
    for checkpoint in chronicle.checkpoints() {
        if checkpoint.removed.contains(id)
            && let Some(version) = retired.get(&checkpoint.at)
        {
            seals.entry(*version).or_insert(checkpoint.number);
        }
        if let Some(version) = checkpoint.mark_of(id).and_then(|mark| mark.version) {
            seals.entry(version).or_insert(checkpoint.number);
        }
    }
    seals
}

fn of_lives(lives: &[Life], history: &History) -> Seals {
    let retired = retirements(history);
    let mut seals = Seals::new();
    let mut seal = |version: Version, checkpoint: CheckpointNumber| {
        let first = seals.entry(version).or_insert(checkpoint);
        *first = checkpoint.min(*first);
    };
    for life in lives {
        seal(life.version, life.born);
        let Some((ended, at)) = life.ended else { continue };
        // Where the next version takes its place, the artifact was not removed.
        let is_followed = lives.iter().any(|other| other.born == ended);
        if let Some(version) = retired.get(&at).filter(|_| !is_followed) {
            seal(*version, ended);
        }
    }
    seals
}
