//! How bytes are read from and written to a vault: the only place that opens its files.
//!
//! Every path is relative to the vault's root and resolved beneath it without following a
//! symbolic link, so that no name in a vault reaches a file outside. Reads are bounded, and only
//! regular files are read (a fifo would block for ever). Writers never truncate: they create a
//! file that must not exist, append to one of a known length, or replace one that still holds
//! the bytes that were read, by a temporary file and a rename.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::layout;
use super::replace::Replacement;

/// A file operation that failed: what was tried, on which path of the vault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system refused.
    #[error("cannot {action} `{}`: {source}", path.escape_debug())]
    Io {
        /// The verb: `read`, `list`, `create`, `append to`, `replace`, `remove`, `sync`.
        action: &'static str,
        /// Path in the vault.
        path: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The file is larger than what is read of its kind.
    #[error("`{}` is larger than {limit} bytes", path.escape_debug())]
    TooLarge {
        /// Path in the vault.
        path: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// A folder, fifo, socket or device where a file was expected.
    #[error("`{}` is not a regular file", path.escape_debug())]
    NotRegular {
        /// Path in the vault.
        path: String,
    },
    /// The path goes through a symbolic link or out of the vault.
    #[error("`{}` goes through a symbolic link, which is not followed", path.escape_debug())]
    Link {
        /// Path in the vault.
        path: String,
    },
    /// The file no longer holds what was read before.
    #[error("`{}` was changed by somebody else meanwhile", path.escape_debug())]
    Changed {
        /// Path in the vault.
        path: String,
    },
}

impl FileError {
    /// Whether the file is simply not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    pub(super) fn from_errno(action: &'static str, path: &str, errno: Errno) -> Self {
        match errno {
            Errno::LOOP | Errno::XDEV => Self::Link { path: path.to_owned() },
            errno => Self::Io { action, path: path.to_owned(), source: errno.into() },
        }
    }

    pub(crate) fn io(action: &'static str, path: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}

/// The files beneath one root.
#[derive(Debug)]
pub struct Files {
    root: PathBuf,
    dir: OwnedFd,
    /// The folder of local state, once something was written.
    local: OnceLock<OwnedFd>,
    /// Whether [`Files::sync`] waits for the disk.
    waits: bool,
}

/// What tells whether a file was touched: whoever writes to it, replaces it or sets its times
/// changes one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    device: u64,
    inode: u64,
    /// Its length in bytes.
    pub length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// How the names of temporary files end.
const TEMPORARY: &str = ".ctx-tmp";

/// A file that was written and is to be made durable.
#[derive(Clone, Copy, Debug)]
pub enum Written<'p> {
    /// It was made; its name is to be durable too.
    New(&'p str),
    /// It was there, and only its bytes changed.
    Longer(&'p str),
}

/// From this many files on, one sync of the file system replaces one for each file.
const MANY: usize = 16;

const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = READ.union(OFlags::DIRECTORY);

impl Files {
    /// Opens a root folder.
    ///
    /// # Errors
    /// The folder does not exist or cannot be opened.
    pub fn open(root: &Path) -> Result<Self, FileError> {
        let shown = root.display().to_string();
        let root = root.canonicalize().map_err(FileError::io("open", &shown))?;
        let dir = rustix::fs::open(&root, DIRECTORY, Mode::empty())
            .map_err(|e| FileError::from_errno("open", &shown, e))?;
        Ok(Self { root, dir, local: OnceLock::new(), waits: true })
    }

    /// Leaves it to the system when what is written becomes durable.
    pub(super) fn stop_waiting(&mut self) {
        self.waits = false;
    }

    /// The canonical path of the root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Reads a whole file of at most `limit` bytes.
    ///
    /// # Errors
    /// See [`FileError`]; [`FileError::is_not_found`] tells an absent file.
    pub fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, FileError> {
        let (mut file, meta) = self.open_regular(path)?;
        let mut bytes = Vec::new();
        if meta.len() <= limit {
            // Room for one byte more: a first read that leaves it empty has reached the end.
            let length = usize::try_from(meta.len()).unwrap_or(0);
            bytes.reserve_exact(length + 1);
            let first = rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes))
                .map_err(|e| FileError::from_errno("read", path, e))?;
            if first != length {
                let rest = (limit + 1).saturating_sub(first as u64);
                (&mut file)
                    .take(rest)
                    .read_to_end(&mut bytes)
                    .map_err(FileError::io("read", path))?;
            }
        }
        if meta.len() > limit || bytes.len() as u64 > limit {
            return Err(FileError::TooLarge { path: path.to_owned(), limit });
        }
        Ok(bytes)
    }

    /// What tells whether a file was touched.
    ///
    /// # Errors
    /// As [`Files::read`].
    pub fn stamp(&self, path: &str) -> Result<Stamp, FileError> {
        let meta = self.open_regular(path)?.1;
        Ok(Stamp {
            device: meta.dev(),
            inode: meta.ino(),
            length: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }

    /// Reads exactly `length` bytes of a file from a position on.
    ///
    /// # Errors
    /// As [`Files::read`], and where the file is shorter.
    pub fn read_at(&self, path: &str, at: u64, length: usize) -> Result<Vec<u8>, FileError> {
        let (file, meta) = self.open_regular(path)?;
        // What is not there is not allocated.
        if at.checked_add(length as u64).is_none_or(|end| end > meta.len()) {
            return Err(FileError::io("read", path)(io::ErrorKind::UnexpectedEof.into()));
        }
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, at).map_err(FileError::io("read", path))?;
        Ok(bytes)
    }

    fn open_regular(&self, path: &str) -> Result<(File, Metadata), FileError> {
        let flags = READ | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = open_beneath(&self.dir, path, flags, Mode::empty())
            .map_err(|e| FileError::from_errno("read", path, e))?;
        let file = File::from(fd);
        let meta = file.metadata().map_err(FileError::io("read", path))?;
        if !meta.is_file() {
            return Err(FileError::NotRegular { path: path.to_owned() });
        }
        Ok((file, meta))
    }

    /// Opens a file of at most `limit` bytes that may be absent, for those who read it in pieces.
    ///
    /// # Errors
    /// As [`Files::read`], but an absent file is `None`.
    pub(crate) fn open_optional(&self, path: &str, limit: u64) -> Result<Option<File>, FileError> {
        match self.open_regular(path) {
            Ok((_, meta)) if meta.len() > limit => {
                Err(FileError::TooLarge { path: path.to_owned(), limit })
            }
            // One that grows meanwhile is read up to the limit.
            Ok((file, _)) => Ok(Some(file)),
            Err(e) if e.is_not_found() || e.is_under_a_file() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Reads a file that may be absent.
    ///
    /// # Errors
    /// As [`Files::read`], but an absent file is `None`.
    pub fn read_optional(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
        match self.read(path, limit) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.is_not_found() || e.is_under_a_file() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Whether anything, of whatever kind, has this name.
    pub fn exists(&self, path: &str) -> bool {
        rustix::fs::statat(&self.dir, path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Whether a regular file has this name.
    pub fn is_file(&self, path: &str) -> bool {
        let stat = rustix::fs::statat(&self.dir, path, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file())
    }

    /// The names in a folder that are UTF-8, in no order.
    ///
    /// # Errors
    /// There is no such folder, or it cannot be listed.
    pub fn names(&self, folder: &str) -> Result<Vec<String>, FileError> {
        let fail = |e| FileError::from_errno("list", folder, e);
        let fd = open_beneath(&self.dir, folder, DIRECTORY, Mode::empty()).map_err(fail)?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&fd).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name().to_str().ok();
            names.extend(name.filter(|name| !matches!(*name, "." | "..")).map(str::to_owned));
        }
        Ok(names)
    }

    /// Creates a file that must not exist, with the folders above it. It gets its name when all of
    /// its bytes are written, so that a command which dies leaves no half of it.
    ///
    /// # Errors
    /// Something of that name exists already, or the system refuses.
    pub fn create_new(&self, path: &str, bytes: &[u8]) -> Result<(), FileError> {
        let fail = |e| FileError::from_errno("create", path, e);
        let (parent, name) = self.parent(path).map_err(fail)?;
        let (place, temporary, _) = self.temporary(&parent, path)?;
        let mut file = create(place, &temporary).map_err(fail)?;
        let written = file
            .write_all(bytes)
            .map_err(FileError::io("create", path))
            .and_then(|()| name_new(place, &temporary, &parent, name).map_err(fail));
        if written.is_err() {
            let _ = rustix::fs::unlinkat(place, temporary.as_str(), AtFlags::empty());
        }
        written
    }

    /// Where the bytes of the file at `path`, in `folder`, are written before they get its name: a
    /// folder, a name in it, and the path of both. It is the folder of local state, which git ignores and the next writer clears, or beside the file where a rename
    /// from there would cross file systems.
    pub(super) fn temporary<'d>(
        &'d self,
        folder: &'d OwnedFd,
        path: &str,
    ) -> Result<(&'d OwnedFd, String, String), FileError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let fail = |e| FileError::from_errno("create", layout::LOCAL_DIR, e);
        let local = match self.local.get() {
            Some(local) => local,
            None => {
                let local = self.directory(layout::LOCAL_DIR).map_err(fail)?;
                self.local.get_or_init(|| local)
            }
        };
        let device = |fd| rustix::fs::fstat(fd).map(|stat| stat.st_dev).map_err(fail);
        let (above, name) = path.rsplit_once('/').unwrap_or((".", path));
        let (place, above) = match device(local)? == device(folder)? {
            true => (local, layout::LOCAL_DIR),
            false => (folder, above),
        };
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".{}.{}-{n}{TEMPORARY}", short(name), std::process::id());
        let whole = format!("{above}/{name}");
        Ok((place, name, whole))
    }

    /// Removes what writers that died have left in the folder of local state. Only the holder of
    /// the write lock may ask for it.
    pub(super) fn clear_temporaries(&self) {
        let listed = std::fs::read_dir(self.root.join(layout::LOCAL_DIR));
        for name in listed.into_iter().flatten().flatten().map(|entry| entry.file_name()) {
            if let Some(name) = name.to_str().filter(|name| name.ends_with(TEMPORARY)) {
                self.discard(&format!("{}/{name}", layout::LOCAL_DIR));
            }
        }
    }

    /// Appends to a file that has exactly `length` bytes; one of length 0 may be absent.
    ///
    /// # Errors
    /// [`FileError::Changed`] if the length differs; else what the system says.
    pub fn append(&self, path: &str, length: u64, bytes: &[u8]) -> Result<(), FileError> {
        let fail = |e| FileError::from_errno("append to", path, e);
        let (parent, name) = self.parent(path).map_err(fail)?;
        let mut flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        if length == 0 {
            flags |= OFlags::CREATE;
        }
        let fd =
            rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o666)).map_err(fail)?;
        let mut file = File::from(fd);
        let end = file.seek(SeekFrom::End(0)).map_err(FileError::io("append to", path))?;
        if end != length {
            return Err(FileError::Changed { path: path.to_owned() });
        }
        let written = file.write_all(bytes);
        if written.is_err() {
            // Best effort: a short write must not stay as a torn entry. The first error is told.
            let _ = file.set_len(length);
        }
        written.map_err(FileError::io("append to", path))
    }

    /// Replaces one file by new bytes, which are durable before they get the name.
    ///
    /// # Errors
    /// [`FileError::Changed`] if somebody wrote to it meanwhile; the file is then left alone.
    pub fn replace(&self, path: &str, expected: &[u8], bytes: &[u8]) -> Result<(), FileError> {
        let wanted = [Replacement { path, expected, bytes }];
        let staging = self.stage_all(&wanted);
        self.sync(&staging.written())?;
        staging.commit().pop().unwrap_or(Ok(()))
    }

    pub(super) fn expect(&self, path: &str, expected: &[u8]) -> Result<(), FileError> {
        let found = match self.read_optional(path, expected.len() as u64) {
            Err(FileError::TooLarge { .. }) => None,
            other => other?,
        };
        if found.as_deref() == Some(expected) {
            Ok(())
        } else {
            Err(FileError::Changed { path: path.to_owned() })
        }
    }

    /// Removes a file if it still holds `expected`.
    ///
    /// # Errors
    /// [`FileError::Changed`] if somebody wrote to it meanwhile.
    pub fn remove(&self, path: &str, expected: &[u8]) -> Result<(), FileError> {
        let fail = |e| FileError::from_errno("remove", path, e);
        self.expect(path, expected)?;
        let (parent, name) = self.parent(path).map_err(fail)?;
        rustix::fs::unlinkat(&parent, name, AtFlags::empty()).map_err(fail)
    }

    /// Takes back an append that was not committed, as far as the disk lets us: the file gets its
    /// former length, or goes away if it had none. One that holds anything else is left alone.
    pub fn take_back(&self, path: &str, length: u64, appended: &[u8]) {
        let total = length + appended.len() as u64;
        let ends_so = |bytes: Vec<u8>| bytes.len() as u64 == total && bytes.ends_with(appended);
        if !self.read(path, total).is_ok_and(ends_so) {
            return;
        }
        if length == 0 {
            let _ = self.remove(path, appended);
        } else if let Ok(file) =
            open_beneath(&self.dir, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
        {
            let _ = rustix::fs::ftruncate(&file, length);
        }
    }

    /// Takes away a temporary file of ours.
    pub(super) fn discard(&self, temporary: &str) {
        if let Ok((folder, name)) = self.folder_of(temporary) {
            let _ = rustix::fs::unlinkat(&folder, name, AtFlags::empty());
        }
    }

    /// Removes a folder if nothing is in it.
    pub fn remove_empty_folder(&self, path: &str) {
        if let Ok((parent, name)) = self.parent(path) {
            let _ = rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR);
        }
    }

    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// What the system says.
    pub fn create_dir(&self, path: &str) -> Result<(), FileError> {
        self.directory(path).map(drop).map_err(|e| FileError::from_errno("create", path, e))
    }

    /// Makes what was written durable: of a new file also the folders that name it. Few are synced
    /// side by side; for many, one sync of the file system costs less than one for each.
    ///
    /// # Errors
    /// The first sync that failed.
    pub fn sync(&self, written: &[Written<'_>]) -> Result<(), FileError> {
        if !self.waits {
            return Ok(());
        }
        #[cfg(target_os = "linux")]
        if written.len() > MANY {
            return rustix::fs::syncfs(&self.dir)
                .map_err(|e| FileError::from_errno("sync", ".", e));
        }
        let mut inodes: BTreeMap<&str, OFlags> = BTreeMap::new();
        for file in written {
            let (Written::New(path) | Written::Longer(path)) = file;
            inodes.insert(path, READ);
            if let Written::New(path) = file {
                // A new file is named by its folder, and a new folder by the one above it.
                let above = |path| str::rsplit_once(path, '/').map_or(".", |(folder, _)| folder);
                inodes.insert(above(path), DIRECTORY);
                inodes.insert(above(above(path)), DIRECTORY);
            }
        }
        // Side by side they share the flushes of the disk that they wait for.
        let inodes: Vec<(&str, OFlags)> = inodes.into_iter().collect();
        inodes.par_iter().try_for_each(|(path, flags)| self.sync_one(path, *flags))
    }

    fn sync_one(&self, path: &str, flags: OFlags) -> Result<(), FileError> {
        open_beneath(&self.dir, path, flags, Mode::empty())
            .and_then(rustix::fs::fsync)
            .map_err(|e| FileError::from_errno("sync", path, e))
    }

    /// Opens the file that writers lock, making it if needed.
    pub(super) fn open_lock_file(&self, path: &str) -> Result<File, FileError> {
        let fail = |e| FileError::from_errno("lock", path, e);
        let (parent, name) = self.parent(path).map_err(fail)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(&parent, name, flags | OFlags::NONBLOCK, 0o666.into())
            .map_err(fail)?;
        Ok(File::from(fd))
    }

    /// The folder that holds an existing file, and the file's name in it.
    pub(super) fn folder_of<'p>(&self, path: &'p str) -> Result<(OwnedFd, &'p str), FileError> {
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        open_beneath(&self.dir, folder, DIRECTORY, Mode::empty())
            .map(|folder| (folder, name))
            .map_err(|e| FileError::from_errno("open the folder of", path, e))
    }

    /// The folder that holds `path`, made if needed, and the last name of `path`.
    fn parent<'p>(&self, path: &'p str) -> Result<(OwnedFd, &'p str), Errno> {
        match path.rsplit_once('/') {
            Some((parent, name)) => Ok((self.directory(parent)?, name)),
            None => Ok((self.dir.try_clone().map_err(|e| errno_of(&e))?, path)),
        }
    }

    fn directory(&self, path: &str) -> Result<OwnedFd, Errno> {
        match open_beneath(&self.dir, path, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) => {
                let (above, name) = self.parent(path)?;
                match rustix::fs::mkdirat(&above, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(e) => return Err(e),
                }
                rustix::fs::openat(&above, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
            }
            other => other,
        }
    }
}

