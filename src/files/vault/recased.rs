//! Live files whose names differ only in case from the name that a history records
//! (`spec/vault.md`, VAULT-65): each is the live file of the id of that history.
//!
//! Names are compared as folders list them, so that the answer is the same whether or not the file
//! system distinguishes case.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::Vault;
use super::files::Files;
use super::tree::{Kind, joined};
use crate::values::model::id::{DocumentId, fold_case};
use crate::values::model::layout;

/// The known names in folders. Each folder is listed at most once, when a live file is missing or a
/// walk lists the folder anyway.
#[derive(Debug, Default)]
pub(super) struct Recased(Mutex<HashMap<String, Arc<Folder>>>);

/// Names of histories in a folder, by [`key`].
type ByCase = HashMap<String, Vec<String>>;

#[derive(Debug, Default)]
struct Folder {
    /// Names of live files that differ in case from the recorded names, which are the keys.
    files: OnceLock<HashMap<String, String>>,
    /// Names of all histories.
    histories: OnceLock<ByCase>,
}

impl Recased {
    fn folder(&self, folder: &str) -> Arc<Folder> {
        let mut folders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(folders.entry(folder.to_owned()).or_default())
    }

    /// Records the files that a walk found in a folder.
    pub(super) fn learn(&self, folder: &str, files: HashMap<String, String>) {
        let mut folders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = Folder { files: files.into(), histories: OnceLock::new() };
        folders.insert(folder.to_owned(), Arc::new(known));
    }

    /// Returns the paths of the files that are known to differ in case from the recorded paths,
    /// which are the keys.
    pub(super) fn known(&self) -> HashMap<String, String> {
        let folders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let files = folders.iter().filter_map(|(folder, known)| Some((folder, known.files.get()?)));
        let paths = |(folder, files): (&String, &HashMap<String, String>)| {
            let path = |name: &String| joined(folder, name);
            files.iter().map(|(name, there)| (path(name), path(there))).collect::<Vec<_>>()
        };
        files.flat_map(paths).collect()
    }

    /// Drops all listings, because files may have been renamed since.
    pub(super) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Files {
    /// Returns the path of the live file of `path`, if no file has exactly this path. `None` if
    /// there is no such file, or `path` is not that of a document.
    pub(super) fn recased(&self, path: &str) -> Option<String> {
        if !layout::is_markdown(path) || layout::is_never_document(path) {
            return None;
        }
        let (folder, name) = split(path);
        let known = self.recased.folder(folder);
        let files = known.files.get_or_init(|| {
            let entries = self.entries(folder).unwrap_or_default();
            let entries = || entries.iter().map(|(name, kind)| (name.as_str(), *kind));
            self.recased_in(folder, entries)
        });
        files.get(name).map(|there| joined(folder, there))
    }

    /// Returns the names of live files in a folder that differ in case from the recorded names,
    /// which are the keys.
    pub(super) fn recased_in<'n, E>(
        &self,
        folder: &str,
        entries: impl Fn() -> E,
    ) -> HashMap<String, String>
    where
        E: Iterator<Item = (&'n str, Kind)>,
    {
        let has_histories = |(name, kind)| name == layout::VERSIONS && kind == Kind::Folder;
        let is_markdown = |(name, kind)| kind == Kind::File && layout::is_markdown(name);
        if !entries().any(has_histories) || !entries().any(is_markdown) {
            return HashMap::new();
        }
        let histories = self.histories_in(folder);
        let recorded: HashSet<&str> = histories.iter().map(String::as_str).collect();
        let own = |name: &'n str| name.strip_suffix(layout::ENDING).unwrap_or(name);
        let is_document = |name: &str| DocumentId::of_document_file(&joined(folder, name)).is_ok();
        let mut files: HashMap<String, Vec<&str>> = HashMap::new();
        for (name, _) in entries().filter(|entry| is_markdown(*entry)) {
            if !recorded.contains(own(name)) && is_document(name) {
                files.entry(fold_case(name)).or_default().push(name);
            }
        }
        if files.is_empty() {
            return HashMap::new();
        }
        let wanted: HashSet<&str> = files.keys().map(|name| key(name)).collect();
        let histories = by_case(&histories, |key| wanted.contains(key));
        let mut found: HashMap<String, String> = HashMap::new();
        for (folded, names) in &files {
            if let (Some(id), [there]) = (self.recorded_as(folder, folded, &histories), &names[..])
            {
                found.insert(split(&id.live_path()).1.to_owned(), (*there).to_owned());
            }
        }
        if !found.is_empty() {
            // A file with exactly the recorded name has precedence.
            for (name, _) in entries() {
                found.remove(name);
            }
        }
        found
    }

    /// Returns the document whose live file has this name after folding, if exactly one has
    /// a history.
    fn recorded_as(&self, folder: &str, folded: &str, histories: &ByCase) -> Option<DocumentId> {
        let names = histories.get(key(folded))?;
        let ids = names.iter().filter_map(|name| joined(folder, name).parse::<DocumentId>().ok());
        let is_meant = |id: &DocumentId| {
            id.is_document()
                && id.unfit().is_none()
                && fold_case(split(&id.live_path()).1) == folded
        };
        let mut ids = ids.filter(|id| is_meant(id) && self.exists(&id.history_path()));
        ids.next().filter(|_| ids.next().is_none())
    }

    /// Returns the names of the histories of the files in a folder.
    fn histories_in(&self, folder: &str) -> Vec<String> {
        let entries = self.entries(&joined(folder, layout::VERSIONS)).unwrap_or_default();
        let folders = entries.into_iter().filter(|(_, kind)| *kind == Kind::Folder);
        folders.map(|(name, _)| name).collect()
    }
}

impl Vault {
    /// Returns the paths of the live files in another case than their ids, by the recorded paths,
    /// as far as folders were listed.
    pub(crate) fn recased_files(&self) -> HashMap<String, String> {
        self.files().recased.known()
    }

