//! What was written to teach agents.

use std::path::Path;

use serde::Serialize;

use super::Report;
use crate::read::derived::skill::{Change, Taught};

/// The answer of `skill install`.
#[derive(Debug, Serialize)]
pub struct SkillReport<'s> {
    /// The folder of the project.
    pub project: String,
    /// The files in it.
    pub files: Vec<SkillFile<'s>>,
    /// Whether they were written, where they differ.
    pub written: bool,
}

/// A file for agents.
#[derive(Debug, Serialize)]
pub struct SkillFile<'s> {
    /// Path in the project.
    pub path: &'s str,
    /// `created`, `changed` or `unchanged`.
    pub(crate) outcome: &'s Change,
    /// The text: of the whole file, or of its section.
    pub text: &'s str,
}

impl Report for SkillReport<'_> {
    const SCHEMA: &'static str = "skill.install";
}

impl<'s> SkillReport<'s> {
    /// What becomes, or would become, of each file of a project.
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
