//! How much of a selected document is put out: all of it, or the sections that the selector names.
//!
//! The algebra's elements are documents. Beside it, what a selector names of one document is
//! followed through the same operators: an intersection narrows, in a union the whole beats a
//! section, and a difference leaves its left side as it is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::plan::Part;
use super::{Served, universe};
use crate::document::sections::{Section, UnknownAnchor};
use crate::model::id::DocumentId;
use crate::selector::{Atom, Expr, Node};

/// A document lacks a section that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{id}`: {why}")]
pub struct UnknownSection {
    /// The document.
    pub id: DocumentId,
    /// Which section, and which there are.
    #[source]
    pub why: UnknownAnchor,
}

/// What a selector names of one document.
#[derive(Debug)]
enum Extent<'p> {
    Whole,
    Sections(BTreeSet<&'p str>),
}

/// The documents that are narrowed, each with its sections in the order of its text. A section is
/// left out where another one holds it.
pub(super) fn sections(
    parts: &Expr<Part>,
    documents: &[Served],
) -> Result<BTreeMap<DocumentId, Vec<Section>>, UnknownSection> {
    let mut anchors: BTreeMap<&DocumentId, BTreeSet<&str>> = BTreeMap::new();
    for (part, _) in parts.leaves() {
        if let Part { atom: Atom::Document(id), anchor: Some(anchor) } = part {
            anchors.entry(id).or_default().insert(anchor);
        }
    }
    let mut narrowed = BTreeMap::new();
    for (id, anchors) in anchors {
        let Ok(n) = documents.binary_search_by(|served| served.id.cmp(id)) else { continue };
        let served = &documents[n];
        let unknown = |why| UnknownSection { id: id.clone(), why };
        // What is asked for must be there, even where the whole is put out.
        let named = named(served, &anchors).map_err(unknown)?;
        if let Some(Extent::Sections(wanted)) = extent(parts, served) {
            let wanted = wanted.into_iter().filter_map(|anchor| named.get(anchor).cloned());
            narrowed.insert(id.clone(), outermost(wanted.collect()));
        }
    }
    Ok(narrowed)
}

/// The sections that these anchors name; the text is read once for all of them.
fn named<'a>(
    served: &Served,
    anchors: &BTreeSet<&'a str>,
) -> Result<BTreeMap<&'a str, Section>, UnknownAnchor> {
    let mut all: HashMap<String, Section> = HashMap::new();
    for section in served.sections() {
        all.insert(section.anchor.clone(), section);
    }
    let section = |anchor: &&'a str| match all.remove(*anchor) {
        Some(section) => Ok((*anchor, section)),
        // The error names all that there are, in the order of the text.
        None => served.section(anchor).map(|section| (*anchor, section)),
    };
    anchors.iter().map(section).collect()
}

/// What an expression names of a document; nothing, if the document is not in its set.
fn extent<'p>(expr: &'p Expr<Part>, served: &Served) -> Option<Extent<'p>> {
    match &expr.node {
        Node::Atom(Part { atom, anchor }) => {
            let is_in = universe::matches(atom, &served.id, || Some(&served.fields));
            is_in.then(|| match anchor {
                Some(anchor) => Extent::Sections(BTreeSet::from([anchor.as_str()])),
                None => Extent::Whole,
            })
        }
        Node::Intersection(operands) => {
            let all: Option<Vec<Extent<'_>>> = operands.iter().map(|o| extent(o, served)).collect();
            let narrowed: Vec<BTreeSet<&str>> = all?.into_iter().filter_map(sections_of).collect();
            Some(match narrowed.is_empty() {
                true => Extent::Whole,
                false => Extent::Sections(narrowed.into_iter().flatten().collect()),
            })
        }
        Node::Difference(left, right) => {
            let left = extent(left, served)?;
            let is_taken = right.iter().any(|operand| extent(operand, served).is_some());
            (!is_taken).then_some(left)
        }
        Node::Union(operands) => {
            let mut any: Option<BTreeSet<&str>> = None;
            for found in operands.iter().filter_map(|operand| extent(operand, served)) {
                match sections_of(found) {
                    Some(sections) => any.get_or_insert_default().extend(sections),
                    None => return Some(Extent::Whole),
                }
            }
            any.map(Extent::Sections)
        }
    }
}

fn sections_of(extent: Extent<'_>) -> Option<BTreeSet<&str>> {
    match extent {
        Extent::Whole => None,
        Extent::Sections(sections) => Some(sections),
    }
}

/// In the order of the text, without those inside another one.
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
