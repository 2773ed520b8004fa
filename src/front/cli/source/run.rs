//! `ctx source run`.

use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::read::snapshot::{Need, Snapshot};
use crate::read::source::{Claim, Received};
use crate::record::audit::{Cached, TraceId};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::source::{SourceRecordReport, SourceRunReport};
use crate::service::workspace::source::call_of;
use crate::service::workspace::version::published;

/// Run your program for a source, and record its output
///
/// Runs only a program that your own configuration names for the server of the source, under
/// `vaults: {VAULT: {sources: {SERVER: {command: [...], timeout: 30s, max_bytes: 10MB, env:
/// [...]}}}}` in ~/.config/contextnest/config.yaml, and only for the transports cli and rest. A
/// vault cannot name one. The program gets one line of JSON that describes the call, and no
/// variables but PATH, HOME, LANG, TZ and those of `env`. Its output is the result: it is recorded
/// as `ctx source record` does, then printed. A program that fails, is late or prints too much is
/// ended with all processes that it started; that is recorded too, and the exit code is 5.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ctx source run sources/vendor-tickets --session s-42 > result.json"
)]
pub(super) struct Run {
    /// Id or file of a published source
    id: String,
    /// Record this media type of the result, as in `application/json`
    #[arg(long, value_name = "TYPE", value_parser = crate::read::source::claim::media_type)]
    media_type: Option<String>,
}

pub(super) fn run(args: &Run, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let labels = session.workspace.named_session("a hydration")?;
    let vault = session.vault()?;
    session.warn_of_settings(&vault);
    let id = session.workspace.known_id(&vault, &args.id)?;
    let id = session.workspace.nameable(&vault, id)?;
    let source = session.source(&vault, Need::Versions)?;
    let head = Snapshot::of(&vault, &source, None)?;
    let served = published(&vault, &head, &id)?;
    let call = call_of(&served)?;
    let workspace = &session.call.workspace;
    let fetcher = workspace.fetcher(&vault, &call)?;
    let used = workspace.used_results(&vault, &labels, &call)?;
    let named = labels.session.clone().unwrap_or_default();
    let fetched = workspace.fetch(&vault, &fetcher, &call, (&named, &used))?;
    let traces = used.iter().map(|result| result.trace.parse::<TraceId>());
    let claim = Claim {
        server: call.block.server.clone(),
        tools: call.block.tools.clone(),
        cache: Some(Cached::Miss),
        duration_ms: Some(fetched.duration_ms),
        error: fetched.error.clone(),
        media_type: args.media_type.clone(),
        depends_on: traces.filter_map(Result::ok).collect(),
    };
    let received = Received::of(fetched.printed.clone());
    let by = (&session.recording, labels);
    let recorded = workspace.record_hydration((&vault, &source), by, (&call, claim), received)?;
    let trace = recorded.trace.to_string();
    if let Some(why) = fetched.error {
        let mut failure = Failure::new(Code::SourceFailed, format!("the program for `{id}` {why}"));
        failure.details = vec![format!("recorded as {trace}")];
        return Err(failure);
    }
    if session.ui.json {
        let hydration = &recorded.hydration;
        let staged = recorded.staged.as_deref();
        session.ui.report(&SourceRunReport {
            recorded: SourceRecordReport { trace, session: &named, hydration, staged },
            result: std::str::from_utf8(&fetched.printed).ok(),
        });
    } else {
        super::result(session, &fetched.printed);
        session.ui.note(&format!("recorded as {}", shown(&trace)));
        super::record::note_staged(session, &call, &recorded);
    }
    Ok(Answer::Yes)
}
