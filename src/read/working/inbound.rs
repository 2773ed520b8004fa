//! Links to documents: references in live documents and packs that would be broken if the document
//! were gone.
//!
//! Links to the past are not included: `derived_from`, and a URI with a checkpoint.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::packs::{self, references};
pub(crate) use super::targets::{Becomes, Leaving};
use super::targets::{Documents, Targets};
use super::{LiveFile, aliases, parse, read};
use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::text::document::links::{
    self, Goal, Link, LinkKind, LinkTarget, Moves, Retargeted, Written,
};
use crate::text::document::{Document, utf8};
use crate::text::uri::Target;
use crate::values::codes::words;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{self, limit};

words! {
    /// Kind of a reference from a live file to a document.
    #[derive(PartialOrd, Ord)]
    pub enum InboundKind {
        /// A text mentions it.
        Reference = "reference",
        /// A source is hydrated after it.
        DependsOn = "depends_on",
        /// A document was made from it.
        DerivedFrom = "derived_from",
        /// A pack names it.
        Pack = "pack",
    }
}

impl From<LinkKind> for InboundKind {
    fn from(kind: LinkKind) -> Self {
        match kind {
            LinkKind::Reference => Self::Reference,
            LinkKind::DependsOn => Self::DependsOn,
            LinkKind::DerivedFrom => Self::DerivedFrom,
        }
    }
}

/// One link to a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Inbound {
    /// Path of the file that contains the link.
    pub path: String,
    /// Line of the link, from 1.
    pub line: usize,
    /// Document that it names.
    pub to: DocumentId,
    /// Kind of the link.
    pub kind: InboundKind,
}

/// Links of live documents and packs that lead to some documents.
pub(crate) struct LinksTo<'t> {
    vault: &'t Vault,
    leaving: Leaving<'t>,
    /// Paths of the live documents.
    paths: Vec<String>,
    targets: Targets<'t>,
}

/// Links of live files that an event affects.
#[derive(Clone, Debug, Default)]
pub struct FoundLinks {
    /// Links that lead to its documents.
    pub inbound: Vec<Inbound>,
    /// Links that lead to other documents after the event.
    pub captured: Vec<Captured>,
    /// Texts after wikilinks that would be links to its documents without the wikilink, as
    /// in `[[1]](a.md)`.
    pub texts: Vec<Inbound>,
    /// Files whose links could not be read.
    pub unread: Vec<String>,
}

/// A link that leads to another document after an event, although the link was not changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Captured {
    /// Path of the file that contains the link.
    pub path: String,
    /// Line of the link, from 1.
    pub line: usize,
    /// Document that it led to.
    pub was: DocumentId,
    /// Document that it leads to.
    pub now: DocumentId,
}

/// The file of a document whose links are changed from `old` to `new`.
#[derive(Clone, Debug)]
pub struct FixedLinks {
    /// Id of the document.
    pub id: DocumentId,
    /// Current bytes of the file.
    pub old: Vec<u8>,
    /// New text, with the links that could be changed.
    pub new: Retargeted,
}

/// A link of a moved document by a path from its folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelativeLink {
    /// Path of the new file of the document.
    pub path: String,
    /// Line of the link, from 1.
    pub line: usize,
    /// Target of the link, as written.
    pub text: String,
}

/// Links of a moved document that its move affects.
#[derive(Clone, Debug)]
pub(crate) struct OwnLinks {
    /// Links that lead to the document itself.
    pub(crate) inbound: Vec<Inbound>,
    /// Links that lead to another document from the new folder, or by the new id.
    pub(crate) captured: Vec<Captured>,
    /// Relative links that would name something else from the new folder.
    pub(crate) relative: Vec<RelativeLink>,
    /// Text in which all links have their old targets.
    pub(crate) fixed: Retargeted,
}

