//! The graph of a vault: references between documents at one checkpoint (`spec/graph.md`).
//!
//! A document contains mentions ([`Mention`]). [`resolve`] finds the document of the checkpoint
//! that a mention refers to, which makes an [`Edge`]. A [`Catalog`] answers the few questions that
//! this needs: [`memory::Memory`] from texts that were read, an index from posting lists. [`walk`]
//! finds neighbours, [`rank`] hubs, and [`order`] the dependencies of sources. Nothing here reads
//! the disk, and every answer has one order.

pub(crate) mod memory;
pub(crate) mod order;
pub(crate) mod rank;
pub(crate) mod walk;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::files::vault::site::SiteLinks;
use crate::text::document::links::{Link, LinkKind, LinkTarget, Names, last_segment, site_targets};
use crate::values::model::id::{DocumentId, fold};

/// A reference in a document to another one, which may not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Mention {
    pub(crate) kind: LinkKind,
    pub(crate) target: LinkTarget,
}

impl From<Link> for Mention {
    fn from(link: Link) -> Self {
        Self { kind: link.kind, target: link.target }
    }
}

/// A reference from one document to another; both exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Edge {
    /// Document that contains the reference.
    pub(crate) from: DocumentId,
    /// Document that it refers to.
    pub(crate) to: DocumentId,
    pub(crate) kind: LinkKind,
}

/// Documents of one checkpoint with their mentions.
///
/// Each question is about one key, so that posting lists can answer it: an id, a `kind` and target,
/// or the folded last segment of a name ([`name_key`]).
pub(crate) trait Catalog {
    /// Returns true if the checkpoint contains this document.
    fn holds(&self, id: &DocumentId) -> bool;

    /// Returns the targets of links from the root of a site, as the checkpoint defines them.
    fn sites(&self) -> &SiteLinks;

    /// Returns every document, in byte order.
    fn ids(&self) -> Vec<DocumentId>;

    /// Returns the distinct mentions of a document.
    fn mentions(&self, id: &DocumentId) -> BTreeSet<Mention>;

    /// Returns the documents that mention exactly this id, even by a path from the root, with the
    /// kind of link.
    fn mentioned_by(&self, id: &DocumentId) -> Vec<(DocumentId, LinkKind)>;

    /// Returns the mentions of a name with this key.
    fn naming(&self, key: &str) -> Vec<(DocumentId, Mention)>;

    /// Returns the documents whose last segment has this key. It is called for each mention of a
    /// name, so it must not scan the documents every time.
    fn named(&self, key: &str) -> Arc<Names>;

    /// Returns the aliases of a document, if the layout has aliases.
    fn aliases(&self, id: &DocumentId) -> Vec<String>;

    /// Returns the documents with an alias that folds to this text.
    fn aliased(&self, folded: &str) -> Arc<Names>;
}

/// Returns the key of a name and of the ids that it may refer to: the folded last segment.
pub(crate) fn name_key(name: &str) -> String {
    fold(last_segment(name))
}

/// Returns the document that a mention refers to, if the catalog contains it.
pub(crate) fn resolve(
    catalog: &impl Catalog,
    from: &DocumentId,
    mention: &Mention,
) -> Option<DocumentId> {
    match &mention.target {
        LinkTarget::Document(text) => {
            let id: DocumentId = text.parse().ok()?;
            if catalog.holds(&id) {
                return Some(id);
            }
            // The file name of the document may have another case (GRAPH-22).
            let names =
                (mention.kind == LinkKind::Reference).then(|| catalog.named(&name_key(text)));
            names?.in_other_case(&id).cloned()
        }
        LinkTarget::Site(path) => {
            site_targets(path, catalog.sites()).into_iter().find(|id| catalog.holds(id))
        }
        LinkTarget::Name(name) => {
            let names = catalog.named(&name_key(name));
            if let Some(found) = names.resolve(name, from) {
                return Some(found.id.clone());
            }
            catalog.aliased(&fold(name)).nearest(from).map(|found| found.id.clone())
        }
    }
}

/// Returns the edges that leave a document. A document that refers to itself makes an edge only if
/// it depends on itself, which is a cycle.
pub(crate) fn outgoing(catalog: &impl Catalog, id: &DocumentId) -> BTreeSet<Edge> {
    let edge = |mention: Mention| {
        let to = resolve(catalog, id, &mention)?;
        Some(Edge { from: id.clone(), to, kind: mention.kind })
    };
    catalog.mentions(id).into_iter().filter_map(edge).filter(says_something).collect()
}

/// Edges by their target.
type ByTarget = HashMap<DocumentId, Vec<Edge>>;

/// Finds the edges that lead to documents. The mentions of a name that many documents share are
/// resolved once, for any number of these documents.
pub(crate) struct Incoming<'c, C> {
    catalog: &'c C,
    /// Edges of the mentions of a name, by its key.
    by_name: RefCell<HashMap<String, Rc<ByTarget>>>,
}

impl<'c, C: Catalog> Incoming<'c, C> {
    /// Makes a finder for a catalog.
    pub(crate) fn new(catalog: &'c C) -> Self {
        Self { catalog, by_name: RefCell::default() }
    }

    /// Returns the edges that lead to a document.
    pub(crate) fn of(&self, id: &DocumentId) -> BTreeSet<Edge> {
        let exactly = self.catalog.holds(id).then(|| self.catalog.mentioned_by(id));
        let edge = |(from, kind)| Edge { from, to: id.clone(), kind };
        let exactly = exactly.into_iter().flatten().map(edge);
        let aliases = self.catalog.aliases(id);
        let names = aliases.iter().map(String::as_str).chain([id.as_str()]);
        let keys: BTreeSet<String> = names.map(name_key).collect();
        let by_name = keys.iter().flat_map(|key| {
            let edges = self.by_name(key);
            edges.get(id).cloned().unwrap_or_default()
        });
        exactly.chain(by_name).filter(says_something).collect()
    }

    fn by_name(&self, key: &str) -> Rc<ByTarget> {
        if let Some(known) = self.by_name.borrow().get(key) {
            return Rc::clone(known);
        }
        let mut edges: HashMap<DocumentId, Vec<Edge>> = HashMap::new();
        for (from, mention) in self.catalog.naming(key) {
            if let Some(to) = resolve(self.catalog, &from, &mention) {
                let edge = Edge { from, to: to.clone(), kind: mention.kind };
                edges.entry(to).or_default().push(edge);
            }
        }
        let edges = Rc::new(edges);
        self.by_name.borrow_mut().insert(key.to_owned(), Rc::clone(&edges));
        edges
    }
}

/// Returns every edge, in the order of origin, target and kind.
pub(crate) fn edges(catalog: &impl Catalog) -> Vec<Edge> {
    catalog.ids().iter().flat_map(|id| outgoing(catalog, id)).collect()
}

fn says_something(edge: &Edge) -> bool {
    edge.from != edge.to || edge.kind == LinkKind::DependsOn
}
