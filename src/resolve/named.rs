//! Published documents by the beginning of their ids, without their texts: from an index this costs
//! little in a vault of any size.

use super::{Listed, Snapshot, Withheld};
use crate::checkpoint::fault::LogError;
use crate::model::id::DocumentId;
use crate::uri::Uri;

impl Snapshot<'_> {
    /// The ids of the published documents that begin so, in byte order. An index leaves out those
    /// that the chain does not vouch for.
    ///
    /// # Errors
    /// As [`Snapshot::state`].
    pub(crate) fn ids_below(&self, beginning: &str) -> Result<Vec<String>, LogError> {
        let indexed = self.indexed(|at| {
            let rows = at.holding(at.known()? & at.of_folder(beginning)?)?;
            let mut ids = Vec::new();
            at.each_id(&rows, |id| ids.push(id.to_owned()))?;
            ids.sort_unstable();
            Ok(ids)
        });
        if let Some(ids) = indexed {
            return Ok(ids);
        }
        let ids = self.documents()?.map(DocumentId::as_str);
        Ok(ids.filter(|id| id.starts_with(beginning)).map(str::to_owned).collect())
    }

    /// One published document with its fields; from an index as they were when its text was
    /// verified.
    pub(crate) fn listed(&self, id: &DocumentId) -> Option<Result<Listed, Withheld>> {
        let held = self.indexed(|at| at.get(id.as_str())).flatten();
        let known = held.and_then(|held| {
            let (id, version) = (held.id, held.version);
            held.metadata.map(|metadata| Listed { id, version, metadata })
        });
        match known {
            Some(listed) => Some(Ok(listed)),
            None => Some(self.get(id)?.map(|served| Listed::from(&served))),
        }
    }

    /// The URI that always names the newest version of a document; none for the few ids that no URI
    /// can name.
    pub(crate) fn uri_of_newest(&self, id: &DocumentId) -> Option<Uri> {
        self.uri(id).map(Uri::unpinned)
    }
}
