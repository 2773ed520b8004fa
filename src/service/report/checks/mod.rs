//! The results of checks in the formats of code hosts, editors and dashboards.
//!
//! Findings of `verify` and problems of `validate` become rows of one kind, and each format prints
//! these rows. Paths are relative to the top of the git repository, as on code hosts.

mod github;
mod gitlab;
mod junit;
mod sarif;

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::Spell;
use super::problem::{ProblemReport, ValidateReport};
use crate::prove::verify::{Class, Code, Finding, Report};
use crate::text::document::validate::Severity;
use crate::values::codes::{self, words};
use crate::values::model::digest::Digest;
use crate::values::text_util::count;

/// Base of the paths of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Top of a git repository. Contains the path of the vault in it, percent-encoded, with a final
    /// `/` unless it is empty.
    Repository(String),
    /// Folder of the vault.
    Vault,
}

impl Place {
    /// Returns the path of the vault, percent-encoded.
    fn folder(&self) -> &str {
        match self {
            Self::Repository(folder) => folder,
            Self::Vault => "",
        }
    }

    /// Returns the path of a file of the vault.
    pub(crate) fn path(&self, path: &str) -> String {
        format!("{}{path}", percent_decode_str(self.folder()).decode_utf8_lossy())
    }
}

words! {
    /// The weight of a row.
    pub(crate) enum Level {
        /// Damage, or a problem that prevents a publication.
        Error = "error",
        /// Something to look at.
        Warning = "warning",
        /// Information only.
        Note = "note",
    }
}

/// A kind of row.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    code: &'static str,
    meaning: &'static str,
    /// Cause, remedy, level and class of a finding.
    details: Option<(&'static str, String, Level, &'static str)>,
}

/// A finding or a problem at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) code: &'static str,
    pub(crate) level: Level,
    /// True if the check fails because of this row.
    pub(crate) fails: bool,
    /// Path in the vault.
    pub(crate) path: String,
    /// Line of the file, from 1, if it is known.
    pub(crate) line: Option<usize>,
    pub(crate) message: String,
    /// Hash that identifies the row in the next run.
    fingerprint: String,
    properties: Option<Value>,
}

/// The result of one check.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// `verify` or `validate`.
    pub(crate) name: &'static str,
    /// Name of the fingerprints, with the version of their contents.
    fingerprints: &'static str,
    rules: Vec<Rule>,
    pub(crate) rows: Vec<Row>,
    /// Number of rows that are not listed.
    pub(crate) omitted: u64,
    /// Trouble with the check itself.
    trouble: Vec<String>,
    properties: Value,
}

impl Checked {
    /// Returns the verdict or the counts, for people.
    pub(crate) fn outcome(&self) -> String {
        let number = |key: &str, noun: &str| {
            let number = self.properties[key].as_u64().and_then(|n| usize::try_from(n).ok());
            count(number.unwrap_or_default(), noun)
        };
        match self.properties["verdict"].as_str() {
            Some(verdict) => verdict.to_owned(),
            None => format!(
                "{} checked, {}, {}",
                number("checked", "document"),
                number("errors", "error"),
                number("warnings", "warning")
            ),
        }
    }

    /// Returns the result of a verifier. Edits of live files fail the check unless they are allowed.
    pub(crate) fn of_findings(report: &Report, allow_drift: bool, spell: Spell) -> Self {
        let rule = |code: Code| Rule {
            code: code.as_str(),
            meaning: code.meaning(),
            details: Some((
                code.cause(),
                code.remedy().render(spell),
                level(code),
                code.class().as_str(),
            )),
        };
        // In the order of the specification, each code once.
        let codes: BTreeMap<Code, ()> = report.findings.iter().map(|one| (one.code, ())).collect();
        Self {
            name: "verify",
            fingerprints: "finding/v1",
            rules: codes.into_keys().map(rule).collect(),
            rows: report.findings.iter().map(|one| of_finding(one, allow_drift)).collect(),
            omitted: report.omitted,
            trouble: report.trust_error.iter().map(ToString::to_string).collect(),
            properties: json!({
                "verdict": report.verdict.as_str(),
                "checkpoints": report.checkpoints,
                "head": report.head.map(|hash| hash.to_string()),
                "anchoredTo": report.anchors.iter().map(|held| held.checkpoint).max(),
                "omitted": report.omitted,
            }),
        }
    }

