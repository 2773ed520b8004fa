//! Tags, which selectors name with a `#`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::id::fold;
use super::visible::is_invisible;

/// A tag without its `#`, as selectors can name it (`spec/selector.md`, SEL-33). Most tags are
/// *plain*: a letter, then letters, digits, `_` and `-`. The others, such as the nested `area/ops`,
/// exist only in the obsidian layout.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Tag(String);

/// Maximum number of bytes of a tag.
pub const MAX_TAG_BYTES: usize = 256;

/// A text that is not a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// The text is not a tag in any layout.
    #[error("a tag has letters, digits, `_` and `-`, not digits alone, and `/` between its levels")]
    Any,
    /// The text is not a tag that all layouts allow.
    #[error("a tag is a letter, then letters, digits, `_` and `-`")]
    Plain,
}

impl Tag {
    /// Parses a tag that documents of every layout can have.
    ///
    /// # Errors
    /// The text is not a plain tag.
    pub fn plain(text: &str) -> Result<Self, TagError> {
        text.parse().ok().filter(Self::is_plain).ok_or(TagError::Plain)
    }

    /// Returns true if documents of every layout can have the tag (`spec/document.md`, DOC-13).
    pub fn is_plain(&self) -> bool {
        self.0.starts_with(|c: char| c.is_ascii_alphabetic())
            && self.0.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    }

    /// Returns the tag without `#`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the spelling in which Obsidian compares tags.
    pub fn folded(&self) -> String {
        fold(&self.0)
    }

    /// Returns true if a search for this tag in Obsidian finds the other one: they differ only in
    /// case, or the other one is nested below it.
    pub fn covers(&self, other: &Self) -> bool {
        let (above, other) = (self.folded(), other.folded());
        other.strip_prefix(&*above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Returns true if Obsidian accepts a character in a tag.
pub(crate) fn is_of_name(c: char) -> bool {
    match c {
        '_' | '-' | '/' => true,
        '\u{2000}'..='\u{206f}' | '\u{2e00}'..='\u{2e7f}' => false,
        c => !(c.is_whitespace() || c.is_control() || c.is_ascii_punctuation()),
    }
}

impl AsRef<str> for Tag {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Tag {
    type Error = TagError;

    fn try_from(text: String) -> Result<Self, TagError> {
        let is_word = |c: char| !matches!(c, '_' | '-' | '/');
        let is_tag = text.len() <= MAX_TAG_BYTES
            && text.chars().all(|c| is_of_name(c) && !is_invisible(c))
            && text.split('/').all(|level| !level.is_empty())
            && text.contains(is_word)
            && text.contains(|c: char| !c.is_ascii_digit());
        if is_tag { Ok(Self(text)) } else { Err(TagError::Any) }
    }
}

impl FromStr for Tag {
    type Err = TagError;

    fn from_str(text: &str) -> Result<Self, TagError> {
        Self::try_from(text.to_owned())
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_tag_begins_with_a_letter() {
        for text in ["a", "Engineering", "a1", "a_b-c"] {
            assert_eq!(Tag::plain(text).unwrap().to_string(), text);
        }
        for text in ["", "#a", "1a", "_a", "a b", "é", "a.b", "a/b"] {
            assert_eq!(Tag::plain(text), Err(TagError::Plain), "{text}");
        }
    }

    #[test]
    fn a_tag_of_obsidian_has_a_character_that_is_not_a_digit() {
        for text in ["a/b", "1a", "2024-01", "1/2", "_a", "été", "日本/東京", "✅", "a-/b"] {
            assert_eq!(text.parse::<Tag>().unwrap().to_string(), text);
        }
        let long = "a".repeat(MAX_TAG_BYTES + 1);
        for text in [
            "",
            "1",
            "-",
            "_/-",
            "/a",
            "a/",
            "a//b",
            "a b",
            "a.b",
            "a\u{200b}b",
            "a\u{fe0f}",
            &long,
        ] {
            assert_eq!(text.parse::<Tag>(), Err(TagError::Any), "{text}");
        }
    }

    #[test]
    fn tag_covers_itself_in_any_case_and_nested_tags() {
        let covers = |a: &str, b: &str| a.parse::<Tag>().unwrap().covers(&b.parse().unwrap());
        for (above, tag) in
            [("area", "Area"), ("Area", "area/ops"), ("a/B", "A/b/c"), ("STRASSE", "straße/ß")]
        {
            assert!(covers(above, tag), "{above} {tag}");
        }
        for (above, tag) in [("area/ops", "area"), ("area", "areas"), ("ops", "area/ops")] {
            assert!(!covers(above, tag), "{above} {tag}");
        }
    }
}
