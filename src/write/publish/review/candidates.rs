//! The artifacts that may await a decision. The change logs name every submission and every
//! emergency retirement, so only the histories of these are read. If the change logs are
//! incomplete, all histories are read.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::super::PublishError;
use super::lines::{OfArtifact, StepLines};
use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::policy::in_force::{InForce, Judge, Moves};
use crate::policy::rules::Track;
use crate::read::snapshot::{CheckpointSource, Snapshot};
use crate::record::audit::{HeadRef, Logs, changes};
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{EntryState, History};
use crate::record::chain::replay;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::state::PublishedSet;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::AUDIT_DIR;
use crate::values::model::number::{CheckpointNumber, Version};

/// The source of the records about artifacts in checkpoints.
pub(super) enum Maps<'m> {
    /// An index.
    Index {
        /// The index.
        source: &'m CheckpointSource,
        /// The last checkpoint.
        head: &'m Snapshot<'m>,
    },
    /// The log.
    Log {
        /// The log.
        chronicle: &'m Chronicle<'m>,
        /// The maps of the last checkpoint.
        state: &'m PublishedSet,
        /// The rules in force at each checkpoint.
        in_force: &'m InForce,
    },
}

/// Returns the artifacts that may await a decision, in byte order.
///
/// These are artifacts whose last submission neither a line nor a checkpoint decides, and those
/// that an event without a line retired.
///
/// # Errors
/// The change logs, the log, or the folders of histories, cannot be read.
pub(super) fn candidates(
    vault: &Vault,
    maps: &Maps<'_>,
    lines: &StepLines,
) -> Result<Vec<DocumentId>, PublishError> {
    if !lines.is_sound() || !changes::are_whole(vault)? {
        return Ok(unfinished(vault));
    }
    let open = lines.iter().filter_map(|(id, found)| Some((id.parse::<DocumentId>().ok()?, found)));
    let open = open.filter(|(id, found)| maps.leave_open(id, found)).map(|(id, _)| id);
    let mut found: BTreeSet<DocumentId> = open.collect();
    found.extend(retired_without_line(vault, maps)?);
    Ok(found.into_iter().collect())
}

/// Returns the documents that were removed by events without a line.
///
/// Any of these may be an emergency retirement, whose line is written with that of its event.
fn retired_without_line(vault: &Vault, maps: &Maps<'_>) -> Result<Vec<DocumentId>, PublishError> {
    let mut removals = maps.removals(vault)?;
    if removals.is_empty() {
        return Ok(Vec::new());
    }
    let (mut named, mut first) = (BTreeSet::new(), u64::MAX);
    let logs = Logs::of_changes(vault);
    let read = logs.and_then(|logs| {
        logs.sealed(&mut |sealed| {
            first = first.min(sealed.checkpoint);
            named.insert((sealed.checkpoint, sealed.hash));
        })
    });
    read.map_err(FileError::io("read", AUDIT_DIR))?;
    // Before the first line no changes were recorded, and the vault was not governed.
    removals.retain(|(number, hash)| {
        number.0 > first && !named.contains(&(number.0, hash.to_string()))
    });
    let mut found = Vec::new();
    for (number, _) in removals {
        found.extend(maps.removed_by(vault, number)?);
    }
    Ok(found)
}

/// Returns the artifacts whose histories end in a step without a line, with their reviews.
///
/// Such artifacts may be parts of a set, but no line records it. Known artifacts are skipped.
pub(super) fn unlisted(
    vault: &Vault,
    lines: &StepLines,
    is_known: impl Fn(&DocumentId) -> bool + Sync,
) -> Vec<Track> {
    let track = |dir: String| {
        let id = DocumentId::of_history_dir(&dir).ok().filter(|id| !is_known(id))?;
        let history = replay::load(vault.files(), &id).ok()?;
        let last = history.entries().next_back()?;
        let is_step = last.state == EntryState::Unpublished;
        let is_unnamed = is_step && !lines.names(&id, last.version, &last.chain_hash);
        is_unnamed.then(|| Track::of(vault.files(), &id, &history).ok()).flatten()
    };
    vault.history_folders().into_par_iter().filter_map(track).collect()
}

