//! `ctx source fresh`.

use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::read::snapshot::{Need, Snapshot};
use crate::read::source::Freshness;
use crate::read::source::fresh::Stale;
use crate::record::staging::{ActKind, StagedEntry, payload_text};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::source::SourceFreshReport;
use crate::service::report::staging::{block, hex};
use crate::service::workspace::source::{StagedResult, call_of};
use crate::service::workspace::version::published;

/// Report whether a recorded result of a source may be used again
///
/// Searches for a result that was recorded in the same session by the same principal, without an
/// error, as the published version of the source demands, and not longer ago than its `cache_ttl`.
/// Prints the name of its line and until when it is fresh; if the result was staged and is kept, it
/// follows between two lines that mark it as data. A result that was discarded or erased is not
/// fresh. Exit code 1 if there is none.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx source fresh sources/vendor-tickets --session s-42\n  \
ctx source fresh sources/vendor-tickets --session s-42 --json")]
pub(super) struct Fresh {
    /// Id or file of a published source
    id: String,
    /// Print the bytes of the result alone, as they were received
    #[arg(long, conflicts_with = "json")]
    raw: bool,
}

pub(super) fn run(args: &Fresh, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let labels = session.workspace.named_session("a recorded result")?;
    let vault = session.vault()?;
    let id = session.workspace.known_id(&vault, &args.id)?;
    let id = session.workspace.nameable(&vault, id)?;
    let source = session.source(&vault, Need::Versions)?;
    let head = Snapshot::of(&vault, &source, None)?;
    let served = published(&vault, &head, &id)?;
    let call = call_of(&served)?;
    let mut found = session.workspace.freshness((&vault, &source), &labels, &call)?;
    let staged = match found.result.as_ref().filter(|_| found.stale.is_none()) {
        Some(of) => session.workspace.staged_result(&vault, &labels, (&id, of))?,
        None => StagedResult::Never,
    };
    let (kept, ended) = match staged {
        StagedResult::Never => (None, None),
        StagedResult::Kept(entry, content) => (Some((entry, content)), None),
        StagedResult::Ended(kind) => (None, Some(kind)),
    };
    found.stale = found.stale.or(match ended {
        Some(ActKind::Discard) => Some(Stale::Discarded),
        Some(ActKind::Erase) => Some(Stale::Erased),
        _ => None,
    });
    // A terminal would interpret the bytes.
    if args.raw && session.workspace.options.command.terminal {
        let message = "bytes as they were received are not printed to a terminal";
        return Err(Failure::new(Code::Usage, message).hint("send them to a file or a pipe"));
    }
    let kept = kept.map(|(entry, content)| (entry, session.release(content).bytes));
    if session.ui.json {
        let last = found.result.as_ref();
        let bytes = kept.as_ref().map(|(_, bytes)| bytes.as_slice());
        let text = bytes.and_then(payload_text);
        session.ui.report(&SourceFreshReport {
            source: id.to_string(),
            fresh: found.stale.is_none(),
            reason: found.stale,
            trace: last.map(|of| of.trace.as_str()),
            at: last.map(|of| of.at.to_string()),
            until: last.and_then(|of| of.until).map(|until| until.to_string()),
            result_hash: last.map(|of| of.hydration.result_hash.as_str()),
            staged: kept.as_ref().map(|(entry, _)| entry.name().to_string()),
            ended,
            result: text,
            result_hex: bytes.filter(|_| text.is_none()).map(hex),
        });
    } else {
        print(args, session, (&found, ended), kept.as_ref());
    }
    Ok(if found.stale.is_none() { Answer::Yes } else { Answer::No })
}

fn print(
    args: &Fresh,
    session: &mut Session<'_>,
    (found, ended): (&Freshness, Option<ActKind>),
    kept: Option<&(Box<StagedEntry>, Vec<u8>)>,
) {
    let Some(result) = found.result.as_ref().filter(|_| found.stale.is_none()) else {
        let of = found.result.as_ref().map_or(String::new(), |of| format!(" ({})", of.trace));
        let why = found.stale.map_or("", Stale::sentence);
        session.ui.line(&format!("not fresh: {why}{of}"));
        return;
    };
    let until = result.until.map(|until| until.to_string()).unwrap_or_default();
    let line = format!("{} fresh until {until}", result.trace);
    match args.raw {
        true => session.ui.note(&line),
        false => session.ui.line(&line),
    }
    match kept {
        Some((_, bytes)) if args.raw => session.ui.bytes(bytes),
        Some((entry, bytes)) => session.ui.harmless(&block(entry, bytes)),
        None if ended.is_some() => {
            session.ui.note("note: the staged result was collected, and is no longer kept");
        }
        None => {}
    }
}
