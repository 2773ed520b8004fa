//! Writing into a vault. Writers never overwrite bytes that they have not read: they create a file
//! that must not exist, append to one of a known length, or exchange one that still has the bytes
//! that were read (`replace`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::disk::Place;
use super::files::{DIRECTORY, FileError, Files, READ, open_beneath};
use super::replace::{Fingerprint, Replacement};
use crate::values::model::layout;
use crate::values::text_util::beginning;

/// Ending of the names of temporary files.
const TEMPORARY: &str = ".ctx-tmp";

/// Number of files above which one sync of the file system replaces a sync of each file.
const MANY: usize = 16;
/// Maximum number of files that are synced one after the other.
const FEW: usize = 3;

/// A file that was written and must be made durable.
#[derive(Clone, Copy, Debug)]
pub enum Written<'p> {
    /// The file was created; its name must be durable too.
    New(&'p str),
    /// The file was created in a folder whose own name is durable already.
    NewIn(&'p str),
    /// The file existed, and only its bytes changed.
    Longer(&'p str),
    /// The bytes are durable already, but the name, or its removal, is not.
    Named(&'p str),
}

/// A name under which bytes are written before they get their final name.
pub(super) struct Temporary<'d> {
    folder: &'d OwnedFd,
    name: String,
    pub(super) path: String,
}

impl<'d> Temporary<'d> {
    /// Chooses a name in a folder that does not exist yet, for the file at `path`.
    fn new(folder: &'d OwnedFd, above: &str, path: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = path.rsplit('/').next().unwrap_or(path);
        let name = format!(".{}.{}-{n}{TEMPORARY}", short(name), std::process::id());
        let path = format!("{above}/{name}");
        Self { folder, name, path }
    }

    pub(super) fn place(&self) -> Place<'_> {
        Place { folder: self.folder, name: &self.name, path: &self.path }
    }
}

/// The end of a file of lines that an interrupted command left incomplete.
#[derive(Clone, Debug)]
pub(crate) struct TornLine {
    /// Path of the file.
    pub(crate) path: String,
    /// Length of the file.
    pub(crate) total: u64,
    /// Length without the torn line.
    pub(crate) length: u64,
}

impl TornLine {
    /// Truncates the torn line.
    ///
    /// # Errors
    /// The file has another length, or cannot be written.
    pub(crate) fn cut(&self, files: &Files) -> Result<(), FileError> {
        files.cut(&self.path, self.total, self.length)
    }
}

impl Files {
    /// Creates a file that must not exist, with the folders above it. It gets its name after all of
    /// its bytes are written, so that an interrupted command does not leave a partial file.
    ///
    /// # Errors
    /// The name exists already, or the system refuses.
    pub fn create_new(&self, path: &str, bytes: &[u8]) -> Result<(), FileError> {
        let fail = |e| FileError::from_errno("create", path, e);
        let (folder, name) = self.parent(path).map_err(fail)?;
        let temporary = self.temporary(&folder, path)?;
        let file = self.disk.create(&temporary.place()).map_err(fail)?;
        let written = self
            .disk
            .write(&file, &temporary.path, 0, bytes)
            .map_err(FileError::io("create", path))
            .and_then(|()| {
                let place = Place { folder: &folder, name, path };
                self.disk.rename_new(&temporary.place(), &place).map_err(fail)
            });
        if written.is_err() {
            // The first error is reported.
            let _ = self.disk.remove(&temporary.place());
        }
        written
    }

    /// Returns the temporary path of the file at `path`, in `folder`: in the folder of local state,
    /// which git ignores and the next writer clears, or next to the file if a rename from there
    /// would cross file systems.
    pub(super) fn temporary<'d>(
        &'d self,
        folder: &'d OwnedFd,
        path: &str,
    ) -> Result<Temporary<'d>, FileError> {
        let fail = |e| FileError::from_errno("create", layout::LOCAL_DIR, e);
        let local = self.local()?;
        let device = |fd| rustix::fs::fstat(fd).map(|stat| stat.st_dev).map_err(fail);
        Ok(match device(local)? == device(folder)? {
            true => Temporary::new(local, layout::LOCAL_DIR, path),
            false => Temporary::new(folder, path.rsplit_once('/').map_or(".", |(f, _)| f), path),
        })
    }

    /// Returns the temporary path of a file whose folder may not exist yet.
    pub(super) fn local_temporary(&self, path: &str) -> Result<Temporary<'_>, FileError> {
        Ok(Temporary::new(self.local()?, layout::LOCAL_DIR, path))
    }

    fn local(&self) -> Result<&OwnedFd, FileError> {
        if let Some(local) = self.local.get() {
            return Ok(local);
        }
        let local = self.directory(layout::LOCAL_DIR);
        let local = local.map_err(|e| FileError::from_errno("create", layout::LOCAL_DIR, e))?;
        Ok(self.local.get_or_init(|| local))
    }

    /// Returns the names of the files that interrupted writers have left in the folder of
    /// local state.
    pub(crate) fn temporaries(&self) -> Vec<String> {
        let names = self.names(layout::LOCAL_DIR).unwrap_or_default();
        let mut names: Vec<String> =
            names.into_iter().filter(|name| name.ends_with(TEMPORARY)).collect();
        names.sort_unstable();
        names
    }

    /// Returns true if interrupted writers have left such files.
    pub(crate) fn has_temporaries(&self) -> bool {
        !self.temporaries().is_empty()
    }

    /// Removes a file of exactly this length. Its bytes must be durable in another place.
    pub(crate) fn remove_of_length(&self, path: &str, length: u64) -> Result<(), FileError> {
        if self.stamp(path)?.length != length {
            return Err(FileError::Changed { path: path.to_owned() });
        }
        let (folder, name) = self.folder_of(path)?;
        self.disk
            .remove(&Place { folder: &folder, name, path })
            .map_err(|e| FileError::from_errno("remove", path, e))
    }

    /// Renames a file to a name that must not exist.
    pub(crate) fn move_new(&self, from: &str, to: &str) -> Result<(), FileError> {
        let (old, old_name) = self.folder_of(from)?;
        let fail = |e| FileError::from_errno("move", from, e);
        let (new, new_name) = self.parent(to).map_err(fail)?;
        let from = Place { folder: &old, name: old_name, path: from };
        self.disk.rename_new(&from, &Place { folder: &new, name: new_name, path: to }).map_err(fail)
    }

    /// Changes the case of a file's last name, durably. No other file may have the new name.
    ///
    /// # Errors
    /// Another file has the new name, or the file system does not change the case.
    pub(crate) fn change_case(&self, from: &str, to: &str) -> Result<(), FileError> {
        let fail = |e| FileError::from_errno("rename", from, e);
        let (folder, name) = self.folder_of(from)?;
        let new_name = to.rsplit('/').next().unwrap_or(to);
        let old = Place { folder: &folder, name, path: from };
        let new = Place { folder: &folder, name: new_name, path: to };
        match self.disk.rename_new(&old, &new) {
            // If both names are those of one file, and it is not a hard link, the file system does
            // not distinguish case, and no other file can be in the way.
            Err(Errno::EXIST) if self.is_same(from, to) && self.has_one_name(from) => {
                self.disk.rename(&old, &new).map_err(fail)?;
            }
            renamed => renamed.map_err(fail)?,
        }
        self.recased.forget();
        let above = from.rsplit_once('/').map_or("", |(above, _)| above);
        match self.entries(above)?.iter().any(|(name, _)| name == new_name) {
            true => self.sync(&[Written::Named(to)]),
            false => Err(fail(Errno::EXIST)),
        }
    }

    /// Appends to a file that has exactly `length` bytes; a file of length 0 may be missing.
    ///
    /// # Errors
    /// [`FileError::Changed`] if the length differs, or an error of the system.
    pub fn append(&self, path: &str, length: u64, bytes: &[u8]) -> Result<(), FileError> {
        if length == 0 && !self.exists(path) {
            return self.create_new(path, bytes);
        }
        let file = self.open_to_write(path, "append to")?;
        let end = (&file).seek(SeekFrom::End(0)).map_err(FileError::io("append to", path))?;
        if end != length {
            return Err(FileError::Changed { path: path.to_owned() });
        }
        let written = self.disk.write(&file, path, length, bytes);
        if written.is_err() {
            // Best effort: a short write must not leave a torn entry. The first error is reported.
            let _ = self.disk.truncate(&file, path, length);
        }
        written.map_err(FileError::io("append to", path))
    }

    /// Truncates a file of exactly `from` bytes to fewer. The removed bytes must be durable in
    /// another place.
    ///
    /// # Errors
    /// [`FileError::Changed`] if the length differs, or an error of the system.
    pub(crate) fn cut(&self, path: &str, from: u64, to: u64) -> Result<(), FileError> {
        let file = self.open_to_write(path, "cut")?;
        if file.metadata().map_err(FileError::io("cut", path))?.len() != from {
            return Err(FileError::Changed { path: path.to_owned() });
        }
        self.disk.truncate(&file, path, to).map_err(|e| FileError::from_errno("cut", path, e))
    }

    /// Opens a file for writing in place, after giving it an inode of its own if it has a
    /// second name.
    fn open_to_write(&self, path: &str, action: &'static str) -> Result<File, FileError> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let open = || {
            open_beneath(&self.dir, path, flags, Mode::empty())
                .map(File::from)
                .map_err(|e| FileError::from_errno(action, path, e))
        };
        let file = open()?;
        if file.metadata().map_err(FileError::io(action, path))?.nlink() < 2 {
            return Ok(file);
        }
        self.unshare([path])?;
        open()
    }

    /// Replaces one file with new bytes, which are durable before they get the name. The name is
    /// durable when this returns.
    ///
    /// # Errors
    /// [`FileError::Changed`] if another process wrote to the file in the meantime, which is then
    /// left alone.
    pub fn replace(&self, path: &str, expected: &[u8], bytes: &[u8]) -> Result<(), FileError> {
        let expected = Some(Fingerprint::of(expected));
        self.put_durably(Replacement { path, expected, bytes })
    }

    /// Creates a file that must not exist, durably: a power cut leaves all of it or nothing.
    ///
    /// # Errors
    /// The name exists already, or the system refuses.
    pub fn create_durable(&self, path: &str, bytes: &[u8]) -> Result<(), FileError> {
        self.put_durably(Replacement { path, expected: None, bytes })
    }

    fn put_durably(&self, wanted: Replacement<'_>) -> Result<(), FileError> {
        let all = [wanted];
        let staging = self.prepare_all(&all);
        self.sync(&staging.written())?;
        staging.commit().pop().unwrap_or(Ok(()))?;
        self.sync(&[Written::Named(wanted.path)])
    }

    /// Fails unless a file has exactly the bytes of a fingerprint.
    pub(super) fn expect(&self, path: &str, expected: Fingerprint) -> Result<(), FileError> {
        let found = match self.read_optional(path, expected.length()) {
            Err(FileError::TooLarge { .. }) => None,
            other => other?,
        };
        if found.as_deref().map(Fingerprint::of) == Some(expected) {
            Ok(())
        } else {
            Err(FileError::Changed { path: path.to_owned() })
        }
    }

    /// Removes a file if it still has the bytes `expected`.
    ///
    /// # Errors
    /// [`FileError::Changed`] if another process wrote to it in the meantime.
    pub fn remove(&self, path: &str, expected: &[u8]) -> Result<(), FileError> {
        let path = &*self.spelled(path);
        let expected = Fingerprint::of(expected);
        self.expect(path, expected)?;
        let fail = |e| FileError::from_errno("remove", path, e);
        let (folder, name) = self.folder_of(path)?;
        let place = Place { folder: &folder, name, path };
        // The file is renamed first, because no process can replace it under the new name during
        // the second check.
        let aside = self.temporary(&folder, path)?;
        self.disk.rename_new(&place, &aside.place()).map_err(fail)?;
        let same = self.expect(&aside.path, expected);
        match same {
            Ok(()) => self.disk.remove(&aside.place()).map_err(fail),
            Err(FileError::Changed { .. }) => {
                // If the name was used again, both files stay: the next writer recovers this one.
                let _ = self.disk.rename_new(&aside.place(), &place);
                Err(FileError::Changed { path: path.to_owned() })
            }
            Err(other) => Err(other),
        }
    }

    /// Undoes an append that was not committed, as far as the disk allows: the file gets its former
    /// length, or is removed if it was empty. A file with any other content is left alone.
    pub fn take_back(&self, path: &str, length: u64, appended: &[u8]) {
        let total = length + appended.len() as u64;
        let ends_so = |bytes: Vec<u8>| bytes.len() as u64 == total && bytes.ends_with(appended);
        if !self.read(path, total).is_ok_and(ends_so) {
            return;
        }
        let _ = match length {
            0 => self.remove(path, appended),
            _ => self.cut(path, total, length),
        };
    }

    /// Creates an empty file whose existence is the information, not durably; returns false if the
    /// name exists already.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn create_mark(&self, path: &str) -> Result<bool, FileError> {
        let fail = |e| FileError::from_errno("create", path, e);
        let (folder, name) = self.parent(path).map_err(fail)?;
        match self.disk.create(&Place { folder: &folder, name, path }) {
            Ok(_) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(why) => Err(fail(why)),
        }
    }

    /// Removes a temporary file of ours.
    pub(crate) fn discard(&self, temporary: &str) {
        if let Ok((folder, name)) = self.folder_of(temporary) {
            let _ = self.disk.remove(&Place { folder: &folder, name, path: temporary });
        }
    }

    /// Removes a folder if it is empty.
    pub fn remove_empty_folder(&self, path: &str) {
        if let Ok((folder, name)) = self.folder_of(path) {
            let _ = self.disk.remove_folder(&Place { folder: &folder, name, path });
        }
    }

    /// Creates a folder and those above it.
    ///
    /// # Errors
    /// The error of the system.
    pub fn create_dir(&self, path: &str) -> Result<(), FileError> {
        self.directory(path).map(drop).map_err(|e| FileError::from_errno("create", path, e))
    }

    /// Makes written files durable; for a new file, also the folders that name it. A few files are
    /// synced one after the other, and more of them in parallel; for many, one sync of the file
    /// system costs less than one for each.
    ///
    /// # Errors
    /// The first sync that failed.
    pub fn sync(&self, written: &[Written<'_>]) -> Result<(), FileError> {
        if !self.waits {
            return Ok(());
        }
        #[cfg(target_os = "linux")]
        if written.len() > MANY {
            return self
                .disk
                .sync_all(&self.dir)
                .map_err(|e| FileError::from_errno("sync", ".", e));
        }
        let mut inodes: BTreeMap<&str, OFlags> = BTreeMap::new();
        for file in written {
            let mut named = match *file {
                Written::New(path) | Written::Named(path) => Some(path),
                Written::NewIn(_) | Written::Longer(_) => None,
            };
            if let Written::New(path) | Written::NewIn(path) | Written::Longer(path) = file {
                inodes.insert(path, READ);
            }
            if let Written::NewIn(path) = file {
                inodes.insert(path.rsplit_once('/').map_or(".", |(folder, _)| folder), DIRECTORY);
            }
            // A new file is named in its folder, and a new folder in the one above it.
            while let Some(path) = named {
                let above = path.rsplit_once('/').map(|(folder, _)| folder);
                let is_new = inodes.insert(above.unwrap_or("."), DIRECTORY).is_none();
                named = above.filter(|_| is_new);
            }
        }
        let (files, folders): (Vec<_>, Vec<_>) =
            inodes.into_iter().partition(|(_, flags)| *flags == READ);
        let one = |(path, flags): &(&str, OFlags)| self.sync_one(path, *flags);
        match files.len() {
            // The sync of a file also writes the names in its folder, so that the sync of the
            // folder has nothing left to do. In parallel, each would wait for a flush of its own.
            ..=FEW => files.iter().chain(&folders).try_for_each(one),
            // More files share the flushes that they wait for.
            _ => files.par_iter().chain(&folders).try_for_each(one),
        }
    }

    fn sync_one(&self, path: &str, flags: OFlags) -> Result<(), FileError> {
        open_beneath(&self.dir, path, flags, Mode::empty())
            .and_then(|opened| self.disk.sync(opened, path))
            .map_err(|e| FileError::from_errno("sync", path, e))
    }

    /// Opens the file that writers lock, and creates it if needed. A file with a second name is
    /// unlinked first, because the description of the holder would be written to that name too.
    pub(super) fn open_lock_file(&self, path: &str) -> Result<File, FileError> {
        let fail = |e| FileError::from_errno("lock", path, e);
        let (folder, name) = self.parent(path).map_err(fail)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let open = || -> Result<(OwnedFd, bool), FileError> {
            let fd = rustix::fs::openat(&folder, name, flags | OFlags::NONBLOCK, 0o666.into())
                .map_err(fail)?;
            let stat = rustix::fs::fstat(&fd).map_err(fail)?;
            match rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() {
                true => Ok((fd, stat.st_nlink > 1)),
                false => Err(FileError::NotRegular { path: path.to_owned() }),
            }
        };
        let (fd, shared) = open()?;
        if !shared {
            return Ok(File::from(fd));
        }
        self.disk.remove(&Place { folder: &folder, name, path }).map_err(fail)?;
        match open()? {
            (fd, false) => Ok(File::from(fd)),
            _ => Err(FileError::Changed { path: path.to_owned() }),
        }
    }

    /// Opens the root folder again, for a lock of its own.
    pub(super) fn open_root(&self) -> Result<File, FileError> {
        let opened = open_beneath(&self.dir, ".", DIRECTORY, Mode::empty());
        opened.map(File::from).map_err(|e| FileError::from_errno("lock", ".", e))
    }

    /// Returns the folder of an existing file, and the file's name in it.
    pub(super) fn folder_of<'p>(&self, path: &'p str) -> Result<(OwnedFd, &'p str), FileError> {
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        open_beneath(&self.dir, folder, DIRECTORY, Mode::empty())
            .map(|folder| (folder, name))
            .map_err(|e| FileError::from_errno("open the folder of", path, e))
    }

    /// Returns the folder of `path`, created if needed, and the last name of `path`.
    pub(super) fn parent<'p>(&self, path: &'p str) -> Result<(OwnedFd, &'p str), Errno> {
        match path.rsplit_once('/') {
            Some((parent, name)) => Ok((self.directory(parent)?, name)),
            None => {
                let root = rustix::io::fcntl_dupfd_cloexec(&self.dir, 0)?;
                Ok((root, path))
            }
        }
    }

    fn directory(&self, path: &str) -> Result<OwnedFd, Errno> {
        match open_beneath(&self.dir, path, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) => {
                let (above, name) = self.parent(path)?;
                match self.disk.make_folder(&above, name, path) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(e) => return Err(e),
                }
                rustix::fs::openat(&above, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
            }
            other => other,
        }
    }
}

