//! The problems of a pack file: each has a place, a stable code, a message, and a hint.

use crate::text::document::validate::{Problem, Severity};
use crate::text::selector::ParseError;
use crate::text::uri::{ForeignVault, UriError};
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::number::CheckpointNumber;
use crate::values::model::visible::{Invisible, without_invisible};

/// A problem of a pack file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackProblem {
    /// Line from 1.
    pub line: usize,
    /// Column from 1.
    pub column: usize,
    /// Rule that the file breaks.
    pub kind: ProblemKind,
}

/// A rule of packs that a file breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The file cannot be read, or is not a mapping in YAML.
    #[error("{0}")]
    Yaml(String),
    /// Packs do not have this key.
    #[error("unknown key `{}`", .found.escape_debug())]
    UnknownKey {
        /// Unknown key.
        found: String,
        /// Key that was probably meant.
        near: Option<&'static str>,
    },
    /// A required key is missing.
    #[error("expected a key `{0}`")]
    Missing(&'static str),
    /// The value is of the wrong kind.
    #[error("expected {0}")]
    Value(&'static str),
    /// The id contains an invisible character.
    #[error("the id of a pack cannot contain invisible characters, but `{}` has {found}", .id.escape_debug())]
    Invisible {
        /// Id of the pack.
        id: String,
        /// First such character.
        found: Invisible,
    },
    /// The query is not a selector.
    #[error("the query is not a selector: {why}")]
    Query {
        /// Error of the parser.
        why: ParseError,
        /// Text of the query.
        text: String,
    },
    /// A text is not a URI.
    #[error("`{}` is not a URI: {why}", .text.escape_debug())]
    Uri {
        /// Error of the parser.
        why: UriError,
        /// Text that was found.
        text: String,
    },
    /// A pack names another pack.
    #[error("a pack cannot contain another pack, but found `pack:{}`", .0.escape_debug())]
    Nested(String),
    /// A URI names a checkpoint.
    #[error("a pack cannot name a checkpoint, but found `@{0}`")]
    Pinned(CheckpointNumber),
    /// A URI names another vault.
    #[error(transparent)]
    Foreign(ForeignVault),
    /// A URI in `excludes` names a section.
    #[error("`excludes` removes whole documents, not sections")]
    Section,
    /// The pack has neither a query nor includes.
    #[error("the pack has neither `query` nor `includes`, so it selects nothing")]
    Empty,
    /// The query selects no live document.
    #[error("the query selects no live document")]
    Unmatched,
    /// The pack excludes all documents that it selects.
    #[error("the pack selects no live document: `excludes` or `node_types` leave none")]
    Emptied,
    /// No live document has a tag of the query.
    #[error("no live document has `#{}`, which is in the query", .0.escape_debug())]
    Tag(String),
    /// A URI does not name a live document.
    #[error("`{0}` does not name a live document")]
    Dead(String),
    /// The live document does not have the anchor.
    #[error("`{id}` has no section `#{}`", .anchor.escape_debug())]
    Anchor {
        /// Id of the document.
        id: String,
        /// Anchor in the URI.
        anchor: String,
        /// Anchor that was probably meant.
        near: Option<String>,
    },
    /// Another file has the same id.
    #[error("`{other}` has the id `{}`, too", .id.escape_debug())]
    Twice {
        /// Id of both packs.
        id: String,
        /// Path of the other file.
        other: String,
    },
}

impl PackProblem {
    /// All codes, in the order of the specification.
    pub const CODES: [&'static str; 13] = [
        "pack-yaml",
        "pack-key",
        "pack-value",
        "pack-query",
        "pack-uri",
        "pack-nested",
        "pack-pinned",
        "pack-foreign",
        "pack-empty",
        "pack-unmatched",
        "pack-dead",
        "pack-anchor",
        "pack-twice",
    ];

    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            ProblemKind::Yaml(_) => "pack-yaml",
            ProblemKind::UnknownKey { .. } => "pack-key",
            ProblemKind::Missing(_) | ProblemKind::Value(_) | ProblemKind::Invisible { .. } => {
                "pack-value"
            }
            ProblemKind::Query { .. } => "pack-query",
            ProblemKind::Uri { .. } | ProblemKind::Section => "pack-uri",
            ProblemKind::Nested(_) => "pack-nested",
            ProblemKind::Pinned(_) => "pack-pinned",
            ProblemKind::Foreign(_) => "pack-foreign",
            ProblemKind::Empty => "pack-empty",
            ProblemKind::Unmatched | ProblemKind::Emptied | ProblemKind::Tag(_) => "pack-unmatched",
            ProblemKind::Dead(_) => "pack-dead",
            ProblemKind::Anchor { .. } => "pack-anchor",
            ProblemKind::Twice { .. } => "pack-twice",
        }
    }

    /// Returns true if the file cannot be used as a pack.
    pub fn is_fatal(&self) -> bool {
        match &self.kind {
            ProblemKind::Missing(key) => *key == "id",
            ProblemKind::UnknownKey { .. }
            | ProblemKind::Empty
            | ProblemKind::Unmatched
            | ProblemKind::Emptied
            | ProblemKind::Tag(_)
            | ProblemKind::Dead(_)
            | ProblemKind::Anchor { .. } => false,
            _ => true,
        }
    }

    /// Returns advice on how to fix the problem.
    pub fn hint(&self) -> Hint {
        let meant = |word: &str| Hint::from(format!("did you mean `{word}`?"));
        match &self.kind {
            ProblemKind::UnknownKey { near: Some(near), .. } => meant(near),
            ProblemKind::Anchor { near: Some(near), .. } => meant(&format!("#{near}")),
            ProblemKind::Query { why, .. } => why.hint().map_or_else(
                || Hint::call("try it with {}", Call::new(Verb::Resolve).word("--explain")),
                Hint::from,
            ),
            ProblemKind::Uri { .. } => {
                "write `contextnest://` and the path of the document, without `.md`".into()
            }
            ProblemKind::Nested(_) => "copy the query of the other pack".into(),
            ProblemKind::Pinned(_) => "remove the `@` and the number".into(),
            ProblemKind::Section => "remove the `#` and the name after it".into(),
            ProblemKind::Unmatched => {
                "correct the tags, filters and paths of the query, or give a \
                                       file a matching field, such as `tags: [policy]`"
                    .into()
            }
            ProblemKind::Emptied => "correct the query, `excludes` or `node_types`".into(),
            ProblemKind::Tag(_) => "correct the tag, or remove it from the query".into(),
            ProblemKind::Dead(_) => "fix the path, or remove the line".into(),
            ProblemKind::Anchor { .. } => Hint::call(
                "{} lists the sections",
                Call::new(Verb::Read).word("ID").word("--outline"),
            ),
            ProblemKind::Invisible { id, .. } => {
                format!("without this character the id is `{}`", without_invisible(id)).into()
            }
            ProblemKind::Twice { .. } => "give one of them another id".into(),
            _ => "fix the line; spec/vault.md lists the keys".into(),
        }
    }

    /// Returns the place in the query, if the problem has one: an excerpt and carets beneath it.
    pub fn caret(&self) -> Option<String> {
        match &self.kind {
            ProblemKind::Query { why, text } => Some(why.caret(text)),
            _ => None,
        }
    }
}

/// A faulty pack does not prevent publication, so its problems become warnings.
impl From<&PackProblem> for Problem {
    fn from(problem: &PackProblem) -> Self {
        Self {
            code: problem.code(),
            severity: Severity::Warning,
            line: Some(problem.line),
            message: problem.kind.to_string(),
            hint: problem.hint(),
        }
    }
}
