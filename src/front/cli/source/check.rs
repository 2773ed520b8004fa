//! `ctx source check`.

use crate::front::cli::Answer;
use crate::front::cli::color::Paint;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::service::report::failure::Failure;
use crate::service::report::problem::ProblemReport;
use crate::service::workspace::ask::Asked;
use crate::service::workspace::source::ALL;
use crate::text::document::validate::Severity;
use crate::values::text_util::count;

/// Find problems of sources, live and published
///
/// Checks the live files for values that a source cannot have, servers that are not declared,
/// dependencies that are broken or in a cycle, and links to sources that are not in `depends_on`.
/// Checks the published sources for servers that the sealed configuration does not declare, and
/// for dependencies that are missing, retired, not a source, or in a cycle. Exit code 1 if there
/// is an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx source check --json")]
pub(super) struct Check {}

pub(super) fn run(session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Asked::need(ALL))?;
    let (report, withheld) =
        session.workspace.check_sources((&vault, &source), session.ui.spell())?;
    session.print(&report, |session, _| {
        for file in &report.live {
            file.problems.iter().for_each(|problem| print(session, &file.path, problem));
        }
        for source in &report.published {
            let name = format!("{} (published)", source.id);
            source.problems.iter().for_each(|problem| print(session, &name, problem));
        }
        session.ui.line(&format!(
            "{} and {} checked: {}, {}",
            count(report.live_count, "live source"),
            count(report.published_count, "published one"),
            count(report.errors, "error"),
            count(report.warnings, "warning")
        ));
    });
    let answer = session.answer(&withheld);
    Ok(if report.errors == 0 { answer } else { Answer::No })
}

fn print(session: &mut Session<'_>, name: &str, problem: &ProblemReport) {
    let ProblemReport { code, severity, line, message, hint } = problem;
    let paint = if *severity == Severity::Error { Paint::Bad } else { Paint::Doubtful };
    let line = line.map_or_else(String::new, |line| format!(":{line}"));
    let (name, message) = (shown(name), shown(message));
    session.ui.painted(paint, &format!("{severity}[{code}]: {name}{line}: {message}"));
    session.ui.line(&format!("  hint: {}", shown(hint)));
}
