//! The intent record of a writer: the end of the log that its event follows, the time of the event,
//! and the hash of its checkpoint. The record is next to the trusted head. It is durable before the
//! event's first byte is in the vault, and ends when the event is complete.
//!
//! Only this record distinguishes uncommitted files of an interrupted writer from a truncated log
//! (VER-30). The trusted head cannot: if it is merely old, because another user published since, it
//! looks the same after the log was truncated to it.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::Head;
use super::heads;
use super::stored::{self, StoredEnd};
use crate::files::vault::Vault;
use crate::files::vault::disk::Disk;
use crate::files::vault::outside::{self, StateFolder};
use crate::record::chain::history::Entry;
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;

/// Name of the file in a vault's folder of state.
pub(super) const NAME: &str = "intent.json";
/// Length of the file in bytes. It is overwritten in place, so that one sync is sufficient. A
/// record that a power cut tears is not an intent, and no file was written for it.
const LENGTH: usize = 1024;

/// The event that a writer is about to commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The end of the log that its event follows.
    pub upon: Head,
    /// The time and the principal of the event.
    pub event: EventKey,
    /// The hash of the checkpoint that the event makes; `None` for a step of a review.
    pub makes: Option<Digest>,
}

/// An event that was committed, but not completed by its writer.
#[derive(Clone, Debug)]
pub struct Incomplete {
    /// The intent record.
    pub intent: Intent,
    /// The folder of state that contains the record.
    pub dir: PathBuf,
}

impl Incomplete {
    /// Returns the checkpoint that the event made.
    pub fn checkpoint(&self) -> CheckpointNumber {
        self.intent.upon.checkpoint.next()
    }
}

impl Intent {
    /// Returns true if the log has exactly the checkpoint that the event makes: its hash, at its
    /// number. `hash_of` returns the hash of a checkpoint of the log.
    pub fn is_committed(&self, hash_of: impl Fn(CheckpointNumber) -> Option<Digest>) -> bool {
        self.makes.is_some() && self.makes == hash_of(self.upon.checkpoint.next())
    }
}

/// The time and principal that all entries of one event share, and no entry of another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventKey {
    /// The time of the event.
    pub at: Timestamp,
    /// The principal; events of two principals may have the same time.
    pub by: String,
}

impl fmt::Display for EventKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.by, self.at)
    }
}

impl EventKey {
    /// Returns the key of the event, or step of a review, that recorded an entry.
    pub fn of(entry: &Entry) -> Self {
        let at = entry.event_at().unwrap_or(entry.edited_at);
        Self { at, by: entry.edited_by.clone() }
    }
}

/// An intent record as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredIntent {
    event: String,
    by: String,
    #[serde(flatten)]
    upon: StoredEnd,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    makes: Option<String>,
}

/// Returns the intents next to the trusted heads of a vault, first that of the checked-out ref: a
/// writer may have been interrupted before another branch was checked out. A record that cannot be
/// read is ignored, as is one for another end of the log than the trusted head next to it, because
/// its event is over.
pub fn intents(vault: &Vault) -> Vec<Intent> {
    let live = |dir: PathBuf| {
        let intent = read(&dir.join(NAME))?;
        let trusted = stored::read(&dir).ok()??;
        (trusted.head == intent.upon).then_some(intent)
    };
    folders(vault).filter_map(live).collect()
}

/// Returns the events that writers of this user committed here but did not complete, first that of
/// the checked-out ref; see [`Intent::is_committed`].
pub fn incomplete(
    vault: &Vault,
    hash_of: impl Fn(CheckpointNumber) -> Option<Digest>,
) -> Vec<Incomplete> {
    let read = |dir: PathBuf| Some(Incomplete { intent: read(&dir.join(NAME))?, dir });
    let found = folders(vault).filter_map(read);
    found.filter(|found| found.intent.is_committed(&hash_of)).collect()
}