    /// Returns the only id with a history that differs just in case from an id without one. `None`
    /// if a different file has exactly the name of `id`.
    pub(crate) fn recorded_in_other_case(&self, id: &DocumentId) -> Option<DocumentId> {
        let files = self.files();
        let dir = id.history_dir();
        // On a file system that does not distinguish case, the history that is found may be that of
        // the other spelling.
        let folds = || files.is_same(&dir, &in_other_case(&dir));
        if !id.is_document() || (files.exists(&dir) && !folds()) {
            return None;
        }
        let path = id.live_path();
        let (folder, name) = split(&path);
        let known = files.recased.folder(folder);
        let histories =
            known.histories.get_or_init(|| by_case(&files.histories_in(folder), |_| true));
        let recorded = files.recorded_as(folder, &fold_case(name), histories)?;
        let is_other_file = files.exists(&path) && !files.is_same(&path, &recorded.live_path());
        (recorded != *id && !is_other_file).then_some(recorded)
    }
}

/// Groups the names of histories by their keys.
fn by_case(histories: &[String], is_wanted: impl Fn(&str) -> bool) -> ByCase {
    let mut all = ByCase::new();
    for name in histories {
        let folded = fold_case(name);
        if is_wanted(key(&folded)) {
            all.entry(key(&folded).to_owned()).or_default().push(name.clone());
        }
    }
    all
}

/// Returns the part of a folded name that a history and its live file have in common.
fn key(folded: &str) -> &str {
    folded.strip_suffix(layout::ENDING).unwrap_or(folded)
}

/// Returns the path with its last name in the opposite case.
fn in_other_case(path: &str) -> String {
    let (folder, name) = split(path);
    let upper = name.to_uppercase();
    joined(folder, &if upper == name { name.to_lowercase() } else { upper })
}

/// Splits a path into its folder and its last name.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests rename files as other programs do")]
mod tests {
    use super::*;
    use crate::files::vault::files::FileError;
    use crate::files::vault::replace::Replacement;
    use std::fs;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    /// Makes a folder `d` with these live files and histories.
    fn folder(files: &[&str], histories: &[&str]) -> (TempDir, Files) {
        let dir = tempfile::tempdir().unwrap();
        let written = Files::open(dir.path()).unwrap();
        files.iter().for_each(|name| written.create_new(&format!("d/{name}"), b"old").unwrap());
        for name in histories {
            let path = format!("d/{}/{name}/{}", layout::VERSIONS, layout::HISTORY);
            written.create_new(&path, b"").unwrap();
        }
        (dir, written)
    }

    fn found(files: &[&str], histories: &[&str], path: &str) -> Option<String> {
        folder(files, histories).1.recased(path)
    }

