//! A publication event: the artifacts that it set and removed, and the hash over the
//! resulting maps.

use super::state::{Bound, Mark, PublishedSet, in_json_order, json_order};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;

/// One publication event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its number, from 1 without a gap.
    pub number: CheckpointNumber,
    /// The time of the event.
    pub at: Timestamp,
    /// The greatest id of the event.
    pub triggered_by: DocumentId,
    /// The hash over the complete maps and the checkpoint before.
    pub hash: Digest,
    /// Artifacts that are new or have another version since the checkpoint before. They are in
    /// the order of CKPT-11 in either form of the log, so that two logs can be compared as lists
    /// of checkpoints.
    pub set: Vec<(DocumentId, Mark)>,
    /// Artifacts that were removed from the maps.
    pub removed: Vec<DocumentId>,
    /// The bound chains whose entries in the maps changed, in the order of their ids.
    pub bound: Vec<Bound>,
}

/// A publication event in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// See [`Checkpoint::number`].
    pub(crate) number: CheckpointNumber,
    /// See [`Checkpoint::at`].
    pub(crate) at: Timestamp,
    /// See [`Checkpoint::hash`].
    pub(crate) hash: Digest,
    /// Number of artifacts that it set.
    pub(crate) set: u64,
    /// Number of artifacts that it removed.
    pub(crate) removed: u64,
    /// See [`Checkpoint::triggered_by`].
    pub(crate) triggered_by: DocumentId,
}

impl From<&Checkpoint> for Event {
    fn from(checkpoint: &Checkpoint) -> Self {
        Self {
            number: checkpoint.number,
            at: checkpoint.at,
            hash: checkpoint.hash,
            set: checkpoint.set.len() as u64,
            removed: checkpoint.removed.len() as u64,
            triggered_by: checkpoint.triggered_by.clone(),
        }
    }
}

impl Checkpoint {
    /// Returns true if it seals governance files, which the reference implementation never does.
    pub(crate) fn seals_governance(&self) -> bool {
        self.set.iter().any(|(id, _)| !id.is_document())
    }

    /// Turns the state before the checkpoint into its own.
    pub(crate) fn apply(&self, state: &mut PublishedSet) {
        if state.is_empty() && state.bound().is_empty() {
            // Nothing can be removed, and building a whole map is faster than adding entry
            // by entry.
            *state = self.set.iter().cloned().collect();
            state.bind(&self.bound);
            return;
        }
        for id in &self.removed {
            state.remove(id);
        }
        for (id, mark) in &self.set {
            state.set(id.clone(), *mark);
        }
        state.bind(&self.bound);
    }

    /// Returns the mark that the checkpoint set for an artifact.
    pub(crate) fn mark_of(&self, id: &DocumentId) -> Option<&Mark> {
        let order = |(of, _): &(DocumentId, Mark)| json_order(of.as_str(), id.as_str());
        self.set.binary_search_by(order).ok().map(|place| &self.set[place].1)
    }

    /// Returns true if it both sets and removes an id, which is not allowed in a log.
    pub(super) fn sets_what_it_removes(&self) -> bool {
        let is_bound_twice = !self.bound.is_sorted_by(|(a, _), (b, _)| a < b);
        is_bound_twice || self.removed.iter().any(|id| self.mark_of(id).is_some())
    }

    /// Returns the entries that it set in the maps, including bound chains, in the order of
    /// RFC 8785.
    pub(super) fn whole_set(&self) -> Vec<(&DocumentId, &Mark)> {
        let bound = self.bound.iter().filter_map(|(id, mark)| Some((id, mark.as_ref()?)));
        let mut whole: Vec<_> = self.set.iter().map(|(id, mark)| (id, mark)).chain(bound).collect();
        whole.sort_by(|(a, _), (b, _)| json_order(a.as_str(), b.as_str()));
        whole
    }

    /// Returns the ids that were removed from the maps, including bound chains, in byte order.
    pub(super) fn whole_removed(&self) -> Vec<&DocumentId> {
        let bound = self.bound.iter().filter(|(_, mark)| mark.is_none()).map(|(id, _)| id);
        let mut whole: Vec<&DocumentId> = self.removed.iter().chain(bound).collect();
        if whole.len() > self.removed.len() {
            whole.sort_unstable();
        }
        whole
    }

    /// Turns the state before the checkpoint into its own, and computes its hash from that.
    pub(super) fn seal(&mut self, state: &mut PublishedSet, previous: Option<&Digest>) {
        in_json_order(&mut self.set);
        self.apply(state);
        self.hash = state.hash(previous, self.number, self.at, self.triggered_by.as_str());
    }
}

/// Returns the id that an event of these artifacts is recorded under: the greatest of a document,
/// else the greatest (CKPT-4).
pub(crate) fn trigger<'i>(
    ids: impl Iterator<Item = &'i DocumentId> + Clone,
) -> Option<&'i DocumentId> {
    ids.clone().filter(|id| id.is_document()).max().or_else(|| ids.max())
}
