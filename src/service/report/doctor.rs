//! What `ctx mcp doctor` found.

use serde::Serialize;

use super::Report;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All is well.
    Ok,
    /// It works, but not as its user may expect.
    Warning,
    /// It does not work.
    Problem,
}

impl Outcome {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// What was checked: `config`, `program`, `connect`, `protocol`, `version`, `tools`, `principal`,
    /// `call` or `verify`.
    pub check: &'static str,
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
