//! The operations that change a disk. A caller that opens a vault can pass an observer that is
//! asked before each of them. Tests use one to let the n-th operation fail, to tear a write, to
//! stop everything from there on like a kill, and to record what a power cut could
//! leave (`spec/transactions.md`).

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// A change of the disk that is about to be made. Paths are relative to the vault, or absolute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'c> {
    /// A folder is created.
    MakeFolder {
        /// Path of the folder.
        path: &'c str,
    },
    /// An empty file is created.
    Create {
        /// Path of the file.
        path: &'c str,
    },
    /// Bytes are written from a position in a file to its end.
    Write {
        /// Path of the file.
        path: &'c str,
        /// Position of the first byte.
        at: u64,
        /// Bytes that are written.
        bytes: &'c [u8],
    },
    /// A file is truncated.
    Truncate {
        /// Path of the file.
        path: &'c str,
        /// Length afterwards.
        length: u64,
    },
    /// A file is renamed.
    Rename {
        /// Name before.
        from: &'c str,
        /// Name afterwards. A file with this name is replaced, unless the writer demands that
        /// none exists.
        to: &'c str,
    },
    /// Two files exchange their names.
    Exchange {
        /// Name of one file.
        from: &'c str,
        /// Name of the other file.
        to: &'c str,
    },
    /// A file or an empty folder is removed.
    Remove {
        /// Path of the file or folder.
        path: &'c str,
    },
    /// The bytes of a file, or the names in a folder, are made durable.
    Sync {
        /// Path of the file or folder.
        path: &'c str,
    },
    /// Everything that was written on the file system is made durable.
    SyncAll,
}

/// The answer of an observer to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The change is made.
    Allow,
    /// The change fails with this system error number.
    Refuse(i32),
    /// Only this number of bytes of a write is written, and then it fails with this error.
    Tear(usize, i32),
}

/// An observer that is asked before each change.
pub trait Overseer: Debug + Send + Sync {
    /// Decides about a change.
    fn judge(&self, change: &Change<'_>) -> Verdict;

    /// Receives each path in the vault that is opened, listed or inspected.
    fn looks(&self, _path: &str) {}
}

/// The disk of a vault.
#[derive(Clone, Debug, Default)]
pub struct Disk(Option<Arc<dyn Overseer>>);

impl Disk {
    /// Makes a disk with an observer that is asked about every change.
    pub fn overseen(by: Arc<dyn Overseer>) -> Self {
        Self(Some(by))
    }

    /// Reports to the observer a path that is about to be inspected.
    pub(super) fn looks(&self, path: &str) {
        if let Some(overseer) = &self.0 {
            overseer.looks(path);
        }
    }

    /// Returns the number of bytes of a write that are written before it fails; `None` if it does
    /// not fail.
    fn ask(&self, change: &Change<'_>) -> Result<Option<(usize, Errno)>, Errno> {
        match self.0.as_ref().map_or(Verdict::Allow, |overseer| overseer.judge(change)) {
            Verdict::Allow => Ok(None),
            Verdict::Refuse(number) => Err(Errno::from_raw_os_error(number)),
            Verdict::Tear(length, number) => Ok(Some((length, Errno::from_raw_os_error(number)))),
        }
    }

    pub(super) fn make_folder(&self, above: &OwnedFd, name: &str, path: &str) -> Result<(), Errno> {
        self.ask(&Change::MakeFolder { path })?;
        rustix::fs::mkdirat(above, name, Mode::from_raw_mode(0o777))
    }

    /// Creates a file that must not exist.
    pub(super) fn create(&self, place: &Place<'_>) -> Result<File, Errno> {
        self.ask(&Change::Create { path: place.path })?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::openat(place.folder, place.name, flags, Mode::from_raw_mode(0o666))
            .map(File::from)
    }

    /// Creates a file outside of any vault, which must not exist and which only its owner may read.
    pub(crate) fn create_outside(&self, path: &Path) -> Result<File, Errno> {
        self.ask(&Change::Create { path: &path.to_string_lossy() })?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::open(path, flags, Mode::from_raw_mode(0o600)).map(File::from)
    }

