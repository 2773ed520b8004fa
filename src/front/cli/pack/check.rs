//! `ctx pack check`.

use crate::front::cli::Answer;
use crate::front::cli::color::Paint;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::read::working::packs;
use crate::service::report::failure::Failure;
use crate::service::report::problem::{PackCheckReport, PackProblemReport};
use crate::text::document::validate::Severity;
use crate::values::text_util::count;

/// Find invalid packs and dangling references
///
/// Checks the live pack files. Exit code 1 if there is any problem.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx pack check --json")]
pub(super) struct Check {}

pub(super) fn run(session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let report = PackCheckReport::new(&packs::check(&vault), session.ui.spell());
    session.print(&report, |session, _| {
        for file in &report.files {
            file.problems.iter().for_each(|problem| print(session, &file.path, problem));
        }
        let (checked, problems) =
            (count(report.checked, "pack"), count(report.problems, "problem"));
        session.ui.line(&format!("{checked} checked: {problems}"));
    });
    Ok(if report.problems == 0 { Answer::Yes } else { Answer::No })
}

fn print(session: &mut Session<'_>, path: &str, problem: &PackProblemReport) {
    let PackProblemReport { code, severity, line, column, message, caret, hint } = problem;
    let paint = if *severity == Severity::Error { Paint::Bad } else { Paint::Doubtful };
    let (path, message) = (shown(path), shown(message));
    session.ui.painted(paint, &format!("{severity}[{code}]: {path}:{line}:{column}: {message}"));
    for line in caret.iter().flat_map(|caret| caret.lines()) {
        session.ui.line(&format!("  {}", shown(line)));
    }
    session.ui.line(&format!("  hint: {}", shown(hint)));
}
