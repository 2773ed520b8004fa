//! Files with a second name, as `cp -al` makes them: what is written in place would change the
//! other name too. Such a file gets an inode of its own before it is written to
//! (`spec/transactions.md`, TXN-15).

use std::os::unix::fs::MetadataExt as _;

use super::files::{FileError, Files};
use super::replace::{Fingerprint, Replacement};
use super::write::Written;

/// Files are copied in groups of about so many bytes, because each is held in memory meanwhile.
const GROUP: u64 = 64 << 20;

impl Files {
    /// Gives every one of these files that has a second name an inode of its own, with the same
    /// bytes, durable. One that is not there is passed over.
    ///
    /// # Errors
    /// The copy could not be made or made durable. Each file holds the bytes that it held.
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

    /// Puts a copy of each file in its place. The copies are durable before they get the names, and
    /// the names before anything is appended: else a power cut could bring the old file back
    /// without what was appended to the new one.
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
    fn a_write_in_place_leaves_the_second_name_of_a_file_alone() {
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
    fn a_file_with_one_name_keeps_its_inode() {
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
