//! The work of a call, seen from another thread: how far it is, and whether its end is waited for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::files::vault::Vault;
use crate::files::vault::progress::Progress;

/// The work of a call.
#[derive(Debug, Default)]
pub(crate) struct Work {
    progress: Mutex<Option<Arc<Progress>>>,
    is_stopped: AtomicBool,
}

impl Work {
    /// The call works on a vault.
    pub(super) fn is_on(&self, vault: &Vault) {
        let progress = Arc::clone(vault.progress());
        if self.is_stopped.load(Ordering::SeqCst) {
            progress.stop();
        }
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    /// How far it is on the vault that it works on.
    pub(crate) fn progress(&self) -> Option<Arc<Progress>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Nothing waits for it any more.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        if let Some(progress) = self.progress() {
            progress.stop();
        }
    }
}
