//! Context packs: a stored selector with instructions for agents (paper, section 5.4;
//! `spec/vault.md`, section 13).
//!
//! [`read()`] turns the text of a pack file into a [`Pack`] and a list of problems; [`Pack::expr`]
//! returns its set as an expression. A pack never names another pack, so that packs do not make a
//! selector deeper. [`write()`] spells a new file. No function accesses the disk.

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

/// A pack: the set that it selects, and its audience.
#[derive(Clone, Debug, Default)]
pub struct Pack {
    /// Name in `pack:`.
    pub id: String,
    /// Name for people.
    pub label: Option<String>,
    /// Purpose of the pack.
    pub description: Option<String>,
    /// Selector without packs and without checkpoints.
    pub query: Option<Placed<Selector>>,
    /// Members besides those of the query: URIs of this vault, without a checkpoint.
    pub includes: Vec<Placed<Uri>>,
    /// Documents that are not members.
    pub excludes: Vec<Placed<Uri>>,
    /// Types to which members are limited; empty for all types.
    pub node_types: Vec<NodeType>,
    /// Audiences of the pack.
    pub audiences: Vec<String>,
    /// Instructions for agents that use the pack.
    pub agent_instructions: Option<String>,
}

/// A value and its position in the file.
#[derive(Clone, Debug)]
pub struct Placed<T> {
    /// Value that was read.
    pub value: T,
    /// Line from 1.
    pub line: usize,
    /// Column from 1.
    pub column: usize,
}

impl Pack {
    /// Returns the set of the pack: the documents of `query` or `includes`, without `excludes`,
    /// limited to `node_types`.
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
