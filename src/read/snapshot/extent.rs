//! Extent of a selected document: all of it, or the sections that the selector names.
//!
//! The elements of the algebra are documents. In parallel, the part of a document that a selector
//! names follows the same operators: an intersection narrows it, in a union the whole wins over a
//! section, and a difference keeps its left side.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Served;
use super::plan::{Cut, PlanPart};
use crate::text::document::sections::{Section, UnknownAnchor};
use crate::text::selector::matches::matches;
use crate::text::selector::{Atom, Expr, Node};
use crate::values::model::id::DocumentId;

/// A document lacks a requested section.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{id}`: {why}")]
pub struct UnknownSection {
    /// The document.
    pub id: DocumentId,
    /// The requested section, and the existing ones.
    #[source]
    pub why: UnknownAnchor,
}

/// Part of a document that a selector names.
#[derive(Debug)]
enum Extent<'p> {
    Whole,
    Cuts(BTreeSet<&'p Cut>),
}

/// Returns the narrowed documents, each with its sections in the order of its text. A section
/// inside another one is left out.
pub(super) fn sections(
    parts: &Expr<PlanPart>,
    documents: &[Served],
) -> Result<BTreeMap<DocumentId, Vec<Section>>, UnknownSection> {
    let mut named: BTreeMap<&DocumentId, BTreeSet<&Cut>> = BTreeMap::new();
    for (part, _) in parts.leaves() {
        if let PlanPart { atom: Atom::Document(id), cut } = part
            && *cut != Cut::Whole
        {
            named.entry(id).or_default().insert(cut);
        }
    }
    let mut narrowed = BTreeMap::new();
    for (id, cuts) in named {
        let Ok(n) = documents.binary_search_by(|served| served.id.cmp(id)) else { continue };
        let served = &documents[n];
        let unknown = |why| UnknownSection { id: id.clone(), why };
        // A requested section must exist even if the whole document is returned.
        let named = sections_of(served, &cuts).map_err(unknown)?;
        if let Some(Extent::Cuts(wanted)) = extent(parts, served) {
            let wanted = wanted.into_iter().filter_map(|cut| named.get(cut).cloned());
            narrowed.insert(id.clone(), outermost(wanted.collect()));
        }
    }
    Ok(narrowed)
}

/// Returns the sections of these cuts. The text is read once for all of them.
fn sections_of<'c>(
    served: &Served,
    cuts: &BTreeSet<&'c Cut>,
) -> Result<BTreeMap<&'c Cut, Section>, UnknownAnchor> {
    let all = served.sections();
    // Anchors come before further names, and the first of equal names before the others.
    let places = all.iter().enumerate().map(|(n, section)| (section, n)).rev();
    let names = places.clone().filter_map(|(section, n)| Some((section.name.as_deref()?, n)));
    let anchors = places.map(|(section, n)| (section.anchor.as_str(), n));
    let places: HashMap<&str, usize> = names.chain(anchors).collect();
    let place = |anchor: &String| match places.get(anchor.as_str()) {
        Some(n) => Ok(*n),
        None => {
            let known = all.iter().map(|section| section.anchor.clone()).collect();
            Err(UnknownAnchor { anchor: anchor.clone(), known })
        }
    };
    let section = |cut: &&'c Cut| {
        let section = match *cut {
            Cut::Section(anchor) => all[place(anchor)?].clone(),
            Cut::Own(anchor) => {
                let n = place(anchor)?;
                all[n].own(all.get(n + 1))
            }
            Cut::Whole | Cut::Beginning => served.beginning(&all),
        };
        Ok((*cut, section))
    };
    cuts.iter().map(section).collect()
}

/// Returns the part of a document that an expression names; `None` if the document is not in
/// its set.
fn extent<'p>(expr: &'p Expr<PlanPart>, served: &Served) -> Option<Extent<'p>> {
    match &expr.node {
        Node::Atom(PlanPart { atom, cut }) => {
            let is_in = matches(atom, &served.id, || Some(&served.fields));
            is_in.then(|| match cut {
                Cut::Whole => Extent::Whole,
                cut => Extent::Cuts(BTreeSet::from([cut])),
            })
        }
        Node::Intersection(operands) => {
            let all: Option<Vec<Extent<'_>>> = operands.iter().map(|o| extent(o, served)).collect();
            let narrowed: Vec<BTreeSet<&Cut>> = all?.into_iter().filter_map(cuts_of).collect();
            Some(match narrowed.is_empty() {
                true => Extent::Whole,
                false => Extent::Cuts(narrowed.into_iter().flatten().collect()),
            })
        }
        Node::Difference(left, right) => {
            let left = extent(left, served)?;
            let is_taken = right.iter().any(|operand| extent(operand, served).is_some());
            (!is_taken).then_some(left)
        }
        Node::Union(operands) => {
            let mut any: Option<BTreeSet<&Cut>> = None;
            for found in operands.iter().filter_map(|operand| extent(operand, served)) {
                match cuts_of(found) {
                    Some(cuts) => any.get_or_insert_default().extend(cuts),
                    None => return Some(Extent::Whole),
                }
            }
            any.map(Extent::Cuts)
        }
    }
}

fn cuts_of(extent: Extent<'_>) -> Option<BTreeSet<&Cut>> {
    match extent {
        Extent::Whole => None,
        Extent::Cuts(cuts) => Some(cuts),
    }
}

/// Sorts sections in the order of the text, and removes those inside another one.
fn outermost(mut sections: Vec<Section>) -> Vec<Section> {
    sections.sort_by_key(|section| (section.range.start, std::cmp::Reverse(section.range.end)));
    let mut end = 0;
    sections.retain(|section| {
        let is_outside = section.range.end > end;
        end = end.max(section.range.end);
        is_outside
    });
    sections
}
