//! A log without faults: its checkpoints, the state at each of them, and the next checkpoint.

use std::collections::{BTreeMap, HashMap};

use super::event::Checkpoint;
use super::fault::{Duplicate, LogError};
use super::foreign::Part;
use super::log::Log;
use super::state::{Bound, Mark, PublishedSet};
use super::{codec, maps};
use crate::files::vault::config::LogForm;
use crate::files::vault::files::{Files, Stamp};
use crate::record::chain::replay;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// A log without faults.
#[derive(Clone, Debug)]
pub struct Chronicle<'l> {
    pub(super) log: &'l Log,
    pub(super) checkpoints: Vec<&'l Checkpoint>,
}

impl<'l> Chronicle<'l> {
    /// Returns the checkpoints in order.
    pub fn checkpoints(&self) -> &[&'l Checkpoint] {
        &self.checkpoints
    }

    /// Iterates over the checkpoints of side lines, in the order of the merges that brought them.
    pub(crate) fn sides(&self) -> impl Iterator<Item = &'l Checkpoint> + '_ {
        let sides = self.checkpoints.iter().flat_map(|checkpoint| checkpoint.sides());
        sides.map(|side| &side.checkpoint)
    }

    /// Returns the last checkpoint.
    pub fn head(&self) -> Option<&'l Checkpoint> {
        self.checkpoints.last().copied()
    }

    /// Returns the number of the last checkpoint; 0 for an empty log.
    pub fn head_number(&self) -> CheckpointNumber {
        CheckpointNumber::of_count(self.checkpoints.len())
    }

    /// Returns the chains that the last checkpoint binds, each with the line that it binds.
    pub fn bound(&self) -> BTreeMap<DocumentId, Mark> {
        let mut state = PublishedSet::default();
        self.checkpoints.iter().for_each(|checkpoint| state.bind(&checkpoint.bound));
        state.bound().clone()
    }

    /// Returns the checkpoint with a number.
    ///
    /// # Errors
    /// Fails if the log has no such checkpoint.
    pub fn checkpoint(&self, number: CheckpointNumber) -> Result<&'l Checkpoint, LogError> {
        let index = number.0.checked_sub(1).and_then(|n| usize::try_from(n).ok());
        index
            .and_then(|n| self.checkpoints.get(n).copied())
            .ok_or(LogError::Unknown { asked: number, last: self.head_number() })
    }

    /// Returns the hash of a checkpoint; `None` if the log has no such checkpoint.
    pub fn hash_of(&self, number: CheckpointNumber) -> Option<Digest> {
        self.checkpoint(number).ok().map(|checkpoint| checkpoint.hash)
    }

    /// Returns true if the log holds a checkpoint with a hash, on any line.
    pub(crate) fn holds(&self, hash: &Digest) -> bool {
        self.log.holds(hash)
    }

    /// Returns the state at a checkpoint, with its hash recomputed from the maps. Number 0 is the
    /// empty vault.
    ///
    /// # Errors
    /// Fails if the log has no such checkpoint, or if its hash does not follow.
    pub fn state_at(&self, number: CheckpointNumber) -> Result<PublishedSet, LogError> {
        let mut state = PublishedSet::default();
        if number == CheckpointNumber::NONE {
            return Ok(state);
        }
        let wanted = self.checkpoint(number)?;
        let mut previous = None;
        let mut retired = HashMap::new();
        for checkpoint in &self.checkpoints {
            self.check_forward(&state, &mut retired, checkpoint)?;
            checkpoint.apply(&mut state);
            if checkpoint.number == wanted.number {
                break;
            }
            previous = Some(&checkpoint.hash);
        }
        let found = state.hash(previous, wanted.number, wanted.at, wanted.triggered_by.as_str());
        if found != wanted.hash {
            return Err(LogError::Hash { number, expected: wanted.hash, found });
        }
        Ok(state)
    }

    /// Recomputes the hash of every checkpoint.
    ///
    /// # Errors
    /// Fails with the first checkpoint whose hash does not follow, or with the first one that was
    /// not recomputed.
    pub fn check_hashes(&self, files: &Files) -> Result<(), LogError> {
        self.hash_faults(files).into_iter().next().map_or(Ok(()), Err)
    }

    /// Returns a [`LogError::Hash`] for every checkpoint whose hash does not follow, within the
    /// bounds of CKPT-20. If the bounds end before the log does, the last error is
    /// [`LogError::NotCompared`]. `files` are those of the vault, with its histories.
    pub(crate) fn hash_faults(&self, files: &Files) -> Vec<LogError> {
        let compared = maps::compare(&self.checkpoints, &|id| replay::has_history(files, id));
        let fault = |(n, found): (usize, Digest)| {
            let checkpoint = self.checkpoints[n];
            LogError::Hash { number: checkpoint.number, expected: checkpoint.hash, found }
        };
        let rest = compared.end.and_then(|end| self.checkpoints.get(end));
        let rest = rest.map(|first| LogError::NotCompared { from: first.number });
        compared.faults.into_iter().map(fault).chain(rest).collect()
    }

    /// Refuses a checkpoint that goes back: to an older version than the published one, or, in a
    /// log in delta form, to one that was retired. `retired` maps an id to the least version after
    /// its removal.
    fn check_forward<'c>(
        &self,
        before: &PublishedSet,
        retired: &mut HashMap<&'c DocumentId, Version>,
        checkpoint: &'c Checkpoint,
    ) -> Result<(), LogError> {
        if before.is_empty() && before.bound().is_empty() && retired.is_empty() {
            return Ok(());
        }
        let version_of = |id: &DocumentId| before.get(id.as_str()).and_then(|mark| mark.version);
        for (id, mark) in &checkpoint.set {
            let least = version_of(id).or_else(|| retired.get(id).copied());
            if let (Some(version), Some(least)) = (mark.version, least)
                && version < least
                && !self.log.foreign.excuses(checkpoint.number, id)
            {
                let (number, id) = (checkpoint.number, id.clone());
                return Err(LogError::Regression { number, id, version });
            }
        }
        for (id, mark) in &checkpoint.bound {
            let least = before.bound().get(id).and_then(|mark| mark.version);
            if let (Some(version), Some(least)) = (mark.and_then(|mark| mark.version), least)
                && version < least
            {
                let (number, id) = (checkpoint.number, id.clone());
                return Err(LogError::Regression { number, id, version });
            }
        }
        if !self.log.form.is_shared() && !self.log.foreign.covers_removal(checkpoint.number) {
            for id in &checkpoint.removed {
                // The retirement has the next number, so a new publication has a number after that.
                retired.insert(id, version_of(id).unwrap_or_default().next().next());
            }
        }
        Ok(())
    }

    /// Returns the form of the log.
    pub fn form(&self) -> LogForm {
        self.log.form
    }

    /// Returns the path of the log file.
    pub fn path(&self) -> &'static str {
        self.log.path()
    }

    /// Returns the length of the log in bytes, without a torn end.
    pub fn length(&self) -> u64 {
        self.log.end.length
    }

    /// Returns the number of bytes after the last whole entry, from an incomplete append.
    pub fn torn(&self) -> usize {
        self.log.diagnosis.torn
    }

    /// Returns the last version of each artifact that any checkpoint seals, in the history that the
    /// artifact has now. The head need not contain the artifact.
    pub(crate) fn last_sealed<'i>(
        &self,
        files: &Files,
        ids: impl IntoIterator<Item = &'i DocumentId>,
    ) -> BTreeMap<&'i DocumentId, Version> {
        let mut wanted: BTreeMap<&DocumentId, (Version, CheckpointNumber)> =
            ids.into_iter().map(|id| (id, Default::default())).collect();
        for checkpoint in &self.checkpoints {
            for (id, _, mark) in checkpoint.changes() {
                let version = mark.and_then(|mark| mark.version);
                if let (Some((last, at)), Some(version)) = (wanted.get_mut(id), version) {
                    (*last, *at) = (version.max(*last), checkpoint.number);
                }
            }
        }
        let last = wanted.into_iter().map(|(id, last)| {
            let removals = || {
                let removes = |one: &&&Checkpoint| {
                    one.changes().any(|(changed, _, mark)| changed == id && mark.is_none())
                };
                let removing = self.checkpoints.iter().filter(removes);
                removing.map(|one| one.number).collect()
            };
            (id, self.log.foreign.last_of(files, id, last, &removals))
        });
        last.filter(|(_, version)| *version > Version::NONE).collect()
    }

    /// Returns the part of the log that is foreign.
    pub(crate) fn foreign_part(&self) -> Part {
        self.log.foreign.part()
    }

    /// Returns true if ctx made the first checkpoint.
    pub fn is_begun_by_ctx(&self) -> bool {
        let first = self.checkpoints.first();
        first.is_some_and(|first| first.seals_governance())
    }

    /// Returns the form of a duplicate log with the same content.
    pub fn duplicate(&self) -> Option<LogForm> {
        let is_same = self.log.diagnosis.duplicate == Some(Duplicate::Same);
        is_same.then(|| self.log.form.other())
    }

    /// Returns the log's form, the stamp that its file had before it was read, and the offset of
    /// the head's hash in it; `None` for an empty log.
    pub(crate) fn end(&self) -> Option<(LogForm, Stamp, u64)> {
        let stamp = self.log.stamp.filter(|stamp| stamp.length == self.log.end.length)?;
        Some((self.log.form, stamp, self.log.end.head_hash_at?))
    }

    /// Returns an error if no checkpoint can be appended; writers call it first.
    ///
    /// # Errors
    /// Fails with [`LogError::Torn`] or [`LogError::Spelling`].
    pub fn check_appendable(&self) -> Result<(), LogError> {
        let path = self.log.path();
        match (self.log.diagnosis.torn, self.log.end.appendable) {
            (0, true) => Ok(()),
            (0, false) => Err(LogError::Spelling { path }),
            (bytes, _) => Err(LogError::Torn { path, bytes }),
        }
    }

    /// Returns a new checkpoint after the head, and the bytes that append it. `state` is the state
    /// of the head, and becomes that of the new checkpoint.
    pub(crate) fn next(
        &self,
        state: &mut PublishedSet,
        at: Timestamp,
        triggered_by: DocumentId,
        (set, removed): (Vec<(DocumentId, Mark)>, Vec<DocumentId>),
        bound: Vec<Bound>,
    ) -> (Checkpoint, Append) {
        let number = self.head_number().next();
        let hash = Digest::of(b"");
        let mut checkpoint =
            Checkpoint { number, at, triggered_by, hash, set, removed, bound, merged: None };
        checkpoint.seal(state, self.head().map(|head| &head.hash));
        let bytes = codec::append(self.log.form, &self.log.end, &checkpoint, state);
        let append = Append { path: self.log.path(), length: self.log.end.length, bytes };
        (checkpoint, append)
    }

    /// Returns the whole log in one of its two forms, to compare or convert it.
    pub fn export(&self, form: LogForm) -> Vec<u8> {
        codec::export(form, &self.checkpoints)
    }
}

