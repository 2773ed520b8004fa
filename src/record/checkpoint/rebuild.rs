//! Derives a log from the records of histories (paper, section 8.4): an event is everything that
//! was published or retired at one time. Intact histories that ctx wrote result in the same log,
//! hash for hash.

use std::collections::{BTreeMap, BTreeSet};

use super::event::{Checkpoint, trigger};
use super::maps;
use super::state::{Mark, PublishedSet};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// A version that a history records as published or retired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The time of the event.
    pub at: Timestamp,
    /// The id of the artifact.
    pub id: DocumentId,
    /// The number of the version.
    pub version: Version,
    /// The chain hash of the version.
    pub chain_hash: Digest,
    /// True if the version retired the artifact.
    pub retired: bool,
}

/// Returns the number of entries, from the first, whose hashes follow and which agree with
/// the histories.
pub fn longest_prefix<F>(entries: &[Result<Checkpoint, F>], records: &[Recorded]) -> usize {
    let whole: Vec<&Checkpoint> = entries.iter().map_while(|entry| entry.as_ref().ok()).collect();
    let published: BTreeSet<(&DocumentId, Version, &Digest)> = records
        .iter()
        .filter(|record| !record.retired)
        .map(|record| (&record.id, record.version, &record.chain_hash))
        .collect();
    let retired: BTreeSet<(&DocumentId, Timestamp)> =
        records.iter().filter(|record| record.retired).map(|r| (&r.id, r.at)).collect();
    let agrees = |checkpoint: &Checkpoint| {
        let is_set = |(id, mark): &(DocumentId, Mark)| {
            mark.sealed().is_some_and(|(version, hash)| published.contains(&(id, version, &hash)))
        };
        // The reference implementation drops governance files from its maps without a record of it.
        let is_gone = |id: &DocumentId| !id.is_document() || retired.contains(&(id, checkpoint.at));
        checkpoint.set.iter().all(is_set) && checkpoint.removed.iter().all(is_gone)
    };
    let mut numbers = CheckpointNumber::sequence();
    let follows = |c: &&&Checkpoint| numbers.next() == Some(c.number) && agrees(c);
    // Hashing is the expensive part, so it comes last.
    let agreed = whole.iter().take_while(follows).count();
    maps::first_fault(&whole[..agreed]).unwrap_or(agreed)
}

/// Derives the checkpoints after `before`, from records that are later than the last of these.
/// `bindings` contains the marks that each event bound, by the time of the event and in the order
/// of the ids.
pub fn derive(
    before: &[&Checkpoint],
    mut records: Vec<Recorded>,
    bindings: &BTreeMap<Timestamp, Vec<(DocumentId, Mark)>>,
) -> Vec<Checkpoint> {
    let mut state = PublishedSet::default();
    before.iter().for_each(|checkpoint| checkpoint.apply(&mut state));
    let mut previous = before.last().map(|checkpoint| checkpoint.hash);
    let mut number = CheckpointNumber::of_count(before.len());
    let last = before.last().map(|checkpoint| checkpoint.at);
    records.retain(|record| last.is_none_or(|last| record.at > last));
    records.sort_by(|a, b| (a.at, &a.id, a.version).cmp(&(b.at, &b.id, b.version)));
    let mut derived = Vec::new();
    let mut rest = &records[..];
    while let Some(first) = rest.first() {
        let together = rest.iter().take_while(|record| record.at == first.at).count();
        let (event, later) = rest.split_at(together);
        rest = later;
        // If an event has several versions of an artifact, it sealed the last.
        let latest: BTreeMap<&DocumentId, &Recorded> = event.iter().map(|r| (&r.id, r)).collect();
        let is_there = |id: &DocumentId| state.get(id.as_str()).is_some();
        let removed: Vec<DocumentId> = latest
            .values()
            .filter(|record| record.retired && is_there(&record.id))
            .map(|record| record.id.clone())
            .collect();
        let set: Vec<(DocumentId, Mark)> = latest
            .values()
            .filter(|record| !record.retired)
            .map(|record| (record.id.clone(), Mark::new(record.version, record.chain_hash)))
            .collect();
        let ids = set.iter().map(|(id, _)| id).chain(&removed);
        let Some(triggered_by) = trigger(ids).cloned() else { continue };
        number = number.next();
        let hash = Digest::of(b"");
        let bound = bindings.get(&first.at).map(Vec::as_slice).unwrap_or_default().iter();
        // If branches were merged that both bound a chain, an event may name an end of the chain
        // that an earlier event already bound.
        let bound = bound.filter(|(id, mark)| {
            let before = state.bound().get(id);
            before.is_none_or(|before| before.version < mark.version)
        });
        let bound = bound.map(|(id, mark)| (id.clone(), Some(*mark))).collect();
        let mut checkpoint = Checkpoint {
            number,
            at: first.at,
            triggered_by,
            hash,
            set,
            removed,
            bound,
            merged: None,
        };
        checkpoint.seal(&mut state, previous.as_ref());
        previous = Some(checkpoint.hash);
        derived.push(checkpoint);
    }
    derived
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> DocumentId {
        text.parse().unwrap()
    }

    fn at(second: u8) -> Timestamp {
        format!("2026-11-22T10:00:{second:02}.000Z").parse().unwrap()
    }

    fn recorded(name: &str, second: u8, version: u64, retired: bool) -> Recorded {
        let chain_hash = Digest::of(format!("{name}{version}").as_bytes());
        Recorded { at: at(second), id: id(name), version: Version(version), chain_hash, retired }
    }

    #[test]
    fn longest_prefix_requires_a_retirement_for_each_removed_document() {
        let set = [recorded("CONTEXT.md", 1, 1, false), recorded("nodes/a", 1, 1, false)];
        let retired = recorded("nodes/a", 2, 2, true);
        let both = || [set.to_vec(), vec![retired.clone()]].concat();
        let derived = derive(&[], both(), &BTreeMap::new());
        assert_eq!(derived.len(), 2);
        assert_eq!(derived[1].removed, [id("nodes/a")]);
        let entries: Vec<Result<Checkpoint, ()>> = derived.into_iter().map(Ok).collect();
        assert_eq!(longest_prefix(&entries, &both()), 2);
        assert_eq!(longest_prefix(&entries, &set), 1);
        assert_eq!(longest_prefix(&entries, &[recorded("nodes/a", 1, 1, false)]), 0);
        let altered = |alter: fn(&mut Checkpoint)| {
            let mut entries = entries.clone();
            alter(entries[1].as_mut().unwrap());
            longest_prefix(&entries, &both())
        };
        assert_eq!(altered(|second| second.hash = Digest::of(b"another")), 1);
        assert_eq!(altered(|second| second.number = CheckpointNumber(3)), 1);
        let later = recorded("nodes/a", 3, 2, true);
        assert_eq!(longest_prefix(&entries, &[set.to_vec(), vec![later]].concat()), 1);

        // Like the next checkpoint of the reference implementation.
        let first = entries[0].clone().unwrap();
        let mut state = PublishedSet::default();
        first.apply(&mut state);
        let mut second = Checkpoint { number: CheckpointNumber(2), at: at(2), ..first.clone() };
        (second.set, second.removed) = (Vec::new(), vec![id("CONTEXT.md")]);
        second.seal(&mut state, Some(&first.hash));
        assert_eq!(longest_prefix(&[Ok::<_, ()>(first), Ok(second)], &set), 2);
    }
}
