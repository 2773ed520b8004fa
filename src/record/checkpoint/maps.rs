//! The two maps of a checkpoint as the bytes that are hashed, to hash many successive checkpoints.
//!
//! [`PublishedSet::hash`](super::state::PublishedSet::hash) writes both maps each time, which is
//! right for one checkpoint. Here they are kept spelled, in pages of some entries: a change costs a
//! page, and a hash is one pass of SHA-256 over the pages. A state and its copies share pages, so
//! that many checkpoints can be hashed at once in the memory of little more than one.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::event::Checkpoint;
use super::state::{Mark, json_order, write_number, write_string};
use crate::record::chain::preimage::checkpoint_hash;
use crate::values::model::digest::{Digest, Hasher, Sink};
use crate::values::model::id::DocumentId;

/// Maximum number of entries of a page, after which it is halved.
const FULL: usize = 96;
/// Maximum number of checkpoints that are hashed at once. Their changes are also limited, to as
/// many entries as the maps have.
const AT_ONCE: usize = 64;

/// Number of wrong hashes after which the rest of a log is not recomputed. An attacker can plant
/// them without effort, and each costs a reader the hashing of whole maps.
const MOST_FAULTY: usize = 100;
/// Maximum number of bytes of maps that are hashed for a log that seals artifacts without a
/// history, which no writer leaves. A log that the histories confirm is hashed as a whole.
const UNBACKED: u64 = 4 << 30;
/// Maximum number of bytes of maps for a bundle, which lacks the histories of most artifacts:
/// enough for the maps of 10,000 documents and 20,000 events.
const BUNDLED: u64 = 32 << 30;

/// Result of comparing the recorded hashes of checkpoints with those of their maps.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// The index of each checkpoint whose hash does not follow, and the correct hash.
    pub(crate) faults: Vec<(usize, Digest)>,
    /// The index of the first checkpoint that was not compared; `None` if all were.
    pub(crate) end: Option<usize>,
}

/// Recomputes the hash of each checkpoint from its maps and from the recorded hash of the one
/// before it (`spec/checkpoint.md`, CKPT-13), within the bounds of CKPT-20. `has_history` returns
/// true if the vault has the history of an artifact.
pub(crate) fn compare(
    checkpoints: &[&Checkpoint],
    has_history: &dyn Fn(&DocumentId) -> bool,
) -> Compared {
    let end = affordable(checkpoints, UNBACKED, has_history);
    let compared = compare_until(None, &checkpoints[..end], MOST_FAULTY);
    Compared { end: compared.end.or((end < checkpoints.len()).then_some(end)), ..compared }
}

/// Recomputes the hashes of checkpoints whose first one sets the complete maps, and follows one
/// with the hash `previous`. The histories are not known, so [`BUNDLED`] limits the maps.
pub(crate) fn compare_after(previous: Option<&Digest>, checkpoints: &[&Checkpoint]) -> Compared {
    let end = affordable(checkpoints, BUNDLED, &|_| false);
    let compared = compare_until(previous, &checkpoints[..end], usize::MAX);
    Compared { end: (end < checkpoints.len()).then_some(end), ..compared }
}

/// Returns the index of the first checkpoint whose hash does not follow, without a bound on
/// the work.
pub(crate) fn first_fault(checkpoints: &[&Checkpoint]) -> Option<usize> {
    compare_until(None, checkpoints, 0).faults.first().map(|(n, _)| *n)
}

/// Returns the number of checkpoints that may be recomputed.
fn affordable(
    checkpoints: &[&Checkpoint],
    most: u64,
    has_history: &dyn Fn(&DocumentId) -> bool,
) -> usize {
    let (mut maps, mut work) = (HashMap::new(), 0);
    let mut size = 0;
    let spelled = |id: &DocumentId| 2 * id.as_str().len() as u64 + Digest::TEXT_LENGTH as u64;
    for (n, checkpoint) in checkpoints.iter().enumerate() {
        for id in &checkpoint.removed {
            size -= maps.remove(id).unwrap_or(0);
        }
        for (id, mark) in &checkpoint.bound {
            match mark {
                Some(_) => size += spelled(id) - maps.insert(id, spelled(id)).unwrap_or(0),
                None => size -= maps.remove(id).unwrap_or(0),
            }
        }
        for (id, _) in &checkpoint.set {
            size += spelled(id) - maps.insert(id, spelled(id)).unwrap_or(0);
        }
        work += size;
        if work > most {
            let is_backed = maps.keys().all(|id| has_history(id));
            return if is_backed { checkpoints.len() } else { n };
        }
    }
    checkpoints.len()
}

