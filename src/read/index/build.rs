//! Builds an index, and updates it with the log.
//!
//! New checkpoints become a new segment. Small segments at the end are merged, so that there are
//! few of them for any number of publications. One process writes at a time; a concurrent process
//! proceeds without the index.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use rayon::prelude::*;

use super::Index;
use super::manifest::{LogEnd, Lost, Manifest, SEGMENT, cache, rename, segment_name};
use super::row::{Contents, Metadata, Row};
use super::segment::{self, Lived, NEVER, Parts, Segment};
use crate::files::vault::Vault;
use crate::policy::in_force::Sealings;
use crate::record::chain::error::ChainError;
use crate::record::chain::replay;
use crate::record::chain::vouched;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::event::{Checkpoint, Event};
use crate::record::checkpoint::fault::Damaged;
use crate::record::checkpoint::maps;
use crate::record::checkpoint::record::Searched;
use crate::text::document::obsidian::Additions;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};

/// A segment is merged with the previous one unless that is this many times as long.
const RATIO: u32 = 4;
/// Maximum number of map entries that are hashed to check past checkpoints one by one, which takes
/// some seconds. Beyond this limit only the head is checked, and the log answers for the past.
const AFFORDABLE: u64 = 20_000_000;
/// Number of documents that are read at once.
const BATCH: usize = 4096;

/// Builds the index of a log, or updates the existing one. Returns `None` if another process is
/// writing it, the cache cannot be written, or the log has an entry in only one map. `at_work`
/// receives the number of documents read and their total.
pub(crate) fn refresh(
    dir: &Path,
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    at_work: &mut dyn FnMut(usize, usize),
) -> Option<Index> {
    let _lock = lock(dir).ok()??;
    let end = end_of(chronicle)?;
    let known = Index::read(dir);
    if known.as_ref().is_some_and(|index| index.manifest.is_of(vault)) {
        // Another process was faster.
        return known;
    }
    let known = known.filter(|index| {
        let hash = chronicle.checkpoint(index.head()).ok().map(|c| c.hash);
        index.log_form() == end.form && hash == Some(index.head_hash())
    });
    // Another process wrote the log, so its past is checked again.
    let checked_from = check_all(chronicle, &end)?;
    let judge = Sealings::new(Searched::new(chronicle.checkpoints().to_vec()));
    let of = Of { dir, vault, end: &end, checked_from, judge: &judge };
    let manifest = match known {
        Some(index) => bring_up(&of, &index, chronicle, at_work),
        None => build(&of, chronicle, at_work),
    }?;
    install(dir, &manifest).ok()?;
    Index::open(dir, vault)
}

/// Returns the end of the log that a chronicle was read from.
fn end_of(chronicle: &Chronicle<'_>) -> Option<LogEnd> {
    let (head, (form, stamp, hash_at)) = (chronicle.head()?, chronicle.end()?);
    Some(LogEnd { form, stamp, head: head.number, hash: head.hash, hash_at })
}

/// Updates the index with a checkpoint that was just appended, under the writers' lock. `log` is
/// the log before it. Does nothing if the index belongs to another log, or another process is
/// writing it; the next reader catches up.
///
/// # Errors
/// Fails if the index cannot be read or written; the next reader builds it again.
pub(crate) fn follow(
    dir: &Path,
    vault: &Vault,
    log: &Chronicle<'_>,
    checkpoint: &Checkpoint,
    judge: &Sealings<'_>,
) -> io::Result<()> {
    let Some(_lock) = lock(dir)? else { return Ok(()) };
    let of_before = |end: LogEnd| {
        let index = Index::read(dir).filter(|index| index.manifest.stamp == end.stamp)?;
        Some((end, index))
    };
    let Some((before, index)) = end_of(log).and_then(of_before) else { return Ok(()) };
    let Some(end) = end_after(vault, &index, &before, checkpoint) else { return Ok(()) };
    let checked_from = index.manifest.checked_from;
    let of = Of { dir, vault, end: &end, checked_from, judge };
    let appended = append(&of, &index, &[checkpoint], &mut |_, _| ());
    let manifest = appended.ok_or_else(|| io::Error::other("the index is damaged"))?;
    install(dir, &manifest)
}

/// Returns the end of the log after one more checkpoint; `None` if its file is not as expected.
fn end_after(
    vault: &Vault,
    index: &Index,
    before: &LogEnd,
    checkpoint: &Checkpoint,
) -> Option<LogEnd> {
    let log = index.manifest.log_of(vault)?;
    let stamp = vault.files().stamp(log).ok()?;
    let added = usize::try_from(stamp.length.checked_sub(before.stamp.length)?).ok()?;
    let tail = vault.files().read_at(log, before.stamp.length, added).ok()?;
    let hash = checkpoint.hash.to_string();
    let at = tail.windows(hash.len()).position(|window| window == hash.as_bytes())?;
    let hash_at = before.stamp.length + at as u64;
    let (form, head) = (before.form, checkpoint.number);
    Some(LogEnd { form, stamp, head, hash: checkpoint.hash, hash_at })
}

