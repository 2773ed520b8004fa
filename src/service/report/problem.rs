//! Reports of problems in a document, pack or configuration file.

use serde::Serialize;

use super::{Report, Spell};
use crate::read::working::gathered::Gathered;
use crate::read::working::gathered::{Group, GroupKey, pattern};
use crate::read::working::packs::PackFile;
use crate::text::document::validate::{Problem, Severity};
use crate::text::pack::PackProblem;
use crate::write::publish::Refusal;

/// One problem.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ProblemReport {
    /// Stable code.
    pub code: &'static str,
    /// `error` or `warning`.
    pub severity: Severity,
    /// Number of the line in the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Description of the problem.
    pub message: String,
    /// Advice on how to fix it.
    pub hint: String,
}

impl ProblemReport {
    /// Reports a problem, with its hint as a front end spells it.
    pub(crate) fn new(problem: &Problem, spell: Spell) -> Self {
        Self {
            code: problem.code,
            severity: problem.severity,
            line: problem.line,
            message: problem.message.clone(),
            hint: problem.hint.render(spell),
        }
    }

    /// Returns the key that groups problems of the same kind at different places.
    pub(crate) fn pattern(&self) -> GroupKey {
        (self.code, pattern(&self.message).0)
    }

    /// Reports several problems.
    pub(crate) fn all(problems: &[Problem], spell: Spell) -> Vec<Self> {
        problems.iter().map(|problem| Self::new(problem, spell)).collect()
    }
}

/// A file with its problems.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct FileProblems {
    /// Path in the vault.
    pub path: String,
    /// Problems in the order of their lines.
    pub problems: Vec<ProblemReport>,
}

impl FileProblems {
    /// Reports the problems that caused the refusal of a document.
    pub(crate) fn of_refusal(refusal: &Refusal, spell: Spell) -> Self {
        let problems = ProblemReport::all(&refusal.problems, spell);
        Self { path: refusal.path.clone(), problems }
    }
}

/// The answer of `validate`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ValidateReport {
    /// Number of documents that were read.
    pub checked: usize,
    /// Number of problems that are errors.
    pub errors: usize,
    /// Number of problems that are warnings.
    pub warnings: usize,
    /// Number of problems that are not listed.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub omitted: usize,
    /// Problems that occur at many places, each group once, in the order of their codes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<ProblemGroup>,
    /// Files with problems, in byte order of their paths.
    pub files: Vec<FileProblems>,
}

/// Problems of one code whose messages differ only in the quoted parts.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ProblemGroup {
    /// Stable code.
    pub code: &'static str,
    /// `error` or `warning`.
    pub severity: Severity,
    /// Description of the problem, with `…` in place of the parts that differ.
    pub message: String,
    /// Number of problems in the group.
    pub count: usize,
    /// Number of files with such problems.
    pub files: usize,
    /// First places of the group.
    pub first: Vec<ProblemPlace>,
    /// Number of problems of the group that are not listed.
    #[serde(skip)]
    pub omitted: usize,
    #[serde(skip)]
    key: GroupKey,
}

/// A place with a problem.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ProblemPlace {
    /// Path in the vault.
    pub path: String,
    /// Number of the line in the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl Report for ValidateReport {
    const SCHEMA: &'static str = "validate";
}

impl ValidateReport {
    /// Reports the problems found in `checked` documents.
    pub(crate) fn new(checked: usize, found: &Gathered, spell: Spell) -> Self {
        let file = |(path, problems): (&String, &Vec<Problem>)| FileProblems {
            path: path.clone(),
            problems: ProblemReport::all(problems, spell),
        };
        Self {
            checked,
            errors: found.errors,
            warnings: found.warnings,
            omitted: found.omitted,
            groups: found.repeated().map(ProblemGroup::new).collect(),
            files: found.files.iter().map(file).collect(),
        }
    }

    /// Returns the index in `groups` of the group that contains a problem.
    pub(crate) fn group_of(&self, problem: &ProblemReport) -> Option<usize> {
        if self.groups.is_empty() {
            return None;
        }
        let key = problem.pattern();
        self.groups.binary_search_by(|group| group.key.cmp(&key)).ok()
    }
}

impl ProblemGroup {
    fn new((key, group): (&GroupKey, &Group)) -> Self {
        let place = |(path, line): &(String, Option<usize>)| ProblemPlace {
            path: path.clone(),
            line: *line,
        };
        Self {
            code: key.0,
            severity: group.severity,
            message: group.message(key),
            count: group.count,
            files: group.files,
            first: group.places.iter().map(place).collect(),
            omitted: group.omitted,
            key: key.clone(),
        }
    }
}

/// The answer of `pack check`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PackCheckReport {
    /// Number of pack files that were read.
    pub checked: usize,
    /// Number of problems in them.
    pub problems: usize,
    /// All pack files.
    pub files: Vec<PackFileReport>,
}

/// One live pack file.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PackFileReport {
    /// Path in the vault.
    pub path: String,
    /// Id of the pack, if it can be read.
    pub id: Option<String>,
    /// True if the pack can be resolved.
    pub usable: bool,
    /// Problems in the order of their lines.
    pub problems: Vec<PackProblemReport>,
}

/// One problem of a pack file.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PackProblemReport {
    /// Stable code.
    pub code: &'static str,
    /// `error` if the pack cannot be used, otherwise `warning`.
    pub severity: Severity,
    /// Number of the line, from 1.
    pub line: usize,
    /// Number of the column, from 1.
    pub column: usize,
    /// Description of the problem.
    pub message: String,
    /// Excerpt of the file with carets under the place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caret: Option<String>,
    /// Advice on how to fix it.
    pub hint: String,
}

impl Report for PackCheckReport {
    const SCHEMA: &'static str = "pack.check";
}

impl PackCheckReport {
    /// Reports the problems of these pack files.
    pub(crate) fn new(files: &[PackFile], spell: Spell) -> Self {
        let problem = |problem: &PackProblem| PackProblemReport {
            code: problem.code(),
            severity: if problem.is_fatal() { Severity::Error } else { Severity::Warning },
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
