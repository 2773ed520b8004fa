//! The remembered head: the end of each vault's log as this user last saw it, kept outside of the
//! vault, where whoever writes to the vault cannot reach it (`spec/verify.md`, section 4).
//!
//! A log only grows. One that no longer holds the remembered checkpoint was put back
//! ([`Lost::Rollback`]); one that has another in its place was written anew
//! ([`Lost::Fork`]). Writers compare before they write, a verifier reports. Each place of a
//! vault on disk, and each branch that git has checked out there, is a memory of its own.

mod intent;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::chain::digest::Digest;
use crate::checkpoint::chronicle::Chronicle;
use crate::checkpoint::fault::LogError;
use crate::checkpoint::log::{Checkpoint, Log, path_of as log_path};
use crate::vault::Vault;
use crate::vault::clock::Timestamp;
use crate::vault::disk::Disk;
use crate::vault::files::FileError;
use crate::vault::outside::{self, State};
use crate::vault::write::Written;

pub use intent::{Intent, Interrupted, intend, intent, interrupted, withdraw};

/// The file in a vault's folder of state.
const NAME: &str = "head.json";
/// More than a memory of the longest path has.
const LIMIT: u64 = 64 << 10;

/// The end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of the last checkpoint; 0 where there is none.
    pub checkpoint: u64,
    /// Its hash, and that of checkpoint 1; none where there is no checkpoint.
    pub hashes: Option<Hashes>,
}

/// The two ends of a log that has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hashes {
    /// The hash of checkpoint 1.
    pub genesis: Digest,
    /// The hash of the last checkpoint.
    pub last: Digest,
}

/// A head that is remembered, and of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// The canonical path of the vault.
    pub path: PathBuf,
    /// What git had checked out there: a ref, or a commit; none without git.
    pub branch: Option<String>,
    /// The repository's folder; none without git.
    pub repository: Option<PathBuf>,
    /// The head.
    pub head: Head,
    /// When it was remembered.
    pub at: Timestamp,
}

/// Why a log does not follow from what is known of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The log no longer has the known checkpoint.
    #[error("checkpoint {checkpoint} ({}) is remembered here, but the log ends at checkpoint {last}", hash.short())]
    Rollback {
        /// The known checkpoint.
        checkpoint: u64,
        /// Its hash.
        hash: Digest,
        /// The last checkpoint of the log.
        last: u64,
    },
    /// The log has another checkpoint in the place of a known one.
    #[error("checkpoint {checkpoint} is remembered here as {}, but the log has {}", expected.short(), found.short())]
    Fork {
        /// The checkpoint.
        checkpoint: u64,
        /// As it is known.
        expected: Digest,
        /// In the log.
        found: Digest,
    },
}

