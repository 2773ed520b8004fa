//! How a configuration says that publication is reviewed, and who may read (`spec/review.md`,
//! section 5).

use super::config::{unknown_key, word};
use crate::values::yaml::{self, Node};

/// What holds for reviews and readers of a governed vault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// Whether whom the field `author` names may approve no version of the document.
    pub bar_author: bool,
    /// Who may read.
    pub reads: Reads,
}

/// Who may read in a governed vault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// Everybody.
    #[default]
    Open,
    /// The stewards of each document.
    Stewards,
}

impl Review {
    const KEYS: [&str; 1] = ["bar_author"];

    /// Whether a value of `review` is one of the reference implementation, whose key has one word.
    pub(super) fn is_foreign(node: &Node) -> bool {
        !node.is_null() && node.entries().is_none()
    }

    /// Reads the value of `review`; gives what to mend.
    ///
    /// # Errors
    /// A value that cannot be meant.
    pub(super) fn read(&mut self, node: &Node) -> Result<Vec<yaml::Error>, yaml::Error> {
        let mut warnings = Vec::new();
        if node.is_null() {
            return Ok(warnings);
        }
        let entries = node.entries();
        for (key, value) in entries.ok_or_else(|| node.error("expected `key: value` lines"))? {
            match key.text().unwrap_or_default() {
                "bar_author" => self.bar_author = word(value, &[("true", true), ("false", false)])?,
                unknown => warnings.push(key.error(unknown_key(unknown, &Self::KEYS))),
            }
        }
        Ok(warnings)
    }

    /// Reads the value of `reads`.
    ///
    /// # Errors
    /// It is neither of the words.
    pub(super) fn reads(node: &Node) -> Result<Reads, yaml::Error> {
        word(node, &[("open", Reads::Open), ("stewards", Reads::Stewards)])
    }
}
