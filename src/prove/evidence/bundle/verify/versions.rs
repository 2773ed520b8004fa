//! Checks the versions of a bundle: each text is rebuilt from its part of a history, and every hash
//! on the way is recomputed. The maps of checkpoints must contain the version (EVID-20).

use std::collections::{BTreeMap, BTreeSet};

use super::super::manifest::{Manifest, VersionRef, chain_path, keyframe_path, text_path};
use super::super::segment::Segment;
use super::histories::Part;
use super::log::Log;
use super::reviews::{Chains, Review, Run, of_review};
use super::{Files, Item, Judged, Kind, Verdict, contradicted, not_proved};
use crate::policy::rules::Reviewed;
use crate::record::chain::history::{Entry, EntryState, TextStorage};
use crate::record::chain::replay::Replay;
use crate::record::chain::vouched::self_described;
use crate::record::checkpoint::state::Mark;
use crate::record::staging::StagedName;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;

/// Versions of a bundle, and the items about them.
#[derive(Debug, Default)]
pub(super) struct Versions {
    pub(super) items: Vec<Item>,
    /// Entry of each version; `None` if the version is not proved.
    entries: Vec<Option<Entry>>,
    /// Review of each version.
    reviews: Vec<Review>,
    /// Verdict for each version at each of its checkpoints.
    sealed: BTreeMap<(usize, u64), Verdict>,
    chains: Chains,
}

/// Entry of a version that a chain must prove.
type Found = Result<Entry, (Verdict, String)>;

impl Versions {
    pub(super) fn read(manifest: &Manifest, files: &Files<'_>, log: &Log) -> Self {
        let mut by_chain: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (n, version) in manifest.versions.iter().enumerate() {
            by_chain.entry(version.chain).or_default().push(n);
        }
        let mut found: BTreeMap<usize, Found> = BTreeMap::new();
        let mut chains = Chains::default();
        for (chain, wanted) in by_chain {
            found.extend(read_chain(manifest, files, &mut chains, (chain, &wanted)));
        }
        let mut versions = Self::default();
        let mut sealed = Vec::new();
        for (n, version) in manifest.versions.iter().enumerate() {
            let entry = found.remove(&n).unwrap_or_else(|| contradicted("its chain is missing"));
            let name = format!("{} v{}", version.id, version.version);
            for checkpoint in &version.checkpoints {
                let judged = judge_sealed(log, version, &entry, *checkpoint);
                let item = Item::new(Kind::Sealed, format!("{name} at {checkpoint}"), judged);
                versions.sealed.insert((n + 1, *checkpoint), item.verdict);
                sealed.push(item);
            }
            let judged = entry.as_ref().map(|_| ()).map_err(Clone::clone);
            versions.items.push(Item::new(Kind::Version, name, judged));
            let entry = entry.ok();
            versions.reviews.push(match &entry {
                Some(entry) => review(files, &chains, (n + 1, &version.id), entry),
                None => not_proved("the version is not proved"),
            });
            versions.entries.push(entry);
        }
        versions.items.extend(sealed);
        versions.items.extend(lacking(manifest, log));
        let history = versions.history(manifest, log, &chains);
        versions.items.extend(history);
        Self { chains, ..versions }
    }

    /// Returns the item that no checkpoint before the first one of the bundle set a version of the
    /// document; `None` for other scopes.
    fn history(&self, manifest: &Manifest, log: &Log, chains: &Chains) -> Option<Item> {
        let first = log.first_published(manifest)?;
        let (_, name) = manifest.scope.parts();
        let judged = || {
            let Some(first) = first else {
                return not_proved("no checkpoint of the bundle sets a version of it");
            };
            let is_it = |version: &VersionRef| version.id == name && version.version == first;
            let places = manifest.versions.iter().zip(&self.entries);
            let entry =
                places.filter(|(version, _)| is_it(version)).find_map(|(_, entry)| entry.as_ref());
            match (entry, name.parse()) {
                (Some(entry), Ok(id)) => chains.begin_with(&id, entry),
                _ => not_proved(format!("version {first} is not proved")),
            }
        };
        Some(Item::new(Kind::History, name, judged()))
    }

