//! Instructions of a vault and its packs for agents (paper, sections 4 and 5.4; `spec/resolve.md`,
//! section 3).

use std::borrow::Cow;
use std::ops::Range;

use super::packs::SealedPack;
use super::plan::{Leaf, QueryPlan};
use super::{Served, Snapshot, Withheld};
use crate::text::document::Document;
use crate::text::selector::{Expr, Node};
use crate::values::model::id::DocumentId;

/// Instructions for agents: the body of `CONTEXT.md`, or those of a pack.
#[derive(Clone, Debug)]
pub struct Instructions {
    /// File that contains the instructions, verified.
    pub served: Served,
    /// Pack, unless the instructions are those of the vault.
    pack: Option<PackInstructions>,
    /// Offset of the body in the vault's file.
    body: usize,
}

/// Instructions of a pack.
#[derive(Clone, Debug)]
struct PackInstructions {
    id: String,
    text: String,
}

impl Instructions {
    #[cfg(test)]
    pub(super) fn new(served: Served, is_pack: bool) -> Self {
        let (id, text) = ("p".to_owned(), served.text.clone());
        Self { pack: is_pack.then_some(PackInstructions { id, text }), served, body: 0 }
    }

    /// Returns the instructions for an answer: those of the vault, then those of each
    /// contributing pack, in the order of the selector. Also returns the withheld files. Empty
    /// instructions are skipped.
    pub fn of(snapshot: &Snapshot<'_>, plan: &QueryPlan) -> (Vec<Self>, Vec<Withheld>) {
        let mut packs = Vec::new();
        contributing(&plan.expr, &mut packs);
        let of_pack = |sealed: &&SealedPack| {
            let (id, text) = (sealed.pack.id.clone(), sealed.pack.agent_instructions.clone()?);
            Some((sealed.file.clone(), Some(PackInstructions { id, text })))
        };
        let of_packs = packs.iter().filter_map(of_pack);
        let (mut found, mut withheld) = (Vec::new(), Vec::new());
        for (file, pack) in std::iter::once((DocumentId::instructions(), None)).chain(of_packs) {
            match snapshot.get(&file) {
                Some(Ok(served)) => {
                    // A file without a readable frontmatter is all body.
                    let body = Document::parse(&served.text).map_or(0, |read| read.parts.body);
                    found.push(Self { served, pack, body });
                }
                Some(Err(why)) => withheld.push(why),
                None => {}
            }
        }
        found.retain(|one| !one.text().trim().is_empty());
        (found, withheld)
    }

    /// Returns the text.
    pub fn text(&self) -> Cow<'_, str> {
        self.shown().0
    }

    /// Returns the text, and the number of comments that are left out.
    pub(super) fn shown(&self) -> (Cow<'_, str>, usize) {
        match &self.pack {
            Some(pack) => (Cow::Borrowed(&pack.text), 0),
            None => self.served.shown(self.body..self.served.text.len()),
        }
    }

    /// Returns the byte range of the instructions in the file; `None` for those of a pack, which
    /// are a value.
    pub(super) fn range(&self) -> Option<Range<usize>> {
        self.pack.is_none().then_some(self.body..self.served.text.len())
    }

    /// Returns the id of the pack; `None` for the instructions of the vault.
    pub fn pack(&self) -> Option<&str> {
        self.pack.as_ref().map(|pack| pack.id.as_str())
    }
}

/// Collects the distinct packs of an expression, without those that only remove documents.
fn contributing<'e>(expr: &'e Expr<Leaf>, packs: &mut Vec<&'e SealedPack>) {
    match &expr.node {
        Node::Atom(leaf) => {
            let is_new = |pack: &&SealedPack| packs.iter().all(|known| known.file != pack.file);
            packs.extend(leaf.pack.as_ref().filter(is_new));
        }
        Node::Intersection(operands) | Node::Union(operands) => {
            operands.iter().for_each(|operand| contributing(operand, packs));
        }
        Node::Difference(left, _) => contributing(left, packs),
    }
}
