//! What is wrong with one document, pack or configuration file.

use serde::Serialize;

use super::{Report, Spell};
use crate::document::validate::{Problem, Severity};
use crate::govern::Refusal;
use crate::live::packs::PackFile;
use crate::pack::PackProblem;

/// One problem.
#[derive(Debug, Serialize)]
pub struct ProblemReport {
    /// The stable code.
    pub code: &'static str,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// The line of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub hint: String,
}

impl ProblemReport {
    /// A problem with its advice as a front end spells it.
    pub(crate) fn new(problem: &Problem, spell: Spell) -> Self {
        Self {
            code: problem.code,
            severity: severity(problem.severity),
            line: problem.line,
            message: problem.message.clone(),
            hint: problem.hint.render(spell),
        }
    }

    /// Several problems.
    pub(crate) fn all(problems: &[Problem], spell: Spell) -> Vec<Self> {
        problems.iter().map(|problem| Self::new(problem, spell)).collect()
    }
}

/// A file with its problems.
#[derive(Debug, Serialize)]
pub struct FileProblems {
    /// Path in the vault.
    pub path: String,
    /// The problems in the order of their lines.
    pub problems: Vec<ProblemReport>,
}

impl FileProblems {
    /// Why a document was refused.
    pub(crate) fn of_refusal(refusal: &Refusal, spell: Spell) -> Self {
        let problems = ProblemReport::all(&refusal.problems, spell);
        Self { path: refusal.path.clone(), problems }
    }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// The answer of `validate`.
#[derive(Debug, Serialize)]
pub struct ValidateReport {
    /// How many documents were read.
    pub checked: usize,
    /// How many problems are errors.
    pub errors: usize,
    /// How many problems are warnings.
    pub warnings: usize,
    /// Files with problems, in byte order of their paths.
    pub files: Vec<FileProblems>,
}

impl Report for ValidateReport {
    const SCHEMA: &'static str = "validate";
}

impl ValidateReport {
    /// The problems of so many checked documents.
    pub(crate) fn new(checked: usize, found: &[(String, Vec<Problem>)], spell: Spell) -> Self {
        let all = || found.iter().flat_map(|(_, problems)| problems);
        let with = |wanted| all().filter(|problem| problem.severity == wanted).count();
        let file = |(path, problems): &(String, Vec<Problem>)| FileProblems {
            path: path.clone(),
            problems: ProblemReport::all(problems, spell),
        };
        Self {
            checked,
            errors: with(Severity::Error),
            warnings: with(Severity::Warning),
            files: found.iter().map(file).collect(),
        }
    }
}

/// The answer of `pack check`.
#[derive(Debug, Serialize)]
pub struct PackCheckReport {
    /// How many pack files were read.
    pub checked: usize,
    /// How many problems they have.
    pub problems: usize,
    /// All pack files.
    pub files: Vec<PackFileReport>,
}

/// One live pack file.
#[derive(Debug, Serialize)]
pub struct PackFileReport {
    /// Path in the vault.
    pub path: String,
    /// The id, if it can be read.
    pub id: Option<String>,
    /// Whether the file is a pack that can be resolved.
    pub usable: bool,
    /// The problems in the order of their lines.
    pub problems: Vec<PackProblemReport>,
}

/// One problem of a pack file.
#[derive(Debug, Serialize)]
pub struct PackProblemReport {
    /// The stable code.
    pub code: &'static str,
    /// `error` if the pack cannot be used, else `warning`.
    pub severity: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// An excerpt with carets under the place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caret: Option<String>,
    /// How to fix it.
    pub hint: String,
}

impl Report for PackCheckReport {
    const SCHEMA: &'static str = "pack.check";
}

impl PackCheckReport {
    /// The problems of these pack files.
    pub(crate) fn new(files: &[PackFile], spell: Spell) -> Self {
        let problem = |problem: &PackProblem| PackProblemReport {
            code: problem.code(),
            severity: if problem.is_fatal() { "error" } else { "warning" },
            line: problem.line,
            column: problem.column,
            message: problem.kind.to_string(),
            caret: problem.caret(),
            hint: problem.hint().render(spell),
        };
        let file = |file: &PackFile| PackFileReport {
            path: file.path.clone(),
            id: file.reading.id.clone(),
            usable: file.reading.pack.is_some(),
            problems: file.reading.problems.iter().map(problem).collect(),
        };
        let files: Vec<PackFileReport> = files.iter().map(file).collect();
        let problems = files.iter().map(|file| file.problems.len()).sum();
        Self { checked: files.len(), problems, files }
    }
}