/// Takes the lock of the folder; `None` if another process holds it, or other users can
/// write there.
pub(super) fn lock(dir: &Path) -> io::Result<Option<File>> {
    let cache = cache(dir);
    if cache.make_private() { cache.lock(Duration::ZERO) } else { Ok(None) }
}

/// Makes the manifest the current one, and removes segments that it does not name.
fn install(dir: &Path, manifest: &Manifest) -> io::Result<()> {
    let cache = cache(dir);
    cache.exchange(manifest)?;
    let is_segment = |name: &str| name.contains(SEGMENT);
    cache.clear(|name| is_segment(name) && !manifest.segments.iter().any(|kept| kept == name));
    Ok(())
}

/// Inputs of an index.
struct Of<'o> {
    dir: &'o Path,
    vault: &'o Vault,
    end: &'o LogEnd,
    checked_from: CheckpointNumber,
    judge: &'o Sealings<'o>,
}

/// Maximum number of unapproved removals that an index records. Beyond it, the log answers.
const MAX_LOST: usize = 256;

impl Of<'_> {
    /// Returns the manifest of these segments. `new` are the checkpoints after those of `known`.
    fn manifest(
        &self,
        segments: Vec<String>,
        (mut lost, new): (Vec<Lost>, &[&Checkpoint]),
    ) -> Option<Manifest> {
        let files = self.vault.files();
        for checkpoint in new {
            let number = u32::try_from(checkpoint.number.0).ok()?;
            let is_lost =
                |id: &&DocumentId| self.judge.removal_by(files, id, checkpoint.number).is_some();
            let removed = checkpoint.removed.iter().filter(is_lost);
            lost.extend(removed.map(|id| (number, id.as_str().to_owned())));
        }
        let is_kept = lost.len() <= MAX_LOST;
        is_kept.then(|| Manifest::new(self.end, self.checked_from, segments, lost))
    }
}

/// Builds a whole index of one segment.
fn build(
    of: &Of<'_>,
    chronicle: &Chronicle<'_>,
    at_work: &mut dyn FnMut(usize, usize),
) -> Option<Manifest> {
    let rows = Rows::of(chronicle.checkpoints(), |_| Ok(None)).ok()?;
    let name = write(of, 0, chronicle.checkpoints(), rows, at_work)?;
    of.manifest(vec![name], (Vec::new(), chronicle.checkpoints()))
}

/// Recomputes the hashes of all checkpoints, and returns the first one from which on they were
/// recomputed. Beyond [`AFFORDABLE`], only the head is checked. Returns `None` if a hash does
/// not match.
fn check_all(chronicle: &Chronicle<'_>, end: &LogEnd) -> Option<CheckpointNumber> {
    let (mut size, mut work) = (0u64, 0u64);
    for checkpoint in chronicle.checkpoints() {
        size += checkpoint.set.len() as u64;
        work = work.saturating_add(size);
    }
    if work > AFFORDABLE {
        return chronicle.state_at(end.head).ok().map(|_| end.head);
    }
    match maps::first_fault(chronicle.checkpoints()) {
        Some(_) => None,
        None => Some(CheckpointNumber::FIRST),
    }
}

/// Updates the index with the new checkpoints of the log.
fn bring_up(
    of: &Of<'_>,
    index: &Index,
    chronicle: &Chronicle<'_>,
    at_work: &mut dyn FnMut(usize, usize),
) -> Option<Manifest> {
    let new = chronicle.checkpoints().get(usize::try_from(index.head().0).ok()?..)?;
    if new.is_empty() {
        return of.manifest(index.manifest.segments.clone(), (index.manifest.lost.clone(), new));
    }
    append(of, index, new, at_work)
}

/// Appends a segment, merged with previous ones that are not much longer.
fn append(
    of: &Of<'_>,
    index: &Index,
    new: &[&Checkpoint],
    at_work: &mut dyn FnMut(usize, usize),
) -> Option<Manifest> {
    let rows = Rows::of(new, |id| last_row(index, id)).ok()?;
    let name = write(of, index.end(), new, rows, at_work)?;
    let mut segments = index.manifest.segments.clone();
    segments.push(name);
    let opened = segments.iter().map(|name| Segment::open(&of.dir.join(name)));
    let mut opened: Vec<Segment> = opened.collect::<io::Result<_>>().ok()?;
    let mut first = opened.len() - 1;
    let length = |segments: &[Segment]| segments.iter().map(|s| s.rows().len()).sum::<usize>();
    while first > 0 && length(&opened[first - 1..first]) < RATIO as usize * length(&opened[first..])
    {
        first -= 1;
    }
    if first + 1 < opened.len() {
        let merged = merge(of.dir, &opened.split_off(first), &of.end.hash)?;
        segments.truncate(first);
        segments.push(merged);
    }
    of.manifest(segments, (index.manifest.lost.clone(), new))
}