/// Returns a prefix of a name that identifies a temporary file, within the 255 bytes of a name.
fn short(name: &str) -> &str {
    beginning(name, 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> (tempfile::TempDir, Files) {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        (dir, files)
    }

    #[test]
    fn writers_never_overwrite_unexpected_bytes() {
        use std::os::unix::fs::PermissionsExt as _;
        let (dir, files) = files();
        files.create_new("f", b"old").unwrap();
        assert!(files.create_new("f", b"new").is_err());
        assert!(matches!(files.replace("f", b"other", b"new"), Err(FileError::Changed { .. })));
        assert!(matches!(files.append("f", 2, b"x"), Err(FileError::Changed { .. })));
        assert!(matches!(files.remove("f", b"ol"), Err(FileError::Changed { .. })));
        let mode = std::fs::Permissions::from_mode(0o640);
        std::fs::set_permissions(dir.path().join("f"), mode).unwrap();
        files.replace("f", b"old", b"new").unwrap();
        files.append("f", 3, b"er").unwrap();
        assert_eq!(files.read("f", 9).unwrap(), b"newer");
        let kept = std::fs::metadata(dir.path().join("f")).unwrap().permissions().mode();
        assert_eq!(kept & 0o7777, 0o640);
        let left = dir.path().join(layout::LOCAL_DIR).read_dir().unwrap().count();
        assert_eq!((dir.path().read_dir().unwrap().count(), left), (2, 0), "no file is left");
    }
}
