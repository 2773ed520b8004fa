//! Targets of links among some documents: by the live files, by the published documents, and after
//! the documents are retired or one of them is moved.
//!
//! The tables contain only data about these documents, for any number of others.

use std::collections::{BTreeSet, HashMap};

use super::aliases;
use crate::files::vault::site::SiteLinks;
use crate::read::graph::name_key;
use crate::text::document::links::{self, Link, LinkKind, LinkTarget, Moves, Names};
use crate::values::model::id::{DocumentId, fold};

/// Documents that leave the maps: they are retired, or one of them is moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving<'t> {
    /// Ids of the documents.
    pub(crate) ids: &'t BTreeSet<&'t DocumentId>,
    /// Result of the move, if one of them is moved.
    pub(crate) becomes: Option<Becomes<'t>>,
}

/// Result of a move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Becomes<'t> {
    /// New id of the document.
    pub(crate) new: &'t DocumentId,
    /// Text of the document, if its links are those that it had under its old id.
    pub(crate) text: Option<&'t str>,
    /// True if a checkpoint already records the move.
    pub(crate) is_recorded: bool,
}

/// Documents that links may lead to, by the names in wikilinks.
pub(crate) struct Targets<'t> {
    ids: HashMap<&'t str, &'t DocumentId>,
    becomes: Option<Becomes<'t>>,
    /// Live and published documents.
    live: Known,
    published: Known,
    /// Live and published documents after the event.
    after: Known,
    /// Targets of links from the root of a site.
    pub(super) sites: &'t SiteLinks,
}

/// Documents and their names.
pub(super) struct Documents {
    pub(super) live: Vec<DocumentId>,
    pub(super) published: Vec<DocumentId>,
    /// Aliases of live documents, if the configuration supports aliases.
    pub(super) aliases: Vec<(DocumentId, Vec<String>)>,
}

impl<'t> Targets<'t> {
    /// Makes the targets; `names` are the names that the moved document links to.
    pub(super) fn new(
        leaving: Leaving<'t>,
        documents: &Documents,
        names: &BTreeSet<String>,
        sites: &'t SiteLinks,
    ) -> Self {
        let Documents { live, published, aliases } = documents;
        let ids = leaving.ids;
        let new = leaving.becomes.map(|becomes| becomes.new);
        let wanted = Wanted::new(leaving, aliases, names, sites);
        let old = || ids.iter().copied();
        // The file of a move may already be at its new place.
        let is_old = move |id: &&DocumentId| Some(*id) != new;
        let known = || live.iter().chain(published);
        let is_kept = |id: &&DocumentId| !ids.contains(id);
        // The aliases of a document move with it.
        let moved = new.and_then(|new| Some((*ids.first()?, new)));
        let before = |id| if Some(id) == new { moved.map_or(id, |(old, _)| old) } else { id };
        let after = |id| moved.filter(|(old, _)| *old == id).map_or(id, |(_, new)| new);
        let all = || aliases.iter().map(|(id, names)| (id, names));
        let published_ids: BTreeSet<&DocumentId> = published.iter().chain(old()).collect();
        Self {
            ids: old().map(|id| (id.as_str(), id)).collect(),
            becomes: leaving.becomes,
            live: Known::new(
                &wanted,
                known().filter(is_old).chain(old()),
                all().map(|(id, names)| (before(id), names)),
            ),
            published: Known::new(
                &wanted,
                published.iter().filter(is_old).chain(old()),
                all()
                    .map(|(id, names)| (before(id), names))
                    .filter(|(id, _)| published_ids.contains(id)),
            ),
            after: Known::new(
                &wanted,
                known().filter(is_kept).chain(new),
                all().map(|(id, names)| (after(id), names)).filter(|(id, _)| is_kept(id)),
            ),
            sites,
        }
    }

