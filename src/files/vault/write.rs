//! How bytes get into a vault. Writers never overwrite what they have not read: they create a file
//! that must not exist, append to one of a known length, or exchange one that still holds the bytes
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

/// How the names of temporary files end.
const TEMPORARY: &str = ".ctx-tmp";

/// From this many files on, one sync of the file system replaces one for each file.
const MANY: usize = 16;
/// Up to this many, they are synced one after the other.
const FEW: usize = 3;

/// A file that was written and is to be made durable.
#[derive(Clone, Copy, Debug)]
pub enum Written<'p> {
    /// It was made; its name is to be durable too.
    New(&'p str),
    /// It was made in a folder whose own name is durable already.
    NewIn(&'p str),
    /// It was there, and only its bytes changed.
    Longer(&'p str),
    /// Its bytes are durable already, but not that they have this name, or that nothing has it.
    Named(&'p str),
}

/// A name under which bytes are written before they get the one they are for.
pub(super) struct Temporary<'d> {
    folder: &'d OwnedFd,
    name: String,
    pub(super) path: String,
}

impl<'d> Temporary<'d> {
    /// A name in a folder that nothing has, for the file at `path`.
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

/// The end of a file of lines that an interrupted command did not write whole.
#[derive(Clone, Debug)]
pub(crate) struct TornLine {
    /// The file.
    pub(crate) path: String,
    /// The length of the file.
    pub(crate) total: u64,
    /// Its length without the torn line.
    pub(crate) length: u64,
}

impl TornLine {
    /// Truncates it.
    ///
    /// # Errors
    /// The file has another length, or cannot be written.
    pub(crate) fn cut(&self, files: &Files) -> Result<(), FileError> {
        files.cut(&self.path, self.total, self.length)
    }
}

impl Files {
    /// Creates a file that must not exist, with the folders above it. It gets its name when all of
    /// its bytes are written, so that a command which dies leaves no half of it.
    ///
    /// # Errors
    /// Something of that name exists already, or the system refuses.
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

    /// Where the bytes of the file at `path`, in `folder`, are written before they get its name: in
    /// the folder of local state, which git ignores and the next writer clears, or beside the file
    /// where a rename from there would cross file systems.
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

    /// The same for a file whose folder may not be there yet.
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

    /// The names of the files that interrupted writers have left in the folder of local state.
    pub(crate) fn temporaries(&self) -> Vec<String> {
        let names = self.names(layout::LOCAL_DIR).unwrap_or_default();
        let mut names: Vec<String> =
            names.into_iter().filter(|name| name.ends_with(TEMPORARY)).collect();
        names.sort_unstable();
        names
    }

    /// Whether interrupted writers have left any.
    pub(crate) fn has_temporaries(&self) -> bool {
        !self.temporaries().is_empty()
    }

    /// Removes a file of exactly so many bytes, which lie somewhere else, durable.
    pub(crate) fn remove_of_length(&self, path: &str, length: u64) -> Result<(), FileError> {
        if self.stamp(path)?.length != length {
            return Err(FileError::Changed { path: path.to_owned() });
        }
        let (folder, name) = self.folder_of(path)?;
        self.disk
            .remove(&Place { folder: &folder, name, path })
            .map_err(|e| FileError::from_errno("remove", path, e))
    }

    /// Gives a file another name, which nothing must have.
    pub(crate) fn move_new(&self, from: &str, to: &str) -> Result<(), FileError> {
        let (old, old_name) = self.folder_of(from)?;
        let fail = |e| FileError::from_errno("move", from, e);
        let (new, new_name) = self.parent(to).map_err(fail)?;
        let from = Place { folder: &old, name: old_name, path: from };
        self.disk.rename_new(&from, &Place { folder: &new, name: new_name, path: to }).map_err(fail)
    }

    /// Changes the case of a file's last name, durable when this returns. No other file must have
    /// the new name.
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
            // If both names are those of one file, and it is no second name, then the file system
            // does not distinguish case, and no other file can get in the way.
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

    /// Appends to a file that has exactly `length` bytes; one of length 0 may be absent.
    ///
    /// # Errors
    /// [`FileError::Changed`] if the length differs; else what the system says.
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
            // Best effort: a short write must not stay as a torn entry. The first error is
            // reported.
            let _ = self.disk.truncate(&file, path, length);
        }
        written.map_err(FileError::io("append to", path))
    }

    /// Cuts a file of exactly `from` bytes to fewer. What is truncated has to lie somewhere else,
    /// durable.
    ///
    /// # Errors
    /// [`FileError::Changed`] if the length differs; else what the system says.
    pub(crate) fn cut(&self, path: &str, from: u64, to: u64) -> Result<(), FileError> {
        let file = self.open_to_write(path, "cut")?;
        if file.metadata().map_err(FileError::io("cut", path))?.len() != from {
            return Err(FileError::Changed { path: path.to_owned() });
        }
        self.disk.truncate(&file, path, to).map_err(|e| FileError::from_errno("cut", path, e))
    }

    /// Opens a file whose bytes nothing else has, so that it may be written to in place.
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

    /// Replaces one file by new bytes, which are durable before they get the name, and then under
    /// it.
    ///
    /// # Errors
    /// [`FileError::Changed`] if another process wrote to it meanwhile; the file is then left
    /// alone.
    pub fn replace(&self, path: &str, expected: &[u8], bytes: &[u8]) -> Result<(), FileError> {
        let expected = Some(Fingerprint::of(expected));
        self.put_durably(Replacement { path, expected, bytes })
    }

    /// Creates a file that must not exist, durable when this returns: a power cut leaves all of it
    /// or nothing.
    ///
    /// # Errors
    /// Something of that name exists already, or the system refuses.
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

    /// Refuses a file that does not hold exactly the bytes of a fingerprint.
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

    /// Removes a file if it still holds `expected`.
    ///
    /// # Errors
    /// [`FileError::Changed`] if another process wrote to it meanwhile.
    pub fn remove(&self, path: &str, expected: &[u8]) -> Result<(), FileError> {
        let path = &*self.spelled(path);
        let expected = Fingerprint::of(expected);
        self.expect(path, expected)?;
        let fail = |e| FileError::from_errno("remove", path, e);
        let (folder, name) = self.folder_of(path)?;
        let place = Place { folder: &folder, name, path };
        // What is looked at a second time cannot be replaced under its old name.
        let aside = self.temporary(&folder, path)?;
        self.disk.rename_new(&place, &aside.place()).map_err(fail)?;
        let same = self.expect(&aside.path, expected);
        match same {
            Ok(()) => self.disk.remove(&aside.place()).map_err(fail),
            Err(FileError::Changed { .. }) => {
                // If the name was taken again, both stay: the next writer keeps this one.
                let _ = self.disk.rename_new(&aside.place(), &place);
                Err(FileError::Changed { path: path.to_owned() })
            }
            Err(other) => Err(other),
        }
    }

    /// Takes back an append that was not committed, as far as the disk lets us: the file gets its
    /// former length, or goes away if it had none. One that holds anything else is left alone.
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

    /// Makes an empty file that says something by being there, not durable; false if something of
    /// that name is there already.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn create_mark(&self, path: &str) -> Result<bool, FileError> {
        let fail = |e| FileError::from_errno("create", path, e);
        let (folder, name) = self.parent(path).map_err(fail)?;
        match self.disk.create(&Place { folder: &folder, name, path }) {
            Ok(_) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(why) => Err(fail(why)),
        }
    }

    /// Takes away a temporary file of ours.
    pub(crate) fn discard(&self, temporary: &str) {
        if let Ok((folder, name)) = self.folder_of(temporary) {
            let _ = self.disk.remove(&Place { folder: &folder, name, path: temporary });
        }
    }

    /// Removes a folder if nothing is in it.
    pub fn remove_empty_folder(&self, path: &str) {
        if let Ok((folder, name)) = self.folder_of(path) {
            let _ = self.disk.remove_folder(&Place { folder: &folder, name, path });
        }
    }

    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// What the system says.
    pub fn create_dir(&self, path: &str) -> Result<(), FileError> {
        self.directory(path).map(drop).map_err(|e| FileError::from_errno("create", path, e))
    }

    /// Makes what was written durable: of a new file also the folders that name it. A few are synced
    /// one after the other, more of them side by side; for many, one sync of the file system costs
    /// less than one for each.
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
            // A new file is named by its folder, and a new folder by the one above it.
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
            // The sync of a file writes the names that its folder has, too, and that of the folder
            // finds nothing left to do; side by side each would wait for a flush of its own.
            ..=FEW => files.iter().chain(&folders).try_for_each(one),
            // Of more files, they share the flushes that they wait for.
            _ => files.par_iter().chain(&folders).try_for_each(one),
        }
    }

    fn sync_one(&self, path: &str, flags: OFlags) -> Result<(), FileError> {
        open_beneath(&self.dir, path, flags, Mode::empty())
            .and_then(|opened| self.disk.sync(opened, path))
            .map_err(|e| FileError::from_errno("sync", path, e))
    }

    /// Opens the file that writers lock, making it if needed. A file that has another name too is
    /// left to that name: what a holder writes about itself would land there.
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

    /// The folder that holds an existing file, and the file's name in it.
    pub(super) fn folder_of<'p>(&self, path: &'p str) -> Result<(OwnedFd, &'p str), FileError> {
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        open_beneath(&self.dir, folder, DIRECTORY, Mode::empty())
            .map(|folder| (folder, name))
            .map_err(|e| FileError::from_errno("open the folder of", path, e))
    }

    /// The folder that holds `path`, made if needed, and the last name of `path`.
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

/// Enough of a name to recognise a temporary file by, within the 255 bytes of a name.
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
    fn writers_never_overwrite_what_they_did_not_expect() {
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
