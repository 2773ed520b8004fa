//! The checkpoints of a vault that the lines of its access logs are compared with (AUDIT-10).

use std::collections::{HashMap, HashSet};

use super::event::Event;
use super::line::Line;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::trusted_head::Head;
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;

/// The hash and time of each checkpoint; empty if nothing is compared.
#[derive(Clone, Debug, Default)]
pub struct Heads {
    made: HashMap<u64, (String, Timestamp)>,
    /// The chain hashes of the versions that checkpoints set. The first checkpoint is included only
    /// if it is the only one: all copies of a template share it.
    set: HashSet<Digest>,
}

impl From<&Chronicle<'_>> for Heads {
    fn from(chronicle: &Chronicle<'_>) -> Self {
        let checkpoints = chronicle.checkpoints();
        let made = checkpoints.iter().map(|one| (one.number.0, (one.hash.to_string(), one.at)));
        let own = match checkpoints {
            [_, later @ ..] if !later.is_empty() => later,
            all => all,
        };
        let set = own.iter().flat_map(|one| &one.set).filter_map(|(_, mark)| mark.chain_hash);
        Self { made: made.collect(), set: set.collect() }
    }
}

impl Heads {
    /// Returns true if the vault has a checkpoint with this hash.
    pub(crate) fn has(&self, checkpoint: u64, hash: &str) -> bool {
        self.made.get(&checkpoint).is_some_and(|(known, _)| known == hash)
    }

    /// Returns true if the vault has this head. The first checkpoint is sufficient only if it is
    /// the only one of the vault, because all copies of a template share it.
    pub(crate) fn holds(&self, head: &Head) -> bool {
        let is_later = head.checkpoint > CheckpointNumber::FIRST || self.made.len() == 1;
        is_later
            && head
                .hashes
                .is_some_and(|hashes| self.has(head.checkpoint.0, &hashes.last.to_string()))
    }

    /// Returns true if a checkpoint of the vault set a version with this chain hash.
    pub(super) fn has_set(&self, chain_hash: &str) -> bool {
        chain_hash.parse().is_ok_and(|hash| self.set.contains(&hash))
    }

    /// Returns a reason if the time or the checkpoints of a line contradict the vault. Another hash
    /// of a checkpoint is not a fault of the log: checkpoints may have been derived again, or those
    /// of a branch may be lost.
    pub(super) fn contradict(&self, line: &Line) -> Option<String> {
        if let Some(why) = line.after_head() {
            return Some(why);
        }
        let head = line.request.head.as_ref()?;
        let (hash, made_at) = self.made.get(&head.checkpoint)?;
        let is_before = *hash == head.hash && line.at.parse::<Timestamp>().ok()? < *made_at;
        let (at, number) = (&line.at, head.checkpoint);
        is_before
            .then(|| format!("it is dated {at}, but checkpoint {number} was made at {made_at}"))
    }
}

impl Line {
    /// Returns a reason if an access names a checkpoint after its head, or any checkpoint without a
    /// head (AUDIT-7).
    pub(crate) fn after_head(&self) -> Option<String> {
        let last = match &self.event {
            Event::Access(access) => {
                access.documents.iter().filter_map(|text| text.checkpoint).max()
            }
            Event::Hydration(hydration) => Some(hydration.checkpoint),
            _ => None,
        }?;
        match &self.request.head {
            None => Some(format!("it names checkpoint {last}, but no head")),
            Some(head) if head.checkpoint < last => {
                Some(format!("it names checkpoint {last}, but its head is {}", head.checkpoint))
            }
            Some(_) => None,
        }
    }
}