    /// Returns the chains of the bundle, as far as their entries are proved.
    pub(super) fn parts(&self) -> &[Part] {
        &self.chains.parts
    }

    /// Returns the versions of a document up to one that name a staged entry as their origin. The
    /// result is empty if `version`, counted from 1, is not proved.
    pub(super) fn promoted(&self, id: &DocumentId, version: usize, name: &StagedName) -> Run {
        self.entry(version).map(|last| self.chains.run(id, last, name)).unwrap_or_default()
    }

    /// Returns the entry of a version, counted from 1; `None` if it is not proved.
    pub(super) fn entry(&self, version: usize) -> Option<&Entry> {
        self.entries.get(version.checked_sub(1)?)?.as_ref()
    }

    /// Returns the review of a version, counted from 1; `None` if no review published it.
    pub(super) fn review(&self, version: usize) -> Result<Option<&Reviewed>, (Verdict, String)> {
        match version.checked_sub(1).and_then(|at| self.reviews.get(at)) {
            Some(Ok(review)) => Ok(review.as_ref()),
            Some(Err(why)) => Err(why.clone()),
            None => not_proved("the version is not proved"),
        }
    }

    /// Returns the verdict about a version, counted from 1, at a checkpoint.
    pub(super) fn sealed(&self, version: usize, checkpoint: u64) -> Option<Verdict> {
        self.sealed.get(&(version, checkpoint)).copied()
    }
}

/// Returns an item for each version that the checkpoints require and the bundle lacks.
fn lacking(manifest: &Manifest, log: &Log) -> Vec<Item> {
    let of = |version: &VersionRef, at: &u64| (*at, version.id.clone(), version.version);
    let versions = manifest.versions.iter();
    let has: BTreeSet<(u64, String, u64)> =
        versions.flat_map(|version| version.checkpoints.iter().map(|at| of(version, at))).collect();
    let item = |(at, id, version): (u64, String, u64)| {
        let why = "the checkpoint contains it, but the bundle does not";
        Item::new(Kind::Sealed, format!("{id} v{version} at {at}"), not_proved(why))
    };
    log.promised(manifest).into_iter().filter(|one| !has.contains(one)).map(item).collect()
}

fn judge_sealed(log: &Log, version: &VersionRef, entry: &Found, checkpoint: u64) -> Judged {
    if log.recorded(checkpoint).is_some() {
        let mark = log.mark(checkpoint, &version.id);
        let Some((number, chain_hash)) = mark.and_then(Mark::sealed) else {
            return contradicted(format!("checkpoint {checkpoint} does not contain it"));
        };
        if number.0 != version.version {
            return contradicted(format!("checkpoint {checkpoint} contains version {number}"));
        }
        if entry.as_ref().is_ok_and(|entry| entry.chain_hash != chain_hash) {
            return contradicted(format!("checkpoint {checkpoint} has chain hash {chain_hash}"));
        }
    }
    log.at(checkpoint)?;
    match entry {
        Ok(_) => Ok(()),
        Err(_) => not_proved("the version is not proved"),
    }
}

/// Returns the review of a proved version.
fn review(files: &Files<'_>, chains: &Chains, (n, id): (usize, &str), entry: &Entry) -> Review {
    let text = files.get(&text_path(n))?;
    match id.parse::<DocumentId>() {
        Ok(id) => chains.review(&id, entry, &String::from_utf8_lossy(text)),
        Err(why) => not_proved(why.to_string()),
    }
}

/// Returns the entries that a chain proves, for each version that is built from it.
fn read_chain(
    manifest: &Manifest,
    files: &Files<'_>,
    chains: &mut Chains,
    (chain, wanted): (usize, &[usize]),
) -> Vec<(usize, Found)> {
    match rebuilt(manifest, files, chains, (chain, wanted)) {
        Ok(found) => found,
        Err(why) => wanted.iter().map(|n| (*n, Err(why.clone()))).collect(),
    }
}

