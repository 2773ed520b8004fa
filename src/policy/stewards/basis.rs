//! The stewards in force after a checkpoint, as a command shows them.

use super::{Stewards, StewardsProblem};
use crate::record::chain::error::ChainError;
use crate::values::codes::serialize_as_words;
use crate::values::model::number::{CheckpointNumber, Version};

/// The stewards in force after a checkpoint.
#[derive(Debug)]
pub struct StewardsInForce {
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
    pub(crate) in_force: StewardsInForce,
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

serialize_as_words!(Basis);

impl Basis {
    /// Returns the word in reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Retired => "retired",
            Self::Sealed { .. } => "sealed",
            Self::Invalid { .. } => "invalid",
            Self::Unreadable(_) => "unreadable",
        }
    }
}
