//! Sets of documents in memory, for the evaluation of selectors.

use std::convert::Infallible;

use roaring::RoaringBitmap;

use super::{Atom, StatusFilter, Universe};
use crate::text::document::frontmatter::Frontmatter;
use crate::values::model::id::DocumentId;

/// Returns true if a published document is in the set that an atom names.
pub fn matches<'f>(
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

/// Live files, treated as if they were published.
pub(crate) struct Drafts<'f> {
    /// Documents in byte order of their ids.
    documents: Vec<(&'f DocumentId, &'f Frontmatter)>,
}

impl<'f> Drafts<'f> {
    /// Makes a universe of these documents.
    pub(crate) fn new(
        documents: impl IntoIterator<Item = (&'f DocumentId, &'f Frontmatter)>,
    ) -> Self {
        let mut documents: Vec<_> = documents.into_iter().collect();
        documents.sort_by_key(|(id, _)| *id);
        Self { documents }
    }

    /// Returns the ids of some of them.
    pub(crate) fn ids(&self, found: &RoaringBitmap) -> Vec<DocumentId> {
        found.iter().filter_map(|n| Some(self.documents.get(n as usize)?.0.clone())).collect()
    }
}

impl Universe for Drafts<'_> {
    type Error = Infallible;

    fn select(
        &self,
        atom: &Atom,
        within: Option<&RoaringBitmap>,
    ) -> Result<RoaringBitmap, Infallible> {
        let fits = |n: &u32| {
            let document = self.documents.get(*n as usize);
            document.is_some_and(|(id, fields)| matches(atom, id, || Some(*fields)))
        };
        let end = u32::try_from(self.documents.len()).unwrap_or(u32::MAX);
        Ok(match within {
            Some(within) => within.iter().filter(fits).collect(),
            None => (0..end).filter(fits).collect(),
        })
    }
}
