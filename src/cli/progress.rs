//! How far long work is, told on a terminal after its first second.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::session::Session;
use crate::verify::Progress;

/// Nobody wants to be told about less.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(200);

/// Does some work in a thread of its own and tells how far it is.
pub(super) fn watch<T: Send>(
    session: &mut Session<'_>,
    progress: &Progress,
    work: impl FnOnce() -> T + Send,
) -> T {
    if !session.world.error_terminal || session.ui.json {
        return work();
    }
    let (done, wait) = mpsc::channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let outcome = work();
            // Whoever waits may have stopped waiting.
            let _ = done.send(());
            outcome
        });
        let mut pause = PATIENCE;
        while wait.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            pause = PAUSE;
            let total = progress.total.load(Ordering::Relaxed);
            let line = match progress.done.load(Ordering::Relaxed) {
                _ if total == 0 => "reading the checkpoint log".to_owned(),
                done => format!("checked {done} of {total} artifacts"),
            };
            session.ui.status(&line);
        }
        if pause == PAUSE {
            session.ui.status("");
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
