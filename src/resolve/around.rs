//! The neighbours of a document, each of them verified.

use std::collections::BTreeMap;

use super::linked::Linked;
use super::{Snapshot, Withheld};
use crate::checkpoint::log::LogError;
use crate::document::id::Id;
use crate::graph::Catalog;
use crate::graph::walk::{Neighborhood, Walk, neighbors};
use crate::index::{At, Damaged};

/// What lies around a document.
#[derive(Debug, Default)]
pub struct Around {
    /// The neighbours that may be served.
    pub found: Neighborhood,
    /// Their titles.
    pub titles: BTreeMap<Id, String>,
    /// Documents whose links are not known, or that were reached and may not be served.
    pub withheld: Vec<Withheld>,
}

impl Snapshot<'_> {
    /// Walks from a published document; `None` where the checkpoint does not hold it, or it has no
    /// text that may be served.
    ///
    /// # Errors
    /// As [`Snapshot::state`].
    pub fn around(&self, id: &Id, walk: &Walk) -> Result<Option<Around>, LogError> {
        if let Some(at) = self.map.index() {
            match self.around_in(at, id, walk) {
                Ok(around) => return Ok(around),
                Err(damaged) => self.map.give_up(at, damaged),
            }
        }
        let all = self.all()?;
        let graph = all.graph();
        if !graph.holds(id) {
            return Ok(None);
        }
        let found = neighbors(&graph, id, walk);
        let of = |served: super::Served| (served.id.clone(), served.title().to_owned());
        let titles = all.documents.into_iter().map(of).collect();
        Ok(Some(Around { found, titles, withheld: all.withheld }))
    }

    fn around_in(&self, at: At<'_>, id: &Id, walk: &Walk) -> Result<Option<Around>, Damaged> {
        let catalog = Linked::new(at);
        let is_held = catalog.holds(id);
        let mut around = Around::default();
        if is_held {
            around.found = neighbors(&catalog, id, walk);
        }
        catalog.sound()?;
        around.withheld = self.unreadable(at)?;
        if !is_held {
            return Ok(None);
        }
        let mut served = Vec::with_capacity(around.found.neighbors.len());
        for neighbor in around.found.neighbors.drain(..) {
            match self.get(&neighbor.id).ok_or(Damaged)? {
                Ok(text) => {
                    around.titles.insert(neighbor.id.clone(), text.title().to_owned());
                    served.push(neighbor);
                }
                Err(withheld) => around.withheld.push(withheld),
            }
        }
        around.found.neighbors = served;
        around.withheld.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(Some(around))
    }
}