impl<'t> LinksTo<'t> {
    /// Makes the links to these documents. Lists the vault, and reads the live documents if the
    /// configuration supports aliases.
    pub(crate) fn new(
        vault: &'t Vault,
        published: impl Iterator<Item = DocumentId>,
        leaving: Leaving<'t>,
    ) -> Self {
        let paths = vault.documents().documents;
        let live = paths.iter().filter_map(|path| DocumentId::of_document_file(path).ok());
        let live: Vec<DocumentId> = live.collect();
        let aliases = aliases::read(vault, live.iter());
        let documents = Documents { live, published: published.collect(), aliases };
        let own = leaving.becomes.and_then(|becomes| Some((*leaving.ids.first()?, becomes.text?)));
        let own = own.map(|(old, text)| own_links(text, old)).unwrap_or_default();
        let names = own.into_iter().filter_map(|link| match link.target {
            LinkTarget::Name(name) => Some(name),
            LinkTarget::Document(_) | LinkTarget::Site(_) => None,
        });
        let targets = Targets::new(leaving, &documents, &names.collect(), &vault.config().links);
        Self { vault, leaving, paths, targets }
    }

    /// Returns true if the links of a document are handled separately from those of
    /// other documents.
    fn is_own(&self, id: &DocumentId) -> bool {
        let becomes = self.leaving.becomes.filter(|becomes| becomes.text.is_some());
        self.leaving.ids.contains(id) || becomes.is_some_and(|becomes| becomes.new == id)
    }

    /// Returns all links, in the order of files and lines, except links between the documents
    /// themselves. Reads every live document and the introduction.
    pub(crate) fn all(&self) -> FoundLinks {
        let files = self.paths.par_iter().filter_map(|path| read(self.vault, path));
        let parts: Vec<FoundLinks> = files
            .filter(|file| file.id.as_ref().is_none_or(|id| !self.is_own(id)))
            .map(|file| self.of_file(&file))
            .collect();
        let mut all = FoundLinks::default();
        for part in parts.into_iter().chain(introduction(self.vault).map(|f| self.of_file(&f))) {
            all.inbound.extend(part.inbound);
            all.captured.extend(part.captured);
            all.texts.extend(part.texts);
            all.unread.extend(part.unread);
        }
        self.of_packs(&mut all.inbound);
        all.inbound.sort();
        all.inbound.dedup();
        all.captured.sort();
        all.captured.dedup();
        all.texts.sort();
        all.texts.dedup();
        all.unread.sort();
        all
    }

    fn of_packs(&self, found: &mut Vec<Inbound>) {
        for file in packs::read_all(self.vault) {
            for uri in file.reading.pack.iter().flat_map(references) {
                if let Target::Document { id, checkpoint: None, .. } = &uri.value.target
                    && let Some(to) = self.leaving.ids.get(id)
                {
                    let (path, line, to) = (file.path.clone(), uri.line, (*to).clone());
                    found.push(Inbound { path, line, to, kind: InboundKind::Pack });
                }
            }
        }
    }

    fn of_file(&self, file: &LiveFile) -> FoundLinks {
        let (Some(id), Ok(content)) = (&file.id, &file.content) else {
            return FoundLinks { unread: vec![file.path.clone()], ..FoundLinks::default() };
        };
        let document = &content.document;
        let read = links::read(id, &content.text, &document.frontmatter, document.parts.body);
        let mut found = FoundLinks::default();
        for link in &read.links {
            let (path, line) = (file.path.clone(), link.line);
            if let Some(to) = self.targets.of(id, link) {
                let (to, kind) = (to.clone(), link.kind.into());
                found.inbound.push(Inbound { path, line, to, kind });
            }
            if let Some((was, now)) = self.targets.shifted((id, id), link) {
                let (path, line) = (file.path.clone(), link.line);
                found.captured.push(Captured { path, line, was, now });
            }
        }
        let texts = read.behind_wikilinks.iter().filter_map(|link| {
            let (path, line) = (file.path.clone(), link.line);
            let to = self.targets.of(id, link)?.clone();
            Some(Inbound { path, line, to, kind: link.kind.into() })
        });
        found.texts.extend(texts);
        found
    }

