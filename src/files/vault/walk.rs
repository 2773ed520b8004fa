//! The walk that finds the documents, governance files and histories of a vault.
//!
//! Links are not followed. Names are in byte order, so that every walk of the same tree returns the
//! same list.

use std::collections::HashMap;

use rayon::prelude::*;

use super::config::Layout;
use super::files::Files;
use super::ignored::{self, Ignoring, Rules};
use super::tree::{Kind, Name, joined};
use super::{MARKS, Vault, is_vault};
use crate::values::model::{governance_file, layout};

/// The files that a walk found, as `/`-separated paths in the vault.
#[derive(Debug, Default)]
pub struct WalkedFiles {
    /// Candidate documents: paths of Markdown files where the layout allows documents.
    pub documents: Vec<String>,
    /// Files and folders whose names are not UTF-8, with replacement characters.
    pub unreadable_names: Vec<String>,
    /// Symbolic links with the name of a document, which are not followed.
    pub links: Vec<String>,
    /// Symbolic links to folders where the layout allows documents.
    pub linked_folders: Vec<String>,
    /// Folders that are vaults of their own, whose files do not belong to this vault.
    pub nested: Vec<String>,
    /// Fifos, sockets and devices with the name of a document.
    pub not_files: Vec<String>,
    /// `.gitignore` files that cannot be used: links, and files that are too large.
    pub unusable_rules: Vec<String>,
}

/// The result of a walk through all folders of a vault, as `/`-separated paths in byte order.
#[derive(Debug, Default)]
pub struct Survey {
    /// Files where the layout allows documents.
    pub found: WalkedFiles,
    /// Folders inside a `.versions` folder.
    pub histories: Vec<Folder>,
    /// Other entries of a `.versions` folder that are neither a checkpoint log
    /// nor `.gitattributes`.
    pub strays: Vec<String>,
    /// Symbolic links in place of a `.versions` folder, the folder of packs or a pack, or
    /// among histories.
    pub links: Vec<String>,
    /// Folders that cannot be listed.
    pub unlisted: Vec<String>,
}

/// A folder and the names of its entries.
#[derive(Debug)]
pub struct Folder {
    /// Path of the folder.
    pub path: String,
    /// Names, in no order; a name that is not UTF-8 has replacement characters.
    pub names: Vec<String>,
}

impl Vault {
    /// Returns the files that the layout makes documents and git does not ignore, in byte order.
    pub fn documents(&self) -> WalkedFiles {
        let enters =
            |place: &WalkedFolder| !place.is_ignored && self.is_document_folder(&place.path);
        self.look_through(enters).found
    }

    /// Walks through every folder of the vault, for documents and for histories. Histories are
    /// found even in folders that git ignores.
    pub fn survey(&self) -> Survey {
        self.look_through(|_| true)
    }

    /// Walks level by level: folders of one level are listed in parallel, and the depth is
    /// not limited.
    fn look_through(&self, enters: impl Fn(&WalkedFolder) -> bool) -> Survey {
        let mut survey = Survey::default();
        let mut ignoring = Ignoring::new(self);
        let (path, rules) = (String::new(), ignoring.above());
        let mut folders = vec![WalkedFolder { path, rules, is_ignored: false }];
        while !folders.is_empty() {
            let listed: Vec<(Listing, HashMap<String, String>)> =
                folders.par_iter().map(|place| self.listed(place)).collect();
            let mut next = Vec::new();
            for (place, listing) in folders.into_iter().zip(listed) {
                survey.take(self, place, listing, &mut ignoring, &mut next);
            }
            next.retain(&enters);
            next.sort_unstable_by(|a, b| a.path.cmp(&b.path));
            folders = next;
        }
        survey.found.unusable_rules = ignoring.unusable;
        survey.sort();
        survey
    }

    /// Returns the entries of a folder, and the recorded names of documents whose files differ from
    /// them in case, by the names of the files.
    fn listed(&self, place: &WalkedFolder) -> (Listing, HashMap<String, String>) {
        let listing = list(self.files(), &place.path);
        let mut recorded = HashMap::new();
        if !place.is_ignored && !listing.is_vault && self.is_document_folder(&place.path) {
            let texts = || listing.entries.iter().filter(|entry| entry.is_text);
            let entries = || texts().map(|entry| (entry.name.as_str(), entry.kind));
            let files = self.files().recased_in(&place.path, entries);
            recorded.extend(files.iter().map(|(name, there)| (there.clone(), name.clone())));
            self.files().recased.learn(&place.path, files);
        }
        (listing, recorded)
    }

