//! Sources that would wait for each other: an event that closes a cycle of dependencies is refused
//! (paper, section 10.2).

use std::collections::{BTreeMap, BTreeSet};

use super::transaction::Transaction;
use super::{Outcome, Refusal};
use crate::checkpoint::sealed::sealed_text;
use crate::graph::order;
use crate::model::id::DocumentId;
use crate::txn::Item;

impl Transaction<'_> {
    /// Takes out of an event the sources that would be part of a cycle, and refuses them. What is
    /// taken out stays as the head has it, which may close another cycle.
    pub(super) fn refuse_cycles(&self, outcome: &mut Outcome) {
        loop {
            let refused = self.cyclic(&outcome.items);
            if refused.is_empty() {
                return;
            }
            outcome.items.retain(|item| !refused.contains_key(&item.id));
            outcome.refused.extend(refused.into_values());
        }
    }

    fn cyclic(&self, items: &[Item]) -> BTreeMap<DocumentId, Refusal> {
        let event: BTreeMap<&DocumentId, &Item> =
            items.iter().map(|item| (&item.id, item)).collect();
        let starts = items.iter().filter(|item| !item.depends_on.is_empty());
        let found = order::closure(starts.map(|item| item.id.clone()), |id| match event.get(id) {
            Some(item) => item.depends_on.clone(),
            None => self.sealed_needs(id).unwrap_or_default(),
        });
        let mut refused = BTreeMap::new();
        for group in order::cyclic_groups(&found) {
            let mut members = group.iter().filter(|id| event.contains_key(id)).peekable();
            let Some(through) = members.peek() else { continue };
            let problem = order::cycle(&found, &group, through).problem(None);
            for id in members {
                let refusal = Refusal { path: id.live_path(), problems: vec![problem.clone()] };
                refused.insert(id.clone(), refusal);
            }
        }
        refused
    }

    /// What a source of the head depends on.
    fn sealed_needs(&self, id: &DocumentId) -> Option<BTreeSet<DocumentId>> {
        let text = sealed_text(self.vault, &self.state, id)?.ok()?;
        order::needed_by_text(id, &text)
    }
}
