//! The lines of steps in the change log (AUDIT-19), and those that an interrupted command did not
//! write.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Author;
use super::super::governance::{recorder_of, was_recorded};
use crate::audit::{Change, ChangeError, Event, Logs, ReviewStep, VersionRef, changes};
use crate::chain::replay;
use crate::checkpoint::chronicle::Chronicle;
use crate::model::id::DocumentId;
use crate::review::{StepKind, Track};
use crate::trust::{self, Head};
use crate::txn::{self, Item, Step, hint, standing};
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

/// Records a step whose writer was interrupted after it was committed, if its line is missing. Only
/// then the word that its writer left is withdrawn: without the line nobody would find what awaits.
///
/// # Errors
/// It was not recorded; the next writer does it.
pub(in super::super) fn catch_up(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    author: &Author,
) -> Result<(), ChangeError> {
    let Some((key, ids)) = standing(vault, chronicle) else { return Ok(()) };
    if was_recorded(vault, chronicle) {
        let recorder = recorder_of(vault, chronicle, author);
        let head = Head::of(chronicle);
        for change in left_out(vault, &ids)? {
            changes::other(vault, Some(&head), &recorder, author.now, change)?;
        }
    }
    trust::withdraw(vault, |left| left.event == key);
    if trust::interrupted(vault, &Head::of(chronicle)).is_none() {
        hint::remove(vault.files());
    }
    Ok(())
}

/// The changes that the last versions of these histories are, but for those that have a line.
fn left_out(vault: &Vault, ids: &BTreeSet<DocumentId>) -> Result<Vec<Change>, ChangeError> {
    let recorded = recorded(vault)?;
    let mut by_step: BTreeMap<Step, Vec<VersionRef>> = BTreeMap::new();
    for id in ids {
        let Ok(history) = replay::load(vault.files(), id) else { continue };
        let Some(entry) = history.entries().next_back() else { continue };
        let chain_hash = entry.chain_hash.to_string();
        let kind = Track::last_kind(vault.files(), id, &history).ok().and_then(step_of);
        if let Some(step) = kind.filter(|_| !recorded.contains(&chain_hash)) {
            let version = VersionRef { id: id.to_string(), version: entry.version.0, chain_hash };
            by_step.entry(step).or_default().push(version);
        }
    }
    let line = |(step, versions)| {
        change_of(step, ReviewStep { versions, recovered: true, ..ReviewStep::default() })
    };
    Ok(by_step.into_iter().map(line).collect())
}

/// The step that made a version.
fn step_of(kind: StepKind) -> Option<Step> {
    match kind {
        StepKind::Submitted => Some(Step::Submit),
        StepKind::ApprovedInPart => Some(Step::ApproveInPart),
        StepKind::Rejected => Some(Step::Reject),
        StepKind::Withdrawn => Some(Step::Withdraw),
        StepKind::Ratified => Some(Step::Ratify),
        StepKind::Event | StepKind::Other => None,
    }
}

/// The chain hashes of the versions that a line of a step names.
fn recorded(vault: &Vault) -> Result<BTreeSet<String>, ChangeError> {
    let mut found = BTreeSet::new();
    let logs = Logs::of_changes(vault);
    let read = logs.and_then(|logs| {
        logs.each(&mut |line| {
            let Event::Change(change) = &line.event else { return };
            if matches!(change, Change::Comment { .. }) {
                return;
            }
            found.extend(change.versions().iter().map(|version| version.chain_hash.clone()));
        })
    });
    read.map_err(ChangeError::Tail)?;
    Ok(found)
}