    /// Writes bytes at the current position of a file, byte `at`. The file ends after them.
    pub(crate) fn write(
        &self,
        mut file: &File,
        path: &str,
        at: u64,
        bytes: &[u8],
    ) -> io::Result<()> {
        match self.ask(&Change::Write { path, at, bytes })? {
            None => file.write_all(bytes),
            Some((length, errno)) => {
                file.write_all(&bytes[..length.min(bytes.len())])?;
                Err(errno.into())
            }
        }
    }

    pub(super) fn truncate(&self, file: impl AsFd, path: &str, length: u64) -> Result<(), Errno> {
        self.ask(&Change::Truncate { path, length })?;
        rustix::fs::ftruncate(file, length)
    }

    /// Renames a file and replaces any file with the new name.
    pub(super) fn rename(&self, from: &Place<'_>, to: &Place<'_>) -> Result<(), Errno> {
        self.ask(&Change::Rename { from: from.path, to: to.path })?;
        rustix::fs::renameat(from.folder, from.name, to.folder, to.name)
    }

    /// Exchanges the names of two files.
    pub(super) fn exchange(&self, from: &Place<'_>, to: &Place<'_>) -> Result<(), Errno> {
        self.ask(&Change::Exchange { from: from.path, to: to.path })?;
        let flags = RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(from.folder, from.name, to.folder, to.name, flags)
    }

    /// Renames a file outside of any vault.
    pub(crate) fn rename_outside(&self, from: &Path, to: &Path) -> Result<(), Errno> {
        let (old, new) = (from.to_string_lossy(), to.to_string_lossy());
        self.ask(&Change::Rename { from: &old, to: &new })?;
        rustix::fs::rename(from, to)
    }

    /// Truncates a file outside of any vault.
    pub(crate) fn truncate_outside(
        &self,
        file: impl AsFd,
        path: &Path,
        length: u64,
    ) -> Result<(), Errno> {
        self.truncate(file, &path.to_string_lossy(), length)
    }

    /// Removes a file outside of any vault.
    pub(crate) fn remove_outside(&self, path: &Path) -> Result<(), Errno> {
        self.ask(&Change::Remove { path: &path.to_string_lossy() })?;
        rustix::fs::unlink(path)
    }

    /// Renames a file; fails if the new name exists.
    pub(super) fn rename_new(&self, from: &Place<'_>, to: &Place<'_>) -> Result<(), Errno> {
        self.ask(&Change::Rename { from: from.path, to: to.path })?;
        let flags = RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(from.folder, from.name, to.folder, to.name, flags) {
            // Not every file system supports this; creating a hard link also fails if the
            // name exists.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::linkat(from.folder, from.name, to.folder, to.name, AtFlags::empty())?;
                rustix::fs::unlinkat(from.folder, from.name, AtFlags::empty())
            }
            other => other,
        }
    }

    pub(super) fn remove(&self, place: &Place<'_>) -> Result<(), Errno> {
        self.ask(&Change::Remove { path: place.path })?;
        rustix::fs::unlinkat(place.folder, place.name, AtFlags::empty())
    }

    pub(super) fn remove_folder(&self, place: &Place<'_>) -> Result<(), Errno> {
        self.ask(&Change::Remove { path: place.path })?;
        rustix::fs::unlinkat(place.folder, place.name, AtFlags::REMOVEDIR)
    }

    pub(crate) fn sync(&self, opened: impl AsFd, path: &str) -> Result<(), Errno> {
        self.ask(&Change::Sync { path })?;
        rustix::fs::fsync(opened)
    }

    #[cfg(target_os = "linux")]
    pub(super) fn sync_all(&self, opened: impl AsFd) -> Result<(), Errno> {
        self.ask(&Change::SyncAll)?;
        rustix::fs::syncfs(opened)
    }
}

/// A name in an opened folder, and its path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p> {
    pub(super) folder: &'p OwnedFd,
    pub(super) name: &'p str,
    pub(super) path: &'p str,
}