/// Why a writer does not extend a log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeadError {
    /// It does not hold the remembered head.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// What is remembered cannot be read.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// Why a memory could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The system refused.
    #[error("cannot {action} the remembered head in `{}`: {source}", path.display())]
    Io {
        /// The verb: `read`, `write`, `remove`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The file does not say what we write.
    #[error("the remembered head in `{}` cannot be read: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl MemoryError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

impl Head {
    /// The end of a log with nothing in it.
    pub const NONE: Self = Self { checkpoint: 0, hashes: None };

    /// The end of a log without fault.
    pub fn of(chronicle: &Chronicle<'_>) -> Self {
        let first = chronicle.checkpoints().first();
        let hashes = first
            .zip(chronicle.head())
            .map(|(first, last)| Hashes { genesis: first.hash, last: last.hash });
        Self { checkpoint: chronicle.head_number(), hashes }
    }

    /// The end of the log after one more checkpoint.
    pub fn after(chronicle: &Chronicle<'_>, next: &Checkpoint) -> Self {
        let genesis = chronicle.checkpoints().first().map_or(next.hash, |first| first.hash);
        let hashes = Some(Hashes { genesis, last: next.hash });
        Self { checkpoint: next.number, hashes }
    }

    /// Whether a log that ends at checkpoint `last`, and whose checkpoints have the hashes that
    /// `hash_of` gives, still holds this head.
    ///
    /// # Errors
    /// The first thing that is lost.
    pub fn is_held(&self, last: u64, hash_of: impl Fn(u64) -> Option<Digest>) -> Result<(), Lost> {
        let Some(known) = self.hashes else {
            return Ok(());
        };
        for (checkpoint, expected) in [(1, known.genesis), (self.checkpoint, known.last)] {
            if let Some(found) = hash_of(checkpoint).filter(|found| *found != expected) {
                return Err(Lost::Fork { checkpoint, expected, found });
            }
        }
        match hash_of(self.checkpoint) {
            Some(_) => Ok(()),
            None => {
                let (checkpoint, hash) = (self.checkpoint, known.last);
                Err(Lost::Rollback { checkpoint, hash, last })
            }
        }
    }
}

/// What is remembered of a vault, of what is checked out first; nothing where there is no memory, or no
/// place for one. A branch is another only within one repository: what was remembered when there was
/// none, or another one, holds whatever is checked out. Else who may write to the vault could plant a
/// repository, and take the memory that was made meanwhile away with it.
///
/// # Errors
/// There is a memory that cannot be read, so that nobody can say what it held.
pub fn recall(vault: &Vault) -> Result<Vec<Remembered>, MemoryError> {
    let Some(state) = vault.state() else { return Ok(Vec::new()) };
    let mut memories = Vec::from_iter(read(&state.dir)?);
    for dir in other_folders(vault, state) {
        let memory = read(&dir)?.filter(|memory| memory.path == vault.root());
        memories.extend(memory.filter(|memory| memory.repository != state.repository));
    }
    Ok(memories)
}

/// The number of the last checkpoint that is remembered of a vault; none where nothing is.
///
/// # Errors
/// As [`recall`].
pub fn last_remembered(vault: &Vault) -> Result<Option<usize>, MemoryError> {
    let last = recall(vault)?.iter().map(|memory| memory.head.checkpoint).max();
    Ok(last.map(|last| usize::try_from(last).unwrap_or(usize::MAX)))
}

/// Whether anything is remembered of what is checked out now.
pub fn is_remembered(vault: &Vault) -> bool {
    vault.state().is_some_and(|state| read(&state.dir).is_ok_and(|memory| memory.is_some()))
}

/// The folders of the same path with something else checked out, in the order of their names.
fn other_folders(vault: &Vault, state: &State) -> Vec<PathBuf> {
    let key = outside::key_of(vault.root());
    let is_ours = |dir: &PathBuf| {
        *dir != state.dir
            && dir
                .file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(key.as_bytes()))
    };
    let mut found: Vec<PathBuf> = all_folders(&state.home).filter(is_ours).collect();
    found.sort_unstable();
    found
}

/// The latest head that is remembered of the same path and repository with something else checked out,
/// and that this log does not hold.
pub fn elsewhere(vault: &Vault, is_held: impl Fn(&Head) -> bool) -> Option<Remembered> {
    let state = vault.state()?;
    let others = other_folders(vault, state).into_iter();
    let others = others.filter_map(|dir| read(&dir).ok().flatten());
    let others = others
        .filter(|memory| memory.path == vault.root() && memory.repository == state.repository);
    others.filter(|memory| !is_held(&memory.head)).max_by_key(|memory| memory.head.checkpoint)
}

/// Reads the log of a vault. An end that is no entry is torn where a writer began an event right
/// before it that it did not bring to an end; else it is a fault of the log.
///
/// # Errors
/// As [`Log::read`].
pub fn read_log(vault: &Vault) -> Result<Log, FileError> {
    let mut log = Log::read(vault)?;
    log.excuse_end(|checkpoint, ends| {
        let hashes = ends.map(|(first, last)| Hashes { genesis: first.hash, last: last.hash });
        interrupted(vault, &Head { checkpoint, hashes }).is_some()
    });
    Ok(log)
}

