//! Lists the published documents, or those that a selector selects, by name.

use rayon::prelude::*;

use super::{Call, Places};
use crate::files::vault::Vault;
use crate::read::search::{self, Snippet};
use crate::read::snapshot::{Need, Resolution, Served, Snapshot};
use crate::record::audit::Traced;
use crate::service::report::failure::Failure;
use crate::service::report::resolve::ListReport;
use crate::service::workspace::Workspace;
use crate::service::workspace::ask::{Asked, Query};
use crate::service::workspace::moment::Moment;
use crate::service::workspace::search::OnSlow;
use crate::text::uri::Class;
#[cfg(feature = "mcp")]
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;

/// The documents of a list.
pub(crate) struct Listing {
    /// The checkpoint of the list.
    pub(crate) checkpoint: CheckpointNumber,
    /// The documents, and the withheld ones.
    pub(crate) all: Resolution,
    /// The back-end that found them; `None` without a search.
    pub(crate) backend: Option<String>,
    /// Notes on the selector for its writer.
    pub(crate) notes: Vec<String>,
    /// Number of entries after the page.
    pub(crate) omitted: usize,
    /// The hash of everything at the checkpoint that the reader may read.
    #[cfg(feature = "mcp")]
    pub(crate) seen: Option<Digest>,
    class: Class,
    /// The selector in canonical form.
    query: Option<String>,
}

/// Returns the data that a list needs.
pub(crate) fn need(selector: Option<&str>) -> Need {
    selector.map_or(Need::Versions, Asked::need)
}

impl Workspace<'_> {
    /// Returns the selector for an argument of `list`, which may be the path of a folder; `None`
    /// for the vault's folder.
    pub(crate) fn listed(&self, vault: &Vault, text: &str) -> Option<String> {
        if self.options.is_served {
            // A client cannot find out which folders exist on the disk (MCP-36).
            return Some(text.to_owned()).filter(|text| !text.trim().is_empty());
        }
        match self.listed_folder(vault, text) {
            Some(folder) => Some(folder).filter(|folder| !folder.is_empty()),
            None => Some(text.to_owned()),
        }
    }
}

impl Call<'_> {
    /// Returns a page of the documents that a selector selects, or of all, in the order of
    /// an answer.
    ///
    /// The page has at most `most` entries after the first `skipped`. Without a selector, only the
    /// documents of the page are read, and withheld documents are entries, too.
    ///
    /// # Errors
    /// The selector is invalid, or the log is not valid.
    pub(crate) fn list(
        &mut self,
        (vault, source): Places<'_>,
        (selector, at): (Option<&str>, Option<Moment>),
        (skipped, most): (usize, Option<usize>),
        on_slow: OnSlow<'_>,
    ) -> Result<Listing, Failure> {
        let at = self.workspace.checkpoint_at((vault, source), at)?;
        let Some(text) = selector else {
            let snapshot = Snapshot::of(vault, source, at)?;
            self.count_unreadable(&snapshot)?;
            let page = snapshot.page((skipped, most.unwrap_or(usize::MAX)))?;
            let (all, omitted) = (page.whole(), page.omitted);
            self.recording.listed = Some(all.documents.len());
            return Listing::of(&snapshot, (all, omitted), (Class::Set, None));
        };
        let query = Query { text, at, whole: true, staged: false };
        let mut asked = Asked::new(&self.workspace, (vault, source), query, on_slow)?;
        let mut all = asked.resolve(vault)?;
        let notes = asked.notes(&all)?;
        if asked.plan.class() == Class::Set {
            self.count_unreadable(&asked.snapshot)?;
        }
        let documents = &mut all.documents;
        documents.drain(..skipped.min(documents.len()));
        let left = documents.len();
        documents.truncate(most.unwrap_or(left));
        self.recording.listed = Some(documents.len());
        let omitted = left - documents.len();
        let asked_for = (asked.plan.class(), Some(asked.selector.to_string()));
        let listing = Listing::of(&asked.snapshot, (all, omitted), asked_for)?;
        Ok(Listing { backend: asked.plan.backend, notes, ..listing })
    }

    /// Returns the first words of each text on the page, in the same order. The texts were verified
    /// for the list, so none is read again. Handing them out is an access, which is recorded.
    pub(crate) fn openings(&mut self, listing: &Listing) -> Vec<Snippet> {
        self.recording.class = Some(listing.class);
        self.recording.query.clone_from(&listing.query);
        self.release(listing.openings())
    }
}

impl Listing {
    /// Makes a page of a snapshot without a back-end and without notes.
    fn of(
        snapshot: &Snapshot<'_>,
        (all, omitted): (Resolution, usize),
        (class, query): (Class, Option<String>),
    ) -> Result<Self, Failure> {
        Ok(Self {
            checkpoint: snapshot.checkpoint(),
            all,
            backend: None,
            notes: Vec::new(),
            omitted,
            #[cfg(feature = "mcp")]
            seen: snapshot.hash_for_reader()?,
            class,
            query,
        })
    }

    /// Returns the number of entries on the page.
    #[cfg(feature = "mcp")]
    pub(crate) fn entries(&self) -> usize {
        let withheld = if self.query.is_none() { self.all.withheld.len() } else { 0 };
        self.all.documents.len() + withheld
    }

    fn openings(&self) -> Traced<Vec<Snippet>> {
        let open = |served: &Served| {
            let opening = search::opening(served);
            let text = search::opening_recorded(served, &opening);
            (opening, text)
        };
        let (openings, texts) = self.all.documents.par_iter().map(open).unzip();
        Traced::new(openings, texts)
    }

    /// Returns the report of the page, with `openings` if they were asked for.
    pub(crate) fn report<'r>(&'r self, openings: Option<&'r [Snippet]>) -> ListReport<'r> {
        match openings {
            None => ListReport::new(self.checkpoint, &self.all),
            Some(openings) => ListReport::opened(self.checkpoint, &self.all, openings),
        }
    }
}
