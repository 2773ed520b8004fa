//! Why a text is no URI: a variant and a stable code for each rule of `spec/uri.md`.

use super::encode;
use crate::values::model::id::IdError;

/// Why a text is no URI of the scheme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UriError {
    /// Another scheme, or none.
    #[error("expected `contextnest://`")]
    Scheme,
    /// More than 8192 bytes, as written or in canonical form.
    #[error("a URI has at most 8192 bytes, but this one has {found}")]
    TooLong {
        /// Its length.
        found: usize,
    },
    /// The root, which has no URI.
    #[error("expected a path after `contextnest://`")]
    Empty,
    /// A character that stands in no URI, literal or encoded.
    #[error("a URI holds no `{}`", .found.escape_debug())]
    Character {
        /// The character.
        found: char,
    },
    /// A `%` without two hexadecimal digits.
    #[error("expected two hexadecimal digits after `%` in `{}`", .segment.escape_debug())]
    Percent {
        /// The segment it stands in.
        segment: String,
    },
    /// Percent-encoded bytes that are no text.
    #[error("the encoded bytes of `{}` are not UTF-8", .segment.escape_debug())]
    NotUtf8 {
        /// The segment they stand in.
        segment: String,
    },
    /// `//` after the scheme, or a `/` at the start of the path.
    #[error("expected a name between two `/`")]
    EmptySegment,
    /// `%2F` in a name or an anchor.
    #[error("`{}` encodes a `/`, which no name contains", .segment.escape_debug())]
    EncodedSlash {
        /// The segment it stands in.
        segment: String,
    },
    /// More `..` than folders.
    #[error("the path leaves the vault")]
    Escape,
    /// `@` without the number of a checkpoint.
    #[error("expected a checkpoint number from 1 after `@`, but found {}", quoted(.found))]
    Pin {
        /// What stands there.
        found: String,
    },
    /// `@` or `#` on something that is no document.
    #[error("only a document takes `{mark}`; in a name write it as `{}`", encoded(*.mark))]
    NotADocument {
        /// `@` or `#`.
        mark: char,
    },
    /// `#` without the name of a section.
    #[error("expected the name of a section after `#`, but found {}", quoted(.found))]
    Anchor {
        /// What stands there.
        found: String,
    },
    /// `tag/` without a tag.
    #[error("expected a tag after `tag/`, but found {}", quoted(.found))]
    Tag {
        /// What stands there.
        found: String,
    },
    /// `search/` without a query.
    #[error("expected one query after `search/`, but found {}", quoted(.found))]
    Query {
        /// What stands there.
        found: String,
    },
    /// A path that begins as that of a staged entry.
    #[error("it names a staged entry, which is no document")]
    Staged,
    /// A path that breaks the rules of ids.
    #[error(transparent)]
    DocumentId(IdError),
}

impl UriError {
    /// Every code, in the order of the specification.
    pub const CODES: [&'static str; 16] = [
        "uri-scheme",
        "uri-too-long",
        "uri-empty",
        "uri-character",
        "uri-percent",
        "uri-not-utf8",
        "uri-empty-segment",
        "uri-encoded-slash",
        "uri-escape",
        "uri-pin",
        "uri-not-a-document",
        "uri-anchor",
        "uri-tag",
        "uri-query",
        "uri-staged",
        "uri-id",
    ];

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Scheme => "uri-scheme",
            Self::TooLong { .. } => "uri-too-long",
            Self::Empty => "uri-empty",
            Self::Character { .. } => "uri-character",
            Self::Percent { .. } => "uri-percent",
            Self::NotUtf8 { .. } => "uri-not-utf8",
            Self::EmptySegment => "uri-empty-segment",
            Self::EncodedSlash { .. } => "uri-encoded-slash",
            Self::Escape => "uri-escape",
            Self::Pin { .. } => "uri-pin",
            Self::NotADocument { .. } => "uri-not-a-document",
            Self::Anchor { .. } => "uri-anchor",
            Self::Tag { .. } => "uri-tag",
            Self::Query { .. } => "uri-query",
            Self::Staged => "uri-staged",
            Self::DocumentId(_) => "uri-id",
        }
    }
}

fn quoted(found: &str) -> String {
    match found {
        "" => "the end".to_owned(),
        _ => format!("`{}`", found.escape_debug()),
    }
}

fn encoded(mark: char) -> String {
    encode(mark.encode_utf8(&mut [0; 4]))
}
