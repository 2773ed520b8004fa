//! Explains an answer: the tree of the selector with the size of each set, and the cost of
//! its evaluation.

use std::cell::RefCell;
use std::fmt;

use roaring::RoaringBitmap;

use super::plan::{Leaf, PlanPart, QueryPlan};
use crate::text::selector::{Atom, Expr, Node, Term, Universe, eval};
use crate::text::uri::Class;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// A node of a selector's tree, and the size of its set.
#[derive(Debug)]
pub struct Explained {
    /// Sign of an operator, or a term.
    pub text: String,
    /// Number of documents in its set.
    pub documents: u64,
    /// File and version of a pack.
    pub pack: Option<(DocumentId, Version)>,
    /// Operands, or the selector that a pack or search stands for.
    pub parts: Vec<Self>,
}

/// Cost of the evaluation of a selector (paper, section 5.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of sets that were looked up.
    pub lookups: usize,
    /// Total size of these sets, as far as they could still matter.
    pub postings: u64,
    /// Number of documents in the answer, whose texts are rebuilt.
    pub documents: u64,
}

/// Explains a plan over the documents of a universe.
pub(super) fn explain<U: Universe>(
    plan: &QueryPlan,
    universe: &U,
) -> Result<(Explained, Cost, RoaringBitmap), U::Error> {
    let counted = Counted { universe, cost: RefCell::default() };
    let found = eval(&plan.parts.atoms(), &counted)?;
    let cost = Cost { documents: found.len(), ..counted.cost.into_inner() };
    Ok((of_leaves(&plan.expr, universe)?, cost, found))
}

fn of_leaves<U: Universe>(expr: &Expr<Leaf>, universe: &U) -> Result<Explained, U::Error> {
    if let Node::Atom(leaf) = &expr.node {
        let stands_for = of_parts(&leaf.stands_for, universe)?;
        let documents = stands_for.documents;
        let is_search = matches!(&leaf.term, Term::Uri(uri) if uri.class() == Class::Delegated);
        let shows_parts = leaf.pack.is_some() || is_search && documents > 0;
        let parts = if shows_parts { vec![stands_for] } else { Vec::new() };
        return Ok(Explained {
            text: leaf.term.to_string(),
            documents,
            pack: leaf.pack.as_ref().map(|sealed| (sealed.file.clone(), sealed.version)),
            parts,
        });
    }
    let documents = eval(&expr.parts().atoms(), universe)?.len();
    operator(expr, documents, |operand| of_leaves(operand, universe))
}

fn of_parts<U: Universe>(expr: &Expr<PlanPart>, universe: &U) -> Result<Explained, U::Error> {
    let documents = eval(&expr.atoms(), universe)?.len();
    operator(expr, documents, |operand| of_parts(operand, universe))
}

/// Makes a node whose operands are explained one by one; a leaf has none.
fn operator<A: fmt::Display, E>(
    expr: &Expr<A>,
    documents: u64,
    explain: impl FnMut(&Expr<A>) -> Result<Explained, E>,
) -> Result<Explained, E> {
    let text = match (&expr.node, expr.sign()) {
        (Node::Atom(leaf), _) => leaf.to_string(),
        (_, sign) => sign.map(String::from).unwrap_or_default(),
    };
    let parts = expr.operands().into_iter().map(explain).collect::<Result<_, E>>()?;
    Ok(Explained { text, documents, pack: None, parts })
}

/// A universe that counts its answers.
struct Counted<'u, U> {
    universe: &'u U,
    cost: RefCell<Cost>,
}

impl<U: Universe> Universe for Counted<'_, U> {
    type Error = U::Error;

    fn select(
        &self,
        atom: &Atom,
        within: Option<&RoaringBitmap>,
    ) -> Result<RoaringBitmap, U::Error> {
        let found = self.universe.select(atom, within)?;
        // Further documents that a universe returns are not part of the cost.
        let matters = within.map_or_else(|| found.len(), |within| found.intersection_len(within));
        let mut cost = self.cost.borrow_mut();
        cost.lookups += 1;
        cost.postings += matters;
        drop(cost);
        Ok(found)
    }
}