/// Compares checkpoint by checkpoint until more than `most` hashes are wrong.
///
/// All threads are used. Memory contains the maps once, and at most as much again for the changes
/// between the checkpoints that are hashed at the same time.
fn compare_until(before: Option<&Digest>, checkpoints: &[&Checkpoint], most: usize) -> Compared {
    let mut maps = Maps::default();
    let mut compared = Compared::default();
    let mut copies = Vec::with_capacity(AT_ONCE);
    let mut changed = 0;
    for (n, checkpoint) in checkpoints.iter().enumerate() {
        maps.apply(checkpoint);
        changed += checkpoint.set.len() + checkpoint.removed.len() + checkpoint.bound.len();
        let previous = n.checked_sub(1).map_or(before, |last| Some(&checkpoints[last].hash));
        copies.push((n, maps.clone(), previous, checkpoint));
        if copies.len() == AT_ONCE || changed > maps.len || n + 1 == checkpoints.len() {
            let fault = |(n, maps, previous, checkpoint): (_, Maps, _, &&Checkpoint)| {
                let found = maps.hash(previous, checkpoint);
                (found != checkpoint.hash).then_some((n, found))
            };
            compared.faults.par_extend(copies.par_drain(..).filter_map(fault));
            if compared.faults.len() > most {
                compared.end = (n + 1 < checkpoints.len()).then_some(n + 1);
                break;
            }
            changed = 0;
        }
    }
    compared
}

/// The maps at some checkpoint.
#[derive(Clone, Default)]
pub(crate) struct Maps {
    /// In the order of RFC 8785; no page is empty.
    pages: Vec<Arc<Page>>,
    len: usize,
}

/// Consecutive entries of the maps.
#[derive(Clone, Default)]
struct Page {
    /// The end of each entry in the three texts.
    ends: Vec<[u32; TEXTS]>,
    /// The ids, the entries of the map of versions, and those of the map of chain hashes. Each map
    /// entry has a comma before it.
    texts: [Vec<u8>; TEXTS],
}

const TEXTS: usize = 3;
const IDS: usize = 0;
const VERSIONS: usize = 1;
const CHAIN_HASHES: usize = 2;

impl Maps {
    /// Applies the changes of the next checkpoint.
    pub(crate) fn apply(&mut self, checkpoint: &Checkpoint) {
        for id in &checkpoint.removed {
            self.remove(id);
        }
        match self.len {
            0 => self.fill(&checkpoint.set),
            _ => checkpoint.set.iter().for_each(|(id, mark)| self.set(id, *mark)),
        }
        for (id, mark) in &checkpoint.bound {
            match mark {
                Some(mark) => self.set(id, *mark),
                None => self.remove(id),
            }
        }
    }

    /// Returns the hash of a checkpoint with these maps.
    pub(crate) fn hash(&self, previous: Option<&Digest>, checkpoint: &Checkpoint) -> Digest {
        let trigger = checkpoint.triggered_by.as_str();
        let map = |of: usize| {
            move |out: &mut Hasher| {
                out.put(b"{");
                let mut pages = self.pages.iter().map(|page| page.texts[of].as_slice());
                // No comma precedes the first entry.
                if let Some(first) = pages.by_ref().find(|page| !page.is_empty()) {
                    out.put(&first[1..]);
                }
                pages.for_each(|page| out.put(page));
                out.put(b"}");
            }
        };
        let (versions, chain_hashes) = (map(VERSIONS), map(CHAIN_HASHES));
        let (number, at) = (checkpoint.number, checkpoint.at);
        checkpoint_hash(previous, number, at, trigger, versions, chain_hashes)
    }

    /// Fills empty maps in one pass.
    fn fill(&mut self, set: &[(DocumentId, Mark)]) {
        let mut set: Vec<&(DocumentId, Mark)> = set.iter().collect();
        set.sort_by(|(a, _), (b, _)| json_order(a.as_str(), b.as_str()));
        // If an id is repeated, its last mark is used, as with single entries.
        set.reverse();
        set.dedup_by(|(a, _), (b, _)| a == b);
        set.reverse();
        self.len = set.len();
        self.pages = set
            // Some space is left, because the first new id would halve a full page.
            .chunks(FULL * 3 / 4)
            .map(|entries| {
                let mut page = Page::default();
                for (n, (id, mark)) in entries.iter().enumerate() {
                    page.replace(n..n, &spell(id, *mark));
                }
                Arc::new(page)
            })
            .collect();
    }

