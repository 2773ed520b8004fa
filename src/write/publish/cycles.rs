//! Refuses sources that would depend on each other in a cycle, or on a document that is not a
//! source (paper, section 10.2).

use std::collections::{BTreeMap, BTreeSet};

use super::transaction::Transaction;
use super::{Outcome, Refusal};
use crate::read::graph::order;
use crate::read::working;
use crate::record::checkpoint::sealed::sealed_text;
use crate::text::document::dependent::Dependent;
use crate::text::document::frontmatter::NodeType;
use crate::values::model::id::DocumentId;
use crate::write::commit::{Change, Item, Step};

/// Returns true if a version may be published, directly or later.
///
/// A version that rejects or withdraws a text keeps its dependencies, and must not be refused
/// for them.
fn proposes(item: &&Item) -> bool {
    !matches!(item.change, Change::Step(Step::Reject | Step::Withdraw | Step::Ratify))
}

impl Transaction<'_> {
    /// Removes from an event the sources that would be part of a cycle, and refuses them.
    ///
    /// A removed source stays as in the head, which may close another cycle.
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

    /// Removes from an event the sources that depend on a document that is not a source (SRC-3).
    ///
    /// A missing document may still become a source.
    pub(super) fn refuse_other_dependencies(&self, outcome: &mut Outcome) {
        let event: BTreeMap<&DocumentId, &Item> =
            outcome.items.iter().filter(proposes).map(|item| (&item.id, item)).collect();
        let is_other = |id: &DocumentId| match event.get(id) {
            // A document that the event retires no longer exists.
            Some(item) => !item.dependent.is_source && !item.is_retirement(),
            None => self.is_source(id) == Some(false),
        };
        let mut refused = BTreeMap::new();
        for item in outcome.items.iter().filter(proposes) {
            let others = item.dependent.needed.iter().filter(|(id, _)| is_other(id));
            let problems: Vec<_> =
                others.map(|(id, line)| order::not_a_source(id, Some(*line))).collect();
            if !problems.is_empty() {
                refused.insert(item.id.clone(), Refusal { path: item.id.live_path(), problems });
            }
        }
        outcome.items.retain(|item| !refused.contains_key(&item.id));
        outcome.refused.extend(refused.into_values());
    }

    /// Returns true if a document is a source, by the head or else by its live file.
    ///
    /// `None` if neither exists, or the document cannot be read.
    fn is_source(&self, id: &DocumentId) -> Option<bool> {
        match sealed_text(self.vault, &self.state, id) {
            Some(text) => Dependent::of(id, &text.ok()?).map(|of| of.is_source),
            None => {
                let file = working::read(self.vault, &id.live_path())?;
                file.fields().map(|fields| fields.node_type == NodeType::Source)
            }
        }
    }

    fn cyclic(&self, items: &[Item]) -> BTreeMap<DocumentId, Refusal> {
        let event: BTreeMap<&DocumentId, &Item> =
            items.iter().filter(proposes).map(|item| (&item.id, item)).collect();
        let starts = event.values().filter(|item| !item.dependent.needed.is_empty());
        let found = order::closure(starts.map(|item| item.id.clone()), |id| match event.get(id) {
            Some(item) => item.dependent.needed.keys().cloned().collect(),
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

    /// Returns the dependencies of a source of the head.
    fn sealed_needs(&self, id: &DocumentId) -> Option<BTreeSet<DocumentId>> {
        let text = sealed_text(self.vault, &self.state, id)?.ok()?;
        order::needed_by_text(id, &text)
    }
}
