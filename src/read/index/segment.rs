//! One immutable part of the index: some checkpoints, the versions that they sealed, and the
//! posting list of each term.
//!
//! Rows are numbered through all segments of an index; in a segment they are ordered by id and then
//! by age. A segment also records the rows of earlier segments that ended in its checkpoints, so
//! that a publication adds a file and changes none.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::path::Path;

use roaring::RoaringBitmap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::blocks::{Blocks, Writer};
use super::row::{Row, Term};
use crate::record::checkpoint::event::Event;
use crate::record::checkpoint::fault::Damaged;
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;

/// End of a row that has not ended.
pub(super) const NEVER: u32 = u32::MAX;

/// Positions of the parts of a segment in its file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Contents {
    first_row: u32,
    rows: u32,
    first_checkpoint: CheckpointNumber,
    checkpoints: u32,
    /// Starts of the records, and the end of the last one.
    records: u64,
    /// First checkpoint that contains each row.
    born: u64,
    /// First checkpoint after those that contain each row.
    ended: u64,
    times: u64,
    /// Starts of the records of events, and the end of the last one.
    events: u64,
    /// Rows of earlier segments that ended here, and the checkpoint of each.
    endings: u64,
    endings_at: u64,
    ending_count: u32,
    /// Rows of this segment and of `endings` that had ended when this was written.
    over: (u64, u64),
    terms: u64,
    term_count: u32,
}

/// A row and the checkpoints that contain it: from `born` until before `ended`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lived {
    pub(super) row: Row,
    pub(super) born: u32,
    pub(super) ended: u32,
}

/// Inputs of a segment.
pub(super) struct Parts<'p> {
    pub(super) first_row: u32,
    pub(super) first_checkpoint: CheckpointNumber,
    /// Consecutive checkpoints.
    pub(super) checkpoints: &'p [Event],
    /// Rows of earlier segments, with the checkpoint in which each ended.
    pub(super) endings: &'p BTreeMap<u32, u32>,
}

/// Writes a segment, and returns the number of its rows. The rows must be ordered by id and then
/// by age.
///
/// # Errors
/// Fails if the file cannot be written, or there are more rows than can be numbered.
pub(super) fn write(
    path: &Path,
    parts: &Parts<'_>,
    rows: impl Iterator<Item = Result<Lived, Damaged>>,
) -> io::Result<u32> {
    let mut out = Writer::create(path)?;
    let mut contents = Contents {
        first_row: parts.first_row,
        first_checkpoint: parts.first_checkpoint,
        checkpoints: narrow(parts.checkpoints.len())?,
        ending_count: narrow(parts.endings.len())?,
        ..Contents::default()
    };
    let (mut starts, mut born, mut ended) = (Vec::new(), Vec::new(), Vec::new());
    let mut over: RoaringBitmap = parts.endings.keys().copied().collect();
    let mut terms: HashMap<String, Vec<u32>> = HashMap::new();
    let mut number = parts.first_row;
    for lived in rows {
        let lived = lived.map_err(io::Error::other)?;
        starts.push(out.put(&encode(&lived.row)?)?);
        born.push(lived.born);
        ended.push(lived.ended);
        if lived.ended != NEVER {
            over.insert(number);
        }
        lived.row.terms(|term| {
            let rows = terms.entry(term.key()).or_default();
            if rows.last() != Some(&number) {
                rows.push(number);
            }
        });
        number = number.checked_add(1).ok_or_else(|| io::Error::other("too many versions"))?;
    }
    contents.rows = number - parts.first_row;
    starts.push(out.position());
    contents.records = put_all(&mut out, starts.iter().map(|start| start.to_le_bytes()))?;
    contents.born = put_all(&mut out, born.iter().map(|n| n.to_le_bytes()))?;
    contents.ended = put_all(&mut out, ended.iter().map(|n| n.to_le_bytes()))?;
    let times = parts.checkpoints.iter().map(|event| {
        let mut entry = [0; CHECKPOINT];
        entry[..8].copy_from_slice(&event.at.millis().to_le_bytes());
        entry[8..].copy_from_slice(event.hash.bytes());
        entry
    });
    contents.times = put_all(&mut out, times)?;
    let mut starts = Vec::with_capacity(parts.checkpoints.len() + 1);
    for event in parts.checkpoints {
        starts.push(out.put(&encode(&(event.set, event.removed, event.triggered_by.as_str()))?)?);
    }
    starts.push(out.position());
    contents.events = put_all(&mut out, starts.iter().map(|start| start.to_le_bytes()))?;
    contents.endings = put_all(&mut out, parts.endings.keys().map(|n| n.to_le_bytes()))?;
    contents.endings_at = put_all(&mut out, parts.endings.values().map(|n| n.to_le_bytes()))?;
    let bytes = serialize(over)?;
    contents.over = (out.put(&bytes)?, bytes.len() as u64);
    (contents.terms, contents.term_count) = put_terms(&mut out, terms)?;
    let word = out.put(&encode(&contents)?)?;
    out.finish(word)?;
    Ok(contents.rows)
}

