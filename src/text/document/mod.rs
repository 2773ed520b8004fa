//! A document: its id, its frontmatter, its body. All functions are pure functions of bytes; the
//! disk is not accessed here.
//!
//! [`Document::parse`] reads a published text and [`Document::of_live`] a live one.
//! [`validate::problems`] returns the problems of a document, and [`edit::Edit`] changes fields of
//! its frontmatter and no other byte. [`text::normalise`] returns the form that is hashed.
//! Rules: `spec/document.md`.

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
    /// Fields of the frontmatter.
    pub frontmatter: Frontmatter,
    /// Positions of the parts in the text.
    pub parts: Parts,
    /// Format of the frontmatter; YAML if there is none.
    pub format: Format,
}

/// The format of a frontmatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// YAML between lines `---`, as in every published text.
    Yaml,
    /// TOML between lines `+++`.
    Toml,
    /// A JSON object before the text.
    Json,
}

impl Format {
    /// Returns the name of the format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yaml => "YAML",
            Self::Toml => "TOML",
            Self::Json => "JSON",
        }
    }
}

/// The reason why bytes are not a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// The bytes are not UTF-8.
    #[error("not UTF-8 at byte {offset}")]
    NotUtf8 {
        /// Offset of the first byte that is not UTF-8.
        offset: usize,
    },
    /// The bytes are those that a git filter stores in place of the text.
    #[error("it is {}, not the text", .0.file)]
    Filtered(&'static Filtered),
    /// The opening `---` is never closed.
    #[error("line 1 opens a frontmatter with `---` that no line `---` closes")]
    Unclosed,
    /// The frontmatter is longer than 64 KiB.
    #[error("the frontmatter has {found} bytes; at most 65536 are read")]
    FrontmatterTooLarge {
        /// Length in bytes.
        found: usize,
    },
    /// The frontmatter is not valid YAML. Lines are counted from the beginning of the document.
    #[error("the frontmatter is not valid YAML: {0}")]
    Yaml(yaml::Error),
    /// The frontmatter is a list or a text.
    #[error("line 2: expected `key: value` lines between the `---` lines")]
    NotAMapping,
    /// The frontmatter has a `<<` key, which readers interpret differently.
    #[error("{0}")]
    MergeKey(yaml::Error),
    /// A frontmatter in another format than YAML cannot be read.
    #[error("the frontmatter cannot be read as {}: {why}", .format.as_str())]
    Other {
        /// Format of the frontmatter.
        format: Format,
        /// Description of the problem.
        why: String,
    },
}

impl Unreadable {
    /// Returns the stable code.
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

    /// Returns advice on how to fix the document.
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

/// Decodes bytes as UTF-8.
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
    /// Returns true if a live file lacks a frontmatter in all formats.
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

    /// Reads the text of a live file, whose frontmatter may also be TOML or JSON.
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
            // The error has a place in the YAML, which is not in the file.
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

/// Key that some readers of YAML replace with the fields of its value.
const MERGE_KEY: &str = "<<";

/// Parses the mapping of a block; `None` if it is empty.
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
    // Readers disagree about `<<`, and would then disagree about the status.
    if let Some((key, _)) = entries.iter().find(|(k, _)| k.text() == Some(MERGE_KEY)) {
        let error = key.error("a merge key at the top level, which readers interpret differently");
        return Err(Unreadable::MergeKey(shift(error)));
    }
    Ok(Some(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_frontmatter_is_reported_with_its_place() {
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
    fn fields_of_other_programs_do_not_prevent_reading() {
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
