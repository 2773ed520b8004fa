//! From what a selector says to what is evaluated: packs are replaced by what they are defined as, and
//! searches by what they find, so that only sets that every universe knows are left.
//!
//! A [`Plan`] keeps what stands for what, for explanations. Packs are one level deep, so a plan is at
//! most twice as deep as a selector; [`MAX_PARTS`] bounds its size.

use std::cell::OnceCell;
use std::fmt;
use std::ops::Range;

use crate::document::id::Id;
use crate::selector::{Atom, Expr, Node, Selector, Term};
use crate::uri::{ForeignVault, Target, Uri};

use super::packs::{PackError, Packs, SealedPack};
use super::{Snapshot, Withheld, never};

/// The most sets that a selector may come to when its packs are put in.
pub const MAX_PARTS: usize = 65_536;

/// A set that a universe knows, and the section that its document is narrowed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The set.
    pub atom: Atom,
    /// A section of the one document.
    pub anchor: Option<String>,
}

/// A term of a selector, and what stands for it.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// As the selector says it.
    pub term: Term,
    /// The file and the version of a pack.
    pub pack: Option<(Id, u64)>,
    /// What it comes to.
    pub stands_for: Expr<Part>,
}

/// A selector that can be evaluated.
#[derive(Debug)]
pub struct Plan {
    /// The selector's terms, each with what stands for it.
    pub expr: Expr<Leaf>,
    /// What stands for the whole.
    pub parts: Expr<Part>,
    /// Pack files that were looked at and may not be served: one may have had an id that was asked for.
    pub withheld: Vec<Withheld>,
}

/// Answers a search with the documents that it finds.
pub type Search<'s> = dyn Fn(&str) -> Result<Vec<Id>, SearchRefused> + 's;

/// Why a search has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SearchRefused(pub String);

/// Why a selector cannot be evaluated, and which bytes of it are the reason.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct PlanError {
    /// The bytes of the selector's text.
    pub span: Range<usize>,
    /// Why.
    #[source]
    pub why: PlanFault,
}

/// Why a selector cannot be evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFault {
    /// A URI names another vault.
    #[error(transparent)]
    Foreign(#[from] ForeignVault),
    /// A pack cannot be had.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// A search has no answer.
    #[error(transparent)]
    Search(#[from] SearchRefused),
    /// The configuration that the checkpoint seals is withheld.
    #[error("`{}` is withheld: {}", .0.id, .0.why)]
    Withheld(Withheld),
    /// More than [`MAX_PARTS`] sets.
    #[error("with its packs put in, the selector names more than {MAX_PARTS} sets")]
    TooLarge,
}

impl Plan {
    /// What stands for a selector at a checkpoint.
    ///
    /// # Errors
    /// The first term for which nothing can stand.
    pub fn new(
        selector: &Selector,
        snapshot: &Snapshot<'_>,
        search: &Search<'_>,
    ) -> Result<Self, PlanError> {
        let mut planner = Planner { snapshot, search, packs: OnceCell::new(), parts: 0 };
        let expr = selector.expr.expand(&mut |term: &Term, span: &Range<usize>| {
            let leaf = planner.leaf(term);
            let leaf = leaf.map_err(|why| PlanError { span: span.clone(), why })?;
            Ok(Expr::atom(leaf, span.clone()))
        })?;
        let parts = expr.parts();
        let withheld = planner.packs.into_inner().map(|packs| packs.withheld).unwrap_or_default();
        Ok(Self { expr, parts, withheld })
    }

    /// What stands for one pack.
    ///
    /// # Errors
    /// It names something for which nothing can stand.
    pub fn of_pack(
        sealed: &SealedPack,
        snapshot: &Snapshot<'_>,
        search: &Search<'_>,
    ) -> Result<Self, PlanFault> {
        let mut planner = Planner { snapshot, search, packs: OnceCell::new(), parts: 0 };
        let leaf = planner.of_pack(sealed)?;
        let parts = leaf.stands_for.clone();
        Ok(Self { expr: Expr::atom(leaf, 0..0), parts, withheld: Vec::new() })
    }
}

impl Expr<Leaf> {
    /// What stands for the whole.
    pub(super) fn parts(&self) -> Expr<Part> {
        never(self.expand(&mut |leaf: &Leaf, _: &_| Ok(leaf.stands_for.clone())))
    }
}

impl Expr<Part> {
    /// What a universe evaluates.
    pub(super) fn atoms(&self) -> Expr {
        let atom =
            |part: &Part, span: &Range<usize>| Ok(Expr::atom(part.atom.clone(), span.clone()));
        never(self.expand(&mut { atom }))
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.term.fmt(f)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.atom, &self.anchor) {
            (Atom::Document(id), Some(_)) => {
                let (id, anchor) = (id.clone(), self.anchor.clone());
                Uri::from(Target::Document { id, checkpoint: None, anchor }).fmt(f)
            }
            (atom, _) => atom.fmt(f),
        }
    }
}

struct Planner<'p, 'v> {
    snapshot: &'p Snapshot<'v>,
    search: &'p Search<'p>,
    packs: OnceCell<Packs>,
    parts: usize,
}

impl Planner<'_, '_> {
    fn leaf(&mut self, term: &Term) -> Result<Leaf, PlanFault> {
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

    fn of_pack(&mut self, sealed: &SealedPack) -> Result<Leaf, PlanFault> {
        let expr = sealed.pack.expr();
        Ok(Leaf {
            term: Term::Pack(sealed.pack.id.clone()),
            pack: Some((sealed.file.clone(), sealed.version)),
            stands_for: expr.expand(&mut |term: &Term, _: &_| self.part(term))?,
        })
    }

    fn pack(&self, id: &str) -> Result<&SealedPack, PlanFault> {
        let packs = match self.packs.get() {
            Some(packs) => packs,
            None => {
                let packs = self.snapshot.packs().map_err(PlanFault::Withheld)?;
                self.packs.get_or_init(|| packs)
            }
        };
        Ok(packs.find(id, self.snapshot.checkpoint())?)
    }

    /// What stands for a term that is no pack.
    fn part(&mut self, term: &Term) -> Result<Expr<Part>, PlanFault> {
        if let Term::Uri(uri) = term
            && let Target::Search(query) = uri.local()?
        {
            let mut found = (self.search)(query)?;
            found.sort_unstable();
            found.dedup();
            let documents = found.into_iter().map(|id| self.one(Atom::Document(id), None));
            let mut documents = documents.collect::<Result<Vec<_>, _>>()?.into_iter();
            return Ok(match documents.next() {
                Some(first) => Expr::union(first, documents.collect()),
                None => Expr { node: Node::Union(Vec::new()), span: 0..0 },
            });
        }
        let anchor = match term {
            Term::Uri(Uri { target: Target::Document { anchor, .. }, .. }) => anchor.clone(),
            _ => None,
        };
        match term.atom() {
            Some(atom) => self.one(atom, anchor),
            // A pack in a pack does not get here; it would be nothing.
            None => Ok(Expr { node: Node::Union(Vec::new()), span: 0..0 }),
        }
    }

    fn one(&mut self, atom: Atom, anchor: Option<String>) -> Result<Expr<Part>, PlanFault> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(PlanFault::TooLarge);
        }
        Ok(Expr::atom(Part { atom, anchor }, 0..0))
    }
}
