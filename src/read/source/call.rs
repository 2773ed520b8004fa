//! The calls that a published source describes (SRC-5).

use std::collections::BTreeSet;

use crate::read::graph::order::needed;
use crate::read::snapshot::Served;
use crate::text::document::frontmatter::SourceBlock;
use crate::values::model::id::DocumentId;

/// A published source: its version, and its calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceCall<'s> {
    /// The verified document.
    pub(crate) served: &'s Served,
    /// Field `source` of the document.
    pub(crate) block: &'s SourceBlock,
}

impl<'s> SourceCall<'s> {
    /// Returns the call of a document; `None` if it is not a source.
    pub(crate) fn of(served: &'s Served) -> Option<Self> {
        Some(Self { served, block: served.fields.source.as_ref()? })
    }

    /// Returns the sources whose results it needs.
    pub(crate) fn needed(&self) -> BTreeSet<DocumentId> {
        needed(&self.served.id, &self.served.fields)
    }
}
