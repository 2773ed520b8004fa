//! Files with a hard link, as `cp -al` makes them: writing in place would change the other name
//! too. Such a file gets an inode of its own before it is written to
//! (`spec/transactions.md`, TXN-15).

use std::os::unix::fs::MetadataExt as _;

use super::files::{FileError, Files};
use super::replace::{Fingerprint, Replacement};
use super::write::Written;

/// Approximate size of a group of files that are copied together, because each is in
/// memory meanwhile.
const GROUP: u64 = 64 << 20;

impl Files {
    /// Gives each of these files that has a second name an inode of its own, with the same bytes,
    /// durably. A file that does not exist is skipped.
    ///
    /// # Errors
    /// The copy could not be written or made durable. Each file still has its bytes.
    pub(crate) fn unshare<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p str>,
    ) -> Result<(), FileError> {
        let (mut group, mut size) = (Vec::new(), 0);
        for path in paths {
            let meta = match self.open_regular(path) {
                Ok((_, meta)) => meta,
                Err(why) if why.is_not_found() => continue,
                Err(why) => return Err(why),
            };
            if meta.nlink() < 2 {
                continue;
            }
            group.push((path, self.read(path, meta.len())?));
            size += meta.len();
            if size >= GROUP {
                self.copy_all(&group)?;
                (group, size) = (Vec::new(), 0);
            }
        }
        self.copy_all(&group)
    }

    /// Replaces each file with a copy. The copies are durable before they get the names, and the
    /// names before anything is appended: otherwise a power cut could restore the old file without
    /// the appended bytes.
    fn copy_all(&self, group: &[(&str, Vec<u8>)]) -> Result<(), FileError> {
        if group.is_empty() {
            return Ok(());
        }
        let wanted: Vec<Replacement<'_>> = group
            .iter()
            .map(|(path, bytes)| Replacement {
                path,
                expected: Some(Fingerprint::of(bytes)),
                bytes,
            })
            .collect();
        let staging = self.prepare_all(&wanted);
        self.sync(&staging.written())?;
        staging.commit().into_iter().collect::<Result<(), FileError>>()?;
        let named: Vec<Written<'_>> = group.iter().map(|(path, _)| Written::Named(path)).collect();
        self.sync(&named)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests make a second name of a file")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn write_in_place_does_not_change_a_hard_link() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        let (path, other) = (dir.path().join("f"), dir.path().join("other"));
        for appends in [true, false] {
            fs::write(&path, b"old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            fs::hard_link(&path, &other).unwrap();
            if appends {
                files.append("f", 3, b"er").unwrap();
            } else {
                files.cut("f", 3, 1).unwrap();
            }
            assert_eq!(fs::read(&other).unwrap(), b"old");
            assert_ne!(fs::read(&path).unwrap(), b"old");
            let meta = fs::metadata(&path).unwrap();
            assert_eq!((meta.nlink(), meta.mode() & 0o7777), (1, 0o640));
            fs::remove_file(&other).unwrap();
        }
    }

    #[test]
    fn unshare_keeps_the_inode_of_a_file_with_one_name() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        files.create_new("f", b"old").unwrap();
        let inode = || fs::metadata(dir.path().join("f")).unwrap().ino();
        let before = inode();
        files.unshare(["f", "absent"]).unwrap();
        files.append("f", 3, b"er").unwrap();
        assert_eq!(inode(), before);
    }
}