fn rebuilt(
    manifest: &Manifest,
    files: &Files<'_>,
    chains: &mut Chains,
    (chain, wanted): (usize, &[usize]),
) -> Result<Vec<(usize, Found)>, (Verdict, String)> {
    let segment = files.get(&chain_path(chain))?;
    let keyframe = files.get(&keyframe_path(chain))?;
    let malformed = || (Verdict::Contradicted, format!("`{}` is malformed", chain_path(chain)));
    let segment = Segment::read(segment).ok_or_else(malformed)?;
    if keyframe.len() as u64 > limit::DOCUMENT {
        return contradicted(format!("`{}` is too large", keyframe_path(chain)));
    }
    let (id, previous, entries) = segment.entries().ok_or_else(malformed)?;
    let mut replay = Replay::of_keyframe(keyframe, &id, previous);
    let mut left: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    wanted.iter().for_each(|n| left.entry(manifest.versions[*n].version).or_default().push(*n));
    let (mut found, mut fault) = (Vec::new(), None);
    let (mut proved, mut part) = (Vec::new(), Vec::new());
    for entry in entries {
        let number = entry.version;
        if fault.is_none() {
            fault = step(&mut replay, &entry, id.is_document());
        }
        let text = replay.text().unwrap_or_default();
        if fault.is_none() {
            proved.push(of_review(&id, &entry, text));
            part.push(entry.clone());
        }
        let Some(places) = left.remove(&number.0) else { continue };
        let is_sealed = places.iter().any(|n| !manifest.versions[*n].checkpoints.is_empty());
        // Judged once for all places: a manifest may name a version many times.
        let described = match &fault {
            Some(why) => contradicted(format!("version {why}")),
            None => describes_itself(&id, &entry, text, is_sealed),
        };
        for n in places {
            let judged = match &described {
                Ok(()) if manifest.versions[n].id != id.as_str() => {
                    contradicted(format!("`{}` belongs to another document", chain_path(chain)))
                }
                Ok(()) => same_text(files, n + 1, text),
                Err(why) => Err(why.clone()),
            };
            found.push((n, judged.map(|()| entry.clone())));
        }
    }
    chains.add(&id, previous, proved);
    chains.parts.push(Part { chain, id: id.clone(), previous, entries: part });
    let lacks = || contradicted(format!("`{}` has no such version", chain_path(chain)));
    found.extend(left.into_values().flatten().map(|n| (n, lacks())));
    Ok(found)
}

/// Checks that the fields of a text match its entry. If no checkpoint must seal the version, it may
/// be a step of a review.
fn describes_itself(id: &DocumentId, entry: &Entry, text: &str, is_sealed: bool) -> Judged {
    let step = Entry { state: EntryState::Unpublished, ..entry.clone() };
    match self_described(id, entry, text) {
        Err(_) if !is_sealed && self_described(id, &step, text).is_ok() => Ok(()),
        Err(why) => contradicted(why.to_string()),
        Ok(_) => Ok(()),
    }
}

/// Recomputes one entry; returns its fault.
fn step(replay: &mut Replay<'_>, entry: &Entry, is_document: bool) -> Option<String> {
    let at = |why: &dyn std::fmt::Display| Some(format!("{}: {why}", entry.version));
    if let Some(why) = replay.step(entry).first() {
        return at(why);
    }
    if !replay.is_as_written() {
        return at(&"it is not in normal form");
    }
    // A content hash covers a full text or a diff without saying which; these first bytes show it.
    let is_full = entry.stored == TextStorage::Keyframe;
    let begins = replay.text().is_some_and(|text| text.starts_with("---\n"));
    if is_document && is_full && !begins { at(&"it is not the text of a document") } else { None }
}

fn same_text(files: &Files<'_>, version: usize, text: &str) -> Judged {
    let path = text_path(version);
    match files.get(&path)? == text.as_bytes() {
        true => Ok(()),
        false => contradicted(format!("`{path}` does not match its history")),
    }
}
