//! Folders that were moved with their histories, as `git mv` of a folder does: the record is not where
//! the log says, and the finding names where it is.

use std::collections::HashMap;

use super::finding::{Code, Finding};
use super::log::View;
use crate::chain::replay;
use crate::model::digest::Digest;
use crate::model::id::DocumentId;
use crate::vault::Vault;

/// Adds to each missing history of a document where the history of its last sealed version is, if a
/// history that no checkpoint seals has it. Histories are read only if one is missing.
pub(super) fn explain(vault: &Vault, view: &View, findings: &mut [Finding]) {
    if !findings.iter().any(|found| found.code == Code::HistoryMissing) {
        return;
    }
    let unsealed = findings.iter().filter(|found| found.code == Code::PublishedUnsealed);
    let ids = unsealed.filter_map(|found| found.id.clone()).filter(DocumentId::is_document);
    let mut moved: HashMap<Digest, DocumentId> = HashMap::new();
    for id in ids.filter(|id| !view.records.contains_key(id)) {
        let Ok(history) = replay::load(vault.files(), &id) else { continue };
        moved.extend(history.entries().map(|entry| (entry.chain_hash, id.clone())));
    }
    for finding in findings.iter_mut().filter(|found| found.code == Code::HistoryMissing) {
        let record = finding.id.as_ref().and_then(|id| Some((id, view.records.get(id)?)));
        let Some((old, record)) = record else { continue };
        let hash = record.seals.last().and_then(|seal| seal.mark.chain_hash);
        let Some(new) = hash.and_then(|hash| moved.get(&hash)) else { continue };
        let (from, to) = (new.live_path(), old.live_path());
        let then = match old.collision_with(new) {
            Some(_) => "",
            None => ", then move each document with `ctx mv`",
        };
        finding.message = format!(
            "{}; `{new}` has it: the folder was moved with its histories. Move it back, so that `{from}` is `{to}` again{then}",
            finding.message
        );
    }
}
