//! The data that the checkpoint of an event binds in addition to versions: the change log of its
//! writer, and the ends of staging chains (AUDIT-25, STAGE-21).

use super::PublishError;
use super::transaction::Transaction;
use crate::files::vault::config::Config;
use crate::record::audit::{Recorder, changes};
use crate::record::checkpoint::state::Bound;
use crate::record::staging;
use crate::values::model::timestamp::Timestamp;

/// The data that the checkpoint of an event binds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Binds {
    /// The change log of its writer.
    changes: bool,
    /// The staging chains, and with them the change log.
    staged: bool,
}

impl Binds {
    /// Returns the data that a configuration asks for.
    pub(super) fn of(config: &Config) -> Self {
        Self { changes: config.binds_changes(), staged: config.staging.bind }
    }

    /// Returns the data that at least one of two configurations asks for.
    pub(super) fn or(self, other: Option<Self>) -> Self {
        let other = other.unwrap_or_default();
        Self { changes: self.changes || other.changes, staged: self.staged || other.staged }
    }
}

impl Transaction<'_> {
    /// Writes and syncs the lines that the checkpoint must bind; returns the data to bind.
    ///
    /// # Errors
    /// The lines could not be written, so nothing may be published.
    pub(super) fn bind(
        &self,
        recorder: &Recorder,
        now: Timestamp,
    ) -> Result<Vec<Bound>, PublishError> {
        if !self.binds.changes {
            return Ok(Vec::new());
        }
        let staged = match self.binds.staged {
            true => staging::unbound_ends(self.vault.files(), self.state.bound()),
            false => Vec::new(),
        };
        let upon = (self.vault, self.chronicle);
        changes::bind(upon, self.at, (recorder, now), staged).map_err(PublishError::Unbound)
    }
}