/// The newest row of an id in an index: its number, its version, the first checkpoint that sealed
/// that version, and true if it has not ended.
struct Last {
    row: u32,
    version: Version,
    chain_hash: [u8; 32],
    sealed: CheckpointNumber,
    lives: bool,
}

impl Last {
    fn seal(&self) -> (Version, [u8; 32], CheckpointNumber) {
        (self.version, self.chain_hash, self.sealed)
    }
}

fn last_row(index: &Index, id: &DocumentId) -> Result<Option<Last>, Damaged> {
    let mut last: Option<(u32, u32, u32)> = None;
    for segment in &index.segments {
        for row in segment.rows_of(id.as_str())? {
            let (born, ended) = index.life(row)?;
            if last.is_none_or(|(_, before, _)| before < born) {
                last = Some((row, born, ended));
            }
        }
    }
    let Some((row, _, ended)) = last else { return Ok(None) };
    let Row { version, chain_hash, sealed, .. } = index.row(row)?;
    Ok(Some(Last { row, version, chain_hash, sealed, lives: ended == NEVER }))
}

/// A version that some checkpoints sealed, without its text.
struct SealedRow {
    version: Version,
    chain_hash: Digest,
    sealed: CheckpointNumber,
    born: u32,
    ended: u32,
}

/// Changes by some checkpoints: new versions of each artifact, and ends of old rows.
struct Rows<'c> {
    new: BTreeMap<&'c DocumentId, Vec<SealedRow>>,
    endings: BTreeMap<u32, u32>,
}

