//! What a document is to sources, and what it needs of them (`spec/source.md`, SRC-3).

use std::collections::BTreeMap;

use super::Document;
use super::frontmatter::NodeType;
use super::links;
use crate::values::model::id::DocumentId;

/// Whether a document is a source, and what it depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dependent {
    /// Whether it is a source.
    pub(crate) is_source: bool,
    /// What it depends on, each with its line.
    pub(crate) needed: BTreeMap<DocumentId, usize>,
}

impl Dependent {
    /// What a text says; none for one that cannot be read.
    pub(crate) fn of(id: &DocumentId, text: &str) -> Option<Self> {
        let fields = Document::parse(text).ok()?.frontmatter;
        let links = links::dependencies(id, &fields).into_iter();
        let needed = links.filter_map(|link| Some((link.target.document()?, link.line))).collect();
        Some(Self { is_source: fields.node_type == NodeType::Source, needed })
    }
}
