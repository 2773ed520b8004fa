//! Histories that are missing at their recorded path, as after a move of their folder without ctx.

use std::collections::HashMap;

use super::state::PublishedSet;
use crate::files::vault::files::Files;
use crate::record::chain::history::History;
use crate::record::chain::replay;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;

/// The documents whose histories are missing, by the chain hash of their sealed version.
pub(crate) struct MissingHistories(HashMap<Digest, DocumentId>);

impl MissingHistories {
    /// Returns those of a published state.
    pub(crate) fn of(files: &Files, state: &PublishedSet) -> Self {
        let sealed = state.iter().filter_map(|(id, mark)| Some((mark.sealed()?.1, id)));
        Self::among(files, sealed)
    }

    /// Returns those among artifacts with the chain hashes of their sealed versions.
    pub(crate) fn among<'i>(
        files: &Files,
        sealed: impl Iterator<Item = (Digest, &'i DocumentId)>,
    ) -> Self {
        let gone = sealed.filter(|(_, id)| !files.exists(&id.history_path()));
        Self(gone.map(|(hash, id)| (hash, id.clone())).collect())
    }

    /// Returns the document that a history belongs to, if its own one is missing.
    pub(crate) fn found_in(&self, history: &History) -> Option<&DocumentId> {
        history.entries().find_map(|entry| self.0.get(&entry.chain_hash))
    }

    /// Returns the moves of missing histories to artifacts that no checkpoint seals: the former id
    /// of each document, and the new one. Reads nothing if no history is missing.
    pub(crate) fn moves<'i>(
        &self,
        files: &Files,
        ids: impl Iterator<Item = &'i DocumentId>,
    ) -> Vec<(&DocumentId, &'i DocumentId)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let moved = ids.filter(|id| id.is_document()).filter_map(|new| {
            let history = replay::load(files, new).ok()?;
            Some((self.found_in(&history)?, new))
        });
        moved.collect()
    }
}
