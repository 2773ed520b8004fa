//! Context packs: a stored selector with instructions for agents (paper, section 5.4;
//! `spec/vault.md`, section 13).
//!
//! [`read()`] turns the text of a pack file into a [`Pack`] or says what is wrong with it;
//! [`Pack::expr`] is its set as an expression. A pack never names another pack, so that a selector
//! with packs is no deeper than one without. [`write()`] spells a new file. Neither touches the
//! disk.

mod problem;
mod read;
mod write;

use crate::text::document::frontmatter::NodeType;
use crate::text::selector::{Atom, Expr, Node, Selector, Term};
use crate::text::uri::Uri;

pub use problem::{PackProblem, ProblemKind};
pub(crate) use read::instructions;
pub use read::{Reading, read};
pub use write::write;

/// What a pack selects, and for whom.
#[derive(Clone, Debug, Default)]
pub struct Pack {
    /// Its name in `pack:`.
    pub id: String,
    /// Its name for people.
    pub label: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// A selector that names no pack and no checkpoint.
    pub query: Option<Placed<Selector>>,
    /// What belongs to it beside the query: URIs of this vault, without a checkpoint.
    pub includes: Vec<Placed<Uri>>,
    /// What does not belong to it.
    pub excludes: Vec<Placed<Uri>>,
    /// The only types that belong to it; all, if there are none.
    pub node_types: Vec<NodeType>,
    /// Whom it is for.
    pub audiences: Vec<String>,
    /// What agents are given with it.
    pub agent_instructions: Option<String>,
}

/// A value and where it stands in the file.
#[derive(Clone, Debug)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Line from 1.
    pub line: usize,
    /// Column from 1.
    pub column: usize,
}

impl Pack {
    /// Its set: what the query or `includes` name, without `excludes`, of the types that it takes.
    pub fn expr(&self) -> Expr<Term> {
        let leaf = |term| Expr::atom(term, 0..0);
        let all = |uris: &[Placed<Uri>]| -> Vec<Expr<Term>> {
            uris.iter().map(|uri| leaf(Term::from(uri.value.clone()))).collect()
        };
        let mut parts: Vec<Expr<Term>> =
            self.query.iter().map(|query| query.value.expr.clone()).collect();
        parts.extend(all(&self.includes));
        let Some(set) = union(parts) else {
            return Expr { node: Node::Union(Vec::new()), span: 0..0 };
        };
        let set = Expr::difference(set, all(&self.excludes));
        let types = self.node_types.iter().map(|word| leaf(Term::Set(Atom::Type(word.clone()))));
        match union(types.collect()) {
            Some(types) => Expr::intersection(set, vec![types]),
            None => set,
        }
    }
}

fn union(mut parts: Vec<Expr<Term>>) -> Option<Expr<Term>> {
    if parts.is_empty() {
        return None;
    }
    let first = parts.remove(0);
    Some(Expr::union(first, parts))
}
