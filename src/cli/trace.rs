//! `ctx trace`.

use super::Answer;
use super::color::Paint;
use super::limit::{self, Limit};
use super::session::Session;
use super::ui::shown;
use crate::audit::{Event, Filter, Line, Text, TraceId};
use crate::model::timestamp::Timestamp;
use crate::report::failure::{Code, Failure};
use crate::report::trace::{FaultReport, TraceReport, TraceRow, TraceVerifyReport, TracesReport};
use crate::words::count;
use crate::workspace::recording::of_log;

/// Show which texts were handed out, to whom, at which checkpoint
///
/// Every command that prints texts or names of published documents leaves a line in the access log,
/// before anything is printed: which version, with its chain hash, author and editor, and the hash of
/// the text itself. The log is a hash chain in the user's state directory, or below CTX_AUDIT_DIR. The
/// options --agent, --session, --thread, --task and --node, or CTX_AGENT and so on, say who asks.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx trace list --session 7f3a\n  \
ctx trace list --document nodes/policies/returns --from 2026-11-01T00:00:00Z\n  \
ctx trace show 0a1b2c3d-17\n  ctx trace verify")]
pub(super) struct Trace {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    /// List accesses, the newest last
    List(Box<List>),
    /// Print everything that is recorded of one access
    Show {
        /// Its name, as `ctx trace list` prints it
        trace: String,
    },
    /// Recompute every hash of the log
    Verify,
}

#[derive(Debug, clap::Args)]
struct List {
    /// Only accesses of this document, by id or file
    #[arg(long, value_name = "ID")]
    document: Option<String>,
    /// Only accesses by this principal
    #[arg(long, value_name = "PRINCIPAL")]
    principal: Option<String>,
    /// Only accesses by this command
    #[arg(long, value_name = "VERB")]
    verb: Option<String>,
    #[command(flatten)]
    period: Period,
    #[command(flatten)]
    limit: Limit,
}

pub(super) fn run(args: &Trace, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.part {
        Part::List(args) => list(args, session),
        Part::Show { trace } => show(trace, session),
        Part::Verify => verify(session),
    }
}

/// Which accesses or publications, by their time.
#[derive(Debug, clap::Args)]
pub(super) struct Period {
    /// Only from this time on
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Only before this time
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
}

impl Period {
    /// A filter for accesses of this time.
    pub(super) fn filter(&self) -> Result<Filter, Failure> {
        let time = |text: &Option<String>| -> Result<Option<Timestamp>, Failure> {
            let parse = |text: &String| {
                text.parse()
                    .map_err(|why| Failure::new(Code::Usage, format!("invalid time: {why}")))
            };
            text.as_ref().map(parse).transpose()
        };
        Ok(Filter { from: time(&self.from)?, to: time(&self.to)?, ..Filter::default() })
    }
}

/// The name of an access on the command line.
pub(super) fn trace_id(text: &str) -> Result<TraceId, Failure> {
    text.parse().map_err(|why| {
        Failure::new(Code::Usage, format!("`{text}` is not the name of an access: {why}"))
    })
}

fn list(args: &List, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.workspace.vault()?;
    let document = args.document.as_ref();
    let given = &session.workspace.options.labels;
    let filter = Filter {
        session: given.session.clone(),
        agent: given.agent.clone(),
        principal: args.principal.clone(),
        verb: args.verb.clone(),
        document: document.map(|id| session.workspace.known_id(&vault, id)).transpose()?,
        ..args.period.filter()?
    };
    let (_, logs) = session.workspace.access_logs(&vault)?;
    let mut traces = Vec::new();
    let faults = logs.matching(&filter, &mut |line| traces.push(TraceRow::from(&line)));
    let faults = of_log(faults)?;
    traces.sort_by(|a, b| a.at.cmp(&b.at));
    let mut report = TracesReport { traces };
    let omitted = args.limit.last(&mut report.traces);
    if !session.ui.json {
        session.ui.table(&report.traces.iter().map(row).collect::<Vec<_>>());
        limit::note(omitted).iter().for_each(|note| session.ui.note(note));
    }
    if report.traces.is_empty() {
        session.ui.note("note: no access is recorded that fits");
    }
    if session.ui.json {
        session.ui.report(&limit::report(report, omitted));
    }
    if !faults.is_empty() {
        let what = count(faults.len(), "line");
        session.ui.note(&format!(
            "warning: {what} of the log cannot be relied on; run `ctx trace verify`"
        ));
    }
    Ok(Answer::Yes)
}

/// A session in a table: one that was not named joins nothing.
pub(super) fn session_of(session: Option<&str>, is_implicit: bool) -> String {
    session.filter(|_| !is_implicit).map_or("-".to_owned(), |session| shown(session).into_owned())
}

fn row(trace: &TraceRow) -> Vec<String> {
    let session = session_of(trace.session.as_deref(), trace.session_implicit);
    let what = match trace.event {
        "access" => count(usize::try_from(trace.count).unwrap_or(usize::MAX), "text"),
        "listing" => format!("{} listed", trace.count),
        event => format!("{event}: {}", shown(trace.code.as_deref().unwrap_or_default())),
    };
    vec![
        trace.trace.clone(),
        trace.at.clone(),
        shown(&trace.verb).into_owned(),
        what,
        shown(trace.principal.as_deref().unwrap_or("-")).into_owned(),
        shown(trace.agent.as_deref().unwrap_or("-")).into_owned(),
        session,
        shown(trace.query.as_deref().unwrap_or_default()).into_owned(),
    ]
}

