//! The operations that change a disk, each stated once. A caller that opens a vault may have each
//! of them asked about before it is made: tests let the n-th one fail, tear a write, or stop
//! everything from there on, as a kill would, and record what a power cut could have left
//! (`spec/transactions.md`).

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// A change of the disk that is about to be made. Paths are those of the vault, or absolute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'c> {
    /// A folder is made.
    MakeFolder {
        /// Its path.
        path: &'c str,
    },
    /// A file with nothing in it is made.
    Create {
        /// Its path.
        path: &'c str,
    },
    /// Bytes are written from a place in a file to its end.
    Write {
        /// Its path.
        path: &'c str,
        /// How many bytes come before.
        at: u64,
        /// What is written.
        bytes: &'c [u8],
    },
    /// A file is cut.
    Truncate {
        /// Its path.
        path: &'c str,
        /// Its length afterwards.
        length: u64,
    },
    /// A file gets another name.
    Rename {
        /// Its name before.
        from: &'c str,
        /// Its name afterwards; a file that has it goes, unless the writer demands that there be
        /// none.
        to: &'c str,
    },
    /// Two files exchange their names.
    Exchange {
        /// One name.
        from: &'c str,
        /// The other.
        to: &'c str,
    },
    /// A file, or an empty folder, goes.
    Remove {
        /// Its path.
        path: &'c str,
    },
    /// The bytes of a file, or the names in a folder, are made durable.
    Sync {
        /// Its path.
        path: &'c str,
    },
    /// Everything that was written on the file system is made durable.
    SyncAll,
}

/// What becomes of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is made.
    Allow,
    /// It is not made; the number of the system's error.
    Refuse(i32),
    /// Of a write, only so many bytes are made, and then there is this error.
    Tear(usize, i32),
}

/// An observer that is asked before each change.
pub trait Overseer: Debug + Send + Sync {
    /// What is to become of a change.
    fn judge(&self, change: &Change<'_>) -> Verdict;

    /// Is told of each path in the vault that is opened, listed or looked at.
    fn looks(&self, _path: &str) {}
}

/// The disk of a vault.
#[derive(Clone, Debug, Default)]
pub struct Disk(Option<Arc<dyn Overseer>>);

impl Disk {
    /// A disk of which every change is asked about.
    pub fn overseen(by: Arc<dyn Overseer>) -> Self {
        Self(Some(by))
    }

    /// Tells the observer of a path that is about to be looked at.
    pub(super) fn looks(&self, path: &str) {
        if let Some(overseer) = &self.0 {
            overseer.looks(path);
        }
    }

    /// How many bytes of a write are made before it fails; none where all is well.
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

    /// Makes a file that must not exist.
    pub(super) fn create(&self, place: &Place<'_>) -> Result<File, Errno> {
        self.ask(&Change::Create { path: place.path })?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::openat(place.folder, place.name, flags, Mode::from_raw_mode(0o666))
            .map(File::from)
    }

    /// Makes a file outside of any vault that only its owner may read, and that must not exist.
    pub(crate) fn create_outside(&self, path: &Path) -> Result<File, Errno> {
        self.ask(&Change::Create { path: &path.to_string_lossy() })?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::open(path, flags, Mode::from_raw_mode(0o600)).map(File::from)
    }

    /// Writes from byte `at` of a file on, where the file stands, up to what is its end then.
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

    /// Gives a file another name, in the place of whatever has it.
    pub(super) fn rename(&self, from: &Place<'_>, to: &Place<'_>) -> Result<(), Errno> {
        self.ask(&Change::Rename { from: from.path, to: to.path })?;
        rustix::fs::renameat(from.folder, from.name, to.folder, to.name)
    }

    /// Lets two files exchange their names.
    pub(super) fn exchange(&self, from: &Place<'_>, to: &Place<'_>) -> Result<(), Errno> {
        self.ask(&Change::Exchange { from: from.path, to: to.path })?;
        let flags = RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(from.folder, from.name, to.folder, to.name, flags)
    }

    /// Gives a file outside of any vault another name.
    pub(crate) fn rename_outside(&self, from: &Path, to: &Path) -> Result<(), Errno> {
        let (old, new) = (from.to_string_lossy(), to.to_string_lossy());
        self.ask(&Change::Rename { from: &old, to: &new })?;
        rustix::fs::rename(from, to)
    }

    /// Cuts a file outside of any vault.
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

    /// Gives a file a name that nothing has.
    pub(super) fn rename_new(&self, from: &Place<'_>, to: &Place<'_>) -> Result<(), Errno> {
        self.ask(&Change::Rename { from: from.path, to: to.path })?;
        let flags = RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(from.folder, from.name, to.folder, to.name, flags) {
            // Not every file system can; a second name refuses an existing one just as well.
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

/// A name in an opened folder, and the path of both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p> {
    pub(super) folder: &'p OwnedFd,
    pub(super) name: &'p str,
    pub(super) path: &'p str,
}
