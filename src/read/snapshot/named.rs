//! Published documents by prefix of their ids, without their texts. With an index the cost is small
//! in a vault of any size.

use super::{Listed, Snapshot, Withheld};
use crate::record::checkpoint::fault::LogError;
use crate::text::uri::Uri;
use crate::values::model::digest::{Digest, Sink as _};
use crate::values::model::id::DocumentId;

impl Snapshot<'_> {
    /// Returns the ids of the published documents with this prefix, in byte order. An index leaves
    /// out documents that the chain does not vouch for.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub(crate) fn ids_below(&self, beginning: &str) -> Result<Vec<String>, LogError> {
        let indexed =
            self.indexed(|at| at.ids(&at.holding(at.known()? & at.of_folder(beginning)?)?));
        if let Some(ids) = indexed {
            return Ok(ids);
        }
        let ids = self.documents()?.map(DocumentId::as_str);
        Ok(ids.filter(|id| id.starts_with(beginning)).map(str::to_owned).collect())
    }

    /// Returns one published document with its fields. An index returns the fields as they were
    /// when the text was verified.
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

    /// Returns the URI of the newest version of a document; `None` for the few ids that URIs
    /// cannot name.
    pub(crate) fn uri_of_newest(&self, id: &DocumentId) -> Option<Uri> {
        self.uri(id).map(Uri::unpinned)
    }
}

impl Snapshot<'_> {
    /// Returns a hash that changes if the checkpoint publishes something else for its reader.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub(crate) fn hash_for_reader(&self) -> Result<Option<Digest>, LogError> {
        if !self.is_limited() {
            return Ok(self.hash());
        }
        let listed = self.state()?.iter().filter(|(id, _)| id.is_document() || id.is_pack());
        let listed: Vec<_> = listed.filter_map(|(id, mark)| Some((id, mark.sealed()?.1))).collect();
        Ok(Some(Digest::of_written(|out| {
            for (id, hash) in listed {
                out.put(id.as_str().as_bytes());
                out.put(b"\0");
                hash.write_to(out);
                out.put(b"\n");
            }
        })))
    }

    /// Returns the chain hash of an artifact, if the checkpoint publishes it for its reader.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub(crate) fn hash_of(&self, id: &DocumentId) -> Result<Option<Digest>, LogError> {
        let recorded = self.recorded(id)?;
        Ok(recorded.and_then(|recorded| recorded.mark.sealed()).map(|(_, hash)| hash))
    }
}
