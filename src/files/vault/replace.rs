//! Replacement of files that must still have their old bytes, or must not exist. The new bytes are
//! written next to the files, made durable by the caller with everything else, and only then given
//! the name.

use rayon::prelude::*;
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::disk::Place;
use super::files::{FileError, Files};
use super::write::Written;
use crate::values::model::digest::Digest;

/// The length and digest of a file's bytes, to compare them without keeping them: an event may
/// replace more bytes than fit into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    length: u64,
    digest: Digest,
}

impl Fingerprint {
    /// Returns the fingerprint of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { length: bytes.len() as u64, digest: Digest::of(bytes) }
    }

    pub(super) fn length(self) -> u64 {
        self.length
    }
}

/// New bytes for a file that must still have the old ones, or must not exist.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    /// Path in the vault.
    pub path: &'a str,
    /// Bytes that the file must have; `None` if it must not exist.
    pub expected: Option<Fingerprint>,
    /// New bytes.
    pub bytes: &'a [u8],
}

/// Replacements under temporary names, which are removed unless they are committed. No file stays
/// open, because an event may stage more files than a process may open.
#[must_use = "dropping it removes the written files"]
pub struct Prepared<'r> {
    files: &'r Files,
    wanted: &'r [Replacement<'r>],
    /// Paths of the temporary files, or errors.
    prepared: Vec<Result<String, FileError>>,
}

impl Files {
    /// Writes the new bytes of files next to them, with their mode and owner.
    pub fn prepare_all<'r>(&'r self, wanted: &'r [Replacement<'r>]) -> Prepared<'r> {
        let prepared = wanted.par_iter().map(|one| self.stage(one)).collect();
        Prepared { files: self, wanted, prepared }
    }

    fn stage(&self, wanted: &Replacement<'_>) -> Result<String, FileError> {
        let Some(expected) = wanted.expected else { return self.stage_new(wanted) };
        let path = &*self.spelled(wanted.path);
        self.expect(path, expected)?;
        let fail = |e| FileError::from_errno("replace", path, e);
        let (folder, name) = self.folder_of(path)?;
        let old = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?;
        let temporary = self.temporary(&folder, path)?;
        let file = self.disk.create(&temporary.place()).map_err(fail)?;
        let fill = || {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(old.st_mode & 0o7777)).map_err(fail)?;
            let new = rustix::fs::fstat(&file).map_err(fail)?;
            if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
                let user = rustix::fs::Uid::from_raw(old.st_uid);
                let group = rustix::fs::Gid::from_raw(old.st_gid);
                // Only the superuser may give files away; otherwise the writer becomes owner.
                let _ = rustix::fs::fchown(&file, Some(user), Some(group));
            }
            let written = self.disk.write(&file, &temporary.path, 0, wanted.bytes);
            written.map_err(FileError::io("replace", path))
        };
        let filled = fill();
        if filled.is_err() {
            let _ = self.disk.remove(&temporary.place());
        }
        filled.map(|()| temporary.path)
    }

    /// Writes the bytes of a file whose folder may not exist yet.
    fn stage_new(&self, wanted: &Replacement<'_>) -> Result<String, FileError> {
        let fail = |e| FileError::from_errno("create", wanted.path, e);
        let temporary = self.local_temporary(wanted.path)?;
        let file = self.disk.create(&temporary.place()).map_err(fail)?;
        let written = self.disk.write(&file, &temporary.path, 0, wanted.bytes);
        if written.is_err() {
            let _ = self.disk.remove(&temporary.place());
        }
        written.map_err(FileError::io("create", wanted.path)).map(|()| temporary.path)
    }

    /// Renames new bytes to their path, if the file is still as expected.
    fn put(&self, temporary: &str, wanted: &Replacement<'_>) -> Result<(), FileError> {
        match wanted.expected {
            Some(expected) => self.exchange(temporary, wanted, expected),
            None => self.name_new(temporary, wanted),
        }
    }

    fn name_new(&self, temporary: &str, wanted: &Replacement<'_>) -> Result<(), FileError> {
        let fail = |e| FileError::from_errno("create", wanted.path, e);
        let (folder, name) = self.folder_of(temporary)?;
        let new = Place { folder: &folder, name, path: temporary };
        let named = self.parent(wanted.path).and_then(|(folder, name)| {
            self.disk.rename_new(&new, &Place { folder: &folder, name, path: wanted.path })
        });
        if named.is_err() {
            self.discard(temporary);
        }
        match named {
            // The folder is on another file system.
            Err(Errno::XDEV) => self.create_new(wanted.path, wanted.bytes),
            other => other.map_err(fail),
        }
    }

    /// Exchanges new bytes with the old ones, if those are still as expected.
    fn exchange(
        &self,
        temporary: &str,
        wanted: &Replacement<'_>,
        expected: Fingerprint,
    ) -> Result<(), FileError> {
        // The same path is used below, even if another process renames files in the meantime.
        let path = &*self.spelled(wanted.path);
        let fail = |e| FileError::from_errno("replace", path, e);
        // Usually this detects an editor that saved in the meantime, before anything moves.
        self.expect(path, expected).inspect_err(|_| self.discard(temporary))?;
        let (folder, name) = self.folder_of(temporary)?;
        let new = Place { folder: &folder, name, path: temporary };
        let (folder, name) = self.folder_of(path)?;
        let live = Place { folder: &folder, name, path };
        match self.disk.exchange(&new, &live) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                return self.disk.rename(&new, &live).map_err(fail);
            }
            Err(why) => {
                self.discard(temporary);
                return Err(fail(why));
            }
        }
        // The old bytes now have the temporary name, where no other process can have put
        // them unseen.
        let Err(changed) = self.expect(temporary, expected) else {
            self.discard(temporary);
            return Ok(());
        };
        self.disk.exchange(&new, &live).map_err(fail)?;
        // If the bytes that came back are not ours, another process saved again: that file stays
        // for the next writer to recover.
        if self.expect(temporary, Fingerprint::of(wanted.bytes)).is_ok() {
            self.discard(temporary);
        }
        Err(match changed {
            FileError::Changed { .. } => FileError::Changed { path: path.to_owned() },
            other => other,
        })
    }
}

