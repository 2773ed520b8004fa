//! `ctx replay`.

mod output;

use super::Answer;
use super::color::Paint;
use super::session::Session;
use super::trace::{LogPlace, labelled, naming, note_pruned, of_writer, trace_id, warn_of};
use super::ui::shown;
use crate::files::vault::Vault;
use crate::prove::evidence::replay::Outcome;
use crate::read::snapshot::{CheckpointSource, Need};
use crate::record::audit::{FaultKind, Line};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::trace::{ReplayOutputReport, ReplayedRow};
use crate::service::workspace::call::replay::{Made, Replayed, lines};
use crate::values::text_util::count;

/// Reproduce the texts of an access, and compare them with the log
///
/// Each text that the access returned is reproduced from the histories, whose every hash is
/// recomputed: `same`, `different` with the difference, or `cannot tell` with what is missing. The
/// result of a hydration is reproduced from its staged entry. Lines of a search and diffs are not
/// reproduced. The output around the texts is not compared. `--session` selects every access of a
/// session. Exit code 1 unless all texts are the same.
///
/// `--output` compares the whole output instead: `read`, `resolve`, `show`, `blame`, `context` and
/// a `diff` of two versions are run again as of the checkpoint that was the last one then, and so
/// are calls of the tools of `ctx mcp` with the same answers. The result is `cannot tell` for
/// others, for output to a terminal, and if other bytes do not prove a change: those of another
/// version of ctx, or of a search.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx replay 0a1b2c3d-17\n  ctx replay --session s-42 --json\n  \
ctx replay 0a1b2c3d-17 --output"
)]
pub(super) struct Replay {
    /// Name of an access, as `ctx trace list` prints it
    trace: Option<String>,
    /// Run the commands again, and compare their whole output
    #[arg(long)]
    output: bool,
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
    // A text of a lost checkpoint is not the same.
    let logs = args.place.seen(&vault, session)?.with_lost_checkpoints();
    let lost = args.place.lost_accesses(&vault, &logs)?;
    let filter = labelled(session);
    let which = match &name {
        Some(name) => Replayed::Trace(name),
        None => Replayed::Session(&filter),
    };
    let made = if args.output { Made::Output } else { Made::Texts };
    let found = lines(&vault, &logs, (which, made));
    if found.as_ref().is_err_and(|why| why.code == Code::UnknownTrace) {
        args.place.note_lacking(&vault, session);
    }
    if name.is_none() {
        note_pruned(session, &logs, None);
    }
    let (lines, mut faults) = found.map_err(|why| match why.code {
        Code::Usage => why,
        _ => naming(why, &lost),
    })?;
    match &name {
        Some(name) => faults.extend(of_writer(&lost, name).cloned()),
        None => faults.extend(lost),
    }
    // A line of the session that was altered is not reproduced, so not all texts are the same.
    warn_of(session, &faults);
    let is_whole = faults.iter().all(|fault| fault.kind == FaultKind::Torn);
    let whole = if is_whole { Answer::Yes } else { Answer::No };
    if args.output {
        let source = session.source(&vault, Need::Versions)?;
        return Ok(match outputs(session, (&vault, &source), &lines) {
            Answer::Yes => whole,
            answer => answer,
        });
    }
    let source = session.source(&vault, Need::Versions)?;
    let report = session.call.replay((&vault, &source), &lines)?;
    session.print(&report, |session, _| {
        report.texts.iter().for_each(|row| print(session, row));
        let texts = count(report.texts.len(), "text");
        let (same, different, cannot_tell) = (report.same, report.different, report.cannot_tell);
        session.ui.line(&format!(
            "{texts}: {same} same, {different} different, {cannot_tell} cannot tell"
        ));
    });
    Ok(if report.same == report.texts.len() { whole } else { Answer::No })
}

/// Compares whole outputs. Further lines of one answer have the same output.
fn outputs(session: &mut Session<'_>, read: (&Vault, &CheckpointSource), lines: &[Line]) -> Answer {
    let is_first = |line: &&Line| line.cause.is_none() || lines.len() == 1;
    let outputs = lines.iter().filter(is_first).map(|line| output::replay(session, read, line));
    let report = ReplayOutputReport::new(outputs.collect());
    session.print(&report, |session, _| {
        for row in &report.outputs {
            let what = format!("{}  {}", row.trace, shown(&row.verb));
            verdict(session, &what, &row.outcome);
        }
        let outputs = count(report.outputs.len(), "output");
        let (same, different, cannot_tell) = (report.same, report.different, report.cannot_tell);
        session.ui.line(&format!(
            "{outputs}: {same} same, {different} different, {cannot_tell} cannot tell"
        ));
    });
    if report.same == report.outputs.len() { Answer::Yes } else { Answer::No }
}

fn print(session: &mut Session<'_>, row: &ReplayedRow) {
    let version = row.version.map_or(String::new(), |version| format!(" v{version}"));
    let of = if row.result { "result of " } else { "" };
    let what = format!("{}  {of}{}{version}", row.trace, shown(&row.name));
    verdict(session, &what, &row.outcome);
    if let Some(finding) = &row.unapproved {
        session.ui.line(&format!("    {}", shown(finding)));
    }
}

fn verdict(session: &mut Session<'_>, what: &str, outcome: &Outcome) {
    let paint = match outcome {
        Outcome::Same => Paint::Plain,
        Outcome::Different(_) => Paint::Bad,
        Outcome::CannotTell(_) => Paint::Doubtful,
    };
    let why = outcome.why().map_or(String::new(), |why| format!(": {}", shown(why)));
    session.ui.painted(paint, &format!("{what}  {}{why}", outcome.as_str()));
}
