//! Access to the files of a vault: the only code that opens them.
//!
//! Every path is relative to the vault's root and resolved beneath it without following symbolic
//! links, so that no name in a vault reaches a file outside. Reads are bounded, and only regular
//! files are read, because a fifo would block for ever. Writing is in `write`.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::disk::Disk;
use super::recased::Recased;
use super::tree::{Kind, Name, Tree, nameless};
use crate::values::model::layout::limit;

/// A file operation that failed, with the path in the vault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system refused the operation.
    #[error("cannot {action} `{}`: {source}", path.escape_debug())]
    Io {
        /// Verb of the operation: `read`, `list`, `create`, `append to`, `replace`,
        /// `remove`, `sync`.
        action: &'static str,
        /// Path in the vault.
        path: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The file exceeds the limit of its kind.
    #[error("`{}` is larger than {limit} bytes", path.escape_debug())]
    TooLarge {
        /// Path in the vault.
        path: String,
        /// Limit in bytes.
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
    /// The content of the file is no longer what was read before.
    #[error("another process changed `{}` during the command", path.escape_debug())]
    Changed {
        /// Path in the vault.
        path: String,
    },
}

impl FileError {
    /// Returns true if the file does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Returns true if another process changed the file during the command.
    pub fn is_changed(&self) -> bool {
        matches!(self, Self::Changed { .. })
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
#[derive(Clone, Debug)]
pub struct Files {
    root: PathBuf,
    pub(super) dir: Arc<OwnedFd>,
    /// Folder of local state, opened at the first write.
    pub(super) local: Arc<OnceLock<OwnedFd>>,
    /// True if [`Files::sync`] waits for the disk.
    pub(super) waits: bool,
    /// Disk that makes the changes.
    pub(super) disk: Disk,
    /// Live files whose names differ in case from the recorded ones.
    pub(super) recased: Arc<Recased>,
    /// Files of git that are read instead of those beneath the root.
    tree: Option<Arc<Tree>>,
}

/// The metadata of a file that changes when a process writes to it, replaces it or sets its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    device: u64,
    inode: u64,
    /// Length in bytes.
    pub length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Returns the stamp of a file at a path of the machine, after links are followed; `None` if
    /// the file does not exist.
    #[cfg(feature = "mcp")]
    pub(crate) fn of(path: &Path) -> Option<Self> {
        path.metadata().ok().as_ref().map(Self::from)
    }

    /// Returns the stamp of a blob of git of this length, which never changes.
    fn of_blob(length: u64) -> Self {
        Self { device: 0, inode: 0, length, modified: (0, 0), changed: (0, 0) }
    }

    /// Returns the later of the times of modification and of change, in seconds and nanoseconds.
    pub(crate) fn touched(&self) -> (i64, i64) {
        self.modified.max(self.changed)
    }
}

impl From<&Metadata> for Stamp {
    fn from(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            length: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// A folder that was opened beneath the root, so that many look-ups in it resolve its path
/// only once.
#[derive(Debug)]
pub(crate) struct OpenFolder(OwnedFd);

impl OpenFolder {
    /// Returns the stamp of a file in the folder, without opening it; `None` if no regular file has
    /// this name.
    pub(crate) fn stamp(&self, name: &str) -> Option<Stamp> {
        stamp_of(&self.0, name)
    }

    /// Returns the stamps of files in a subfolder that is not a link; `None` if one of them does
    /// not exist.
    pub(crate) fn stamps_in<const N: usize>(
        &self,
        folder: &str,
        names: [&str; N],
    ) -> Option<[Stamp; N]> {
        let found = rustix::fs::statat(&self.0, folder, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if !FileType::from_raw_mode(found.st_mode).is_dir() {
            return None;
        }
        let stamps = names.map(|name| stamp_of(&self.0, &format!("{folder}/{name}")));
        stamps.iter().all(Option::is_some).then(|| stamps.map(|s| s.expect("all are there")))
    }
}

#[allow(
    clippy::unnecessary_cast,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "systems differ in the types of these; nanoseconds and lengths are not negative"
)]
fn stamp_of(dir: &OwnedFd, path: &str) -> Option<Stamp> {
    let stat = rustix::fs::statat(dir, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return None;
    }
    Some(Stamp {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        length: stat.st_size as u64,
        modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    })
}

pub(super) const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);
pub(super) const DIRECTORY: OFlags = READ.union(OFlags::DIRECTORY);

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
        Ok(Self {
            root,
            dir: Arc::new(dir),
            local: Arc::default(),
            waits: true,
            disk: Disk::default(),
            recased: Arc::default(),
            tree: None,
        })
    }

    /// Returns the files of a tree of git, which cannot be written. Their root names them only.
    ///
    /// # Errors
    /// The root does not exist or cannot be opened.
    pub(crate) fn of_tree(root: &Path, tree: Tree) -> Result<Self, FileError> {
        Ok(Self { tree: Some(Arc::new(tree)), ..Self::open(root)? })
    }

    /// Returns the tree of git with the files, if they are not those beneath the root.
    pub(super) fn tree(&self) -> Option<&Tree> {
        self.tree.as_deref()
    }

    /// Returns these files on a disk with an observer.
    #[must_use]
    pub fn on(mut self, disk: Disk) -> Self {
        self.disk = disk;
        self
    }

    /// Returns the disk that makes the changes.
    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Lets the system decide when written bytes become durable.
    pub(super) fn stop_waiting(&mut self) {
        self.waits = false;
    }

    /// Returns the canonical path of the root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Reads a whole file of at most `limit` bytes.
    ///
    /// # Errors
    /// See [`FileError`]; [`FileError::is_not_found`] recognizes a missing file.
    pub fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, FileError> {
        Ok(self.read_stamped(path, limit)?.0)
    }

    /// Reads a whole file, with its stamp from before the read.
    ///
    /// # Errors
    /// The errors of [`Files::read`].
    pub(crate) fn read_stamped(
        &self,
        path: &str,
        limit: u64,
    ) -> Result<(Vec<u8>, Stamp), FileError> {
        if let Some(tree) = self.tree() {
            let bytes = self.blob(tree, path, limit)?;
            let stamp = Stamp::of_blob(bytes.len() as u64);
            return Ok((bytes, stamp));
        }
        let (mut file, meta) = self.open_regular(path)?;
        let mut bytes = Vec::new();
        if meta.len() <= limit {
            // One byte more than the length: if the first read leaves it free, the end was reached.
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
        Ok((bytes, Stamp::from(&meta)))
    }

    /// Reads a file of a tree of git.
    fn blob(&self, tree: &Tree, path: &str, limit: u64) -> Result<Vec<u8>, FileError> {
        match tree.read(&self.spelled(path), limit) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(FileError::TooLarge { path: path.to_owned(), limit }),
            Err(why) => Err(match Errno::from_io_error(&why) {
                Some(Errno::ISDIR) => FileError::NotRegular { path: path.to_owned() },
                Some(errno) => FileError::from_errno("read", path, errno),
                None => FileError::io("read", path)(why),
            }),
        }
    }

    /// Returns the stamp of a file.
    ///
    /// # Errors
    /// The errors of [`Files::read`].
    pub fn stamp(&self, path: &str) -> Result<Stamp, FileError> {
        if self.tree.is_some() {
            return Ok(self.read_stamped(path, limit::LOG)?.1);
        }
        Ok(Stamp::from(&self.open_regular(path)?.1))
    }

    /// Opens a folder, the root with an empty path; `None` if it cannot be reached without
    /// following a link.
    pub(crate) fn folder(&self, path: &str) -> Option<OpenFolder> {
        let path = if path.is_empty() { "." } else { path };
        if self.tree.is_some() {
            return None;
        }
        self.disk.looks(path);
        open_beneath(&self.dir, path, DIRECTORY, Mode::empty()).ok().map(OpenFolder)
    }

    /// Reads exactly `length` bytes of a file from a position.
    ///
    /// # Errors
    /// The errors of [`Files::read`], and the file is shorter.
    pub fn read_at(&self, path: &str, at: u64, length: usize) -> Result<Vec<u8>, FileError> {
        let (file, meta) = self.open_regular(path)?;
        // The length is checked before memory is allocated.
        if at.checked_add(length as u64).is_none_or(|end| end > meta.len()) {
            return Err(FileError::io("read", path)(io::ErrorKind::UnexpectedEof.into()));
        }
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, at).map_err(FileError::io("read", path))?;
        Ok(bytes)
    }

    pub(super) fn open_regular(&self, path: &str) -> Result<(File, Metadata), FileError> {
        if let Some(tree) = self.tree() {
            let bytes = self.blob(tree, path, limit::LOG)?;
            let file = nameless(&bytes).map_err(FileError::io("read", path))?;
            let meta = file.metadata().map_err(FileError::io("read", path))?;
            return Ok((file, meta));
        }
        let flags = READ | OFlags::NONBLOCK | OFlags::NOCTTY;
        self.disk.looks(path);
        let open = |path: &str| open_beneath(&self.dir, path, flags, Mode::empty());
        let opened = match open(path) {
            Err(Errno::NOENT) => match self.recased(path) {
                Some(there) => open(&there),
                None => Err(Errno::NOENT),
            },
            opened => opened,
        };
        let file = File::from(opened.map_err(|e| FileError::from_errno("read", path, e))?);
        let meta = file.metadata().map_err(FileError::io("read", path))?;
        if !meta.is_file() {
            return Err(FileError::NotRegular { path: path.to_owned() });
        }
        Ok((file, meta))
    }

    /// Opens a file of at most `limit` bytes, to be read in pieces; `None` if it does not exist.
    ///
    /// # Errors
    /// The errors of [`Files::read`], except for a missing file.
    pub(crate) fn open_optional(&self, path: &str, limit: u64) -> Result<Option<File>, FileError> {
        match self.open_regular(path) {
            Ok((_, meta)) if meta.len() > limit => {
                Err(FileError::TooLarge { path: path.to_owned(), limit })
            }
            // A file that grows meanwhile is read up to the limit.
            Ok((file, _)) => Ok(Some(file)),
            Err(e) if e.is_absent() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Reads a file; `None` if it does not exist.
    ///
    /// # Errors
    /// The errors of [`Files::read`], except for a missing file.
    pub fn read_optional(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
        match self.read(path, limit) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.is_absent() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Returns true if a file, folder or other object has this name.
    pub fn exists(&self, path: &str) -> bool {
        self.kind(path).is_some()
    }

    /// Returns the metadata of the object with this name; `None` for files of git.
    fn stat(&self, path: &str) -> Option<Stat> {
        if self.tree.is_some() {
            return None;
        }
        self.disk.looks(path);
        let stat = |path: &str| rustix::fs::statat(&self.dir, path, AtFlags::SYMLINK_NOFOLLOW);
        match stat(path) {
            Err(Errno::NOENT) => stat(&self.recased(path)?).ok(),
            found => found.ok(),
        }
    }

    /// Returns the path of the live file of `path`: this path, or one that differs in case if no
    /// file has exactly this path (VAULT-65).
    pub(crate) fn spelled<'p>(&self, path: &'p str) -> Cow<'p, str> {
        if let Some(tree) = self.tree() {
            let there = tree.kind(path).map_or_else(|| self.recased(path), |_| None);
            return there.map_or(Cow::Borrowed(path), Cow::Owned);
        }
        self.disk.looks(path);
        match rustix::fs::statat(&self.dir, path, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => self.recased(path).map_or(Cow::Borrowed(path), Cow::Owned),
            _ => Cow::Borrowed(path),
        }
    }

    /// Returns the device and the inode number of the object with this name.
    pub(super) fn identity(&self, path: &str) -> Option<(u64, u64)> {
        let stat = self.stat(path)?;
        Some((stat.st_dev, stat.st_ino))
    }

    /// Returns true if a file has only one name, without hard links.
    pub(super) fn has_one_name(&self, path: &str) -> bool {
        self.stat(path).is_some_and(|stat| stat.st_nlink == 1)
    }

    /// Returns true if two names are those of the same file or folder.
    pub(super) fn is_same(&self, one: &str, other: &str) -> bool {
        let identity = self.identity(one);
        identity.is_some() && identity == self.identity(other)
    }

    /// Returns the kind of the object with this name; `None` if it does not exist.
    pub(super) fn kind(&self, path: &str) -> Option<Kind> {
        if let Some(tree) = self.tree() {
            return tree.kind(&self.spelled(path));
        }
        Some(kind_of(FileType::from_raw_mode(self.stat(path)?.st_mode)))
    }

    /// Returns true if a regular file has this name.
    pub fn is_file(&self, path: &str) -> bool {
        self.kind(path) == Some(Kind::File)
    }

    /// Returns true if there is a folder at a path; false for a link to one.
    pub fn is_folder(&self, path: &str) -> bool {
        if let Some(tree) = self.tree() {
            return tree.kind(path) == Some(Kind::Folder);
        }
        self.disk.looks(path);
        let stat = rustix::fs::statat(&self.dir, path, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir())
    }

    /// Returns the names in a folder that are UTF-8, in no order.
    ///
    /// # Errors
    /// The folder does not exist, or it cannot be listed.
    pub fn names(&self, folder: &str) -> Result<Vec<String>, FileError> {
        if let Some(tree) = self.tree() {
            return listed_in(tree, folder, |name| name.name.clone());
        }
        self.listed(folder, |_, name, _| name.to_owned())
    }

    /// Returns the names in a folder that are UTF-8, each with its kind, in no order; the root has
    /// an empty path.
    ///
    /// # Errors
    /// The errors of [`Files::names`].
    pub(super) fn entries(&self, folder: &str) -> Result<Vec<(String, Kind)>, FileError> {
        if let Some(tree) = self.tree() {
            return listed_in(tree, folder, |name| (name.name.clone(), name.kind));
        }
        let folder = if folder.is_empty() { "." } else { folder };
        self.listed(folder, |fd, name, kind| {
            let kind = match kind {
                // Not every file system returns the kind with the name.
                FileType::Unknown => rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                kind => kind,
            };
            (name.to_owned(), kind_of(kind))
        })
    }

    fn listed<T>(
        &self,
        folder: &str,
        take: impl Fn(&OwnedFd, &str, FileType) -> T,
    ) -> Result<Vec<T>, FileError> {
        let fail = |e| FileError::from_errno("list", folder, e);
        self.disk.looks(folder);
        let fd = open_beneath(&self.dir, folder, DIRECTORY, Mode::empty()).map_err(fail)?;
        let mut all = Vec::new();
        for entry in rustix::fs::Dir::read_from(&fd).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name().to_str().ok();
            let name = name.filter(|name| !matches!(*name, "." | ".."));
            all.extend(name.map(|name| take(&fd, name, entry.file_type())));
        }
        Ok(all)
    }
}

