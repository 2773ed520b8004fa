//! How an agent reaches the server of a source node (paper, section 10.1).

use serde::{Deserialize, Serialize};

/// How a source node fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Tools of an MCP server.
    Mcp,
    /// An HTTP interface.
    Rest,
    /// A command line.
    Cli,
    /// A function of the host program.
    Function,
}

impl Transport {
    /// Every transport with its word.
    pub const ALL: [(&'static str, Self); 4] = [
        ("mcp", Self::Mcp),
        ("rest", Self::Rest),
        ("cli", Self::Cli),
        ("function", Self::Function),
    ];

    /// The word in a frontmatter.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, t)| *t == self).map_or("mcp", |(word, _)| word)
    }

    /// The transport with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(w, _)| *w == word).map(|(_, t)| *t)
    }
}
