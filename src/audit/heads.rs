//! The checkpoints of a vault, with which the lines of its access logs are compared (AUDIT-10).

use std::collections::HashMap;

use super::event::Event;
use super::line::Line;
use crate::checkpoint::chronicle::Chronicle;
use crate::model::timestamp::Timestamp;

/// The hash of each checkpoint, and when it was made; none where nothing is compared.
#[derive(Clone, Debug, Default)]
pub struct Heads(HashMap<u64, (String, Timestamp)>);

impl From<&Chronicle<'_>> for Heads {
    fn from(chronicle: &Chronicle<'_>) -> Self {
        let checkpoints = chronicle.checkpoints().iter();
        let made = checkpoints.map(|one| (one.number.0, (one.hash.to_string(), one.at)));
        Self(made.collect())
    }
}

impl Heads {
    /// Returns true if the vault has a checkpoint with this hash.
    pub(super) fn has(&self, checkpoint: u64, hash: &str) -> bool {
        self.0.get(&checkpoint).is_some_and(|(known, _)| known == hash)
    }

    /// What is wrong with the time of a line. That a checkpoint has another hash is no fault of the
    /// log: the checkpoints of a vault may be derived once more, or those of a branch be lost.
    pub(super) fn contradict(&self, line: &Line) -> Option<String> {
        if let Some(why) = line.after_head() {
            return Some(why);
        }
        let head = line.request.head.as_ref()?;
        let (hash, made_at) = self.0.get(&head.checkpoint)?;
        let is_before = *hash == head.hash && line.at.parse::<Timestamp>().ok()? < *made_at;
        let (at, number) = (&line.at, head.checkpoint);
        is_before.then(|| format!("it is of {at}, but checkpoint {number} was made at {made_at}"))
    }
}

impl Line {
    /// What is wrong with the checkpoints that an access names: no text is of one after the head that
    /// it was answered at, nor of one where there was none (AUDIT-7).
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
