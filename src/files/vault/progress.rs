//! How far long work over a vault is; read from another thread, which shows it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What is being done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Reading the log, or whatever comes first.
    #[default]
    Beginning,
    /// Making an index.
    Indexing,
    /// Recomputing artifacts.
    Checking,
    /// Making the next versions of documents.
    Preparing,
    /// Writing versions to the disk.
    Writing,
    /// Bringing live files up to date.
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

/// How far it is. Each vault has one, which its copies share.
#[derive(Debug, Default)]
pub struct Progress {
    stage: AtomicUsize,
    total: AtomicUsize,
    done: AtomicUsize,
    is_stopped: AtomicBool,
}

impl Progress {
    /// Begins a stage of so many steps.
    pub(crate) fn begin(&self, stage: Phase, total: usize) {
        let at = STAGES.iter().position(|known| *known == stage).unwrap_or_default();
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.stage.store(at, Ordering::Relaxed);
    }

    /// Takes one step.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes a stage to so many of its steps.
    #[cfg(feature = "mcp")]
    pub(crate) fn reach(&self, stage: Phase, (done, total): (usize, usize)) {
        if self.now().0 != stage {
            self.begin(stage, total);
        }
        self.done.store(done, Ordering::Relaxed);
    }

    /// Says that nothing waits for the work any more. Work that only reads ends soon then, without a
    /// result; what writes goes on.
    #[cfg(feature = "mcp")]
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether nothing waits for the work any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// How far it is, in words.
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

    /// The stage, the steps taken, and how many there are.
    pub fn now(&self) -> (Phase, usize, usize) {
        let stage = STAGES.get(self.stage.load(Ordering::Relaxed)).copied().unwrap_or_default();
        (stage, self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
