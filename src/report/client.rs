//! How a client starts `ctx mcp`.

use serde::Serialize;

use super::Report;

/// The answer of `mcp config`.
#[derive(Debug, Serialize)]
pub struct ClientReport<'c> {
    /// The name of the server in the client.
    pub name: &'c str,
    /// The program that the client starts.
    pub command: &'c str,
    /// Its arguments.
    pub args: &'c [String],
    /// Where the configuration of the client is, in words.
    pub file: &'static str,
    /// What is to be in it.
    pub text: &'c str,
    /// What became of the configuration, where it was to be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<WrittenReport<'c>>,
}

/// What became of the configuration of a client.
#[derive(Debug, Serialize)]
pub struct WrittenReport<'c> {
    /// The file.
    pub path: &'c str,
    /// `created`, `updated` or `unchanged`.
    pub change: &'static str,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The unified diff; empty where nothing changes.
    pub diff: &'c str,
}

impl Report for ClientReport<'_> {
    const SCHEMA: &'static str = "mcp.config";
}
