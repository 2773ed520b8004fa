//! Which files of a vault are documents, governance files and histories.
//!
//! Links are not followed; names are reported in byte order, so that every walk of the same tree
//! gives the same list.

use std::cell::RefCell;
use std::path::Path;

use walkdir::{DirEntry, WalkDir};

use super::config::Layout;
use super::{Vault, is_vault, layout};

/// What a walk found, as `/`-separated paths in the vault.
#[derive(Debug, Default)]
pub struct Found {
    /// Candidate documents: paths of `.md` files where the layout puts documents.
    pub documents: Vec<String>,
    /// Files whose names are no text (not UTF-8), shown with replacement characters.
    pub unreadable_names: Vec<String>,
    /// Symbolic links with a document's name, which are not followed.
    pub links: Vec<String>,
    /// Folders that are vaults of their own, whose files are not this vault's.
    pub nested: Vec<String>,
    /// Fifos, sockets and devices with a document's name.
    pub not_files: Vec<String>,
}

/// What lies where histories do, as `/`-separated paths in the vault, in byte order.
#[derive(Debug, Default)]
pub struct Survey {
    /// The folders inside of a `.versions` folder.
    pub histories: Vec<String>,
    /// What else lies in a `.versions` folder and is no checkpoint log.
    pub strays: Vec<String>,
    /// Symbolic links in the place of a `.versions` folder or inside of one.
    pub links: Vec<String>,
    /// Folders that cannot be listed.
    pub unlisted: Vec<String>,
}

impl Vault {
    /// Lists the files that the layout makes documents, in byte order.
    pub fn documents(&self) -> Found {
        let mut found = Found::default();
        let obsidian = self.layout() == Layout::Obsidian;
        let walk = WalkDir::new(self.root()).follow_links(false).into_iter();
        let nested = RefCell::new(Vec::new());
        let entries = walk.filter_entry(|e| {
            if e.depth() == 0 {
                return true;
            }
            let enters = self.is_document_folder(e, obsidian);
            let other = enters && e.file_type().is_dir() && is_vault(e.path());
            if other && let Ok(path) = e.path().strip_prefix(self.root()) {
                nested.borrow_mut().push(path.to_string_lossy().into_owned());
            }
            enters && !other
        });
        for entry in entries.filter_map(Result::ok).filter(|e| !e.file_type().is_dir()) {
            let Ok(path) = entry.path().strip_prefix(self.root()) else {
                continue;
            };
            let Some(path) = path.to_str() else {
                if path.extension().is_some_and(|e| e == "md") {
                    found.unreadable_names.push(path.to_string_lossy().into_owned());
                }
                continue;
            };
            if !self.is_document_path(path) {
            } else if entry.file_type().is_symlink() {
                found.links.push(path.to_owned());
            } else if entry.file_type().is_file() {
                found.documents.push(path.to_owned());
            } else {
                found.not_files.push(path.to_owned());
            }
        }
        found.nested = nested.into_inner();
        found.nested.sort_unstable();
        found.documents.sort_unstable();
        found.unreadable_names.sort_unstable();
        found.links.sort_unstable();
        found.not_files.sort_unstable();
        found
    }

    /// The folder above a file that is a vault of its own, if there is one.
    pub fn nested_above(&self, path: &str) -> Option<String> {
        let mut folders: Vec<&str> =
            path.char_indices().filter(|(_, c)| *c == '/').map(|(n, _)| &path[..n]).collect();
        folders.retain(|folder| is_vault(&self.root().join(folder)));
        folders.first().map(|folder| (*folder).to_owned())
    }

    /// Whether a path in the vault is where this layout puts documents. Does not touch the disk.
    pub fn is_document_path(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let in_root = !path.contains('/');
        let placed = match self.layout() {
            Layout::Obsidian => true,
            Layout::Structured => {
                in_root || path.starts_with("nodes/") || path.starts_with("sources/")
            }
        };
        placed
            && path.ends_with(".md")
            && !path.split('/').any(|n| n.starts_with('.') || n == "node_modules")
            && name != layout::INDEX
            && !(in_root && layout::NEVER_DOCUMENTS.contains(&name))
            && !self.config().exclude.is_match(path)
    }

    fn is_document_folder(&self, entry: &DirEntry, obsidian: bool) -> bool {
        if !entry.file_type().is_dir() {
            return true;
        }
        let name = entry.file_name().to_string_lossy();
        if name.starts_with('.') || name == "node_modules" {
            return false;
        }
        obsidian || entry.depth() > 1 || name == layout::NODES || name == layout::SOURCES
    }

    /// The governance files that exist, in byte order of their ids.
    pub fn governance_files(&self) -> Vec<String> {
        let mut found: Vec<String> = [layout::CONTEXT, layout::STEWARDS, layout::CONFIG]
            .into_iter()
            .filter(|path| self.files().exists(path))
            .map(str::to_owned)
            .collect();
        let packs = WalkDir::new(self.root().join(layout::PACKS)).min_depth(1).max_depth(1);
        for entry in packs.into_iter().filter_map(Result::ok) {
            if let Some(name) = entry.file_name().to_str()
                && name.ends_with(".yml")
                && !name.starts_with('.')
                && entry.file_type().is_file()
            {
                found.push(format!("{}/{name}", layout::PACKS));
            }
        }
        found.sort_unstable();
        found
    }

    /// The folders inside a `.versions` folder anywhere in the vault, in byte order: every place
    /// where a history could lie, whether or not any document has that name.
    pub fn history_folders(&self) -> Vec<String> {
        self.survey().histories
    }

    /// Looks through every folder of the vault for what lies where histories do.
    pub fn survey(&self) -> Survey {
        let mut found = Survey::default();
        let walk = WalkDir::new(self.root()).follow_links(false).into_iter();
        let walk = walk.filter_entry(|e| {
            let name = e.file_name();
            let skipped = name == ".git" || name == "node_modules";
            e.depth() == 0 || !(skipped || (e.file_type().is_dir() && is_vault(e.path())))
        });
        let shown = |path: &Path| {
            let path = path.strip_prefix(self.root()).unwrap_or(path);
            path.to_string_lossy().into_owned()
        };
        for entry in walk {
            let entry = match entry {
                Ok(entry) => entry,
                Err(why) => {
                    found.unlisted.extend(why.path().map(shown));
                    continue;
                }
            };
            let is_link = entry.file_type().is_symlink();
            let above = entry.path().parent().and_then(Path::file_name);
            let in_versions = entry.depth() > 1 && above.is_some_and(|n| n == layout::VERSIONS);
            let path = shown(entry.path());
            if is_link && (in_versions || entry.file_name() == layout::VERSIONS) {
                found.links.push(path);
            } else if in_versions && entry.file_type().is_dir() && entry.path().to_str().is_some() {
                found.histories.push(path);
            } else if in_versions && path != layout::DELTA_LOG && path != layout::FULL_LOG {
                found.strays.push(path);
            }
        }
        for list in [&mut found.histories, &mut found.strays, &mut found.links, &mut found.unlisted]
        {
            list.sort_unstable();
        }
        found
    }
}
