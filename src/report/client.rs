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
}

impl Report for ClientReport<'_> {
    const SCHEMA: &'static str = "mcp.config";
}
