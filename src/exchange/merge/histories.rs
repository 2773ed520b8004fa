//! The histories of both sides of a merge, and those of its result (MERGE-12, MERGE-13).

use std::collections::BTreeMap;

use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::record::chain::aside;
use crate::record::chain::history::History;
use crate::record::checkpoint::merge::{Conflict, Decision};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{self, limit};
use crate::values::model::number::Version;

/// Files of a history folder, by their paths in it.
pub(crate) type HistoryFiles = BTreeMap<String, Vec<u8>>;

/// A history that the two sides have with different bytes.
#[derive(Debug)]
pub(crate) struct Differing<'r> {
    /// The artifact.
    pub(crate) id: &'r DocumentId,
    /// The files of the trunk, and of the branch; empty for a side without the history.
    pub(crate) sides: [&'r HistoryFiles; 2],
}

/// The files of a merge in the folder of one history.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) id: DocumentId,
    pub(super) folder: String,
    pub(super) files: HistoryFiles,
    /// True if the branch's history is kept aside.
    pub(super) puts_aside: bool,
}

impl Differing<'_> {
    /// Returns the chain hashes of the history of each side, and its last entry; empty without one.
    fn chains(&self) -> [Vec<Digest>; 2] {
        self.sides.map(|files| {
            let history = files.get(layout::HISTORY);
            let history = history.and_then(|bytes| History::read(bytes, Version::NONE).ok());
            let entries = history.iter().flat_map(History::entries);
            entries.map(|entry| entry.chain_hash).collect()
        })
    }

    /// Returns true if the branch's history goes on from the trunk's.
    pub(super) fn continues(&self) -> bool {
        let [trunk, branch] = self.chains();
        branch.starts_with(&trunk)
    }

    /// Returns the files of the result. `is_same` is true if the result has the branch's value of the
    /// id: otherwise the branch's history has events that the main line does not seal.
    pub(super) fn planned(&self, decision: &Decision, is_same: bool) -> Planned {
        let [trunk, branch] = self.chains();
        let is_conflict = decision.conflicts.contains_key(self.id);
        let takes_branch = !is_conflict && is_same && branch.starts_with(&trunk);
        let [ours, theirs] = self.sides;
        let chosen = if takes_branch { theirs } else { ours };
        let is_aside = |path: &str| path.split('/').next() == Some(layout::ASIDE);
        let own = chosen.iter().filter(|(path, _)| !is_aside(path));
        let asides = ours.iter().chain(theirs).filter(|(path, _)| is_aside(path));
        let mut files: HistoryFiles =
            own.chain(asides).map(|(path, bytes)| (path.clone(), bytes.clone())).collect();
        let is_aside_new = !takes_branch && !trunk.starts_with(&branch);
        if let (true, Some(last)) = (is_aside_new, branch.last()) {
            let folder = format!("{}/{}", layout::ASIDE, aside::name_of(last));
            for (path, bytes) in theirs.iter().filter(|(path, _)| !is_aside(path)) {
                let is_shared = path != layout::HISTORY && ours.get(path) == Some(bytes);
                if !is_shared {
                    files.insert(format!("{folder}/{path}"), bytes.clone());
                }
            }
        }
        // An earlier merge kept the same history aside, and listed it.
        let was_aside = branch.last().is_some_and(|last| {
            let folder = format!("{}/{}", layout::ASIDE, aside::name_of(last));
            ours.contains_key(&format!("{folder}/{}", layout::HISTORY))
        });
        let (id, folder) = (self.id.clone(), self.id.history_dir());
        Planned { id, folder, files, puts_aside: is_aside_new && !was_aside }
    }
}

/// Returns the carried ids whose history on the branch does not go on from the trunk's.
pub(super) fn parted(
    differing: &[Differing<'_>],
    decision: &Decision,
) -> Vec<(DocumentId, Conflict)> {
    let carried = differing.iter().filter(|one| decision.carried.contains_key(one.id));
    let parted = carried.filter(|one| !one.continues());
    parted.map(|one| (one.id.clone(), Conflict::History)).collect()
}

impl Planned {
    /// Iterates over the files of the result, with their paths in the vault. Histories aside come
    /// first, then texts, then the history, so that a reader finds what an entry names.
    pub(super) fn files(&self) -> impl Iterator<Item = (String, &[u8])> {
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|(path, _)| (!path.starts_with(layout::ASIDE), *path == layout::HISTORY));
        files.into_iter().map(|(path, bytes)| (format!("{}/{path}", self.folder), &bytes[..]))
    }

    /// Returns the files that are in the working copy and not in the result. Files that no history
    /// has are left alone.
    fn surplus(&self, vault: &Vault) -> Vec<String> {
        let names = vault.files().names(&self.folder).unwrap_or_default();
        let of_history = |name: &String| name == layout::HISTORY || layout::is_version_file(name);
        let surplus = names.into_iter().filter(of_history);
        surplus
            .filter(|name| !self.files.contains_key(name))
            .map(|name| format!("{}/{name}", self.folder))
            .collect()
    }

    /// Returns true if an earlier run wrote these files. The history may have grown since.
    pub(super) fn is_done(&self, vault: &Vault) -> bool {
        self.files().all(|(path, bytes)| begins_with(vault, (&path, limit::HISTORY), bytes))
    }

    /// Returns true if entries were added to the history after the merge.
    pub(super) fn has_grown(&self, vault: &Vault) -> bool {
        let own = self.files.get(layout::HISTORY).map_or(0, Vec::len);
        let found = vault.files().read_optional(&self.id.history_path(), limit::HISTORY);
        found.is_ok_and(|found| found.is_some_and(|found| found.len() > own))
    }

    /// Writes the files into the working copy.
    pub(super) fn write(&self, vault: &Vault) -> Result<(), FileError> {
        let files = vault.files();
        for (path, bytes) in self.files() {
            replace(vault, (&path, limit::HISTORY), bytes)?;
        }
        for path in self.surplus(vault) {
            // Git has its bytes: it is a file of one of the two sides.
            if let Some(old) = files.read_optional(&path, limit::HISTORY)? {
                files.remove(&path, &old)?;
            }
        }
        files.remove_empty_folder(&self.folder);
        Ok(())
    }
}

/// Returns true if a file of the working copy begins with these bytes. It may have grown since. A
/// file above the limit does not.
pub(super) fn begins_with(vault: &Vault, (path, limit): (&str, u64), bytes: &[u8]) -> bool {
    let found = vault.files().read_optional(path, limit);
    found.is_ok_and(|found| found.is_some_and(|found| found.starts_with(bytes)))
}

/// Writes a file of the record into the working copy. The file there is not above the limit.
pub(super) fn replace(
    vault: &Vault,
    (path, limit): (&str, u64),
    bytes: &[u8],
) -> Result<(), FileError> {
    let files = vault.files();
    match files.read_optional(path, limit)? {
        Some(old) if old == bytes => Ok(()),
        Some(old) => files.replace(path, &old, bytes),
        None => files.create_durable(path, bytes),
    }
}
