//! The documents around one.

use super::{Call, Places};
use crate::graph::walk::Walk;
use crate::model::id::DocumentId;
use crate::model::number::CheckpointNumber;
use crate::report::failure::Failure;
use crate::report::graph::NeighborsReport;
use crate::resolve::{Around, Need, Snapshot};
use crate::words::nearest_name;
use crate::workspace::moment::Moment;

/// What it takes to answer.
pub(crate) const NEED: Need = Need::Fields;

/// A document and those that it is linked with.
pub(crate) struct Linked {
    /// The document.
    id: DocumentId,
    checkpoint: CheckpointNumber,
    /// What is around it.
    pub(crate) around: Around,
}

impl Call<'_> {
    /// Walks from a document along its links.
    ///
    /// # Errors
    /// No such document is published then, or the log cannot be relied on.
    pub(crate) fn neighbors(
        &mut self,
        (vault, source): Places<'_>,
        (id, at): (&str, Option<Moment>),
        walk: &Walk,
    ) -> Result<Linked, Failure> {
        let named = self.workspace.named_at(vault, source, id)?;
        let at = self.workspace.checkpoint_at((vault, source), at)?;
        let snapshot = Snapshot::of(vault, source, at.or(named.checkpoint))?;
        let Some(around) = snapshot.around(&named.id, walk)? else {
            if let Some(Err(withheld)) = snapshot.get(&named.id) {
                return Err(withheld.into());
            }
            let published = snapshot.documents()?.map(DocumentId::as_str);
            let near = nearest_name(named.id.as_str(), published, '/');
            return Err(Failure::unknown_id(named.id.as_str(), near));
        };
        self.recording.listed = Some(around.found.neighbors.len());
        Ok(Linked { id: named.id, checkpoint: snapshot.checkpoint(), around })
    }
}

impl Linked {
    /// The report.
    pub(crate) fn report(&self) -> NeighborsReport<'_> {
        NeighborsReport::new(&self.id, self.checkpoint, &self.around)
    }
}
