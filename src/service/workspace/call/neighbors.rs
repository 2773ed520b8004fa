//! The documents around one.

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

/// What it takes to answer.
pub(crate) const NEED: Need = Need::Fields;

/// A document and those that it is linked with.
pub(crate) struct Linked {
    /// The document.
    id: DocumentId,
    /// The checkpoint that was asked.
    pub(crate) checkpoint: CheckpointNumber,
    /// What is around it.
    pub(crate) around: Around,
    /// The hash of what the reader may read of the checkpoint.
    #[cfg(feature = "mcp")]
    pub(crate) seen: Option<Digest>,
}

impl Call<'_> {
    /// Walks from a document along its links. The first `skipped` of what is found, and is no part of
    /// the limit, are left out.
    ///
    /// # Errors
    /// No such document is published then, or the log cannot be relied on.
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
    /// The report.
    pub(crate) fn report(&self) -> NeighborsReport<'_> {
        NeighborsReport::new(&self.id, self.checkpoint, &self.around)
    }
}
