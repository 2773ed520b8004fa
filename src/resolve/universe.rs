//! Documents as the sets that a selector is evaluated over.
//!
//! What only needs ids is answered from the checkpoint's map; the text of a document is
//! reconstructed when an atom first asks for its fields, in parallel, and kept for the result.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::OnceLock;

use rayon::prelude::*;
use roaring::RoaringBitmap;

use super::{Resolution, Served, Snapshot, Withheld};
use crate::checkpoint::fault::LogError;
use crate::document::frontmatter::Frontmatter;
use crate::model::id::DocumentId;
use crate::selector::{Atom, StatusFilter, Universe};

/// The published documents of a snapshot, read as far as they were asked for.
pub(super) struct Sets<'s, 'v> {
    snapshot: &'s Snapshot<'v>,
    ids: Vec<&'s DocumentId>,
    /// Boxed, because most stay empty where a selector names ids only.
    cells: Vec<OnceLock<Box<Result<Served, Withheld>>>>,
}

impl<'s, 'v> Sets<'s, 'v> {
    pub(super) fn new(snapshot: &'s Snapshot<'v>) -> Result<Self, LogError> {
        let ids: Vec<&DocumentId> = snapshot.documents()?.collect();
        let cells = ids.iter().map(|_| OnceLock::new()).collect();
        Ok(Self { snapshot, ids, cells })
    }

    /// Every document.
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
                let _ = self.cells[*n].set(Box::new(read));
            }
        });
    }

    /// The documents found, and whatever was looked at on the way and may not be served.
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

/// Whether a published document is in the set that an atom names.
pub(super) fn matches<'f>(
    atom: &Atom,
    id: &DocumentId,
    fields: impl Fn() -> Option<&'f Frontmatter>,
) -> bool {
    let source = |f: &'f Frontmatter| f.source.as_ref();
    match atom {
        Atom::Document(wanted) => wanted == id,
        Atom::Folder(folder) => id.as_str().starts_with(folder.as_str()),
        Atom::Tag(tag) => fields().is_some_and(|f| f.has_tag(tag)),
        Atom::Type(wanted) => fields().is_some_and(|f| f.node_type == *wanted),
        Atom::Status(status) => *status == StatusFilter::Published && fields().is_some(),
        Atom::Transport(wanted) => {
            fields().and_then(source).is_some_and(|s| s.transport == Some(*wanted))
        }
        Atom::Server(name) => {
            fields().and_then(source).is_some_and(|s| s.server.as_ref() == Some(name))
        }
    }
}

/// Working copies as if they were published.
pub(super) struct Drafts {
    documents: Vec<(DocumentId, Frontmatter)>,
}

impl Drafts {
    pub(super) fn new(mut documents: Vec<(DocumentId, Frontmatter)>) -> Self {
        documents.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self { documents }
    }

    pub(super) fn ids(&self, found: &RoaringBitmap) -> Vec<DocumentId> {
        found.iter().filter_map(|n| Some(self.documents.get(n as usize)?.0.clone())).collect()
    }
}

impl Universe for Drafts {
    type Error = Infallible;

    fn select(&self, atom: &Atom, _: Option<&RoaringBitmap>) -> Result<RoaringBitmap, Infallible> {
        let fits = |(id, fields): &(DocumentId, Frontmatter)| matches(atom, id, || Some(fields));
        let numbered = (0..).zip(&self.documents);
        Ok(numbered.filter(|(_, document)| fits(document)).map(|(n, _)| n).collect())
    }
}
