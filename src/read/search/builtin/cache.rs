//! The index in the user's caches: one folder for each generation, which is never written again
//! after it has its name, and one file that names the current generation.
//!
//! A writer makes the next generation next to the last one, with links to unchanged files, and then
//! replaces that file. So no process sees a half-written index, and a writer that dies leaves only
//! a folder that the next one deletes. The file records size, time and inode of each index file. If
//! they differ when the index is used, it is built again.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tantivy::Index;
use tantivy::directory::MmapDirectory;

use super::article;
use super::segment::{self, Totals};
use super::{Builtin, Ready};
use crate::files::cache;
use crate::record::checkpoint::fault::LogError;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;

pub(super) const FOLDER: &str = "search";
/// File that names the generation. Its format changes with everything that changes an index: words,
/// fields, and the library.
const CURRENT: cache::Current =
    cache::Current { name: "current", magic: b"ctxtxt\x00\x05", limit: 16 << 20 };
/// Time that a search waits for another one that is building the index.
const PATIENCE: Duration = Duration::from_secs(10);

/// Freshness that is required of an index on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    /// The index must contain the head.
    AsItIs,
    /// The index is updated if it contains another state.
    Extended,
    /// The index is built again.
    Rebuilt,
}

/// Cache folder of a vault's index.
pub(super) struct Cache(cache::Cache);

/// Content of the file that names the generation.
#[derive(Debug, Serialize, Deserialize)]
struct Current {
    generation: u64,
    checkpoint: CheckpointNumber,
    head: String,
    totals: Totals,
    /// Documents that could not be read.
    unread: Vec<String>,
    files: Vec<Stamp>,
}

/// A file of a generation as it was written.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    name: String,
    size: u64,
    modified: (i64, i64),
    inode: u64,
}

impl Stamp {
    fn of(name: String, found: &Metadata) -> Self {
        let modified = (found.mtime(), found.mtime_nsec());
        Self { name, size: found.size(), modified, inode: found.ino() }
    }
}

impl Cache {
    /// Opens the cache in a vault's cache folder; `None` if it cannot be made private.
    pub(super) fn at(vault: &Path) -> Option<Self> {
        let cache = cache::Cache::new(vault.join(FOLDER), CURRENT);
        cache.make_private().then_some(Self(cache))
    }

    /// Returns the index of a head, as fresh as requested; `None` if it cannot be built.
    pub(super) fn open(&self, of: &Builtin<'_, '_>, how: Freshness) -> Option<Ready> {
        if how == Freshness::AsItIs {
            return self.fresh(of);
        }
        // A request for a new index has already waited.
        let patience = if how == Freshness::Rebuilt { Duration::ZERO } else { PATIENCE };
        let _lock = self.0.lock(patience).ok()??;
        // Another process may have built it meanwhile.
        if how == Freshness::Extended
            && let Some(ready) = self.fresh(of)
        {
            return Some(ready);
        }
        let last = self.current().filter(|_| how == Freshness::Extended);
        self.clear(last.as_ref());
        self.build(of, last).ok()?;
        self.fresh(of)
    }

    /// Returns the index on disk, if it contains the head. The cost does not grow with the vault.
    fn fresh(&self, of: &Builtin<'_, '_>) -> Option<Ready> {
        let current = self.current().filter(|current| current.holds(of))?;
        // An unreadable document may have been repaired.
        let unread = current.unread_ids()?;
        if unread.iter().any(|id| !matches!(of.snapshot.get(id), Some(Err(_)))) {
            return None;
        }
        let index = self.index(&current)?;
        let (_, fields) = article::schema();
        let segments = segment::segments(&index).ok()?;
        Some(Ready { fields, segments, totals: current.totals, unread })
    }

    /// Returns the content of the file, if every file of the generation is unchanged.
    fn current(&self) -> Option<Current> {
        let current: Current = self.0.read()?;
        let folder = self.generation(current.generation);
        let as_written = |stamp: &Stamp| {
            let found = fs::symlink_metadata(folder.join(&stamp.name)).ok();
            found.is_some_and(|found| {
                found.is_file() && Stamp::of(stamp.name.clone(), &found) == *stamp
            })
        };
        current.files.iter().all(as_written).then_some(current)
    }

