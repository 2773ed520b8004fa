//! One writer at a time: an operating-system lock, which a dead holder cannot keep.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::time::{Duration, Instant};

use super::files::{FileError, Files};
use super::layout;

/// The right to write; given back when dropped.
#[must_use = "the lock is released when this is dropped"]
#[derive(Debug)]
pub struct WriteLock {
    _file: File,
}

/// Why the lock was not had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process writes.
    #[error("another command is writing to this vault ({holder})")]
    Held {
        /// What the holder wrote about itself.
        holder: String,
    },
    /// The lock file could not be made or opened.
    #[error(transparent)]
    File(#[from] FileError),
}

/// How long a command waits for another writer.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(15);

/// Takes the write lock, waiting up to ten seconds for another writer.
pub(super) fn acquire(files: &Files) -> Result<WriteLock, LockError> {
    let began = Instant::now();
    if !files.exists(layout::LOCAL_DIR) && !files.exists(layout::CONTEXT_GITIGNORE) {
        // A vault that another tool made: git must not take our lock file for content. If this
        // cannot be written, the lock below says why.
        let text = layout::CONTEXT_GITIGNORE_TEXT.as_bytes();
        let _ = files.create_new(layout::CONTEXT_GITIGNORE, text);
    }
    loop {
        let mut file = files.open_lock_file(layout::LOCK)?;
        match file.try_lock() {
            Ok(()) => {
                files.clear_temporaries();
                // Told to those who wait; nobody believes it.
                let _ = file.set_len(0);
                let _ = writeln!(file, "process {}", std::process::id());
                return Ok(WriteLock { _file: file });
            }
            Err(TryLockError::WouldBlock) if began.elapsed() < PATIENCE => {
                std::thread::sleep(PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.seek(SeekFrom::Start(0));
                let _ = file.take(200).read_to_string(&mut holder);
                let holder = holder.trim().escape_debug().to_string();
                return Err(LockError::Held { holder });
            }
            Err(TryLockError::Error(source)) => {
                let path = layout::LOCK.to_owned();
                return Err(FileError::Io { action: "lock", path, source }.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_clears_away_what_a_dead_one_left() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        for name in [".context/local/.a.md.1-0.ctx-tmp", ".context/local/other"] {
            files.create_new(name, b"x").unwrap();
        }
        drop(acquire(&files).unwrap());
        assert!(!files.exists(".context/local/.a.md.1-0.ctx-tmp"));
        assert!(files.exists(".context/local/other"));
    }

    #[test]
    fn a_dropped_lock_can_be_taken_again() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        let first = acquire(&files).unwrap();
        let second = files.open_lock_file(layout::LOCK).unwrap();
        assert!(matches!(second.try_lock(), Err(TryLockError::WouldBlock)));
        drop(first);
        drop(acquire(&files).unwrap());
    }
}
