//! Temporary folders with copies of a vault.
//!
//! A process locks its folder while it lives. A folder of a killed process is thus recognised, and
//! removed when the next one is made. The lock is an advisory one on the folder itself, so that the
//! copy contains the same files as git.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use tempfile::TempDir;

/// The prefix of the name of each copy.
const PREFIX: &str = "ctx-staged-";
/// Maximum number of attempts if other processes remove the folder before it is locked.
const TRIES: usize = 8;

/// An empty folder for a copy, removed on drop.
#[derive(Debug)]
pub(super) struct Copy {
    folder: TempDir,
    /// Unlocked after the folder is removed. `None` on a file system without locks, where other
    /// processes cannot lock the folder either, and so never remove it.
    _lock: Option<File>,
}

impl Copy {
    /// Makes a folder for a copy in the folder of temporary files, and removes those of
    /// dead processes.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub(super) fn new() -> io::Result<Self> {
        Self::within(&std::env::temp_dir())
    }

    fn within(temporary: &Path) -> io::Result<Self> {
        remove_dead(temporary);
        for _ in 0..TRIES {
            let mut builder = tempfile::Builder::new();
            let private = Permissions::from_mode(0o700);
            let folder = builder.prefix(PREFIX).permissions(private).tempdir_in(temporary)?;
            // Another process may have removed the folder before it was locked.
            match locked(folder.path()) {
                Ok(None) => {}
                lock => return Ok(Self { folder, _lock: lock.ok().flatten() }),
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Locks a folder; `None` if it is already locked or no longer exists.
fn locked(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from) {
        Ok(folder) => File::from(folder),
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(why),
    };
    match folder.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => return Ok(None),
        Err(fs::TryLockError::Error(why)) => return Err(why),
    }
    let (opened, named) = (folder.metadata()?, fs::symlink_metadata(path));
    let is_same = named.is_ok_and(|n| (n.dev(), n.ino()) == (opened.dev(), opened.ino()));
    Ok(is_same.then_some(folder))
}

/// Removes the copies of this user that are not locked by a living process. Failures are ignored.
fn remove_dead(temporary: &Path) {
    let Ok(entries) = fs::read_dir(temporary) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if !is_ours {
            continue;
        }
        let path = entry.path();
        let own = rustix::process::geteuid().as_raw();
        if let Ok(Some(lock)) = locked(&path)
            && lock.metadata().is_ok_and(|folder| folder.uid() == own)
        {
            // Links are removed, and not followed.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests make folders and links")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn copy_removes_only_copies_of_dead_processes() {
        let place = TempDir::new().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("kept/inner")).unwrap();
        fs::create_dir_all(path("ctx-staged-dead/nodes")).unwrap();
        symlink(path("kept"), path("ctx-staged-dead/link")).unwrap();
        symlink(path("kept"), path("ctx-staged-link")).unwrap();
        fs::write(path("ctx-staged-file"), "mine").unwrap();
        let living = Copy::within(place.path()).unwrap();
        let second = Copy::within(place.path()).unwrap();
        assert!(living.path().is_dir() && second.path().is_dir());
        assert!(!path("ctx-staged-dead").exists());
        assert!(path("kept/inner").is_dir() && path("ctx-staged-link").is_symlink());
        assert!(path("ctx-staged-file").is_file());
        let gone = living.path().to_owned();
        drop(living);
        assert!(!gone.exists());
    }
}
