//! Limits of a server: calls at the same time, their duration, and the size of answers (MCP-13).

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::{ErrorData, JsonObject};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::calls::Shared;
use super::metrics::Outcome;
use super::progress;
use super::server::caller_of;
use super::shares::Shares;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::work::Work;
use crate::values::model::principal::{Principal, PrincipalKey};
use crate::values::model::visible::shown;

/// Maximum number of tokens of an answer over HTTP, even if the call asks for more.
const MOST_TOKENS: u32 = 250_000;

/// Maximum number of items in a list of a call.
const MOST_ITEMS: usize = 1_000;
/// The arguments that are lists of names. Each name may occur once.
const NAMES: [&str; 2] = ["ids", "uris"];

/// Refuses a list with too many items or a repeated name: work grows with both.
pub(super) fn check_lists(arguments: &JsonObject) -> Result<(), Failure> {
    for (name, list) in arguments.iter().filter_map(|(name, list)| Some((name, list.as_array()?))) {
        if list.len() > MOST_ITEMS {
            let found = list.len();
            let message =
                format!("`{name}` has {found} items, but a list has at most {MOST_ITEMS}");
            return Err(Failure::new(Code::Usage, message).hint("split it into several calls"));
        }
        let mut seen = HashSet::new();
        let mut texts = list.iter().filter_map(Value::as_str);
        let twice = texts.find(|text| !seen.insert(*text));
        if let Some(text) = twice.filter(|_| NAMES.contains(&name.as_str())) {
            let message = format!("`{name}` contains `{}` twice", shown(text));
            return Err(Failure::new(Code::Usage, message).hint("name each once"));
        }
    }
    Ok(())
}

/// Limits of concurrent calls and of their duration.
pub(super) struct Limits {
    /// The calls that may run.
    pub(super) calls: Shares,
    /// Maximum duration of a call, including its wait for others.
    pub(super) time: Duration,
}

impl Shared {
    /// Refuses an answer that would be too large to keep for many clients that read slowly.
    pub(super) fn check_budget(&self, arguments: &JsonObject) -> Result<(), Failure> {
        let number =
            |budget: &Value| budget.as_f64().or_else(|| budget.as_str()?.trim().parse().ok());
        let is_more = |budget: &Value| number(budget).is_some_and(|n| n > f64::from(MOST_TOKENS));
        let Some(budget) = arguments.get("budget").filter(|budget| is_more(budget)) else {
            return Ok(());
        };
        if self.limits.is_none() {
            return Ok(());
        }
        let message = format!(
            "`budget` is {budget}, but over HTTP an answer has at most {MOST_TOKENS} tokens"
        );
        let hint = format!("pass a `budget` of at most {MOST_TOKENS}");
        Err(Failure::new(Code::Usage, message).hint(hint))
    }

    /// Runs work for a call in parallel with the connection, within the limits. A call that the
    /// client has cancelled is not begun: nothing is read, and nothing recorded.
    pub(super) async fn at_work<T: Send + 'static>(
        self: &Arc<Self>,
        (context, seen): (&RequestContext<RoleServer>, Arc<Work>),
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, Outcome> {
        let (shared, cancelled) = (Arc::clone(self), context.ct.clone());
        let counted = self.metrics.calls.one();
        let principal = caller_of(context).map(Principal::key);
        let principal = principal.as_ref().map(PrincipalKey::as_str);
        let work = move || {
            let _counted = counted;
            let waits = !cancelled.is_cancelled() && !shared.gone.load(Ordering::Relaxed);
            waits.then(|| work(&shared))
        };
        // A call that is cancelled while it waits is not begun.
        let done = tokio::select! {
            done = context.ct.run_until_cancelled(self.limited(principal, work)) => done,
            never = progress::told(context, &seen) => match never {},
        };
        let done = done.unwrap_or(Err(Outcome::Cancelled));
        if matches!(done, Err(Outcome::Cancelled | Outcome::TimedOut)) {
            seen.stop();
        }
        done.and_then(|done| done.ok_or(Outcome::Cancelled))
    }

    /// Runs work that may take long, within the limits.
    ///
    /// # Errors
    /// The work was not done, not in time, or ended by a fault.
    async fn limited<T: Send + 'static>(
        &self,
        principal: Option<&str>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Outcome> {
        let Some(limits) = &self.limits else {
            return tokio::task::spawn_blocking(work).await.map_err(|_| Outcome::Fault);
        };
        let end = Instant::now() + limits.time;
        let wait = timeout_at(end, limits.calls.take(principal));
        let Ok(permit) = wait.await else { return Err(Outcome::Busy) };
        let work = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        match timeout_at(end, work).await {
            Ok(done) => done.map_err(|_| Outcome::Fault),
            // The work continues, with its permit, and is recorded if it returns texts.
            Err(_) => Err(Outcome::TimedOut),
        }
    }
}

/// Returns the failure, or the protocol error, of a request without an answer.
///
/// # Errors
/// The call was cancelled, or ended by a fault.
pub(super) fn without_answer(outcome: Outcome, changes: bool) -> Result<Failure, ErrorData> {
    Ok(match outcome {
        Outcome::Busy => Failure::new(Code::Busy, "too many calls are running")
            .hint("call again after some seconds"),
        Outcome::TimedOut if changes => {
            let message = "the call took too long; its changes may be complete all the same";
            Failure::new(Code::TimedOut, message)
                .hint("read the document, or list what was submitted, before you call again")
        }
        Outcome::TimedOut => Failure::new(Code::TimedOut, "the call took too long")
            .hint("ask for less: fewer documents, a lower `limit`, or one section"),
        Outcome::Cancelled => {
            return Err(ErrorData::internal_error("the call was cancelled", None));
        }
        _ => {
            let message = "the call failed because of a fault of the server; please report it";
            return Err(ErrorData::internal_error(message, None));
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_short_and_name_nothing_twice() {
        let refused = |arguments: Value| {
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            check_lists(&arguments).err().map(|failure| failure.message)
        };
        let ids: Vec<String> = (0..=MOST_ITEMS).map(|n| format!("nodes/d{n}")).collect();
        assert_eq!(refused(json!({"ids": ids[1..], "tags": ["a", "a"], "id": "x"})), None);
        let message = refused(json!({"ids": ids})).unwrap_or_default();
        assert_eq!(message, "`ids` has 1001 items, but a list has at most 1000");
        let message = refused(json!({"uris": ["nodes/a", "nodes/b", "nodes/a"]}));
        assert_eq!(message.as_deref(), Some("`uris` contains `nodes/a` twice"));
    }
}
