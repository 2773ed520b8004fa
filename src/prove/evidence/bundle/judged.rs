//! Selection of the histories that a verifier needs to judge the approvals of a bundle (EVID-31).

use std::collections::{BTreeMap, BTreeSet};

use super::export::Unproved;
use super::sealed::Needed;
use crate::files::vault::config::Config;
use crate::files::vault::files::Files;
use crate::policy::in_force::Sealings;
use crate::read::snapshot::Snapshot;
use crate::record::chain::history::{Entry, History};
use crate::record::chain::replay::{self, Histories};
use crate::record::chain::walk::Walk;
use crate::record::checkpoint::record::Record;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};

/// Adds the histories that judge the approvals of all versions needed so far. Returns true if
/// the checkpoints of the bundle may begin after checkpoint 1. `heads` are the checkpoints that
/// lines name.
pub(super) fn add_histories(
    needed: &mut Needed,
    (files, head): (&Files, &Snapshot<'_>),
    approvals: &Sealings<'_>,
    heads: impl Iterator<Item = u64>,
) -> (bool, Vec<Unproved>) {
    let config = DocumentId::config();
    let in_force = approvals.in_force(files);
    let record = approvals.record(&config);
    let first = needed.checkpoints().into_iter().chain(heads).min();
    let is_held = record.removals.is_empty()
        && record.seals.first().is_some_and(|seal| first.is_none_or(|n| seal.checkpoint.0 <= n));
    let history = replay::load(files, &config).ok();
    let begins_later = is_held && history.is_some_and(|history| never_governed(files, &history));
    let mut wanted: BTreeSet<(DocumentId, CheckpointNumber)> = BTreeSet::new();
    // Without governance no approval depends on the stewards.
    for id in DocumentId::rules().into_iter().take(if begins_later { 1 } else { 2 }) {
        let events = events(&approvals.record(&id));
        wanted.extend(events.last().map(|event| (id, *event)));
    }
    if in_force.was_governed() {
        let mut moves: BTreeSet<CheckpointNumber> = BTreeSet::new();
        let mut sealed: BTreeSet<CheckpointNumber> = BTreeSet::new();
        for (id, version) in needed.sealed() {
            let record = approvals.record(id);
            let seal = record.seals.iter().find(|seal| seal.mark.version == Some(version));
            let seal = seal.and_then(|seal| approvals.approved_by(files, id, seal.mark));
            let Some(seal) = seal else { continue };
            sealed.insert(seal.checkpoint);
            moves.extend(approvals.moved_by(files, id));
        }
        for at in sealed {
            wanted.extend(approvals.changed_by(at).into_iter().map(|id| (id, at)));
        }
        for at in moves {
            wanted.extend(approvals.sources(files, at));
        }
    }
    let mut unproved = Vec::new();
    for (id, event) in wanted {
        // Unreadable histories are reported with the versions.
        let Ok(history) = replay::load(files, &id) else { continue };
        let record = approvals.record(&id);
        let entry = history.entries().find(|entry| record.event_of(entry) == Some(event));
        let Some(mut last) = entry.map(|entry| entry.version) else { continue };
        if entry.is_some_and(Entry::is_retirement) {
            // No checkpoint seals a retirement. The next sealed version binds it.
            let next = record.seals.iter().find(|seal| seal.checkpoint > event);
            last = next.and_then(|seal| seal.mark.version).unwrap_or(last).max(last);
        }
        match is_readable((files, head), (&id, &history), last) {
            true => needed.add_history((&id, &history), last),
            false => unproved.push(Unproved {
                name: "an approval".to_owned(),
                why: "it depends on versions of an artifact that you may not read".to_owned(),
            }),
        }
    }
    (begins_later, unproved)
}

/// Returns the checkpoints whose events publish or retire an artifact.
pub(super) fn events(record: &Record) -> BTreeSet<CheckpointNumber> {
    let mut first = BTreeMap::new();
    for seal in &record.seals {
        first.entry(seal.mark.version).or_insert(seal.checkpoint);
    }
    first.into_values().chain(record.removed_by()).collect()
}

/// Returns true if no version of this configuration history makes the vault governed.
pub(super) fn never_governed(from: &dyn Histories, history: &History) -> bool {
    let config = DocumentId::config();
    let mut walk = Walk::new(from, &config, history);
    while let Some(step) = walk.next() {
        let text = step.version.ok().and_then(|version| version.text);
        let config = text.and_then(|text| Config::parse(text).ok());
        if config.is_none_or(|config| config.is_governed()) {
            return false;
        }
    }
    true
}

/// Returns true if the reader may read every version of a history up to `last` (REV-24).
fn is_readable(
    (files, head): (&Files, &Snapshot<'_>),
    (id, history): (&DocumentId, &History),
    last: Version,
) -> bool {
    if !head.is_limited() {
        return true;
    }
    let mut walk = Walk::new(files, id, history);
    while let Some(step) = walk.next() {
        let Ok(version) = step.version else { continue };
        let is_step = version.entry.event_at().is_none();
        if version.text.is_some_and(|text| !head.may_read(id, text, is_step)) {
            return false;
        }
        if version.entry.version >= last {
            break;
        }
    }
    true
}
