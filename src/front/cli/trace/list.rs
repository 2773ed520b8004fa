//! `ctx trace list` and `ctx trace grep`: lines of the log in a table.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::format::{self, Format};
use super::{Asked, Which, note_pruned, row, warn_of};
use crate::front::cli::Answer;
use crate::front::cli::limit::{self, Limit};
use crate::front::cli::session::Session;
use crate::record::audit::{Keep, Line, Pattern};
use crate::service::report::Report;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::trace::{TraceRow, TracesFoundReport, TracesReport, log_of};
use crate::service::workspace::recording::of_log;
use crate::values::text_util::count;

#[derive(Debug, clap::Args)]
pub(super) struct List {
    #[command(flatten)]
    which: Which,
    /// Print all of them in a format of other programs
    #[arg(long, value_enum, conflicts_with_all = ["json", "limit"])]
    format: Option<Format>,
    #[command(flatten)]
    limit: Limit,
}

/// Find accesses and changes by a regular expression
///
/// The expression is searched in the query, the words of the command line with blanks between them,
/// the principal, the labels, the reason of a change, and the URIs, ids and files of texts that
/// were returned or changed. The syntax is that of the Rust crate `regex`; `(?i)` in front ignores
/// case. Exit code 1 if nothing is found. Queries and words that are recorded only by their hash
/// (`audit.queries: hash`) are not searched, and a note counts their lines. With `reads: stewards`
/// only lines are searched that the principal may see.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx trace grep 'nodes/policies/'\n  \
ctx trace grep '(?i)refund' --from 2026-11-01T00:00:00Z --verb search")]
pub(super) struct Grep {
    /// Regular expression
    pattern: String,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    limit: Limit,
}

pub(super) fn list(args: &List, session: &mut Session<'_>) -> Result<Answer, Failure> {
    if let Some(format) = args.format {
        let (filter, Asked { logs, has_accesses }) = args.which.open(session)?;
        let vault = session.workspace.vault()?;
        let lost = args.which.place.lost(&vault, &logs)?;
        let answer = format::list(format, (&logs, &filter), lost, session)?;
        return Ok(if has_accesses { answer } else { Answer::No });
    }
    let keep = |line: Line| Some(TraceRow::from(&line));
    let found = rows(&args.which, &keep, session)?;
    let answer = found.answer;
    print(found, args.limit, |traces| TracesReport { traces }, session);
    Ok(answer)
}

pub(super) fn grep(args: &Grep, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let pattern = Pattern::new(&args.pattern)
        .map_err(|why| Failure::new(Code::Usage, format!("invalid regular expression: {why}")))?;
    let hidden = AtomicUsize::new(0);
    let keep = |line: Line| {
        let is_found = pattern.is_in(&line);
        if !is_found && Pattern::is_hidden_from(&line) {
            hidden.fetch_add(1, Ordering::Relaxed);
        }
        is_found.then(|| TraceRow::from(&line))
    };
    let found = rows(&args.which, &keep, session)?;
    let hidden = hidden.into_inner();
    if hidden > 0 {
        let lines = count(hidden, "line");
        session.ui.note(&format!(
            "note: {lines} not searched: the log has only the hash of the query or of the command line"
        ));
    }
    let answer = if found.traces.is_empty() { Answer::No } else { found.answer };
    print(found, args.limit, |traces| TracesFoundReport { traces }, session);
    Ok(answer)
}

/// The result of a query.
struct Found {
    traces: Vec<TraceRow>,
    /// The answer of the verb.
    answer: Answer,
    /// The message if nothing was found.
    none: &'static str,
}

/// Returns the rows of the matching lines, in the order of their times.
fn rows(
    which: &Which,
    keep: Keep<'_, TraceRow>,
    session: &mut Session<'_>,
) -> Result<Found, Failure> {
    let (filter, Asked { logs, has_accesses }) = which.open(session)?;
    let is_limited = logs.iter().any(|logs| logs.sight().is_limited());
    let none = match (has_accesses, is_limited) {
        (false, _) => "note: no change matches; the recorded accesses are unknown",
        (true, true) => "note: no recorded access or change that you may read matches",
        (true, false) => "note: no recorded access or change matches",
    };
    let (mut traces, mut faults) = (Vec::new(), Vec::new());
    for logs in &logs {
        let keep = |line: Line| {
            let log_of = log_of(logs.elsewhere(&line));
            Some(TraceRow { log_of, ..keep(line)? })
        };
        faults.extend(of_log(logs.matching(&filter, &keep, &mut |row| traces.push(row)))?);
        note_pruned(session, logs, filter.from);
    }
    let vault = session.workspace.vault()?;
    faults.extend(which.place.lost(&vault, &logs)?);
    if traces.is_empty() {
        which.place.note_lacking(&vault, session);
    }
    let answer = warn_of(session, &faults);
    let answer = if has_accesses { answer } else { Answer::No };
    traces.sort_by(|a, b| a.at.cmp(&b.at));
    Ok(Found { traces, answer, none })
}

fn print<R: Report>(
    Found { mut traces, none, .. }: Found,
    limit: Limit,
    report: impl FnOnce(Vec<TraceRow>) -> R,
    session: &mut Session<'_>,
) {
    let omitted = limit.last(&mut traces);
    if traces.is_empty() && omitted == 0 {
        session.ui.note(none);
    }
    if session.ui.json {
        session.ui.report(&limit::report(report(traces), omitted));
    } else {
        session.ui.table(&traces.iter().map(row).collect::<Vec<_>>());
        limit::note(omitted).iter().for_each(|note| session.ui.note(note));
    }
}
