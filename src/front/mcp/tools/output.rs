//! Schemas of answers, made from the types of reports (MCP-32). The full one describes everything
//! that a report may have. The listed one, which each client reads before its first call, has only
//! their names; every answer that satisfies the full one satisfies it, too.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Value, json};

use crate::front::mcp::answer::{STAGED, WITHHELD};
use crate::service::report::failure::FailureReport;
use crate::service::report::{Report, SCHEMA_VERSION};

/// The reports that a tool may answer with.
pub(super) struct Outputs {
    generator: SchemaGenerator,
    /// The schemas of the reports, each with its name; a failure is one for every tool.
    reports: Vec<(String, JsonObject)>,
}

impl Outputs {
    /// Returns the reports of a tool, as `collect` names them.
    pub(super) fn of(collect: fn(&mut Self)) -> Self {
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let mut outputs = Self { generator, reports: Vec::new() };
        collect(&mut outputs);
        outputs.add::<FailureReport<'static>>();
        outputs
    }

    /// Adds a report.
    pub(super) fn add<R: Report + JsonSchema>(&mut self) {
        let body = R::json_schema(&mut self.generator).to_value();
        let Value::Object(mut body) = body else { return };
        let name = format!("ctx.{}", R::SCHEMA);
        let mut envelope = json!({
            "schema": {"const": name},
            "schema_version": {"const": SCHEMA_VERSION},
            "notes": {"type": "array", "items": {"type": "string"},
                      "description": "Remarks on the answer"},
            "may_not_read": {"type": "integer", "minimum": 0,
                             "description": "Number of documents that the reader may not read"},
        });
        let count = json!({"type": "integer", "minimum": 0,
                           "description": "Number of entries of the list that do not fit"});
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

    /// Returns the full schema: one of the reports, or a failure.
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

    /// Returns the listed schema: the names of the reports. Clients compare failures with it, too.
    pub(super) fn listed(self) -> JsonObject {
        let names: Vec<String> = self.reports.into_iter().map(|(name, _)| name).collect();
        let listed = json!({"type": "object", "properties": {"schema": {"enum": names}}});
        listed.as_object().cloned().unwrap_or_default()
    }
}

/// Counts of the omitted parts of an answer (MCP-5).
const CUT: [&str; 3] = ["omitted", WITHHELD.1, STAGED.1];
