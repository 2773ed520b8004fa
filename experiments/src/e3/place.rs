//! The place that a finding has to point to.

use std::fmt;

use serde_json::Value;

/// A document, a version, a checkpoint, as far as they apply.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// Any of these ids; empty if no id is required.
    pub(super) ids: Vec<String>,
    pub(super) version: Option<u64>,
    pub(super) checkpoint: Option<u64>,
    /// True if the finding exists before the attack as well.
    pub(super) standing: bool,
}

impl Place {
    /// Returns a place without a document.
    pub(super) fn vault() -> Self {
        Self::default()
    }

    /// Returns the place of a document or governance file.
    pub(super) fn of(id: &str) -> Self {
        Self { ids: vec![id.to_owned()], ..Self::default() }
    }

    /// Returns the place of a checkpoint.
    pub(super) fn at(checkpoint: u64) -> Self {
        Self::default().checkpoint(checkpoint)
    }

    pub(super) fn or(mut self, id: &str) -> Self {
        self.ids.push(id.to_owned());
        self
    }

    pub(super) fn version(mut self, version: u64) -> Self {
        self.version = Some(version);
        self
    }

    pub(super) fn checkpoint(mut self, checkpoint: u64) -> Self {
        self.checkpoint = Some(checkpoint);
        self
    }

    /// Returns true if a finding of `ctx verify --json` points to this place.
    pub(super) fn is_of(&self, finding: &Value) -> bool {
        let id = finding["id"].as_str();
        (self.ids.is_empty() || id.is_some_and(|id| self.ids.iter().any(|own| own == id)))
            && self.version.is_none_or(|n| finding["version"].as_u64() == Some(n))
            && self.checkpoint.is_none_or(|n| finding["checkpoint"].as_u64() == Some(n))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.ids.join(" or "))?;
        self.version.map_or(Ok(()), |version| write!(f, " v{version}"))?;
        self.checkpoint.map_or(Ok(()), |number| write!(f, " #{number}"))
    }
}
