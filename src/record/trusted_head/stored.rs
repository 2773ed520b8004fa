//! Storage of a trusted head: a folder of state for each vault and branch, with a small JSON file
//! that is replaced as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::heads::TrustedHead;
use super::{Hashes, Head, intent};
use crate::files::vault::disk::Disk;
use crate::files::vault::outside;
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;

/// Name of the file in a vault's folder of state.
const NAME: &str = "head.json";
/// Name of the file until it is renamed.
const TEMPORARY: &str = "head.json.new";
/// Maximum length of the file in bytes, enough for the longest path.
const LIMIT: u64 = 64 << 10;

/// Failure to use a trusted head.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The system refused an access to the file.
    #[error("cannot {action} the trusted head in `{}`: {source}", path.display())]
    Io {
        /// The verb: `read`, `write`, `remove`.
        action: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The file is not a valid trusted head.
    #[error("the trusted head in `{}` cannot be read: {why}", path.display())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The reason, for people.
        why: String,
    },
}

impl TrustError {
    /// Converts an error of the system for a vault's folder of state.
    pub(super) fn io(action: &'static str, dir: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = dir.join(NAME);
        move |source| Self::Io { action, path, source }
    }
}

/// A trusted head as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredHead {
    at: String,
    #[serde(rename = "ref")]
    branch: Option<String>,
    #[serde(flatten)]
    end: StoredEnd,
    path: String,
    repository: Option<String>,
}

/// The end of a log as it is stored.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredEnd {
    checkpoint: CheckpointNumber,
    checkpoint_hash: Option<String>,
    genesis: Option<String>,
}

impl From<&Head> for StoredEnd {
    fn from(head: &Head) -> Self {
        Self {
            checkpoint: head.checkpoint,
            checkpoint_hash: head.hashes.map(|hashes| hashes.last.to_string()),
            genesis: head.hashes.map(|hashes| hashes.genesis.to_string()),
        }
    }
}

impl StoredEnd {
    pub(super) fn head(&self) -> Result<Head, String> {
        let hash = |text: &str| text.parse::<Digest>().map_err(|why| why.to_string());
        let hashes = match (self.checkpoint, &self.genesis, &self.checkpoint_hash) {
            (CheckpointNumber::NONE, None, None) => None,
            (CheckpointNumber(1..), Some(genesis), Some(last)) => {
                Some(Hashes { genesis: hash(genesis)?, last: hash(last)? })
            }
            _ => return Err("it names a checkpoint without its hash".to_owned()),
        };
        Ok(Head { checkpoint: self.checkpoint, hashes })
    }
}

/// Returns the folders of all vaults in the user's directory of state.
pub(super) fn folders(home: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(home.join(outside::OURS)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// Reads the trusted head in a folder; `None` if there is none.
pub(super) fn read(dir: &Path) -> Result<Option<TrustedHead>, TrustError> {
    let mut text = String::new();
    let opened = File::open(dir.join(NAME));
    match opened.and_then(|file| file.take(LIMIT).read_to_string(&mut text)) {
        Ok(_) => {}
        Err(why) if is_absent(&why) => return Ok(None),
        Err(why) => return Err(TrustError::io("read", dir)(why)),
    }
    let unreadable = |why: String| TrustError::Unreadable { path: dir.join(NAME), why };
    let stored: StoredHead =
        serde_json::from_str(&text).map_err(|why| unreadable(why.to_string()))?;
    let head = stored.end.head().map_err(unreadable)?;
    let at = stored.at.parse().map_err(|_| unreadable(format!("`{}` is not a time", stored.at)))?;
    let (path, branch) = (stored.path.into(), stored.branch);
    let repository = stored.repository.map(PathBuf::from);
    Ok(Some(TrustedHead { path, branch, repository, head, at }))
}

/// Locks the trusted head in a folder against other processes until the returned file is dropped.
///
/// # Errors
/// Fails if the folder cannot be created, or if another process holds the lock longer
/// than `patience`.
pub(super) fn take_turn(dir: &Path, patience: Duration) -> Result<File, TrustError> {
    outside::take_turn(dir, patience).map_err(TrustError::io("write", dir))
}

/// Replaces the trusted head and syncs it, for a process that holds the lock. The bytes are synced
/// before the rename, so that a power cut leaves either the old head or the new one.
pub(super) fn write(disk: &Disk, dir: &Path, trusted: &TrustedHead) -> Result<(), TrustError> {
    let stored = StoredHead {
        at: trusted.at.to_string(),
        branch: trusted.branch.clone(),
        end: StoredEnd::from(&trusted.head),
        path: trusted.path.display().to_string(),
        repository: trusted.repository.as_ref().map(|dir| dir.display().to_string()),
    };
    let exchange = || -> io::Result<()> {
        let text = serde_json::to_string(&stored).map_err(io::Error::other)? + "\n";
        let temporary = dir.join(TEMPORARY);
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        let name = temporary.to_string_lossy();
        let written = disk
            .write(&file, &name, 0, text.as_bytes())
            .and_then(|()| Ok(disk.sync(&file, &name)?));
        let named = written.and_then(|()| Ok(disk.rename_outside(&temporary, &dir.join(NAME))?));
        named.inspect_err(|_| {
            let _ = fs::remove_file(&temporary);
        })?;
        Ok(disk.sync(File::open(dir)?, &dir.to_string_lossy())?)
    };
    exchange().map_err(TrustError::io("write", dir))
}

/// Removes a trusted head, its intent record, and the tails of the change log; returns true if
/// there was a trusted head.
pub(super) fn remove(dir: &Path) -> Result<bool, TrustError> {
    let remove = |name| match fs::remove_file(dir.join(name)) {
        Ok(()) => Ok(true),
        Err(why) if is_absent(&why) => Ok(false),
        Err(why) => Err(TrustError::io("remove", dir)(why)),
    };
    remove(intent::NAME)?;
    remove(outside::CHANGES)?;
    remove(NAME)
}

/// Returns true if there is an intent record next to a trusted head.
pub(super) fn has_intent(dir: &Path) -> bool {
    dir.join(intent::NAME).exists()
}

/// Removes a folder with its trusted head, under its lock.
pub(super) fn remove_folder(dir: &Path, patience: Duration) -> Result<(), TrustError> {
    let _turn = take_turn(dir, patience)?;
    fs::remove_dir_all(dir).map_err(TrustError::io("remove", dir))
}

/// Returns true if the file or its folder is missing.
fn is_absent(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
