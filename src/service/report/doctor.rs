//! What `ctx mcp doctor` found.

use serde::Serialize;

use super::Report;
use crate::values::codes::words;

words! {
    /// How a check ended.
    pub enum Outcome {
        /// All is well.
        Ok = "ok",
        /// It works, but not as its user may expect.
        Warning = "warning",
        /// It does not work.
        Problem = "problem",
    }
}

words! {
    /// What is checked.
    pub enum Check {
        /// The entry in the configuration of the client.
        Config = "config",
        /// The program that the client starts.
        Program = "program",
        /// The connection.
        Connect = "connect",
        /// The revision of the protocol.
        Protocol = "protocol",
        /// The version of the program.
        Version = "version",
        /// The tools.
        Tools = "tools",
        /// Who acts.
        Principal = "principal",
        /// A call of a tool.
        Call = "call",
        /// A call of `context_verify`.
        Verify = "verify",
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// What was checked: `config`, `program`, `connect`, `protocol`, `version`, `tools`, `principal`,
    /// `call` or `verify`.
    pub check: Check,
    /// How it ended.
    pub outcome: Outcome,
    /// What was found.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The answer of `mcp doctor`.
#[derive(Debug, Serialize)]
pub struct DoctorReport {
    /// What the client starts: the program and its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub started: Vec<String>,
    /// The address, of a server over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Whether no check found a problem.
    pub works: bool,
    /// The checks, in their order.
    pub checks: Vec<Checked>,
}

impl Report for DoctorReport {
    const SCHEMA: &'static str = "mcp.doctor";
}
