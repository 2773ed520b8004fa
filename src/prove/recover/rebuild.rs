//! Rebuilds a missing or broken log from the histories. A rebuild always reports what it does, and
//! never replaces a log that matches the histories.

use std::collections::BTreeSet;
use std::mem;

use rayon::prelude::*;

use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::record::audit::changes;
use crate::record::chain::error::ChainError;
use crate::record::chain::replay;
use crate::record::chain::walk::Walk;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::log::Log;
use crate::record::checkpoint::maps;
use crate::record::checkpoint::rebuild::{Recorded, derive, longest_prefix};
use crate::record::trusted_head::{self, EventKey, TrustedHeads};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;
use crate::write::commit::uncommitted;

use super::governed::forgotten;
use super::unapproved::{Unapproved, unapproved};

/// A log derived from the histories.
#[derive(Debug)]
pub(crate) struct Rebuilt {
    pub(crate) log: Log,
    /// Number of checkpoints of the old log that are kept at the start.
    pub(crate) kept: usize,
    /// Number of entries of the old log.
    pub(crate) before: usize,
    /// Versions that are recorded as published or retired, but that nothing vouches for.
    pub(crate) unsound: Vec<Unsound>,
    /// Versions that are recorded as published no later than the last kept checkpoint, but that no
    /// kept checkpoint contains. A log that was cut and then continued has lost them.
    pub(crate) passed_over: Vec<(DocumentId, Version)>,
    /// Versions of a governed vault that no approval vouches for. All later versions of the
    /// artifact are left out, too, because they are based on it.
    pub(crate) unapproved: Vec<Unapproved>,
    /// Evidence that the vault was governed, if no checkpoint of the log shows it.
    pub(crate) forgotten: Option<String>,
}

/// A version that nothing vouches for, with the reason.
pub(crate) type Unsound = (DocumentId, Version, ChainError);

impl Rebuilt {
    /// Returns the checkpoints that come from the histories alone.
    pub(crate) fn derived(&self) -> impl Iterator<Item = &Checkpoint> {
        self.log.entries.iter().flatten().skip(self.kept)
    }

    /// Returns true if the rebuilt log equals the old one.
    pub(crate) fn is_same(&self, old: &Log) -> bool {
        old.is_whole() && old.entries == self.log.entries
    }

    /// Returns the hash of the first checkpoint of the old or trusted log if the rebuilt log would
    /// begin with another one. Then no head that was noted elsewhere would match any more.
    pub(crate) fn replaced_first(&self, old: &Log, remembered: &TrustedHeads) -> Option<Digest> {
        fn first(log: &Log) -> Option<&Checkpoint> {
            log.entries.first()?.as_ref().ok()
        }
        // A line that does not verify says nothing about the log that existed.
        let is_sound = |first: &&Checkpoint| {
            first.number == CheckpointNumber::FIRST && maps::first_fault(&[*first]).is_none()
        };
        let remembered =
            remembered.binding().find_map(|trusted| Some(trusted.head.hashes?.genesis));
        let known = remembered.or_else(|| first(old).filter(is_sound).map(|first| first.hash));
        let new = first(&self.log).map(|first| first.hash);
        known.filter(|known| new != Some(*known))
    }
}

