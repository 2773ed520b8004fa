//! Labels of a command, which distinguish agents, sessions and tasks (AUDIT-4).

use serde::{Deserialize, Serialize};

use crate::values::model::visible::{Invisible, shown};

/// Maximum length of a label in bytes.
const MAX_BYTES: usize = 256;
/// Words that programs use in place of an unknown id. As a label they would join
/// unrelated accesses.
const PLACEHOLDERS: [&str; 6] = ["default", "none", "null", "undefined", "unknown", "anonymous"];

/// The labels of an access.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct Labels {
    /// The agent label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session label: 32 random hexadecimal digits if no session was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// True if the session was not named.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub session_implicit: bool,
    /// The thread of a conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The task label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The node of a graph of agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// Reason why a text is not a valid label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// The label is empty or blank.
    #[error("is empty")]
    Empty,
    /// The label is a word that programs use in place of an unknown id.
    #[error("is `{}`, which programs write if they do not know the id", shown(.0))]
    Placeholder(String),
    /// The label is too long; contains its length in bytes.
    #[error("has {0} bytes, but may have {MAX_BYTES}")]
    TooLong(usize),
    /// The label has a control or invisible character; contains the character and its position.
    #[error("has the character U+{:04X} as its character {}", u32::from(*.0), .1)]
    Invisible(char, usize),
}

/// Checks a label.
///
/// # Errors
/// See [`LabelError`].
pub fn check(label: &str) -> Result<(), LabelError> {
    if label.trim().is_empty() {
        return Err(LabelError::Empty);
    }
    if label.len() > MAX_BYTES {
        return Err(LabelError::TooLong(label.len()));
    }
    if PLACEHOLDERS.iter().any(|word| label.trim().eq_ignore_ascii_case(word)) {
        return Err(LabelError::Placeholder(label.to_owned()));
    }
    let control = label.chars().zip(1..).find(|(c, _)| c.is_control());
    let invisible = || Invisible::first_in(label).map(|found| (found.found, found.at));
    match control.or_else(invisible) {
        Some((found, at)) => Err(LabelError::Invisible(found, at)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_refuses_placeholders_and_invisible_characters() {
        for placeholder in ["default", "None", "NULL", " undefined ", "unknown", "anonymous"] {
            assert!(matches!(check(placeholder), Err(LabelError::Placeholder(_))), "{placeholder}");
        }
        assert_eq!(check(" "), Err(LabelError::Empty));
        assert_eq!(check(&"x".repeat(257)), Err(LabelError::TooLong(257)));
        assert_eq!(check("a\nb"), Err(LabelError::Invisible('\n', 2)));
        assert_eq!(check("a\u{202e}b"), Err(LabelError::Invisible('\u{202e}', 2)));
        assert_eq!(check(r#"{"session":"x"} 山"#), Ok(()));
    }
}
