//! Hubs: the documents with the most references from others (paper, section 4.4).

use std::collections::BTreeMap;

use super::{Catalog, edges};
use crate::text::document::links::LinkKind;
use crate::values::model::id::DocumentId;

/// A document and the number of documents that refer to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hub {
    pub(crate) id: DocumentId,
    /// Number of documents whose bodies refer to it.
    pub(crate) degree: usize,
}

/// Returns up to `limit` documents with the most inbound references, most first, equal ones in byte
/// order. Documents without inbound references are left out.
pub(crate) fn hubs(catalog: &impl Catalog, limit: usize) -> Vec<Hub> {
    let mut degrees: BTreeMap<DocumentId, usize> = BTreeMap::new();
    for edge in edges(catalog) {
        if edge.kind == LinkKind::Reference {
            *degrees.entry(edge.to).or_insert(0) += 1;
        }
    }
    let mut hubs: Vec<Hub> = degrees.into_iter().map(|(id, degree)| Hub { id, degree }).collect();
    // The sort is stable, and the map was in byte order.
    hubs.sort_by_key(|hub| std::cmp::Reverse(hub.degree));
    hubs.truncate(limit);
    hubs
}
