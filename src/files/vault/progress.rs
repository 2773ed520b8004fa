//! The progress of long work on a vault, which another thread reads and shows.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A phase of the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Reading the log, or any other first step.
    #[default]
    Beginning,
    /// Building an index.
    Indexing,
    /// Recomputing artifacts.
    Checking,
    /// Preparing the next versions of documents.
    Preparing,
    /// Writing versions to the disk.
    Writing,
    /// Updating live files.
    Placing,
}

const STAGES: [Phase; 6] = [
    Phase::Beginning,
    Phase::Indexing,
    Phase::Checking,
    Phase::Preparing,
    Phase::Writing,
    Phase::Placing,
];

/// The progress of work. Each vault has one, which its copies share.
#[derive(Debug, Default)]
pub struct Progress {
    stage: AtomicUsize,
    total: AtomicUsize,
    done: AtomicUsize,
    is_stopped: AtomicBool,
}

impl Progress {
    /// Begins a phase with this number of steps.
    pub(crate) fn begin(&self, stage: Phase, total: usize) {
        let at = STAGES.iter().position(|known| *known == stage).unwrap_or_default();
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.stage.store(at, Ordering::Relaxed);
    }

    /// Completes one step.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the phase and the number of completed steps.
    #[cfg(feature = "mcp")]
    pub(crate) fn reach(&self, stage: Phase, (done, total): (usize, usize)) {
        if self.now().0 != stage {
            self.begin(stage, total);
        }
        self.done.store(done, Ordering::Relaxed);
    }

    /// Records that no caller waits for the work any longer. Work that only reads then ends soon,
    /// without a result; work that writes continues.
    #[cfg(feature = "mcp")]
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Returns true if no caller waits for the work any longer.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Describes the progress in words.
    pub(crate) fn words(&self) -> String {
        let (stage, done, total) = self.now();
        match stage {
            Phase::Beginning => "reading the checkpoint log".to_owned(),
            Phase::Indexing => format!("indexed {done} of {total} documents"),
            Phase::Checking => format!("checked {done} of {total} artifacts"),
            Phase::Preparing => format!("read {done} of {total} documents"),
            Phase::Writing => format!("wrote {done} of {total} versions"),
            Phase::Placing => format!("updating {total} live files"),
        }
    }

    /// Returns the phase, the completed steps, and the number of steps.
    pub fn now(&self) -> (Phase, usize, usize) {
        let stage = STAGES.get(self.stage.load(Ordering::Relaxed)).copied().unwrap_or_default();
        (stage, self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
