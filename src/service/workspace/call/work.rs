//! The progress of a call, as another thread sees it, and a way to stop it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::files::vault::Vault;
use crate::files::vault::progress::Progress;

/// The progress of a call.
#[derive(Debug, Default)]
pub(crate) struct Work {
    progress: Mutex<Option<Arc<Progress>>>,
    is_stopped: AtomicBool,
}

impl Work {
    /// Shows the progress on this vault.
    pub(super) fn is_on(&self, vault: &Vault) {
        let progress = Arc::clone(vault.progress());
        if self.is_stopped.load(Ordering::SeqCst) {
            progress.stop();
        }
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    /// Returns the progress; `None` before the call opens a vault.
    pub(crate) fn progress(&self) -> Option<Arc<Progress>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stops the work, because nothing waits for its result.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        if let Some(progress) = self.progress() {
            progress.stop();
        }
    }
}
