//! Histories of a bundle, joined from its chains as far as its checkpoints bind them, in the shape
//! in which the approval rules read them.

use std::collections::{BTreeMap, BTreeSet};

use super::super::manifest::keyframe_path;
use super::Files;
use crate::files::vault::files::FileError;
use crate::policy::in_force::Sealings;
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{Entry, EntryState, History};
use crate::record::chain::replay;
use crate::record::checkpoint::record::{Record, Seal};
use crate::record::checkpoint::state::Mark;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// A chain whose entries are proved.
#[derive(Debug)]
pub(super) struct Part {
    /// Number of the chain.
    pub(super) chain: usize,
    pub(super) id: DocumentId,
    /// Chain hash before the first entry.
    pub(super) previous: Option<Digest>,
    pub(super) entries: Vec<Entry>,
}

/// Histories that the bundle contains from their first entry on.
#[derive(Debug, Default)]
pub(super) struct Histories<'b> {
    whole: BTreeMap<DocumentId, Whole>,
    /// Full texts, by their paths in a vault.
    keyframes: BTreeMap<String, &'b [u8]>,
}

/// A history, and the checkpoints whose events it contains.
#[derive(Debug)]
struct Whole {
    history: History,
    events: BTreeSet<CheckpointNumber>,
}

impl<'b> Histories<'b> {
    /// Joins the chains of each artifact.
    pub(super) fn of(files: &Files<'b>, parts: &[Part], records: &Sealings<'_>) -> Self {
        let mut histories = Self::default();
        let mut by_id: BTreeMap<&DocumentId, Vec<&Part>> = BTreeMap::new();
        for part in parts.iter().filter(|part| !part.entries.is_empty()) {
            by_id.entry(&part.id).or_default().push(part);
        }
        for (id, parts) in by_id {
            let record = records.record(id);
            let Some(joined) = joined(&parts) else { continue };
            let Some(entries) = bound(&joined, &record) else { continue };
            for part in &joined {
                let first = part.entries.first().map(|entry| id.keyframe_path(entry.version));
                let bytes = files.get(&keyframe_path(part.chain)).ok();
                histories.keyframes.extend(first.zip(bytes));
            }
            let events = entries.iter().filter_map(|entry| record.event_of(entry)).collect();
            let whole = Whole { history: History::of(entries), events };
            histories.whole.insert(id.clone(), whole);
        }
        histories
    }

    /// Returns the history of an artifact; `None` if the bundle lacks its first entry.
    pub(super) fn get(&self, id: &DocumentId) -> Option<&History> {
        self.whole.get(id).map(|whole| &whole.history)
    }

    /// Returns true if the history of an artifact includes what the event of a
    /// checkpoint did to it.
    pub(super) fn has(&self, id: &DocumentId, event: CheckpointNumber) -> bool {
        self.whole.get(id).is_some_and(|whole| whole.events.contains(&event))
    }
}

impl replay::Histories for Histories<'_> {
    fn history(&self, id: &DocumentId) -> Result<History, ChainError> {
        self.get(id).cloned().ok_or(ChainError::HistoryMissing)
    }

    fn stored(&self, path: &str, _: u64) -> Result<Option<Vec<u8>>, FileError> {
        Ok(self.keyframes.get(path).map(|bytes| bytes.to_vec()))
    }
}

/// Returns the chains that lead from the first entry to the last version of an artifact; `None` if
/// one is missing. A history may begin with a later version than 1. Then its first entry has a
/// chain hash without a previous hash.
fn joined<'p>(parts: &[&'p Part]) -> Option<Vec<&'p Part>> {
    let end = |part: &Part| part.entries.last().map(|entry| (entry.version, entry.chain_hash));
    let mut ends: BTreeMap<Digest, &Part> = BTreeMap::new();
    for part in parts {
        ends.entry(end(part)?.1).or_insert(part);
    }
    // If several chains end with this version, the first one is used.
    let mut part = *parts.iter().rev().max_by_key(|part| end(part).map(|(version, _)| version))?;
    let mut joined = vec![part];
    while let Some(previous) = part.previous {
        let first = part.entries.first()?.version;
        part = ends.get(&previous)?;
        if end(part)?.0.next() != first {
            return None;
        }
        joined.push(part);
    }
    joined.reverse();
    Some(joined)
}

/// Returns the entries of chains, with the states that follow from the checkpoints, because no hash
/// covers a state. A sealed version was published. The last entry made at the time of a removal
/// retired the artifact. Returns `None` if the last checkpoint that seals one of these versions
/// seals another text.
///
/// This last seal binds every entry before it, so earlier seals of other texts belong to an earlier
/// history (CKPT-41). No seal binds the entries after it. If a later checkpoint seals the artifact
/// again, entries after the last seal are left out.
fn bound(joined: &[&Part], record: &Record) -> Option<Vec<Entry>> {
    let all = || joined.iter().flat_map(|part| &part.entries);
    let mut last = all().next_back()?.version;
    let is_here = |seal: &Seal| seal.mark.version.is_some_and(|version| version <= last);
    let binding = record.seals.iter().rposition(is_here)?;
    let seal = record.seals[binding].mark;
    all().find(|entry| Mark::new(entry.version, entry.chain_hash) == seal)?;
    if binding + 1 < record.seals.len() {
        last = seal.version?;
    }
    let mut sealed: BTreeMap<(Version, Digest), Timestamp> = BTreeMap::new();
    for seal in &record.seals {
        if let Some(mark) = seal.mark.sealed() {
            sealed.entry(mark).or_insert(seal.at);
        }
    }
    let (mut entries, mut left) = (Vec::new(), BTreeMap::new());
    for entry in all().take_while(|entry| entry.version <= last) {
        let state = match sealed.get(&(entry.version, entry.chain_hash)) {
            Some(at) => EntryState::Published(*at),
            None => EntryState::Unpublished,
        };
        if state == EntryState::Unpublished {
            left.insert(entry.edited_at, entries.len());
        }
        entries.push(Entry { state, ..entry.clone() });
    }
    for removal in &record.removals {
        if let Some(entry) = left.get(&removal.at).and_then(|at| entries.get_mut(*at)) {
            entry.state = EntryState::Retired(removal.at);
        }
    }
    Some(entries)
}
