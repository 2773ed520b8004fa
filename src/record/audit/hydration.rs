//! What a source gave an agent: which tools of which server were called as which version of the
//! source says, and the hash of what came back (AUDIT-32).

use serde::{Deserialize, Serialize};

/// Whether a result came from the caller's own cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Cached {
    /// It did.
    Hit,
    /// The tools were called.
    Miss,
}

impl Cached {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
        }
    }
}

/// The tools of a source were called, as a version of it says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct Hydration {
    /// The id of the source.
    pub source: String,
    /// Its URI, pinned to the checkpoint; none where no URI names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// The version that the checkpoint seals.
    pub source_version: u64,
    /// The checkpoint that was the last one.
    pub checkpoint: u64,
    /// The chain hash of the version.
    pub chain_hash: String,
    /// The server that was used; none where the source names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tools that were called, in their order.
    pub tools: Vec<String>,
    /// Whether the result came from a cache, as far as it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cached>,
    /// How long it took, as far as it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What the result is, as far as it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// How many bytes the result has.
    pub bytes: u64,
    /// The SHA-256 of the bytes as they were received.
    pub result_hash: String,
    /// What went wrong, where something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The hydrations whose results it used.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub depends_on: Vec<String>,
}

impl Hydration {
    /// What names the version of the source: its URI, or its id.
    pub fn name(&self) -> &str {
        self.uri.as_deref().unwrap_or(&self.source)
    }
}
