//! Report of citations: pinned URIs, compared with the published versions.

use serde::Serialize;

use super::Report;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// The answer of `check`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CheckReport {
    /// Last checkpoint, with which the citations are compared.
    pub checkpoint: CheckpointNumber,
    /// Citations in the order given.
    pub uris: Vec<CheckedReport>,
}

/// One citation.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CheckedReport {
    /// URI as it was given.
    pub uri: String,
    /// Outcome of the comparison.
    pub state: Standing,
    /// Version that the URI names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Published version of the document, which can be cited instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<CurrentReport>,
    /// Reason why the URI is not a valid citation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The published version of a document.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CurrentReport {
    /// URI of the document at the last checkpoint; absent if no URI can name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Number of the version.
    pub version: Version,
    /// True if the body, or the cited section, has the same text.
    pub same_text: bool,
    /// End of validity, as the text states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<String>,
    /// Successor of the document, as its text states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// True if the end of validity has passed. Absent over MCP, where an agent uses its own clock.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
    /// Time from which the document is no longer valid.
    #[serde(skip)]
    pub(crate) end: Option<Timestamp>,
}

/// State of a citation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// The cited version is the published one.
    Current,
    /// Another version is published.
    Superseded,
    /// The document is no longer published.
    Retired,
    /// No document that the reader may know of was published under that URI.
    Unknown,
    /// The chain does not vouch for a text that the answer needs.
    Withheld,
    /// The URI does not name a document at a checkpoint.
    Invalid,
}

impl Standing {
    /// Returns the word for the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Superseded => "superseded",
            Self::Retired => "retired",
            Self::Unknown => "unknown",
            Self::Withheld => "withheld",
            Self::Invalid => "invalid",
        }
    }
}

impl CheckReport {
    /// Marks the documents that have expired at `now`.
    pub(crate) fn judged(mut self, now: Timestamp) -> Self {
        for current in self.uris.iter_mut().filter_map(|one| one.current.as_mut()) {
            current.expired = current.end.is_some_and(|end| end <= now);
        }
        self
    }

    /// Returns true if all citations are current.
    pub fn is_current(&self) -> bool {
        self.uris.iter().all(|one| one.state == Standing::Current)
    }
}

impl Report for CheckReport {
    const SCHEMA: &'static str = "check";
}
