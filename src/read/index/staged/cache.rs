//! The cache of staging chains: one file with a row for each line, and a manifest that shows
//! whether the rows still match each chain (IDX-13, IDX-14).

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::chains::OpenChain;
use super::row::{ROW, Row};
use crate::files::cache::{Cache, Current};
use crate::files::vault::Vault;
use crate::files::vault::files::Stamp;
use crate::read::index::blocks::{Blocks, Writer};
use crate::read::index::manifest::rename;
use crate::record::checkpoint::fault::Damaged;
use crate::record::staging::StagedLine;
use crate::values::model::digest::{Digest, Sink as _};
use crate::values::model::id::DocumentId;

const FOLDER: &str = "staged";
/// The magic changes with every change of the content of a row.
const CURRENT: Current = Current { name: "chains", magic: b"ctxstg\x00\x01", limit: 64 << 20 };
/// Suffix of the name of a file with rows, and the name of one that is being written.
const ROWS: &str = ".rows";
const NEW: &str = "rows.new";
/// Time for which a file must be unchanged before its stamp is trusted (IDX-11).
pub(super) const SETTLED: Duration = Duration::from_secs(2);
/// Number of bytes that are hashed in one piece, in parallel.
const PIECE: usize = 1 << 20;
/// Maximum number of lines without rows that are read each time; more of them get rows.
const MOST_UNKEPT: usize = 256;

/// The lines of a chain that have rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptChain {
    source: String,
    writer: String,
    /// Stamp of the file, if it was settled; otherwise its bytes are compared.
    pub(super) stamp: Option<Stamp>,
    /// End of the last line that has a row.
    pub(super) end: u64,
    /// Digest of the bytes up to that end.
    digest: [u8; 32],
    first: u32,
    /// Number of lines that have rows, which are the first ones.
    pub(super) lines: u32,
}

/// Cached rows of a chain, and the lines that follow them.
type ChainRows<'r> = (Option<&'r KeptChain>, &'r [(Row, StagedLine)]);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    root: Vec<u8>,
    rows: String,
    chains: Vec<KeptChain>,
}

/// The cache as a command found it.
#[derive(Debug)]
pub(super) struct Kept {
    cache: Cache,
    manifest: Manifest,
    /// Index of each chain in the manifest.
    places: HashMap<(String, String), usize>,
    rows: Option<Blocks>,
    /// Time of the file system from which on changed files are not settled.
    settled: (i64, i64),
}

impl KeptChain {
    /// Returns true if the bytes begin with those that the rows were made from.
    pub(super) fn is_of(&self, bytes: &[u8]) -> bool {
        let kept = usize::try_from(self.end).ok().and_then(|end| bytes.get(..end));
        kept.is_some_and(|kept| digest(kept) == self.digest)
    }
}

/// Returns the time `by` before another one, in seconds and nanoseconds.
fn before((seconds, nanoseconds): (i64, i64), by: Duration) -> Option<(i64, i64)> {
    let whole = seconds.checked_sub(i64::try_from(by.as_secs()).ok()?)?;
    match nanoseconds - i64::from(by.subsec_nanos()) {
        less @ ..0 => Some((whole - 1, less + 1_000_000_000)),
        rest => Some((whole, rest)),
    }
}

/// Returns the digest of the bytes of a chain: the digest of the digests of its pieces.
fn digest(bytes: &[u8]) -> [u8; 32] {
    let pieces: Vec<Digest> = bytes.par_chunks(PIECE).map(Digest::of).collect();
    let all = Digest::of_written(|out| pieces.iter().for_each(|piece| out.put(piece.bytes())));
    *all.bytes()
}

