//! Hydration order of the sources of an answer and their dependencies (SRC-6).

use std::collections::{BTreeMap, BTreeSet};

use super::call::SourceCall;
use crate::files::vault::Vault;
use crate::read::graph::order;
use crate::read::snapshot::{Served, Snapshot};
use crate::record::chain::history::Entry;
use crate::record::chain::replay;
use crate::values::codes::serialize_as_words;
use crate::values::model::id::DocumentId;

/// Sources in hydration order.
#[derive(Debug, Default)]
pub(crate) struct HydrationPlan {
    /// Sources, each after those that it depends on.
    pub(crate) sources: Vec<PlannedSource>,
    /// Dependencies that cannot be used.
    pub(crate) missing: Vec<MissingDependency>,
    /// Sources that depend on each other, each group in byte order.
    pub(crate) cycles: Vec<BTreeSet<DocumentId>>,
}

/// A source to hydrate.
#[derive(Debug)]
pub(crate) struct PlannedSource {
    /// Verified document.
    pub(crate) served: Served,
    /// True if it was requested; false if another source needs it.
    pub(crate) is_selected: bool,
}

/// A dependency that cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MissingDependency {
    pub(crate) id: DocumentId,
    /// Sources that need it.
    pub(crate) needed_by: BTreeSet<DocumentId>,
    /// Reason why it cannot be used.
    pub(crate) why: Lack,
}

/// Reason why a dependency cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// The checkpoint does not publish it.
    Unpublished,
    /// The document was retired.
    Retired,
    /// The document is not a source.
    NotASource,
    /// The chain does not vouch for it.
    Withheld(String),
}

serialize_as_words!(Lack);

impl Lack {
    /// Returns the stable word of the reason.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Unpublished => "not-published",
            Self::Retired => "retired",
            Self::NotASource => "not-a-source",
            Self::Withheld(_) => "withheld",
        }
    }

    /// Returns the reason as a sentence.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Unpublished => "it is not published".to_owned(),
            Self::Retired => "it was retired".to_owned(),
            Self::NotASource => "it is not a source".to_owned(),
            Self::Withheld(why) => format!("it is withheld: {why}"),
        }
    }
}

/// Returns the source that a checkpoint publishes under an id.
///
/// # Errors
/// Returns the reason why there is none.
pub(crate) fn published_source(
    vault: &Vault,
    snapshot: &Snapshot<'_>,
    id: &DocumentId,
) -> Result<Served, Lack> {
    match snapshot.get(id) {
        Some(Ok(served)) if SourceCall::of(&served).is_some() => Ok(served),
        Some(Ok(_)) => Err(Lack::NotASource),
        Some(Err(why)) => Err(Lack::Withheld(why.why.to_string())),
        // A document that the reader may not know of must look as if it never existed.
        None if !snapshot.may_name(id) => Err(Lack::Unpublished),
        None => {
            let history = replay::load(vault.files(), id).ok();
            let is_retired = history.is_some_and(|history| {
                history
                    .entries()
                    .filter_map(Entry::retired_at)
                    .any(|at| snapshot.made_at().is_none_or(|made| at <= made))
            });
            Err(if is_retired { Lack::Retired } else { Lack::Unpublished })
        }
    }
}

impl HydrationPlan {
    /// Sorts some sources and all their dependencies. Other documents are left out.
    pub(crate) fn new(vault: &Vault, snapshot: &Snapshot<'_>, selected: Vec<Served>) -> Self {
        let mut known: BTreeMap<DocumentId, Result<PlannedSource, Lack>> = BTreeMap::new();
        for served in selected.into_iter().filter(|served| SourceCall::of(served).is_some()) {
            let id = served.id.clone();
            known.insert(id, Ok(PlannedSource { served, is_selected: true }));
        }
        let starts: Vec<DocumentId> = known.keys().cloned().collect();
        let found = order::closure(starts, |id| {
            let source = known.entry(id.clone()).or_insert_with(|| {
                let served = published_source(vault, snapshot, id)?;
                Ok(PlannedSource { served, is_selected: false })
            });
            match source {
                Ok(source) => order::needed(id, &source.served.fields),
                Err(_) => BTreeSet::new(),
            }
        });
        let mut needed_by: BTreeMap<&DocumentId, BTreeSet<DocumentId>> = BTreeMap::new();
        for (by, needed) in &found {
            for id in needed.iter().filter(|id| known.get(*id).is_some_and(Result::is_err)) {
                needed_by.entry(id).or_default().insert(by.clone());
            }
        }
        let (mut plan, mut usable) = (Self::default(), BTreeMap::new());
        for (id, source) in known {
            match source {
                Ok(source) => {
                    usable.insert(id, source);
                }
                Err(why) => {
                    let needed_by = needed_by.remove(&id).unwrap_or_default();
                    plan.missing.push(MissingDependency { id, needed_by, why });
                }
            }
        }
        let wanted: BTreeSet<DocumentId> = usable.keys().cloned().collect();
        let order = order::hydration_order(&found, &wanted);
        plan.sources = order.iter().filter_map(|id| usable.remove(id)).collect();
        plan.cycles = order::cyclic_groups(&found);
        plan
    }

    /// Returns true if every source in it can be hydrated.
    pub(crate) fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.cycles.is_empty()
    }
}