impl FileError {
    /// Returns true if no file of that name exists, or can exist.
    pub(crate) fn is_absent(&self) -> bool {
        self.is_not_found() || self.is_under_a_file()
    }

    /// Returns true for `a/b` where `a` is a file: no file of that name can exist.
    fn is_under_a_file(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory)
    }
}

fn kind_of(found: FileType) -> Kind {
    match found {
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::RegularFile => Kind::File,
        _ => Kind::Special,
    }
}

/// Opens a path beneath a folder without following symbolic links.
pub(super) fn open_beneath(
    dir: &OwnedFd,
    path: &str,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        loop {
            match rustix::fs::openat2(dir, path, flags, mode, resolve) {
                // The kernel asks to try again after a rename during the look-up.
                Err(Errno::AGAIN) => {}
                // Older kernels and some sandboxes do not support openat2.
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

/// Returns a part of each name in a folder of a tree that is UTF-8.
fn listed_in<T>(tree: &Tree, folder: &str, of: impl Fn(&Name) -> T) -> Result<Vec<T>, FileError> {
    let names = tree.names(folder).map_err(|e| FileError::from_errno("list", folder, e))?;
    Ok(names.iter().filter(|name| name.is_text).map(of).collect())
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
    fn stamp_in_a_folder_equals_that_of_the_opened_file() {
        let (dir, files) = files();
        files.create_new("a/b/c", b"12345").unwrap();
        let stamp = files.stamp("a/b/c").unwrap();
        let [root, a] = ["", "a"].map(|path| files.folder(path).unwrap());
        assert_eq!(files.folder("a/b").unwrap().stamp("c"), Some(stamp));
        assert_eq!(a.stamps_in("b", ["c"]), Some([stamp]));
        assert_eq!(root.stamps_in("a/b", ["c"]), Some([stamp]));
        std::os::unix::fs::symlink("b", dir.path().join("a/link")).unwrap();
        std::os::unix::fs::symlink("b/c", dir.path().join("a/file")).unwrap();
        std::os::unix::fs::symlink("a", dir.path().join("folder")).unwrap();
        assert_eq!(a.stamps_in("link", ["c"]), None);
        assert_eq!(a.stamps_in("b", ["c", "d"]), None);
        assert_eq!((a.stamp("file"), a.stamp("b"), a.stamp("d")), (None, None, None));
        assert!(files.folder("folder").is_none() && files.folder("..").is_none());
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
}
