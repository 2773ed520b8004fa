//! The Static Analysis Results Interchange Format (SARIF 2.1.0, OASIS), which code hosts and editors
//! show next to the files.
//!
//! The address of the base of the paths is left out, because a report may be read on another machine.

use serde_json::{Value, json};

use super::{Checked, Place, Row, Rule};
use crate::text::uri::encode_path;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Prints one run of the tool for each check. Each rule is a kind of row.
pub(super) fn print(checks: &[Checked], place: &Place) -> String {
    let sarif = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": checks.iter().map(|checked| run(checked, place)).collect::<Vec<_>>(),
    });
    crate::service::report::harmless(serde_json::to_string_pretty(&sarif).unwrap_or_default())
}

fn run(checked: &Checked, place: &Place) -> Value {
    let (base, description) = base(place);
    let warn = |why: &String| json!({"level": "warning", "message": {"text": why}});
    json!({
        "tool": {"driver": {
            "name": "ctx",
            "version": env!("CARGO_PKG_VERSION"),
            "rules": checked.rules.iter().map(rule).collect::<Vec<_>>(),
        }},
        // Code hosts replace results of the same tool and category.
        "automationDetails": {"id": format!("ctx/{}/", checked.name)},
        "originalUriBaseIds": {base: {"description": {"text": description}}},
        "columnKind": "unicodeCodePoints",
        "results": checked.rows.iter().map(|row| result(row, checked, place)).collect::<Vec<_>>(),
        "invocations": [{
            "executionSuccessful": true,
            "toolExecutionNotifications": checked.trouble.iter().map(warn).collect::<Vec<_>>(),
        }],
        "properties": checked.properties,
    })
}

/// Returns the name of the base and its description.
fn base(place: &Place) -> (&'static str, &'static str) {
    match place {
        Place::Repository(_) => ("%SRCROOT%", "The top of the git repository."),
        Place::Vault => ("VAULT", "The folder of the vault."),
    }
}

fn rule(rule: &Rule) -> Value {
    let mut value = json!({"id": rule.code, "shortDescription": {"text": rule.meaning}});
    if let Some((cause, remedy, level, class)) = &rule.details {
        value["fullDescription"] = json!({"text": cause});
        value["help"] = json!({"text": remedy});
        value["defaultConfiguration"] = json!({"level": level});
        value["properties"] = json!({"class": class});
    }
    value
}

fn result(row: &Row, checked: &Checked, place: &Place) -> Value {
    let uri = format!("{}{}", place.folder(), encode_path(&row.path));
    let mut location = json!({"artifactLocation": {"uri": uri, "uriBaseId": base(place).0}});
    if let Some(line) = row.line {
        location["region"] = json!({"startLine": line});
    }
    let mut value = json!({
        "ruleId": row.code,
        "ruleIndex": checked.rules.iter().position(|rule| rule.code == row.code),
        "level": row.level,
        "message": {"text": row.message},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {checked.fingerprints: row.fingerprint},
    });
    if let Some(properties) = &row.properties {
        value["properties"] = properties.clone();
    }
    value
}
