//! What became of citations: pinned URIs, compared with what is published.

use serde::Serialize;

use super::Report;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// The answer of `check`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CheckReport {
    /// The last checkpoint, which they are compared with.
    pub checkpoint: CheckpointNumber,
    /// Each as it was given, in that order.
    pub uris: Vec<CheckedReport>,
}

/// One citation.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CheckedReport {
    /// As it was given.
    pub uri: String,
    /// What became of it.
    pub state: Standing,
    /// The version that it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The document as it is published, to be cited instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<CurrentReport>,
    /// Why it is no citation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A document as it is published.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CurrentReport {
    /// Its URI at the last checkpoint; absent where no URI can name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Its version.
    pub version: Version,
    /// Whether the body, or the section that is cited, has the same text.
    pub same_text: bool,
    /// Until when it is valid, as its text says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<String>,
    /// What took its place, as its text says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// Whether the end of validity has passed; an agent judges that by its own clock.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "mcp", schemars(skip))]
    pub expired: bool,
    /// The instant from which it is no longer valid.
    #[serde(skip)]
    pub(crate) end: Option<Timestamp>,
}

/// What became of a citation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// The version that it names is the published one.
    Current,
    /// Another version is published.
    Superseded,
    /// The document is not published any more.
    Retired,
    /// Nothing that the reader may know of was published there.
    Unknown,
    /// The chain does not vouch for a text that the answer needs.
    Withheld,
    /// It names no document at a checkpoint.
    Invalid,
}

impl Standing {
    /// Its word.
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
    /// With what has expired by a clock.
    pub(crate) fn judged(mut self, now: Timestamp) -> Self {
        for current in self.uris.iter_mut().filter_map(|one| one.current.as_mut()) {
            current.expired = current.end.is_some_and(|end| end <= now);
        }
        self
    }

    /// Whether all of them are current.
    pub fn is_current(&self) -> bool {
        self.uris.iter().all(|one| one.state == Standing::Current)
    }
}

impl Report for CheckReport {
    const SCHEMA: &'static str = "check";
}
