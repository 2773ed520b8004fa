//! The graph of a vault: which document refers to which, at one checkpoint (`spec/graph.md`).
//!
//! A document says what it mentions ([`Mention`]); which document a mention means is decided among
//! the ids of the checkpoint ([`resolve`]), and gives an [`Edge`]. A [`Catalog`] answers the few
//! questions that this takes: [`memory::Memory`] from texts that were read, an index from posting
//! lists. [`walk`] has neighbours, [`rank`] hubs, [`order`] dependencies of sources. Nothing here
//! touches the disk, and every answer has one order.

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

/// What a document says about another one, whether or not that one exists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Mention {
    /// How it refers.
    pub(crate) kind: LinkKind,
    /// To what.
    pub(crate) target: LinkTarget,
}

impl From<Link> for Mention {
    fn from(link: Link) -> Self {
        Self { kind: link.kind, target: link.target }
    }
}

/// A document that refers to another one; both exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Edge {
    /// Who refers.
    pub(crate) from: DocumentId,
    /// To whom.
    pub(crate) to: DocumentId,
    /// How.
    pub(crate) kind: LinkKind,
}

/// What the graph is made from: the documents of one checkpoint and what they mention.
///
/// Every question is about one key, so that posting lists can answer it: by id, by `kind` and
/// target, by the folded last segment of a name ([`name_key`]).
pub(crate) trait Catalog {
    /// Whether the checkpoint holds this document.
    fn holds(&self, id: &DocumentId) -> bool;

    /// Where links from the root of a site lead, as the checkpoint says.
    fn sites(&self) -> &SiteLinks;

    /// Every document, in byte order.
    fn ids(&self) -> Vec<DocumentId>;

    /// What a document mentions, each once.
    fn mentions(&self, id: &DocumentId) -> BTreeSet<Mention>;

    /// Who mentions exactly this id, also by a path from the root, and how.
    fn mentioned_by(&self, id: &DocumentId) -> Vec<(DocumentId, LinkKind)>;

    /// Who mentions a name with this key.
    fn naming(&self, key: &str) -> Vec<(DocumentId, Mention)>;

    /// The documents whose last segment has this key. It is asked for each mention of a name, so it
    /// must not look at each of them every time.
    fn named(&self, key: &str) -> Arc<Names>;

    /// The other names of a document, where the layout has such.
    fn aliases(&self, id: &DocumentId) -> Vec<String>;

    /// The documents that have another name which folds to this text.
    fn aliased(&self, folded: &str) -> Arc<Names>;
}

/// The key under which names and the ids that they may mean are found: the folded last segment.
pub(crate) fn name_key(name: &str) -> String {
    fold(last_segment(name))
}

/// The document that a mention means, if the catalog holds it.
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
            // The file of the document may have its name in another case (GRAPH-22).
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

/// The edges that leave a document. One that refers to itself has no edge for that, unless it
/// depends on itself, which is a cycle.
pub(crate) fn outgoing(catalog: &impl Catalog, id: &DocumentId) -> BTreeSet<Edge> {
    let edge = |mention: Mention| {
        let to = resolve(catalog, id, &mention)?;
        Some(Edge { from: id.clone(), to, kind: mention.kind })
    };
    catalog.mentions(id).into_iter().filter_map(edge).filter(says_something).collect()
}

/// Edges by the documents that they lead to.
type ByTarget = HashMap<DocumentId, Vec<Edge>>;

/// The edges that lead to documents. A name that many documents have is resolved once for each
/// mention of it, however many of these documents are asked for.
pub(crate) struct Incoming<'c, C> {
    catalog: &'c C,
    /// By the key of a name: the edges that its mentions make.
    by_name: RefCell<HashMap<String, Rc<ByTarget>>>,
}

impl<'c, C: Catalog> Incoming<'c, C> {
    /// The edges of a catalog.
    pub(crate) fn new(catalog: &'c C) -> Self {
        Self { catalog, by_name: RefCell::default() }
    }

    /// The edges that lead to a document.
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

/// Every edge, in the order of origin, target and kind.
pub(crate) fn edges(catalog: &impl Catalog) -> Vec<Edge> {
    catalog.ids().iter().flat_map(|id| outgoing(catalog, id)).collect()
}

fn says_something(edge: &Edge) -> bool {
    edge.from != edge.to || edge.kind == LinkKind::DependsOn
}
