//! `ctx pack check`.

use serde::Serialize;

use crate::cli::session::Session;
use crate::cli::ui::shown;
use crate::cli::{Answer, Failure};
use crate::live::packs::{self, PackFile};
use crate::pack::PackProblem;
use crate::words::count;

/// Check the live pack files: what is no pack, and what names nothing that is here
///
/// Exit code 1 if there is any problem.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx pack check --json")]
pub(super) struct Check {}

#[derive(Serialize)]
struct CheckJson<'c> {
    checked: usize,
    problems: usize,
    files: Vec<FileJson<'c>>,
}

#[derive(Serialize)]
struct FileJson<'c> {
    path: &'c str,
    id: Option<&'c str>,
    usable: bool,
    problems: Vec<ProblemJson>,
}

#[derive(Serialize)]
struct ProblemJson {
    code: &'static str,
    line: usize,
    column: usize,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    caret: Option<String>,
    hint: String,
}

pub(super) fn run(session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let files = packs::check(&vault);
    let problems: usize = files.iter().map(|file| file.reading.problems.len()).sum();
    if session.ui.json {
        let json =
            CheckJson { checked: files.len(), problems, files: files.iter().map(json).collect() };
        session.ui.result("pack.check", &json);
    } else {
        for file in &files {
            file.reading.problems.iter().for_each(|problem| tell(session, &file.path, problem));
        }
        let (checked, problems) = (count(files.len(), "pack"), count(problems, "problem"));
        session.ui.line(&format!("{checked} checked: {problems}"));
    }
    Ok(if problems == 0 { Answer::Yes } else { Answer::No })
}

fn json(file: &PackFile) -> FileJson<'_> {
    let problem = |problem: &PackProblem| ProblemJson {
        code: problem.code(),
        line: problem.line,
        column: problem.column,
        message: problem.kind.to_string(),
        caret: problem.caret(),
        hint: problem.hint(),
    };
    FileJson {
        path: &file.path,
        id: file.reading.id.as_deref(),
        usable: file.reading.pack.is_some(),
        problems: file.reading.problems.iter().map(problem).collect(),
    }
}

fn tell(session: &mut Session<'_>, path: &str, problem: &PackProblem) {
    let kind = if problem.is_fatal() { "error" } else { "warning" };
    let (code, line, column) = (problem.code(), problem.line, problem.column);
    let (path, message) = (shown(path), problem.kind.to_string());
    session.ui.line(&format!("{kind}[{code}]: {path}:{line}:{column}: {}", shown(&message)));
    for line in problem.caret().iter().flat_map(|caret| caret.lines()) {
        session.ui.line(&format!("  {}", shown(line)));
    }
    session.ui.line(&format!("  hint: {}", shown(&problem.hint())));
}
