//! Arguments that name documents or folders: what a verb that looks at many files is limited to.

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
    /// Each with a `/` at its end; the empty text is the vault's folder.
    folders: Vec<String>,
}

impl Places {
    /// Whether nothing is left out.
    pub(crate) fn is_everything(&self) -> bool {
        (self.ids.is_empty() && self.folders.is_empty())
            || self.folders.iter().any(String::is_empty)
    }

    /// Whether a file belongs to them.
    pub(crate) fn holds(&self, path: &str, id: Option<&DocumentId>) -> bool {
        self.is_everything()
            || id.is_some_and(|id| self.ids.contains(id))
            || self.folders.iter().any(|folder| path.starts_with(folder.as_str()))
    }

    /// The documents that are named one by one.
    pub(crate) fn ids(&self) -> &[DocumentId] {
        &self.ids
    }
}

impl Workspace<'_> {
    /// As [`Workspace::places`], with the documents of a snapshot.
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

    /// Reads arguments that name documents, by id, URI or path, or folders, by a path from here or
    /// from the vault's folder. `holds` says whether published documents are in a folder that is not
    /// on the disk.
    ///
    /// # Errors
    /// An argument names nothing that is there.
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

    /// The folder that an argument names, on the disk, unless it names a document.
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
        // A path that leaves the vault from here names nothing in it.
        let from_root = (!leads_out(text)).then(|| lexical(Path::new(text)));
        [here, from_root].into_iter().flatten().find_map(|path| {
            let path = path.to_str()?;
            let folder = if path.is_empty() { String::new() } else { format!("{path}/") };
            (vault.root().join(path).is_dir() || holds(&folder)).then_some(folder)
        })
    }

    /// The path in the vault that a path from here leads to.
    pub(super) fn below_root(&self, vault: &Vault, text: &str) -> Option<PathBuf> {
        let from_here = lexical(&self.environment.cwd.canonicalize().ok()?.join(text));
        from_here.strip_prefix(vault.root()).ok().map(Path::to_owned)
    }

    /// The set that a selector selects which is a path of a folder; the empty text is the vault's
    /// folder. No text with a character of selectors is one.
    pub(crate) fn listed_folder(&self, vault: &Vault, text: &str) -> Option<String> {
        if text.contains(is_of_selectors) {
            return None;
        }
        let folder = self.folder_of(vault, text)?;
        let uri = (!folder.is_empty()).then(|| Uri::from(Target::Folder(folder)).to_string());
        Some(uri.unwrap_or_default())
    }
}
