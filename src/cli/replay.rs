//! `ctx replay`.

use super::Answer;
use super::color::Paint;
use super::session::Session;
use super::trace::{LogPlace, trace_id};
use super::ui::shown;
use crate::audit::{Event, Filter, Line};
use crate::evidence::replay::replay;
use crate::report::failure::{Code, Failure};
use crate::report::trace::{ReplayReport, ReplayedRow};
use crate::resolve::Need;
use crate::words::count;
use crate::workspace::recording::of_log;

/// Make the texts of an access again, and compare them with the log
///
/// Each text that the access handed out is made again from the histories, whose every hash is
/// recomputed: `same`, `different` with what differs, or `cannot tell` with what is missing. Lines of
/// a search and diffs are not made again. What stands around the texts in the output is not compared.
/// `--session` takes every access of a session. Exit code 1 unless all texts are the same.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx replay 0a1b2c3d-17\n  ctx replay --session s-42 --json")]
pub(super) struct Replay {
    /// Name of an access, as `ctx trace list` prints it
    trace: Option<String>,
    #[command(flatten)]
    place: LogPlace,
}

pub(super) fn run(args: &Replay, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let wanted = session.workspace.options.labels.session.clone();
    let name = match (&args.trace, &wanted) {
        (Some(text), None) => Some(trace_id(text)?),
        (None, Some(_)) => None,
        _ => {
            return Err(Failure::new(
                Code::Usage,
                "name one access, or a session with `--session`",
            )
            .hint("`ctx trace list` lists them"));
        }
    };
    let vault = session.workspace.vault()?;
    let (_, logs) = args.place.open(&vault, session)?;
    let lines = match &name {
        Some(name) => of_log(logs.find(name))?,
        None => {
            let filter = Filter { session: wanted, ..Filter::default() };
            let mut found: Vec<Line> = Vec::new();
            let access = |line: Line| matches!(line.event, Event::Access(_)).then_some(line);
            of_log(logs.matching(&filter, &access, &mut |line| found.push(line)))?;
            found
        }
    };
    if lines.is_empty() {
        return Err(Failure::new(Code::UnknownTrace, "no such access is recorded")
            .hint("`ctx trace list` lists them"));
    }
    let source = session.source(&vault, Need::Versions)?;
    let of_line = |line: &Line| {
        let trace = line.trace().to_string();
        replay(&vault, &source, line).into_iter().map(move |replayed| (trace.clone(), replayed))
    };
    let report = ReplayReport::new(lines.iter().flat_map(of_line).collect());
    if session.ui.json {
        session.ui.report(&report);
    } else {
        report.texts.iter().for_each(|row| print(session, row));
        let texts = count(report.texts.len(), "text");
        let (same, different, cannot_tell) = (report.same, report.different, report.cannot_tell);
        session.ui.line(&format!(
            "{texts}: {same} same, {different} different, {cannot_tell} cannot tell"
        ));
    }
    Ok(if report.same == report.texts.len() { Answer::Yes } else { Answer::No })
}

fn print(session: &mut Session<'_>, row: &ReplayedRow) {
    let paint = match row.outcome {
        "same" => Paint::Plain,
        "different" => Paint::Bad,
        _ => Paint::Doubtful,
    };
    let why = row.why.as_ref().map_or(String::new(), |why| format!(": {}", shown(why)));
    let (trace, name) = (&row.trace, shown(&row.name));
    session.ui.painted(paint, &format!("{trace}  {name} v{}  {}{why}", row.version, row.outcome));
}
