//! The documents that one document is linked with.

use super::{Call, Places};
use crate::read::graph::walk::Walk;
use crate::read::snapshot::{Around, Need, Snapshot};
use crate::service::report::failure::Failure;
use crate::service::report::graph::NeighborsReport;
use crate::service::workspace::moment::Moment;
#[cfg(feature = "mcp")]
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::text_util::nearest_name;

/// The data that an answer needs.
pub(crate) const NEED: Need = Need::Fields;

/// A document and its neighbours.
pub(crate) struct Linked {
    id: DocumentId,
    /// The checkpoint of the answer.
    pub(crate) checkpoint: CheckpointNumber,
    /// The neighbours, and the links to them.
    pub(crate) around: Around,
    /// The hash of everything at the checkpoint that the reader may read.
    #[cfg(feature = "mcp")]
    pub(crate) seen: Option<Digest>,
}

impl Call<'_> {
    /// Walks from a document along its links. The first `skipped` neighbours are left out, and do
    /// not use up the limit.
    ///
    /// # Errors
    /// The document is not published at the checkpoint, or the log is not valid.
    pub(crate) fn neighbors(
        &mut self,
        (vault, source): Places<'_>,
        (id, at): (&str, Option<Moment>),
        (walk, skipped): (&Walk, usize),
    ) -> Result<Linked, Failure> {
        let at = self.workspace.checkpoint_at((vault, source), at)?;
        let named = self.workspace.named_at(vault, source, id)?.at(at)?;
        let snapshot = Snapshot::of(vault, source, named.checkpoint)?;
        let walk = Walk { limit: walk.limit.saturating_add(skipped), ..*walk };
        let Some(mut around) = snapshot.around(&named.id, &walk)? else {
            snapshot.check_rules()?;
            if let Some(withheld) = snapshot.get(&named.id).and_then(Result::err) {
                return Err(withheld.into());
            }
            let published = snapshot.documents()?.map(DocumentId::as_str);
            let near = nearest_name(named.id.as_str(), published, '/');
            return Err(Failure::unknown_id(named.id.as_str(), near));
        };
        let found = &mut around.found.neighbors;
        found.drain(..skipped.min(found.len()));
        self.recording.listed = Some(found.len());
        Ok(Linked {
            id: named.id,
            checkpoint: snapshot.checkpoint(),
            around,
            #[cfg(feature = "mcp")]
            seen: snapshot.hash_for_reader()?,
        })
    }
}

impl Linked {
    pub(crate) fn report(&self) -> NeighborsReport<'_> {
        NeighborsReport::new(&self.id, self.checkpoint, &self.around)
    }
}