impl FileError {
    /// `a/b` where `a` is a file: nothing of that name can exist.
    fn is_under_a_file(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory)
    }
}

pub(super) fn create(parent: &OwnedFd, name: &str) -> Result<File, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(parent, name, flags, Mode::from_raw_mode(0o666)).map(File::from)
}

/// Gives a written file its name, if nothing has it.
fn name_new(place: &OwnedFd, temporary: &str, parent: &OwnedFd, name: &str) -> Result<(), Errno> {
    let flags = RenameFlags::NOREPLACE;
    match rustix::fs::renameat_with(place, temporary, parent, name, flags) {
        // Not every file system can; a second name refuses an existing one just as well.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            rustix::fs::linkat(place, temporary, parent, name, AtFlags::empty())?;
            rustix::fs::unlinkat(place, temporary, AtFlags::empty())
        }
        other => other,
    }
}

/// Enough of a name to recognise a temporary file by, within the 255 bytes of a name.
fn short(name: &str) -> &str {
    let mut end = name.len().min(100);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Opens a path beneath a folder without following any symbolic link on the way.
fn open_beneath(dir: &OwnedFd, path: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        loop {
            match rustix::fs::openat2(dir, path, flags, mode, resolve) {
                // The kernel asks to try again when a rename ran beside the look-up.
                Err(Errno::AGAIN) => {}
                // Older kernels and some sandboxes have no openat2.
                Err(Errno::NOSYS | Errno::PERM) => break,
                other => return other,
            }
        }
    }
    let mut at = rustix::io::fcntl_dupfd_cloexec(dir.as_fd(), 0)?;
    let mut names = path.split('/').filter(|n| !n.is_empty() && *n != ".").peekable();
    while let Some(name) = names.next() {
        if name == ".." {
            return Err(Errno::XDEV);
        }
        let step = if names.peek().is_some() { DIRECTORY } else { flags };
        at = rustix::fs::openat(&at, name, step | OFlags::NOFOLLOW, mode)?;
    }
    Ok(at)
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
    fn nothing_outside_the_root_is_read_or_written() {
        let (dir, files) = files();
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("out")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("passwd")).unwrap();
        for path in ["passwd", "out/x", "../x", "/etc/passwd"] {
            let error = files.read(path, 100).unwrap_err();
            assert!(matches!(error, FileError::Link { .. }), "{path}: {error}");
        }
        assert!(matches!(files.create_new("out/x", b""), Err(FileError::Link { .. })));
        assert!(matches!(files.append("out/y/z", 0, b"x"), Err(FileError::Link { .. })));
        assert_eq!(outside.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn only_regular_files_of_bounded_size_are_read() {
        let (dir, files) = files();
        files.create_new("a/b/c", b"12345").unwrap();
        assert_eq!(files.read("a/b/c", 5).unwrap(), b"12345");
        assert!(matches!(files.read("a/b/c", 4), Err(FileError::TooLarge { limit: 4, .. })));
        assert!(matches!(files.read("a/b", 5), Err(FileError::NotRegular { .. })));
        assert!(files.read_optional("a/b/c/d", 5).unwrap().is_none());
        let fifo = std::process::Command::new("mkfifo").arg(dir.path().join("fifo")).status();
        assert!(fifo.unwrap().success());
        assert!(matches!(files.read("fifo", 5), Err(FileError::NotRegular { .. })));
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