impl Kept {
    /// Opens the cache of a vault, which may be empty. Returns `None` if the vault lacks a cache
    /// folder, or others can write to it.
    ///
    /// The stamp of a file is trusted if the file was unchanged for the duration `settled`.
    pub(super) fn open(vault: &Vault, settled: Duration) -> Option<Self> {
        let cache = Cache::new(vault.cache()?.join(FOLDER), CURRENT);
        if !cache.make_private() {
            return None;
        }
        // Taken before any chain is read: files that are changed from now on have a later time.
        let settled = before(cache.now()?, settled)?;
        let root = vault.root().as_os_str().as_encoded_bytes().to_vec();
        let nothing = Manifest { root, rows: String::new(), chains: Vec::new() };
        let found = cache.read::<Manifest>().filter(|found| found.root == nothing.root);
        let opened = found.and_then(|found| {
            let name = Some(&found.rows).filter(|name| is_rows(name))?;
            Some((Blocks::open(&cache.dir().join(name)).ok()?, found))
        });
        let (rows, manifest) = opened.map_or((None, nothing), |(rows, found)| (Some(rows), found));
        let names = manifest.chains.iter().map(|c| (c.source.clone(), c.writer.clone()));
        let places = names.enumerate().map(|(at, name)| (name, at)).collect();
        Some(Self { cache, manifest, places, rows, settled })
    }

    /// Returns the record of a chain.
    pub(super) fn chain(&self, source: &str, writer: String) -> Option<&KeptChain> {
        let at = self.places.get(&(source.to_owned(), writer))?;
        self.manifest.chains.get(*at)
    }

    /// Returns the rows of a chain.
    pub(super) fn rows(&self, of: &KeptChain) -> Result<&[[u8; ROW]], Damaged> {
        let start = (of.first as usize).checked_mul(ROW).ok_or(Damaged)?;
        let length = (of.lines as usize).checked_mul(ROW).ok_or(Damaged)?;
        let end = start.checked_add(length).ok_or(Damaged)?;
        let bytes = self.rows.as_ref().ok_or(Damaged)?.get(start..end)?;
        let (rows, rest) = bytes.as_chunks();
        if rest.is_empty() { Ok(rows) } else { Err(Damaged) }
    }

    /// Deletes the cache because it is damaged.
    pub(super) fn discard(&self) {
        self.cache.remove();
    }

    fn settled(&self, stamp: Option<Stamp>) -> Option<Stamp> {
        stamp.filter(|stamp| stamp.touched() < self.settled)
    }

    /// Stores new knowledge about the chains of a source, or of all sources, if that is worthwhile
    /// and no other process is writing. Anything that cannot be stored is read again.
    pub(super) fn keep(&self, chains: &[OpenChain], source: Option<&DocumentId>) {
        let is_longer = chains.iter().any(OpenChain::has_many_unkept);
        let is_settled = |chain: &OpenChain| {
            let settled = self.settled(chain.stamp);
            chain.kept.as_ref().is_some_and(|kept| settled.is_some() && kept.stamp != settled)
        };
        if is_longer || chains.iter().any(is_settled) {
            let _ = self.write(chains, source, is_longer);
        }
    }

