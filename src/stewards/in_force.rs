//! The stewards in force after a checkpoint, read from what the log seals and never from the live
//! file.

use super::{Stewards, StewardsProblem, read};
use crate::chain::error::ChainError;
use crate::checkpoint::chronicle::Chronicle;
use crate::checkpoint::in_force::{TextInForce, first_with, text_in_force};
use crate::model::id::DocumentId;
use crate::model::number::{CheckpointNumber, Version};
use crate::vault::files::Files;

/// The stewards in force after a checkpoint.
#[derive(Debug)]
pub struct InForce {
    /// They; without a steward where the file is missing, cannot be read, or has a problem. In a
    /// governed vault that means: governed, without stewards.
    pub stewards: Stewards,
    /// What they are read from.
    pub basis: Basis,
}

/// The stewards in force, as a command shows them.
#[derive(Debug)]
pub(crate) struct StewardsAt {
    /// The checkpoint; 0 before the first.
    pub(crate) checkpoint: CheckpointNumber,
    /// They, and what they are read from.
    pub(crate) in_force: InForce,
    /// Whether the live file says something else; only asked of the last checkpoint.
    pub(crate) is_edited: bool,
}

/// What the stewards in force are read from.
#[derive(Debug)]
pub enum Basis {
    /// No checkpoint ever sealed the file.
    Never,
    /// The file was retired.
    Retired,
    /// A version without a problem.
    Sealed {
        /// Its number.
        version: Version,
        /// The first checkpoint from which on it is in force.
        since: CheckpointNumber,
    },
    /// A version with problems, at least one, published by an earlier program or by another one.
    Invalid {
        /// Its number.
        version: Version,
        /// What is wrong with it.
        problems: Vec<StewardsProblem>,
    },
    /// The chain does not vouch for the version that was sealed last.
    Unreadable(ChainError),
}

/// The stewards in force right after a checkpoint, which are those before the event of the next one;
/// number 0 is the empty vault.
pub fn in_force(files: &Files, chronicle: &Chronicle<'_>, at: CheckpointNumber) -> InForce {
    let id = DocumentId::stewards();
    let mut found = read_in_force(files, chronicle, at, &id);
    if let Basis::Sealed { version, since } = &mut found.basis {
        *since = first_with(chronicle, *since, &id, *version);
    }
    found
}

/// As [`in_force`], but `since` is the last checkpoint that sealed the version.
fn read_in_force(
    files: &Files,
    chronicle: &Chronicle<'_>,
    at: CheckpointNumber,
    id: &DocumentId,
) -> InForce {
    let without = |basis| InForce { stewards: Stewards::default(), basis };
    match text_in_force(files, chronicle, at, id) {
        Ok(TextInForce::Never) => without(Basis::Never),
        Ok(TextInForce::Retired { .. }) => without(Basis::Retired),
        Ok(TextInForce::Sealed { version, at, text }) => {
            let reading = read(&text);
            match reading.stewards {
                Some(stewards) => InForce { stewards, basis: Basis::Sealed { version, since: at } },
                None => without(Basis::Invalid { version, problems: reading.problems }),
            }
        }
        Err(why) => without(Basis::Unreadable(why)),
    }
}

/// The stewards in force at every checkpoint of a log, each file read once: for those who ask about
/// many checkpoints.
#[derive(Debug)]
pub struct Timeline {
    /// From which checkpoint on, in their order.
    changes: Vec<(CheckpointNumber, InForce)>,
    /// Before the first change.
    before: InForce,
}

impl Timeline {
    /// Reads the stewards of a log.
    pub fn of(files: &Files, chronicle: &Chronicle<'_>) -> Self {
        let id = DocumentId::stewards();
        let (mut changes, mut last) = (Vec::new(), None);
        for checkpoint in chronicle.checkpoints() {
            let mark = checkpoint.mark_of(&id).copied();
            let is_change = mark.is_some_and(|mark| last.replace(mark) != Some(mark));
            if is_change || checkpoint.removed.contains(&id) {
                let number = checkpoint.number;
                changes.push((number, read_in_force(files, chronicle, number, &id)));
            }
        }
        let before = InForce { stewards: Stewards::default(), basis: Basis::Never };
        Self { changes, before }
    }

    /// The stewards in force right after a checkpoint.
    pub fn at(&self, checkpoint: CheckpointNumber) -> &InForce {
        let after = self.changes.partition_point(|(number, _)| *number <= checkpoint);
        let last = after.checked_sub(1).and_then(|n| self.changes.get(n));
        last.map_or(&self.before, |(_, in_force)| in_force)
    }
}
