//! What follows a commit: an ordered list of steps that higher layers hand in
//! (`spec/transactions.md`, TXN-11). The event has happened; a step that fails is reported, and the
//! event stands.

use crate::audit::Recorder;
use crate::checkpoint::chronicle::Chronicle;
use crate::checkpoint::event::Checkpoint;
use crate::model::timestamp::Timestamp;
use crate::vault::Vault;

/// A commit that its steps follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Commit<'c> {
    /// The vault.
    pub(crate) vault: &'c Vault,
    /// The log before it.
    pub(crate) before: &'c Chronicle<'c>,
    /// The checkpoint that it made.
    pub(crate) checkpoint: &'c Checkpoint,
    /// How many documents the checkpoint holds.
    pub(crate) documents: usize,
    /// The clock of its writer.
    pub(crate) now: Timestamp,
    /// How the change log says who the writer is.
    pub(crate) recorder: &'c Recorder,
}

/// What a step could not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepFailure {
    /// The name of the step.
    pub step: &'static str,
    /// The file in the vault that it could not write, if it is about one.
    pub path: Option<String>,
    /// Why.
    pub why: String,
}

/// A step: its name, and what it does. It gives what it could not do.
pub(crate) type Step = fn(&Commit<'_>) -> Vec<StepFailure>;

/// Runs the steps in their order, each whether or not those before it failed.
pub(crate) fn run(steps: &[Step], commit: &Commit<'_>) -> Vec<StepFailure> {
    steps.iter().flat_map(|step| step(commit)).collect()
}
