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
    /// The log that the checkpoint merged, if it is a merge.
    pub merged: Option<Box<Merged>>,
}

/// A checkpoint of a side line (MERGE-3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The hash of the checkpoint before it on its line.
    pub follows: Digest,
    /// The checkpoint, without what it merged itself.
    pub checkpoint: Checkpoint,
}

/// The part of a merge that other checkpoints do not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The checkpoints that only the branch held, in the order of MERGE-3.
    pub sides: Vec<Side>,
    /// The changes of these that the merge carries, in the order of their times. They follow from
    /// the log, and no line records them.
    pub carried: Vec<Carried>,
}

/// A change of an artifact on a side line, which a merge carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The artifact.
    pub id: DocumentId,
    /// The time of the event.
    pub at: Timestamp,
    /// The value; `None` if the event removed the artifact.
    pub mark: Option<Mark>,
}

impl Merged {
    /// Returns what a merge with these side lines adds; `None` without side lines.
    pub(super) fn of(sides: Vec<Side>) -> Option<Box<Self>> {
        (!sides.is_empty()).then(|| Box::new(Self { sides, carried: Vec::new() }))
    }
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

    /// Returns the checkpoints of the log that it merged, which no earlier checkpoint of this log
    /// holds (MERGE-3).
    pub fn sides(&self) -> &[Side] {
        self.merged.as_ref().map_or(&[], |merged| &merged.sides)
    }

    /// Returns the event of the checkpoint, or, for a merge, those that it merged, the last first.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Self> {
        let own = Some(self).filter(|own| own.merged.is_none());
        own.into_iter().chain(self.sides().iter().rev().map(|side| &side.checkpoint))
    }

    /// Returns the changes of artifacts that it brings to the main line, in the order of their
    /// times: its own, or, for a merge, those of the branch that it carries (MERGE-8).
    pub(crate) fn changes(&self) -> impl Iterator<Item = (&DocumentId, Timestamp, Option<Mark>)> {
        let is_merge = self.merged.is_some();
        let set = self.set.iter().map(|(id, mark)| (id, self.at, Some(*mark)));
        let own = set.chain(self.removed.iter().map(|id| (id, self.at, None)));
        let carried = self.merged.iter().flat_map(|merged| &merged.carried);
        let carried = carried.map(|Carried { id, at, mark }| (id, *at, *mark));
        own.filter(move |_| !is_merge).chain(carried)
    }

    /// Returns the checkpoint that an event of this checkpoint follows on its own line, for an event
    /// at this time that removes an artifact.
    pub(crate) fn removed_after(&self, id: &DocumentId, at: Timestamp) -> CheckpointNumber {
        let is_it = |side: &&Side| side.checkpoint.at == at && side.checkpoint.removed.contains(id);
        let side = self.sides().iter().find(is_it);
        side.map_or(self.number, |side| side.checkpoint.number).previous()
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

impl Checkpoint {
    /// Returns the id that the event is recorded under: the greatest that it changed (CKPT-4), or,
    /// for a merge that changed nothing, the greatest that its side lines changed or are recorded
    /// under (MERGE-4).
    pub(crate) fn greatest(&self) -> Option<&DocumentId> {
        let own = trigger(self.artifacts());
        let of_sides = || trigger(self.sides().iter().flat_map(|side| side.checkpoint.artifacts()));
        let named = || trigger(self.sides().iter().map(|side| &side.checkpoint.triggered_by));
        own.or_else(of_sides).or_else(named)
    }

    /// Returns the time of the event that bound a chain by a mark: its own, or, for a merge, that of
    /// the last event of its side lines that did so.
    pub(crate) fn bound_at(&self, id: &DocumentId, mark: Mark) -> Timestamp {
        let is_it = |side: &&Side| side.checkpoint.bound.contains(&(id.clone(), Some(mark)));
        self.sides().iter().rfind(is_it).map_or(self.at, |side| side.checkpoint.at)
    }

    /// Returns true if it joins two logs (MERGE-2).
    pub(crate) fn is_merge(&self) -> bool {
        self.bound.iter().any(|(id, _)| id.is_log())
    }

    /// Returns the artifacts that it set or removed in the maps.
    pub(crate) fn artifacts(&self) -> impl Iterator<Item = &DocumentId> + Clone {
        self.set.iter().map(|(id, _)| id).chain(&self.removed)
    }
}

/// Returns the id that an event of these artifacts is recorded under: the greatest of a document,
/// else the greatest (CKPT-4).
pub(crate) fn trigger<'i>(
    ids: impl Iterator<Item = &'i DocumentId> + Clone,
) -> Option<&'i DocumentId> {
    ids.clone().filter(|id| id.is_document()).max().or_else(|| ids.max())
}
