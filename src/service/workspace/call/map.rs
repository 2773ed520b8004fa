//! The instructions for agents, and a map of what is published.

use super::{Call, Places};
use crate::read::snapshot::overview::Overview;
use crate::read::snapshot::packs::Packs;
use crate::read::snapshot::{Need, Served, Snapshot, Withheld};
use crate::record::audit::Traced;
use crate::service::report::failure::Failure;
use crate::service::report::map::{Extent, MapReport};
use crate::service::workspace::moment::Moment;
use crate::values::model::id::DocumentId;
use crate::values::model::layout;

/// What it takes to answer.
pub(crate) const NEED: Need = Need::Fields;

/// What a map is made of.
pub(crate) struct Mapped<'v> {
    /// The checkpoint.
    pub(crate) snapshot: Snapshot<'v>,
    overview: Overview,
    /// The packs that the checkpoint seals.
    pub(crate) packs: Packs,
    /// `CONTEXT.md`, if the checkpoint seals one that may be served.
    pub(crate) instructions: Option<Served>,
}

impl Call<'_> {
    /// Gathers the instructions and what is published.
    ///
    /// # Errors
    /// The log cannot be relied on.
    pub(crate) fn map<'v>(
        &mut self,
        (vault, source): Places<'v>,
        at: Option<Moment>,
    ) -> Result<Mapped<'v>, Failure> {
        let at = self.workspace.checkpoint_at((vault, source), at)?;
        let snapshot = Snapshot::of(vault, source, at)?;
        let mut overview = snapshot.overview()?;
        let packs = match snapshot.packs() {
            Ok(mut packs) => {
                overview.withheld.append(&mut packs.withheld);
                packs
            }
            Err(withheld) => {
                overview.withheld.push(withheld);
                Packs::default()
            }
        };
        let instructions = match snapshot.get(&DocumentId::instructions()) {
            Some(Ok(served)) => Some(served),
            Some(Err(withheld)) => {
                overview.withheld.push(withheld);
                None
            }
            None => None,
        };
        overview.withheld.sort_by(|a, b| a.id.cmp(&b.id));
        overview.withheld.dedup_by(|a, b| a.id == b.id);
        Ok(Mapped { snapshot, overview, packs, instructions })
    }

    /// The report without the instructions.
    ///
    /// # Errors
    /// The log cannot be relied on.
    pub(crate) fn map_report<'m>(
        &mut self,
        mapped: &'m Mapped<'_>,
        extent: Extent,
    ) -> Result<MapReport<'m>, Failure> {
        let map = MapReport::new(&mapped.snapshot, &mapped.overview, &mapped.packs, extent)?;
        self.recording.listed = Some(map.documents);
        self.count_unreadable(&mapped.snapshot)?;
        Ok(map)
    }
}

impl Mapped<'_> {
    /// A report of it with the instructions.
    pub(crate) fn with_instructions<'m>(&'m self, map: MapReport<'m>) -> Traced<MapReport<'m>> {
        map.with(self.instructions.as_ref())
    }

    /// What is withheld.
    pub(crate) fn withheld(&self) -> &[Withheld] {
        &self.overview.withheld
    }

    /// Whether no checkpoint holds instructions, as far as is known.
    pub(crate) fn lacks_instructions(&self) -> bool {
        let is_withheld = || self.withheld().iter().any(|w| w.id.as_str() == layout::CONTEXT);
        self.instructions.is_none() && !is_withheld()
    }
}
