//! The configuration of reviews, and of who may read (`spec/review.md`, section 5).

use super::config::{unknown_key, word};
use crate::values::yaml::{self, Node};

/// The rules for reviews and readers of a governed vault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// True if the principal in the field `author` may not approve any version of the document.
    pub bar_author: bool,
    /// Principals who may read.
    pub reads: Reads,
}

/// The principals who may read in a governed vault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// Every principal.
    #[default]
    Open,
    /// The stewards of each document.
    Stewards,
}

impl Review {
    const KEYS: [&str; 1] = ["bar_author"];

    /// Returns true if a value of `review` is in the form of the reference implementation, a
    /// single word.
    pub(super) fn is_foreign(node: &Node) -> bool {
        !node.is_null() && node.entries().is_none()
    }

    /// Parses the value of `review`; returns warnings.
    ///
    /// # Errors
    /// The value is invalid.
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

    /// Parses the value of `reads`.
    ///
    /// # Errors
    /// The value is neither of the two words.
    pub(super) fn reads(node: &Node) -> Result<Reads, yaml::Error> {
        word(node, &[("open", Reads::Open), ("stewards", Reads::Stewards)])
    }
}
