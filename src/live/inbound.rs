//! Links that lead to documents: the live documents and packs that refer to an id, and would refer
//! to nothing if the id were gone.
//!
//! What names the past is no such link: `derived_from`, and a URI with a checkpoint.

use std::collections::{BTreeSet, HashMap};

use rayon::prelude::*;

use super::packs::{self, references};
use super::{LiveFile, aliases, read};
use crate::document::links::{self, Link, LinkKind, LinkTarget, Names, Retargeted, Written};
use crate::document::{Document, utf8};
use crate::graph::name_key;
use crate::model::id::{DocumentId, fold};
use crate::model::layout::limit;
use crate::uri::Target;
use crate::vault::Vault;
use crate::vault::files::FileError;
use crate::vault::site::SiteLinks;

/// One link to a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Inbound {
    /// The file that has it.
    pub path: String,
    /// Its line, from 1.
    pub line: usize,
    /// The document that it names.
    pub to: DocumentId,
    /// `reference`, `depends_on` or `pack`.
    pub kind: &'static str,
}

/// Documents that links may lead to, as the names in wikilinks are resolved.
pub(crate) struct Targets<'t> {
    ids: HashMap<&'t str, &'t DocumentId>,
    /// The live and published documents that have the last segment of a target.
    names: HashMap<String, Names>,
    /// The live documents that have another name of a target, by its folding.
    aliases: HashMap<String, Names>,
    /// Live and published documents that a path from the root of a site may mean before a target.
    before: BTreeSet<DocumentId>,
    /// Where links from the root of a site lead.
    sites: &'t SiteLinks,
}

impl<'t> Targets<'t> {
    /// `known` are the live and the published documents.
    fn new(
        ids: &'t BTreeSet<&'t DocumentId>,
        known: impl Iterator<Item = DocumentId>,
        aliases: HashMap<String, Names>,
        sites: &'t SiteLinks,
    ) -> Self {
        let names = ids.iter().map(|id| id.as_str()).chain(aliases.keys().map(String::as_str));
        let mut named: HashMap<String, Vec<DocumentId>> =
            names.map(|name| (name_key(name), Vec::new())).collect();
        let sources = ids.iter().flat_map(|id| links::site_sources(id, sites));
        let before = sources.flat_map(|path| links::site_targets(&path, sites));
        let mut before: HashMap<DocumentId, bool> = before.map(|id| (id, false)).collect();
        for id in known {
            if let Some(is_known) = before.get_mut(&id) {
                *is_known = true;
            }
            if let Some(ids) = named.get_mut(&name_key(id.as_str())) {
                ids.push(id);
            }
        }
        let ids = ids.iter().map(|id| (id.as_str(), *id)).collect();
        let names = named.into_iter().map(|(key, ids)| (key, Names::new(ids))).collect();
        let before = before.into_iter().filter(|(_, is_known)| *is_known);
        let before = before.map(|(id, _)| id).collect();
        Self { ids, names, aliases, before, sites }
    }

    /// The target that a link of a document leads to.
    pub(crate) fn of(&self, from: &DocumentId, link: &Link) -> Option<&'t DocumentId> {
        if link.kind == LinkKind::DerivedFrom || link.checkpoint.is_some() {
            return None;
        }
        match &link.target {
            LinkTarget::Document(name) => self.ids.get(name.as_str()).copied(),
            LinkTarget::Site(path) => {
                let mut targets = links::site_targets(path, self.sites).into_iter();
                let found = targets
                    .find(|id| self.ids.contains_key(id.as_str()) || self.before.contains(id))?;
                self.ids.get(found.as_str()).copied()
            }
            LinkTarget::Name(name) => {
                let names = self.names.get(&name_key(name))?;
                let aliased = || self.aliases.get(&fold(name))?.nearest(from);
                let found = names.resolve(name, from).or_else(aliased)?;
                self.ids.get(found.id.as_str()).copied()
            }
        }
    }
}

/// By which names a wikilink leads to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Through {
    /// Those of its file alone: the others move with it.
    FileNames,
    /// Also by those that it gives itself.
    AnyName,
}

/// The links of live documents and packs that lead to some documents.
pub(crate) struct LinksTo<'t> {
    vault: &'t Vault,
    ids: &'t BTreeSet<&'t DocumentId>,
    /// The live documents.
    paths: Vec<String>,
    targets: Targets<'t>,
}

/// The file of a document whose links to `old` are to lead to `new`.
#[derive(Clone, Debug)]
pub struct FixedLinks {
    /// The document.
    pub id: DocumentId,
    /// Its bytes.
    pub old: Vec<u8>,
    /// Its text with the links that could be changed.
    pub new: Retargeted,
}

/// A link of a moved document by a path from its folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelativeLink {
    /// The new file of the document.
    pub path: String,
    /// Its line, from 1.
    pub line: usize,
    /// What it names, as it was written.
    pub text: String,
}

/// The links of a moved document that its move concerns.
#[derive(Clone, Debug)]
pub(crate) struct OwnLinks {
    /// Those that lead to the document itself.
    pub(crate) inbound: Vec<Inbound>,
    /// The relative ones that would name something else from the new folder.
    pub(crate) relative: Vec<RelativeLink>,
    /// The text in which all of them name what they named.
    pub(crate) fixed: Retargeted,
}

