//! The problems of a `stewards.yaml`, each with a place, a stable code, a message and a hint.

use crate::text::document::validate::{Problem, Severity};
use crate::values::model::hint::Hint;
use crate::values::model::id::IdError;
use crate::values::model::principal::PrincipalError;

/// A problem of a `stewards.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StewardsProblem {
    /// Line from 1.
    pub line: usize,
    /// Column from 1.
    pub column: usize,
    /// The kind of problem.
    pub kind: ProblemKind,
}

/// The rule of `stewards.yaml` that a file breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The file is not YAML of the dialect.
    #[error("{0}")]
    Yaml(String),
    /// An unknown key.
    #[error("unknown key `{}`", .found.escape_debug())]
    Key {
        /// The key.
        found: String,
        /// The known key with the nearest spelling.
        near: Option<&'static str>,
        /// The keys that are allowed here.
        known: &'static [&'static str],
    },
    /// A value of another kind than its key requires, or a missing value.
    #[error("expected {0}")]
    Value(String),
    /// A word that is not a role.
    #[error("unknown role `{}`", .found.escape_debug())]
    Role {
        /// The word.
        found: String,
        /// The role with the nearest spelling.
        near: Option<&'static str>,
    },
    /// A name that a principal cannot have.
    #[error("{0}")]
    Principal(PrincipalError),
    /// A folder, tag or id that a document cannot have.
    #[error("`{}` is not {what}: {why}", .found.escape_debug())]
    Scope {
        /// The text that was found.
        found: String,
        /// The kind of name that was expected, with its article.
        what: &'static str,
        /// The reason for which the text is not valid.
        why: String,
        /// The text that was probably meant.
        near: Option<String>,
    },
    /// A scope that only the stewards of the vault decide about.
    #[error("only the stewards of the vault decide about `{0}`")]
    VaultOnly(String),
    /// A scope, a principal or a group that is repeated at one place.
    #[error("`{}` is repeated, first in line {first}", .what.escape_debug())]
    Twice {
        /// The text that is repeated.
        what: String,
        /// Line of the first occurrence, from 1.
        first: usize,
    },
    /// A group that the file does not define.
    #[error("no group has the name `{}`", .found.escape_debug())]
    Group {
        /// The name that was found.
        found: String,
        /// The group with the nearest spelling.
        near: Option<String>,
    },
    /// A file, or a part of it, that exceeds a limit.
    #[error("{0}")]
    Limit(String),
}

impl StewardsProblem {
    /// Every code, in the order of the specification.
    pub const CODES: [&'static str; 9] = [
        "stewards-yaml",
        "stewards-key",
        "stewards-value",
        "stewards-role",
        "stewards-principal",
        "stewards-scope",
        "stewards-twice",
        "stewards-group",
        "stewards-limit",
    ];

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            ProblemKind::Yaml(_) => "stewards-yaml",
            ProblemKind::Key { .. } => "stewards-key",
            ProblemKind::Value(_) => "stewards-value",
            ProblemKind::Role { .. } => "stewards-role",
            ProblemKind::Principal(_) => "stewards-principal",
            ProblemKind::Scope { .. } | ProblemKind::VaultOnly(_) => "stewards-scope",
            ProblemKind::Twice { .. } => "stewards-twice",
            ProblemKind::Group { .. } => "stewards-group",
            ProblemKind::Limit(_) => "stewards-limit",
        }
    }

    /// Returns a hint for fixing it.
    pub fn hint(&self) -> Hint {
        let meant = |word: &str| Hint::from(format!("did you mean `{word}`?"));
        match &self.kind {
            ProblemKind::Key { near: Some(near), .. }
            | ProblemKind::Role { near: Some(near), .. } => meant(near),
            ProblemKind::Key { known, .. } => {
                let known: Vec<String> = known.iter().map(|key| format!("`{key}`")).collect();
                format!("keys here are {}", known.join(", ")).into()
            }
            ProblemKind::Role { .. } => "roles are `viewer`, `editor` and `reviewer`".into(),
            ProblemKind::Scope { near: Some(near), .. } => meant(near),
            ProblemKind::Group { near: Some(near), .. } => meant(near),
            ProblemKind::Group { .. } => "define it under `groups`".into(),
            ProblemKind::Principal(why) => match why.near() {
                Some(near) => meant(near.as_str()),
                None => "write the address that the principal uses in ctx".into(),
            },
            ProblemKind::VaultOnly(_) => "remove the entry, and assign roles under `vault`".into(),
            ProblemKind::Twice { .. } => "merge the two entries, or remove one".into(),
            ProblemKind::Limit(_) => "assign roles to folders, tags and groups instead".into(),
            ProblemKind::Yaml(_) | ProblemKind::Value(_) | ProblemKind::Scope { .. } => {
                "fix the line; spec/stewards.md lists the keys".into()
            }
        }
    }
}

impl std::fmt::Display for StewardsProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.kind)
    }
}

impl ProblemKind {
    /// Returns the problem of a text that is not an id.
    pub(super) fn of_id(found: &str, what: &'static str, why: &IdError) -> Self {
        Self::Scope { found: found.to_owned(), what, why: why.to_string(), near: None }
    }
}

/// The problem has severity `Error`, so that a file with a problem is not published.
impl From<&StewardsProblem> for Problem {
    fn from(problem: &StewardsProblem) -> Self {
        Self {
            code: problem.code(),
            severity: Severity::Error,
            line: Some(problem.line),
            message: format!("column {}: {}", problem.column, problem.kind),
            hint: problem.hint(),
        }
    }
}
