//! `ctx validate`.

use std::collections::{HashMap, HashSet};

use super::Answer;
use super::color::Paint;
use super::format::{self, FormatArg};
use super::session::Session;
use super::ui::{Ui, shown};
use crate::service::report::checks::Checked;
use crate::service::report::failure::Failure;
use crate::service::report::problem::{ProblemGroup, ProblemReport, ValidateReport};
use crate::service::workspace::git_index::staged;
use crate::service::workspace::validate::{LISTED, validate};
use crate::text::document::validate::Severity;
use crate::values::text_util::count;

/// Report problems that prevent live files from being published
///
/// Errors prevent the publication of a document: a frontmatter that breaks a rule, or a file that
/// was edited from another version than the published one. Warnings do not: unusual values, hidden
/// text, placeholders that are not filled. Links in HTML are not checked.
///
/// A problem that many places share is one line, with a count and the first places. --json and
/// --format list 10,000 problems of one code, and count the rest. --all lists each.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx validate\n  ctx validate nodes/policies/returns\n  ctx validate --staged\n  \
ctx validate --format sarif > problems.sarif"
)]
pub(super) struct Validate {
    /// Ids or files of documents; default: all
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Check the files that are staged in git instead of those in the folder
    #[arg(long)]
    staged: bool,
    /// List every problem
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    format: FormatArg,
    /// Print SARIF 2.1.0, as `--format sarif` does
    #[arg(long, conflicts_with = "format")]
    sarif: bool,
    /// Print nothing if the exit code is 0
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(args: &Validate, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let format = args.format.chosen(args.sarif, session.ui.json)?;
    let vault = session.vault()?;
    let copy = args.staged.then(|| staged(&session.workspace, &vault)).transpose()?;
    let judged = copy.as_ref().map_or(&vault, |copy| &copy.vault);
    let most = if args.all { usize::MAX } else { LISTED };
    let (checked, found) = validate(&session.workspace, (judged, &vault), &args.ids, most)?;
    let report = ValidateReport::new(checked, &found, session.ui.spell());
    let answer = if report.errors == 0 { Answer::Yes } else { Answer::No };
    if args.quiet && answer == Answer::Yes {
        return Ok(answer);
    }
    if let Some(format) = format {
        format::print(session, &vault, format, &[Checked::of_problems(&report)]);
    } else if session.ui.json {
        session.ui.report(&report);
    } else {
        text(&mut session.ui, &report, args.all);
        if report.checked == 0 {
            session.note_outside_layout(&vault);
        }
    }
    Ok(answer)
}

/// Default number of printed problems of one code.
const PRINTED: usize = 1_000;

pub(super) fn text(ui: &mut Ui<'_>, report: &ValidateReport, all: bool) {
    let mut hidden =
        report.omitted - report.groups.iter().map(|group| group.omitted).sum::<usize>();
    let mut printed: HashMap<&str, usize> = HashMap::new();
    let mut seen = HashSet::new();
    for file in &report.files {
        for problem in &file.problems {
            match report.group_of(problem).filter(|_| !all) {
                Some(n) if seen.insert(n) => group(ui, &report.groups[n]),
                Some(_) => {}
                None => {
                    let count = printed.entry(problem.code).or_default();
                    if !all && *count == PRINTED {
                        hidden += 1;
                        continue;
                    }
                    *count += 1;
                    one(ui, &file.path, problem);
                }
            }
        }
    }
    for (n, rest) in report.groups.iter().enumerate() {
        if !all && !seen.contains(&n) {
            group(ui, rest);
        }
    }
    if hidden > 0 {
        let more = count(hidden, "more problem");
        ui.line(&format!("{more} not shown; `ctx validate --all` lists each"));
    }
    ui.line(&format!(
        "{} checked: {}, {}",
        count(report.checked, "document"),
        count(report.errors, "error"),
        count(report.warnings, "warning")
    ));
}

fn head(ui: &mut Ui<'_>, severity: Severity, code: &str, rest: &str) {
    let paint = if severity == Severity::Error { Paint::Bad } else { Paint::Doubtful };
    ui.painted(paint, &format!("{severity}[{code}]: {rest}"));
}

fn one(ui: &mut Ui<'_>, path: &str, problem: &ProblemReport) {
    let (place, message) = (place(path, problem.line), shown(&problem.message));
    head(ui, problem.severity, problem.code, &format!("{place}: {message}"));
    ui.line(&format!("  hint: {}", shown(&problem.hint)));
}

fn group(ui: &mut Ui<'_>, group: &ProblemGroup) {
    let (times, files) = (count(group.count, "time"), count(group.files, "file"));
    let rest = format!("{times} in {files}: {}", shown(&group.message));
    head(ui, group.severity, group.code, &rest);
    let first = group.first.iter().map(|at| place(&at.path, at.line));
    ui.line(&format!("  first: {}", first.collect::<Vec<_>>().join(", ")));
    ui.line("  hint: `ctx validate --all` lists each with its hint");
}

fn place(path: &str, line: Option<usize>) -> String {
    let line = line.map_or_else(String::new, |n| format!(":{n}"));
    format!("{}{line}", shown(path))
}
