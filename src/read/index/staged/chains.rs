//! Opens the chains of a vault: the cached lines of each chain, if they still match, and the
//! others, read and checked (IDX-13).

use rayon::prelude::*;

use super::cache::{Kept, KeptChain, are_many};
use super::row::{ROW, Row};
use crate::files::vault::files::{FileError, Files, Stamp};
use crate::record::audit::WriterId;
use crate::record::checkpoint::fault::Damaged;
use crate::record::staging::{
    Chain, MAX_CHAIN, Owned, StagedLine, StrayFile, chain_path, found_chains, go_on,
};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;

/// An open chain.
#[derive(Debug)]
pub(super) struct OpenChain {
    pub(super) source: DocumentId,
    pub(super) writer: WriterId,
    /// Stamp of the file before it was read.
    pub(super) stamp: Option<Stamp>,
    /// First lines, if they have rows.
    pub(super) kept: Option<KeptChain>,
    /// Lines that follow them.
    pub(super) tail: Vec<(Row, StagedLine)>,
    /// End of the last line.
    pub(super) end: u64,
    /// Bytes of the file, if they had to be read.
    pub(super) bytes: Option<Vec<u8>>,
    /// Whole chain, if it is damaged.
    pub(super) damaged: Option<Chain>,
}

/// Reason why chains are not read with the cache.
#[derive(Debug)]
pub(super) enum NotOpened {
    /// The cache is damaged.
    Cache,
    /// The folder of chains cannot be listed.
    Folder(FileError),
}

impl From<Damaged> for NotOpened {
    fn from(_: Damaged) -> Self {
        Self::Cache
    }
}

/// Consecutive lines.
type Tail = Vec<(Row, StagedLine)>;

/// Opens the chains of a source, or of a vault, in the order of sources and writers.
pub(super) fn open(
    files: &Files,
    kept: Option<&Kept>,
    source: Option<&DocumentId>,
) -> Result<(Vec<OpenChain>, Vec<StrayFile>), NotOpened> {
    let (mut found, mut strays) = found_chains(files, source).map_err(NotOpened::Folder)?;
    found.sort();
    let opened: Vec<_> =
        found.into_par_iter().map(|owned| OpenChain::open(files, kept, owned)).collect();
    let mut chains = Vec::with_capacity(opened.len());
    for one in opened {
        match one? {
            Ok(chain) => chains.push(chain),
            Err(stray) => strays.push(stray),
        }
    }
    Ok((chains, strays))
}

impl OpenChain {
    fn open(
        files: &Files,
        kept: Option<&Kept>,
        (source, writer): Owned,
    ) -> Result<Result<Self, StrayFile>, Damaged> {
        let path = chain_path(&source, &writer);
        let known = kept.and_then(|kept| kept.chain(source.as_str(), writer.to_string()));
        if let (Some(kept), Some(known)) = (kept, known)
            && let Some(chain) = Self::unchanged(files, (kept, known), (&source, &writer))?
        {
            return Ok(Ok(chain));
        }
        let (bytes, stamp) = match files.read_stamped(&path, MAX_CHAIN) {
            Ok((bytes, stamp)) => (bytes, Some(stamp)),
            Err(why) if why.is_absent() => (Vec::new(), None),
            Err(why) => return Ok(Err(StrayFile { path, why: why.to_string() })),
        };
        let known = known.filter(|known| known.is_of(&bytes));
        let after = kept.zip(known).map(|(kept, known)| last(kept, known)).transpose()?;
        let from = known.map_or(0, |known| usize::try_from(known.end).unwrap_or(usize::MAX));
        let rest = bytes.get(from..).unwrap_or_default();
        let chain = Self {
            source,
            writer,
            stamp,
            kept: known.cloned(),
            tail: Vec::new(),
            end: 0,
            bytes: None,
            damaged: None,
        };
        Ok(Ok(match tail((&chain.source, &chain.writer), after, (from, rest)) {
            Some((tail, end)) => Self { tail, end: end as u64, bytes: Some(bytes), ..chain },
            None => {
                let whole = go_on((chain.source.clone(), chain.writer.clone()), None, &bytes);
                Self { kept: None, damaged: Some(whole), ..chain }
            }
        }))
    }

