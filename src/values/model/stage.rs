//! The policy of a source for keeping its results (paper, section 10.4).

use serde::{Deserialize, Serialize};

/// The policy of a source for keeping its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StagePolicy {
    /// No result is kept, whatever the configuration of the vault says.
    Never,
    /// The configuration of the vault decides.
    Default,
    /// Every result is kept, whatever the configuration of the vault says.
    Always,
}

impl StagePolicy {
    /// All policies with their words.
    pub const ALL: [(&'static str, Self); 3] =
        [("never", Self::Never), ("default", Self::Default), ("always", Self::Always)];

    /// Returns the word in a frontmatter.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, policy)| *policy == self).map_or("default", |(word, _)| word)
    }

    /// Returns the policy with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, policy)| *policy)
    }
}
