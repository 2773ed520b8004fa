//! Histories aside: the histories of branches that a merge did not continue (`spec/merge.md`,
//! MERGE-13). They never grow, and are read like the history itself.

use std::collections::BTreeSet;

use super::error::ChainError;
use super::history::{Entry, History};
use super::replay::Histories;
use crate::files::vault::files::{FileError, Files};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{self, limit};
use crate::values::model::number::Version;

/// Number of digits of a chain hash in the name of a folder.
const DIGITS: usize = 16;

/// A history aside, with its full texts.
#[derive(Debug)]
pub(crate) struct Aside<'v> {
    files: &'v Files,
    id: DocumentId,
    folder: String,
}

impl<'v> Aside<'v> {
    /// Returns the histories aside of an artifact, in the order of their names.
    pub(crate) fn all(files: &'v Files, id: &DocumentId) -> Vec<Self> {
        Self::found(files, id).0
    }

    /// Returns the histories aside of an artifact, and the paths of what is with them without being
    /// one.
    pub(crate) fn found(files: &'v Files, id: &DocumentId) -> (Vec<Self>, Vec<String>) {
        let above = above(id);
        let mut names = files.names(&above).unwrap_or_default();
        names.sort_unstable();
        let folders = names.into_iter().map(|name| format!("{above}/{name}"));
        let (asides, strays): (Vec<String>, Vec<String>) =
            folders.partition(|folder| files.exists(&format!("{folder}/{}", layout::HISTORY)));
        (asides.into_iter().map(|folder| Self { files, id: id.clone(), folder }).collect(), strays)
    }

    /// Returns the paths of files in its folder that none of its entries uses.
    pub(crate) fn unused(&self, history: &History) -> Vec<String> {
        let text = |entry: &Entry| {
            let path = entry.text_path(&self.id)?;
            path.rsplit_once('/').map(|(_, name)| name.to_owned())
        };
        let used: BTreeSet<String> = history.entries().filter_map(text).collect();
        let mut names = self.files.names(&self.folder).unwrap_or_default();
        names.retain(|name| name != layout::HISTORY && !used.contains(name));
        names.sort_unstable();
        names.iter().map(|name| format!("{}/{name}", self.folder)).collect()
    }

    /// Returns the path of its folder.
    pub(crate) fn folder(&self) -> &str {
        &self.folder
    }

    /// Returns the path of its file.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.folder, layout::HISTORY)
    }

    /// Returns true if the folder has the name that its last entry gives it.
    pub(crate) fn is_named(&self, history: &History) -> bool {
        let last = history.entries().next_back().map(|entry| name_of(&entry.chain_hash));
        last.is_some_and(|name| self.folder.ends_with(&format!("/{name}")))
    }

    /// Reads the history.
    ///
    /// # Errors
    /// The file is missing or cannot be read.
    pub(crate) fn load(&self) -> Result<History, ChainError> {
        self.history(&self.id)
    }
}

impl Histories for Aside<'_> {
    fn history(&self, _id: &DocumentId) -> Result<History, ChainError> {
        match self.files.read_optional(&self.path(), limit::HISTORY)? {
            Some(bytes) => Ok(History::read(&bytes, Version::NONE)?),
            None => Err(ChainError::HistoryMissing),
        }
    }

    fn stored(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        match self.files.read_optional(&format!("{}/{name}", self.folder), limit)? {
            Some(bytes) => Ok(Some(bytes)),
            // A text that both histories have is stored once.
            None => self.files.read_optional(path, limit),
        }
    }
}

/// Returns the folder of the histories aside of an artifact.
fn above(id: &DocumentId) -> String {
    format!("{}/{}", id.history_dir(), layout::ASIDE)
}

/// Returns the name of the folder of a history that ends in an entry with a chain hash.
pub(crate) fn name_of(last: &Digest) -> String {
    last.to_string().chars().skip("sha256:".len()).take(DIGITS).collect()
}
