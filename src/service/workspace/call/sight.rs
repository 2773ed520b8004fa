//! Detects changes of the part of a vault that a principal may read.

use super::{Call, Places};
use crate::read::snapshot::{Need, Snapshot};
use crate::service::report::failure::Failure;
use crate::service::workspace::name::of_uri;
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;

/// The data that an answer needs.
pub(crate) const NEED: Need = Need::Versions;

impl Call<'_> {
    /// Returns a hash of everything that the reader can see at a checkpoint or at the head, and one
    /// hash per URI.
    ///
    /// The first is `known` if that is set. A hash per URI is `None` if the URI is not visible to
    /// the reader, or pinned, because a pinned text never changes.
    ///
    /// # Errors
    /// The log is not valid.
    /// The log cannot be relied on.
    pub(crate) fn sight(
        &mut self,
        (vault, source): Places<'_>,
        at: Option<CheckpointNumber>,
        (known, uris): (Option<Digest>, &[&str]),
    ) -> Result<(Digest, Vec<Option<Digest>>), Failure> {
        let snapshot = Snapshot::of(vault, source, at)?;
        let list = match known {
            Some(list) => list,
            None => snapshot.hash_for_reader()?.unwrap_or_else(|| Digest::of(b"")),
        };
        let authorities = snapshot.authorities().ok();
        let hash = |text: &&str| {
            let named = authorities.as_ref().and_then(|known| of_uri(text, known).ok());
            let newest = named.filter(|named| named.checkpoint.is_none());
            let Some(named) = newest else { return Ok(None) };
            snapshot.hash_of(&named.id)
        };
        let hashes: Result<Vec<_>, _> = uris.iter().map(hash).collect();
        Ok((list, hashes?))
    }
}
