//! Reports: the answers of commands, tools and pages, as values that can be serialised.
//!
//! A key has the same meaning in every report (`docs/json.md`). A front end formats a report and
//! adds no content.

pub mod access;
pub mod advice;
mod attributes;
pub mod audit;
pub mod blame;
pub mod check;
pub mod checkpoint;
pub mod checks;
pub mod ci;
pub mod client;
pub mod doctor;
pub mod document;
pub mod draft;
pub mod event;
pub mod evidence;
pub mod failure;
pub mod graph;
pub mod head;
pub mod history;
pub mod hook;
pub mod map;
pub mod merge;
pub(crate) mod otlp;
pub mod owners;
pub mod pack;
pub mod problem;
pub(crate) mod prov;
pub mod recover;
#[cfg(feature = "mcp")]
pub mod reference;
pub mod resolve;
pub mod restore;
pub mod retention;
pub mod review;
#[cfg(feature = "mcp")]
mod schema;
pub mod search;
pub mod skill;
pub mod source;
pub(crate) mod spelling;
pub mod staging;
pub mod stewards;
pub mod submission;
pub mod token;
pub mod trace;
pub mod vault;
pub mod verify;

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::values::model::visible::{is_plain, steers};

/// Version of all schemas. It changes when a key changes its name or its meaning.
pub const SCHEMA_VERSION: u32 = 2;

pub use crate::values::model::hint::Spell;

/// An answer that can be serialised.
pub trait Report: Serialize {
    /// Name of the schema, without `ctx.`.
    const SCHEMA: &'static str;
}

/// A report whose list was cut to a limit.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct Limited<R> {
    /// Report with the remaining entries.
    #[serde(flatten)]
    pub report: R,
    /// Number of entries that were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: usize,
}

/// A page of a report's list.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct Paged<R> {
    /// Report with the entries of the page.
    #[serde(flatten)]
    pub report: R,
    /// Number of entries after this page.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: usize,
    /// Cursor that names the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl<R: Report> Report for Paged<R> {
    const SCHEMA: &'static str = R::SCHEMA;
}

/// Returns true if a number is zero, so that a report leaves it out.
fn is_zero<N: Default + PartialEq>(n: &N) -> bool {
    *n == N::default()
}

impl<R: Report> Report for Limited<R> {
    const SCHEMA: &'static str = R::SCHEMA;
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    schema: String,
    schema_version: u32,
    #[serde(flatten)]
    report: &'a T,
}

/// Returns a report as one JSON object that names its schema.
///
/// `notes` come before the report's own notes. `may_not_read` is the number of documents that the
/// reader may not read (REV-23).
pub fn to_json<R: Report>(report: &R, notes: &[String], may_not_read: Option<usize>) -> String {
    let schema = format!("ctx.{}", R::SCHEMA);
    let envelope = Envelope { schema, schema_version: SCHEMA_VERSION, report };
    let json = match (notes, may_not_read) {
        ([], None) => serde_json::to_string_pretty(&envelope),
        _ => serde_json::to_string_pretty(&with(&envelope, notes, may_not_read)),
    };
    // Serialising fails only for maps whose keys are not strings; reports have none.
    harmless(
        json.unwrap_or_else(|why| format!("{{\"schema\": \"ctx.error\", \"message\": \"{why}\"}}")),
    )
}

/// Returns the output of [`to_json`] on one line.
pub fn to_json_compact<R: Report>(
    report: &R,
    notes: &[String],
    may_not_read: Option<usize>,
) -> String {
    let schema = format!("ctx.{}", R::SCHEMA);
    let envelope = Envelope { schema, schema_version: SCHEMA_VERSION, report };
    let json = match (notes, may_not_read) {
        ([], None) => serde_json::to_string(&envelope),
        _ => serde_json::to_string(&with(&envelope, notes, may_not_read)),
    };
    // Serialising fails only for maps whose keys are not strings; reports have none.
    harmless(json.unwrap_or_default())
}

/// Returns a report as JSON on one line, for output with one report on each line.
pub fn to_json_line<R: Report>(report: &R) -> String {
    to_json_compact(report, &[], None)
}

fn with(report: &impl Serialize, notes: &[String], may_not_read: Option<usize>) -> Value {
    let mut report = serde_json::to_value(report).unwrap_or_default();
    if let Value::Object(fields) = &mut report {
        if !notes.is_empty() {
            let own = fields.remove("notes").and_then(|own| own.as_array().cloned());
            let notes = notes.iter().cloned().map(Value::String);
            fields.insert("notes".to_owned(), notes.chain(own.unwrap_or_default()).collect());
        }
        if let Some(count) = may_not_read {
            fields.insert("may_not_read".to_owned(), count.into());
        }
    }
    report
}

/// Escapes DEL, C1 and bidirectional characters in JSON, because a terminal would interpret them.
pub(crate) fn harmless(json: String) -> String {
    if is_plain(&json) || !json.chars().any(|c| c != '\n' && steers(c)) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && steers(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Answer {
        title: &'static str,
        notes: Vec<&'static str>,
    }

    impl Report for Answer {
        const SCHEMA: &'static str = "answer";
    }

    #[test]
    fn report_names_its_schema_and_begins_with_notes_about_the_vault() {
        let answer = Answer { title: "a", notes: vec!["own"] };
        let json = to_json(&answer, &["first".to_owned()], None);
        let value: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&value["schema"], &value["schema_version"]), (&"ctx.answer".into(), &2.into()));
        assert_eq!(value["notes"], serde_json::json!(["first", "own"]));
    }

    #[test]
    fn json_escapes_characters_that_a_terminal_obeys() {
        let hostile = "\u{1b}\u{202e}\u{e0001}é";
        let json = to_json(&Answer { title: hostile, notes: Vec::new() }, &[], None);
        assert!(!json.chars().any(|c| c != '\n' && steers(c)), "{json}");
        let value: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["title"], hostile);
    }
}
