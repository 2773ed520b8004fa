//! A report in the Static Analysis Results Interchange Format (SARIF 2.1.0, OASIS), which code
//! hosts and editors show beside the files.

use super::Spell;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::digest::Digest;
use crate::uri::encode_path;
use crate::verify::{Class, Code, Finding, Report};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The report as one run of the tool. A rule is a kind of finding; paths are relative to the
/// vault's folder, which is named `VAULT`.
pub fn of(report: &Report, version: &str, spell: Spell) -> String {
    let mut rules: BTreeMap<Code, usize> = BTreeMap::new();
    for finding in &report.findings {
        rules.entry(finding.code).or_default();
    }
    for (n, index) in rules.values_mut().enumerate() {
        *index = n;
    }
    let results: Vec<Value> =
        report.findings.iter().map(|finding| result(finding, rules.get(&finding.code))).collect();
    let sarif = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "ctx",
                "version": version,
                "rules": rules.keys().map(|code| rule(*code, spell)).collect::<Vec<_>>(),
            }},
            "originalUriBaseIds": {"VAULT": {"description": {"text": "The folder of the vault."}}},
            "columnKind": "unicodeCodePoints",
            "results": results,
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": report.trust_error.iter().map(|why| json!({
                    "level": "warning",
                    "message": {"text": why.to_string()},
                })).collect::<Vec<_>>(),
            }],
            "properties": {
                "verdict": report.verdict.as_str(),
                "checkpoints": report.checkpoints,
                "head": report.head.map(|hash| hash.to_string()),
                "anchoredTo": report.anchors.iter().map(|held| held.checkpoint).max(),
            },
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

fn result(finding: &Finding, rule: Option<&usize>) -> Value {
    let mut message = finding.message.clone();
    if let (Some(expected), Some(found)) = (&finding.expected, &finding.found) {
        message.push_str(&format!(": expected {expected}, found {found}"));
    }
    // The same finding in the next run is the same to a tool that tracks findings.
    let place = format!(
        "{}\n{}\n{:?}\n{:?}",
        finding.code, finding.path, finding.version, finding.checkpoint
    );
    json!({
        "ruleId": finding.code.as_str(),
        "ruleIndex": rule,
        "level": level(finding.code),
        "message": {"text": message},
        "locations": [{
            "physicalLocation": {"artifactLocation": {
                "uri": encode_path(&finding.path),
                "uriBaseId": "VAULT",
            }},
        }],
        "partialFingerprints": {"finding/v1": Digest::of(place.as_bytes()).short()},
        "properties": {
            "id": finding.id.as_ref().map(ToString::to_string),
            "version": finding.version,
            "checkpoint": finding.checkpoint,
        },
    })
}

fn level(code: Code) -> &'static str {
    match code.class() {
        Class::Damage | Class::Unsettled => "error",
        Class::WorkingCopy => "warning",
        Class::Note => "note",
    }
}
