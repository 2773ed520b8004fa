//! Exceptions for a log that ctx did not begin (`spec/checkpoint.md`, section 7).
//!
//! The reference implementation deletes a document together with its history, and begins another
//! history if the document is created again. Its log then seals versions that no history contains.
//! An attacker can write the same bytes as that program. Therefore each exception ends at the first
//! strict checkpoint, and a log that ctx began, or of a vault that was governed, has none.

use std::collections::{HashMap, HashSet};

use super::event::Checkpoint;
use super::fault::EntryFault;
use super::log::Log;
use super::state::Mark;
use crate::files::vault::config::{Config, LogForm};
use crate::files::vault::files::Files;
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{Entry, History};
use crate::record::chain::{replay, vouched};
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// The foreign part of a log (CKPT-40): the checkpoints before the first strict one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Foreign {
    part: Part,
    /// The checkpoints that have a document in only one map, before its first version.
    halves: HashSet<(CheckpointNumber, DocumentId)>,
    /// The checkpoints that go back to an older version of a document that was created again, each
    /// with the document.
    restarts: HashSet<(CheckpointNumber, DocumentId)>,
    /// The last version of the present history of each of these documents.
    last: HashMap<DocumentId, Version>,
}

/// Foreign checkpoints of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Part {
    /// No checkpoint.
    #[default]
    None,
    /// The checkpoints before the first strict one, which has this number and time.
    Before(CheckpointNumber, Timestamp),
    /// The whole log.
    Whole,
}

impl Foreign {
    /// Returns the foreign part of a log.
    pub(crate) fn of(
        entries: &[Result<Checkpoint, EntryFault>],
        form: LogForm,
        files: &Files,
    ) -> Self {
        let part = part(entries, form, files);
        let mut foreign = Self { part, ..Self::default() };
        if foreign.is_any() {
            foreign.find_restarts(entries, files);
        }
        foreign
    }

    /// Returns the range of foreign checkpoints.
    pub(crate) fn part(&self) -> Part {
        self.part
    }

    /// Returns true if the log has a foreign part.
    pub(crate) fn is_any(&self) -> bool {
        self.part != Part::None
    }

    /// Returns true if the log has a foreign part that ctx has not adopted yet.
    pub(crate) fn is_whole(&self) -> bool {
        self.part == Part::Whole
    }

    /// Returns true if a checkpoint is foreign.
    pub(crate) fn covers(&self, checkpoint: CheckpointNumber) -> bool {
        match self.part {
            Part::None => false,
            Part::Before(strict, _) => checkpoint < strict,
            Part::Whole => true,
        }
    }

    /// Returns true if a checkpoint is foreign, or is the first strict one, which removes deleted
    /// documents from the maps.
    pub(crate) fn covers_removal(&self, checkpoint: CheckpointNumber) -> bool {
        self.covers(checkpoint)
            || matches!(self.part, Part::Before(strict, _) if strict == checkpoint)
    }

    /// Returns true if a record with this time can be part of the foreign part.
    pub(crate) fn covers_time(&self, at: Timestamp) -> bool {
        self.part.covers_time(at)
    }

    /// Returns true if a checkpoint may have a document in only one of its maps.
    pub(crate) fn is_half(&self, checkpoint: CheckpointNumber, id: &DocumentId) -> bool {
        !self.halves.is_empty() && self.halves.contains(&(checkpoint, id.clone()))
    }

    /// Returns true if a checkpoint may go back to an older version of a document.
    pub(crate) fn excuses(&self, checkpoint: CheckpointNumber, id: &DocumentId) -> bool {
        !self.restarts.is_empty() && self.restarts.contains(&(checkpoint, id.clone()))
    }