impl<'c> Rows<'c> {
    /// Collects the changes of the checkpoints; `last` returns the row before them. Fails if an
    /// entry is in only one map, or has a number that is too large.
    fn of(
        checkpoints: &[&'c Checkpoint],
        last: impl Fn(&DocumentId) -> Result<Option<Last>, Damaged>,
    ) -> Result<Self, Damaged> {
        let (mut new, mut endings) =
            (BTreeMap::<&DocumentId, Vec<SealedRow>>::new(), BTreeMap::new());
        let mut before: HashMap<&DocumentId, Option<Last>> = HashMap::new();
        for checkpoint in checkpoints {
            let number = u32::try_from(checkpoint.number.0).map_err(|_| Damaged)?;
            for id in checkpoint.set.iter().map(|(id, _)| id).chain(&checkpoint.removed) {
                if let Some(open) = new.get_mut(id).and_then(|all| all.last_mut()) {
                    if open.ended == NEVER {
                        open.ended = number;
                    }
                } else {
                    let last = last(id)?;
                    endings.extend(last.iter().filter(|l| l.lives).map(|l| (l.row, number)));
                    before.insert(id, last);
                }
            }
            for (id, mark) in &checkpoint.set {
                let (version, chain_hash) = mark.sealed().ok_or(Damaged)?;
                let versions = new.entry(id).or_default();
                // The reference implementation may drop an id and seal the same version again.
                let known = match versions.last() {
                    Some(last) => Some((last.version, *last.chain_hash.bytes(), last.sealed)),
                    None => before.get(id).and_then(Option::as_ref).map(Last::seal),
                };
                let again = known
                    .filter(|(known, hash, _)| *known == version && hash == chain_hash.bytes());
                let sealed = again.map_or(checkpoint.number, |(_, _, sealed)| sealed);
                versions.push(SealedRow {
                    version,
                    chain_hash,
                    sealed,
                    born: number,
                    ended: NEVER,
                });
            }
        }
        Ok(Self { new, endings })
    }
}

/// Writes the segment of some checkpoints. Reads and verifies every text that they sealed.
fn write(
    of: &Of<'_>,
    first_row: u32,
    checkpoints: &[&Checkpoint],
    rows: Rows<'_>,
    at_work: &mut dyn FnMut(usize, usize),
) -> Option<String> {
    let (first, last) = (checkpoints.first()?, checkpoints.last()?);
    let events: Vec<Event> = checkpoints.iter().map(|c| Event::from(*c)).collect();
    let name = segment_name(first.number, last.number, &last.hash);
    let parts = Parts {
        first_row,
        first_checkpoint: first.number,
        checkpoints: &events,
        endings: &rows.endings,
    };
    let artifacts: Vec<(&DocumentId, Vec<SealedRow>)> = rows.new.into_iter().collect();
    let (mut done, all) = (0, artifacts.len());
    let read = artifacts.chunks(BATCH).flat_map(|batch| {
        at_work(done, all);
        done += batch.len();
        let read = batch.par_iter().map(|(id, versions)| lived(of, id, versions));
        read.collect::<Vec<Vec<Lived>>>()
    });
    create(of.dir, &name, &parts, read.flatten().map(Ok))
}

/// Writes a segment under a temporary name first, so that a segment name always means a
/// complete file.
fn create(
    dir: &Path,
    name: &str,
    parts: &Parts<'_>,
    rows: impl Iterator<Item = Result<Lived, Damaged>>,
) -> Option<String> {
    let new = dir.join(format!("{name}.new"));
    let _ = fs::remove_file(&new);
    segment::write(&new, parts, rows).ok()?;
    rename(&new, &dir.join(name)).ok()?;
    Some(name.to_owned())
}

/// Returns the rows of one artifact.
fn lived(of: &Of<'_>, id: &DocumentId, versions: &[SealedRow]) -> Vec<Lived> {
    let files = of.vault.files();
    let is_read = id.is_document() || of.judge.in_force(files).was_governed();
    let history = is_read.then(|| replay::load(files, id));
    let contents = |sealed: &SealedRow| {
        let read = |history: &Result<_, ChainError>| {
            let history = history.as_ref().ok()?;
            let (version, hash) = (sealed.version, &sealed.chain_hash);
            if of.judge.version(files, (id, history), (version, hash)).is_some() {
                return None;
            }
            if !id.is_document() {
                return Some(Contents::Governance);
            }
            let read = vouched::sealed(files, id, history, version, hash).ok()?;
            let document = read.document.as_ref()?;
            let metadata = Metadata::of(id, &read.text, document);
            let body = &read.text[document.parts.body..];
            let additions = Additions::of(&document.frontmatter, body);
            Some(Contents::Document(Box::new((metadata, additions))))
        };
        match &history {
            None => Contents::Governance,
            Some(history) => read(history).unwrap_or(match id.is_document() {
                true => Contents::Unreadable,
                false => Contents::Unapproved,
            }),
        }
    };
    let row = |sealed: &SealedRow| Lived {
        row: Row {
            id: id.as_str().to_owned(),
            version: sealed.version,
            chain_hash: *sealed.chain_hash.bytes(),
            sealed: sealed.sealed,
            contents: contents(sealed),
        },
        born: sealed.born,
        ended: sealed.ended,
    };
    versions.iter().map(row).collect()
}

/// Merges consecutive segments into one.
fn merge(dir: &Path, segments: &[Segment], hash: &Digest) -> Option<String> {
    let (first, last) = (segments.first()?, segments.last()?);
    let numbers = first.checkpoints().start..last.checkpoints().end;
    let events = segments.iter().flat_map(Segment::events);
    let events: Vec<Event> = events.collect::<Result<_, Damaged>>().ok()?;
    let mut endings = BTreeMap::new();
    for segment in segments {
        endings.extend(segment.endings().ok()?);
    }
    let earlier = endings.split_off(&first.rows().start);
    let (endings, within) = (endings, earlier);
    let mut sources: Vec<_> =
        segments.iter().map(|s| OldRows::new(s, &within).peekable()).collect();
    let rows = std::iter::from_fn(|| {
        // Ordered by id and then by age; segments are in the order of age.
        let key = |source: &mut std::iter::Peekable<OldRows<'_>>| match source.peek()? {
            Ok(lived) => Some(lived.row.id.clone()),
            Err(Damaged) => Some(String::new()),
        };
        let keys: Vec<Option<String>> = sources.iter_mut().map(key).collect();
        let least =
            keys.iter().enumerate().filter_map(|(n, key)| Some((key.as_ref()?, n))).min()?;
        sources.get_mut(least.1)?.next()
    });
    let name = segment_name(numbers.start, numbers.end.previous(), hash);
    let parts = Parts {
        first_row: first.rows().start,
        first_checkpoint: numbers.start,
        checkpoints: &events,
        endings: &endings,
    };
    create(dir, &name, &parts, rows)
}

/// Rows of one segment, with the ends that later segments record.
struct OldRows<'s> {
    segment: &'s Segment,
    left: Range<u32>,
    within: &'s BTreeMap<u32, u32>,
}

impl<'s> OldRows<'s> {
    fn new(segment: &'s Segment, within: &'s BTreeMap<u32, u32>) -> Self {
        Self { segment, left: segment.rows(), within }
    }
}

impl Iterator for OldRows<'_> {
    type Item = Result<Lived, Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.left.next()?;
        let read = || {
            let (born, ended) = self.segment.life(number)?;
            let ended = self.within.get(&number).copied().unwrap_or(ended);
            Ok(Lived { row: self.segment.row(number)?, born, ended })
        };
        Some(read())
    }
}
