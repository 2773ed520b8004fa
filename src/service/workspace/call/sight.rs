//! Whether what a principal may read of a vault is as it was.

use super::{Call, Places};
use crate::read::snapshot::{Need, Snapshot};
use crate::service::report::failure::Failure;
use crate::service::workspace::name::of_uri;
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;

/// What it takes to answer.
pub(crate) const NEED: Need = Need::Versions;

impl Call<'_> {
    /// At a checkpoint, or the last one: a hash that changes whenever something else is published for
    /// the reader, unless it is known, and those of what some URIs name: none of what is not there for
    /// the reader, and of what is pinned, which never changes.
    ///
    /// # Errors
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