/// Reads the log of a vault for those who rely on it. Where it seems to be lost, the first event of a
/// new vault may be under way: that is looked at again when no writer is at work.
///
/// # Errors
/// As [`open_log_locked`].
pub fn open_log(vault: &Vault) -> Result<Log, LogError> {
    match open_log_locked(vault) {
        Err(LogError::Missing { .. }) => {
            let _held_off = vault.hold_off_writers();
            open_log_locked(vault)
        }
        other => other,
    }
}

/// The same for the holder of the write lock.
///
/// # Errors
/// It cannot be read, or is empty though versions were published: what the first event of a new
/// vault left is none of that.
pub fn open_log_locked(vault: &Vault) -> Result<Log, LogError> {
    let log = read_log(vault)?;
    if !(log.is_blank() && interrupted(vault, &Head::NONE).is_some()) {
        log.check_against_histories(vault)?;
    }
    Ok(log)
}

/// Refuses a log that does not hold the remembered head.
///
/// # Errors
/// See [`HeadError`].
pub fn check(vault: &Vault, chronicle: &Chronicle<'_>) -> Result<(), HeadError> {
    let hash_of = |number| chronicle.checkpoint(number).ok().map(|checkpoint| checkpoint.hash);
    for known in recall(vault)? {
        known.head.is_held(chronicle.head_number(), hash_of)?;
    }
    Ok(())
}

/// Remembers a head that holds the one remembered before it. What is known of a later checkpoint,
/// from a writer that was quicker, stays.
///
/// # Errors
/// It could not be written.
pub fn advance(vault: &Vault, head: &Head, now: Timestamp) -> Result<(), MemoryError> {
    // Readers remember too, beside a writer: the later head is to stay.
    let _turn = vault.state().and_then(|state| wait_for_turn(&state.dir));
    let known = vault.state().map_or(Ok(None), |state| read(&state.dir))?;
    match known {
        Some(known) if known.head == *head || known.head.checkpoint > head.checkpoint => Ok(()),
        _ => remember(vault, head, now),
    }
}

/// Remembers a head whatever was remembered before it. No event is under way upon it: what lies
/// beyond it may have been acknowledged.
///
/// # Errors
/// It could not be written.
pub fn trust(vault: &Vault, head: &Head, now: Timestamp) -> Result<(), MemoryError> {
    let memories = recall(vault).unwrap_or_default();
    if memories.iter().all(|memory| memory.head != *head) {
        withdraw(vault);
    }
    remember(vault, head, now)?;
    forget_other_repositories(vault).map(|_| ())
}

/// Forgets what holds although it was remembered when there was another repository, or none; says
/// whether there was anything.
fn forget_other_repositories(vault: &Vault) -> Result<bool, MemoryError> {
    let Some(state) = vault.state() else { return Ok(false) };
    let mut any = false;
    for dir in other_folders(vault, state) {
        let memory = read(&dir);
        // One that cannot be read is in the way of every writer.
        let holds = memory.as_ref().map_or(true, |memory| {
            memory.as_ref().is_some_and(|memory| {
                memory.path == vault.root() && memory.repository != state.repository
            })
        });
        any |= holds && remove(&dir)?;
    }
    Ok(any)
}

/// Remembers the empty log of a vault that was made just now. Without a repository there is no other
/// branch that anything could have been remembered of: it was another vault's, in the same place.
///
/// # Errors
/// It could not be written.
pub fn begin(vault: &Vault, now: Timestamp) -> Result<(), MemoryError> {
    if let Some(state) = vault.state().filter(|state| state.checked_out.is_none()) {
        forget_everywhere(&state.home, vault.root())?;
    }
    trust(vault, &Head::NONE, now)
}

