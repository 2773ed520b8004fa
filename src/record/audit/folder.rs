//! A folder of logs, of the user or in a vault. Names in a vault never lead outside of it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::blocks::LogFile;
use crate::files::vault::disk::Disk;
use crate::files::vault::files::{FileError, Files};
use crate::files::vault::lock;
use crate::files::vault::outside;
use crate::files::vault::write::Written;
use crate::record::journal::{FULL, FilesByWriter, by_writer};
use crate::values::model::layout::{self, ACCESS_DIR, AUDIT_DIR};

/// Maximum length of a log file in a vault. Writers append no line from [`FULL`] on.
const MAX_FILE: u64 = 4 * FULL;
/// Number of folders that ctx may create for logs: the folder itself and its parents.
const FOLDERS: usize = 3;
/// Name of the file that a replacement is written to before it is renamed.
const TEMPORARY: &str = ".pruning";

/// A folder of logs.
#[derive(Clone, Debug)]
pub(crate) enum Folder {
    /// Accesses, in a folder of the user.
    Outside(PathBuf),
    /// Changes or accesses, in a folder of the vault.
    Vault {
        /// The files of the vault.
        files: Files,
        /// The folder.
        dir: &'static str,
    },
}

/// Writes the bytes of a file.
pub(super) type Fill<'f> = &'f mut dyn FnMut(&File, &str) -> io::Result<()>;

/// A folder whose lines are used only if their heads are checkpoints of the vault.
#[derive(Debug)]
pub(super) enum Compared {
    /// The folder for the vault's own path. Another vault may have had that path.
    Own,
    /// A folder for another path, with the folder of its vault.
    Other(PathBuf),
}

impl Folder {
    /// Returns the folder of a vault's change logs.
    pub(super) fn of_changes(files: &Files) -> Self {
        Self::Vault { files: files.clone(), dir: AUDIT_DIR }
    }

    /// Returns the folder of a vault's access logs.
    pub(super) fn of_accesses(files: &Files) -> Self {
        Self::Vault { files: files.clone(), dir: ACCESS_DIR }
    }

