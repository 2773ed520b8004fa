//! The rules in force at a checkpoint, and the approvals that are valid by them (paper, section
//! 4.5; `spec/review.md`).
//!
//! [`InForce`] contains the rules at every checkpoint of a log, built once from the histories of
//! the configuration and of `stewards.yaml`. [`Approvals`] judges the versions of one history in
//! order. Readers, writers, verifiers and bundles call these two. [`ActJudge`] judges acts on
//! staged entries by the same rules. Nothing here reads a live file or writes.

mod acts;
mod approvals;
mod decided;
mod lost;
mod moves;
mod sealings;
mod timeline;

pub(crate) use acts::{ActJudge, NotMade, version_made};
pub(crate) use approvals::{Approvals, Taken};
pub(crate) use decided::{Contradiction, Decided, contradictions};
pub(crate) use lost::LostRules;
pub(crate) use moves::{Judge, Moves};
pub(crate) use sealings::Sealings;
pub(crate) use timeline::{File, InForce, Mode, TextInForce};
