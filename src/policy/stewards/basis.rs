//! The stewards in force after a checkpoint, as a command shows them.

use super::{Stewards, StewardsProblem};
use crate::record::chain::error::ChainError;
use crate::values::codes::serialize_as_words;
use crate::values::model::number::{CheckpointNumber, Version};

/// The stewards in force after a checkpoint.
#[derive(Debug)]
pub struct StewardsInForce {
    /// The stewards; empty if the file is missing, cannot be read, or has a problem.
    ///
    /// A governed vault then stays governed, without stewards.
    pub stewards: Stewards,
    /// The version that they are read from.
    pub basis: Basis,
}

/// The stewards in force, as a command shows them.
#[derive(Debug)]
pub(crate) struct StewardsAt {
    /// The checkpoint; 0 before the first.
    pub(crate) checkpoint: CheckpointNumber,
    /// The stewards, and the version that they are read from.
    pub(crate) in_force: StewardsInForce,
    /// True if the live file differs; only computed for the last checkpoint.
    pub(crate) is_edited: bool,
}

/// The version of `stewards.yaml` that the stewards in force are read from.
#[derive(Debug)]
pub enum Basis {
    /// No checkpoint ever sealed the file.
    Never,
    /// The file was retired.
    Retired,
    /// A version without a problem.
    Sealed {
        /// Number of the version.
        version: Version,
        /// The first checkpoint from which it is in force.
        since: CheckpointNumber,
    },
    /// A version with at least one problem, which an earlier or another program published.
    Invalid {
        /// Number of the version.
        version: Version,
        /// The problems of the version.
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