fn remember(vault: &Vault, head: &Head, now: Timestamp) -> Result<(), MemoryError> {
    let Some(State { dir, checked_out, repository, .. }) = vault.state() else {
        return Ok(());
    };
    let stored = Stored {
        at: now.to_string(),
        branch: checked_out.clone(),
        end: StoredEnd::from(head),
        path: vault.root().display().to_string(),
        repository: repository.as_ref().map(|dir| dir.display().to_string()),
    };
    let path = dir.join(NAME);
    let text = serde_json::to_string(&stored).unwrap_or_default() + "\n";
    settle_log(vault)
        .and_then(|()| write(vault.files().disk(), dir, &path, text.as_bytes()))
        .map_err(MemoryError::io("write", &path))
}

/// Waits until nobody else compares and writes what is remembered in a folder, where there is one.
fn wait_for_turn(dir: &Path) -> Option<File> {
    let folder = File::open(dir).ok()?;
    rustix::fs::flock(&folder, FlockOperation::LockExclusive).ok()?;
    Some(folder)
}

/// Forgets what is remembered of a vault; says whether there was anything.
///
/// # Errors
/// It could not be removed.
pub fn forget(vault: &Vault) -> Result<bool, MemoryError> {
    let Some(state) = vault.state() else { return Ok(false) };
    let any = remove(&state.dir)?;
    Ok(forget_other_repositories(vault)? || any)
}

/// Forgets everything that is remembered of a path in the user's directory of state, whatever git
/// had checked out; says how many memories there were. The path need not exist.
///
/// # Errors
/// One could not be removed.
pub fn forget_everywhere(home: &Path, path: &Path) -> Result<usize, MemoryError> {
    let mut forgotten = 0;
    for dir in all_folders(home) {
        if read(&dir).ok().flatten().is_some_and(|memory| memory.path == path) {
            forgotten += usize::from(remove(&dir)?);
        }
    }
    Ok(forgotten)
}

