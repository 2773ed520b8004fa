//! Report of the files for agents that were written.

use std::path::Path;

use serde::Serialize;

use super::Report;
use crate::read::derived::skill::{Change, Taught};

/// The answer of `skill install`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SkillReport<'s> {
    /// Folder of the project.
    pub project: String,
    /// Files in the project.
    pub files: Vec<SkillFile<'s>>,
    /// True if differing files were written.
    pub written: bool,
}

/// A file for agents.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SkillFile<'s> {
    /// Path in the project.
    pub path: &'s str,
    /// `created`, `changed` or `unchanged`.
    pub(crate) outcome: &'s Change,
    /// Text of the whole file, or of its section.
    pub text: &'s str,
}

impl Report for SkillReport<'_> {
    const SCHEMA: &'static str = "skill.install";
}

impl<'s> SkillReport<'s> {
    /// Reports the outcome, or the planned outcome, for each file of a project.
    pub(crate) fn new(project: &Path, files: &'s [(Taught, Change)], written: bool) -> Self {
        let file = |(one, change): &'s (Taught, Change)| SkillFile {
            path: &one.path,
            outcome: change,
            text: &one.text,
        };
        let files = files.iter().map(file).collect();
        Self { project: project.to_string_lossy().into_owned(), files, written }
    }
}
