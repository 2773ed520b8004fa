//! Explains missing histories of folders that were moved with their histories, for example by `git
//! mv`. The finding then names the new place.

use std::collections::HashMap;

use super::finding::{Code, Finding};
use super::log::View;
use crate::files::vault::Vault;
use crate::record::checkpoint::moved::MissingHistories;
use crate::values::model::id::DocumentId;

/// Adds to each missing history of a document the new place of the history of its last
/// sealed version, if an unsealed history contains that version. Histories are read only if
/// one is missing.
pub(super) fn explain(vault: &Vault, view: &View, findings: &mut [Finding]) {
    if !findings.iter().any(|found| found.code == Code::HistoryMissing) {
        return;
    }
    let unsealed = findings.iter().filter(|found| found.code == Code::PublishedUnsealed);
    let ids: Vec<DocumentId> = unsealed.filter_map(|found| found.id.clone()).collect();
    let is_unsealed = |id: &&DocumentId| !view.records.contains_key(*id);
    let missing = findings.iter().filter(|found| found.code == Code::HistoryMissing);
    let sealed = missing.filter_map(|found| {
        let id = found.id.as_ref()?;
        Some((view.records.get(id)?.seals.last()?.mark.chain_hash?, id))
    });
    let missing = MissingHistories::among(vault.files(), sealed);
    let moves = missing.moves(vault.files(), ids.iter().filter(is_unsealed));
    let moved: HashMap<&DocumentId, &DocumentId> = moves.into_iter().collect();
    for finding in findings.iter_mut().filter(|found| found.code == Code::HistoryMissing) {
        let Some(old) = finding.id.as_ref() else { continue };
        let Some(new) = moved.get(old).copied() else { continue };
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