    fn write(
        &self,
        chains: &[OpenChain],
        source: Option<&DocumentId>,
        is_longer: bool,
    ) -> io::Result<()> {
        let Some(_lock) = self.cache.lock(Duration::ZERO)? else { return Ok(()) };
        let before = self.cache.read::<Manifest>();
        if before.is_some_and(|before| before != self.manifest) && self.rows.is_some() {
            // Another process was faster.
            return Ok(());
        }
        let (mut all, mut rows) = (Vec::new(), Vec::<ChainRows<'_>>::new());
        let elsewhere =
            |kept: &&KeptChain| source.is_some_and(|source| kept.source != source.as_str());
        for kept in self.manifest.chains.iter().filter(elsewhere) {
            rows.push((Some(kept), &[][..]));
            all.push(kept.clone());
        }
        for chain in chains {
            let stamp = self.settled(chain.stamp);
            match (&chain.kept, chain.bytes.as_deref()) {
                (kept, Some(bytes)) if chain.has_many_unkept() => {
                    let end = usize::try_from(chain.end).map_err(io::Error::other)?;
                    let digest = digest(bytes.get(..end).ok_or_else(|| io::Error::other(Damaged))?);
                    let lines = u32::try_from(chain.lines()).map_err(io::Error::other)?;
                    let (source, writer) = (chain.source.to_string(), chain.writer.to_string());
                    rows.push((kept.as_ref(), &chain.tail[..]));
                    let (end, first) = (chain.end, 0);
                    all.push(KeptChain { source, writer, stamp, end, digest, first, lines });
                }
                (Some(kept), _) => {
                    rows.push((Some(kept), &[][..]));
                    all.push(KeptChain { stamp: stamp.or(kept.stamp), ..kept.clone() });
                }
                (None, _) => {}
            }
        }
        let mut manifest = Manifest { chains: all, ..self.manifest.clone() };
        if is_longer {
            let mut next = 0_u32;
            for chain in &mut manifest.chains {
                chain.first = next;
                next = next.checked_add(chain.lines).ok_or_else(|| io::Error::other(Damaged))?;
            }
            manifest.rows = self.put(&manifest, &rows)?;
        }
        self.cache.exchange(&manifest)?;
        self.cache.clear(|name| is_rows(name) && name != manifest.rows);
        Ok(())
    }

    /// Writes a file with the rows of each chain, one after another. Returns its name.
    fn put(&self, manifest: &Manifest, rows: &[ChainRows<'_>]) -> io::Result<String> {
        self.cache.clear(|name| name == NEW);
        let aside: PathBuf = self.cache.dir().join(NEW);
        let mut out = Writer::create(&aside)?;
        for (kept, tail) in rows {
            if let Some(kept) = kept {
                out.put(self.rows(kept).map_err(io::Error::other)?.as_flattened())?;
            }
            for (row, _) in *tail {
                out.put(&row.encode())?;
            }
        }
        out.finish(0)?;
        let of = Digest::of_written(|out| {
            for chain in &manifest.chains {
                out.put(&chain.digest);
                out.put(&chain.lines.to_le_bytes());
            }
        });
        let name = format!("{}{ROWS}", of.hex());
        rename(&aside, &self.cache.dir().join(&name))?;
        Ok(name)
    }
}

/// Returns true if there are too many lines without rows, compared with those that have rows.
pub(super) fn are_many(unkept: usize, kept: usize) -> bool {
    unkept > 0 && unkept >= MOST_UNKEPT.min(1 + kept / 8)
}

/// Returns true if a file of rows can have this name: a file directly in the folder.
fn is_rows(name: &str) -> bool {
    let stem = name.strip_suffix(ROWS).unwrap_or_default();
    !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::index::staged::tests::kept;
    use crate::values::model::digest::Digest;

    /// Entries with valid checksums, as a process that writes to the cache could forge them.
    #[test]
    fn forged_cache_only_makes_answers_slower() {
        type Lie = fn(&mut Manifest, &mut Vec<[u8; ROW]>);
        let lies: [Lie; 9] = [
            |manifest, _| manifest.chains[0].lines = u32::MAX,
            |manifest, _| manifest.chains[0].lines = 0,
            |manifest, _| manifest.chains[0].first = u32::MAX,
            |manifest, _| manifest.chains[0].end = u64::MAX,
            |manifest, _| manifest.chains[0].end -= 1,
            |manifest, _| manifest.rows = "../../vault/.context/config.yaml.rows".to_owned(),
            |_, rows| rows.swap(0, 1),
            |_, rows| rows.iter_mut().for_each(|row| row[1..9].fill(0xff)),
            |_, rows| rows.iter_mut().for_each(|row| row[9..41].fill(0xff)),
        ];
        for (n, lie) in lies.into_iter().enumerate() {
            let (world, ..) = kept();
            let found = Kept::open(world.vault(), Duration::ZERO).unwrap();
            let mut manifest = found.manifest.clone();
            let mut rows = found.rows(&manifest.chains[0]).unwrap().to_vec();
            lie(&mut manifest, &mut rows);
            if is_rows(&manifest.rows) {
                manifest.rows = format!("{}{ROWS}", Digest::of(&[7]).hex());
                let mut out = Writer::create(&found.cache.dir().join(&manifest.rows)).unwrap();
                out.put(rows.as_flattened()).unwrap();
                out.finish(0).unwrap();
            }
            found.cache.exchange(&manifest).unwrap();
            assert_eq!(world.all_by_the_index(), 6, "{n}");
            world.agrees();
        }
    }

    #[test]
    fn before_subtracts_a_duration_from_a_time() {
        assert_eq!(before((10, 5), Duration::from_secs(2)), Some((8, 5)));
        assert_eq!(before((10, 5), Duration::from_nanos(6)), Some((9, 999_999_999)));
    }
}