fn show(trace: &str, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let name = trace_id(trace)?;
    let vault = session.workspace.vault()?;
    let (_, logs) = session.workspace.access_logs(&vault)?;
    let lines = of_log(logs.find(&name))?;
    let Some(first) = lines.first() else {
        let message = format!("no access `{name}` is recorded");
        return Err(Failure::new(Code::UnknownTrace, message).hint("`ctx trace list` lists them"));
    };
    if session.ui.json {
        session.ui.report(&TraceReport { trace: name.to_string(), lines: &lines });
        return Ok(Answer::Yes);
    }
    text(session, first, &lines);
    Ok(Answer::Yes)
}

fn text(session: &mut Session<'_>, first: &Line, lines: &[Line]) {
    let ui = &mut session.ui;
    let request = &first.request;
    ui.painted(Paint::Heading, &format!("{} {}", first.trace(), first.event.as_str()));
    let mut field = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            ui.line(&format!("  {name:<10} {}", shown(value)));
        }
    };
    let labels = &request.labels;
    let words = request
        .args
        .argv
        .as_ref()
        .map(|argv| shlex::try_join(argv.iter().map(String::as_str)).unwrap_or_default());
    let implicit = if labels.session_implicit { " (not named)" } else { "" };
    let head =
        request.head.as_ref().map(|head| format!("checkpoint {} {}", head.checkpoint, head.hash));
    field("at", Some(&first.at));
    field("command", Some(&words.map_or(request.verb.clone(), |words| format!("ctx {words}"))));
    field("principal", request.principal.as_deref());
    field("agent", labels.agent.as_deref());
    field("session", labels.session.as_ref().map(|id| format!("{id}{implicit}")).as_deref());
    field("thread", labels.thread.as_deref());
    field("task", labels.task.as_deref());
    field("node", labels.node.as_deref());
    field("head", head.as_deref());
    match &first.event {
        Event::Access(access) => {
            field("class", access.class.as_deref());
            field("query", access.query.query.as_deref());
            for withheld in &access.withheld {
                field("withheld", Some(&format!("{} ({})", withheld.count, withheld.reason)));
            }
            field(
                "output",
                Some(&format!("{} bytes {}", access.output.bytes, access.output.sha256)),
            );
        }
        Event::Listing(listing) => {
            field("query", listing.query.query.as_deref());
            field("listed", Some(&listing.count.to_string()));
        }
        Event::Refused(refused) => field("code", Some(&refused.code)),
    }
    for line in lines {
        if let Event::Access(access) = &line.event {
            access.documents.iter().for_each(|text| document(session, text));
        }
    }
}

fn document(session: &mut Session<'_>, text: &Text) {
    let ui = &mut session.ui;
    ui.line(&format!("\n  {}  v{}", shown(text.name()), text.version));
    let range = match (text.range, text.part) {
        (Some([first, end]), _) => format!(", bytes {first} to {end} of the version"),
        (None, Some(part)) => format!(", a {}", part.as_str()),
        (None, None) => String::new(),
    };
    ui.line(&format!("    text       {} bytes{range}", text.bytes));
    ui.line(&format!("    sha256     {}", shown(&text.sha256)));
    ui.line(&format!("    chain      {}", shown(&text.chain_hash)));
    if let Some(author) = &text.author {
        ui.line(&format!("    author     {}", shown(author)));
    }
    ui.line(&format!("    edited     {} by {}", shown(&text.edited_at), shown(&text.edited_by)));
}

fn verify(session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.workspace.vault()?;
    let (dir, logs) = session.workspace.access_logs(&vault)?;
    let mut lines = 0;
    let faults = of_log(logs.each(None, &mut |_| lines += 1))?;
    let is_damaged = faults.iter().any(|fault| fault.kind.is_damage());
    let report = TraceVerifyReport {
        folder: dir.display().to_string(),
        writers: logs.writers(),
        lines,
        faults: faults.iter().map(FaultReport::from).collect(),
    };
    if session.ui.json {
        session.ui.report(&report);
    } else {
        for fault in &report.faults {
            let paint = if fault.is_damage { Paint::Bad } else { Paint::Doubtful };
            let (file, message) = (shown(&fault.file), shown(&fault.message));
            session.ui.painted(paint, &format!("{}: {file}:{}: {message}", fault.code, fault.line));
        }
        let (what, writers) = (
            count(usize::try_from(lines).unwrap_or(usize::MAX), "line"),
            count(report.writers, "writer"),
        );
        let verdict = if is_damaged {
            "the access log is damaged"
        } else {
            "every chain is intact up to its last line"
        };
        session.ui.line(&format!("{verdict}: {what} of {writers}"));
    }
    if !is_damaged && !session.ui.json {
        session.ui.note("note: that a log was truncated cannot be detected");
    }
    Ok(if is_damaged { Answer::No } else { Answer::Yes })
}
