//! Parses arguments that name documents or folders, to which a verb is limited.

use std::path::{Path, PathBuf};

use super::Workspace;
use super::ask::is_of_selectors;
use super::name::{is_uri, leads_out, lexical};
use crate::files::vault::Vault;
use crate::read::snapshot::Snapshot;
use crate::read::working::is_known;
use crate::service::report::failure::{Code, Failure};
use crate::text::uri::{Target, Uri};
use crate::values::model::hint::{Hint, Verb};
use crate::values::model::id::DocumentId;

/// The documents and folders that arguments name; without arguments the whole vault.
#[derive(Debug, Default)]
pub(crate) struct Places {
    ids: Vec<DocumentId>,
    /// Paths of folders with a final `/`; empty for the vault's folder.
    folders: Vec<String>,
}

impl Places {
    /// Returns true if the whole vault is included.
    pub(crate) fn is_everything(&self) -> bool {
        (self.ids.is_empty() && self.folders.is_empty())
            || self.folders.iter().any(String::is_empty)
    }

    /// Returns true if a file is included.
    pub(crate) fn holds(&self, path: &str, id: Option<&DocumentId>) -> bool {
        self.is_everything()
            || id.is_some_and(|id| self.ids.contains(id))
            || self.folders.iter().any(|folder| path.starts_with(folder.as_str()))
    }

    /// Returns the documents that are named individually.
    pub(crate) fn ids(&self) -> &[DocumentId] {
        &self.ids
    }
}

impl Workspace<'_> {
    /// Parses arguments like [`Workspace::places`], with the published documents of a snapshot.
    pub(crate) fn places_at(
        &self,
        vault: &Vault,
        head: &Snapshot<'_>,
        texts: &[String],
    ) -> Result<Places, Failure> {
        let published: Vec<&DocumentId> = head.documents()?.collect();
        let holds = |folder: &str| published.iter().any(|id| id.as_str().starts_with(folder));
        self.places(vault, texts, holds)
    }

    /// Parses arguments that name documents, by id, URI or path, or folders, by a path from the
    /// current folder or from the vault's. `holds` returns true if published documents are in a
    /// folder, which may be missing on the disk.
    ///
    /// # Errors
    /// An argument names nothing that exists.
    fn places(
        &self,
        vault: &Vault,
        texts: &[String],
        holds: impl Fn(&str) -> bool,
    ) -> Result<Places, Failure> {
        let mut places = Places::default();
        for text in texts {
            let id = (!text.ends_with('/')).then(|| self.named(vault, text));
            match id {
                Some(Ok(id)) if is_known(vault, &id) => places.ids.push(id),
                Some(Err(why)) if is_uri(text) => return Err(why),
                id => match self.folder(vault, text, &holds) {
                    Some(folder) => places.folders.push(folder),
                    None if id.is_some() => places.ids.push(self.recorded_id(vault, text)?),
                    None => {
                        let message = format!("no folder `{text}` has documents");
                        return Err(Failure::new(Code::UnknownId, message)
                            .hint(Hint::call("{} lists all documents", Verb::Status)));
                    }
                },
            }
        }
        Ok(places)
    }

    /// Returns the folder on the disk that an argument names; `None` if it names a document.
    pub(crate) fn folder_of(&self, vault: &Vault, text: &str) -> Option<String> {
        let is_named = |id: &DocumentId| is_known(vault, id);
        let is_document =
            !text.ends_with('/') && self.named(vault, text).is_ok_and(|id| is_named(&id));
        if is_document || is_uri(text) { None } else { self.folder(vault, text, &|_| false) }
    }

    pub(super) fn folder(
        &self,
        vault: &Vault,
        text: &str,
        holds: &impl Fn(&str) -> bool,
    ) -> Option<String> {
        let here = self.below_root(vault, text);
        // A path that leads out of the vault names nothing in it.
        let from_root = (!leads_out(text)).then(|| lexical(Path::new(text)));
        [here, from_root].into_iter().flatten().find_map(|path| {
            let path = path.to_str()?;
            let folder = if path.is_empty() { String::new() } else { format!("{path}/") };
            (vault.root().join(path).is_dir() || holds(&folder)).then_some(folder)
        })
    }

    /// Returns the path in the vault that a path from the current folder leads to.
    pub(super) fn below_root(&self, vault: &Vault, text: &str) -> Option<PathBuf> {
        let from_here = lexical(&self.environment.cwd.canonicalize().ok()?.join(text));
        from_here.strip_prefix(vault.root()).ok().map(Path::to_owned)
    }

    /// Returns the selector for a path of a folder; empty for the vault's folder. A text with a
    /// character of selectors is not such a path.
    pub(crate) fn listed_folder(&self, vault: &Vault, text: &str) -> Option<String> {
        if text.contains(is_of_selectors) {
            return None;
        }
        let folder = self.folder_of(vault, text)?;
        let uri = (!folder.is_empty()).then(|| Uri::from(Target::Folder(folder)).to_string());
        Some(uri.unwrap_or_default())
    }
}