/// Returns the event that a writer began at exactly this end of the log, but did not complete. Only
/// its entries and torn ends are uncommitted.
pub fn interrupted(vault: &Vault, end: &Head) -> Option<EventKey> {
    let upon_it = intents(vault).into_iter().find(|intent| intent.upon == *end);
    upon_it.map(|intent| intent.event)
}

/// Records and syncs the intent of an event. Only the holder of the write lock may do so, after the
/// uncommitted files of a former writer were moved away and its intent withdrawn.
///
/// # Errors
/// Fails if the record could not be written. The event may continue; if it is interrupted, its
/// uncommitted files then need `ctx recover --force`.
pub fn intend(vault: &Vault, intent: &Intent) -> io::Result<()> {
    let Some(StateFolder { home, dir, .. }) = vault.state() else {
        return Ok(());
    };
    let Intent { upon, event, makes } = intent;
    let stored = StoredIntent {
        event: event.at.to_string(),
        by: event.by.clone(),
        upon: StoredEnd::from(upon),
        makes: makes.map(|hash| hash.to_string()),
    };
    let text = serde_json::to_string(&stored).map_err(io::Error::other)?;
    let (disk, path) = (vault.files().disk(), dir.join(NAME));
    let file = match open(&path)? {
        Some(file) => file,
        None => {
            outside::make_private(dir)?;
            disk.create_outside(&path)?
        }
    };
    let is_new = file.metadata()?.len() < LENGTH as u64;
    overwrite(disk, &file, &path, &text)?;
    disk.sync(&file, &path.to_string_lossy())?;
    // A new name is durable only if the folders above it are.
    let above = dir.ancestors().take_while(|above| is_new && above.starts_with(home));
    for folder in above {
        disk.sync(File::open(folder)?, &folder.to_string_lossy())?;
    }
    Ok(())
}

/// Withdraws the intents of events whose uncommitted files were moved away, or which are over and
/// cannot be recorded. An intent that remains excuses only entries of that one event.
pub fn withdraw(vault: &Vault, is_over: impl Fn(&Intent) -> bool) {
    end(vault, is_over, true);
}

/// Ends the intent records of completed events, without a sync: a record that a power cut restores
/// excuses only missing parts of that event.
pub fn complete(vault: &Vault, is_complete: impl Fn(&Intent) -> bool) {
    end(vault, is_complete, false);
}

fn end(vault: &Vault, is_over: impl Fn(&Intent) -> bool, is_durable: bool) {
    let disk = vault.files().disk();
    for path in folders(vault).map(|dir| dir.join(NAME)) {
        if read(&path).is_some_and(|intent| is_over(&intent))
            && let Ok(Some(file)) = open(&path)
            && overwrite(disk, &file, &path, "null").is_ok()
            && is_durable
        {
            let _ = disk.sync(&file, &path.to_string_lossy());
        }
    }
}

fn folders(vault: &Vault) -> impl Iterator<Item = PathBuf> {
    let folders = vault.state().map(|state| heads::folders(state, vault.root()));
    folders.into_iter().flatten()
}

fn open(path: &Path) -> io::Result<Option<File>> {
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    match OpenOptions::new().write(true).custom_flags(flags).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why),
    }
}

/// Replaces the text of the file.
fn overwrite(disk: &Disk, file: &File, path: &Path, text: &str) -> io::Result<()> {
    let name = path.to_string_lossy();
    let padded = format!("{text:<width$}\n", width = LENGTH - 1);
    disk.write(file, &name, 0, padded.as_bytes())
}

fn read(path: &Path) -> Option<Intent> {
    let mut text = String::new();
    File::open(path).ok()?.take(LENGTH as u64).read_to_string(&mut text).ok()?;
    let stored: StoredIntent = serde_json::from_str(&text).ok()?;
    let event = EventKey { at: stored.event.parse().ok()?, by: stored.by };
    let makes = stored.makes.map(|hash| hash.parse()).transpose().ok()?;
    Some(Intent { upon: stored.upon.head().ok()?, event, makes })
}
