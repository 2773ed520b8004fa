//! The ways in which an agent reaches the server of a source node (paper, section 10.1).

use serde::{Deserialize, Serialize};

/// The way in which a source node fetches data.
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
    /// All transports with their words.
    pub const ALL: [(&'static str, Self); 4] = [
        ("mcp", Self::Mcp),
        ("rest", Self::Rest),
        ("cli", Self::Cli),
        ("function", Self::Function),
    ];

    /// Returns the word in a frontmatter.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, t)| *t == self).map_or("mcp", |(word, _)| word)
    }

    /// Returns the transport with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(w, _)| *w == word).map(|(_, t)| *t)
    }
}
