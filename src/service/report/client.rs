//! Reports about the configuration of MCP clients, and about the schemas of the tools.

use serde::Serialize;

use super::Report;
use crate::values::codes::words;

/// The answer of `mcp config`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ClientReport<'c> {
    /// Name of the server in the client's configuration.
    pub name: &'c str,
    /// Program that the client starts.
    pub command: &'c str,
    /// Arguments of the program.
    pub args: &'c [String],
    /// Environment variables that the client sets for the program.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub env: serde_json::Map<String, serde_json::Value>,
    /// Location of the client's configuration, in words.
    pub file: &'static str,
    /// Text of the entry in the configuration.
    pub text: &'c str,
    /// Outcome for the configuration file, if the command writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<WrittenReport<'c>>,
}

words! {
    /// Outcome for a configuration file.
    pub enum ConfigChange {
        /// The file was created.
        Created = "created",
        /// The file was changed.
        Updated = "updated",
        /// The file already had the entry.
        Unchanged = "unchanged",
    }
}

/// Outcome for the configuration file of a client.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct WrittenReport<'c> {
    /// Path of the file.
    pub path: &'c str,
    /// `created`, `updated` or `unchanged`.
    pub change: ConfigChange,
    /// True if nothing was written.
    pub dry_run: bool,
    /// Unified diff; empty if nothing changes.
    pub diff: &'c str,
}

impl Report for ClientReport<'_> {
    const SCHEMA: &'static str = "mcp.config";
}

/// The answer of `mcp schema`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SchemasReport {
    /// Schemas of each tool.
    pub tools: Vec<ToolSchemas>,
}

/// The schemas of a tool.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ToolSchemas {
    /// Name of the tool.
    pub name: &'static str,
    /// JSON Schema of the arguments.
    pub input_schema: serde_json::Value,
    /// JSON Schema of the answers.
    pub output_schema: serde_json::Value,
}

#[cfg(feature = "mcp")]
impl SchemasReport {
    /// Returns the schemas as one JSON object, keyed by the names of the tools.
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