    /// Returns the chain, if its file was not changed since rows were made from its lines, and few
    /// lines follow.
    fn unchanged(
        files: &Files,
        (kept, known): (&Kept, &KeptChain),
        (source, writer): (&DocumentId, &WriterId),
    ) -> Result<Option<Self>, Damaged> {
        let path = chain_path(source, writer);
        let Some(stamp) = known.stamp else { return Ok(None) };
        if files.stamp(&path).ok() != Some(stamp) {
            return Ok(None);
        }
        let rest = stamp.length.checked_sub(known.end).ok_or(Damaged)?;
        let rest = usize::try_from(rest).map_err(|_| Damaged)?;
        let from = usize::try_from(known.end).map_err(|_| Damaged)?;
        let bytes = match rest {
            0 => Vec::new(),
            rest => match files.read_at(&path, known.end, rest) {
                Ok(bytes) => bytes,
                Err(_) => return Ok(None),
            },
        };
        let after = last(kept, known)?;
        let read = tail((source, writer), Some(after), (from, &bytes));
        Ok(read.filter(|(tail, _)| !are_many(tail.len(), known.lines as usize)).map(
            |(tail, end)| Self {
                source: source.clone(),
                writer: writer.clone(),
                stamp: Some(stamp),
                kept: Some(known.clone()),
                tail,
                end: end as u64,
                bytes: None,
                damaged: None,
            },
        ))
    }

    /// Returns the number of lines that are in order.
    pub(super) fn lines(&self) -> usize {
        self.kept_lines() + self.tail.len()
    }

    pub(super) fn kept_lines(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.lines as usize)
    }

    /// Returns true if rows should be made from its last lines.
    pub(super) fn has_many_unkept(&self) -> bool {
        self.bytes.is_some() && are_many(self.tail.len(), self.kept_lines())
    }

    /// Passes the row of each line to `take`, with its position; `rows` are the rows of its
    /// first lines.
    pub(super) fn each(&self, rows: &[[u8; ROW]], wanted: Lines, mut take: impl FnMut(usize, Row)) {
        for (at, bytes) in rows.iter().enumerate() {
            if Row::is_entry(bytes) == (wanted == Lines::Entries) {
                take(at, Row::decode(bytes));
            }
        }
        for (at, (row, line)) in self.tail.iter().enumerate() {
            if line.kind.act().is_none() == (wanted == Lines::Entries) {
                take(rows.len() + at, *row);
            }
        }
    }
}

/// Kind of wanted lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    Entries,
    Acts,
}

/// Returns the number and hash of the last line that has a row.
fn last(kept: &Kept, known: &KeptChain) -> Result<(u64, Digest), Damaged> {
    let row = kept.rows(known)?.last().ok_or(Damaged)?;
    Ok((known.lines.into(), Digest::from_bytes(Row::decode(row).hash)))
}

/// Returns the lines of a chain from a position on, and the end of the last one. Returns `None` if
/// they are damaged. An incomplete last line is skipped.
fn tail(
    (source, writer): (&DocumentId, &WriterId),
    after: Option<(u64, Digest)>,
    (from, bytes): (usize, &[u8]),
) -> Option<(Tail, usize)> {
    let chain = go_on((source.clone(), writer.clone()), after, bytes);
    if chain.faults.iter().any(|fault| fault.kind.is_damage()) {
        return None;
    }
    let mut start = 0;
    let mut tail = Vec::with_capacity(chain.lines.len());
    // Without damage, the lines are the first ones of the file.
    for line in chain.lines {
        let length = memchr::memchr(b'\n', &bytes[start..])?;
        tail.push((Row::of(&line, (from + start, length))?, line));
        start += length + 1;
    }
    Some((tail, from + start))
}
