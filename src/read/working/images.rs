//! Existence of image files in the folder of the vault, or in the git repository that contains it.
//! No file is read, and no link leads out of these folders.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use unicode_normalization::UnicodeNormalization as _;

use crate::text::document::links::{Image, last_segment};
use crate::values::model::id::fold;

/// Folders that are searched for images.
#[derive(Clone, Debug)]
pub struct ImageFolders {
    vault: PathBuf,
    /// The vault's folder in its repository, and the top of the repository, to look up paths that
    /// leave the vault.
    repository: Option<(PathBuf, PathBuf)>,
    /// Folded names of the files in these folders, collected on first use.
    names: OnceLock<HashSet<String>>,
}

impl ImageFolders {
    /// Makes the folders of a vault and its repository. The latter are the vault's folder in the
    /// repository, which is another one for a copy, and the top of the repository.
    pub fn new(vault: &Path, repository: Option<(&Path, &Path)>) -> Self {
        let repository = repository.map(|(root, top)| (root.to_owned(), top.to_owned()));
        Self { vault: vault.to_owned(), repository, names: OnceLock::new() }
    }

    /// Returns the names of all files that an embedded link can name. Obsidian hides names that
    /// begin with `.`.
    fn names(&self) -> &HashSet<String> {
        self.names.get_or_init(|| {
            let top = self.repository.as_ref().filter(|(root, _)| *root == self.vault);
            let top = top.map_or(&self.vault, |(_, top)| top);
            let (mut names, mut folders) = (HashSet::new(), vec![top.clone()]);
            while let Some(folder) = folders.pop() {
                let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
                for entry in entries {
                    let name = entry.file_name().to_string_lossy().into_owned();
                    match entry.file_type() {
                        Ok(_) if name.starts_with('.') || name == "node_modules" => {}
                        Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                        Ok(kind) if kind.is_file() => drop(names.insert(fold(&name))),
                        _ => {}
                    }
                }
            }
            names
        })
    }

    /// Returns true if an image is a regular file in these folders.
    pub(super) fn hold(&self, image: &Image, path: &str) -> bool {
        let (base, top) = match (image.above, &self.repository) {
            (0, None) => (Some(self.vault.as_path()), self.vault.as_path()),
            (0, Some((root, top))) => {
                // A copy cannot reach anything outside of it.
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
        if image.by_name && self.names().contains(&fold(last_segment(path))) {
            return true;
        }
        is_there(path)
            || is_there(&path.nfc().collect::<String>())
            || is_there(&path.nfd().collect::<String>())
    }
}
