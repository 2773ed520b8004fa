//! `docs/cli.md` and `docs/json.md` equal what the program generates. `CTX_UPDATE_DOCS=1 cargo test`
//! writes them.

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

use contextnest::front::cli;
use contextnest::report;
use serde_json::{Value, json};

use crate::harness::{Place, repository};

/// Compares a file with its generated text, or writes the file.
fn compare(file: &str, text: &str) {
    let path = repository().join(file);
    if std::env::var_os("CTX_UPDATE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "{file} is old: run the tests with CTX_UPDATE_DOCS=1");
}

#[test]
fn the_command_reference_equals_help() {
    compare("docs/cli.md", &cli::reference());
}

#[test]
fn the_report_reference_equals_the_types() {
    let text = report::reference::reference();
    compare("docs/json.md", &text);
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    // Ranges are of the standard library, without comments.
    let rows = rows.filter(|row| !row.contains("[].start`") && !row.contains("[].end`"));
    let without_meaning: Vec<&str> = rows.filter(|row| row.ends_with("|  |")).collect();
    assert!(without_meaning.is_empty(), "{without_meaning:#?}");
}

#[test]
fn every_report_has_a_table() {
    let folder = repository().join("src/service/report");
    for file in fs::read_dir(folder).unwrap() {
        let Ok(source) = fs::read_to_string(file.unwrap().path()) else { continue };
        let source = source.split("#[cfg(test)]").next().unwrap();
        for rest in source.split("const SCHEMA: &'static str = \"").skip(1) {
            let name = format!("ctx.{}", rest.split('"').next().unwrap());
            assert!(tables().contains_key(&name), "{name}");
        }
    }
}

#[test]
fn reference_lacks_a_key_that_no_type_has() {
    let list = json!({"schema": "ctx.list", "documents": [{"id": "a", "x": 1}], "y": {}});
    assert_eq!(undocumented("ctx.list", &list), ["document: x", "ctx.list: y"]);
    assert_eq!(undocumented("ctx.x", &json!({"z": 1})), ["ctx.x: z"]);
    assert_eq!(undocumented("ctx.publish", &json!({"dry_run": null})), ["event: dry_run is null"]);
}

/// Types by key. The type of `""` links to an object whose keys a report has.
type Table = BTreeMap<String, String>;

/// Tables of the reports and objects by their headings. Objects have lower case.
fn tables() -> &'static BTreeMap<String, Table> {
    static TABLES: OnceLock<BTreeMap<String, Table>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let text = report::reference::reference();
        let mut tables: BTreeMap<String, Table> = BTreeMap::new();
        for section in text.split("\n### ").skip(1) {
            let heading = section.lines().next().unwrap().to_lowercase();
            let table = tables.entry(heading).or_default();
            for line in section.lines() {
                if let Some((_, link)) = line.split_once("It has the keys of ") {
                    table.insert(String::new(), link.to_owned());
                }
                let mut cells = line.split(" | ");
                if let Some(key) = cells.next().and_then(|cell| cell.strip_prefix("| `")) {
                    let kind = cells.next().unwrap_or_default().to_owned();
                    table.insert(key.trim_end_matches('`').to_owned(), kind);
                }
            }
        }
        tables
    })
}

/// Returns the keys of a report that its table does not have.
pub(crate) fn undocumented(schema: &str, report: &Value) -> Vec<String> {
    let mut missing = Vec::new();
    for (key, value) in report.as_object().unwrap() {
        // Every report can have these.
        if !["schema", "schema_version", "notes", "omitted", "may_not_read"].contains(&key.as_str())
        {
            check((schema, key), value, &mut missing);
        }
    }
    missing
}

/// Returns the object that a type links to.
fn linked(kind: &str) -> Option<&str> {
    kind.split_once("](#").and_then(|(_, to)| to.split(')').next())
}

/// Adds the keys below a key that no table has.
fn check((table, key): (&str, &str), value: &Value, missing: &mut Vec<String>) {
    let Some(found) = tables().get(table) else {
        return missing.push(format!("{table}: {key}"));
    };
    let kind = match (found.get(key), found.get("").and_then(|kind| linked(kind))) {
        (Some(kind), _) => kind,
        (None, Some(object)) => return check((object, key), value, missing),
        (None, None) => return missing.push(format!("{table}: {key}")),
    };
    if value.is_null() && !kind.contains("null") && kind != "any value" {
        missing.push(format!("{table}: {key} is null"));
    }
    // Brackets show the depth of lists.
    let mut values = vec![(key.to_owned(), value)];
    while let Some((key, value)) = values.pop() {
        match value {
            Value::Array(items) => {
                values.extend(items.iter().map(|item| (format!("{key}[]"), item)));
            }
            Value::Object(fields) => match linked(kind) {
                Some(object) => {
                    fields.iter().for_each(|(key, value)| check((object, key), value, missing));
                }
                None if found.keys().any(|other| other.starts_with(&format!("{key}."))) => {
                    for (name, value) in fields {
                        check((table, &format!("{key}.{name}")), value, missing);
                    }
                }
                // Keys of maps and of lines of the log are not listed.
                None => {
                    let is_open = kind.ends_with("object") || kind.contains("map");
                    assert!(is_open || kind == "any value", "{table}: {key}: {kind}");
                }
            },
            _ => {}
        }
    }
}

#[test]
fn every_verb_has_a_sentence_and_an_example() {
    let place = Place::new();
    let help = place.ctx("--help").ok().stdout;
    let commands = help.split_once("Start:\n").unwrap().1.split_once("\nHelp:\n").unwrap().0;
    let verbs = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for verb in verbs {
        let help = place.ctx(&format!("{verb} --help")).ok().stdout;
        assert!(help.contains("Example"), "{verb}: {help}");
    }
}
