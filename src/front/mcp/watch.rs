//! Notices changes of checkpoint logs by any process: the log of each vault is checked once a
//! second, while something waits for changes.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch::{Receiver, Sender};

use crate::files::vault::files::Stamp;
use crate::values::model::layout::{DELTA_LOG, FULL_LOG};

/// The time between two checks.
const PAUSE: Duration = Duration::from_secs(1);

/// The stamps of each form of a log; `None` if it does not exist.
type Stamps = Vec<[Option<Stamp>; 2]>;

/// The logs of some vaults.
#[derive(Debug)]
pub(super) struct Watch {
    roots: Vec<PathBuf>,
    /// The logs at the last check.
    last: Mutex<Stamps>,
    /// Number of noticed changes; receivers get only the last number.
    changes: Sender<u64>,
    is_looking: AtomicBool,
}

impl Watch {
    /// Watches the logs of the vaults in these folders, as they are now: a change before anything
    /// waits is a change, too.
    pub(super) fn new(roots: impl Iterator<Item = PathBuf>) -> Arc<Self> {
        let roots: Vec<PathBuf> = roots.collect();
        let last = Mutex::new(stamps(&roots));
        let changes = Sender::new(0);
        Arc::new(Self { roots, last, changes, is_looking: AtomicBool::new(false) })
    }

    /// Returns a receiver that waits for changes.
    pub(super) fn changes(self: &Arc<Self>) -> Receiver<u64> {
        let receiver = self.changes.subscribe();
        if !self.is_looking.swap(true, Ordering::SeqCst) {
            let watch = Arc::downgrade(self);
            // Checking a file system may take long, so it does not run between answers.
            let looking = std::thread::Builder::new().name("ctx-watch".to_owned());
            let spawned = looking.spawn(move || {
                while let Some(watch) = watch.upgrade() {
                    if !watch.look() {
                        return;
                    }
                    drop(watch);
                    std::thread::sleep(PAUSE);
                }
            });
            if spawned.is_err() {
                self.is_looking.store(false, Ordering::SeqCst);
            }
        }
        receiver
    }

    /// Returns the number of changes so far.
    pub(super) fn count(&self) -> u64 {
        *self.changes.borrow()
    }

    /// Checks the logs; returns true if something still waits for changes.
    fn look(&self) -> bool {
        if self.changes.is_closed() {
            self.is_looking.store(false, Ordering::SeqCst);
            // Something may have begun to wait meanwhile, and relied on this thread.
            if self.changes.is_closed() || self.is_looking.swap(true, Ordering::SeqCst) {
                return false;
            }
        }
        let now = stamps(&self.roots);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != now {
            *last = now;
            self.changes.send_modify(|count| *count += 1);
        }
        true
    }
}

fn stamps(roots: &[PathBuf]) -> Stamps {
    roots.iter().map(|root| [DELTA_LOG, FULL_LOG].map(|log| Stamp::of(&root.join(log)))).collect()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests write logs")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_change_is_noticed_once_and_only_while_something_waits() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".versions")).unwrap();
        let watch = Watch::new([dir.path().to_owned()].into_iter());
        assert!(!watch.look());
        let waits = watch.changes.subscribe();
        assert!(watch.look() && watch.count() == 0);
        fs::write(dir.path().join(DELTA_LOG), "a").unwrap();
        assert!(watch.look() && watch.look());
        assert_eq!(watch.count(), 1);
        assert!(waits.has_changed().unwrap());
        fs::remove_file(dir.path().join(DELTA_LOG)).unwrap();
        assert!(watch.look());
        assert_eq!(watch.count(), 2);
        drop(waits);
        assert!(!watch.look());
    }
}
