//! Which of some documents a link leads to: as the live files say, as the published documents say,
//! and after a move.
//!
//! The tables hold what concerns these documents alone, however many others there are.

use std::collections::{BTreeSet, HashMap};

use super::aliases;
use crate::document::links::{self, Link, LinkKind, LinkTarget, Moves, Names};
use crate::graph::name_key;
use crate::model::id::{DocumentId, fold};
use crate::vault::site::SiteLinks;

/// Documents that links may lead to, as the names in wikilinks are resolved.
pub(crate) struct Targets<'t> {
    ids: HashMap<&'t str, &'t DocumentId>,
    /// The document that one of them becomes.
    new: Option<&'t DocumentId>,
    /// The live and the published documents.
    live: Known,
    published: Known,
    /// The live and the published documents after the move.
    after: Known,
    /// Where links from the root of a site lead.
    pub(super) sites: &'t SiteLinks,
}

/// Documents and their names.
pub(super) struct Documents {
    pub(super) live: Vec<DocumentId>,
    pub(super) published: Vec<DocumentId>,
    /// The other names of live documents, as far as they count.
    pub(super) aliases: Vec<(DocumentId, Vec<String>)>,
}

impl<'t> Targets<'t> {
    pub(super) fn new(
        ids: &'t BTreeSet<&'t DocumentId>,
        new: Option<&'t DocumentId>,
        documents: &Documents,
        sites: &'t SiteLinks,
    ) -> Self {
        let Documents { live, published, aliases } = documents;
        let of_targets = aliases.iter().filter(|(id, _)| ids.contains(id));
        let aliases_wanted: BTreeSet<String> =
            of_targets.flat_map(|(_, names)| names).map(|name| fold(name)).collect();
        let about = || ids.iter().copied().chain(new);
        let sources = about().flat_map(|id| links::site_sources(id, sites));
        let rivals = sources.flat_map(|path| links::site_targets(&path, sites)).collect();
        let keys = about().map(|id| name_key(id.as_str()));
        let keys = keys.chain(aliases_wanted.iter().map(|name| name_key(name))).collect();
        let wanted = Wanted { keys, rivals, aliases: aliases_wanted };
        let old = || ids.iter().copied();
        let known = || live.iter().chain(published);
        // The file of a move may be at its new place already.
        let before = known().filter(|id| Some(*id) != new).chain(old());
        let is_kept = |id: &&DocumentId| new.is_none() || !ids.contains(id);
        Self {
            ids: old().map(|id| (id.as_str(), id)).collect(),
            new,
            live: Known::new(&wanted, before, aliases.iter()),
            published: Known::new(&wanted, published.iter().chain(old()), {
                let published: BTreeSet<&DocumentId> = published.iter().collect();
                aliases.iter().filter(move |(id, _)| published.contains(id))
            }),
            after: Known::new(&wanted, known().filter(is_kept).chain(new), [].iter()),
            sites,
        }
    }

    /// The target that a link of a document leads to: among the live documents, or else among the
    /// published ones alone.
    pub(super) fn of(&self, from: &DocumentId, link: &Link) -> Option<&'t DocumentId> {
        self.among(&self.live, from, link).or_else(|| self.among(&self.published, from, link))
    }

    /// Whether a link of a document is to follow its target.
    pub(super) fn moves(&self, from: &DocumentId, link: &Link) -> Moves {
        match (self.among(&self.live, from, link), self.of(from, link)) {
            (Some(_), _) => Moves::Yes,
            (None, Some(_)) => Moves::Unclear,
            (None, None) => Moves::No,
        }
    }

    fn among(&self, known: &Known, from: &DocumentId, link: &Link) -> Option<&'t DocumentId> {
        if link.kind == LinkKind::DerivedFrom || link.checkpoint.is_some() {
            return None;
        }
        match &link.target {
            LinkTarget::Document(name) => self.ids.get(name.as_str()).copied(),
            target => self.ids.get(known.resolve(from, target, self.sites)?.as_str()).copied(),
        }
    }

    /// Whether a link of a document names the new document after the move.
    pub(super) fn names_new(&self, from: &DocumentId, target: &LinkTarget) -> bool {
        match target {
            LinkTarget::Document(name) => self.new.is_some_and(|new| new.as_str() == name),
            target => self.after.resolve(from, target, self.sites).as_ref() == self.new,
        }
    }

    /// The other document that a link leads to before the move, if it leads to the new one after it.
    /// `to` is the linking document after the move.
    pub(super) fn captured(
        &self,
        (from, to): (&DocumentId, &DocumentId),
        link: &Link,
    ) -> Option<DocumentId> {
        let is_by_id = matches!(link.target, LinkTarget::Document(_));
        if self.new.is_none() || is_by_id || link.checkpoint.is_some() {
            return None;
        }
        let was = self.live.resolve(from, &link.target, self.sites)?;
        let is_other = !self.ids.contains_key(was.as_str()) && self.names_new(to, &link.target);
        is_other.then_some(was)
    }
}

/// What the tables are to hold.
struct Wanted {
    /// The keys of names.
    keys: BTreeSet<String>,
    /// What a path from the root of a site may mean in place of a target.
    rivals: BTreeSet<DocumentId>,
    /// The other names of targets, folded.
    aliases: BTreeSet<String>,
}

/// A set of documents, as far as links to the targets depend on it.
struct Known {
    names: HashMap<String, Names>,
    rivals: BTreeSet<DocumentId>,
    aliases: HashMap<String, Names>,
}

impl Known {
    fn new<'k>(
        wanted: &Wanted,
        ids: impl Iterator<Item = &'k DocumentId>,
        aliases: impl Iterator<Item = &'k (DocumentId, Vec<String>)>,
    ) -> Self {
        let mut names: HashMap<String, Vec<DocumentId>> = HashMap::new();
        let mut rivals = BTreeSet::new();
        for id in ids {
            if wanted.rivals.contains(id) {
                rivals.insert(id.clone());
            }
            let key = name_key(id.as_str());
            if wanted.keys.contains(&key) {
                names.entry(key).or_default().push(id.clone());
            }
        }
        let names = names.into_iter().map(|(key, ids)| (key, Names::new(ids))).collect();
        let is_wanted = |name: &&String| wanted.aliases.contains(&fold(name));
        let aliases = aliases.map(|(id, names)| {
            let names = names.iter().filter(is_wanted).cloned();
            (id.clone(), names.collect())
        });
        Self { names, rivals, aliases: aliases::by_name(aliases.collect()) }
    }

    fn resolve(
        &self,
        from: &DocumentId,
        target: &LinkTarget,
        sites: &SiteLinks,
    ) -> Option<DocumentId> {
        match target {
            LinkTarget::Document(name) => name.parse().ok(),
            LinkTarget::Site(path) => {
                let mut targets = links::site_targets(path, sites).into_iter();
                targets.find(|id| self.rivals.contains(id))
            }
            LinkTarget::Name(name) => {
                let names = self.names.get(&name_key(name));
                let found = names.and_then(|names| names.resolve(name, from));
                let aliased = || self.aliases.get(&fold(name))?.nearest(from);
                found.or_else(aliased).map(|found| found.id.clone())
            }
        }
    }
}