/// Size of the time and hash of a checkpoint.
const CHECKPOINT: usize = 40;

fn put_terms(out: &mut Writer, terms: HashMap<String, Vec<u32>>) -> io::Result<(u64, u32)> {
    let mut terms: Vec<(String, Vec<u32>)> = terms.into_iter().collect();
    terms.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    let mut starts = Vec::with_capacity(terms.len() + 1);
    for (key, rows) in &terms {
        let rows: RoaringBitmap = rows.iter().copied().collect();
        starts.push(out.put(&encode(&(key.as_str(), serialize(rows)?))?)?);
    }
    starts.push(out.position());
    let table = put_all(out, starts.iter().map(|start| start.to_le_bytes()))?;
    Ok((table, narrow(terms.len())?))
}

fn put_all<const N: usize>(
    out: &mut Writer,
    items: impl Iterator<Item = [u8; N]>,
) -> io::Result<u64> {
    let start = out.position();
    for item in items {
        out.put(&item)?;
    }
    Ok(start)
}

fn serialize(mut rows: RoaringBitmap) -> io::Result<Vec<u8>> {
    rows.optimize();
    let mut bytes = Vec::with_capacity(rows.serialized_size());
    rows.serialize_into(&mut bytes)?;
    Ok(bytes)
}

fn encode<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    postcard::to_allocvec(value).map_err(io::Error::other)
}

fn narrow(n: usize) -> io::Result<u32> {
    u32::try_from(n).map_err(io::Error::other)
}

/// An open segment.
#[derive(Debug)]
pub(super) struct Segment {
    blocks: Blocks,
    contents: Contents,
}