    /// Returns true if the folder is in the vault, where other users may also write to it.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Vault { .. })
    }

    /// Returns the path of the folder.
    pub(crate) fn shown(&self) -> PathBuf {
        match self {
            Self::Outside(dir) => dir.clone(),
            Self::Vault { files, dir } => files.root().join(dir),
        }
    }

    /// Returns the name of the folder for reports.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Outside(dir) => dir.display().to_string(),
            Self::Vault { dir, .. } => (*dir).to_owned(),
        }
    }

    /// Returns the name of a file for reports. Accesses in the vault have their path there, because
    /// they are listed together with those of the user.
    pub(super) fn name_of(&self, name: &str) -> String {
        match self {
            Self::Vault { dir: ACCESS_DIR, .. } => format!("{ACCESS_DIR}/{name}"),
            Self::Outside(_) | Self::Vault { .. } => name.to_owned(),
        }
    }

    /// Returns the path of a file: relative to the vault, or absolute.
    fn path(&self, name: &str) -> String {
        match self {
            Self::Outside(dir) => dir.join(name).to_string_lossy().into_owned(),
            Self::Vault { dir, .. } => format!("{dir}/{name}"),
        }
    }

    /// Returns the files of logs in the folder.
    pub(super) fn files(&self) -> io::Result<FilesByWriter> {
        match self {
            Self::Outside(dir) => {
                check_no_link(dir)?;
                crate::record::journal::files_in(dir)
            }
            Self::Vault { files, dir } => match files.names(dir) {
                Err(why) if why.is_absent() && !files.exists(dir) => Ok(FilesByWriter::new()),
                names => Ok(by_writer(names.map_err(io_error)?)),
            },
        }
    }

    /// Opens a file in the folder.
    pub(super) fn open(&self, name: &str) -> io::Result<LogFile> {
        match self {
            Self::Outside(dir) => LogFile::open(&dir.join(name)),
            Self::Vault { files, .. } => {
                let opened = files.open_optional(&self.path(name), MAX_FILE).map_err(io_error)?;
                LogFile::of(opened.ok_or(io::ErrorKind::NotFound)?)
            }
        }
    }

    /// Creates the folder if it is missing.
    pub(super) fn make(&self) -> io::Result<()> {
        match self {
            Self::Outside(dir) => {
                outside::make_private(dir)?;
                check_no_link(dir)
            }
            Self::Vault { files, dir } => {
                if files.folder(dir).is_some() {
                    return Ok(());
                }
                files.create_dir(dir).map_err(io_error)?;
                // Recording must not fail because this file exists already or cannot be written.
                let text = layout::ATTRIBUTES_TEXT.as_bytes();
                let _ = files.create_new(layout::AUDIT_ATTRIBUTES, text);
                Ok(())
            }
        }
    }

    /// Returns true if the folder has a file that can be appended to.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::Outside(dir) => dir.join(name).exists(),
            Self::Vault { files, .. } => files.has_private(&self.path(name)),
        }
    }

    /// Opens a file to append to it; creates it if it is missing.
    pub(super) fn open_to_append(&self, name: &str) -> io::Result<File> {
        match self {
            Self::Outside(dir) => outside::open_to_append(&dir.join(name)),
            Self::Vault { files, .. } => files.open_private(&self.path(name)).map_err(io_error),
        }
    }

    /// Returns true if a file that was opened still has this name.
    fn is_named(&self, name: &str, file: &File) -> io::Result<bool> {
        match self {
            Self::Outside(dir) => {
                let (ours, there) = (file.metadata()?, dir.join(name).symlink_metadata());
                Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
            }
            Self::Vault { files, .. } => Ok(files.names_file(&self.path(name), file)),
        }
    }

    /// Locks a file until the returned handle is dropped. Pruning replaces the file, and a line
    /// that is appended to a replaced file is lost. Therefore the file is opened again until it has
    /// its name.
    ///
    /// # Errors
    /// Fails if the file cannot be opened, or if another process locks it for longer
    /// than `patience`.
    pub(super) fn take_turn(&self, name: &str, patience: Duration) -> io::Result<File> {
        let locked = || {
            lock::turn(self.open_to_append(name)?, patience)
                .map_err(|why| io::Error::new(why.kind(), format!("`{name}`: {why}")))
        };
        let mut turn = locked()?;
        for _ in 0..MOST_REPLACED {
            if self.is_named(name, &turn)? {
                break;
            }
            turn = locked()?;
        }
        Ok(turn)
    }

    /// Appends to a file of this length; if `is_durable`, syncs it.
    pub(super) fn append(
        &self,
        (name, file, length): (&str, &File, u64),
        bytes: &[u8],
        is_durable: bool,
        disk: &Disk,
    ) -> io::Result<()> {
        let path = self.path(name);
        let written = disk.write(file, &path, length, bytes);
        if written.is_err() {
            // A torn line would be truncated by the next writer as well; the first error is reported.
            let _ = file.set_len(length);
        }
        written?;
        if is_durable {
            disk.sync(file, &path)?;
            // A new file is durable only if the folders that name it are.
            if length == 0 {
                self.sync_names(name, disk)?;
            }
        }
        Ok(())
    }

    fn sync_names(&self, name: &str, disk: &Disk) -> io::Result<()> {
        match self {
            Self::Outside(dir) => dir.ancestors().take(FOLDERS).try_for_each(|folder| {
                Ok(disk.sync(File::open(folder)?, &folder.to_string_lossy())?)
            }),
            Self::Vault { files, .. } => {
                files.sync(&[Written::Named(&self.path(name))]).map_err(io_error)
            }
        }
    }

    /// Replaces the bytes of a file as a whole.
    pub(super) fn replace(&self, name: &str, fill: Fill<'_>, disk: &Disk) -> io::Result<()> {
        let dir = match self {
            Self::Outside(dir) => dir,
            Self::Vault { files, .. } => {
                return files.replace_private(&self.path(name), fill).map_err(io_error);
            }
        };
        let new = dir.join(TEMPORARY);
        let _ = fs::remove_file(&new);
        let shown = new.to_string_lossy();
        let file = disk.create_outside(&new)?;
        fill(&file, &shown)?;
        disk.sync(&file, &shown)?;
        disk.rename_outside(&new, &dir.join(name))?;
        self.sync(disk)
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &str, disk: &Disk) -> io::Result<()> {
        match self {
            Self::Outside(dir) => Ok(disk.remove_outside(&dir.join(name))?),
            Self::Vault { files, .. } => files.remove_private(&self.path(name)).map_err(io_error),
        }
    }

    /// Truncates a file to length 0.
    pub(super) fn empty(&self, name: &str, disk: &Disk) -> io::Result<()> {
        let file = self.open_to_append(name)?;
        Ok(disk.truncate_outside(&file, Path::new(&self.path(name)), 0)?)
    }

    /// Syncs the names in the folder.
    pub(super) fn sync(&self, disk: &Disk) -> io::Result<()> {
        match self {
            Self::Outside(dir) => Ok(disk.sync(File::open(dir)?, &dir.to_string_lossy())?),
            Self::Vault { files, .. } => {
                files.sync(&[Written::Named(&self.path("names"))]).map_err(io_error)
            }
        }
    }
}

/// Maximum number of times that a file is opened again because it was replaced while we waited.
const MOST_REPLACED: usize = 16;

/// Refuses a folder of the user that is a link: another user may control its target.
fn check_no_link(dir: &Path) -> io::Result<()> {
    match dir.symlink_metadata() {
        Ok(meta) if meta.is_symlink() => {
            Err(io::Error::other(format!("`{}` is a link, which is not followed", dir.display())))
        }
        _ => Ok(()),
    }
}

/// Converts the error of a vault's file into one of the system. Callers report it by its kind.
#[allow(clippy::needless_pass_by_value, reason = "it is what errors are mapped with")]
fn io_error(why: FileError) -> io::Error {
    let kind = match &why {
        FileError::Io { source, .. } => source.kind(),
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, why.to_string())
}