/// Computes the log that follows from the histories. Keeps the longest prefix of the old log that
/// agrees with them, unless `from_scratch` is set. Only reads.
///
/// # Errors
/// Fails if a file cannot be read.
pub(crate) fn rebuild(
    vault: &Vault,
    old: &Log,
    from_scratch: bool,
    now: Timestamp,
) -> Result<Rebuilt, FileError> {
    let mut ids: Vec<DocumentId> = uncommitted::recorded(old).into_keys().collect();
    let folders = vault.history_folders();
    ids.extend(folders.iter().filter_map(|dir| DocumentId::of_history_dir(dir).ok()));
    ids.sort_unstable();
    ids.dedup();
    // An event of an interrupted writer of this user was never acknowledged.
    let intents = trusted_head::intents(vault).into_iter();
    let never_acknowledged: Vec<EventKey> = intents.map(|intent| intent.event).collect();
    let read: Vec<(Vec<Recorded>, Vec<Unsound>)> =
        ids.par_iter().map(|id| recorded(vault, id, &never_acknowledged)).collect();
    let (mut records, mut unsound) = (Vec::new(), Vec::new());
    for (sound, broken) in read {
        records.extend(sound);
        unsound.extend(broken);
    }
    let kept = if from_scratch { 0 } else { longest_prefix(&old.entries, &records) };
    let before: Vec<&Checkpoint> = old.entries[..kept].iter().flatten().collect();
    let passed_over = passed_over(&before, &records);
    // An unreadable change log binds nothing; the verifier reports it.
    let bindings = changes::bindings(vault).unwrap_or_default();
    let last = before.last().map(|checkpoint| checkpoint.at);
    records.retain(|record| last.is_none_or(|last| record.at > last));
    let mut left_out = Vec::new();
    let log = loop {
        let derived = derive(&before, records.clone(), &bindings);
        let checkpoints = before.iter().copied().cloned().chain(derived).collect();
        let log = Log::of(old.form, checkpoints);
        let found = unapproved(vault, &log, &records, now)?;
        if found.is_empty() {
            break log;
        }
        records.retain(|record| {
            !found.iter().any(|one| one.id == record.id && one.version <= record.version)
        });
        left_out.extend(found);
    };
    let before = old.entries.len();
    let forgotten = forgotten(vault, &log, &ids)?;
    Ok(Rebuilt { log, kept, before, unsound, passed_over, unapproved: left_out, forgotten })
}

/// Returns the versions that are recorded as published up to the last of these checkpoints, but
/// that no checkpoint contains.
fn passed_over(kept: &[&Checkpoint], records: &[Recorded]) -> Vec<(DocumentId, Version)> {
    let Some(last) = kept.last() else { return Vec::new() };
    let sealed = kept.iter().flat_map(|checkpoint| &checkpoint.set);
    let sealed: BTreeSet<(&DocumentId, Option<Version>)> =
        sealed.map(|(id, mark)| (id, mark.version)).collect();
    let is_lost = |record: &&Recorded| {
        !record.retired
            && record.at <= last.at
            && !sealed.contains(&(&record.id, Some(record.version)))
    };
    records.iter().filter(is_lost).map(|record| (record.id.clone(), record.version)).collect()
}

/// Returns the versions that one history records as published or retired, and those of them that
/// nothing vouches for.
fn recorded(
    vault: &Vault,
    id: &DocumentId,
    never_acknowledged: &[EventKey],
) -> (Vec<Recorded>, Vec<Unsound>) {
    let (mut sound, mut unsound) = (Vec::new(), Vec::new());
    let history = match replay::load(vault.files(), id) {
        Ok(history) => history,
        Err(ChainError::HistoryMissing) => return (sound, unsound),
        Err(why) => return (sound, vec![(id.clone(), Version::NONE, why)]),
    };
    let mut walk = Walk::new(vault.files(), id, &history);
    while let Some(step) = walk.next() {
        let mut version = match step.version {
            Ok(version) => version,
            Err(faults) => {
                let why = ChainError::Malformed(step.slot.line, faults.to_vec());
                unsound.push((id.clone(), step.slot.version.unwrap_or(Version::NONE), why));
                continue;
            }
        };
        let entry = version.entry;
        if entry.event_at().is_none() {
            continue;
        }
        let event = EventKey::of(entry);
        if never_acknowledged.contains(&event) {
            continue;
        }
        let at = event.at;
        let wrong = mem::take(&mut version.wrong).into_iter().next();
        match wrong.or_else(|| version.check_text().err()) {
            Some(why) => unsound.push((id.clone(), entry.version, why)),
            None => sound.push(Recorded {
                at,
                id: id.clone(),
                version: entry.version,
                chain_hash: entry.chain_hash,
                retired: entry.is_retirement(),
            }),
        }
    }
    (sound, unsound)
}
