//! The instructions for agents, and a map of the published documents.

use super::{Call, Places};
use crate::read::snapshot::overview::Overview;
use crate::read::snapshot::packs::Packs;
#[cfg(feature = "mcp")]
use crate::read::snapshot::portion::Portion;
use crate::read::snapshot::{Need, Served, Snapshot, Withheld};
use crate::record::audit::Traced;
use crate::service::report::failure::Failure;
use crate::service::report::map::{Extent, MapReport};
use crate::service::workspace::moment::Moment;
use crate::values::model::id::DocumentId;
use crate::values::model::layout;

/// The data that an answer needs.
pub(crate) const NEED: Need = Need::Fields;

/// The parts of a map.
pub(crate) struct Mapped<'v> {
    pub(crate) snapshot: Snapshot<'v>,
    overview: Overview,
    /// The packs that the checkpoint seals.
    pub(crate) packs: Packs,
    /// `CONTEXT.md`, if the checkpoint seals one that may be served.
    pub(crate) instructions: Option<Served>,
}

impl Call<'_> {
    /// Collects the instructions and an overview of the published documents.
    ///
    /// # Errors
    /// The log is not valid.
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

    /// Returns the report without the instructions.
    ///
    /// # Errors
    /// The log is not valid.
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
    /// Adds the instructions to a report.
    pub(crate) fn with_instructions<'m>(&'m self, map: MapReport<'m>) -> Traced<MapReport<'m>> {
        map.with(self.instructions.as_ref())
    }

    /// A report of it with the instructions, and these as a block for a model; without them the block
    /// is empty.
    #[cfg(feature = "mcp")]
    pub(crate) fn with_block<'m>(&'m self, map: MapReport<'m>) -> Traced<(MapReport<'m>, String)> {
        let block = self.instructions.as_ref().map(|served| Portion::whole(served).alone());
        self.with_instructions(map).map(|map| (map, block.unwrap_or_default()))
    }

    /// Returns the withheld documents.
    pub(crate) fn withheld(&self) -> &[Withheld] {
        &self.overview.withheld
    }

    /// Returns true if the checkpoint lacks instructions, unless they are only withheld.
    pub(crate) fn lacks_instructions(&self) -> bool {
        let is_withheld = || self.withheld().iter().any(|w| w.id.as_str() == layout::CONTEXT);
        self.instructions.is_none() && !is_withheld()
    }
}
