//! The parts that emergency retirements removed from sets that await a decision (REV-8).

use std::collections::HashSet;

use super::queue::{LeftPart, Waits, track_of};
use crate::files::vault::Vault;
use crate::policy::rules::Track;
use crate::values::model::id::DocumentId;

impl Waits {
    /// Returns the parts that left a set since its first submission that still awaits a decision,
    /// with their reviews. Parts that were submitted to the set again are left out.
    pub(super) fn left(&self, vault: &Vault, set: &str) -> Vec<(LeftPart, Track)> {
        let parts = self.tracks().filter_map(|track| Some((track.id(), track.pending.as_ref()?)));
        let parts = parts.filter(|(_, pending)| pending.change.as_deref() == Some(set));
        let (ids, times): (HashSet<&DocumentId>, Vec<_>) =
            parts.map(|(id, pending)| (id, pending.at)).unzip();
        let Some(first) = times.into_iter().min() else { return Vec::new() };
        let others = self.lines.since_published_in(set).filter(|id| !ids.contains(id));
        let left = others.filter_map(|id| {
            let track = track_of(vault, &id)?;
            let left = track.tail.left.as_ref()?;
            let is_of = left.change == set && left.at > first;
            let part = LeftPart { id, version: left.version, change: set.to_owned() };
            is_of.then_some((part, track))
        });
        left.collect()
    }
}
