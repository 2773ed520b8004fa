//! What is wrong with a pack file: a place, a stable code, a sentence, a way out.

use crate::text::document::validate::{Problem, Severity};
use crate::text::selector::ParseError;
use crate::text::uri::{ForeignVault, UriError};
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::number::CheckpointNumber;
use crate::values::model::visible::{Invisible, without_invisible};

/// One thing that is wrong with a pack file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackProblem {
    /// Line from 1.
    pub line: usize,
    /// Column from 1.
    pub column: usize,
    /// What it is.
    pub kind: ProblemKind,
}

/// Which rule of packs a file breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The file cannot be read, or is no mapping in YAML.
    #[error("{0}")]
    Yaml(String),
    /// A key that packs do not have.
    #[error("unknown key `{}`", .found.escape_debug())]
    UnknownKey {
        /// The key.
        found: String,
        /// The key that was probably meant.
        near: Option<&'static str>,
    },
    /// A key without which a pack is not complete.
    #[error("expected a key `{0}`")]
    Missing(&'static str),
    /// A value of another kind than the key has.
    #[error("expected {0}")]
    Value(&'static str),
    /// An id with a character that is invisible.
    #[error("a pack's id holds no invisible character, but `{}` has {found}", .id.escape_debug())]
    Invisible {
        /// The id.
        id: String,
        /// The first such character.
        found: Invisible,
    },
    /// A query that is no selector.
    #[error("the query is not a selector: {why}")]
    Query {
        /// Why not.
        why: ParseError,
        /// The query.
        text: String,
    },
    /// A text that is no URI.
    #[error("`{}` is not a URI: {why}", .text.escape_debug())]
    Uri {
        /// Why not.
        why: UriError,
        /// The text.
        text: String,
    },
    /// A pack in a pack.
    #[error("a pack names no other pack, but this names `pack:{}`", .0.escape_debug())]
    Nested(String),
    /// A URI with a checkpoint.
    #[error("a pack is resolved at the checkpoint that is asked for, but this says `@{0}`")]
    Pinned(CheckpointNumber),
    /// A URI of another vault.
    #[error(transparent)]
    Foreign(ForeignVault),
    /// A section among `excludes`.
    #[error("`excludes` takes whole documents away, not a section")]
    Section,
    /// Neither a query nor includes.
    #[error("the pack has neither `query` nor `includes`, so it selects nothing")]
    Empty,
    /// A query that fits no live document.
    #[error("the query selects no live document")]
    Unmatched,
    /// A pack that takes away all that it selects.
    #[error("the pack selects no live document: `excludes` or `node_types` leave none")]
    Emptied,
    /// A tag in a query that no live document has.
    #[error("no live document has `#{}`, which the query names", .0.escape_debug())]
    Tag(String),
    /// A URI that names no live document.
    #[error("`{0}` names nothing that is here")]
    Dead(String),
    /// An anchor that the live document does not have.
    #[error("`{id}` has no section `#{}`", .anchor.escape_debug())]
    Anchor {
        /// The document.
        id: String,
        /// The anchor.
        anchor: String,
        /// The anchor that was probably meant.
        near: Option<String>,
    },
    /// An id that another file has, too.
    #[error("`{other}` has the id `{}`, too", .id.escape_debug())]
    Twice {
        /// The id.
        id: String,
        /// The other file.
        other: String,
    },
}

impl PackProblem {
    /// Every code, in the order of the specification.
    pub const CODES: [&'static str; 13] = [
        "governance-yaml",
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

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            ProblemKind::Yaml(_) => "governance-yaml",
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

    /// Whether it keeps the file from being used as a pack.
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

    /// How to mend it.
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
            ProblemKind::Nested(_) => "repeat what the other pack selects".into(),
            ProblemKind::Pinned(_) => "leave the `@` and the number out".into(),
            ProblemKind::Section => "leave the `#` and the name behind it out".into(),
            ProblemKind::Unmatched => {
                "correct the tags, filters and paths of the query, or give a \
                                       file what it asks for, such as `tags: [policy]`"
                    .into()
            }
            ProblemKind::Emptied => {
                "correct the query, or remove what takes its documents away".into()
            }
            ProblemKind::Tag(_) => "correct the tag, or remove it from the query".into(),
            ProblemKind::Dead(_) => "fix the path, or remove the line".into(),
            ProblemKind::Anchor { .. } => Hint::call(
                "{} lists the sections",
                Call::new(Verb::Read).word("ID").word("--outline"),
            ),
            ProblemKind::Invisible { id, .. } => {
                format!("without it the id is `{}`", without_invisible(id)).into()
            }
            ProblemKind::Twice { .. } => "give one of them another id".into(),
            _ => "fix the line; spec/vault.md lists the keys".into(),
        }
    }

    /// The place in the query, where the problem has one: an excerpt and carets beneath it.
    pub fn caret(&self) -> Option<String> {
        match &self.kind {
            ProblemKind::Query { why, text } => Some(why.caret(text)),
            _ => None,
        }
    }
}

/// A pack that is wrong keeps nothing from being published, so that it is a warning there.
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