/// Returns every artifact whose history cannot be read or does not end with a published version.
fn unfinished(vault: &Vault) -> Vec<DocumentId> {
    let is_unfinished = |id: &DocumentId| {
        let Ok(history) = replay::load(vault.files(), id) else { return true };
        let last = history.entries().next_back().map(|entry| entry.state);
        last.is_some_and(|state| !matches!(state, EntryState::Published(_)))
    };
    let folders = vault.history_folders();
    let ids = folders.into_par_iter().filter_map(|dir| DocumentId::of_history_dir(&dir).ok());
    let mut ids: Vec<DocumentId> = ids.filter(is_unfinished).collect();
    ids.sort_unstable();
    ids
}

impl Maps<'_> {
    /// Returns true if neither a line nor a checkpoint decides the last submission or emergency.
    fn leave_open(&self, id: &DocumentId, named: &OfArtifact) -> bool {
        let published = self.version(id);
        let is_open = |begun: u64, ended: u64| begun > ended.max(published.map_or(0, |v| v.0));
        // A history that was replaced by an older one counts its versions from there.
        if named.is_begun_again() && is_open(named.begun, 0) {
            return true;
        }
        if is_open(named.emergency, named.ratified) {
            return true;
        }
        if !is_open(named.begun, named.ended) || published.is_some() {
            return is_open(named.begun, named.ended);
        }
        // If the artifact left the maps, a submission before that was decided with it. The number
        // of a checkpoint proves this only if the checkpoint is in this log.
        let Some(removed) = self.removed(id) else { return true };
        let is_before =
            |head: &HeadRef| CheckpointNumber(head.checkpoint) < removed && self.hold(head);
        !named.head.as_ref().is_some_and(is_before)
    }

    /// Returns the reviews of an artifact, with every approval judged.
    ///
    /// # Errors
    /// The first version that the chain does not vouch for.
    pub(super) fn track(
        &self,
        vault: &Vault,
        id: &DocumentId,
        history: &History,
    ) -> Result<Track, ChainError> {
        let files = vault.files();
        match self {
            // An index records the artifacts without a valid approval.
            Self::Index { head, .. } => head.track(id, history),
            Self::Log { chronicle, in_force, .. } => {
                let moves = Moves::default();
                Judge { files, in_force, records: *chronicle, moves: &moves }.track(id, history)
            }
        }
    }

    /// Returns the published version of an artifact.
    pub(super) fn version(&self, id: &DocumentId) -> Option<Version> {
        match self {
            Self::Index { head, .. } => head.sealed(id).map(|(version, ..)| version),
            Self::Log { state, .. } => state.get(id.as_str()).and_then(|mark| mark.version),
        }
    }

    /// Returns the last checkpoint that removed an artifact from the maps.
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

    /// Returns the checkpoints that removed something, with their hashes.
    fn removals(&self, vault: &Vault) -> Result<Vec<(CheckpointNumber, Digest)>, LogError> {
        match self {
            Self::Index { source, .. } => {
                let events = source.events(vault)?.into_iter().filter(|event| event.removed > 0);
                Ok(events.map(|event| (event.number, event.hash)).collect())
            }
            Self::Log { chronicle, .. } => {
                let checkpoints = chronicle.checkpoints().iter();
                let removals = checkpoints.filter(|checkpoint| !checkpoint.removed.is_empty());
                Ok(removals.map(|checkpoint| (checkpoint.number, checkpoint.hash)).collect())
            }
        }
    }

    /// Returns the documents that a checkpoint removed.
    fn removed_by(
        &self,
        vault: &Vault,
        number: CheckpointNumber,
    ) -> Result<Vec<DocumentId>, LogError> {
        let of = |chronicle: &Chronicle<'_>| {
            let removed = chronicle.checkpoint(number)?.removed.iter();
            Ok(removed.filter(|id| id.is_document()).cloned().collect())
        };
        match self {
            Self::Index { source, .. } => of(&source.log(vault)?.sound()?),
            Self::Log { chronicle, .. } => of(chronicle),
        }
    }

    /// Returns true if the log contains a checkpoint with this hash.
    pub(super) fn hold(&self, head: &HeadRef) -> bool {
        self.hash_of(CheckpointNumber(head.checkpoint)).as_ref() == Some(&head.hash)
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
