//! A folder of logs: one of the user, or one in a vault, whose names lead nowhere outside of it.

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

/// No file of a log in a vault is longer: it gets no line from [`FULL`] on.
const MAX_FILE: u64 = 4 * FULL;
/// The folder of a vault's logs, and those above it that we make.
const FOLDERS: usize = 3;
/// Where the rest of a file is written before it gets its name.
const TEMPORARY: &str = ".pruning";

/// Where logs are.
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

/// What writes the bytes of a file.
pub(super) type Fill<'f> = &'f mut dyn FnMut(&File, &str) -> io::Result<()>;

/// A folder whose lines answer only if their heads are checkpoints of the vault.
#[derive(Debug)]
pub(super) enum Compared {
    /// The folder of the vault's own path; another vault may have had that path.
    Own,
    /// That of another path, with the folder of its vault.
    Other(PathBuf),
}

impl Folder {
    /// The change logs of a vault.
    pub(super) fn of_changes(files: &Files) -> Self {
        Self::Vault { files: files.clone(), dir: AUDIT_DIR }
    }

    /// The logs of accesses in a vault.
    pub(super) fn of_accesses(files: &Files) -> Self {
        Self::Vault { files: files.clone(), dir: ACCESS_DIR }
    }

    /// Whether it is in the vault, and so in the hands of more than one user.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Vault { .. })
    }

    /// Its path.
    pub(crate) fn shown(&self) -> PathBuf {
        match self {
            Self::Outside(dir) => dir.clone(),
            Self::Vault { files, dir } => files.root().join(dir),
        }
    }

    /// How it is named to people.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Outside(dir) => dir.display().to_string(),
            Self::Vault { dir, .. } => (*dir).to_owned(),
        }
    }

    /// How a file of it is named to people: accesses in the vault by their path there, since they
    /// are looked at together with those of the user.
    pub(super) fn name_of(&self, name: &str) -> String {
        match self {
            Self::Vault { dir: ACCESS_DIR, .. } => format!("{ACCESS_DIR}/{name}"),
            Self::Outside(_) | Self::Vault { .. } => name.to_owned(),
        }
    }

    /// The path of a file: in the vault, or an absolute one.
    fn path(&self, name: &str) -> String {
        match self {
            Self::Outside(dir) => dir.join(name).to_string_lossy().into_owned(),
            Self::Vault { dir, .. } => format!("{dir}/{name}"),
        }
    }

    /// The files of logs in it.
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

    /// Opens a file in it.
    pub(super) fn open(&self, name: &str) -> io::Result<LogFile> {
        match self {
            Self::Outside(dir) => LogFile::open(&dir.join(name)),
            Self::Vault { files, .. } => {
                let opened = files.open_optional(&self.path(name), MAX_FILE).map_err(io_error)?;
                LogFile::of(opened.ok_or(io::ErrorKind::NotFound)?)
            }
        }
    }

    /// Makes it, if it is not there.
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
                // That it is there already, or cannot be written, is no reason to record nothing.
                let text = layout::ATTRIBUTES_TEXT.as_bytes();
                let _ = files.create_new(layout::AUDIT_ATTRIBUTES, text);
                Ok(())
            }
        }
    }

    /// Whether it has a file that can be appended to.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::Outside(dir) => dir.join(name).exists(),
            Self::Vault { files, .. } => files.has_private(&self.path(name)),
        }
    }

    /// Opens a file to append to it; it is made if it is not there.
    pub(super) fn open_to_append(&self, name: &str) -> io::Result<File> {
        match self {
            Self::Outside(dir) => outside::open_to_append(&dir.join(name)),
            Self::Vault { files, .. } => files.open_private(&self.path(name)).map_err(io_error),
        }
    }

    /// Whether a file that was opened still has this name.
    fn is_named(&self, name: &str, file: &File) -> io::Result<bool> {
        match self {
            Self::Outside(dir) => {
                let (ours, there) = (file.metadata()?, dir.join(name).symlink_metadata());
                Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
            }
            Self::Vault { files, .. } => Ok(files.names_file(&self.path(name), file)),
        }
    }

    /// A file, locked until it is dropped. Pruning replaces the file: a lock on the one before is no
    /// turn, and a line in it would be lost.
    ///
    /// # Errors
    /// It cannot be opened, or another process has kept it for longer than `patience`.
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

    /// Appends to a file of this length, and waits for the disk where it must be durable.
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
            // A new file is durable when the folders that name it are.
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

    /// Puts other bytes in the place of a file, as a whole.
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

    /// Removes the bytes of a file.
    pub(super) fn empty(&self, name: &str, disk: &Disk) -> io::Result<()> {
        let file = self.open_to_append(name)?;
        Ok(disk.truncate_outside(&file, Path::new(&self.path(name)), 0)?)
    }

    /// Makes the names in it durable.
    pub(super) fn sync(&self, disk: &Disk) -> io::Result<()> {
        match self {
            Self::Outside(dir) => Ok(disk.sync(File::open(dir)?, &dir.to_string_lossy())?),
            Self::Vault { files, .. } => {
                files.sync(&[Written::Named(&self.path("names"))]).map_err(io_error)
            }
        }
    }
}

/// So often a file that was replaced while we waited for it is opened again.
const MOST_REPLACED: usize = 16;

/// Refuses a folder of the user that is a link: what it names may be in the hands of others.
fn check_no_link(dir: &Path) -> io::Result<()> {
    match dir.symlink_metadata() {
        Ok(meta) if meta.is_symlink() => {
            Err(io::Error::other(format!("`{}` is a link, which is not followed", dir.display())))
        }
        _ => Ok(()),
    }
}

/// The error of a file of a vault, as one of the system: what kind it is decides what is said of it.
#[allow(clippy::needless_pass_by_value, reason = "it is what errors are mapped with")]
fn io_error(why: FileError) -> io::Error {
    let kind = match &why {
        FileError::Io { source, .. } => source.kind(),
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, why.to_string())
}
