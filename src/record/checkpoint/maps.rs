//! The two maps of a checkpoint as the bytes that are hashed, for a process that hashes many
//! checkpoints that follow one another.
//!
//! [`PublishedSet::hash`](super::state::PublishedSet::hash) writes both maps again each time, which
//! is right for one checkpoint. Here they are kept spelled, in pages of some entries: a change
//! costs a page, and a hash is one pass of SHA-256 over the pages. Pages are shared between a state
//! and the copies that are taken of it, so that many checkpoints are hashed at once in the memory
//! of little more than one.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::event::Checkpoint;
use super::state::{Mark, json_order, write_number, write_string};
use crate::record::chain::preimage::checkpoint_hash;
use crate::values::model::digest::{Digest, Hasher, Sink};
use crate::values::model::id::DocumentId;

/// The most entries of a page; it is halved beyond them.
const FULL: usize = 96;
/// How many checkpoints are hashed at once, and as many entries may change meanwhile as there are.
const AT_ONCE: usize = 64;

/// After so many wrong hashes the rest of a log is not recomputed: it costs an attacker nothing to
/// plant them, and each costs a reader the hashing of whole maps.
const MOST_FAULTY: usize = 100;
/// So many bytes of maps are hashed for a log that seals artifacts without a history, which no
/// writer leaves. A log that the histories back is hashed whole, whatever it costs.
const UNBACKED: u64 = 4 << 30;
/// The same for a bundle, whose histories say nothing of most artifacts: the maps of a vault of 10,000
/// documents for 20,000 events.
const BUNDLED: u64 = 32 << 30;

/// The recorded hashes of some checkpoints, compared with what follows from their maps.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// The place of each checkpoint whose hash does not follow, and the hash that would.
    pub(crate) faults: Vec<(usize, Digest)>,
    /// The place of the first checkpoint that was not compared, if one is left.
    pub(crate) end: Option<usize>,
}

/// Recomputes the hash of each checkpoint from the maps that it and all before it make, and from
/// the recorded hash of the one before it (`spec/checkpoint.md`, CKPT-13), within the bounds of
/// CKPT-20. `has_history` says whether the vault holds the history of an artifact.
pub(crate) fn compare(
    checkpoints: &[&Checkpoint],
    has_history: &dyn Fn(&DocumentId) -> bool,
) -> Compared {
    let end = affordable(checkpoints, UNBACKED, has_history);
    let compared = compare_until(None, &checkpoints[..end], MOST_FAULTY);
    Compared { end: compared.end.or((end < checkpoints.len()).then_some(end)), ..compared }
}

/// The same for checkpoints whose first sets the complete maps, and follows one that has this hash.
/// Nothing is known of the histories, so that the maps have the bound of [`BUNDLED`].
pub(crate) fn compare_after(previous: Option<&Digest>, checkpoints: &[&Checkpoint]) -> Compared {
    let end = affordable(checkpoints, BUNDLED, &|_| false);
    let compared = compare_until(previous, &checkpoints[..end], usize::MAX);
    Compared { end: (end < checkpoints.len()).then_some(end), ..compared }
}

/// The same without a bound on the work, up to the first checkpoint whose hash does not follow.
pub(crate) fn first_fault(checkpoints: &[&Checkpoint]) -> Option<usize> {
    compare_until(None, checkpoints, 0).faults.first().map(|(n, _)| *n)
}

/// How many checkpoints may be recomputed.
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
/// It uses all threads. It holds the maps once, and at most once more what changes between the
/// checkpoints that are hashed at the same time.
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

/// The maps after some checkpoint.
#[derive(Clone, Default)]
pub(crate) struct Maps {
    /// In the order of RFC 8785; none is empty.
    pages: Vec<Arc<Page>>,
    len: usize,
}

/// Entries that follow one another.
#[derive(Clone, Default)]
struct Page {
    /// Where each entry ends in the three texts.
    ends: Vec<[u32; TEXTS]>,
    /// The ids; each entry of the map of versions, with a comma before it; and of chain hashes.
    texts: [Vec<u8>; TEXTS],
}

const TEXTS: usize = 3;
const IDS: usize = 0;
const VERSIONS: usize = 1;
const CHAIN_HASHES: usize = 2;

impl Maps {
    /// Becomes the maps at the checkpoint after this one.
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

    /// The hash of a checkpoint that has these maps.
    pub(crate) fn hash(&self, previous: Option<&Digest>, checkpoint: &Checkpoint) -> Digest {
        let trigger = checkpoint.triggered_by.as_str();
        let map = |of: usize| {
            move |out: &mut Hasher| {
                out.put(b"{");
                let mut pages = self.pages.iter().map(|page| page.texts[of].as_slice());
                // Before the first entry stands no comma.
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

    /// Fills empty maps at once.
    fn fill(&mut self, set: &[(DocumentId, Mark)]) {
        let mut set: Vec<&(DocumentId, Mark)> = set.iter().collect();
        set.sort_by(|(a, _), (b, _)| json_order(a.as_str(), b.as_str()));
        // Of an id that stands there twice the last counts, as it does entry by entry.
        set.reverse();
        set.dedup_by(|(a, _), (b, _)| a == b);
        set.reverse();
        self.len = set.len();
        self.pages = set
            // Some room is left: a full page would be halved by the first new id.
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

    /// The page of an id, and its place there, or the place where it would stand.
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

    /// Puts one entry, or none if it is empty, where at most one stands.
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

    /// Keeps the first `n` entries; gives the rest.
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

/// A place in a page: ids have at most 512 bytes, so that it is a short one.
fn short(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// What stands of an artifact in the three texts.
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
            // A change log that is bound, and now and then dropped.
            bound: vec![(
                format!(".context/audit/{:032x}.jsonl", number % 3).parse().unwrap(),
                (!number.is_multiple_of(5)).then(|| Mark::new(Version(number), hash)),
            )],
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
        fn many_hashes_are_those_that_each_state_has(
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
    fn wrong_hashes_stop_the_comparison() {
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
    fn a_log_without_histories_is_hashed_within_its_bound() {
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
    fn maps_of_many_pages_grow_and_shrink() {
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
