//! `ctx source record`.

use crate::audit::{Cached, Hydration, TraceId};
use crate::cli::Answer;
use crate::cli::session::Session;
use crate::cli::ui::shown;
use crate::model::stage::StagePolicy;
use crate::report::failure::{Code, Failure};
use crate::report::source::SourceRecordReport;
use crate::resolve::{Need, Snapshot};
use crate::source::{Claim, Received, SourceCall};
use crate::workspace::source::{Recorded, call_of};
use crate::workspace::version::published;

/// The largest number that a line of a log holds.
const MOST: u64 = (1 << 53) - 1;

/// Record what a source gave, in the session that fetched it
///
/// Reads the result from standard input, at most 64 MiB, and appends its size and SHA-256 to the
/// access log, with the version of the source that the last checkpoint publishes, the server and the
/// tools. These must be the ones that the source declares. The session must be named, by --session
/// or CTX_SESSION. Prints the name of the new line, which --depends-on of a later result of the same
/// session takes; if the result was staged, a note names the entry. Exit code 5 if it cannot be
/// recorded.
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
    /// Whether the result came from a cache of the caller
    #[arg(long, value_enum)]
    cache: Option<CacheStatus>,
    /// How long it took, in milliseconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MOST))]
    duration_ms: Option<u64>,
    /// What went wrong; the first 4096 bytes are recorded
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// What the result is, as in `application/json`
    #[arg(long, value_name = "TYPE", value_parser = media_type)]
    media_type: Option<String>,
    /// Recorded results of the sources it depends on that were used, with commas between them
    #[arg(long, value_name = "TRACE,...", value_delimiter = ',')]
    depends_on: Vec<String>,
}

/// Whether a result came from a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum CacheStatus {
    /// It did
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

/// The name of a tool.
fn tool(text: &str) -> Result<String, &'static str> {
    match text.trim().is_empty() {
        true => Err("expected names of tools with one comma between them, none empty"),
        false => Ok(text.to_owned()),
    }
}

/// A type and a subtype, with parameters.
pub(super) fn media_type(text: &str) -> Result<String, &'static str> {
    let form = "expected a media type such as `application/json`";
    let (kind, rest) = text.split_once('/').ok_or(form)?;
    let is_printable = text.len() <= 256 && text.bytes().all(|b| (0x20..0x7f).contains(&b));
    let is_word = |word: &str| {
        let of_word = |b: u8| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b);
        !word.is_empty() && word.bytes().all(of_word)
    };
    let subtype = rest.split(';').next().unwrap_or_default().trim_end();
    let is_one = is_printable && is_word(kind) && is_word(subtype);
    is_one.then(|| text.to_owned()).ok_or(form)
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

/// Names of hydrations on the command line.
pub(super) fn traces(texts: &[String]) -> Result<Vec<TraceId>, Failure> {
    let trace = |text: &String| {
        text.parse().map_err(|why| {
            Failure::new(Code::Usage, format!("`{text}` is not the name of a hydration: {why}"))
        })
    };
    texts.iter().map(trace).collect()
}

/// Says whether a result is kept.
pub(super) fn note_staged(session: &mut Session<'_>, call: &SourceCall<'_>, recorded: &Recorded) {
    match &recorded.staged {
        Some(uri) => session.ui.note(&format!("staged as {}", shown(uri))),
        None => session.ui.note(&format!("note: {}", not_kept(call, &recorded.hydration))),
    }
}

/// Why nothing but the hash of a result is kept (STAGE-9).
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
    let labels = session.workspace.named_session("a hydration")?;
    let claim = args.claim()?;
    let vault = session.vault()?;
    let id = session.workspace.known_id(&vault, &args.id)?;
    let id = session.workspace.nameable(&vault, id)?;
    let source = session.source(&vault, Need::Versions)?;
    let head = Snapshot::of(&vault, &source, None)?;
    let served = published(&vault, &head, &id)?;
    let call = call_of(&served)?;
    session.workspace.check_claim(&vault, &call, (&claim, &labels))?;
    let is_kept = session.workspace.staged_for((&vault, &source), &call)?.is_some();
    let received = Received::read(session.stdin, is_kept)?;
    let named = labels.session.clone().unwrap_or_default();
    let recorded = session.workspace.record_hydration(
        (&vault, &source),
        (&session.recording, labels),
        (&call, claim),
        received,
    )?;
    let trace = recorded.trace.to_string();
    if session.ui.json {
        session.ui.report(&SourceRecordReport {
            trace,
            session: &named,
            hydration: &recorded.hydration,
            staged: recorded.staged.as_deref(),
        });
    } else {
        session.ui.line(&trace);
        note_staged(session, &call, &recorded);
    }
    Ok(Answer::Yes)
}
