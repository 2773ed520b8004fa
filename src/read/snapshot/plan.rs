//! Plans of selectors: packs are replaced by their definitions, and searches by their results, so
//! that only sets remain that every universe can evaluate.
//!
//! A [`QueryPlan`] keeps the origin of each part for explanations. Packs are one level deep, so a
//! plan is at most twice as deep as a selector. [`MAX_PARTS`] limits its size, and [`MAX_SEARCHES`]
//! its searches. The caller answers searches, with errors of the type `E`.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use crate::text::selector::{Atom, Expr, Node, Selector, Term};
use crate::text::uri::{Class, ForeignVault, Target, Uri};
use crate::values::model::id::DocumentId;

use super::packs::{PackError, Packs, SealedPack};
use super::{Snapshot, Withheld, never};

/// Maximum number of sets of a selector after its packs are expanded.
pub const MAX_PARTS: usize = 65_536;
/// Maximum number of different searches of a selector, including those of its packs.
pub const MAX_SEARCHES: usize = 16;

/// A set that a universe evaluates, with the returned part of its documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanPart {
    /// Set of documents.
    pub atom: Atom,
    /// Returned part; something else than the whole only for a set of one document.
    pub cut: Cut,
}

/// Returned part of a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// The whole document.
    Whole,
    /// The section with this anchor.
    Section(String),
    /// The section with this anchor, without its subsections.
    Own(String),
    /// The text before the first heading.
    Beginning,
}

/// A term of a selector, with its expansion.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Term as it is in the selector.
    pub term: Term,
    /// Pack that the term names.
    pub pack: Option<SealedPack>,
    /// Expansion of the term.
    pub stands_for: Expr<PlanPart>,
}

/// A selector that can be evaluated.
#[derive(Debug)]
pub struct QueryPlan {
    /// Terms of the selector, with their expansions.
    pub expr: Expr<Leaf>,
    /// Expansion of the whole selector.
    pub parts: Expr<PlanPart>,
    /// Withheld files and documents: a pack file that may have had a requested id, or a document
    /// that a search found.
    pub withheld: Vec<Withheld>,
    /// Back-end that answered its searches, if it contains any.
    pub backend: Option<String>,
    /// Results of its searches, best first.
    pub found: Vec<Found>,
    /// Notes of its searches.
    pub notes: Vec<String>,
}

/// A function that answers a search.
pub type Search<'s, E> = dyn FnMut(&str) -> Result<Searched, E> + 's;

/// Result of a search.
#[derive(Debug, Default)]
pub struct Searched {
    /// Back-end that answered.
    pub backend: String,
    /// Documents, best first.
    pub found: Vec<Found>,
    /// Documents that match, or may match, and may not be served.
    pub withheld: Vec<Withheld>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// A document that a search found, and the found part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Id of the document.
    pub id: DocumentId,
    /// Found part.
    pub cut: Cut,
}

/// Reason why a selector cannot be evaluated, and the bytes that cause it.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct PlanError<E: fmt::Debug + fmt::Display + 'static> {
    /// Byte range in the text of the selector.
    pub span: Range<usize>,
    /// The reason.
    #[source]
    pub why: PlanFault<E>,
}

/// Reason why a selector cannot be evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFault<E> {
    /// A URI names another vault.
    #[error(transparent)]
    Foreign(#[from] ForeignVault),
    /// A pack cannot be read.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// A search failed.
    #[error("{0}")]
    Search(E),
    /// The configuration that the checkpoint seals is withheld.
    #[error("`{}` is withheld: {}", .0.id, .0.why)]
    Withheld(Withheld),
    /// More than [`MAX_PARTS`] sets.
    #[error("with its packs expanded, the selector names more than {MAX_PARTS} sets")]
    TooLarge,
    /// More than [`MAX_SEARCHES`] searches.
    #[error("with its packs expanded, the selector names more than {MAX_SEARCHES} searches")]
    TooManySearches,
}

impl QueryPlan {
    /// Makes the plan of a selector at a checkpoint.
    ///
    /// # Errors
    /// Returns the first term that cannot be expanded.
    pub fn new<E: fmt::Debug + fmt::Display>(
        selector: &Selector,
        snapshot: &Snapshot<'_>,
        search: &mut Search<'_, E>,
    ) -> Result<Self, PlanError<E>> {
        let mut planner = Planner::new(snapshot, search);
        let expr = selector.expr.expand(&mut |term: &Term, span: &Range<usize>| {
            let leaf = planner.leaf(term);
            let leaf = leaf.map_err(|why| PlanError { span: span.clone(), why })?;
            Ok(Expr::atom(leaf, span.clone()))
        })?;
        Ok(planner.into_plan(expr))
    }

    /// Makes the plan of one pack.
    ///
    /// # Errors
    /// Fails if the pack contains a term that cannot be expanded.
    pub fn of_pack<E>(
        sealed: &SealedPack,
        snapshot: &Snapshot<'_>,
        search: &mut Search<'_, E>,
    ) -> Result<Self, PlanFault<E>> {
        let mut planner = Planner::new(snapshot, search);
        let leaf = planner.of_pack(sealed)?;
        Ok(planner.into_plan(Expr::atom(leaf, 0..0)))
    }

    /// Returns the class of the answer (paper, section 6.3).
    pub fn class(&self) -> Class {
        match &self.expr.node {
            _ if self.backend.is_some() => Class::Delegated,
            Node::Atom(Leaf { term: Term::Uri(uri), .. }) => uri.class(),
            _ => Class::Set,
        }
    }
}

