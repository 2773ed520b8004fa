//! The lock that allows one writer at a time: an operating-system lock, which ends with
//! its process.
//!
//! There are two locks: on a file that describes the holder, and on the vault's own folder, which
//! users do not delete as they may delete the file.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::files::{FileError, Files};
use crate::values::model::layout;

/// The right to write, which is released on drop.
#[must_use = "the lock is released when this is dropped"]
#[derive(Debug)]
pub struct WriteLock {
    _file: File,
    _folder: File,
    held: Holder,
}

/// The thread that holds the lock of a vault, so that no thread waits for itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Holder(Arc<Mutex<Option<ThreadId>>>);

impl Holder {
    fn set(&self, thread: Option<ThreadId>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = thread;
    }

    /// Returns true if the calling thread holds the lock.
    pub(super) fn is_this_thread(&self) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) == Some(thread::current().id())
    }
}

impl WriteLock {
    /// Returns the lock after recording the current thread as its holder.
    pub(super) fn held_by(mut self, holder: &Holder) -> Self {
        holder.set(Some(thread::current().id()));
        self.held = holder.clone();
        self
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        self.held.set(None);
    }
}

/// A guard that makes writers wait until it is dropped.
#[must_use = "writers begin when this is dropped"]
#[derive(Debug)]
pub struct HeldOff {
    _folder: Option<File>,
    /// True if a writer was at work.
    pub was_busy: bool,
}

/// The reason why the lock was not acquired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process is writing.
    #[error("another command is writing to this vault ({holder})")]
    Held {
        /// Description that the holder wrote of itself.
        holder: String,
    },
    /// The lock file cannot be created or opened.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Time that a command waits for another writer, unless an option sets another.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Number of bytes of a lock file that are shown.
const SHOWN: u64 = 200;

/// Takes the write lock and waits up to `patience` for another writer. `who` is shown to processes
/// that wait; no command trusts it.
pub(crate) fn acquire(
    files: &Files,
    patience: Duration,
    who: &str,
) -> Result<WriteLock, LockError> {
    let began = Instant::now();
    if !files.exists(layout::LOCAL_DIR) && !files.exists(layout::CONTEXT_GITIGNORE) {
        // In a vault that another tool made, git must not track our lock file. If this write fails,
        // the lock below reports why.
        let text = layout::CONTEXT_GITIGNORE_TEXT.as_bytes();
        let _ = files.create_new(layout::CONTEXT_GITIGNORE, text);
    }
    loop {
        let rest = || patience.saturating_sub(began.elapsed());
        let mut file = locked(files, files.open_lock_file(layout::LOCK)?, rest())?;
        // If another process removed or replaced the file, other writers lock the new one.
        if !is_at(&file, files) {
            continue;
        }
        let folder = locked(files, files.open_root()?, rest())?;
        let _ = file.set_len(0);
        let _ = writeln!(file, "process {}, {who}", std::process::id());
        return Ok(WriteLock { _file: file, _folder: folder, held: Holder::default() });
    }
}

/// Locks a file, or waits up to `patience` until it is free.
fn locked(files: &Files, file: File, patience: Duration) -> Result<File, LockError> {
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            wait_for(file, File::lock, patience).ok_or_else(|| held(files))
        }
        Err(TryLockError::Error(source)) => {
            let path = layout::LOCK.to_owned();
            Err(FileError::Io { action: "lock", path, source }.into())
        }
    }
}

/// Waits for the lock of a file; `None` after `patience`.
///
/// The kernel wakes a process that waits, but cannot time out. So a thread waits, and releases the
/// lock if the caller has given up.
fn wait_for(file: File, lock: fn(&File) -> io::Result<()>, patience: Duration) -> Option<File> {
    if patience.is_zero() {
        return None;
    }
    let (give, take) = mpsc::channel();
    let wait = move || {
        if lock(&file).is_ok() {
            let _ = give.send(file);
        }
    };
    thread::Builder::new().spawn(wait).ok()?;
    take.recv_timeout(patience).ok()
}

/// Locks a file that other processes lock in turn, until it is dropped. On a file system without
/// locks, no process waits.
///
/// # Errors
/// Another process has had the lock for longer than `patience`.
pub(crate) fn turn(file: File, patience: Duration) -> io::Result<File> {
    match file.try_lock() {
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
        Err(TryLockError::WouldBlock) => wait_for(file, File::lock, patience).ok_or_else(|| {
            let seconds = patience.as_secs();
            let why = format!("another process has held its lock for more than {seconds} s");
            io::Error::new(io::ErrorKind::TimedOut, why)
        }),
    }
}

/// Makes the error with the description that the holder wrote of itself.
fn held(files: &Files) -> LockError {
    let mut holder = String::new();
    if let Ok(file) = files.open_lock_file(layout::LOCK) {
        let _ = file.take(SHOWN).read_to_string(&mut holder);
    }
    LockError::Held { holder: holder.trim().escape_debug().to_string() }
}

/// Keeps writers from beginning, and waits up to `patience` for the one that is at work.
pub(super) fn hold_off(files: &Files, patience: Duration) -> HeldOff {
    let Ok(folder) = files.open_root() else {
        return HeldOff { _folder: None, was_busy: false };
    };
    match folder.try_lock_shared() {
        Ok(()) => HeldOff { _folder: Some(folder), was_busy: false },
        Err(TryLockError::WouldBlock) => {
            HeldOff { _folder: wait_for(folder, File::lock_shared, patience), was_busy: true }
        }
        Err(TryLockError::Error(_)) => HeldOff { _folder: None, was_busy: false },
    }
}