    /// Returns the problems of live files.
    pub(crate) fn of_problems(report: &ValidateReport) -> Self {
        let rows = report.files.iter().flat_map(|file| {
            file.problems.iter().map(move |problem| of_problem(&file.path, problem))
        });
        let rows: Vec<Row> = rows.collect();
        let codes: BTreeMap<&str, ()> = rows.iter().map(|row| (row.code, ())).collect();
        let rule = |code: &'static str| {
            let known = codes::problems().find(|known| known.code == code);
            Rule { code, meaning: known.map_or(code, |known| known.meaning), details: None }
        };
        Self {
            name: "validate",
            fingerprints: "problem/v1",
            rules: codes.into_keys().map(rule).collect(),
            rows,
            omitted: report.omitted as u64,
            trouble: Vec::new(),
            properties: json!({
                "checked": report.checked,
                "errors": report.errors,
                "warnings": report.warnings,
                "omitted": report.omitted,
            }),
        }
    }
}

fn of_finding(finding: &Finding, allow_drift: bool) -> Row {
    let mut message = finding.message.clone();
    if let (Some(expected), Some(found)) = (&finding.expected, &finding.found) {
        message.push_str(&format!(": expected {expected}, found {found}"));
    }
    let same = format!(
        "{}\n{}\n{:?}\n{:?}",
        finding.code, finding.path, finding.version, finding.checkpoint
    );
    Row {
        code: finding.code.as_str(),
        level: level(finding.code),
        fails: match finding.code.class() {
            Class::Damage | Class::Unsettled => true,
            Class::WorkingCopy => !allow_drift,
            Class::Note => false,
        },
        path: finding.path.clone(),
        line: finding.line.filter(|line| *line > 0),
        message,
        fingerprint: Digest::of(same.as_bytes()).short(),
        properties: Some(json!({
            "id": finding.id.as_ref().map(ToString::to_string),
            "version": finding.version,
            "checkpoint": finding.checkpoint,
        })),
    }
}

fn of_problem(path: &str, problem: &ProblemReport) -> Row {
    // The line number is left out: other edits move a problem, and it remains the same problem.
    let same = format!("{}\n{path}\n{}", problem.code, problem.message);
    let is_error = problem.severity == Severity::Error;
    Row {
        code: problem.code,
        level: if is_error { Level::Error } else { Level::Warning },
        fails: is_error,
        path: path.to_owned(),
        line: problem.line.filter(|line| *line > 0),
        message: format!("{}. Hint: {}", problem.message, problem.hint),
        fingerprint: Digest::of(same.as_bytes()).short(),
        properties: None,
    }
}

fn level(code: Code) -> Level {
    match code.class() {
        Class::Damage | Class::Unsettled => Level::Error,
        Class::WorkingCopy => Level::Warning,
        Class::Note => Level::Note,
    }
}

/// A function that prints results of checks.
type Printer = fn(&[Checked], &Place) -> String;

/// A format for other programs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    print: Printer,
}

impl Format {
    /// Every format, with its name.
    pub(crate) const ALL: [(&str, Self); 4] = [
        ("github", Self { print: github::print }),
        ("gitlab", Self { print: gitlab::print }),
        ("junit", Self { print: junit::print }),
        ("sarif", Self::SARIF),
    ];

    /// SARIF 2.1.0.
    pub(crate) const SARIF: Self = Self { print: sarif::print };

    /// Prints the results of checks; without a final line end.
    pub(crate) fn print(self, checks: &[Checked], place: &Place) -> String {
        (self.print)(checks, place)
    }
}

#[cfg(test)]
mod tests;