impl<'t> LinksTo<'t> {
    /// Those to these documents. Walks over the vault. With `Through::AnyName`, links by other names
    /// than those of files are among them; then the live documents are read.
    pub(crate) fn new(
        vault: &'t Vault,
        published: impl Iterator<Item = DocumentId>,
        ids: &'t BTreeSet<&'t DocumentId>,
        through: Through,
    ) -> Self {
        let paths = vault.documents().documents;
        let live = paths.iter().filter_map(|path| DocumentId::of_document_file(path).ok());
        let live: Vec<DocumentId> = live.collect();
        let read = match through {
            Through::AnyName => aliases::read(vault, live.iter()),
            Through::FileNames => Vec::new(),
        };
        let of_targets =
            read.iter().filter(|(id, _)| ids.contains(id)).flat_map(|(_, names)| names);
        let wanted: BTreeSet<String> = of_targets.map(|name| fold(name)).collect();
        let mut aliases = aliases::by_name(read);
        aliases.retain(|name, _| wanted.contains(name));
        let known = live.into_iter().chain(published);
        let targets = Targets::new(ids, known, aliases, &vault.config().links);
        Self { vault, ids, paths, targets }
    }

    /// Each, in the order of files and lines. Links between the documents themselves are left out.
    /// Reads every live document.
    pub(crate) fn all(&self) -> Vec<Inbound> {
        let mut found: Vec<Inbound> = self
            .paths
            .par_iter()
            .filter_map(|path| read(self.vault, path))
            .filter(|file| file.id.as_ref().is_some_and(|id| !self.ids.contains(id)))
            .flat_map_iter(|file| of_document(&file, &self.targets))
            .collect();
        for file in packs::read_all(self.vault) {
            for uri in file.reading.pack.iter().flat_map(references) {
                if let Target::Document { id, checkpoint: None, .. } = &uri.value.target
                    && let Some(to) = self.ids.get(id)
                {
                    let (path, line, to) = (file.path.clone(), uri.line, (*to).clone());
                    found.push(Inbound { path, line, to, kind: "pack" });
                }
            }
        }
        found.sort();
        found.dedup();
        found
    }

    /// Leads these links of live documents to another id. Reads the documents that have them.
    pub(crate) fn retargeted(
        &self,
        links: &[Inbound],
        new: &DocumentId,
    ) -> Result<Vec<FixedLinks>, FileError> {
        let of_documents = links.iter().filter(|link| link.kind != "pack");
        let paths: BTreeSet<&str> = of_documents.map(|link| link.path.as_str()).collect();
        let mut fixed = Vec::new();
        for path in paths {
            let Ok(id) = DocumentId::of_document_file(path) else { continue };
            let bytes = self.vault.files().read(path, limit::DOCUMENT)?;
            let Ok(text) = utf8(&bytes) else { continue };
            let found = links::retarget(&id, text, (new, self.targets.sites), |link| {
                self.targets.of(&id, link).is_some()
            });
            fixed.push(FixedLinks { id, old: bytes, new: found });
        }
        Ok(fixed)
    }

    /// The links that a document itself has, which goes from `old` to `new` with this text.
    pub(crate) fn own(&self, text: &str, old: &DocumentId, new: &DocumentId) -> OwnLinks {
        let is_old = |link: &Link| self.targets.of(old, link).is_some();
        let document = Document::of_live(text);
        let links = document.map(|document| links::links(old, text, &document));
        let inbound = |link: &Link| Inbound {
            path: new.live_path(),
            line: link.line,
            to: old.clone(),
            kind: link.kind.as_str(),
        };
        let inbound = links.iter().flatten().filter(|link| is_old(link)).map(inbound).collect();
        let led = links::retarget(old, text, (new, self.targets.sites), is_old);
        let rebased = links::rebase(&led.text, old, new);
        let relative = rebased.changed.iter().chain(&rebased.left).map(|link| RelativeLink {
            path: new.live_path(),
            line: link.line,
            text: link.text.clone(),
        });
        let mut relative: Vec<RelativeLink> = relative.collect();
        relative.sort_by_key(|link| link.line);
        let lines = |mut lines: Vec<usize>, links: &[Written]| {
            lines.extend(links.iter().map(|link| link.line));
            lines.sort_unstable();
            lines
        };
        let changed = lines(led.changed, &rebased.changed);
        let left = lines(led.left, &rebased.left);
        let fixed = Retargeted { text: rebased.text, changed, left };
        OwnLinks { inbound, relative, fixed }
    }
}

fn of_document(file: &LiveFile, targets: &Targets<'_>) -> Vec<Inbound> {
    let (Some(id), Ok(content)) = (&file.id, &file.content) else { return Vec::new() };
    let document = &content.document;
    let links = links::read(id, &content.text, &document.frontmatter, document.parts.body).links;
    let inbound = |link: &Link| {
        let to = targets.of(id, link)?.clone();
        let (path, line) = (file.path.clone(), link.line);
        Some(Inbound { path, line, to, kind: link.kind.as_str() })
    };
    links.iter().filter_map(inbound).collect()
}