impl Expr<Leaf> {
    /// Returns the expansion of the whole selector.
    pub(super) fn parts(&self) -> Expr<PlanPart> {
        never(self.expand(&mut |leaf: &Leaf, _: &_| Ok(leaf.stands_for.clone())))
    }
}

impl Expr<PlanPart> {
    /// Returns the expression that a universe evaluates.
    pub(super) fn atoms(&self) -> Expr {
        let atom =
            |part: &PlanPart, span: &Range<usize>| Ok(Expr::atom(part.atom.clone(), span.clone()));
        never(self.expand(&mut { atom }))
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.term.fmt(f)
    }
}

impl fmt::Display for PlanPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.atom, &self.cut) {
            (Atom::Document(id), Cut::Section(anchor) | Cut::Own(anchor)) => {
                let (id, anchor) = (id.clone(), Some(anchor.clone()));
                Uri::from(Target::Document { id, checkpoint: None, anchor }).fmt(f)
            }
            (atom, _) => atom.fmt(f),
        }
    }
}

struct Planner<'p, 'v, E> {
    snapshot: &'p Snapshot<'v>,
    search: &'p mut Search<'p, E>,
    packs: OnceCell<Packs>,
    /// Results by query. Each search runs once, because a back-end may answer differently the
    /// next time.
    searched: BTreeMap<String, Searched>,
    parts: usize,
}

impl<'p, 'v, E> Planner<'p, 'v, E> {
    fn new(snapshot: &'p Snapshot<'v>, search: &'p mut Search<'p, E>) -> Self {
        Self { snapshot, search, packs: OnceCell::new(), searched: BTreeMap::new(), parts: 0 }
    }

    fn into_plan(self, expr: Expr<Leaf>) -> QueryPlan {
        let mut plan = QueryPlan {
            parts: expr.parts(),
            expr,
            withheld: self.packs.into_inner().map(|packs| packs.withheld).unwrap_or_default(),
            backend: None,
            found: Vec::new(),
            notes: Vec::new(),
        };
        let mut ranked: Vec<(usize, Found)> = Vec::new();
        for searched in self.searched.into_values() {
            plan.backend = Some(searched.backend);
            ranked.extend(searched.found.into_iter().enumerate());
            plan.withheld.extend(searched.withheld);
            plan.notes.extend(searched.notes);
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        plan.found = ranked.into_iter().map(|(_, found)| found).collect();
        plan.notes.sort();
        plan.notes.dedup();
        plan
    }

    fn leaf(&mut self, term: &Term) -> Result<Leaf, PlanFault<E>> {
        match term {
            Term::Pack(id) => {
                let sealed = self.pack(id)?.clone();
                self.of_pack(&sealed)
            }
            term => {
                let stands_for = self.part(term)?;
                Ok(Leaf { term: term.clone(), pack: None, stands_for })
            }
        }
    }

    fn of_pack(&mut self, sealed: &SealedPack) -> Result<Leaf, PlanFault<E>> {
        let expr = sealed.pack.expr();
        Ok(Leaf {
            term: Term::Pack(sealed.pack.id.clone()),
            pack: Some(sealed.clone()),
            stands_for: expr.expand(&mut |term: &Term, _: &_| self.part(term))?,
        })
    }

    fn pack(&self, id: &str) -> Result<&SealedPack, PlanFault<E>> {
        let packs = match self.packs.get() {
            Some(packs) => packs,
            None => {
                let packs = self.snapshot.packs().map_err(PlanFault::Withheld)?;
                self.packs.get_or_init(|| packs)
            }
        };
        Ok(packs.find(id, self.snapshot.checkpoint())?)
    }

    /// Expands a term that is not a pack.
    fn part(&mut self, term: &Term) -> Result<Expr<PlanPart>, PlanFault<E>> {
        if let Term::Uri(uri) = term
            && let Target::Search(query) = uri.local()?
        {
            let found = self.found(query)?.into_iter();
            let parts = found.map(|Found { id, cut }| self.one(Atom::Document(id), cut));
            let mut parts = parts.collect::<Result<Vec<_>, _>>()?.into_iter();
            return Ok(match parts.next() {
                Some(first) => Expr::union(first, parts.collect()),
                None => Expr { node: Node::Union(Vec::new()), span: 0..0 },
            });
        }
        let cut = match term {
            Term::Uri(Uri { target: Target::Document { anchor: Some(anchor), .. }, .. }) => {
                Cut::Section(anchor.clone())
            }
            _ => Cut::Whole,
        };
        match term.atom() {
            Some(atom) => self.one(atom, cut),
            // Nested packs are refused earlier; this one selects nothing.
            None => Ok(Expr { node: Node::Union(Vec::new()), span: 0..0 }),
        }
    }

    /// Returns the results of a search, in byte order of the documents.
    fn found(&mut self, query: &str) -> Result<Vec<Found>, PlanFault<E>> {
        if let Some(searched) = self.searched.get(query) {
            return Ok(by_id(&searched.found));
        }
        if self.searched.len() == MAX_SEARCHES {
            return Err(PlanFault::TooManySearches);
        }
        let searched = (self.search)(query).map_err(PlanFault::Search)?;
        Ok(by_id(&self.searched.entry(query.to_owned()).or_insert(searched).found))
    }

    fn one(&mut self, atom: Atom, cut: Cut) -> Result<Expr<PlanPart>, PlanFault<E>> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(PlanFault::TooLarge);
        }
        Ok(Expr::atom(PlanPart { atom, cut }, 0..0))
    }
}

fn by_id(found: &[Found]) -> Vec<Found> {
    let mut found = found.to_vec();
    found.sort_by(|a, b| (&a.id, &a.cut).cmp(&(&b.id, &b.cut)));
    found.dedup();
    found
}
