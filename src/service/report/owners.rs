//! Report of the documents of a checkpoint by scope and by reviewer.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Report;
use super::document::WithheldReport;
use super::stewards::{ScopeKey, ScopeReport};
use crate::policy::stewards::{Role, Scope, ScopeKind, Stewards};
use crate::read::snapshot::Listing;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::principal::PrincipalKey;

/// The answer of `owners`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct OwnersReport<'s> {
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Number of documents.
    pub documents: usize,
    /// Every scope with stewards, in the order of priority.
    pub scopes: Vec<OwnedReport<'s>>,
    /// Documents that only the scope of the vault matches, in byte order.
    pub undedicated: Vec<DocumentId>,
    /// Documents without a steward, in byte order.
    pub unowned: Vec<DocumentId>,
    /// Every reviewer, ordered by number of documents, the largest first.
    pub reviewers: Vec<LoadReport<'s>>,
    /// Documents that are not served: their history does not verify, or no valid approval exists.
    withheld: Vec<WithheldReport>,
}

/// A scope with its documents.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct OwnedReport<'s> {
    /// Scope of the stewards.
    #[serde(flatten)]
    pub scope: ScopeReport,
    /// Number of documents whose stewards are those of this scope.
    pub documents: usize,
    /// Reviewers of the scope.
    pub reviewers: Vec<&'s str>,
}

/// A reviewer with the number of documents that they may approve.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct LoadReport<'s> {
    /// Name of the principal.
    pub principal: &'s str,
    /// Number of documents.
    pub documents: usize,
    /// Number of documents that no other reviewer may approve.
    pub alone: usize,
}

impl Report for OwnersReport<'_> {
    const SCHEMA: &'static str = "owners";
}

impl OwnersReport<'_> {
    /// Removes other scopes and their reviewers; returns the number of removed scopes.
    pub(crate) fn keep(&mut self, own: &BTreeSet<ScopeKey>) -> usize {
        let all = self.scopes.len();
        self.scopes.retain(|one| own.contains(&one.scope.key()));
        let known: BTreeSet<PrincipalKey> = self
            .scopes
            .iter()
            .flat_map(|one| &one.reviewers)
            .map(|by| PrincipalKey::of(by))
            .collect();
        self.reviewers.retain(|load| known.contains(&PrincipalKey::of(load.principal)));
        all - self.scopes.len()
    }
}

impl<'s> OwnersReport<'s> {
    /// Reports the stewards of the documents of a checkpoint.
    pub(crate) fn new(
        checkpoint: CheckpointNumber,
        stewards: &'s Stewards,
        listing: &Listing,
    ) -> Self {
        let mut counts: BTreeMap<(ScopeKind, String), usize> = BTreeMap::new();
        let (mut undedicated, mut unowned) = (Vec::new(), Vec::new());
        for document in &listing.documents {
            match stewards.scope_of(&document.id, &document.metadata.tags).map(|at| &at.scope) {
                None => unowned.push(document.id.clone()),
                Some(scope) => {
                    *counts.entry((scope.kind(), scope.folded())).or_default() += 1;
                    if *scope == Scope::Vault {
                        undedicated.push(document.id.clone());
                    }
                }
            }
        }
        let mut loads: BTreeMap<PrincipalKey, LoadReport<'s>> = BTreeMap::new();
        let scopes = stewards.scopes().map(|at| {
            let documents = counts.get(&(at.scope.kind(), at.scope.folded())).copied();
            let documents = documents.unwrap_or_default();
            let holders = stewards.holders(at).into_iter();
            let reviewers: Vec<_> =
                holders.filter(|holder| holder.role == Role::Reviewer).collect();
            for holder in &reviewers {
                let principal = holder.principal.as_str();
                let load = loads.entry(holder.principal.key());
                let none = LoadReport { principal, documents: 0, alone: 0 };
                let load = load.or_insert(none);
                load.documents += documents;
                load.alone += if reviewers.len() == 1 { documents } else { 0 };
            }
            let reviewers = reviewers.iter().map(|holder| holder.principal.as_str()).collect();
            OwnedReport { scope: (&at.scope).into(), documents, reviewers }
        });
        let scopes = scopes.collect();
        let mut reviewers: Vec<LoadReport<'s>> = loads.into_values().collect();
        reviewers.sort_by_key(|load| std::cmp::Reverse(load.documents));
        let documents = listing.documents.len();
        let withheld = WithheldReport::all(&listing.withheld);
        Self { checkpoint, documents, scopes, undedicated, unowned, reviewers, withheld }
    }
}