    fn set(&mut self, id: &DocumentId, mark: Mark) {
        let (at, place) = self.find(id.as_str());
        let spelled = spell(id, mark);
        let page = match self.pages.get_mut(at) {
            Some(page) => Arc::make_mut(page),
            None => {
                self.pages.push(Arc::default());
                match self.pages.last_mut() {
                    Some(page) => Arc::make_mut(page),
                    None => return,
                }
            }
        };
        match place {
            Ok(n) => page.replace(n..n + 1, &spelled),
            Err(n) => {
                page.replace(n..n, &spelled);
                self.len += 1;
            }
        }
        if page.ends.len() > FULL {
            let rest = page.split_off(FULL / 2);
            self.pages.insert(at + 1, Arc::new(rest));
        }
    }

    fn remove(&mut self, id: &DocumentId) {
        let (at, Ok(n)) = self.find(id.as_str()) else {
            return;
        };
        let page = Arc::make_mut(&mut self.pages[at]);
        page.replace(n..n + 1, &Default::default());
        self.len -= 1;
        if page.ends.is_empty() {
            self.pages.remove(at);
        }
    }

    /// Returns the page of an id, and its index there, or the index at which it would be inserted.
    fn find(&self, id: &str) -> (usize, Result<usize, usize>) {
        let after = self.pages.partition_point(|page| json_order(page.id(0), id).is_le());
        let at = after.saturating_sub(1);
        let place = self.pages.get(at).map_or(Err(0), |page| page.find(id));
        (at, place)
    }
}

impl Page {
    fn range(&self, text: usize, entries: Range<usize>) -> Range<usize> {
        let end_of = |n: usize| n.checked_sub(1).map_or(0, |n| self.ends[n][text] as usize);
        end_of(entries.start)..end_of(entries.end)
    }

    fn id(&self, n: usize) -> &str {
        let id = &self.texts[IDS][self.range(IDS, n..n + 1)];
        std::str::from_utf8(id).unwrap_or_default()
    }

