//! Report of `ctx mcp doctor`.

use serde::Serialize;

use super::Report;
use crate::values::codes::words;

words! {
    /// Outcome of a check.
    pub enum Outcome {
        /// The check found no problem.
        Ok = "ok",
        /// The checked part works, but may surprise its user.
        Warning = "warning",
        /// The checked part does not work.
        Problem = "problem",
    }
}

words! {
    /// Subject of a check.
    pub enum Check {
        /// Entry in the configuration of the client.
        Config = "config",
        /// Program that the client starts.
        Program = "program",
        /// Connection to the server.
        Connect = "connect",
        /// Revision of the protocol.
        Protocol = "protocol",
        /// Version of the program.
        Version = "version",
        /// Tools of the server.
        Tools = "tools",
        /// Principal who acts.
        Principal = "principal",
        /// A call of a tool.
        Call = "call",
        /// A call of `context_verify`.
        Verify = "verify",
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct Checked {
    /// Subject: `config`, `program`, `connect`, `protocol`, `version`, `tools`, `principal`, `call`
    /// or `verify`.
    pub check: Check,
    /// `ok`, `warning` or `problem`.
    pub outcome: Outcome,
    /// Result as a sentence.
    pub message: String,
    /// Advice on how to fix a problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The answer of `mcp doctor`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct DoctorReport {
    /// Program that the client starts, with its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub started: Vec<String>,
    /// Address of a server over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// True if no check found a problem.
    pub works: bool,
    /// Checks in the order in which they ran.
    pub checks: Vec<Checked>,
}

impl Report for DoctorReport {
    const SCHEMA: &'static str = "mcp.doctor";
}
