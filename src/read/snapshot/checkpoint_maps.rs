//! The maps of a checkpoint, from the log or from the index. A damaged index is dropped, and the
//! log answers instead.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Snapshot;
use crate::read::index::{At, Damaged, Held};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::state::{Mark, PublishedSet};
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;

/// Record of an artifact in a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recorded {
    pub(super) mark: Mark,
    /// Time when this version was first sealed.
    pub(super) sealed_at: Option<Timestamp>,
    /// True if an index has judged it as approved.
    pub(super) is_approved: bool,
}

impl Recorded {
    /// Converts the record of an index.
    pub(super) fn of_held(held: &Held) -> Self {
        let mark = Mark::new(held.version, held.chain_hash);
        Self { mark, sealed_at: Some(held.sealed_at), is_approved: held.is_approved }
    }
}

/// Maps of a checkpoint.
#[derive(Debug)]
pub(super) struct Map<'v> {
    /// Index, unless the log answers.
    index: Option<At<'v>>,
    damaged: OnceLock<()>,
    /// State of the log, or of the index after all of it was needed.
    state: OnceLock<PublishedSet>,
    /// State of a source that reads the log once for all snapshots.
    shared: Option<&'v PublishedSet>,
    checkpoints: Vec<&'v Checkpoint>,
    sealed: OnceLock<HashMap<DocumentId, Timestamp>>,
    /// Number of searches of the log for one artifact.
    searches: AtomicUsize,
    /// Artifacts that an index has judged as approved, if the map was taken from one.
    approved: HashSet<DocumentId>,
}

/// Number of searches of the log for one artifact after which all are collected.
const MANY: usize = 16;

impl<'v> Map<'v> {
    /// Makes the maps at a checkpoint of the log.
    pub(super) fn of_log(
        chronicle: &Chronicle<'v>,
        checkpoint: CheckpointNumber,
        state: Cow<'v, PublishedSet>,
    ) -> Self {
        let mut checkpoints = chronicle.checkpoints().to_vec();
        checkpoints.truncate(checkpoint.count());
        let of_log = Self { checkpoints, ..Self::of(None) };
        match state {
            Cow::Borrowed(shared) => Self { shared: Some(shared), ..of_log },
            Cow::Owned(state) => Self { state: OnceLock::from(state), ..of_log },
        }
    }

    /// Makes the maps of an index.
    pub(super) fn of_index(at: At<'v>) -> Self {
        Self::of(Some(at))
    }

    fn of(index: Option<At<'v>>) -> Self {
        let (damaged, state, sealed) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let searches = AtomicUsize::new(0);
        let (shared, checkpoints, approved) = (None, Vec::new(), HashSet::new());
        Self { index, damaged, state, shared, checkpoints, sealed, searches, approved }
    }

    /// Makes the maps of these artifacts alone, with the times when their versions were
    /// first sealed.
    pub(super) fn of_set(
        state: PublishedSet,
        sealed: HashMap<DocumentId, Timestamp>,
        approved: HashSet<DocumentId>,
    ) -> Self {
        let (state, sealed) = (OnceLock::from(state), OnceLock::from(sealed));
        Self { state, sealed, approved, ..Self::of(None) }
    }

    /// Returns the index, unless it was found damaged.
    pub(super) fn index(&self) -> Option<At<'v>> {
        self.index.filter(|_| self.damaged.get().is_none())
    }

    /// Marks the index as damaged, and deletes it.
    pub(super) fn give_up(&self, at: At<'v>, _: Damaged) {
        self.damaged.get_or_init(|| at.discard());
    }

    /// Returns the complete state.
    pub(super) fn state(&self, of: &Snapshot<'v>) -> Result<&PublishedSet, LogError> {
        if let Some(state) = self.shared.or_else(|| self.state.get()) {
            return Ok(state);
        }
        if let Some(at) = self.index() {
            match at.state() {
                Ok(state) => return Ok(self.state.get_or_init(|| state)),
                Err(damaged) => self.give_up(at, damaged),
            }
        }
        let log = crate::record::trusted_head::read_log(of.vault)?;
        let chronicle = log.sound()?;
        let state = chronicle.state_at(of.checkpoint)?;
        self.sealed.get_or_init(|| {
            first_sealed(chronicle.checkpoints().iter().take(of.checkpoint.count()))
        });
        Ok(self.state.get_or_init(|| state))
    }

    /// Returns the record of one artifact.
    pub(super) fn recorded(
        &self,
        of: &Snapshot<'v>,
        id: &DocumentId,
    ) -> Result<Option<Recorded>, LogError> {
        if let Some(at) = self.index() {
            match at.get(id.as_str()) {
                Ok(held) => return Ok(held.as_ref().map(Recorded::of_held)),
                Err(damaged) => self.give_up(at, damaged),
            }
        }
        let Some(mark) = self.state(of)?.get(id.as_str()).copied() else { return Ok(None) };
        let is_approved = self.approved.contains(id);
        Ok(Some(Recorded { mark, sealed_at: self.sealed_at(id), is_approved }))
    }

    /// Returns the time when the log first sealed the last version of an artifact. Most
    /// commands need it for the configuration and one document, for which a map of all
    /// artifacts is too expensive.
    fn sealed_at(&self, id: &DocumentId) -> Option<Timestamp> {
        if self.sealed.get().is_none() && self.searches.fetch_add(1, Ordering::Relaxed) < MANY {
            let set = self.checkpoints.iter().filter_map(|of| Some((*of.mark_of(id)?, of.at)));
            let first = set.reduce(|first, next| if first.0 == next.0 { first } else { next });
            return first.map(|(_, at)| at);
        }
        let sealed = self.sealed.get_or_init(|| first_sealed(self.checkpoints.iter()));
        sealed.get(id).copied()
    }
}

/// Returns the time when the last version of each artifact was first sealed.
fn first_sealed<'c>(
    checkpoints: impl Iterator<Item = &'c &'c Checkpoint>,
) -> HashMap<DocumentId, Timestamp> {
    let mut sealed: HashMap<&DocumentId, (Mark, Timestamp)> = HashMap::new();
    for checkpoint in checkpoints {
        for (id, mark) in &checkpoint.set {
            let first = (*mark, checkpoint.at);
            let known = sealed.entry(id).or_insert(first);
            if known.0 != *mark {
                *known = first;
            }
        }
    }
    sealed.into_iter().map(|(id, (_, at))| (id.clone(), at)).collect()
}