    /// Returns the index at which the seals of a document's present history begin, among all of its
    /// seals in the order of the checkpoints. That is after the last foreign seal of a version that
    /// this history does not contain. The chain hash of a later seal binds everything before it, so
    /// an attacker cannot alter a history and have its seals attributed to an earlier one. Nor can
    /// an attacker truncate one: a history that contains an earlier seal was not begun again.
    /// `removals` are the checkpoints that remove the document from the maps.
    pub(crate) fn begin_of_history(
        &self,
        seals: impl Iterator<Item = (CheckpointNumber, Mark)>,
        removals: &[CheckpointNumber],
        history: Option<&History>,
    ) -> usize {
        if !self.is_any() {
            return 0;
        }
        let seals: Vec<(CheckpointNumber, Mark)> = seals.collect();
        let entries: HashMap<Version, &Entry> = history
            .map(|history| history.entries().map(|entry| (entry.version, entry)).collect())
            .unwrap_or_default();
        let has = |(_, mark): &(CheckpointNumber, Mark)| {
            let (version, hash) = mark.sealed()?;
            Some(entries.get(&version).is_some_and(|entry| entry.chain_hash == hash))
        };
        let is_other =
            |seal: &(CheckpointNumber, Mark)| self.covers(seal.0) && has(seal) == Some(false);
        let Some(last) = seals.iter().rposition(is_other) else { return 0 };
        // The last seal is compared with the history if there is one.
        let begin = last + usize::from(history.is_none() || last + 1 < seals.len());
        let is_cut = seals[..begin].iter().any(|seal| has(seal) == Some(true));
        let next = seals.get(last + 1).map(|(checkpoint, _)| *checkpoint);
        match is_cut || !self.is_deleted(seals[last].0, next, removals) {
            true => 0,
            false => begin,
        }
    }

    /// Returns true if the history that a foreign checkpoint seals may have been deleted before the
    /// first strict one. `next` is the next checkpoint that seals the document. A document that is
    /// still in the maps of the first strict checkpoint had its history then.
    pub(crate) fn is_deleted(
        &self,
        seal: CheckpointNumber,
        next: Option<CheckpointNumber>,
        removals: &[CheckpointNumber],
    ) -> bool {
        let removal = removals.iter().find(|removal| **removal > seal);
        self.covers(seal)
            && (self.is_whole()
                || next.is_some_and(|next| self.covers(next))
                || removal.is_some_and(|removal| self.covers_removal(*removal)))
    }

    /// Returns the last version of an artifact's present history that the log seals. The log seals
    /// `version` at most, and its last seal is in `checkpoint`.
    pub(super) fn last_of(
        &self,
        files: &Files,
        id: &DocumentId,
        (version, checkpoint): (Version, CheckpointNumber),
        removals: &dyn Fn() -> Vec<CheckpointNumber>,
    ) -> Version {
        if !self.is_any() || !id.is_document() {
            return version;
        }
        let is_deleted = || {
            self.covers(checkpoint)
                && !replay::has_history(files, id)
                && self.is_deleted(checkpoint, None, &removals())
        };
        match self.last.get(id) {
            Some(last) => *last,
            None if is_deleted() => Version::NONE,
            None => version,
        }
    }

    /// Keeps only the sealed versions of an artifact that belong to its present history.
    pub(crate) fn retain_present(
        &self,
        files: &Files,
        id: &DocumentId,
        log: &Log,
        versions: &mut Vec<Version>,
    ) {
        let has_history = replay::has_history(files, id);
        if !self.is_any() || !id.is_document() || has_history && !self.last.contains_key(id) {
            return;
        }
        let seals: Vec<(CheckpointNumber, Mark)> = log
            .entries
            .iter()
            .flatten()
            .filter_map(|entry| Some((entry.number, *entry.mark_of(id)?)))
            .collect();
        let entries = log.entries.iter().flatten();
        let removals: Vec<CheckpointNumber> =
            entries.filter(|entry| entry.removed.contains(id)).map(|entry| entry.number).collect();
        let history = match replay::load(files, id) {
            Ok(history) => Some(history),
            Err(ChainError::HistoryMissing) => None,
            Err(_) => return,
        };
        let begin = self.begin_of_history(seals.iter().copied(), &removals, history.as_ref());
        versions.retain(|version| {
            seals[begin..].iter().any(|(_, mark)| mark.version == Some(*version))
        });
    }

