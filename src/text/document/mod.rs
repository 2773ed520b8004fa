//! A document: its id, its frontmatter, its body. Pure functions of bytes; the disk is not
//! touched here.
//!
//! [`Document::parse`] reads a published text and [`Document::of_live`] a live one,
//! [`validate::problems`] says what is wrong with it,
//! [`edit::Edit`] changes fields of its frontmatter and no other byte. [`text::normalise`] is the
//! form that hashes are taken of. Rules: `spec/document.md`.

pub(crate) mod dependent;
pub mod edit;
pub mod frontmatter;
pub(crate) mod hidden;
pub mod links;
pub mod live_form;
pub(crate) mod not_for_use;
pub mod obsidian;
pub mod other;
pub mod review;
pub(crate) mod second_block;
pub mod sections;
pub(crate) mod stamp;
pub mod text;
pub mod validate;
pub mod validity;

use frontmatter::Frontmatter;
use text::Parts;

use crate::values::model::filtered::{Filtered, filtered};
use crate::values::model::layout::limit;
use crate::values::yaml::{self, Dialect, Node};

/// A document that could be read.
#[derive(Clone, Debug)]
pub struct Document {
    /// The fields.
    pub frontmatter: Frontmatter,
    /// Where its parts lie in the text it was read from.
    pub parts: Parts,
    /// What its frontmatter is written in; YAML also where there is none.
    pub format: Format,
}

/// What a frontmatter is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Between lines `---`: that of every published text.
    Yaml,
    /// Between lines `+++`.
    Toml,
    /// An object before the text.
    Json,
}

impl Format {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yaml => "YAML",
            Self::Toml => "TOML",
            Self::Json => "JSON",
        }
    }
}

/// Why bytes are no document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// Bytes that are no text.
    #[error("not UTF-8 at byte {offset}")]
    NotUtf8 {
        /// Offset of the first byte that is not UTF-8.
        offset: usize,
    },
    /// Bytes that a filter of git stores in the place of the text.
    #[error("it is {}, and not the text", .0.file)]
    Filtered(&'static Filtered),
    /// The opening `---` is never closed.
    #[error("line 1 opens a frontmatter with `---` that no line `---` closes")]
    Unclosed,
    /// The frontmatter is longer than 64 KiB.
    #[error("the frontmatter has {found} bytes; at most 65536 are read")]
    FrontmatterTooLarge {
        /// Its length.
        found: usize,
    },
    /// The frontmatter is not YAML that we read. Lines count from the document's first.
    #[error("the frontmatter is not valid YAML: {0}")]
    Yaml(yaml::Error),
    /// The frontmatter is a list or a text.
    #[error("line 2: expected `key: value` lines between the `---` lines")]
    NotAMapping,
    /// A `<<` key, which readers disagree about.
    #[error("{0}")]
    MergeKey(yaml::Error),
    /// A frontmatter of another format than YAML that cannot be read.
    #[error("the frontmatter is not {} that is read: {why}", .format.as_str())]
    Other {
        /// The format.
        format: Format,
        /// Why.
        why: String,
    },
}

impl Unreadable {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotUtf8 { .. } => "not-utf8",
            Self::Filtered(_) => "git-filtered",
            Self::Unclosed => "frontmatter-unclosed",
            Self::FrontmatterTooLarge { .. } => "frontmatter-too-large",
            Self::Yaml(_) => "frontmatter-yaml",
            Self::NotAMapping => "frontmatter-not-mapping",
            Self::MergeKey(_) => "frontmatter-merge-key",
            Self::Other { .. } => "frontmatter-format",
        }
    }

    /// How to mend it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotUtf8 { .. } => "convert the file to UTF-8",
            Self::Filtered(form) => form.remedy,
            Self::Unclosed => {
                "close the block with a line `---`, or begin the file with an empty line if the \
                 dashes are a thematic break"
            }
            Self::FrontmatterTooLarge { .. } => "move long texts into the body",
            Self::Yaml(_) => "fix the line; a text with `: ` or `#` in it needs quotes",
            Self::NotAMapping => {
                "write fields such as `title: ...`, or begin the file with an empty line if the \
                 dashes are thematic breaks"
            }
            Self::MergeKey(_) => "write the merged fields out",
            Self::Other { .. } => "fix it, or begin the file with an empty line if it is text",
        }
    }
}

/// Reads bytes as text.
///
/// # Errors
/// The offset of the first byte that is not UTF-8.
pub fn utf8(bytes: &[u8]) -> Result<&str, Unreadable> {
    std::str::from_utf8(bytes).map_err(|why| match filtered(bytes) {
        Some(form) => Unreadable::Filtered(form),
        None => Unreadable::NotUtf8 { offset: why.valid_up_to() },
    })
}

impl Document {
    /// Whether a live file has no frontmatter, in any of its formats.
    pub(crate) fn lacks_frontmatter(&self) -> bool {
        self.format == Format::Yaml && self.parts.frontmatter.is_none()
    }

