//! Errors of URIs: a variant and a stable code for each rule of `spec/uri.md`.

use super::encode;
use crate::values::model::id::IdError;

/// A rule of URIs that a text breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UriError {
    /// The text does not begin with `contextnest://`.
    #[error("expected `contextnest://`")]
    Scheme,
    /// The URI has more than 8192 bytes, as written or in canonical form.
    #[error("a URI has at most 8192 bytes, but this one has {found}")]
    TooLong {
        /// Length in bytes.
        found: usize,
    },
    /// The path is that of the root, which a URI cannot name.
    #[error("expected a path after `contextnest://`")]
    Empty,
    /// The URI contains a forbidden character, literal or encoded.
    #[error("a URI cannot contain `{}`", .found.escape_debug())]
    Character {
        /// Character that was found.
        found: char,
    },
    /// A `%` is not followed by two hexadecimal digits.
    #[error("expected two hexadecimal digits after `%` in `{}`", .segment.escape_debug())]
    Percent {
        /// Segment with the `%`.
        segment: String,
    },
    /// Percent-encoded bytes are not UTF-8.
    #[error("the encoded bytes of `{}` are not UTF-8", .segment.escape_debug())]
    NotUtf8 {
        /// Segment with the bytes.
        segment: String,
    },
    /// The path has `//`, or begins with `/`.
    #[error("expected a name between two `/`")]
    EmptySegment,
    /// A name or an anchor contains `%2F`.
    #[error("`{}` encodes a `/`, which names cannot contain", .segment.escape_debug())]
    EncodedSlash {
        /// Segment with the slash.
        segment: String,
    },
    /// The path has more `..` than folders.
    #[error("the path leaves the vault")]
    Escape,
    /// An `@` is not followed by the number of a checkpoint.
    #[error("expected a checkpoint number from 1 after `@`, but found {}", quoted(.found))]
    Pin {
        /// Text at this place.
        found: String,
    },
    /// A tag, folder or search has an `@` or a `#`.
    #[error("only a document can have `{mark}`; in a name write it as `{}`", encoded(*.mark))]
    NotADocument {
        /// Sign that was found: `@` or `#`.
        mark: char,
    },
    /// A `#` is not followed by the name of a section.
    #[error("expected the name of a section after `#`, but found {}", quoted(.found))]
    Anchor {
        /// Text at this place.
        found: String,
    },
    /// `tag/` is not followed by a tag.
    #[error("expected a tag after `tag/`, but found {}", quoted(.found))]
    Tag {
        /// Text at this place.
        found: String,
    },
    /// `search/` is not followed by a query.
    #[error("expected one query after `search/`, but found {}", quoted(.found))]
    Query {
        /// Text at this place.
        found: String,
    },
    /// The path begins like that of a staged entry.
    #[error("it names a staged entry, which is not a document")]
    Staged,
    /// The path breaks the rules of ids.
    #[error(transparent)]
    DocumentId(IdError),
}

impl UriError {
    /// All codes, in the order of the specification.
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

    /// Returns the stable code.
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
