//! A selector answered by the index: posting lists first, then the documents of the answer alone.
//!
//! The index only proposes. Each document is reconstructed and verified as ever, and its own fields
//! must fit the selector; one that does not is proof of a damaged index, not an answer.

use std::cell::RefCell;

use rayon::prelude::*;
use roaring::RoaringBitmap;

use super::checkpoint_maps::Recorded;
use super::{Resolution, Served, Snapshot, Withheld};
use crate::read::index::{At, Damaged};
use crate::text::selector::matches::matches;
use crate::text::selector::{Atom, Expr, StatusFilter, Universe};

/// The documents of a snapshot as rows of the index.
pub(super) struct Posted<'s, 'v> {
    snapshot: &'s Snapshot<'v>,
    at: At<'v>,
    /// Rows without known fields that were asked for theirs.
    looked_at: RefCell<RoaringBitmap>,
}

impl<'s, 'v> Posted<'s, 'v> {
    pub(super) fn new(snapshot: &'s Snapshot<'v>, at: At<'v>) -> Self {
        Self { snapshot, at, looked_at: RefCell::default() }
    }

    /// The universe of the versions that hold alone: each set has its size at the checkpoint.
    pub(super) fn holding(&self) -> Holding<'_, 's, 'v> {
        Holding(self)
    }

    /// The documents of an answer to an expression that was evaluated here: verified, and with
    /// those named that had to be looked at and may not be served.
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
                // It was mended: its fields are to be indexed.
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

/// Versions that hold at the checkpoint.
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

/// From this many documents on, threads pay for their start.
const WORTH_THREADS: usize = 8;

/// Whether the fields of a verified text are in the set that an expression names.
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
