//! The index in the user's caches: one folder for each generation, never written to after it has
//! its name, and one file that says which generation holds.
//!
//! A writer makes the next generation beside the last one, with links to the files that stay, and
//! then exchanges that file. So no process sees a half-written index, and one that dies leaves only
//! a folder that the next writer clears away. What the file says of each index file (size, time,
//! inode) must hold when it is used; else the index is built again.

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
/// The file that names the generation. Its format changes with everything that makes an index
/// another one: words, fields, the library.
const CURRENT: cache::Current =
    cache::Current { name: "current", magic: b"ctxtxt\x00\x05", limit: 16 << 20 };
/// How long a search waits for another one that is building the index.
const PATIENCE: Duration = Duration::from_secs(10);

/// How far an index on disk is relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    /// It must hold the head.
    AsItIs,
    /// It is brought to the head if it holds another state.
    Extended,
    /// It is built again.
    Rebuilt,
}

/// The place of a vault's index.
pub(super) struct Cache(cache::Cache);

/// What the file says.
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
    /// The index in a vault's folder of the caches; none where it cannot be kept from others.
    pub(super) fn at(vault: &Path) -> Option<Self> {
        let cache = cache::Cache::new(vault.join(FOLDER), CURRENT);
        cache.make_private().then_some(Self(cache))
    }

    /// The index of a head, as fresh as asked for; none where none can be made.
    pub(super) fn open(&self, of: &Builtin<'_, '_>, how: Freshness) -> Option<Ready> {
        if how == Freshness::AsItIs {
            return self.fresh(of);
        }
        // Who asks for a new one has waited before.
        let patience = if how == Freshness::Rebuilt { Duration::ZERO } else { PATIENCE };
        let _lock = self.0.lock(patience).ok()??;
        // Another process may have built it while this one waited.
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

    /// The index on disk, if it holds the head. Reads nothing that grows with the vault.
    fn fresh(&self, of: &Builtin<'_, '_>) -> Option<Ready> {
        let current = self.current().filter(|current| current.holds(of))?;
        // A document that could not be read may have been mended.
        let unread = current.unread_ids()?;
        if unread.iter().any(|id| !matches!(of.snapshot.get(id), Some(Err(_)))) {
            return None;
        }
        let index = self.index(&current)?;
        let (_, fields) = article::schema();
        let segments = segment::segments(&index).ok()?;
        Some(Ready { fields, segments, totals: current.totals, unread })
    }

    /// What the file says, if every file of the generation is as it was written.
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

    /// Takes away whatever is not the current generation.
    fn clear(&self, current: Option<&Current>) {
        let kept = current.map(|current| current.generation.to_string());
        self.0.clear(|name| name.parse::<u64>().is_ok() && kept.as_deref() != Some(name));
    }

    /// Makes the generation that holds the head, and lets it hold.
    fn build(&self, of: &Builtin<'_, '_>, last: Option<Current>) -> Result<(), BuildError> {
        let last = last.and_then(|last| Some((self.indexed(&last)?, last)));
        let (wanted, gone, last) = match last {
            Some((indexed, last)) => {
                let half = indexed.len() / 2 + 8;
                let (wanted, gone) = of.difference(indexed)?;
                // Where most is new, what is old is not worth keeping.
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
                    // Only files that are never written to again may be the same file.
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

    /// Every document of a generation with the version of it.
    fn indexed(&self, current: &Current) -> Option<HashMap<String, article::Mark>> {
        let segments = segment::segments(&self.index(current)?).ok()?;
        let mut all = HashMap::new();
        for segment in &segments {
            all.extend(segment.documents().ok()?);
        }
        Some(all)
    }

    /// An empty folder for the next generation.
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

/// The files of a generation; locks are none of it.
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

/// Why a generation could not be made; what is reported is that it is built in memory.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildError {
    #[error(transparent)]
    Index(#[from] tantivy::TantivyError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Io(#[from] io::Error),
}
