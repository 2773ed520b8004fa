//! The progress of a call, for a client that asked for it (MCP-31).

use std::convert::Infallible;
use std::time::Duration;

use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};
use tokio::time::sleep;

use crate::files::vault::progress::Phase;
use crate::service::workspace::call::work::Work;

/// The time between two notifications.
const PAUSE: Duration = Duration::from_millis(100);

/// Reported steps: each phase continues from the end of the one before it.
#[derive(Debug, Default)]
struct Told {
    phase: Phase,
    before: usize,
    steps: usize,
}

impl Told {
    /// Returns the steps so far and their known total, if they are more than were reported.
    fn more(&mut self, (phase, done, total): (Phase, usize, usize)) -> Option<(f64, f64)> {
        if phase != self.phase {
            (self.phase, self.before) = (phase, self.steps);
        }
        let steps = self.before + done;
        if steps <= self.steps {
            return None;
        }
        self.steps = steps;
        Some((number(steps), number(self.before + total)))
    }
}

fn number(steps: usize) -> f64 {
    f64::from(u32::try_from(steps).unwrap_or(u32::MAX))
}

/// Notifies the client of a request of the progress of its work, until it is dropped.
pub(super) async fn told(context: &RequestContext<RoleServer>, work: &Work) -> Infallible {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    let mut told = Told::default();
    loop {
        sleep(PAUSE).await;
        let Some(progress) = work.progress() else { continue };
        let Some((steps, total)) = told.more(progress.now()) else { continue };
        let about = ProgressNotificationParam::new(token.clone(), steps)
            .with_total(total)
            .with_message(progress.words());
        // Sending the answer reveals that a client is gone.
        let _ = context.peer.notify_progress(about).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_only_grow() {
        let mut told = Told::default();
        assert_eq!(told.more((Phase::Beginning, 0, 0)), None);
        assert_eq!(told.more((Phase::Indexing, 4, 9)), Some((4.0, 9.0)));
        assert_eq!(told.more((Phase::Indexing, 4, 9)), None);
        assert_eq!(told.more((Phase::Indexing, 9, 9)), Some((9.0, 9.0)));
        assert_eq!(told.more((Phase::Checking, 0, 20)), None);
        assert_eq!(told.more((Phase::Checking, 2, 20)), Some((11.0, 29.0)));
        // A second check of a vault begins again.
        assert_eq!(told.more((Phase::Checking, 1, 20)), None);
    }
}