    #[test]
    fn recased_file_belongs_to_the_only_id_that_differs_in_case() {
        let alpha = || Some("d/alpha.md".to_owned());
        assert_eq!(found(&["alpha.md", "b.md"], &["Alpha", "b"], "d/Alpha.md"), alpha());
        assert_eq!(found(&["alpha.MD"], &["Alpha"], "d/Alpha.md"), Some("d/alpha.MD".to_owned()));
        assert_eq!(found(&["alpha.md"], &["Alpha.MD"], "d/Alpha.MD"), alpha());
        assert_eq!(found(&["ärger.md"], &["ÄRGER"], "d/ÄRGER.md"), Some("d/ärger.md".to_owned()));
        for (files, histories) in [
            (&["alpha.md", "ALPHA.md"][..], &["Alpha"][..]),
            (&["alpha.md"], &["Alpha", "ALPHA"]),
            (&["alpha.md"], &["Alpha", "alpha"]),
            (&["alpha.md"], &["Alpha", "alpha.MD"]),
            (&["alpha.md", "Alpha.md"], &["Alpha"]),
            (&["alpha.md"], &[]),
            (&["alpha.mdx"], &["Alpha"]),
        ] {
            assert_eq!(found(files, histories, "d/Alpha.md"), None, "{files:?} {histories:?}");
        }
        for (file, history) in [("INDEX.md", "index"), ("index.md", "INDEX"), ("a\u{308}.md", "Ä")]
        {
            assert_eq!(found(&[file], &[history], &format!("d/{history}.md")), None, "{file}");
        }
    }

    #[test]
    fn recased_ignores_links_folders_and_ids_without_a_history() {
        let (dir, files) = folder(&["x.md"], &["Alpha", "Beta"]);
        symlink("x.md", dir.path().join("d/alpha.md")).unwrap();
        fs::create_dir(dir.path().join("d/beta.md")).unwrap();
        fs::create_dir(dir.path().join("d/.versions/X")).unwrap();
        for path in ["d/Alpha.md", "d/Beta.md", "d/X.md", "d/.versions/Alpha/V1.md"] {
            assert_eq!(files.recased(path), None, "{path}");
        }
    }

    #[test]
    fn recased_files_are_replaced_and_removed_under_their_own_names() {
        let (dir, files) = folder(&["alpha.md"], &["Alpha"]);
        let path = "d/Alpha.md";
        assert_eq!(files.read(path, 9).unwrap(), b"old");
        let all = [Replacement {
            path,
            expected: Some(crate::files::vault::replace::Fingerprint::of(b"old")),
            bytes: b"new",
        }];
        let staging = files.prepare_all(&all);
        // An editor saves, and renames the file again.
        fs::write(dir.path().join("d/alpha.md"), b"edit").unwrap();
        assert!(matches!(staging.commit()[..], [Err(FileError::Changed { .. })]));
        assert_eq!(fs::read(dir.path().join("d/alpha.md")).unwrap(), b"edit");
        files.replace(path, b"edit", b"new").unwrap();
        assert!(!dir.path().join(path).exists());
        assert_eq!(fs::read(dir.path().join("d/alpha.md")).unwrap(), b"new");
        assert!(files.remove(path, b"other").is_err());
        files.remove(path, b"new").unwrap();
        assert!(!files.exists(path) && !dir.path().join("d/alpha.md").exists());
        assert_eq!(dir.path().join(layout::LOCAL_DIR).read_dir().unwrap().count(), 0);
    }

    #[test]
    fn change_of_case_never_replaces_another_file() {
        let (dir, files) = folder(&["Alpha.md", "alpha.md"], &["Alpha"]);
        assert!(files.change_case("d/Alpha.md", "d/alpha.md").is_err());
        fs::remove_file(dir.path().join("d/alpha.md")).unwrap();
        fs::hard_link(dir.path().join("d/Alpha.md"), dir.path().join("d/alpha.md")).unwrap();
        assert!(files.change_case("d/Alpha.md", "d/alpha.md").is_err());
        assert_eq!(dir.path().join("d").read_dir().unwrap().count(), 3);
        files.change_case("d/Alpha.md", "d/ALPHA.md").unwrap();
        assert_eq!(files.recased("d/Alpha.md"), None, "two files may be meant");
    }
}
