//! The packs that a checkpoint seals.

use super::{Call, Places};
use crate::read::snapshot::packs::Packs;
use crate::read::snapshot::{Need, Snapshot};
use crate::service::report::failure::Failure;
use crate::values::model::number::CheckpointNumber;

/// The data that an answer needs.
pub(crate) const NEED: Need = Need::Fields;

impl Call<'_> {
    /// Returns the packs that a checkpoint or the head seals, as far as the reader may read them.
    ///
    /// # Errors
    /// The log is not valid, or the configuration is withheld.
    pub(crate) fn packs<'v>(
        &mut self,
        (vault, source): Places<'v>,
        at: Option<CheckpointNumber>,
    ) -> Result<(Snapshot<'v>, Packs), Failure> {
        let snapshot = Snapshot::of(vault, source, at)?;
        let packs = snapshot.packs()?;
        self.recording.listed = Some(packs.usable.len());
        Ok((snapshot, packs))
    }
}