    /// Reads a published text, in normal form or as it is stored.
    ///
    /// # Errors
    /// The text has a frontmatter that cannot be read.
    pub fn parse(text: &str) -> Result<Self, Unreadable> {
        let parts = text::split(text).map_err(|text::Unclosed| Unreadable::Unclosed)?;
        let root = match &parts.frontmatter {
            Some(block) => fields(&text[block.clone()])?,
            None => None,
        };
        Ok(Self { frontmatter: Frontmatter::read(root), parts, format: Format::Yaml })
    }

    /// Reads the text of a live file, whose frontmatter may be TOML or JSON too.
    ///
    /// # Errors
    /// The text has a frontmatter that cannot be read.
    pub fn of_live(text: &str) -> Result<Self, Unreadable> {
        if let Some(form) = filtered(text.as_bytes()) {
            return Err(Unreadable::Filtered(form));
        }
        let Some(found) = other::read(text) else { return Self::parse(text) };
        let other::Read { format, parts, yaml } = found?;
        let mut root = fields(&yaml).map_err(|why| match why {
            Unreadable::Yaml(why) => Unreadable::Other { format, why: why.problem },
            // Its place is that in the YAML, of which the file has not a line.
            Unreadable::MergeKey(mut why) => {
                (why.line, why.column) = other::place_of(format, text, &parts, MERGE_KEY);
                Unreadable::MergeKey(why)
            }
            why => why,
        })?;
        root.iter_mut().for_each(Node::forget_place);
        Ok(Self { frontmatter: Frontmatter::read(root), parts, format })
    }
}

/// The key that some readers of YAML replace by the fields of its value.
const MERGE_KEY: &str = "<<";

/// The mapping that a block holds, if it holds any.
fn fields(block: &str) -> Result<Option<Node>, Unreadable> {
    if block.len() > limit::FRONTMATTER {
        return Err(Unreadable::FrontmatterTooLarge { found: block.len() });
    }
    // The block begins on the document's second line.
    let shift = |mut e: yaml::Error| {
        e.line += 1;
        e
    };
    let root = yaml::parse(block, Dialect::Frontmatter).map_err(|e| Unreadable::Yaml(shift(e)))?;
    if root.is_null() {
        return Ok(None);
    }
    let Some(entries) = root.entries() else {
        return Err(Unreadable::NotAMapping);
    };
    // Readers disagree on whether `<<` brings fields in; then they disagree on the status.
    if let Some((key, _)) = entries.iter().find(|(k, _)| k.text() == Some(MERGE_KEY)) {
        let error = key.error("a merge key at the top level, which readers read differently");
        return Err(Unreadable::MergeKey(shift(error)));
    }
    Ok(Some(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_frontmatter_is_named_with_its_place() {
        let cases = [
            ("---\na: [1\n---\n", "frontmatter-yaml"),
            ("---\n- a\n---\n", "frontmatter-not-mapping"),
            ("---\njust text\n---\n", "frontmatter-not-mapping"),
            ("---\na: 1\n", "frontmatter-unclosed"),
            ("---\n<<: {status: published}\n---\n", "frontmatter-merge-key"),
            ("---\ntitle: a\ntitle: b\n---\n", "frontmatter-yaml"),
        ];
        for (text, code) in cases {
            assert_eq!(Document::parse(text).unwrap_err().code(), code, "{text:?}");
        }
        for (text, place) in [
            ("{\n  \"a\": {\"<<\": 1},\r\n  \"\\u003c<\" : {}\n}\n", "line 3, column 3: "),
            ("+++\r\na = '<<'\r\n\t\"<<\" = {}\r\n+++\r\n", "line 3, column 2: "),
            ("+++\n[b]\n['<<']\nc = 1\n+++\n", "line 3, column 2: "),
        ] {
            let why = Document::of_live(text).unwrap_err();
            assert_eq!(why.code(), "frontmatter-merge-key", "{text:?}");
            assert!(why.to_string().starts_with(place), "{why}");
        }
        let message = Document::parse("---\ntitle: a\ntitle: b\n---\n").unwrap_err().to_string();
        let expected = "line 3, column 1: duplicate key `title`, first on the line above";
        assert!(message.ends_with(expected), "{message}");
    }

    #[test]
    fn fields_are_read_whatever_other_tools_wrote() {
        let text = "---\ntitle: 2024\ntype: post\ntags: a, '#b' #c\nstatus: LIVE\nversion: \"2.4\"\n\
                    author: [Ana, Bo]\n---\nx";
        let fields = Document::parse(text).unwrap().frontmatter;
        assert_eq!(fields.title.as_deref(), Some("2024"));
        assert_eq!(fields.node_type.as_str(), "post");
        assert_eq!(fields.status, frontmatter::Status::Published);
        assert_eq!((fields.version, fields.author.as_deref()), (None, Some("Ana, Bo")));
        assert_eq!(fields.tags, ["a".parse().unwrap()]);
    }
}
