//! The forger's tools: a vault as values that can be edited and written back, with or without
//! valid hashes.
//!
//! The rules of hashing and spelling are implemented a second time here, from `spec/history.md`,
//! `spec/checkpoint.md` and `spec/yaml.md`: an error in both directions of the library would
//! otherwise agree with itself.

pub(super) mod bundle;
mod habits;
pub(super) mod hash;
pub(super) mod history;
pub(super) mod lines;
pub(super) mod log;
pub(super) mod merge;
pub(super) mod review;
mod spell;

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

pub(super) use habits::habits;
use history::History;
use log::Log;

use super::draw::Draw;

/// Path of the log of ctx.
pub(super) const DELTA_LOG: &str = ".versions/checkpoints.jsonl";
/// Path of the log of the reference implementation.
pub(super) const FULL_LOG: &str = ".versions/context_history.yaml";

/// A vault under attack.
pub(super) struct Target {
    pub(super) root: PathBuf,
    /// A folder outside of the vault.
    pub(super) outside: PathBuf,
    /// Another vault of the same kind.
    pub(super) other: PathBuf,
    pub(super) draw: Draw,
}

/// Changes to the forger's own copy of a vault must not fail; if one does, the run is void.
#[allow(clippy::panic, reason = "an attack that was not made must not be counted")]
fn done<T>(path: &Path, result: io::Result<T>) -> T {
    result.unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

impl Target {
    /// Returns a vault that is only read, or assembled.
    pub(super) fn at(root: &Path) -> Self {
        let outside = root.with_extension("outside");
        let (root, other) = (root.to_owned(), root.to_owned());
        Self { root, outside, other, draw: Draw::new(0, "") }
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    pub(super) fn bytes(&self, path: &str) -> Vec<u8> {
        let path = self.path(path);
        done(&path, fs::read(&path))
    }

    pub(super) fn read(&self, path: &str) -> String {
        let path = self.path(path);
        done(&path, fs::read_to_string(&path))
    }

    pub(super) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        let folder = path.parent().unwrap_or(&self.root);
        done(folder, fs::create_dir_all(folder));
        done(&path, fs::write(&path, bytes));
    }

    /// Replaces the text of a file.
    pub(super) fn edit(&self, path: &str, change: impl FnOnce(&str) -> String) {
        self.write(path, change(&self.read(path)));
    }

    /// Removes a file or a folder.
    pub(super) fn remove(&self, path: &str) {
        let path = self.path(path);
        let is_folder = path.is_dir() && !path.is_symlink();
        done(&path, if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) });
    }

    pub(super) fn folder(&self, path: &str) {
        let path = self.path(path);
        done(&path, fs::create_dir_all(&path));
    }

    /// Copies a folder of files within the vault.
    pub(super) fn copy(&self, from: &str, to: &str) {
        for name in self.names(from) {
            self.write(&format!("{to}/{name}"), self.bytes(&format!("{from}/{name}")));
        }
    }

    /// Returns the names in a folder.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let path = self.path(path);
        let entries = done(&path, fs::read_dir(&path));
        let mut names: Vec<String> =
            entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Moves a file or folder out of the vault and leaves a link to it.
    pub(super) fn link_out(&self, path: &str) {
        let (here, there) = (self.path(path), self.outside.join("linked"));
        done(&self.outside, fs::create_dir_all(&self.outside));
        done(&here, fs::rename(&here, &there));
        done(&here, symlink(&there, &here));
    }

    /// Makes a link to something outside.
    pub(super) fn link(&self, path: &str, to: &str) {
        let path = self.path(path);
        done(&path, symlink(to, &path));
    }

    /// Returns the ids that have a history, in byte order.
    pub(super) fn ids(&self) -> Vec<String> {
        let (mut ids, mut folders) = (Vec::new(), vec![String::new()]);
        while let Some(folder) = folders.pop() {
            for name in self.names(&folder) {
                let path =
                    if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                if self.path(&path).is_symlink() || !self.path(&path).is_dir() {
                    continue;
                }
                if name == ".versions" {
                    let above = folder.clone() + if folder.is_empty() { "" } else { "/" };
                    let named = self.names(&path).into_iter();
                    let named = named.filter(|n| self.has(&format!("{path}/{n}/history.yaml")));
                    ids.extend(named.map(|name| above.clone() + &name));
                } else {
                    folders.push(path);
                }
            }
        }
        ids.sort();
        ids
    }

    /// Returns all histories.
    pub(super) fn histories(&self) -> Vec<History> {
        self.ids().iter().map(|id| History::read(self, id)).collect()
    }

    /// Returns the histories of documents.
    pub(super) fn documents(&self) -> Vec<History> {
        let mut all = self.histories();
        all.retain(|history| is_document(&history.id));
        all
    }

    /// Returns the histories of governance files.
    pub(super) fn policies(&self) -> Vec<History> {
        let mut all = self.histories();
        all.retain(|history| !is_document(&history.id));
        all
    }

    pub(super) fn log(&self) -> Log {
        Log::read(self)
    }

    pub(super) fn log_path(&self) -> &'static str {
        if self.is_delta() { DELTA_LOG } else { FULL_LOG }
    }

    pub(super) fn is_delta(&self) -> bool {
        self.has(DELTA_LOG)
    }

    /// Returns the documents in the maps of the head, with their versions, if they have a history
    /// of them.
    pub(super) fn published(&self) -> Vec<(History, u64)> {
        let head = self.log().checkpoints.pop().map(|last| last.versions).unwrap_or_default();
        let documents = self.documents().into_iter();
        documents.filter_map(|h| head.get(&h.id).map(|version| (h, *version))).collect()
    }

    /// Returns a document in the maps of the head.
    pub(super) fn live(&mut self) -> Option<String> {
        let published = self.published();
        self.draw.pick(published).map(|(history, _)| history.id)
    }
}

/// Returns true if an id is one of a document, and not of a governance file.
pub(super) fn is_document(id: &str) -> bool {
    !(["CONTEXT.md", "stewards.yaml"].contains(&id)
        || id.starts_with(".context/")
        || id.starts_with("packs/")
        || id == DELTA_LOG)
}

/// Returns the path of the file of a document or governance file.
pub(super) fn live_path(id: &str) -> String {
    if is_document(id) { format!("{id}.md") } else { id.to_owned() }
}

/// Returns the folder of a history.
pub(super) fn history_dir(id: &str) -> String {
    match id.rsplit_once('/') {
        Some((folder, name)) => format!("{folder}/.versions/{name}"),
        None => format!(".versions/{id}"),
    }
}
