//! Answers a selector from the index: posting lists first, then only the documents of the answer.
//!
//! The index only proposes. Each document is rebuilt and verified as usual, and its own fields must
//! match the selector. A document that does not match proves that the index is damaged; it is not
//! an answer.

use std::cell::RefCell;

use rayon::prelude::*;
use roaring::RoaringBitmap;

use super::checkpoint_maps::Recorded;
use super::{Resolution, Served, Snapshot, Withheld};
use crate::read::index::{At, Damaged};
use crate::text::selector::matches::matches;
use crate::text::selector::{Atom, Expr, StatusFilter, Universe};

/// Documents of a snapshot as rows of the index.
pub(super) struct Posted<'s, 'v> {
    snapshot: &'s Snapshot<'v>,
    at: At<'v>,
    /// Rows with unknown fields that a question needed.
    looked_at: RefCell<RoaringBitmap>,
}

impl<'s, 'v> Posted<'s, 'v> {
    pub(super) fn new(snapshot: &'s Snapshot<'v>, at: At<'v>) -> Self {
        Self { snapshot, at, looked_at: RefCell::default() }
    }

    /// Returns a universe of only the versions that the checkpoint contains, so that each set has
    /// its size at the checkpoint.
    pub(super) fn holding(&self) -> Holding<'_, 's, 'v> {
        Holding(self)
    }

    /// Returns the verified documents of an answer to an expression that was evaluated here, and
    /// the withheld documents that had to be read.
    pub(super) fn answer(&self, expr: &Expr, found: &RoaringBitmap) -> Result<Resolution, Damaged> {
        let found = self.at.holding(found.clone())?;
        let unknown = self.at.holding(self.looked_at.take())? - &found;
        let mut resolution = Resolution::default();
        for read in self.read(&found)? {
            match read {
                Ok(served) if fits(expr, &served) => resolution.documents.push(served),
                Ok(_) => return Err(Damaged),
                Err(withheld) => resolution.withheld.push(withheld),
            }
        }
        for read in self.read(&unknown)? {
            match read {
                // It was repaired, so its fields must be indexed.
                Ok(_) => return Err(Damaged),
                Err(withheld) => resolution.withheld.push(withheld),
            }
        }
        resolution.documents.sort_by(|a, b| a.id.cmp(&b.id));
        resolution.withheld.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(resolution)
    }

    /// Serves the documents of some rows.
    fn read(&self, rows: &RoaringBitmap) -> Result<Vec<Result<Served, Withheld>>, Damaged> {
        let snapshot = self.snapshot;
        let at = self.at;
        let serve = |row: u32| {
            let held = at.held(row)?;
            let recorded = Recorded::of_held(&held);
            let served = snapshot.serve(&held.id, held.version, &held.chain_hash, &recorded);
            Ok(served
                .map(Served::without_tree)
                .map_err(|why| Withheld::new(snapshot.vault, &held.id, why)))
        };
        let rows: Vec<u32> = rows.iter().collect();
        // A thread costs more than a few documents.
        if rows.len() < WORTH_THREADS {
            return rows.into_iter().map(serve).collect();
        }
        rows.into_par_iter().map(serve).collect()
    }
}

/// Versions that the checkpoint contains.
pub(super) struct Holding<'p, 's, 'v>(&'p Posted<'s, 'v>);

impl Universe for Holding<'_, '_, '_> {
    type Error = Damaged;

    fn select(
        &self,
        atom: &Atom,
        within: Option<&RoaringBitmap>,
    ) -> Result<RoaringBitmap, Damaged> {
        self.0.at.holding(self.0.select(atom, within)?)
    }
}

/// Number of documents from which on threads are worthwhile.
const WORTH_THREADS: usize = 8;

/// Returns true if the fields of a verified text match an expression.
fn fits(expr: &Expr, served: &Served) -> bool {
    expr.holds(&|atom| matches(atom, &served.id, || Some(&served.fields)))
}

impl Universe for Posted<'_, '_> {
    type Error = Damaged;

    fn select(
        &self,
        atom: &Atom,
        within: Option<&RoaringBitmap>,
    ) -> Result<RoaringBitmap, Damaged> {
        let at = &self.at;
        if atom.needs_metadata() {
            let mut unknown = at.unreadable()?;
            if let Some(within) = within {
                unknown &= within;
            }
            *self.looked_at.borrow_mut() |= unknown;
        }
        match atom {
            Atom::Document(id) => at.of_document(id),
            Atom::Folder(folder) => Ok(at.of_folder(folder)? & (at.known()? | at.unreadable()?)),
            Atom::Tag(name) => at.of_tag(name),
            Atom::Type(word) => at.of_type(word.as_str()),
            Atom::Status(StatusFilter::Published) => at.known(),
            Atom::Status(StatusFilter::Draft | StatusFilter::Staged) => Ok(RoaringBitmap::new()),
            Atom::Transport(word) => at.of_transport(word.as_str()),
            Atom::Server(name) => at.of_server(name),
        }
    }
}
