//! `ctx source record`.

use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::read::source::claim::{MAX_DURATION_MS, media_type, tool};
use crate::read::source::{Claim, Received, SourceCall};
use crate::record::audit::{Cached, Hydration};
use crate::service::report::failure::Failure;
use crate::service::workspace::argument::traces;
use crate::service::workspace::source::{Recorded, call_of};
use crate::values::model::stage::StagePolicy;

/// Record the result of a source, in the session that fetched it
///
/// Reads the result from standard input, at most 64 MiB, and appends its size and SHA-256 to the
/// access log, with the version of the source that the last checkpoint publishes, the server and
/// the tools. These must be the ones that the source declares. The session must be named, by
/// --session or CTX_SESSION. Prints the name of the new line, which --depends-on of a later result
/// of the same session accepts; if the result was staged, a note names the entry. Exit code 5 if it
/// cannot be recorded.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
ctx source record sources/vendor-tickets --session s-42 --tools jira_search --server jira < result.json\n  \
ctx source record sources/risk --session s-42 --tools score --depends-on 0a1b2c3d-17 < score.json\n  \
ctx source record sources/risk --session s-42 --tools score --error 'timed out' < /dev/null")]
pub(super) struct Record {
    /// Id or file of a published source
    id: String,
    /// Tools that were called, in their order, with commas between them
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', required = true, value_parser = tool)]
    tools: Vec<String>,
    /// Server that was used
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Say whether a cache of the caller returned the result
    #[arg(long, value_enum)]
    cache: Option<CacheStatus>,
    /// Duration of the call, in milliseconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MAX_DURATION_MS))]
    duration_ms: Option<u64>,
    /// Error of the call; the first 4096 bytes are recorded
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Media type of the result, as in `application/json`
    #[arg(long, value_name = "TYPE", value_parser = media_type)]
    media_type: Option<String>,
    /// Recorded results of its dependencies that were used, with commas
    #[arg(long, value_name = "TRACE,...", value_delimiter = ',')]
    depends_on: Vec<String>,
}

/// The use of a cache for a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum CacheStatus {
    /// The cache returned the result
    Hit,
    /// The tools were called
    Miss,
}

impl From<CacheStatus> for Cached {
    fn from(status: CacheStatus) -> Self {
        match status {
            CacheStatus::Hit => Self::Hit,
            CacheStatus::Miss => Self::Miss,
        }
    }
}

impl Record {
    fn claim(&self) -> Result<Claim, Failure> {
        Ok(Claim {
            server: self.server.clone(),
            tools: self.tools.clone(),
            cache: self.cache.map(Cached::from),
            duration_ms: self.duration_ms,
            error: self.error.clone(),
            media_type: self.media_type.clone(),
            depends_on: traces(&self.depends_on)?,
        })
    }
}

/// Notes whether a result is kept.
pub(super) fn note_staged(session: &mut Session<'_>, call: &SourceCall<'_>, recorded: &Recorded) {
    match &recorded.staged {
        Some(uri) => session.ui.note(&format!("staged as {}", shown(uri))),
        None => session.ui.note(&format!("note: {}", not_kept(call, &recorded.hydration))),
    }
}

/// Returns why only the hash of a result is kept (STAGE-9).
fn not_kept(call: &SourceCall<'_>, recorded: &Hydration) -> &'static str {
    match (&recorded.error, call.block.stage) {
        (Some(_), _) => "the result is not staged: it was recorded with an error",
        (None, Some(StagePolicy::Never)) => {
            "the result is not staged: the source says `stage: never`"
        }
        (None, _) => {
            "the result is not staged, only its hash is recorded: `staging.enabled` is not `true` \
             here, and the source does not say `stage: always`"
        }
    }
}

pub(super) fn run(args: &Record, session: &mut Session<'_>) -> Result<Answer, Failure> {
    session.workspace.named_session("a hydration")?;
    let claim = args.claim()?;
    let vault = session.vault()?;
    let stdin = &mut *session.stdin;
    let receive = |is_kept| Received::read(stdin, is_kept);
    let made = session.call.record_result(&vault, (&args.id, claim), receive);
    session.tell();
    let made = made?;
    if session.ui.json {
        session.ui.report(&made.report());
    } else {
        session.ui.line(&made.recorded.trace.to_string());
        note_staged(session, &call_of(&made.served)?, &made.recorded);
    }
    Ok(Answer::Yes)
}
