//! Schemas of answers, made of the types of reports (MCP-32). The full one says all that a report may
//! have. The listed one, which each client reads before its first call, has only the members of the
//! first level; what satisfies the full one satisfies it, too.

use std::collections::{BTreeMap, BTreeSet};

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Value, json};

use crate::mcp::answer::{STAGED, WITHHELD};
use crate::report::failure::FailureReport;
use crate::report::{Report, SCHEMA_VERSION};

/// The reports that a tool may answer with.
pub(super) struct Outputs {
    generator: SchemaGenerator,
    /// The schemas of the reports, each with its name; a failure is one for every tool.
    reports: Vec<(String, JsonObject)>,
}

impl Outputs {
    /// Those of a tool, as `collect` names them.
    pub(super) fn of(collect: fn(&mut Self)) -> Self {
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let mut outputs = Self { generator, reports: Vec::new() };
        collect(&mut outputs);
        outputs.add::<FailureReport<'static>>();
        outputs
    }

    /// One more report.
    pub(super) fn add<R: Report + JsonSchema>(&mut self) {
        let body = R::json_schema(&mut self.generator).to_value();
        let Value::Object(mut body) = body else { return };
        let name = format!("ctx.{}", R::SCHEMA);
        let mut envelope = json!({
            "schema": {"const": name},
            "schema_version": {"const": SCHEMA_VERSION},
            "notes": {"type": "array", "items": {"type": "string"},
                      "description": "What is said beside the answer"},
            "may_not_read": {"type": "integer", "minimum": 0,
                             "description": "How many documents the reader may not read"},
        });
        let count = json!({"type": "integer", "minimum": 0,
                           "description": "How many entries of the list do not fit"});
        for name in CUT {
            envelope[name] = count.clone();
        }
        let members = body.entry("properties").or_insert_with(|| json!({}));
        if let (Value::Object(members), Value::Object(envelope)) = (members, &mut envelope) {
            for (name, schema) in std::mem::take(envelope) {
                members.entry(name).or_insert(schema);
            }
        }
        let required = body.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required {
            required.extend(["schema".into(), "schema_version".into()]);
        }
        body.insert("type".to_owned(), "object".into());
        self.reports.push((name, body));
    }

    /// The full schema: one of the reports, or a failure.
    pub(super) fn full(mut self) -> JsonObject {
        let defs = self.generator.take_definitions(true);
        let all: Vec<Value> = self.reports.into_iter().map(|(_, body)| body.into()).collect();
        let full = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "oneOf": all,
            "$defs": defs,
        });
        full.as_object().cloned().unwrap_or_default()
    }

    /// The schema that is listed: the names of the reports, and the types of their members where all
    /// that have one agree. Clients compare failures with it, too.
    pub(super) fn listed(self) -> JsonObject {
        let names: Vec<&String> = self.reports.iter().map(|(name, _)| name).collect();
        let mut members: BTreeMap<&String, Option<&str>> = BTreeMap::new();
        for (_, body) in &self.reports {
            let properties = body.get("properties").and_then(Value::as_object);
            for (name, schema) in properties.into_iter().flatten() {
                let kind = schema.get("type").and_then(Value::as_str);
                let kept = members.entry(name).or_insert(kind);
                *kept = kept.filter(|kept| Some(*kept) == kind);
            }
        }
        let of_failure = format!("ctx.{}", FailureReport::SCHEMA);
        let own = self.reports.iter().filter(|(name, _)| *name != of_failure);
        let own = own.filter_map(|(_, body)| body.get("properties")?.as_object());
        let own: BTreeSet<&str> = own.flat_map(|of| of.keys().map(String::as_str)).collect();
        let mut properties = JsonObject::new();
        properties.insert("schema".to_owned(), json!({"enum": names}));
        for (name, kind) in members {
            // What only a failure has, a list does not repeat for each tool.
            if let Some(kind) = kind
                && !COMMON.contains(&name.as_str())
                && own.contains(name.as_str())
            {
                properties.insert(name.clone(), json!({"type": kind}));
            }
        }
        let listed = json!({"type": "object", "properties": properties});
        listed.as_object().cloned().unwrap_or_default()
    }
}

/// Counts of what is cut of an answer (MCP-5).
const CUT: [&str; 3] = ["omitted", WITHHELD.1, STAGED.1];

/// Members of every answer or of failures, which a list does not repeat for each tool.
const COMMON: [&str; 12] = [
    "schema",
    "schema_version",
    "notes",
    "may_not_read",
    "code",
    "reason",
    "message",
    "details",
    "hints",
    "omitted",
    WITHHELD.1,
    STAGED.1,
];
