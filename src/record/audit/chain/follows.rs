//! Compares a line of a chain with the one before it.

use super::super::cut::{self, Pruning};
use super::super::fault::FaultKind;
use crate::values::model::digest::Digest;

/// Expected number and previous hash of a writer's next line.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) seq: u64,
    pub(super) prev: String,
}

impl Expected {
    pub(super) fn after(seq: u64, hash: Digest) -> Self {
        Self { seq: seq.saturating_add(1), prev: hash.to_string() }
    }

    /// Compares the line that was found with the expected one.
    pub(super) fn step<'c>(&self, found: &Self, cuts: &'c [Pruning]) -> Step<'c> {
        let (seq, expected) = (found.seq, self.seq);
        if seq > expected {
            if let Some(cut) = cut::find(cuts, seq, &found.prev) {
                return Step::Jump((expected, cut));
            }
            let why = format!("line {seq} of the writer follows, but line {expected} is missing");
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

/// Relation of a line to the one before it.
pub(super) enum Step<'c> {
    Next,
    /// The line follows lines that were pruned.
    Jump(Jump<'c>),
    /// The line does not follow.
    Fault(FaultKind, String),
}
