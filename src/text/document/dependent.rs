//! The facts about a document that matter to sources: its type and its dependencies
//! (`spec/source.md`, SRC-3).

use std::collections::BTreeMap;

use super::Document;
use super::frontmatter::NodeType;
use super::links;
use crate::values::model::id::DocumentId;

/// The type and the dependencies of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dependent {
    /// True if it is a source.
    pub(crate) is_source: bool,
    /// Documents that it depends on, each with its line.
    pub(crate) needed: BTreeMap<DocumentId, usize>,
}

impl Dependent {
    /// Reads the facts from a text; `None` if it cannot be read.
    pub(crate) fn of(id: &DocumentId, text: &str) -> Option<Self> {
        let fields = Document::parse(text).ok()?.frontmatter;
        let links = links::dependencies(id, &fields).into_iter();
        let needed = links.filter_map(|link| Some((link.target.document()?, link.line))).collect();
        Some(Self { is_source: fields.node_type == NodeType::Source, needed })
    }
}
