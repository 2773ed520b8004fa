//! The stewards in force after a checkpoint, read from what the log seals and never from the live
//! file.

use super::{Stewards, StewardsProblem, read};
use crate::chain::error::ChainError;
use crate::checkpoint::chronicle::Chronicle;
use crate::checkpoint::in_force::{TextInForce, text_in_force};
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
    let without = |basis| InForce { stewards: Stewards::default(), basis };
    match text_in_force(files, chronicle, at, &DocumentId::stewards()) {
        Ok(TextInForce::Never) => without(Basis::Never),
        Ok(TextInForce::Retired) => without(Basis::Retired),
        Ok(TextInForce::Sealed { version, since, text }) => {
            let reading = read(&text);
            match reading.stewards {
                Some(stewards) => InForce { stewards, basis: Basis::Sealed { version, since } },
                None => without(Basis::Invalid { version, problems: reading.problems }),
            }
        }
        Err(why) => without(Basis::Unreadable(why)),
    }
}
