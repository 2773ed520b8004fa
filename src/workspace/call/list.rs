//! The published documents, or those that a selector selects, by name.

use super::{Call, Places};
use crate::model::number::CheckpointNumber;
use crate::report::failure::Failure;
use crate::report::resolve::ListReport;
use crate::resolve::{Need, Resolution, Snapshot};
use crate::uri::Class;
use crate::vault::Vault;
use crate::workspace::Workspace;
use crate::workspace::ask::{Asked, Query};
use crate::workspace::moment::Moment;
use crate::workspace::search::OnSlow;

/// The documents of a list.
pub(crate) struct Listing {
    /// The checkpoint that they are published at.
    pub(crate) checkpoint: CheckpointNumber,
    /// The documents, and those that are withheld.
    pub(crate) all: Resolution,
    /// Which back-end found them, where a search did.
    pub(crate) backend: Option<String>,
    /// What the writer of the selector should know.
    pub(crate) notes: Vec<String>,
}

/// What it takes to list what a selector selects, or everything.
pub(crate) fn need(selector: Option<&str>) -> Need {
    selector.map_or(Need::Versions, Asked::need)
}

impl Workspace<'_> {
    /// The selector that an argument of `list` stands for, which may be the path of a folder; none
    /// for the vault's folder.
    pub(crate) fn listed(&self, vault: &Vault, text: &str) -> Option<String> {
        match self.listed_folder(vault, text) {
            Some(folder) => Some(folder).filter(|folder| !folder.is_empty()),
            None => Some(text.to_owned()),
        }
    }
}

impl Call<'_> {
    /// The documents that a selector selects, or all, in the order of an answer.
    ///
    /// # Errors
    /// The selector is invalid, or the log cannot be relied on.
    pub(crate) fn list(
        &mut self,
        (vault, source): Places<'_>,
        selector: Option<&str>,
        at: Option<Moment>,
        on_slow: OnSlow<'_>,
    ) -> Result<Listing, Failure> {
        let at = self.workspace.checkpoint_at((vault, source), at)?;
        let Some(text) = selector else {
            let snapshot = Snapshot::of(vault, source, at)?;
            self.count_unreadable(&snapshot);
            let (checkpoint, all) = (snapshot.checkpoint(), snapshot.all()?);
            return Ok(Listing { checkpoint, all, backend: None, notes: Vec::new() });
        };
        let query = Query { text, at, whole: true, staged: false };
        let mut asked = Asked::new(&self.workspace, (vault, source), query, on_slow)?;
        let all = asked.resolve(vault)?;
        let notes = asked.notes(&all)?;
        if asked.plan.class() == Class::Set {
            self.count_unreadable(&asked.snapshot);
        }
        let (checkpoint, backend) = (asked.snapshot.checkpoint(), asked.plan.backend);
        Ok(Listing { checkpoint, all, backend, notes })
    }

    /// Cuts a list to what is answered of it: at most `limit` documents after the first `skipped`.
    /// Gives how many are left out after them.
    pub(crate) fn cut(
        &mut self,
        listing: &mut Listing,
        skipped: usize,
        limit: Option<usize>,
    ) -> usize {
        let documents = &mut listing.all.documents;
        documents.drain(..skipped.min(documents.len()));
        let all = documents.len();
        documents.truncate(limit.unwrap_or(all));
        self.recording.listed = Some(documents.len());
        all - documents.len()
    }
}

impl Listing {
    /// The report of what is left of it.
    pub(crate) fn report(&self) -> ListReport<'_> {
        ListReport::new(self.checkpoint, &self.all)
    }
}
