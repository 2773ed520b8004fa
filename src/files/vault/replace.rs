//! New bytes for files that should still hold the old ones, or not be there: written beside them,
//! made durable by the caller together with whatever else is to be durable, and only then given the
//! name.

use rayon::prelude::*;
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::disk::Place;
use super::files::{FileError, Files};
use super::write::Written;
use crate::values::model::digest::Digest;

/// What tells whether a file holds certain bytes, without the bytes: an event may replace more of
/// them than fit into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    length: u64,
    digest: Digest,
}

impl Fingerprint {
    /// That of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { length: bytes.len() as u64, digest: Digest::of(bytes) }
    }

    pub(super) fn length(self) -> u64 {
        self.length
    }
}

/// New bytes for a file that should still hold the old ones, or not be there.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    /// Path in the vault.
    pub path: &'a str,
    /// What the file must hold for the replacement to happen; none where there must be no file.
    pub expected: Option<Fingerprint>,
    /// What it is to hold.
    pub bytes: &'a [u8],
}

/// Replacements that lie under temporary names, which go away unless they are committed. No file
/// stays open meanwhile: an event may stage more files than a process may hold open.
#[must_use = "dropping it takes the written files away again"]
pub struct Prepared<'r> {
    files: &'r Files,
    wanted: &'r [Replacement<'r>],
    /// Paths of the temporary files.
    prepared: Vec<Result<String, FileError>>,
}

impl Files {
    /// Writes the new bytes of files beside them, with their mode and owner.
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
                // Only the superuser may give files away; elsewhere the writer becomes owner.
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

    /// Writes the bytes of a file whose folder may not be there yet.
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

    /// Gives new bytes their name, if they are still wanted.
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

    /// Gives new bytes the name of the old ones, if those are still what was read.
    fn exchange(
        &self,
        temporary: &str,
        wanted: &Replacement<'_>,
        expected: Fingerprint,
    ) -> Result<(), FileError> {
        // One name for all that follows, whoever renames files meanwhile.
        let path = &*self.spelled(wanted.path);
        let fail = |e| FileError::from_errno("replace", path, e);
        // Most often an editor that saved meanwhile is seen before anything moves.
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
        // What was there now has the temporary name: no other process can have put it there unseen.
        let Err(changed) = self.expect(temporary, expected) else {
            self.discard(temporary);
            return Ok(());
        };
        self.disk.exchange(&new, &live).map_err(fail)?;
        // If it is not ours that came back, another process saved once more: that stays where the
        // next writer keeps it.
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
    /// Returns the names that have to be durable before [`Prepared::commit`].
    pub fn written(&self) -> Vec<Written<'_>> {
        self.prepared.iter().flatten().map(|path| Written::Longer(path)).collect()
    }

    /// Gives the new bytes their names, each only if the file still holds what was expected. One
    /// outcome for each replacement; a file that another process wrote to meanwhile is left alone.
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
    fn more_files_are_replaced_than_may_be_open_at_once() {
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
    fn what_is_not_committed_leaves_nothing() {
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
