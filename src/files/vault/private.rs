//! Files of a vault that only their owner may read, and to which several processes append in turn:
//! the access logs (AUDIT-30). A lock on such a file needs the file itself, not only its bytes.

use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use rustix::fs::{Mode, OFlags};

use super::disk::Place;
use super::files::{FileError, Files};

/// Mode that lets only the owner read and write.
const PRIVATE: u32 = 0o600;

impl Files {
    /// Opens a private file for reading and appending; creates it, with the folders above it, if it
    /// is missing. A file with a second name is refused, because appended lines would also be in
    /// the file of that name.
    pub(crate) fn open_private(&self, path: &str) -> Result<File, FileError> {
        let fail = |e| FileError::from_errno("append to", path, e);
        let io = FileError::io("append to", path);
        let (folder, name) = self.parent(path).map_err(fail)?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC;
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = File::from(rustix::fs::openat(&folder, name, flags, mode).map_err(fail)?);
        let meta = file.metadata().map_err(io)?;
        if !meta.is_file() || meta.nlink() > 1 {
            return Err(FileError::NotRegular { path: path.to_owned() });
        }
        // Git creates files with the mode that the user's mask leaves.
        if meta.mode() & 0o077 != 0 {
            let _ = file.set_permissions(Permissions::from_mode(PRIVATE));
        }
        Ok(file)
    }

    /// Returns true if the metadata of a file allow [`Files::open_private`] to open it.
    pub(crate) fn has_private(&self, path: &str) -> bool {
        self.open_regular(path).is_ok_and(|(_, meta)| meta.nlink() < 2)
    }

    /// Returns true if the opened file still has this name.
    pub(crate) fn names_file(&self, path: &str, file: &File) -> bool {
        let meta = file.metadata().ok();
        let opened = meta.map(|meta| (meta.dev(), meta.ino()));
        opened.is_some() && opened == self.identity(path)
    }

    /// Replaces an existing private file: `fill` writes the new bytes, which are durable before
    /// they get the name. The name is durable when this returns.
    pub(crate) fn replace_private(
        &self,
        path: &str,
        fill: &mut dyn FnMut(&File, &str) -> std::io::Result<()>,
    ) -> Result<(), FileError> {
        let fail = |e| FileError::from_errno("replace", path, e);
        let (folder, name) = self.folder_of(path)?;
        let temporary = self.temporary(&folder, path)?;
        let disk = self.disk();
        let file = disk.create(&temporary.place()).map_err(fail)?;
        let written = file
            .set_permissions(Permissions::from_mode(PRIVATE))
            .and_then(|()| fill(&file, &temporary.path))
            .map_err(FileError::io("replace", path))
            .and_then(|()| {
                disk.sync(&file, &temporary.path).map_err(fail)?;
                disk.rename(&temporary.place(), &Place { folder: &folder, name, path })
                    .map_err(fail)
            });
        if written.is_err() {
            // The first error is reported.
            let _ = disk.remove(&temporary.place());
        }
        written?;
        disk.sync(&folder, path).map_err(fail)
    }

    /// Removes a file, regardless of its content.
    pub(crate) fn remove_private(&self, path: &str) -> Result<(), FileError> {
        let (folder, name) = self.folder_of(path)?;
        let place = Place { folder: &folder, name, path };
        self.disk().remove(&place).map_err(|e| FileError::from_errno("remove", path, e))
    }
}
