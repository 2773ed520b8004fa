//! Whether the results of a source are kept (paper, section 10.4).

use serde::{Deserialize, Serialize};

/// What a source says of keeping its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StagePolicy {
    /// No result is kept, whatever the vault says.
    Never,
    /// The vault decides.
    Default,
    /// Each result is kept, whatever the vault says.
    Always,
}

impl StagePolicy {
    /// Every policy with its word.
    pub const ALL: [(&'static str, Self); 3] =
        [("never", Self::Never), ("default", Self::Default), ("always", Self::Always)];

    /// The word in a frontmatter.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, policy)| *policy == self).map_or("default", |(word, _)| word)
    }

    /// The policy with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, policy)| *policy)
    }
}
