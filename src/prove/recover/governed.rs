//! Check that a log derived from the histories does not lose the fact that the vault was governed.
//! Without the histories of its governance files, such a log would publish everything without a
//! review (`spec/transactions.md`, TXN-33).

use std::collections::HashMap;

use memchr::memmem;
use rayon::prelude::*;

use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::policy::in_force::InForce;
use crate::policy::rules::{Reviewed, fields_of, is_act};
use crate::record::audit::{Event, Logs};
use crate::record::chain::history::EntryState;
use crate::record::chain::replay;
use crate::record::chain::walk::Walk;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::log::Log;
use crate::record::checkpoint::record::Record;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::AUDIT_DIR;

/// Returns evidence that a vault was governed, if no checkpoint of a log shows it.
///
/// # Errors
/// Fails if a file cannot be read.
pub(super) fn forgotten(
    vault: &Vault,
    log: &Log,
    ids: &[DocumentId],
) -> Result<Option<String>, FileError> {
    if was_governed(vault, log) {
        return Ok(None);
    }
    if let Some(id) = named_in_lines(vault)? {
        return Ok(Some(format!("a line of the change log names a review of `{id}`")));
    }
    let reviewed = ids.par_iter().find_first(|id| has_reviews(vault, id));
    if let Some(id) = reviewed {
        return Ok(Some(format!("the history of `{id}` has steps of reviews")));
    }
    let has_history = |id: &DocumentId| replay::has_files(vault.files(), id);
    let (config, stewards) = (DocumentId::config(), DocumentId::stewards());
    let are_orphans = !has_history(&config) && vault.files().exists(&stewards.live_path());
    let why = "there is a `stewards.yaml`, but the history of the configuration is missing";
    Ok(are_orphans.then(|| why.to_owned()))
}

/// Returns true if the rules in force at some checkpoint govern the vault.
fn was_governed(vault: &Vault, log: &Log) -> bool {
    let checkpoints: Vec<&Checkpoint> = log.entries.iter().flatten().collect();
    let of = |id: DocumentId| (id.clone(), Record::of(&checkpoints, &id));
    let records = HashMap::from(DocumentId::rules().map(of));
    InForce::of(vault.files(), &records).was_governed()
}

/// Returns the first artifact that a line of a step of a review names.
fn named_in_lines(vault: &Vault) -> Result<Option<String>, FileError> {
    let mut found = None;
    let logs = Logs::of_changes(vault);
    let read = logs.and_then(|logs| {
        logs.steps(&mut |line| {
            let Event::Change(change) = &line.event else { return };
            let named = change.step().and_then(|step| step.versions.first());
            found = found.take().or_else(|| Some(named?.id.clone()));
        })
    });
    read.map_err(FileError::io("read", AUDIT_DIR))?;
    Ok(found)
}

/// Returns true if a history contains a step of a review, or a version that claims a review.
fn has_reviews(vault: &Vault, id: &DocumentId) -> bool {
    let Ok(history) = replay::load(vault.files(), id) else { return false };
    let mut walk = Walk::new(vault.files(), id, &history);
    while let Some(step) = walk.next() {
        let Ok(version) = step.version else { continue };
        let (entry, text) = (version.entry, version.text.unwrap_or_default());
        let has_word = || memmem::find(text.as_bytes(), b"review").is_some();
        let is_step = match id.is_document() {
            true if !has_word() => false,
            true => fields_of(text).is_some_and(|fields| {
                entry.state == EntryState::Unpublished
                    || Reviewed::is_claimed(id, entry, Some(&fields))
            }),
            false => is_act(entry),
        };
        if is_step {
            return true;
        }
    }
    false
}