impl Chronicle<'_> {
    /// Returns the log from a checkpoint on in delta form, its first line with the complete maps,
    /// and the hash of the checkpoint before it. `None` if no checkpoint has the number, or if an
    /// artifact is in only one of the two maps, because that proves nothing.
    pub(crate) fn export_from(&self, first: CheckpointNumber) -> Option<(Option<Digest>, Vec<u8>)> {
        let first = self.checkpoint(first).ok()?;
        let (before, after): (Vec<&Checkpoint>, Vec<&Checkpoint>) =
            self.checkpoints.iter().partition(|checkpoint| checkpoint.number < first.number);
        let mut state = PublishedSet::default();
        before.iter().for_each(|checkpoint| checkpoint.apply(&mut state));
        first.apply(&mut state);
        let set: Vec<_> = state.iter().map(|(id, mark)| (id.clone(), *mark)).collect();
        let bound = state.bound().iter().map(|(id, mark)| (id.clone(), Some(*mark))).collect();
        let whole = Checkpoint { set, removed: Vec::new(), bound, ..first.clone() };
        let rest = after.into_iter().skip(1).cloned();
        // The hash of a merge binds its side lines, which no item of a bundle needs.
        let lines = std::iter::once(whole).chain(rest);
        let lines: Vec<Checkpoint> =
            lines.map(|line| Checkpoint { merged: None, ..line }).collect();
        let lines: Vec<&Checkpoint> = lines.iter().collect();
        let mut marks = lines.iter().flat_map(|checkpoint| checkpoint.whole_set());
        let is_whole = marks.all(|(_, mark)| mark.sealed().is_some());
        let previous = before.last().map(|checkpoint| checkpoint.hash);
        is_whole.then(|| (previous, codec::export(LogForm::Delta, &lines)))
    }
}

/// Bytes to append to the log, and the length it must have.
#[derive(Clone, Debug)]
pub(crate) struct Append {
    pub(crate) path: &'static str,
    pub(crate) length: u64,
    pub(crate) bytes: Vec<u8>,
}
