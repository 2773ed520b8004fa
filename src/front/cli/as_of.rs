//! `--at`, for every verb that answers as of a checkpoint.

use super::session::Session;
use crate::files::vault::Vault;
use crate::read::snapshot::CheckpointSource;
use crate::service::report::failure::Failure;
use crate::service::workspace::moment::Moment;
use crate::values::model::number::CheckpointNumber;

/// Parses the number of a checkpoint: `3`, or `@3`, as reports write it.
pub(super) fn number(text: &str) -> Result<CheckpointNumber, std::num::ParseIntError> {
    text.strip_prefix('@').unwrap_or(text).parse()
}

/// The checkpoint at which a question is answered.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(super) struct AsOf {
    /// Answer as of this checkpoint, or the last one up to this time
    ///
    /// TIME is an RFC 3339 timestamp, or a date, which stands for its first instant in UTC. TIME
    /// must not be in the future. Reports name the checkpoint by its number.
    #[arg(long, value_name = "N|TIME")]
    at: Option<Moment>,
}

impl AsOf {
    /// Returns the given moment.
    pub(super) fn moment(self) -> Option<Moment> {
        self.at
    }

    /// Returns the checkpoint; `None` for the last one.
    pub(super) fn checkpoint(
        self,
        session: &Session<'_>,
        vault: &Vault,
        source: &CheckpointSource,
    ) -> Result<Option<CheckpointNumber>, Failure> {
        session.workspace.checkpoint_at((vault, source), self.at)
    }
}