    /// Changes these links of live documents to the new id. Reads the documents that contain them.
    pub(crate) fn retargeted(&self, links: &[Inbound]) -> Result<Vec<FixedLinks>, FileError> {
        let of_documents = links.iter().filter(|link| link.kind != InboundKind::Pack);
        let paths: BTreeSet<&str> = of_documents.map(|link| link.path.as_str()).collect();
        let mut fixed = Vec::new();
        for path in paths {
            let id = match path {
                layout::CONTEXT => path.parse(),
                _ => DocumentId::of_document_file(path),
            };
            let Ok(id) = id else { continue };
            let bytes = self.vault.files().read(path, limit::DOCUMENT)?;
            let Ok(text) = utf8(&bytes) else { continue };
            let names = |target: &LinkTarget, to: &DocumentId| self.targets.names(&id, target, to);
            let goal = Goal { sites: self.targets.sites, names: &names };
            let found = links::retarget(&id, text, &goal, |link| self.targets.moves(&id, link));
            fixed.push(FixedLinks { id, old: bytes, new: found });
        }
        Ok(fixed)
    }

    /// Returns the links of a document with this text, which moves from `old` to `new`.
    pub(crate) fn own(&self, text: &str, old: &DocumentId, new: &DocumentId) -> OwnLinks {
        let read = own_links(text, old);
        let inbound = |link: &Link| {
            self.targets.of(old, link)?;
            let (path, line) = (new.live_path(), link.line);
            Some(Inbound { path, line, to: old.clone(), kind: link.kind.into() })
        };
        let captured = |link: &Link| {
            let (was, now) = self.targets.shifted((old, new), link)?;
            Some(Captured { path: new.live_path(), line: link.line, was, now })
        };
        let (inbound, captured) =
            (read.iter().filter_map(inbound).collect(), read.iter().filter_map(captured).collect());
        let names = |target: &LinkTarget, to: &DocumentId| self.targets.names(new, target, to);
        let goal = Goal { sites: self.targets.sites, names: &names };
        let led = links::retarget(old, text, &goal, |link| match self.targets.moves(old, link) {
            Moves::No => {
                let shifted = self.targets.shifted((old, new), link);
                shifted.map_or(Moves::No, |(was, _)| Moves::To(was))
            }
            moves => moves,
        });
        let rebased = links::rebase(&led.text, old, new);
        let relative = rebased.changed.iter().chain(&rebased.left).map(|link| RelativeLink {
            path: new.live_path(),
            line: link.line,
            text: link.text.clone(),
        });
        let mut relative: Vec<RelativeLink> = relative.collect();
        relative.sort_by_key(|link| link.line);
        let mut changed = led.changed;
        changed.extend(rebased.changed.iter().map(|link| link.line));
        changed.sort_unstable();
        let mut left: Vec<Written> = led.left.into_iter().chain(rebased.left).collect();
        left.sort();
        let fixed = Retargeted { text: rebased.text, changed, left };
        OwnLinks { inbound, captured, relative, fixed }
    }
}

/// Returns the links of a document by its text.
fn own_links(text: &str, id: &DocumentId) -> Vec<Link> {
    let document = Document::of_live(text);
    document.map(|document| links::links(id, text, &document)).unwrap_or_default()
}

/// Reads the introduction to the vault, which every agent gets. Its links are not edges of
/// the graph.
fn introduction(vault: &Vault) -> Option<LiveFile> {
    let bytes = vault.files().read_optional(layout::CONTEXT, limit::DOCUMENT);
    let content = match bytes {
        Ok(bytes) => parse(bytes?),
        Err(why) => Err(super::unreadable(&why)),
    };
    let (path, id) = (layout::CONTEXT.to_owned(), layout::CONTEXT.parse().ok());
    Some(LiveFile { path, id, content, stamp: None })
}
