//! Tags, which selectors name with a `#`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A tag inside the grammar, without its `#`: a letter, then letters, digits, `_` and `-`
/// (`spec/document.md`).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Tag(String);

/// A text that is outside the grammar of tags.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a tag is a letter, then letters, digits, `_` and `-`")]
pub struct TagError;

impl Tag {
    /// The tag without `#`.
    pub fn as_str(&self) -> &str {
        &self.0
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
        let is_tag = text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if is_tag { Ok(Self(text)) } else { Err(TagError) }
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
    fn a_tag_begins_with_a_letter() {
        for text in ["a", "Engineering", "a1", "a_b-c"] {
            assert_eq!(text.parse::<Tag>().unwrap().to_string(), text);
        }
        for text in ["", "#a", "1a", "_a", "a b", "é", "a.b"] {
            assert_eq!(text.parse::<Tag>(), Err(TagError), "{text}");
        }
    }
}
