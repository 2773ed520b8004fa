//! What a published source says is to be called (SRC-5).

use std::collections::BTreeSet;

use crate::read::graph::order::needed;
use crate::read::snapshot::Served;
use crate::text::document::frontmatter::SourceBlock;
use crate::values::model::id::DocumentId;

/// A published source: its version, and what is to be called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceCall<'s> {
    /// The document.
    pub(crate) served: &'s Served,
    /// Its `source` block.
    pub(crate) block: &'s SourceBlock,
}

impl<'s> SourceCall<'s> {
    /// What a document says; none for one that is no source.
    pub(crate) fn of(served: &'s Served) -> Option<Self> {
        Some(Self { served, block: served.fields.source.as_ref()? })
    }

    /// The sources whose results it needs.
    pub(crate) fn needed(&self) -> BTreeSet<DocumentId> {
        needed(&self.served.id, &self.served.fields)
    }
}
