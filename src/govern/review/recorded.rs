//! The lines of steps in the change log (AUDIT-19), and those that an interrupted command did not
//! write.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Author;
use crate::audit::{Change, ChangeError, ReviewStep, VersionRef, changes};
use crate::chain::history::EntryState;
use crate::chain::replay;
use crate::checkpoint::chronicle::Chronicle;
use crate::model::id::DocumentId;
use crate::review::{StepKind, Track};
use crate::trust::{self, EventKey, Head};
use crate::txn::{self, Item, Step, hint};
use crate::vault::Vault;

/// The change that a step is.
fn change_of(step: Step, versions: ReviewStep) -> Change {
    match step {
        Step::Submit => Change::Submit(versions),
        Step::ApproveInPart => Change::ApproveInPart(versions),
        Step::Reject => Change::Reject(versions),
        Step::Withdraw => Change::Withdraw(versions),
        Step::Ratify => Change::Ratify(versions),
    }
}

/// The changes that these versions are, which a step made.
pub(in super::super) fn changes_of(items: &[Item], change: Option<&str>) -> Vec<Change> {
    let mut by_step: BTreeMap<Step, Vec<VersionRef>> = BTreeMap::new();
    for item in items {
        if let txn::Change::Step(step) = item.change {
            by_step.entry(step).or_default().push(VersionRef {
                id: item.id.to_string(),
                version: item.version.0,
                chain_hash: item.chain_hash.to_string(),
            });
        }
    }
    let line = |(step, versions)| {
        let change = change.map(str::to_owned);
        change_of(step, ReviewStep { versions, change, ..ReviewStep::default() })
    };
    by_step.into_iter().map(line).collect()
}

/// A step whose writer was interrupted before its line was written, as it was found before what it
/// left was cleared away.
#[derive(Debug, Default)]
pub(in super::super) struct Left(Option<(EventKey, BTreeSet<DocumentId>)>);

impl Left {
    /// What a writer left here.
    pub(in super::super) fn of(vault: &Vault) -> Self {
        let intent = trust::begun_last(vault);
        Self(intent.and_then(|intent| {
            let ids = hint::read(vault.files(), intent.event.at)?;
            Some((intent.event, ids))
        }))
    }
}

/// Records a step that was committed, if its line is missing.
///
/// # Errors
/// It was not recorded.
pub(in super::super) fn catch_up(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    left: &Left,
    author: &Author,
) -> Result<(), ChangeError> {
    let Some((key, ids)) = &left.0 else { return Ok(()) };
    let mut by_step: BTreeMap<&str, Vec<VersionRef>> = BTreeMap::new();
    for id in ids {
        let Ok(history) = replay::load(vault.files(), id) else { continue };
        let Some(entry) = history.entries().next_back() else { continue };
        if EventKey::of(entry) != *key || entry.state != EntryState::Unpublished {
            continue;
        }
        let Ok(kind) = Track::last_kind(vault.files(), id, &history) else { continue };
        by_step.entry(kind.as_str()).or_default().push(VersionRef {
            id: id.to_string(),
            version: entry.version.0,
            chain_hash: entry.chain_hash.to_string(),
        });
    }
    let head = Head::of(chronicle);
    by_step.into_iter().try_for_each(|(kind, versions)| {
        let step = [
            (StepKind::Submitted, Step::Submit),
            (StepKind::ApprovedInPart, Step::ApproveInPart),
            (StepKind::Rejected, Step::Reject),
            (StepKind::Withdrawn, Step::Withdraw),
            (StepKind::Ratified, Step::Ratify),
        ];
        let step = step.into_iter().find(|(known, _)| known.as_str() == kind);
        let Some((_, step)) = step else { return Ok(()) };
        let versions = ReviewStep { versions, recovered: true, ..ReviewStep::default() };
        let change = change_of(step, versions);
        changes::other(vault, Some(&head), &author.recorder, author.now, change)
    })
}
