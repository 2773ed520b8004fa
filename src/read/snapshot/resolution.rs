//! The answer to a selector, and what it leaves out.

use std::collections::BTreeMap;

use super::extent::UnknownSection;
use super::ranking::Ranking;
use super::served::Served;
use crate::files::vault::Vault;
use crate::policy::in_force::LostRules;
use crate::record::chain::error::ChainError;
use crate::record::checkpoint::fault::LogError;
use crate::text::document::sections::Section;
use crate::values::model::id::DocumentId;

/// A document of the checkpoint that may not be served.
#[derive(Debug)]
pub struct Withheld {
    /// Id of the document.
    pub id: DocumentId,
    /// Reason why it may not be served.
    pub why: ChainError,
}

impl Withheld {
    /// Makes a withheld document with its reason, which says if git leaves the history out.
    pub(crate) fn new(vault: &Vault, id: &DocumentId, why: ChainError) -> Self {
        Self { id: id.clone(), why: why.explained(vault, id) }
    }

    /// Makes a withheld file of the rules that cannot be read.
    pub(crate) fn of_rules(vault: &Vault, lost: &LostRules) -> Self {
        Self::new(vault, &lost.id, lost.fault(vault.files()))
    }
}

/// Answer to a selector.
#[derive(Debug, Default)]
pub struct Resolution {
    /// Documents: those that a search found by rank, then the others in byte order of their ids.
    /// Each source comes after those that it depends on.
    pub documents: Vec<Served>,
    /// Sections that a document is narrowed to, in the order of its text. Other documents are
    /// returned whole.
    pub sections: BTreeMap<DocumentId, Vec<Section>>,
    /// Ranks of the documents that a search found.
    pub ranking: Ranking,
    /// Documents that had to be read and failed, in byte order of their ids.
    pub withheld: Vec<Withheld>,
}

impl Resolution {
    /// Adds further withheld documents, without duplicates.
    pub fn withhold(&mut self, others: &mut Vec<Withheld>) {
        self.withheld.append(others);
        self.withheld.sort_by(|a, b| a.id.cmp(&b.id));
        self.withheld.dedup_by(|a, b| a.id == b.id);
    }
}

/// Reason why a selector cannot be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The published documents cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A document of the answer lacks a requested section.
    #[error(transparent)]
    Section(#[from] UnknownSection),
}