/// The folders of all vaults in the user's directory of state.
fn all_folders(home: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(home.join(outside::OURS)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// Removes a memory and the intent beside it; says whether there was a memory.
fn remove(dir: &Path) -> Result<bool, MemoryError> {
    let remove = |name| {
        let path = dir.join(name);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(why) if is_absent(&why) => Ok(false),
            Err(why) => Err(MemoryError::io("remove", &path)(why)),
        }
    };
    remove(intent::NAME)?;
    remove(NAME)
}

/// Whether there is no such file, or no folder that could hold it.
fn is_absent(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Everything that is remembered in the user's directory of state, in the order of paths and
/// branches; with each memory that cannot be read, why.
pub fn all(home: &Path) -> (Vec<Remembered>, Vec<MemoryError>) {
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    for dir in all_folders(home) {
        match read(&dir) {
            Ok(memory) => found.extend(memory),
            Err(why) => unreadable.push(why),
        }
    }
    found.sort_by(|a, b| (&a.path, &a.branch).cmp(&(&b.path, &b.branch)));
    (found, unreadable)
}

/// A memory as it is written.
#[derive(Serialize, Deserialize)]
struct Stored {
    at: String,
    #[serde(rename = "ref")]
    branch: Option<String>,
    #[serde(flatten)]
    end: StoredEnd,
    path: String,
    repository: Option<String>,
}

/// The end of a log as it is written.
#[derive(Serialize, Deserialize)]
struct StoredEnd {
    checkpoint: u64,
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
    fn head(&self) -> Result<Head, String> {
        let hash = |text: &str| text.parse::<Digest>().map_err(|why| why.to_string());
        let hashes = match (self.checkpoint, &self.genesis, &self.checkpoint_hash) {
            (0, None, None) => None,
            (1.., Some(genesis), Some(last)) => {
                Some(Hashes { genesis: hash(genesis)?, last: hash(last)? })
            }
            _ => return Err("it names a checkpoint without its hash".to_owned()),
        };
        Ok(Head { checkpoint: self.checkpoint, hashes })
    }
}

/// The memory in a folder.
fn read(dir: &Path) -> Result<Option<Remembered>, MemoryError> {
    let path = &dir.join(NAME);
    let mut text = String::new();
    let opened = File::open(path);
    match opened.and_then(|file| file.take(LIMIT).read_to_string(&mut text)) {
        Ok(_) => {}
        Err(why) if is_absent(&why) => return Ok(None),
        Err(why) => return Err(MemoryError::io("read", path)(why)),
    }
    let unreadable = |why: String| MemoryError::Unreadable { path: path.to_owned(), why };
    let stored: Stored = serde_json::from_str(&text).map_err(|why| unreadable(why.to_string()))?;
    let head = stored.end.head().map_err(unreadable)?;
    let at = stored.at.parse().map_err(|_| unreadable(format!("`{}` is no time", stored.at)))?;
    let (path, branch) = (stored.path.into(), stored.branch);
    let repository = stored.repository.map(PathBuf::from);
    Ok(Some(Remembered { path, branch, repository, head, at }))
}

/// Waits until the log is durable: a checkpoint that is remembered and then lost in a power cut would
/// be told as a rollback.
fn settle_log(vault: &Vault) -> io::Result<()> {
    match vault.files().sync(&[Written::Longer(log_path(vault.log_form()))]) {
        Err(FileError::Io { source, .. })
            if !matches!(
                source.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Err(source)
        }
        _ => Ok(()),
    }
}

/// Puts a memory in the place of the one before, durable. Its bytes are so before it has its name, so
/// that a power cut leaves the one or the other.
fn write(disk: &Disk, dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    outside::make_private(dir)?;
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = dir.join(format!("{NAME}.{}-{n}", std::process::id()));
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    let name = temporary.to_string_lossy();
    let written = disk.write(&file, &name, 0, bytes).and_then(|()| Ok(disk.sync(&file, &name)?));
    let named = written.and_then(|()| Ok(disk.rename_outside(&temporary, path)?));
    named.inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })?;
    Ok(disk.sync(File::open(dir)?, &dir.to_string_lossy())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(of: &str, length: u64) -> Vec<Digest> {
        (1..=length).map(|n| Digest::of(format!("{of}{n}").as_bytes())).collect()
    }

    fn end(log: &[Digest]) -> Head {
        let hashes = log.first().zip(log.last());
        let hashes = hashes.map(|(first, last)| Hashes { genesis: *first, last: *last });
        Head { checkpoint: log.len() as u64, hashes }
    }

    fn held(known: Head, log: &[Digest]) -> String {
        let hash_of = |n: u64| log.get(usize::try_from(n).unwrap() - 1).copied();
        match known.is_held(log.len() as u64, hash_of) {
            Ok(()) => "held".to_owned(),
            Err(why) => why.to_string(),
        }
    }

    #[test]
    fn a_log_that_only_grew_holds_the_head() {
        assert_eq!(held(end(&[]), &log("a", 3)), "held");
        assert_eq!(held(end(&[]), &[]), "held");
        for length in 1..5 {
            assert_eq!(held(end(&log("a", length)), &log("a", 4)) == "held", length <= 4);
        }
    }

    #[test]
    fn a_shorter_log_was_put_back_and_another_one_is_a_fork() {
        let known = end(&log("a", 3));
        insta::assert_snapshot!(held(known, &log("a", 2)), @"checkpoint 3 (f46dd28a5499) is remembered here, but the log ends at checkpoint 2");
        insta::assert_snapshot!(held(known, &[]), @"checkpoint 3 (f46dd28a5499) is remembered here, but the log ends at checkpoint 0");
        insta::assert_snapshot!(held(known, &log("b", 2)), @"checkpoint 1 is remembered here as f55ff16f66f4, but the log has 7dc96f776c84");
        let mut other = log("a", 3);
        other[2] = Digest::of(b"other");
        insta::assert_snapshot!(held(known, &other), @"checkpoint 3 is remembered here as f46dd28a5499, but the log has d9298a10d1b0");
    }
}
