//! The graph from the index, with one posting list for each question.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::files::vault::site::SiteLinks;
use crate::read::graph::{Catalog, Mention, name_key, resolve};
use crate::read::index::{At, Damaged, Held, Metadata};
use crate::text::document::links::{LinkKind, LinkTarget, Names, site_sources, site_targets};
use crate::values::model::id::{DocumentId, fold};

/// The catalog of a checkpoint. If the index is found damaged, answers are empty, and
/// [`Linked::sound`] then fails.
pub(super) struct Linked<'i> {
    at: At<'i>,
    sites: &'i SiteLinks,
    /// Documents that may not be served now, whatever the index contains.
    without: &'i BTreeSet<DocumentId>,
    damaged: Cell<bool>,
    /// Cache of decoded rows and names, because a walk asks for the same ones repeatedly.
    rows: RefCell<HashMap<u32, Rc<Held>>>,
    named: RefCell<HashMap<String, Arc<Names>>>,
    aliased: RefCell<HashMap<String, Arc<Names>>>,
}

impl<'i> Linked<'i> {
    pub(super) fn new(at: At<'i>, sites: &'i SiteLinks, without: &'i BTreeSet<DocumentId>) -> Self {
        let (rows, named, aliased) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { at, sites, without, damaged: Cell::new(false), rows, named, aliased }
    }

    /// Fails if the index was found damaged.
    pub(super) fn sound(&self) -> Result<(), Damaged> {
        if self.damaged.get() { Err(Damaged) } else { Ok(()) }
    }

    fn answer<T: Default>(&self, answer: Result<T, Damaged>) -> T {
        answer.unwrap_or_else(|Damaged| {
            self.damaged.set(true);
            T::default()
        })
    }

    /// Returns the documents of the rows that the checkpoint contains, in byte order.
    fn ids_of(&self, rows: Result<RoaringBitmap, Damaged>) -> Vec<DocumentId> {
        let rows = rows.and_then(|rows| self.at.holding(rows));
        let ids = |rows: RoaringBitmap| rows.iter().map(|row| Ok(self.at.held(row)?.id)).collect();
        let mut ids: Vec<DocumentId> = self.answer(rows.and_then(ids));
        ids.retain(|id| !self.without.contains(id));
        ids.sort_unstable();
        ids
    }

    fn held(&self, row: u32) -> Result<Rc<Held>, Damaged> {
        if let Some(held) = self.rows.borrow().get(&row) {
            return Ok(Rc::clone(held));
        }
        let held = Rc::new(self.at.held(row)?);
        self.rows.borrow_mut().insert(row, Rc::clone(&held));
        Ok(held)
    }

    /// Returns the documents of the rows that the checkpoint contains and that may be served.
    fn serving(&self, rows: Result<RoaringBitmap, Damaged>) -> Result<Vec<Rc<Held>>, Damaged> {
        let rows = self.at.holding(rows?)?;
        let mut held = rows.iter().map(|row| self.held(row)).collect::<Result<Vec<_>, _>>()?;
        held.retain(|held| !self.without.contains(&held.id));
        Ok(held)
    }

    /// Returns the documents that mention this id by one kind of link.
    fn mentioning(
        &self,
        id: &DocumentId,
        kind: LinkKind,
    ) -> Result<Vec<(DocumentId, LinkKind)>, Damaged> {
        let mut found = self.serving(self.at.linking(kind, id))?;
        let is_of_kind = |mention: &&Mention| {
            mention.kind == kind && matches!(mention.target, LinkTarget::Document(_))
        };
        found.retain(|held| {
            let mut mentions = held.metadata.iter().flat_map(|m| &m.mentions).filter(is_of_kind);
            mentions.any(|mention| {
                let LinkTarget::Document(text) = &mention.target else { return false };
                fold(text) == id.folded() && resolve(self, &held.id, mention).as_ref() == Some(id)
            })
        });
        Ok(found.iter().map(|held| (held.id.clone(), kind)).collect())
    }

    /// Returns the documents that link to an id by a path from the root of a site.
    fn by_site(&self, id: &DocumentId) -> Result<Vec<(DocumentId, LinkKind)>, Damaged> {
        let mut all = Vec::new();
        for path in site_sources(id, self.sites) {
            // Another document may have precedence for the path.
            let mut targets = site_targets(&path, self.sites).into_iter();
            if targets.find(|target| self.holds(target)).as_ref() != Some(id) {
                continue;
            }
            let kind = LinkKind::Reference;
            let mut found = self.serving(self.at.linking_site(&path))?;
            let mention = Mention { kind, target: LinkTarget::Site(path) };
            found.retain(|held| {
                held.metadata.as_ref().is_some_and(|m| m.mentions.contains(&mention))
            });
            all.extend(found.iter().map(|held| (held.id.clone(), kind)));
        }
        Ok(all)
    }

    /// Returns a value from the fields of a document; the default if they are unknown.
    fn of<T: Default>(
        &self,
        id: &DocumentId,
        said: impl FnOnce(&Metadata) -> T,
    ) -> Result<T, Damaged> {
        let Some(row) = self.at.row_of(id.as_str())? else { return Ok(T::default()) };
        let held = self.held(row)?;
        Ok(held.metadata.as_ref().map(said).unwrap_or_default())
    }
}

impl Catalog for Linked<'_> {
    fn holds(&self, id: &DocumentId) -> bool {
        let row = self.at.get(id.as_str());
        !self.without.contains(id) && self.answer(row).is_some_and(|held| held.metadata.is_some())
    }

    fn sites(&self) -> &SiteLinks {
        self.sites
    }

    fn ids(&self) -> Vec<DocumentId> {
        self.ids_of(self.at.known())
    }

    fn mentions(&self, id: &DocumentId) -> BTreeSet<Mention> {
        self.answer(self.of(id, |metadata| metadata.mentions.clone()))
    }

    fn mentioned_by(&self, id: &DocumentId) -> Vec<(DocumentId, LinkKind)> {
        let kinds = LinkKind::ALL.iter();
        let by_id = kinds.flat_map(|(_, kind)| self.answer(self.mentioning(id, *kind)));
        by_id.chain(self.answer(self.by_site(id))).collect()
    }

    fn naming(&self, key: &str) -> Vec<(DocumentId, Mention)> {
        let is_named = |mention: &&Mention| match &mention.target {
            LinkTarget::Name(name) => name_key(name) == key,
            LinkTarget::Document(_) | LinkTarget::Site(_) => false,
        };
        let mut found = Vec::new();
        for held in self.answer(self.serving(self.at.naming(key))) {
            let mentions = held.metadata.iter().flat_map(|m| &m.mentions).filter(is_named);
            found.extend(mentions.map(|mention| (held.id.clone(), mention.clone())));
        }
        found
    }

    fn named(&self, key: &str) -> Arc<Names> {
        if let Some(known) = self.named.borrow().get(key) {
            return Arc::clone(known);
        }
        let names = Arc::new(Names::new(self.ids_of(self.at.named(key))));
        self.named.borrow_mut().insert(key.to_owned(), Arc::clone(&names));
        names
    }

    fn aliases(&self, id: &DocumentId) -> Vec<String> {
        self.answer(self.of(id, |metadata| metadata.aliases.clone()))
    }

    fn aliased(&self, folded: &str) -> Arc<Names> {
        if let Some(known) = self.aliased.borrow().get(folded) {
            return Arc::clone(known);
        }
        let names = Arc::new(Names::new(self.ids_of(self.at.aliased(folded))));
        self.aliased.borrow_mut().insert(folded.to_owned(), Arc::clone(&names));
        names
    }
}
