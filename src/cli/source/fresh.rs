//! `ctx source fresh`.

use crate::cli::Answer;
use crate::cli::session::Session;
use crate::report::failure::Failure;
use crate::report::source::SourceFreshReport;
use crate::resolve::{Need, Snapshot};
use crate::source::fresh::Stale;
use crate::workspace::source::call_of;
use crate::workspace::version::published;

/// Report whether a recorded result of a source may be used again
///
/// Looks for a result that was recorded in the same session by the same principal, without an error,
/// as the published version of the source says, and not longer ago than its `cache_ttl`. Prints the
/// name of its line and until when it is fresh; if the result was staged, the result follows. Exit
/// code 1 if there is none.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx source fresh sources/vendor-tickets --session s-42\n  \
ctx source fresh sources/vendor-tickets --session s-42 --json")]
pub(super) struct Fresh {
    /// Id or file of a published source
    id: String,
}

pub(super) fn run(args: &Fresh, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let labels = session.workspace.named_session("a recorded result")?;
    let vault = session.vault()?;
    let id = session.workspace.known_id(&vault, &args.id)?;
    let source = session.source(&vault, Need::Versions)?;
    let head = Snapshot::of(&vault, &source, None)?;
    let served = published(&vault, &head, &id)?;
    let call = call_of(&served)?;
    let found = session.workspace.freshness((&vault, &source), &labels, &call)?;
    let fresh = found.result.as_ref().filter(|_| found.stale.is_none());
    let staged = match fresh {
        Some(of) => session.workspace.staged_result(&vault, &labels, (&id, of))?,
        None => None,
    };
    let staged = staged.map(|content| session.release(content).bytes);
    if session.ui.json {
        let last = found.result.as_ref();
        session.ui.report(&SourceFreshReport {
            source: id.to_string(),
            fresh: fresh.is_some(),
            reason: found.stale.map(Stale::as_str),
            trace: last.map(|of| of.trace.as_str()),
            at: last.map(|of| of.at.to_string()),
            until: last.and_then(|of| of.until).map(|until| until.to_string()),
            result_hash: last.map(|of| of.hydration.result_hash.as_str()),
            result: staged.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok()),
        });
    } else if let Some(result) = fresh {
        let until = result.until.map(|until| until.to_string()).unwrap_or_default();
        session.ui.line(&format!("{} fresh until {until}", result.trace));
        if let Some(bytes) = &staged {
            super::result(session, bytes);
        }
    } else if let Some(stale) = found.stale {
        let of = found.result.as_ref().map_or(String::new(), |of| format!(" ({})", of.trace));
        session.ui.line(&format!("not fresh: {}{of}", stale.sentence()));
    }
    Ok(if fresh.is_some() { Answer::Yes } else { Answer::No })
}
