//! Results that an agent fetched from a source: the tools and server, the version of the source
//! that described them, and the hash of the result (AUDIT-32).

use serde::{Deserialize, Serialize};

/// Origin of a result: the caller's own cache, or a call of the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Cached {
    /// The result came from the cache.
    Hit,
    /// The tools were called.
    Miss,
}

impl Cached {
    /// Returns the value in lines: `hit` or `miss`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
        }
    }
}

/// A call of the tools of a source, as a version of the source describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct Hydration {
    /// The id of the source.
    pub source: String,
    /// Its URI, pinned to the checkpoint; absent if no URI can name the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// The version that the checkpoint seals.
    pub source_version: u64,
    /// The head at the time of the call.
    pub checkpoint: u64,
    /// The chain hash of the version.
    pub chain_hash: String,
    /// The server that was used; absent if the source does not name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tools that were called, in their order.
    pub tools: Vec<String>,
    /// Origin of the result, if the caller reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cached>,
    /// Duration in milliseconds, if the caller reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The media type of the result, if the caller reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Number of bytes of the result.
    pub bytes: u64,
    /// The SHA-256 of the bytes as they were received.
    pub result_hash: String,
    /// The error, if the call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The traces of the hydrations whose results it used.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub depends_on: Vec<String>,
}

impl Hydration {
    /// Returns the URI of the source; its id if the URI is `None`.
    pub fn name(&self) -> &str {
        self.uri.as_deref().unwrap_or(&self.source)
    }
}