impl Prepared<'_> {
    /// Returns the names that must be durable before [`Prepared::commit`].
    pub fn written(&self) -> Vec<Written<'_>> {
        self.prepared.iter().flatten().map(|path| Written::Longer(path)).collect()
    }

    /// Renames the new bytes to their paths, each only if the file is still as expected. Returns
    /// one outcome for each replacement; a file that another process changed is left alone.
    pub fn commit(mut self) -> Vec<Result<(), FileError>> {
        let (files, wanted) = (self.files, self.wanted);
        let prepared = std::mem::take(&mut self.prepared);
        let commit = |(prepared, wanted): (Result<String, FileError>, &Replacement<'_>)| {
            files.put(&prepared?, wanted)
        };
        prepared.into_par_iter().zip(wanted).map(commit).collect()
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        self.prepared.iter().flatten().for_each(|temporary| self.files.discard(temporary));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::model::layout;

    #[test]
    fn replace_handles_more_files_than_may_be_open_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        let names: Vec<String> = (0..2_500).map(|n| format!("d/{n}")).collect();
        names.iter().for_each(|name| files.create_new(name, b"old").unwrap());
        let one =
            |path| Replacement { path, expected: Some(Fingerprint::of(b"old")), bytes: b"new" };
        let all: Vec<Replacement<'_>> = names.iter().map(|name| one(name)).collect();
        assert!(files.prepare_all(&all).commit().iter().all(Result::is_ok));
        assert!(names.iter().all(|name| files.read(name, 3).unwrap() == b"new"));
        assert_eq!(dir.path().join("d").read_dir().unwrap().count(), 2_500);
    }

    #[test]
    fn replace_without_commit_leaves_no_files() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        files.create_new("f", b"old").unwrap();
        let expected = Some(Fingerprint::of(b"old"));
        let all = [Replacement { path: "f", expected, bytes: b"new" }];
        drop(files.prepare_all(&all));
        let staging = files.prepare_all(&all);
        files.append("f", 3, b", by an editor").unwrap();
        assert!(matches!(staging.commit()[..], [Err(FileError::Changed { .. })]));
        assert_eq!(files.read("f", 99).unwrap(), b"old, by an editor");
        let left = dir.path().join(layout::LOCAL_DIR).read_dir().unwrap().count();
        assert_eq!((dir.path().read_dir().unwrap().count(), left), (2, 0), "no file is left");
    }
}
