//! How a line of a chain follows the one before it.

use super::super::cut::{self, Pruning};
use super::super::fault::FaultKind;
use crate::values::model::digest::Digest;

/// What the next line of a writer has to be.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) seq: u64,
    pub(super) prev: String,
}

impl Expected {
    pub(super) fn after(seq: u64, hash: Digest) -> Self {
        Self { seq: seq.saturating_add(1), prev: hash.to_string() }
    }

    /// How a line follows that is found in this place.
    pub(super) fn step<'c>(&self, found: &Self, cuts: &'c [Pruning]) -> Step<'c> {
        let (seq, expected) = (found.seq, self.seq);
        if seq > expected {
            if let Some(cut) = cut::find(cuts, seq, &found.prev) {
                return Step::Jump((expected, cut));
            }
            let why = format!("it is line {seq} of its writer, but line {expected} is missing");
            Step::Fault(FaultKind::Gap, why)
        } else if seq < expected || found.prev != self.prev {
            let why = format!("line {seq} does not follow the line before it");
            Step::Fault(FaultKind::Mismatch, why)
        } else {
            Step::Next
        }
    }
}

/// Lines that were pruned: the number of the first of them, and the cut.
pub(super) type Jump<'c> = (u64, &'c Pruning);

/// How a line follows the one before it.
pub(super) enum Step<'c> {
    Next,
    /// After lines that were pruned.
    Jump(Jump<'c>),
    /// It does not.
    Fault(FaultKind, String),
}
