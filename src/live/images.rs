//! Whether the file of an image is there: in the vault's folder or in the git repository that holds
//! it. Nothing is read, and no link leads out of these folders.

use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization as _;

use crate::document::links::Image;

/// The folders in which images are looked for.
#[derive(Clone, Debug)]
pub struct ImageFolders {
    vault: PathBuf,
    /// The vault's folder in its repository, and the top of that; what a path that leaves the vault
    /// is looked up in.
    repository: Option<(PathBuf, PathBuf)>,
}

impl ImageFolders {
    /// The folder of a vault, and the repository that it is in: the vault's folder there, which may
    /// be another one for a copy, and the top of the repository.
    pub fn new(vault: &Path, repository: Option<(&Path, &Path)>) -> Self {
        let repository = repository.map(|(root, top)| (root.to_owned(), top.to_owned()));
        Self { vault: vault.to_owned(), repository }
    }

    /// Whether an image is a regular file in these folders.
    pub(super) fn hold(&self, image: &Image, path: &str) -> bool {
        let (base, top) = match (image.above, &self.repository) {
            (0, None) => (Some(self.vault.as_path()), self.vault.as_path()),
            (0, Some((root, top))) => {
                // Of a copy, only what is in it can be reached.
                let top = if *root == self.vault { top.as_path() } else { self.vault.as_path() };
                (Some(self.vault.as_path()), top)
            }
            (above, Some((root, top))) => (root.ancestors().nth(above), top.as_path()),
            (_, None) => return false,
        };
        let (Some(base), Ok(top)) = (base.filter(|base| base.starts_with(top)), top.canonicalize())
        else {
            return false;
        };
        let is_there = |path: &str| {
            let file = base.join(path).canonicalize();
            file.is_ok_and(|file| file.starts_with(&top) && file.is_file())
        };
        // Some systems write names in another normal form than documents do.
        is_there(path)
            || is_there(&path.nfc().collect::<String>())
            || is_there(&path.nfd().collect::<String>())
    }
}