    /// Returns the folder above a file that is a vault of its own, if there is one.
    pub fn nested_above(&self, path: &str) -> Option<String> {
        let mut folders: Vec<&str> =
            path.char_indices().filter(|(_, c)| *c == '/').map(|(n, _)| &path[..n]).collect();
        folders.retain(|folder| has_marks(self.files(), folder));
        folders.first().map(|folder| (*folder).to_owned())
    }

    /// Returns true if this layout allows a document at a path. The disk is not accessed.
    pub fn is_document_path(&self, path: &str) -> bool {
        let in_root = !path.contains('/');
        let placed = match self.layout() {
            Layout::Obsidian => true,
            Layout::Structured => {
                in_root || path.starts_with("nodes/") || path.starts_with("sources/")
            }
        };
        placed
            && layout::is_markdown(path)
            && !layout::is_never_document(path)
            && (self.config().readme || !layout::is_readme(path))
            && !self.is_template(path)
            && !self.config().exclude.is_match(path)
    }

    /// Returns true if this layout allows documents in a folder; the root has an empty path.
    pub(super) fn is_document_folder(&self, path: &str) -> bool {
        let mut names = path.split('/');
        let first = path.split('/').next().unwrap_or(path);
        let placed = path.is_empty()
            || self.layout() == Layout::Obsidian
            || [layout::NODES, layout::SOURCES].contains(&first);
        placed && !names.any(|name| name.starts_with('.') || name == "node_modules")
    }

    /// Returns true if a symbolic link leads to a folder that could have documents if it were in
    /// the vault. The folder is not read.
    pub(super) fn is_linked_folder(&self, path: &str) -> bool {
        let is_excluded =
            || [path, &format!("{path}/")].iter().any(|p| self.config().exclude.is_match(*p));
        // A link of git leads nowhere without a checkout.
        self.files().tree().is_none()
            && !layout::is_markdown(path)
            && self.is_document_folder(path)
            && !is_excluded()
            && std::fs::metadata(self.root().join(path)).is_ok_and(|meta| meta.is_dir())
    }

    /// Returns the governance files that exist, in byte order of their ids.
    pub fn governance_files(&self) -> Vec<String> {
        let mut found: Vec<String> = governance_file::paths()
            .filter(|path| self.files().exists(path))
            .map(str::to_owned)
            .collect();
        let names = self.files().names(layout::PACKS).unwrap_or_default();
        let packs = names.iter().filter(|name| name.ends_with(".yml") && !name.starts_with('.'));
        let packs = packs.map(|name| format!("{}/{name}", layout::PACKS));
        found.extend(packs.filter(|path| self.files().is_file(path)));
        found.sort_unstable();
        found
    }

    /// Returns the folders inside a `.versions` folder anywhere in the vault, in byte order: every
    /// place where a history could be, even if no document has that name.
    pub fn history_folders(&self) -> Vec<String> {
        self.survey().histories.into_iter().map(|folder| folder.path).collect()
    }
}

/// A folder of the walk.
struct WalkedFolder {
    path: String,
    /// Rules of git that apply above it, until it is entered.
    rules: Rules,
    /// True if git ignores it.
    is_ignored: bool,
}

/// The entries of one folder.
#[derive(Default)]
pub(super) struct Listing {
    /// True if some entries could not be read.
    failed: bool,
    /// True if the folder is a vault of its own.
    pub(super) is_vault: bool,
    pub(super) entries: Vec<Entry>,
}

impl From<Name> for Entry {
    fn from(Name { name, is_text, kind }: Name) -> Self {
        Self { name, is_text, kind }
    }
}

pub(super) struct Entry {
    /// Name; if it is not UTF-8, with replacement characters.
    pub(super) name: String,
    pub(super) is_text: bool,
    pub(super) kind: Kind,
}

/// Lists one folder; the root has an empty path.
pub(super) fn list(files: &Files, path: &str) -> Listing {
    if let Some(tree) = files.tree() {
        let Ok(names) = tree.names(path) else {
            return Listing { failed: true, ..Listing::default() };
        };
        let entries: Vec<Entry> = names.iter().cloned().map(Entry::from).collect();
        let is_vault = may_be_vault(path) && has_marks(files, path);
        return Listing { failed: false, is_vault, entries };
    }
    let dir = files.root().join(path);
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
        let kind = match kind {
            kind if kind.is_symlink() => Kind::Link,
            kind if kind.is_dir() => Kind::Folder,
            kind if kind.is_file() => Kind::File,
            _ => Kind::Special,
        };
        let is_text = name.to_str().is_some();
        listing.entries.push(Entry { name: name.to_string_lossy().into_owned(), is_text, kind });
    }
    // The file system is asked about marks only if there may be one.
    listing.is_vault = has_mark && may_be_vault(path) && is_vault(&dir);
    listing
}

