//! The verified neighbours of a document.

use std::collections::{BTreeMap, BTreeSet};

use super::linked::Linked;
use super::{Listed, Listing, Snapshot, Withheld, listing};
use crate::files::vault::site::SiteLinks;
use crate::read::graph::Catalog;
use crate::read::graph::walk::{Neighborhood, Walk, neighbors};
use crate::read::index::{At, Damaged};
use crate::record::checkpoint::fault::LogError;
use crate::values::model::id::DocumentId;

/// Neighbourhood of a document.
#[derive(Debug, Default)]
pub(crate) struct Around {
    /// Neighbours that may be served.
    pub(crate) found: Neighborhood,
    /// Titles of the neighbours.
    pub(crate) titles: BTreeMap<DocumentId, String>,
    /// Documents whose links are unknown, or that were reached and may not be served.
    pub(crate) withheld: Vec<Withheld>,
}

impl Snapshot<'_> {
    /// Walks from a published document; `None` if the checkpoint does not contain it, or it may not
    /// be served.
    ///
    /// # Errors
    /// Fails like [`Snapshot::state`].
    pub(crate) fn around(&self, id: &DocumentId, walk: &Walk) -> Result<Option<Around>, LogError> {
        if let Some(at) = self.index() {
            match self.around_in(at, id, walk) {
                Ok(around) => return Ok(around),
                Err(damaged) => self.map.give_up(at, damaged),
            }
        }
        let Listing { mut documents, mut withheld } = self.read_listing()?;
        let graph = listing::graph(&mut documents, self.sites_or(&mut withheld));
        if !graph.holds(id) {
            return Ok(None);
        }
        let found = neighbors(&graph, id, walk);
        let of = |listed: &Listed| (listed.id.clone(), listed.title().to_owned());
        let titles = documents.iter().map(of).collect();
        Ok(Some(Around { found, titles, withheld }))
    }

    /// Returns the targets of links from the root of a site. If they are unknown, adds the
    /// configuration to `withheld`, and returns no mapping.
    pub(crate) fn sites_or(&self, withheld: &mut Vec<Withheld>) -> SiteLinks {
        self.sites().unwrap_or_else(|why| {
            withheld.push(why);
            withheld.sort_by(|a, b| a.id.cmp(&b.id));
            withheld.dedup_by(|a, b| a.id == b.id);
            SiteLinks::default()
        })
    }

    fn around_in(
        &self,
        at: At<'_>,
        id: &DocumentId,
        walk: &Walk,
    ) -> Result<Option<Around>, Damaged> {
        let mut around = Around { withheld: self.unreadable(at)?, ..Around::default() };
        let mut without = BTreeSet::new();
        let sites = self.sites_or(&mut around.withheld);
        match self.get(id) {
            None | Some(Err(_)) => return Ok(None),
            Some(Ok(_)) => {}
        }
        // A document that may not be served leads nowhere either.
        loop {
            let catalog = Linked::new(at, &sites, &without);
            let is_held = catalog.holds(id);
            let found = neighbors(&catalog, id, walk);
            catalog.sound()?;
            if !is_held {
                return Ok(None);
            }
            let mut refused = Vec::new();
            for neighbor in &found.neighbors {
                if around.titles.contains_key(&neighbor.id) {
                    continue;
                }
                match self.get(&neighbor.id).ok_or(Damaged)? {
                    Ok(text) => {
                        around.titles.insert(neighbor.id.clone(), text.title().to_owned());
                    }
                    Err(withheld) => refused.push(withheld),
                }
            }
            if refused.is_empty() {
                around.found = found;
                break;
            }
            without.extend(refused.iter().map(|withheld| withheld.id.clone()));
            around.withheld.extend(refused);
        }
        around.withheld.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(Some(around))
    }
}
