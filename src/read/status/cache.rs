//! Cache of files that an earlier comparison found unchanged, so that they are not read again
//! (`spec/index.md`, IDX-9 to IDX-12).
//!
//! Everything that a comparison depends on is recorded: the live file, the history and the keyframe
//! with their stamps, the version that the checkpoint seals, and the configuration. All must be the
//! same. Only documents without any finding are recorded, so that a lost cache only costs time.

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::files::cache::{Cache, Current};
use crate::files::vault::Vault;
use crate::files::vault::files::{OpenFolder, Stamp};
use crate::read::snapshot::Snapshot;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{self, HISTORY};
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;

const FOLDER: &str = "status";
/// The magic changes with every change of the meaning of a comparison.
const CURRENT: Current = Current { name: "compared", magic: b"ctxsta\x00\x03", limit: 1 << 30 };
/// Time for which a file must be unchanged before it is recorded. The clock of a file system may
/// stand still for this long, so that a second change would leave the same time.
const SETTLED: Duration = Duration::from_secs(2);

/// A document whose live file was the published text, without findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Comparison {
    path: String,
    version: Version,
    chain_hash: [u8; 32],
    sealed_at: Option<i64>,
    keyframe: Version,
    /// End of its validity.
    end: Option<i64>,
    /// Stamps of the live file, the history and the keyframe.
    files: [Stamp; 3],
}

/// Settings that all comparisons depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Setting {
    root: Vec<u8>,
    config: [u8; 32],
    is_structured: bool,
}

/// Earlier comparisons.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    known: HashMap<String, Comparison>,
    /// Place of the cache; `None` if nothing can be recorded.
    place: Option<RecordedIn>,
}

#[derive(Debug)]
struct RecordedIn {
    cache: Cache,
    setting: Setting,
    /// Time of the file system from which on changed files are not recorded.
    settled: (i64, i64),
}

impl Seen {
    /// Opens the cache of a vault. The result is empty if the cache directory is missing, or others
    /// can write to it.
    pub(crate) fn open(vault: &Vault) -> Self {
        Self::settled_for(vault, SETTLED)
    }

    /// Opens the cache for files that were unchanged for `settled`.
    pub(super) fn settled_for(vault: &Vault, settled: Duration) -> Self {
        Self::read(vault, settled).unwrap_or_default()
    }

    fn read(vault: &Vault, settled: Duration) -> Option<Self> {
        let cache = Cache::new(vault.cache()?.join(FOLDER), CURRENT);
        let setting = Setting {
            root: vault.root().as_os_str().as_encoded_bytes().to_vec(),
            config: *vault.config_digest()?.bytes(),
            is_structured: vault.layout() == crate::files::vault::config::Layout::Structured,
        };
        if !cache.make_private() {
            return None;
        }
        // Taken before any file is read: files that are changed from now on have a later time.
        let (seconds, nanoseconds) = cache.now()?;
        let settled = (seconds - i64::try_from(settled.as_secs()).ok()?, nanoseconds);
        let known = match cache.read::<(Setting, Vec<Comparison>)>() {
            Some((of, known)) if of == setting => known,
            _ => Vec::new(),
        };
        let known = known.into_iter().map(|seen| (seen.path.clone(), seen)).collect();
        Some(Self { known, place: Some(RecordedIn { cache, setting, settled }) })
    }

    /// Returns true if nothing is recorded.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns the records of the files in the folder of a document.
    pub(super) fn folder<'a>(
        &'a self,
        vault: &'a Vault,
        head: &'a Snapshot<'_>,
        path: &str,
    ) -> SeenFolder<'a> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let histories = match folder {
            "" => layout::VERSIONS.to_owned(),
            folder => format!("{folder}/{}", layout::VERSIONS),
        };
        let open = |path: &str| self.place.as_ref().and_then(|_| vault.files().folder(path));
        SeenFolder { seen: self, vault, head, live: open(folder), histories: open(&histories) }
    }

    /// Records more comparisons, unless another process is writing.
    pub(super) fn keep(&self, learnt: &[Comparison]) {
        let Some(place) = self.place.as_ref().filter(|_| !learnt.is_empty()) else { return };
        let Ok(Some(_lock)) = place.cache.lock(Duration::ZERO) else { return };
        let learnt: HashMap<&str, &Comparison> =
            learnt.iter().map(|seen| (seen.path.as_str(), seen)).collect();
        let before = self.known.values().filter(|seen| !learnt.contains_key(seen.path.as_str()));
        let all: Vec<&Comparison> = before.chain(learnt.values().copied()).collect();
        // Files that cannot be recorded are compared again.
        let _ = place.cache.exchange(&(&place.setting, all));
    }
}

/// Records of the files of one folder, which stays open.
#[derive(Debug)]
pub(super) struct SeenFolder<'a> {
    seen: &'a Seen,
    vault: &'a Vault,
    head: &'a Snapshot<'a>,
    live: Option<OpenFolder>,
    histories: Option<OpenFolder>,
}

impl SeenFolder<'_> {
    /// Returns id, version and end of validity of a document that is recorded as unchanged.
    pub(super) fn is_unchanged(
        &self,
        path: &str,
    ) -> Option<(DocumentId, Version, Option<Timestamp>)> {
        let known = self.seen.known.get(path)?;
        let id = DocumentId::of_document_file(path).ok()?;
        let (version, chain_hash, sealed_at) = self.head.sealed(&id)?;
        let sealed = (known.version, known.chain_hash, known.sealed_at);
        if sealed != (version, *chain_hash.bytes(), sealed_at.map(Timestamp::millis)) {
            return None;
        }
        let live = self.live.as_ref()?.stamp(name_of(path));
        // The file may have the name in another case (VAULT-65).
        let live = live.or_else(|| self.vault.files().stamp(path).ok())?;
        let is_same = known.files == self.files(live, path, known.keyframe)?;
        is_same.then(|| (id, version, known.end.map(Timestamp::from_millis)))
    }

    /// Returns the record of a document that was read and is unchanged, without findings. `stamp`
    /// is the stamp of the live file before it was read.
    pub(super) fn learn(
        &self,
        path: &str,
        id: &DocumentId,
        (keyframe, end): (Version, Option<Timestamp>),
        stamp: Stamp,
    ) -> Option<Comparison> {
        let (version, chain_hash, sealed_at) = self.head.sealed(id)?;
        let settled = self.seen.place.as_ref()?.settled;
        let files = self.files(stamp, path, keyframe)?;
        let is_settled = files.iter().all(|file| file.touched() < settled);
        is_settled.then(|| Comparison {
            path: path.to_owned(),
            version,
            chain_hash: *chain_hash.bytes(),
            sealed_at: sealed_at.map(Timestamp::millis),
            keyframe,
            end: end.map(Timestamp::millis),
            files,
        })
    }

    /// Returns the current stamps of a live file and of its history and keyframe.
    fn files(&self, live: Stamp, path: &str, keyframe: Version) -> Option<[Stamp; 3]> {
        let name = name_of(path).strip_suffix(".md")?;
        let keyframe = format!("v{keyframe}.md");
        let [history, keyframe] = self.histories.as_ref()?.stamps_in(name, [HISTORY, &keyframe])?;
        Some([live, history, keyframe])
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