/// Returns true if a folder may be another vault. Files planted among histories do not make their
/// folder one.
fn may_be_vault(path: &str) -> bool {
    !path.is_empty() && !path.split('/').any(|name| name == layout::VERSIONS)
}

/// Returns true if a folder below the root has one of the files that make it a vault.
fn has_marks(files: &Files, folder: &str) -> bool {
    match files.tree() {
        Some(tree) => MARKS.iter().any(|mark| tree.kind(&joined(folder, mark)).is_some()),
        None => is_vault(&files.root().join(folder)),
    }
}

/// Returns true if a path is a place of histories or packs.
fn is_governed_place(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    name == layout::VERSIONS
        || path == layout::PACKS
        || (folder == layout::PACKS && name.ends_with(".yml"))
}

impl Survey {
    /// Adds one folder to the survey, and its subfolders to `next`.
    fn take(
        &mut self,
        vault: &Vault,
        place: WalkedFolder,
        (listing, recorded): (Listing, HashMap<String, String>),
        ignoring: &mut Ignoring<'_>,
        next: &mut Vec<WalkedFolder>,
    ) {
        let WalkedFolder { path, mut rules, is_ignored } = place;
        let has_documents = !is_ignored && vault.is_document_folder(&path);
        if listing.is_vault {
            if has_documents {
                self.found.nested.push(path);
            }
            return;
        }
        if has_documents && listing.entries.iter().any(|entry| entry.name == ignored::NAME) {
            rules = ignoring.enter(&rules, &path);
        }
        let is_versions = path.rsplit('/').next() == Some(layout::VERSIONS);
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let is_history = parent.rsplit('/').next() == Some(layout::VERSIONS);
        for Entry { name, is_text, kind } in &listing.entries {
            let entry = joined(&path, name);
            let is_folder = *kind == Kind::Folder;
            let is_ignored =
                is_ignored || (has_documents && ignoring.rule(&rules, &entry, is_folder).is_some());
            if has_documents && !is_ignored {
                let recorded = recorded.get(name).map(|name| joined(&path, name));
                self.found.take(vault, &entry, recorded, (*is_text, *kind));
            }
            match kind {
                Kind::Folder if name == ".git" || name == "node_modules" => {}
                Kind::Folder if *is_text => {
                    next.push(WalkedFolder { path: entry, rules: rules.clone(), is_ignored });
                }
                Kind::Link if is_versions || is_governed_place(&entry) => self.links.push(entry),
                Kind::File if is_versions && name == layout::GITATTRIBUTES => {}
                _ if is_versions
                    && entry != layout::DELTA_LOG
                    && entry != layout::FULL_LOG
                    && !layout::is_replaced_log(&entry) =>
                {
                    self.strays.push(entry);
                }
                _ => {}
            }
        }
        if listing.failed {
            self.unlisted.push(path.clone());
        }
        if is_history {
            let names = listing.entries.into_iter().map(|entry| entry.name).collect();
            self.histories.push(Folder { path, names });
        }
    }

    fn sort(&mut self) {
        self.histories.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let WalkedFiles {
            documents,
            unreadable_names,
            links,
            linked_folders,
            nested,
            not_files,
            unusable_rules,
        } = &mut self.found;
        let lists =
            [documents, unreadable_names, links, linked_folders, nested, not_files, unusable_rules];
        for list in [&mut self.strays, &mut self.links, &mut self.unlisted].into_iter().chain(lists)
        {
            list.sort_unstable();
        }
    }
}

impl WalkedFiles {
    /// Adds an entry of a folder of documents. `recorded` is the path of the document's id if the
    /// file differs from it in case.
    fn take(
        &mut self,
        vault: &Vault,
        path: &str,
        recorded: Option<String>,
        (is_text, kind): (bool, Kind),
    ) {
        let list = match kind {
            _ if !is_text && (kind == Kind::Folder || layout::is_markdown(path)) => {
                &mut self.unreadable_names
            }
            Kind::Link if is_text && vault.is_linked_folder(path) => &mut self.linked_folders,
            _ if !is_text || !vault.is_document_path(path) => return,
            Kind::Folder => return,
            Kind::Link => &mut self.links,
            Kind::File => &mut self.documents,
            Kind::Special => &mut self.not_files,
        };
        list.push(recorded.unwrap_or_else(|| path.to_owned()));
    }
}