    /// Returns the target of a link of a document, among the live documents, or else among the
    /// published ones alone. Returns `None` if the link already names the moved document.
    pub(super) fn of(&self, from: &DocumentId, link: &Link) -> Option<&'t DocumentId> {
        let found = self.among(&self.live, from, link);
        let found = found.or_else(|| self.among(&self.published, from, link))?;
        let recorded = self.becomes.filter(|becomes| becomes.is_recorded);
        let names_new = |becomes: Becomes<'_>| self.names(from, &link.target, becomes.new);
        (!recorded.is_some_and(names_new)).then_some(found)
    }

    /// Decides if a link of a document follows its target. After a recorded move, a link to another
    /// document may have been written since, and is left to a person.
    pub(super) fn moves(&self, from: &DocumentId, link: &Link) -> Moves {
        let Some((becomes, _)) = self.becomes.zip(self.of(from, link)) else { return Moves::No };
        let is_unclear = self.among(&self.live, from, link).is_none()
            || becomes.is_recorded && self.shifted((from, from), link).is_some();
        if is_unclear { Moves::Unclear } else { Moves::To(becomes.new.clone()) }
    }

    fn among(&self, known: &Known, from: &DocumentId, link: &Link) -> Option<&'t DocumentId> {
        if link.kind == LinkKind::DerivedFrom || link.checkpoint.is_some() {
            return None;
        }
        let found = match self.becomes {
            // The aliases move with the document.
            Some(_) => known.file(from, &link.target, self.sites)?,
            None => known.resolve(from, &link.target, self.sites)?,
        };
        self.ids.get(found.as_str()).copied()
    }

    /// Returns true if a link of a document names this one after the event.
    pub(super) fn names(&self, from: &DocumentId, target: &LinkTarget, id: &DocumentId) -> bool {
        self.after.resolve(from, target, self.sites).as_ref() == Some(id)
    }

    /// Returns the document that a link leads to now, and the different one that it leads to after
    /// the event, unless that is the moved document. `to` is the linking document after the event.
    pub(super) fn shifted(
        &self,
        (from, to): (&DocumentId, &DocumentId),
        link: &Link,
    ) -> Option<(DocumentId, DocumentId)> {
        if matches!(link.target, LinkTarget::Document(_)) || link.checkpoint.is_some() {
            return None;
        }
        let was = self.live.resolve(from, &link.target, self.sites)?;
        let now = self.after.resolve(to, &link.target, self.sites)?;
        let new = self.becomes.map(|becomes| becomes.new);
        let is_moved = self.ids.contains_key(was.as_str()) && Some(&now) == new;
        (was != now && !is_moved).then_some((was, now))
    }
}

/// Keys that the tables must contain.
struct Wanted {
    /// Keys of names.
    keys: BTreeSet<String>,
    /// Documents that a path from the root of a site may lead to instead of a target.
    rivals: BTreeSet<DocumentId>,
    /// Folded aliases.
    aliases: BTreeSet<String>,
}

impl Wanted {
    fn new(
        leaving: Leaving<'_>,
        aliases: &[(DocumentId, Vec<String>)],
        names: &BTreeSet<String>,
        sites: &SiteLinks,
    ) -> Self {
        let about = || leaving.ids.iter().copied().chain(leaving.becomes.map(|b| b.new));
        let keys = about().map(DocumentId::as_str).chain(names.iter().map(String::as_str));
        let mut keys: BTreeSet<String> = keys.map(name_key).collect();
        let all = aliases.iter().flat_map(|(id, names)| names.iter().map(move |name| (id, name)));
        let all =
            all.filter(|(id, name)| leaving.ids.contains(id) || keys.contains(&name_key(name)));
        let aliases: BTreeSet<String> = all.map(|(_, name)| fold(name)).collect();
        keys.extend(aliases.iter().map(|name| name_key(name)));
        let sources = about().flat_map(|id| links::site_sources(id, sites));
        let rivals = sources.flat_map(|path| links::site_targets(&path, sites)).collect();
        Self { keys, rivals, aliases }
    }
}

/// A set of documents, with the data that links to the targets depend on.
struct Known {
    names: HashMap<String, Names>,
    rivals: BTreeSet<DocumentId>,
    aliases: HashMap<String, Names>,
}

impl Known {
    fn new<'k>(
        wanted: &Wanted,
        ids: impl Iterator<Item = &'k DocumentId>,
        aliases: impl Iterator<Item = (&'k DocumentId, &'k Vec<String>)>,
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

    /// Returns the document that a link names by its file, or else by an alias.
    fn resolve(
        &self,
        from: &DocumentId,
        target: &LinkTarget,
        sites: &SiteLinks,
    ) -> Option<DocumentId> {
        let aliased = || match target {
            LinkTarget::Name(name) => {
                self.aliases.get(&fold(name))?.nearest(from).map(|found| found.id.clone())
            }
            _ => None,
        };
        self.file(from, target, sites).or_else(aliased)
    }

    /// Returns the document that a link names by its file.
    fn file(
        &self,
        from: &DocumentId,
        target: &LinkTarget,
        sites: &SiteLinks,
    ) -> Option<DocumentId> {
        match target {
            LinkTarget::Document(name) => {
                let id: DocumentId = name.parse().ok()?;
                let names = self.names.get(&name_key(name));
                Some(names.and_then(|names| names.in_other_case(&id)).cloned().unwrap_or(id))
            }
            LinkTarget::Site(path) => {
                let mut targets = links::site_targets(path, sites).into_iter();
                targets.find(|id| self.rivals.contains(id))
            }
            LinkTarget::Name(name) => {
                let names = self.names.get(&name_key(name));
                names.and_then(|names| names.resolve(name, from)).map(|found| found.id.clone())
            }
        }
    }
}
