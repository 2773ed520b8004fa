//! Export of findings and problems in the Static Analysis Results Interchange Format (SARIF 2.1.0,
//! OASIS), which code hosts and editors show next to the files.
//!
//! Paths are relative to the top of the git repository, as on code hosts. The address of the base
//! is left out, because a report may be read on another machine.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Spell;
use super::problem::{ProblemReport, ValidateReport};
use crate::prove::verify::{Class, Code, Finding, Report};
use crate::text::uri::encode_path;
use crate::values::codes;
use crate::values::model::digest::Digest;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

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
    /// Returns the name of the base and its description.
    fn base(&self) -> (&'static str, &'static str) {
        match self {
            Self::Repository(_) => ("%SRCROOT%", "The top of the git repository."),
            Self::Vault => ("VAULT", "The folder of the vault."),
        }
    }

    /// Returns the location of a file of the vault, and of a line in it.
    fn location(&self, path: &str, line: Option<usize>) -> Value {
        let folder = match self {
            Self::Repository(folder) => folder.as_str(),
            Self::Vault => "",
        };
        let uri = format!("{folder}{}", encode_path(path));
        let mut place = json!({"artifactLocation": {"uri": uri, "uriBaseId": self.base().0}});
        if let Some(line) = line.filter(|line| *line > 0) {
            place["region"] = json!({"startLine": line});
        }
        json!({"physicalLocation": place})
    }
}

/// Returns the report of a verifier as one run of the tool. Each rule is a kind of finding.
pub(crate) fn of_findings(report: &Report, place: &Place, spell: Spell) -> String {
    let codes = report.findings.iter().map(|finding| finding.code);
    let rules = numbered(codes);
    let result = |finding: &Finding| of_finding(finding, rules.get(&finding.code), place);
    run(
        place,
        &rules.keys().map(|code| rule(*code, spell)).collect::<Vec<_>>(),
        &report.findings.iter().map(result).collect::<Vec<_>>(),
        &report.trust_error.iter().map(ToString::to_string).collect::<Vec<_>>(),
        &json!({
            "verdict": report.verdict.as_str(),
            "checkpoints": report.checkpoints,
            "head": report.head.map(|hash| hash.to_string()),
            "anchoredTo": report.anchors.iter().map(|held| held.checkpoint).max(),
            "omitted": report.omitted,
        }),
    )
}

/// Returns the problems of live files as one run of the tool. Each rule is a code.
pub(crate) fn of_problems(report: &ValidateReport, place: &Place) -> String {
    let all = || report.files.iter().flat_map(|file| file.problems.iter().map(move |p| (file, p)));
    let rules = numbered(all().map(|(_, problem)| problem.code));
    let rule = |code: &&str| {
        let meaning = codes::problems().find(|known| *known.code == **code);
        json!({
            "id": code,
            "shortDescription": {"text": meaning.map_or(*code, |known| known.meaning)},
        })
    };
    run(
        place,
        &rules.keys().map(rule).collect::<Vec<_>>(),
        &all()
            .map(|(file, problem)| of_problem(&file.path, problem, rules.get(problem.code), place))
            .collect::<Vec<_>>(),
        &[],
        &json!({
            "checked": report.checked,
            "errors": report.errors,
            "warnings": report.warnings,
            "omitted": report.omitted,
        }),
    )
}

/// Returns each code once, with its position in their order.
fn numbered<C: Ord>(codes: impl Iterator<Item = C>) -> BTreeMap<C, usize> {
    let mut rules: BTreeMap<C, usize> = codes.map(|code| (code, 0)).collect();
    for (n, index) in rules.values_mut().enumerate() {
        *index = n;
    }
    rules
}

fn run(
    place: &Place,
    rules: &[Value],
    results: &[Value],
    notifications: &[String],
    properties: &Value,
) -> String {
    let (base, description) = place.base();
    let warn = |why: &String| json!({"level": "warning", "message": {"text": why}});
    let sarif = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "ctx",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "originalUriBaseIds": {base: {"description": {"text": description}}},
            "columnKind": "unicodeCodePoints",
            "results": results,
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications.iter().map(warn).collect::<Vec<_>>(),
            }],
            "properties": properties,
        }],
    });
    super::harmless(serde_json::to_string_pretty(&sarif).unwrap_or_default())
}

fn rule(code: Code, spell: Spell) -> Value {
    json!({
        "id": code.as_str(),
        "shortDescription": {"text": code.meaning()},
        "fullDescription": {"text": code.cause()},
        "help": {"text": code.remedy().render(spell)},
        "defaultConfiguration": {"level": level(code)},
        "properties": {"class": code.class().as_str()},
    })
}

fn of_finding(finding: &Finding, rule: Option<&usize>, place: &Place) -> Value {
    let mut message = finding.message.clone();
    if let (Some(expected), Some(found)) = (&finding.expected, &finding.found) {
        message.push_str(&format!(": expected {expected}, found {found}"));
    }
    // A tool that tracks findings recognises the same finding in the next run by this fingerprint.
    let same = format!(
        "{}\n{}\n{:?}\n{:?}",
        finding.code, finding.path, finding.version, finding.checkpoint
    );
    json!({
        "ruleId": finding.code.as_str(),
        "ruleIndex": rule,
        "level": level(finding.code),
        "message": {"text": message},
        "locations": [place.location(&finding.path, finding.line)],
        "partialFingerprints": {"finding/v1": Digest::of(same.as_bytes()).short()},
        "properties": {
            "id": finding.id.as_ref().map(ToString::to_string),
            "version": finding.version,
            "checkpoint": finding.checkpoint,
        },
    })
}

fn of_problem(path: &str, problem: &ProblemReport, rule: Option<&usize>, place: &Place) -> Value {
    // The line number is left out: other edits move a problem, and it remains the same problem.
    let same = format!("{}\n{path}\n{}", problem.code, problem.message);
    json!({
        "ruleId": problem.code,
        "ruleIndex": rule,
        "level": problem.severity,
        "message": {"text": format!("{}. Hint: {}", problem.message, problem.hint)},
        "locations": [place.location(path, problem.line)],
        "partialFingerprints": {"problem/v1": Digest::of(same.as_bytes()).short()},
    })
}

fn level(code: Code) -> &'static str {
    match code.class() {
        Class::Damage | Class::Unsettled => "error",
        Class::WorkingCopy => "warning",
        Class::Note => "note",
    }
}