impl Segment {
    /// Opens a segment. The cost does not depend on its size.
    ///
    /// # Errors
    /// Fails if the file cannot be opened or is not a segment.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let blocks = Blocks::open(path)?;
        let contents = decode_from(&blocks, blocks.word()).map_err(io::Error::other)?;
        Ok(Self { blocks, contents })
    }

    /// Returns the numbers of its rows.
    pub(super) fn rows(&self) -> Range<u32> {
        let first = self.contents.first_row;
        first..first.saturating_add(self.contents.rows)
    }

    /// Returns the numbers of its checkpoints.
    pub(super) fn checkpoints(&self) -> Range<CheckpointNumber> {
        let first = self.contents.first_checkpoint;
        let end = first.0.saturating_add(u64::from(self.contents.checkpoints));
        first..CheckpointNumber(end)
    }

    /// Returns the time and hash of one of its checkpoints.
    pub(super) fn checkpoint(
        &self,
        number: CheckpointNumber,
    ) -> Result<(Timestamp, Digest), Damaged> {
        let nth = number.0.checked_sub(self.contents.first_checkpoint.0).ok_or(Damaged)?;
        let entry: [u8; CHECKPOINT] = self.nth(self.contents.times, to_usize(nth)?)?;
        let (at, hash) = entry.split_first_chunk().ok_or(Damaged)?;
        let hash = hash.try_into().map_err(|_| Damaged)?;
        Ok((Timestamp::from_millis(i64::from_le_bytes(*at)), Digest::from_bytes(hash)))
    }

    /// Returns the event of one of its checkpoints.
    pub(super) fn event(&self, number: CheckpointNumber) -> Result<Event, Damaged> {
        let (at, hash) = self.checkpoint(number)?;
        let nth = number.0.checked_sub(self.contents.first_checkpoint.0).ok_or(Damaged)?;
        let record = self.slot(self.contents.events, to_usize(nth)?)?;
        let (set, removed, id): (u64, u64, String) =
            postcard::from_bytes(record).map_err(|_| Damaged)?;
        let triggered_by = id.parse().map_err(|_| Damaged)?;
        Ok(Event { number, at, hash, set, removed, triggered_by })
    }

    /// Returns the events of all of its checkpoints.
    pub(super) fn events(&self) -> impl Iterator<Item = Result<Event, Damaged>> + '_ {
        let Range { start, end } = self.checkpoints();
        (start.0..end.0).map(|n| self.event(CheckpointNumber(n)))
    }

    /// Returns one of its rows.
    pub(super) fn row(&self, number: u32) -> Result<Row, Damaged> {
        postcard::from_bytes(self.record(self.local(number)?)?).map_err(|_| Damaged)
    }

    /// Returns the id of one of its rows.
    pub(super) fn id(&self, number: u32) -> Result<&str, Damaged> {
        self.id_at(self.local(number)?)
    }

    /// Returns the checkpoints that contain a row, as far as the segment knows.
    pub(super) fn life(&self, number: u32) -> Result<(u32, u32), Damaged> {
        let n = self.local(number)?;
        let word = |table| Ok(u32::from_le_bytes(self.nth(table, n)?));
        Ok((word(self.contents.born)?, word(self.contents.ended)?))
    }

    /// Returns the checkpoint of this segment in which a row of an earlier one ended.
    pub(super) fn ending(&self, number: u32) -> Result<Option<u32>, Damaged> {
        let count = self.contents.ending_count as usize;
        let at = |table, n| Ok(u32::from_le_bytes(self.nth(table, n)?));
        let n = search(count, |n| Ok(at(self.contents.endings, n)? < number))?;
        if n < count && at(self.contents.endings, n)? == number {
            return at(self.contents.endings_at, n).map(Some);
        }
        Ok(None)
    }

    /// Returns the rows of earlier segments that ended in its checkpoints.
    pub(super) fn endings(&self) -> Result<BTreeMap<u32, u32>, Damaged> {
        let at = |table, n| Ok(u32::from_le_bytes(self.nth(table, n)?));
        let each = |n| Ok((at(self.contents.endings, n)?, at(self.contents.endings_at, n)?));
        (0..self.contents.ending_count as usize).map(each).collect()
    }

    /// Returns every row that had ended when the segment was written, as far as it knows.
    pub(super) fn over(&self) -> Result<RoaringBitmap, Damaged> {
        let (start, length) = self.contents.over;
        let end = start.checked_add(length).ok_or(Damaged)?;
        deserialize(self.blocks.get(to_usize(start)?..to_usize(end)?)?)
    }

    /// Returns the rows of an id.
    pub(super) fn rows_of(&self, id: &str) -> Result<Range<u32>, Damaged> {
        let start = self.partition(0, |key| key < id)?;
        let end = self.partition(start, |key| key == id)?;
        self.numbered(start..end)
    }

    /// Returns the rows whose ids have this prefix.
    pub(super) fn rows_below(&self, prefix: &str) -> Result<Range<u32>, Damaged> {
        let start = self.partition(0, |key| key < prefix)?;
        let end = self.partition(start, |key| key.starts_with(prefix))?;
        self.numbered(start..end)
    }

    /// Returns the rows of a term. Some of them may have ended.
    pub(super) fn posting(&self, term: &Term<'_>) -> Result<RoaringBitmap, Damaged> {
        let key = term.key();
        let n = self.first_term(&key)?;
        match self.term(n)? {
            Some((found, rows)) if found == key => Ok(rows),
            _ => Ok(RoaringBitmap::new()),
        }
    }

    /// Returns the terms whose keys have this prefix, without the prefix.
    pub(super) fn terms_below(
        &self,
        prefix: &str,
    ) -> Result<Vec<(String, RoaringBitmap)>, Damaged> {
        let mut found = Vec::new();
        let mut n = self.first_term(prefix)?;
        while let Some((key, rows)) = self.term(n)? {
            let Some(name) = key.strip_prefix(prefix) else { break };
            found.push((name.to_owned(), rows));
            n += 1;
        }
        Ok(found)
    }

    fn first_term(&self, key: &str) -> Result<usize, Damaged> {
        let count = self.contents.term_count as usize;
        search(count, |n| Ok(self.term_bytes(n)?.0 < key))
    }

    fn term(&self, n: usize) -> Result<Option<(&str, RoaringBitmap)>, Damaged> {
        if n >= self.contents.term_count as usize {
            return Ok(None);
        }
        let (key, rows) = self.term_bytes(n)?;
        Ok(Some((key, deserialize(rows)?)))
    }

    fn term_bytes(&self, n: usize) -> Result<(&str, &[u8]), Damaged> {
        let bytes = self.slot(self.contents.terms, n)?;
        postcard::from_bytes(bytes).map_err(|_| Damaged)
    }

    /// Returns the first row from `start` on for whose id `before` is false.
    fn partition(&self, start: usize, before: impl Fn(&str) -> bool) -> Result<usize, Damaged> {
        let count = self.contents.rows as usize - start.min(self.contents.rows as usize);
        Ok(start + search(count, |n| Ok(before(self.id_at(start + n)?)))?)
    }

    fn id_at(&self, n: usize) -> Result<&str, Damaged> {
        let taken: Result<(&str, _), _> = postcard::take_from_bytes(self.record(n)?);
        taken.map(|(id, _)| id).map_err(|_| Damaged)
    }

    fn numbered(&self, local: Range<usize>) -> Result<Range<u32>, Damaged> {
        let number = |n: usize| {
            let n = u32::try_from(n).map_err(|_| Damaged)?;
            self.contents.first_row.checked_add(n).ok_or(Damaged)
        };
        Ok(number(local.start)?..number(local.end)?)
    }

    fn local(&self, number: u32) -> Result<usize, Damaged> {
        if !self.rows().contains(&number) {
            return Err(Damaged);
        }
        Ok((number - self.contents.first_row) as usize)
    }

    fn record(&self, n: usize) -> Result<&[u8], Damaged> {
        self.slot(self.contents.records, n)
    }

    /// Returns the bytes between two neighbours of a table of positions.
    fn slot(&self, table: u64, n: usize) -> Result<&[u8], Damaged> {
        let start = u64::from_le_bytes(self.nth(table, n)?);
        let end = u64::from_le_bytes(self.nth(table, n + 1)?);
        self.blocks.get(to_usize(start)?..to_usize(end)?)
    }

    fn nth<const N: usize>(&self, table: u64, n: usize) -> Result<[u8; N], Damaged> {
        let start = n.checked_mul(N).and_then(|n| n.checked_add(to_usize(table).ok()?));
        let start = start.ok_or(Damaged)?;
        let bytes = self.blocks.get(start..start.checked_add(N).ok_or(Damaged)?)?;
        bytes.try_into().map_err(|_| Damaged)
    }
}

/// Returns the first of `0..count` for which `before` is false.
fn search(count: usize, before: impl Fn(usize) -> Result<bool, Damaged>) -> Result<usize, Damaged> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle)? { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}

fn deserialize(bytes: &[u8]) -> Result<RoaringBitmap, Damaged> {
    RoaringBitmap::deserialize_from(bytes).map_err(|_| Damaged)
}

fn decode_from<T: DeserializeOwned>(blocks: &Blocks, start: u64) -> Result<T, Damaged> {
    let bytes = blocks.rest(to_usize(start)?)?;
    postcard::from_bytes(bytes).map_err(|_| Damaged)
}

fn to_usize(n: u64) -> Result<usize, Damaged> {
    usize::try_from(n).map_err(|_| Damaged)
}