    fn find_restarts(&mut self, entries: &[Result<Checkpoint, EntryFault>], files: &Files) {
        // Each id with the highest version so far, and true if a later version was older, or if the
        // id was set again after a removal.
        let mut highest: HashMap<&DocumentId, (Version, bool)> = HashMap::new();
        let (mut removed, mut sealed) = (HashSet::new(), HashSet::new());
        for checkpoint in entries.iter().flatten() {
            removed.extend(&checkpoint.removed);
            for (id, mark) in checkpoint.set.iter().filter(|(id, _)| id.is_document()) {
                let Some(version) = mark.version else { continue };
                let is_first_half = mark.chain_hash.is_none() && !sealed.contains(id);
                if is_first_half && self.covers(checkpoint.number) {
                    self.halves.insert((checkpoint.number, id.clone()));
                }
                if mark.chain_hash.is_some() {
                    sealed.insert(id);
                }
                let (known, is_back) = highest.entry(id).or_insert((version, false));
                *is_back |= version < *known || removed.contains(id);
                *known = version.max(*known);
            }
        }
        let back: HashSet<&DocumentId> =
            highest.iter().filter(|(_, (_, is_back))| *is_back).map(|(id, _)| *id).collect();
        let mut seals: HashMap<&DocumentId, Vec<(CheckpointNumber, Mark)>> = HashMap::new();
        let mut removals: HashMap<&DocumentId, Vec<CheckpointNumber>> = HashMap::new();
        for checkpoint in entries.iter().flatten() {
            for id in checkpoint.removed.iter().filter(|id| back.contains(id)) {
                removals.entry(id).or_default().push(checkpoint.number);
            }
            for (id, mark) in checkpoint.set.iter().filter(|(id, _)| back.contains(id)) {
                seals.entry(id).or_default().push((checkpoint.number, *mark));
            }
        }
        for (id, seals) in seals {
            let history = match replay::load(files, id) {
                Ok(history) => Some(history),
                Err(ChainError::HistoryMissing) => None,
                Err(_) => continue,
            };
            let removals = removals.get(id).map_or(&[][..], Vec::as_slice);
            let begin = self.begin_of_history(seals.iter().copied(), removals, history.as_ref());
            let mut highest = Version::NONE;
            for (n, (checkpoint, mark)) in seals.into_iter().enumerate() {
                let Some(version) = mark.version else { continue };
                if n < begin || version >= highest {
                    self.restarts.insert((checkpoint, id.clone()));
                }
                if n >= begin {
                    highest = version.max(highest);
                }
            }
            self.last.insert(id.clone(), highest);
        }
    }
}

impl Part {
    /// Returns true if a record with this time can be part of a foreign checkpoint.
    pub(crate) fn covers_time(self, at: Timestamp) -> bool {
        match self {
            Self::None => false,
            Self::Before(_, strict) => at < strict,
            Self::Whole => true,
        }
    }
}

fn part(entries: &[Result<Checkpoint, EntryFault>], form: LogForm, files: &Files) -> Part {
    match entries.first() {
        Some(Ok(first)) if !first.seals_governance() => {}
        _ => return Part::None,
    }
    let config = DocumentId::config();
    let of_config = |checkpoint: &Checkpoint| {
        Some((checkpoint.number, checkpoint.at, *checkpoint.mark_of(&config)?))
    };
    let mut history = None;
    for (number, at, mark) in entries.iter().flatten().filter_map(of_config) {
        let history = history.get_or_insert_with(|| replay::load(files, &config));
        let (Ok(history), Some((version, hash))) = (history, mark.sealed()) else {
            return Part::None;
        };
        let text = vouched::sealed(files, &config, history, version, &hash);
        let Some(sealed) = text.ok().and_then(|sealed| Config::parse(&sealed.text).ok()) else {
            return Part::None;
        };
        if sealed.is_governed() {
            return Part::None;
        }
        if form == LogForm::Delta && sealed.checkpoint_log == Some(LogForm::Delta) {
            return Part::Before(number, at);
        }
    }
    match form {
        LogForm::Full => Part::Whole,
        LogForm::Delta => Part::None,
    }
}
