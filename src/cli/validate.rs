//! `ctx validate`.

use super::Answer;
use super::color::Paint;
use super::failure::command;
use super::session::Session;
use super::ui::shown;
use crate::report::failure::{Code, Failure};
use crate::report::problem::ValidateReport;
use crate::report::sarif;
use crate::words::count;
use crate::workspace::staged::staged;
use crate::workspace::validate::validate;

/// Report what keeps live files from being published
///
/// Errors keep a document from being published. Warnings say how an odd value is understood.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx validate\n  ctx validate nodes/policies/returns\n  ctx validate --staged\n  \
ctx validate --sarif > problems.sarif"
)]
pub(super) struct Validate {
    /// Ids or files of documents; default: all
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Check what is staged in git instead of the files in the folder
    #[arg(long)]
    staged: bool,
    /// Print the problems as SARIF 2.1.0, the format of static analysis tools
    #[arg(long)]
    sarif: bool,
    /// Print nothing if the exit code is 0
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(args: &Validate, session: &mut Session<'_>) -> Result<Answer, Failure> {
    if args.sarif && session.ui.json {
        return Err(Failure::new(Code::Usage, "`--sarif` and `--json` exclude each other"));
    }
    let vault = session.vault()?;
    let copy = args.staged.then(|| staged(&session.workspace, &vault)).transpose()?;
    let judged = copy.as_ref().map_or(&vault, |copy| &copy.vault);
    let (checked, found) = validate(&session.workspace, judged, &args.ids)?;
    let report = ValidateReport::new(checked, &found, command);
    let answer = if report.errors == 0 { Answer::Yes } else { Answer::No };
    if args.quiet && answer == Answer::Yes {
        return Ok(answer);
    }
    if args.sarif {
        session.ui.json(&sarif::of_problems(&report, &session.workspace.place(&vault)));
    } else if session.ui.json {
        session.ui.report(&report);
    } else {
        text(session, &report);
    }
    Ok(answer)
}

fn text(session: &mut Session<'_>, report: &ValidateReport) {
    for file in &report.files {
        for problem in &file.problems {
            let line = problem.line.map_or_else(String::new, |n| format!(":{n}"));
            let (path, message) = (shown(&file.path), shown(&problem.message));
            let (severity, code) = (problem.severity, problem.code);
            let paint = if severity == "error" { Paint::Bad } else { Paint::Doubtful };
            session.ui.painted(paint, &format!("{severity}[{code}]: {path}{line}: {message}"));
            session.ui.line(&format!("  hint: {}", shown(&problem.hint)));
        }
    }
    session.ui.line(&format!(
        "{} checked: {}, {}",
        count(report.checked, "document"),
        count(report.errors, "error"),
        count(report.warnings, "warning")
    ));
}
