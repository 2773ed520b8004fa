//! How far long work over a vault is; read from another thread, which shows it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What is being done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Reading the log, or whatever comes first.
    #[default]
    Beginning,
    /// Recomputing artifacts.
    Checking,
    /// Making the next versions of documents.
    Preparing,
    /// Writing versions to the disk.
    Writing,
    /// Bringing live files up to date.
    Placing,
}

const STAGES: [Stage; 5] =
    [Stage::Beginning, Stage::Checking, Stage::Preparing, Stage::Writing, Stage::Placing];

/// How far it is. Each vault has one, which its copies share.
#[derive(Debug, Default)]
pub struct Progress {
    stage: AtomicUsize,
    total: AtomicUsize,
    done: AtomicUsize,
}

impl Progress {
    /// Begins a stage of so many steps.
    pub(crate) fn begin(&self, stage: Stage, total: usize) {
        let at = STAGES.iter().position(|known| *known == stage).unwrap_or_default();
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.stage.store(at, Ordering::Relaxed);
    }

    /// Takes one step.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// The stage, the steps taken, and how many there are.
    pub fn now(&self) -> (Stage, usize, usize) {
        let stage = STAGES.get(self.stage.load(Ordering::Relaxed)).copied().unwrap_or_default();
        (stage, self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
