//! Which files of a vault are documents, governance files and histories.
//!
//! Links are not followed; names are reported in byte order, so that every walk of the same tree
//! gives the same list.

use std::cell::RefCell;
use std::path::Path;

use rayon::prelude::*;
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
    pub histories: Vec<Folder>,
    /// What else lies in a `.versions` folder and is no checkpoint log.
    pub strays: Vec<String>,
    /// Symbolic links in the place of a `.versions` folder or inside of one.
    pub links: Vec<String>,
    /// Folders that cannot be listed.
    pub unlisted: Vec<String>,
}

/// A folder and the names of what lies in it.
#[derive(Debug)]
pub struct Folder {
    /// Its path.
    pub path: String,
    /// Names, in no order; what is no text has replacement characters.
    pub names: Vec<String>,
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
        self.survey().histories.into_iter().map(|folder| folder.path).collect()
    }

    /// Looks through every folder of the vault for what lies where histories do.
    pub fn survey(&self) -> Survey {
        let mut found = Survey::default();
        let mut folders = vec![String::new()];
        // Level by level: folders of one level are listed in parallel, and no depth is too deep.
        while !folders.is_empty() {
            let listed: Vec<Listing> =
                folders.par_iter().map(|path| list(self.root(), path)).collect();
            let mut next = Vec::new();
            for (path, listing) in folders.into_iter().zip(listed) {
                found.take(path, listing, &mut next);
            }
            folders = next;
        }
        found.sort();
        found
    }
}

/// What one folder holds.
#[derive(Default)]
struct Listing {
    /// Why it has no entries.
    failed: bool,
    /// Whether it is a vault of its own.
    is_vault: bool,
    /// The names of its entries, and what they are.
    entries: Vec<(String, Kind)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Folder,
    Link,
    /// A file, or a folder whose name is no text.
    Other,
}

/// Lists one folder; the root has an empty path.
fn list(root: &Path, path: &str) -> Listing {
    let dir = root.join(path);
    let Ok(read) = std::fs::read_dir(&dir) else {
        return Listing { failed: true, ..Listing::default() };
    };
    let mut listing = Listing::default();
    let mut has_mark = false;
    for entry in read {
        let Ok((entry, kind)) = entry.and_then(|entry| entry.file_type().map(|kind| (entry, kind)))
        else {
            listing.failed = true;
            continue;
        };
        let name = entry.file_name();
        has_mark |= name == layout::CONTEXT_DIR || name == layout::VERSIONS;
        let kind = match name.to_str() {
            _ if kind.is_symlink() => Kind::Link,
            Some(_) if kind.is_dir() => Kind::Folder,
            _ => Kind::Other,
        };
        listing.entries.push((name.to_string_lossy().into_owned(), kind));
    }
    // The system is asked about marks only where there may be one.
    listing.is_vault = has_mark && !path.is_empty() && is_vault(&dir);
    listing
}

impl Survey {
    /// Takes one folder in, and names the folders in it that are to be looked through.
    fn take(&mut self, path: String, listing: Listing, next: &mut Vec<String>) {
        if listing.is_vault {
            return;
        }
        let below = |name: &str| match path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}/{name}"),
        };
        let is_versions = path.rsplit('/').next() == Some(layout::VERSIONS);
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let is_history = parent.rsplit('/').next() == Some(layout::VERSIONS);
        for (name, kind) in &listing.entries {
            let entry = below(name);
            match kind {
                Kind::Folder if name == ".git" || name == "node_modules" => {}
                Kind::Folder => next.push(entry),
                Kind::Link if is_versions || name == layout::VERSIONS => self.links.push(entry),
                Kind::Link | Kind::Other => {
                    if is_versions && entry != layout::DELTA_LOG && entry != layout::FULL_LOG {
                        self.strays.push(entry);
                    }
                }
            }
        }
        if listing.failed {
            self.unlisted.push(path.clone());
        }
        if is_history {
            let names = listing.entries.into_iter().map(|(name, _)| name).collect();
            self.histories.push(Folder { path, names });
        }
    }

    fn sort(&mut self) {
        self.histories.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        for list in [&mut self.strays, &mut self.links, &mut self.unlisted] {
            list.sort_unstable();
        }
    }
}
