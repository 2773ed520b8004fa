//! Which artifacts may await a decision. The lines of steps in the change logs name every submission
//! and every retirement in an emergency, so that only the histories of these are read. Where the
//! change logs do not say everything, all histories are looked at.

use rayon::prelude::*;

use super::lines::{OfArtifact, StepLines};
use crate::audit::{HeadRef, changes};
use crate::chain::history::EntryState;
use crate::chain::replay;
use crate::checkpoint::chronicle::Chronicle;
use crate::checkpoint::state::PublishedSet;
use crate::model::id::DocumentId;
use crate::model::number::{CheckpointNumber, Version};
use crate::resolve::{CheckpointSource, Snapshot};
use crate::vault::Vault;
use crate::vault::files::FileError;

/// What the checkpoints say of an artifact.
pub(super) enum Maps<'m> {
    /// By an index.
    Index {
        /// It.
        source: &'m CheckpointSource,
        /// The last checkpoint.
        head: &'m Snapshot<'m>,
    },
    /// By the log.
    Log {
        /// It.
        chronicle: &'m Chronicle<'m>,
        /// The maps of the last checkpoint.
        state: &'m PublishedSet,
    },
}

/// The artifacts whose last submission the change logs do not name as decided, and no checkpoint
/// published or retired, in byte order.
///
/// # Errors
/// The change logs, or the folders of histories, cannot be read.
pub(super) fn candidates(
    vault: &Vault,
    maps: &Maps<'_>,
    lines: &StepLines,
) -> Result<Vec<DocumentId>, FileError> {
    if !lines.is_sound() || !changes::are_whole(vault)? {
        return Ok(unfinished(vault));
    }
    let open = lines.iter().filter(|(_, found)| found.begun > found.ended);
    let open = open.filter_map(|(id, found)| Some((id.parse::<DocumentId>().ok()?, found)));
    Ok(open.filter(|(id, found)| maps.leave_open(id, found)).map(|(id, _)| id).collect())
}

/// Every artifact whose history does not end with a published version.
fn unfinished(vault: &Vault) -> Vec<DocumentId> {
    let is_unfinished = |id: &DocumentId| {
        let history = replay::load(vault.files(), id).ok();
        let last = history.and_then(|history| Some(history.entries().next_back()?.state));
        last.is_some_and(|state| !matches!(state, EntryState::Published(_)))
    };
    let folders = vault.history_folders();
    let ids = folders.into_par_iter().filter_map(|dir| DocumentId::of_history_dir(&dir).ok());
    let mut ids: Vec<DocumentId> = ids.filter(is_unfinished).collect();
    ids.sort_unstable();
    ids
}

impl Maps<'_> {
    /// Whether no checkpoint decided what was begun.
    fn leave_open(&self, id: &DocumentId, named: &OfArtifact) -> bool {
        if let Some(published) = self.version(id) {
            return named.begun > published.0;
        }
        // What left the maps was decided with that, if it was submitted before. The number of a
        // checkpoint says so only if it is one of this log.
        let Some(removed) = self.removed(id).filter(|_| !named.is_emergency) else { return true };
        let is_before = |head: &HeadRef| {
            let number = CheckpointNumber(head.checkpoint);
            number < removed && self.hash_of(number).as_ref() == Some(&head.hash)
        };
        !named.head.as_ref().is_some_and(is_before)
    }

    /// The published version.
    pub(super) fn version(&self, id: &DocumentId) -> Option<Version> {
        match self {
            Self::Index { head, .. } => head.sealed(id).map(|(version, ..)| version),
            Self::Log { state, .. } => state.get(id.as_str()).and_then(|mark| mark.version),
        }
    }

    /// The last checkpoint that removed it from the maps.
    fn removed(&self, id: &DocumentId) -> Option<CheckpointNumber> {
        match self {
            Self::Index { source, .. } => {
                let lives = source.lives(id)?.into_iter();
                lives.filter_map(|life| Some(life.ended?.0)).max()
            }
            Self::Log { chronicle, .. } => {
                let mut checkpoints = chronicle.checkpoints().iter().rev();
                let found = checkpoints.find(|checkpoint| checkpoint.removed.contains(id));
                found.map(|checkpoint| checkpoint.number)
            }
        }
    }

    fn hash_of(&self, number: CheckpointNumber) -> Option<String> {
        match self {
            Self::Index { source, .. } => source.hash_of(number).map(|hash| hash.to_string()),
            Self::Log { chronicle, .. } => {
                chronicle.checkpoint(number).ok().map(|checkpoint| checkpoint.hash.to_string())
            }
        }
    }
}
