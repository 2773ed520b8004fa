//! Documents as the sets that a selector is evaluated over, from the log.
//!
//! Questions about ids are answered from the maps of the checkpoint. The text of a document is
//! rebuilt when an atom first needs its fields, in parallel, and kept for the result.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::OnceLock;

use rayon::prelude::*;
use roaring::RoaringBitmap;

use super::{Resolution, Served, Snapshot, Withheld};
use crate::record::checkpoint::fault::LogError;
use crate::text::selector::matches::matches;
use crate::text::selector::{Atom, Universe};
use crate::values::model::id::DocumentId;

/// Published documents of a snapshot, read on demand.
pub(super) struct Sets<'s, 'v> {
    snapshot: &'s Snapshot<'v>,
    ids: Vec<&'s DocumentId>,
    /// Boxed, because most stay empty if a selector only names ids.
    cells: Vec<OnceLock<Box<Result<Served, Withheld>>>>,
}

impl<'s, 'v> Sets<'s, 'v> {
    pub(super) fn new(snapshot: &'s Snapshot<'v>) -> Result<Self, LogError> {
        let ids: Vec<&DocumentId> = snapshot.documents()?.collect();
        // Decided here, so that no reading thread waits for another one to decide it.
        snapshot.markup();
        let cells = ids.iter().map(|_| OnceLock::new()).collect();
        Ok(Self { snapshot, ids, cells })
    }

    /// Returns every document.
    pub(super) fn everything<'a>(&self) -> Cow<'a, RoaringBitmap> {
        let end = u32::try_from(self.ids.len()).unwrap_or(u32::MAX);
        Cow::Owned((0..end).collect())
    }

    /// Reads those of `wanted` that were not read yet.
    fn load(&self, wanted: impl Iterator<Item = u32>) {
        let missing: Vec<usize> = wanted
            .map(|n| n as usize)
            .filter(|n| self.cells.get(*n).is_some_and(|cell| cell.get().is_none()))
            .collect();
        missing.par_iter().for_each(|n| {
            if let Some(read) = self.snapshot.get(self.ids[*n]) {
                // Each cell is visited once, so it cannot be full.
                let _ = self.cells[*n].set(Box::new(read.map(Served::without_tree)));
            }
        });
    }

    /// Returns the documents that were found, and the withheld documents that were read on the way.
    pub(super) fn into_resolution(self, found: &RoaringBitmap) -> Resolution {
        self.load(found.iter());
        let mut resolution = Resolution::default();
        for (n, cell) in (0..).zip(self.cells) {
            let is_wanted = found.contains(n);
            match cell.into_inner().map(|read| *read) {
                Some(Ok(served)) if is_wanted => resolution.documents.push(served),
                Some(Err(withheld)) => resolution.withheld.push(withheld),
                _ => {}
            }
        }
        resolution
    }
}

impl Universe for Sets<'_, '_> {
    type Error = Infallible;

    fn select(
        &self,
        atom: &Atom,
        within: Option<&RoaringBitmap>,
    ) -> Result<RoaringBitmap, Infallible> {
        let within = within.map_or_else(|| self.everything(), Cow::Borrowed);
        if atom.needs_metadata() {
            self.load(within.iter());
        }
        let fits = |n: &u32| {
            let n = *n as usize;
            let fields =
                || self.cells.get(n)?.get()?.as_ref().as_ref().ok().map(|served| &served.fields);
            self.ids.get(n).is_some_and(|id| matches(atom, id, fields))
        };
        Ok(within.iter().filter(fits).collect())
    }
}
