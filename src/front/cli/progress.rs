//! Progress of work that runs in a thread of its own.

use std::sync::mpsc::{self, RecvTimeoutError};

use super::session::Session;
use super::ui::{PATIENCE, PAUSE};
use crate::files::vault::Vault;

/// Runs some work in a thread and shows its progress on a terminal.
pub(super) fn watch<T: Send>(
    session: &mut Session<'_>,
    vault: &Vault,
    work: impl FnOnce() -> T + Send,
) -> T {
    if !session.ui.shows_progress() {
        return work();
    }
    let (done, wait) = mpsc::channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let outcome = work();
            // The receiver may be gone already.
            let _ = done.send(());
            outcome
        });
        let mut pause = PATIENCE;
        let mut line = session.ui.progress();
        while wait.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            pause = PAUSE;
            line.tell(|| vault.progress().words());
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