    fn find(&self, id: &str) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            match json_order(self.id(middle), id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// Replaces at most one entry by one entry, or by none if `spelled` is empty.
    fn replace(&mut self, entries: Range<usize>, spelled: &[Vec<u8>; TEXTS]) {
        let mut ends = [0; TEXTS];
        for text in 0..TEXTS {
            let place = self.range(text, entries.clone());
            let (old, new) = (place.len(), spelled[text].len());
            ends[text] = short(place.start + new);
            for end in &mut self.ends[entries.end..] {
                end[text] = short(end[text] as usize + new - old);
            }
            match old == new {
                true => self.texts[text][place].copy_from_slice(&spelled[text]),
                false => drop(self.texts[text].splice(place, spelled[text].iter().copied())),
            }
        }
        let ends = (!spelled[IDS].is_empty()).then_some(ends);
        self.ends.splice(entries, ends);
    }

    /// Keeps the first `n` entries, and returns the rest.
    fn split_off(&mut self, n: usize) -> Self {
        let starts = self.ends[n - 1];
        let mut rest = Self { ends: self.ends.split_off(n), texts: Default::default() };
        for text in 0..TEXTS {
            rest.texts[text] = self.texts[text].split_off(starts[text] as usize);
            rest.ends.iter_mut().for_each(|end| end[text] -= starts[text]);
        }
        rest
    }
}

/// Converts an offset in a page, which is small because ids have at most 512 bytes.
fn short(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// Returns the entries of an artifact in the three texts.
fn spell(id: &DocumentId, mark: Mark) -> [Vec<u8>; TEXTS] {
    let mut texts = [id.as_str().as_bytes().to_vec(), Vec::new(), Vec::new()];
    let key = |out: &mut Vec<u8>| {
        out.reserve(id.as_str().len() + Digest::TEXT_LENGTH + 8);
        out.put(b",");
        write_string(out, id.as_str());
        out.put(b":");
    };
    if let Some(version) = mark.version {
        key(&mut texts[VERSIONS]);
        write_number(&mut texts[VERSIONS], version.0);
    }
    if let Some(hash) = mark.chain_hash {
        let out = &mut texts[CHAIN_HASHES];
        key(out);
        out.put(b"\"");
        hash.write_to(out);
        out.put(b"\"");
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::checkpoint::state::PublishedSet;
    use crate::values::model::number::{CheckpointNumber, Version};
    use proptest::prelude::*;

    fn checkpoint(
        number: u64,
        set: Vec<(DocumentId, Mark)>,
        removed: Vec<DocumentId>,
    ) -> Checkpoint {
        let at = "2026-11-21T20:06:06.689Z".parse().unwrap();
        let hash = Digest::of(&number.to_le_bytes());
        Checkpoint {
            number: CheckpointNumber(number),
            at,
            triggered_by: "x".parse().unwrap(),
            hash,
            set,
            removed,
            // A bound change log, which is sometimes removed.
            bound: vec![(
                format!(".context/audit/{:032x}.jsonl", number % 3).parse().unwrap(),
                (!number.is_multiple_of(5)).then(|| Mark::new(Version(number), hash)),
            )],
            merged: None,
        }
    }

    fn check(checkpoints: &[Checkpoint]) {
        let checkpoints: Vec<&Checkpoint> = checkpoints.iter().collect();
        let (mut state, mut previous) = (PublishedSet::default(), None);
        let simple: Vec<Digest> = checkpoints
            .iter()
            .map(|checkpoint| {
                checkpoint.apply(&mut state);
                let before = previous.replace(&checkpoint.hash);
                state.hash(before, checkpoint.number, checkpoint.at, "x")
            })
            .collect();
        let compared = compare_until(None, &checkpoints, usize::MAX);
        let expected: Vec<(usize, Digest)> = simple.into_iter().enumerate().collect();
        assert_eq!((compared.faults, compared.end), (expected, None));
    }

    fn change() -> impl Strategy<Value = (usize, u8, u64)> {
        (0..60usize, 0..8u8, prop_oneof![1..20u64, Just(1 << 40)])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn maps_hash_like_the_published_set_at_each_checkpoint(
            ids in prop::collection::vec("[a-z\"é\u{e000}\u{fffd}😀日]{1,3}", 60),
            events in prop::collection::vec(prop::collection::vec(change(), 0..20), 1..150),
        ) {
            let ids: Vec<Option<DocumentId>> = ids.iter().map(|id| id.parse().ok()).collect();
            let mut all = Vec::new();
            for (n, event) in events.iter().enumerate() {
                let (mut set, mut removed) = (Vec::new(), Vec::new());
                for (id, kind, version) in event {
                    let Some(id) = ids[*id].clone() else { continue };
                    let chain_hash = Some(Digest::of(&[*kind]));
                    let version = Some(Version(*version));
                    match kind {
                        0 | 1 => removed.push(id),
                        2 => set.push((id, Mark { version, chain_hash: None })),
                        3 => set.push((id, Mark { version: None, chain_hash })),
                        _ => set.push((id, Mark { version, chain_hash })),
                    }
                }
                all.push(checkpoint(n as u64 + 1, set, removed));
            }
            check(&all);
        }
    }

    #[test]
    fn compare_stops_after_many_wrong_hashes() {
        let id: DocumentId = "a".parse().unwrap();
        let mark = Mark::new(Version(1), Digest::of(b""));
        let all: Vec<Checkpoint> =
            (1..1000).map(|n| checkpoint(n, vec![(id.clone(), mark)], vec![])).collect();
        let all: Vec<&Checkpoint> = all.iter().collect();
        let compared = compare(&all, &|_| true);
        assert!(compared.faults.len() > MOST_FAULTY && compared.end < Some(300), "{compared:?}");
        assert_eq!(first_fault(&all), Some(0));
    }

    #[test]
    fn compare_limits_the_work_for_a_log_without_histories() {
        let ids = (0..60_000).map(|n: u32| format!("{n:0500}").parse().unwrap());
        let set: Vec<(DocumentId, Mark)> =
            ids.map(|id| (id, Mark::new(Version(1), Digest::of(b"")))).collect();
        let mut all = vec![checkpoint(1, set.clone(), vec![])];
        all.extend((2..100).map(|n| checkpoint(n, vec![set[0].clone()], vec![])));
        let all: Vec<&Checkpoint> = all.iter().collect();
        // 60,000 ids of 500 bytes, twice, and as many hashes.
        let each = 60_000 * (1000 + Digest::TEXT_LENGTH as u64);
        assert_eq!(affordable(&all, UNBACKED, &|_| false) as u64, UNBACKED / each);
        assert_eq!(affordable(&all, UNBACKED, &|_| true), all.len());
        assert_eq!(affordable(&all, UNBACKED, &|id| *id != set[7].0) as u64, UNBACKED / each);
    }

    #[test]
    fn maps_of_many_pages_can_grow_and_shrink() {
        let id =
            |n: u64| format!("nodes/{:x}", n.wrapping_mul(0x9e37_79b9) % 5_000).parse().unwrap();
        let mark = |n: u64| Mark::new(Version(n), Digest::of(&n.to_le_bytes()));
        let mut all = vec![checkpoint(1, (1..700).map(|n| (id(n), mark(n))).collect(), vec![])];
        for n in 2..40 {
            let set = (n * 40..n * 40 + 50).map(|n| (id(n), mark(n))).collect();
            all.push(checkpoint(n, set, (n * 9..n * 9 + 30).map(id).collect()));
        }
        all.push(checkpoint(40, vec![], (0..5_000).map(id).collect()));
        all.push(checkpoint(41, vec![(id(3), mark(3))], vec![]));
        check(&all);
    }
}
