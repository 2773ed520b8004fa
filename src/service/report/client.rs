//! How a client starts `ctx mcp`.

use serde::Serialize;

use super::Report;
use crate::values::codes::words;

/// The answer of `mcp config`.
#[derive(Debug, Serialize)]
pub struct ClientReport<'c> {
    /// The name of the server in the client.
    pub name: &'c str,
    /// The program that the client starts.
    pub command: &'c str,
    /// Its arguments.
    pub args: &'c [String],
    /// The variables that the client sets for it.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub env: serde_json::Map<String, serde_json::Value>,
    /// Where the configuration of the client is, in words.
    pub file: &'static str,
    /// What is to be in it.
    pub text: &'c str,
    /// What became of the configuration, where it was to be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<WrittenReport<'c>>,
}

words! {
    /// What became of a configuration.
    pub enum ConfigChange {
        /// The file is new.
        Created = "created",
        /// The file was changed.
        Updated = "updated",
        /// The file has the entry already.
        Unchanged = "unchanged",
    }
}

/// What became of the configuration of a client.
#[derive(Debug, Serialize)]
pub struct WrittenReport<'c> {
    /// The file.
    pub path: &'c str,
    /// `created`, `updated` or `unchanged`.
    pub change: ConfigChange,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The unified diff; empty where nothing changes.
    pub diff: &'c str,
}

impl Report for ClientReport<'_> {
    const SCHEMA: &'static str = "mcp.config";
}

/// The answer of `mcp schema`.
#[derive(Debug, Serialize)]
pub struct SchemasReport {
    /// The tools.
    pub tools: Vec<ToolSchemas>,
}

/// The schemas of a tool.
#[derive(Debug, Serialize)]
pub struct ToolSchemas {
    /// Its name.
    pub name: &'static str,
    /// That of its arguments.
    pub input_schema: serde_json::Value,
    /// That of its answers.
    pub output_schema: serde_json::Value,
}

#[cfg(feature = "mcp")]
impl SchemasReport {
    /// The schemas as one JSON object by the names of tools.
    pub(crate) fn text(&self) -> String {
        let of = |tool: &ToolSchemas| {
            let both = serde_json::json!({
                "inputSchema": tool.input_schema, "outputSchema": tool.output_schema,
            });
            (tool.name.to_owned(), both)
        };
        let all: serde_json::Map<_, _> = self.tools.iter().map(of).collect();
        serde_json::to_string_pretty(&all).unwrap_or_default()
    }
}

impl Report for SchemasReport {
    const SCHEMA: &'static str = "mcp.schema";
}
