//! A writer's intent: upon which end of the log it begins an event, at what instant, and the hash of
//! the checkpoint that it makes. It is beside the trusted head, is durable before the event's first
//! byte is in the vault, and ends when the event is complete.
//!
//! It alone distinguishes what an interrupted writer left from a truncated log (VER-30). The
//! trusted head by itself cannot say that: one that is merely old, because another user published
//! since, looks the same when the log is cut back to it.

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

/// The file in a vault's folder of state.
pub(super) const NAME: &str = "intent.json";
/// Its length. It is overwritten in place, so that one wait for the disk is enough; what a power
/// cut tears there is no intent, and nothing was written for it.
const LENGTH: usize = 1024;

/// What a writer is about to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The end of the log that its event follows.
    pub upon: Head,
    /// Its event.
    pub event: EventKey,
    /// The hash of the checkpoint that it makes; `None` for a step of a review, which makes none.
    pub makes: Option<Digest>,
}

/// An event that was committed, and that its writer did not complete.
#[derive(Clone, Debug)]
pub struct Incomplete {
    /// The intent record.
    pub intent: Intent,
    /// The folder of state that holds it.
    pub dir: PathBuf,
}

impl Incomplete {
    /// The checkpoint that the event made.
    pub fn checkpoint(&self) -> CheckpointNumber {
        self.intent.upon.checkpoint.next()
    }
}

impl Intent {
    /// Whether the log has exactly the checkpoint that the event makes: its hash, at its place.
    /// `hash_of` returns the hash of a checkpoint of the log.
    pub fn is_committed(&self, hash_of: impl Fn(CheckpointNumber) -> Option<Digest>) -> bool {
        self.makes.is_some() && self.makes == hash_of(self.upon.checkpoint.next())
    }
}

/// What every entry has that one event records, and no entry of another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventKey {
    /// The instant.
    pub at: Timestamp,
    /// Who acts; an event of two people may have the same instant.
    pub by: String,
}

impl fmt::Display for EventKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.by, self.at)
    }
}

impl EventKey {
    /// The event that recorded an entry, or the step of a review.
    pub fn of(entry: &Entry) -> Self {
        let at = entry.event_at().unwrap_or(entry.edited_at);
        Self { at, by: entry.edited_by.clone() }
    }
}

/// An intent as it is written.
#[derive(Serialize, Deserialize)]
struct StoredIntent {
    event: String,
    by: String,
    #[serde(flatten)]
    upon: StoredEnd,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    makes: Option<String>,
}

/// The intents that are next to what is trusted for a vault, that of what is checked out first: a
/// writer may have been interrupted before another branch was checked out. One that cannot be read
/// is none, nor is one upon another end than the trusted head beside it: its event is over.
pub fn intents(vault: &Vault) -> Vec<Intent> {
    let live = |dir: PathBuf| {
        let intent = read(&dir.join(NAME))?;
        let trusted = stored::read(&dir).ok()??;
        (trusted.head == intent.upon).then_some(intent)
    };
    folders(vault).filter_map(live).collect()
}

/// The events that writers of this user committed here and did not complete, that of what is checked
/// out first; see [`Intent::is_committed`].
pub fn incomplete(
    vault: &Vault,
    hash_of: impl Fn(CheckpointNumber) -> Option<Digest>,
) -> Vec<Incomplete> {
    let read = |dir: PathBuf| Some(Incomplete { intent: read(&dir.join(NAME))?, dir });
    let found = folders(vault).filter_map(read);
    found.filter(|found| found.intent.is_committed(&hash_of)).collect()
}

/// The event that a writer began here upon exactly this end of the log, and did not bring to an
/// end. Its entries, and what is torn, are uncommitted; nothing else is.
pub fn interrupted(vault: &Vault, end: &Head) -> Option<EventKey> {
    let upon_it = intents(vault).into_iter().find(|intent| intent.upon == *end);
    upon_it.map(|intent| intent.event)
}

/// Leaves word, durable, of the event that begins. Only the holder of the write lock may, after
/// what a former writer left is cleared away: its intent is gone then.
///
/// # Errors
/// It could not be written. The event may go on; what it leaves if it dies then needs
/// `ctx recover --force`.
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
    // A new name is durable when the folders above it are.
    let above = dir.ancestors().take_while(|above| is_new && above.starts_with(home));
    for folder in above {
        disk.sync(File::open(folder)?, &folder.to_string_lossy())?;
    }
    Ok(())
}

/// Takes the word of some events back: what they left has been cleared away, or they are over and
/// cannot be recorded. What cannot be taken back excuses nothing but entries of that one instant.
pub fn withdraw(vault: &Vault, is_over: impl Fn(&Intent) -> bool) {
    end(vault, is_over, true);
}

/// Ends the intent records of events that are complete. The disk is not waited for: a record that a
/// power cut brings back excuses only what is missing of that event.
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

/// Puts a text in the place of the one that is there.
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