impl HeldOff {
    /// The guard for the writer itself: no other process can begin anyway.
    pub(super) const BY_ITSELF: Self = Self { _folder: None, was_busy: false };
}

/// Returns true if the path of the lock file still names the opened file.
fn is_at(file: &File, files: &Files) -> bool {
    let identity = file.metadata().map(|meta| (meta.dev(), meta.ino()));
    identity.is_ok_and(|identity| files.identity(layout::LOCK) == Some(identity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::vault::Vault;
    use std::sync::atomic::{AtomicU32, Ordering};

    const NONE: Duration = Duration::ZERO;

    #[test]
    fn lock_can_be_taken_again_after_drop() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        let first = acquire(&files, NONE, "the first").unwrap();
        let Err(LockError::Held { holder }) = acquire(&files, NONE, "the second") else {
            panic!("two hold it")
        };
        assert_eq!(holder, format!("process {}, the first", std::process::id()));
        drop(first);
        drop(acquire(&files, NONE, "the second").unwrap());
    }

    #[test]
    fn turn_times_out_while_another_process_keeps_it() {
        let dir = tempfile::tempdir().unwrap();
        let open = || File::create(dir.path().join("log")).unwrap();
        let kept = turn(open(), NONE).unwrap();
        for patience in [NONE, Duration::from_millis(20)] {
            let why = turn(open(), patience).unwrap_err();
            assert_eq!(why.kind(), io::ErrorKind::TimedOut);
            assert_eq!(why.to_string(), "another process has held its lock for more than 0 s");
        }
        drop(kept);
        // A process that another test starts also has the open file for a moment.
        drop(turn(open(), Duration::from_secs(20)).unwrap());
    }

    #[test]
    fn hold_off_does_not_wait_for_its_own_thread() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".context")).unwrap();
        let vault = Vault::open(dir.path()).unwrap().with_patience(Duration::from_millis(5));
        let lock = vault.lock("").unwrap();
        assert!(!vault.hold_off_writers().was_busy);
        thread::scope(|scope| {
            assert!(scope.spawn(|| vault.hold_off_writers().was_busy).join().unwrap());
        });
        drop(lock);
        let other = Vault::open(dir.path()).unwrap();
        let _lock = other.lock("").unwrap();
        assert!(vault.hold_off_writers().was_busy, "another one holds it now");
    }

    #[test]
    fn replaced_lock_files_are_detected() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        let path = dir.path().join(layout::LOCK);
        drop(acquire(&files, NONE, "").unwrap());
        let opened = files.open_lock_file(layout::LOCK).unwrap();
        assert!(is_at(&opened, &files));
        std::fs::remove_file(&path).unwrap();
        assert!(!is_at(&opened, &files), "there is none");
        let held = acquire(&files, NONE, "").unwrap();
        assert!(!is_at(&opened, &files), "another has its name");
        drop(held);
    }

    #[test]
    fn lock_survives_the_removal_of_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        let first = acquire(&files, NONE, "the first").unwrap();
        std::fs::remove_file(dir.path().join(layout::LOCK)).unwrap();
        assert!(acquire(&files, NONE, "the second").is_err());
        drop(first);
        drop(acquire(&files, NONE, "the second").unwrap());
    }

    #[test]
    fn lock_does_not_write_to_a_hard_link_of_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        drop(acquire(&files, NONE, "").unwrap());
        let (lock, other) = (dir.path().join(layout::LOCK), dir.path().join("draft.md"));
        std::fs::remove_file(&lock).unwrap();
        files.create_new("draft.md", b"mine\n").unwrap();
        std::fs::hard_link(&other, &lock).unwrap();
        let held = acquire(&files, NONE, "the first").unwrap();
        assert!(acquire(&files, NONE, "the second").is_err());
        assert_eq!(files.read("draft.md", 100).unwrap(), b"mine\n");
        drop(held);
    }

    #[test]
    fn lock_survives_a_hard_link_to_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        let first = acquire(&files, NONE, "the first").unwrap();
        std::fs::hard_link(dir.path().join(layout::LOCK), dir.path().join("copy")).unwrap();
        assert!(acquire(&files, NONE, "the second").is_err());
        drop(first);
        drop(acquire(&files, NONE, "the second").unwrap());
    }

    #[test]
    fn lock_goes_to_a_waiting_thread_and_not_to_one_that_gave_up() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        let first = acquire(&files, NONE, "the first").unwrap();
        thread::scope(|scope| {
            let waits = scope.spawn(|| acquire(&files, PATIENCE, "the second").is_ok());
            thread::sleep(Duration::from_millis(20));
            assert!(!waits.is_finished());
            drop(first);
            assert!(waits.join().unwrap());
        });
        let second = acquire(&files, PATIENCE, "the second").unwrap();
        assert!(acquire(&files, Duration::from_millis(5), "the third").is_err());
        assert!(hold_off(&files, Duration::from_millis(5)).was_busy);
        drop(second);
        drop(acquire(&files, PATIENCE, "the fourth").unwrap());
    }

    #[test]
    fn lock_excludes_threads_of_one_process() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, turns) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let files = Files::open(dir.path()).unwrap();
                    for _ in 0..20 {
                        let lock = acquire(&files, PATIENCE, "").unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        thread::yield_now();
                        assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                        turns.fetch_add(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert_eq!(turns.into_inner(), 160);
    }
}
