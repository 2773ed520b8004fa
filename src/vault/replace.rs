//! New bytes for files that should still hold the old ones: written beside them, made durable by
//! the caller together with whatever else is to be durable, and only then given the name.

use std::io::Write as _;

use rayon::prelude::*;
use rustix::fs::{AtFlags, Mode};

use super::files::{FileError, Files, Written, create};

/// New bytes for a file that should still hold the old ones.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    /// Path in the vault.
    pub path: &'a str,
    /// What the file must hold for the replacement to happen.
    pub expected: &'a [u8],
    /// What it is to hold.
    pub bytes: &'a [u8],
}

/// Replacements that lie under temporary names, which go away unless they are committed. No file
/// stays open meanwhile: an event may stage more files than a process may hold open.
#[must_use = "dropping it takes the written files away again"]
pub struct Staging<'r> {
    files: &'r Files,
    wanted: &'r [Replacement<'r>],
    /// Paths of the temporary files.
    staged: Vec<Result<String, FileError>>,
}

impl Files {
    /// Writes the new bytes of files beside them, with their mode and owner.
    pub fn stage_all<'r>(&'r self, wanted: &'r [Replacement<'r>]) -> Staging<'r> {
        let staged = wanted.par_iter().map(|one| self.stage(one)).collect();
        Staging { files: self, wanted, staged }
    }

    fn stage(&self, wanted: &Replacement<'_>) -> Result<String, FileError> {
        self.expect(wanted.path, wanted.expected)?;
        let fail = |e| FileError::from_errno("replace", wanted.path, e);
        let (folder, name) = self.folder_of(wanted.path)?;
        let old = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?;
        let (place, temporary, whole) = self.temporary(&folder, wanted.path)?;
        let mut file = create(place, &temporary).map_err(fail)?;
        let mut fill = || {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(old.st_mode & 0o7777)).map_err(fail)?;
            let new = rustix::fs::fstat(&file).map_err(fail)?;
            if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
                let user = rustix::fs::Uid::from_raw(old.st_uid);
                let group = rustix::fs::Gid::from_raw(old.st_gid);
                // Only the superuser may give files away; elsewhere the writer becomes owner.
                let _ = rustix::fs::fchown(&file, Some(user), Some(group));
            }
            file.write_all(wanted.bytes).map_err(FileError::io("replace", wanted.path))
        };
        let filled = fill();
        if filled.is_err() {
            let _ = rustix::fs::unlinkat(place, temporary.as_str(), AtFlags::empty());
        }
        filled.map(|()| whole)
    }
}

impl Staging<'_> {
    /// What is to be made durable before [`Staging::commit`].
    pub fn written(&self) -> Vec<Written<'_>> {
        self.staged.iter().flatten().map(|path| Written::Longer(path)).collect()
    }

    /// Gives the new bytes their names, each only if the file still holds what was expected. One
    /// outcome for each replacement; a file that somebody wrote to meanwhile is left alone.
    pub fn commit(mut self) -> Vec<Result<(), FileError>> {
        let (files, wanted) = (self.files, self.wanted);
        let staged = std::mem::take(&mut self.staged);
        let commit = |(staged, wanted): (Result<String, FileError>, &Replacement<'_>)| {
            let temporary = staged?;
            // An editor may have saved while we wrote.
            let renamed = files.expect(wanted.path, wanted.expected).and_then(|()| {
                let (place, from) = files.folder_of(&temporary)?;
                let (folder, name) = files.folder_of(wanted.path)?;
                rustix::fs::renameat(&place, from, &folder, name)
                    .map_err(|e| FileError::from_errno("replace", wanted.path, e))
            });
            if renamed.is_err() {
                files.discard(&temporary);
            }
            renamed
        };
        staged.into_par_iter().zip(wanted).map(commit).collect()
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        self.staged.iter().flatten().for_each(|temporary| self.files.discard(temporary));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::layout;

    #[test]
    fn more_files_are_replaced_than_may_be_open_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        let names: Vec<String> = (0..2_500).map(|n| format!("d/{n}")).collect();
        names.iter().for_each(|name| files.create_new(name, b"old").unwrap());
        let one = |path| Replacement { path, expected: b"old", bytes: b"new" };
        let all: Vec<Replacement<'_>> = names.iter().map(|name| one(name)).collect();
        assert!(files.stage_all(&all).commit().iter().all(Result::is_ok));
        assert!(names.iter().all(|name| files.read(name, 3).unwrap() == b"new"));
        assert_eq!(dir.path().join("d").read_dir().unwrap().count(), 2_500);
    }

    #[test]
    fn what_is_not_committed_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        files.create_new("f", b"old").unwrap();
        let all = [Replacement { path: "f", expected: b"old", bytes: b"new" }];
        drop(files.stage_all(&all));
        let staging = files.stage_all(&all);
        files.append("f", 3, b", by an editor").unwrap();
        assert!(matches!(staging.commit()[..], [Err(FileError::Changed { .. })]));
        assert_eq!(files.read("f", 99).unwrap(), b"old, by an editor");
        let left = dir.path().join(layout::LOCAL_DIR).read_dir().unwrap().count();
        assert_eq!((dir.path().read_dir().unwrap().count(), left), (2, 0), "no file is left");
    }
}