    fn generation(&self, number: u64) -> PathBuf {
        self.0.dir().join(number.to_string())
    }

    fn index(&self, current: &Current) -> Option<Index> {
        let directory = MmapDirectory::open(self.generation(current.generation)).ok()?;
        let index = Index::open(directory).ok()?;
        article::teach(&index);
        (index.schema() == article::schema().0).then_some(index)
    }

    /// Deletes everything except the current generation.
    fn clear(&self, current: Option<&Current>) {
        let kept = current.map(|current| current.generation.to_string());
        self.0.clear(|name| name.parse::<u64>().is_ok() && kept.as_deref() != Some(name));
    }

    /// Builds the generation of the head, and makes it the current one.
    fn build(&self, of: &Builtin<'_, '_>, last: Option<Current>) -> Result<(), BuildError> {
        let last = last.and_then(|last| Some((self.indexed(&last)?, last)));
        let (wanted, gone, last) = match last {
            Some((indexed, last)) => {
                let half = indexed.len() / 2 + 8;
                let (wanted, gone) = of.difference(indexed)?;
                // If most documents are new, the old index is not worth keeping.
                match wanted.len().max(gone.len()) > half {
                    true => (of.snapshot.documents()?.collect(), Vec::new(), None),
                    false => (wanted, gone, Some(last)),
                }
            }
            None => (of.snapshot.documents()?.collect(), Vec::new(), None),
        };
        let (generation, folder) = self.next_folder(last.as_ref())?;
        let (schema, fields) = article::schema();
        let index = match &last {
            Some(last) => {
                for stamp in &last.files {
                    let from = self.generation(last.generation).join(&stamp.name);
                    let to = folder.join(&stamp.name);
                    // Files that are never written again can be linked.
                    if stamp.name.ends_with(".json") || fs::hard_link(&from, &to).is_err() {
                        fs::copy(&from, &to)?;
                    }
                }
                Index::open(MmapDirectory::open(&folder).map_err(tantivy::TantivyError::from)?)?
            }
            None => Index::create_in_dir(&folder, schema)?,
        };
        article::teach(&index);
        let unread = of.fill(&index, &fields, &gone, &wanted)?;
        let totals = Ready::open(&index, fields, Vec::new())?.totals;
        drop(index);
        let current = Current {
            generation,
            checkpoint: of.snapshot.checkpoint(),
            head: of.head.to_string(),
            totals,
            unread: unread.iter().map(DocumentId::to_string).collect(),
            files: stamps(&folder)?,
        };
        self.0.exchange(&current)?;
        self.clear(Some(&current));
        Ok(())
    }

    /// Returns every document of a generation with the mark of its version.
    fn indexed(&self, current: &Current) -> Option<HashMap<String, article::Mark>> {
        let segments = segment::segments(&self.index(current)?).ok()?;
        let mut all = HashMap::new();
        for segment in &segments {
            all.extend(segment.documents().ok()?);
        }
        Some(all)
    }

    /// Creates an empty folder for the next generation.
    fn next_folder(&self, last: Option<&Current>) -> io::Result<(u64, PathBuf)> {
        let mut number = last.map_or(1, |last| last.generation.wrapping_add(1));
        loop {
            let folder = self.generation(number);
            match fs::create_dir(&folder) {
                Ok(()) => return Ok((number, folder)),
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
                    number = number.wrapping_add(1);
                }
                Err(why) => return Err(why),
            }
        }
    }
}

impl Current {
    fn holds(&self, of: &Builtin<'_, '_>) -> bool {
        let head: Option<Digest> = self.head.parse().ok();
        self.checkpoint == of.snapshot.checkpoint() && head == Some(of.head)
    }

    fn unread_ids(&self) -> Option<Vec<DocumentId>> {
        self.unread.iter().map(|id| id.parse().ok()).collect()
    }
}

/// Returns the stamps of the files of a generation, except locks.
fn stamps(folder: &Path) -> io::Result<Vec<Stamp>> {
    let mut stamps = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".lock") {
            stamps.push(Stamp::of(name, &entry.metadata()?));
        }
    }
    stamps.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(stamps)
}

/// Reason why a generation could not be built. It is not reported, because the index is then built
/// in memory.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildError {
    #[error(transparent)]
    Index(#[from] tantivy::TantivyError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Io(#[from] io::Error),
}
