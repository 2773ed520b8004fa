//! Order of source nodes for hydration (paper, sections 9.1 and 10.2).

use std::collections::{BTreeSet, HashMap};

use super::{Resolution, Served, Snapshot};
use crate::read::graph::order::{self, needed};
use crate::values::model::id::DocumentId;

impl Resolution {
    /// Puts the sources of the answer into hydration order. Sources only swap places with
    /// each other.
    pub(super) fn arrange_sources(&mut self, snapshot: &Snapshot<'_>) {
        let is_source = |n: &usize| self.documents[*n].fields.source.is_some();
        let places: BTreeSet<usize> = (0..self.documents.len()).filter(is_source).collect();
        if places.len() < 2 {
            return;
        }
        let wanted: BTreeSet<DocumentId> =
            places.iter().map(|n| self.documents[*n].id.clone()).collect();
        let of_answer: HashMap<&DocumentId, &Served> =
            self.documents.iter().map(|served| (&served.id, served)).collect();
        let found = order::closure(wanted.iter().cloned(), |id| {
            match of_answer.get(id) {
                Some(served) => needed(id, &served.fields),
                // A source outside of the answer may connect two that are in it.
                None => match snapshot.get(id) {
                    Some(Ok(served)) => needed(id, &served.fields),
                    _ => BTreeSet::new(),
                },
            }
        });
        let order = order::hydration_order(&found, &wanted);
        if order.iter().eq(places.iter().map(|n| &self.documents[*n].id)) {
            return;
        }
        let rank: HashMap<&DocumentId, usize> = order.iter().zip(0..).collect();
        let (mut sources, mut others) = (Vec::new(), Vec::new());
        for served in self.documents.drain(..) {
            match rank.get(&served.id) {
                Some(rank) => sources.push((*rank, served)),
                None => others.push(served),
            }
        }
        sources.sort_by_key(|(rank, _)| *rank);
        let (mut sources, mut others) = (sources.into_iter(), others.into_iter());
        for n in 0..sources.len() + others.len() {
            let next = match places.contains(&n) {
                true => sources.next().map(|(_, served)| served),
                false => others.next(),
            };
            self.documents.extend(next);
        }
    }
}
