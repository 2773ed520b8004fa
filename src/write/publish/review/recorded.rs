//! The lines of steps in the change log (AUDIT-19), including those that an interrupted command did
//! not write.

use std::collections::{BTreeMap, BTreeSet};

use super::super::governance_files::was_recorded;
use crate::files::vault::Vault;
use crate::policy::rules::{StepKind, Track, fields_of};
use crate::record::audit::changes::{self, Beside};
use crate::record::audit::{Change, ChangeError, Event, Logs, Recorder, ReviewStep, VersionRef};
use crate::record::chain::history::Entry;
use crate::record::chain::replay;
use crate::record::chain::vouched;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::trusted_head::{self, Head};
use crate::text::document::review::{Action, ReviewState};
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;
use crate::write::commit::{self, Item, Step, hint, standing};

/// The versions of an event's steps, by kind of step, set, and reason that their texts lack.
type BySet = BTreeMap<(Step, Option<String>, Option<String>), Vec<VersionRef>>;

/// Returns the change for a step.
fn change_of(step: Step, versions: ReviewStep) -> Change {
    match step {
        Step::Submit => Change::Submit(versions),
        Step::ApproveInPart => Change::ApproveInPart(versions),
        Step::Reject => Change::Reject(versions),
        Step::Withdraw => Change::Withdraw(versions),
        Step::Ratify => Change::Ratify(versions),
    }
}

/// Returns the changes for the versions of a step.
///
/// The texts of documents state the `reason`; those of governance files do not (REV-9).
pub(in super::super) fn changes_of(items: &[Item], reason: Option<&str>) -> Vec<Change> {
    let mut by_step = BySet::new();
    for item in items {
        if let commit::Change::Step(step) = item.change {
            let text = item.submitted.as_deref().filter(|_| item.id.is_document());
            let action = text.and_then(fields_of).and_then(|fields| fields.action);
            let reason = reason.filter(|_| !item.id.is_document()).map(str::to_owned);
            by_step.entry((step, item.set.clone(), reason)).or_default().push(VersionRef {
                id: item.id.to_string(),
                version: item.version.0,
                chain_hash: item.chain_hash.to_string(),
                target: target_of(action.as_ref()),
            });
        }
    }
    let line = |((step, change, reason), versions)| {
        change_of(step, ReviewStep { versions, change, reason, ..ReviewStep::default() })
    };
    by_step.into_iter().map(line).collect()
}

/// Returns the target of a move that a submission proposes.
fn target_of(action: Option<&Action>) -> Option<String> {
    action.and_then(Action::target).map(ToString::to_string)
}

/// Records a committed step whose writer was interrupted, if its line is missing.
///
/// The intent record is withdrawn only afterwards: without the line the submission would not
/// be found.
///
/// # Errors
/// The step was not recorded; the next writer tries again.
pub(crate) fn catch_up(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    recorder: &Recorder,
    now: Timestamp,
) -> Result<(), ChangeError> {
    let Some((key, ids)) = standing(vault, chronicle) else { return Ok(()) };
    if was_recorded(vault, chronicle) {
        let head = Head::of(chronicle);
        for (made_by, change) in left_out(vault, &ids)? {
            let recorder = recorder.of_interrupted(&made_by);
            changes::other(vault, Some(&head), &recorder, now, change)?;
        }
    }
    trusted_head::withdraw(vault, |left| left.event == key);
    if trusted_head::interrupted(vault, &Head::of(chronicle)).is_none() {
        hint::remove(vault.files());
    }
    Ok(())
}

/// Returns the versions of an interrupted step of this user that [`catch_up`] would record.
///
/// # Errors
/// A log cannot be read.
pub(crate) fn interrupted_step(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
) -> Result<Vec<VersionRef>, ChangeError> {
    let Some((_, ids)) = standing(vault, chronicle) else { return Ok(Vec::new()) };
    let changes = left_out(vault, &ids)?;
    let versions = changes.into_iter().flat_map(|(_, change)| {
        change.step().map(|step| step.versions.clone()).unwrap_or_default()
    });
    Ok(versions.collect())
}

/// Records the events of this user whose lines are missing, and ends their intent records.
///
/// Lines of emergency retirements are added, too. Returns the checkpoints of the events.
///
/// # Errors
/// A line could not be written.
pub(crate) fn catch_up_event(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    recorder: &Recorder,
    now: Timestamp,
) -> Result<Vec<CheckpointNumber>, ChangeError> {
    let recorded = changes::catch_up((vault, chronicle), recorder, now, &|checkpoint| {
        let made_by = maker_of(vault, checkpoint);
        if !super::super::is_governed(vault, chronicle).unwrap_or(true) {
            return Ok(Beside { change: None, made_by });
        }
        let mut versions = emergencies(vault, checkpoint);
        if !versions.is_empty() {
            let recorded = recorded(vault)?;
            versions.retain(|version| !recorded.contains(&version.chain_hash));
        }
        let step = ReviewStep { versions, recovered: true, ..ReviewStep::default() };
        let change = (!step.versions.is_empty()).then_some(Change::Emergency(step));
        Ok(Beside { change, made_by })
    })?;
    commit::complete(vault, chronicle);
    Ok(recorded)
}

/// Returns the principal who made the event of a checkpoint, as the histories name them.
fn maker_of(vault: &Vault, checkpoint: &Checkpoint) -> Option<String> {
    let mut ids = checkpoint.set.iter().map(|(id, _)| id).chain(&checkpoint.removed);
    ids.find_map(|id| {
        let history = replay::load(vault.files(), id).ok()?;
        let mut entries = history.entries().rev();
        let made = entries.find(|entry| entry.event_at() == Some(checkpoint.at))?;
        Some(made.edited_by.clone())
    })
}

/// Returns the additional change of an event with emergency retirements.
///
/// Its line is written first, so that an event with a line has all of its lines.
pub(in super::super) fn beside(vault: &Vault, checkpoint: &Checkpoint) -> Option<Change> {
    let versions = emergencies(vault, checkpoint);
    let step = ReviewStep { versions, ..ReviewStep::default() };
    (!step.versions.is_empty()).then_some(Change::Emergency(step))
}

/// Returns the versions that the last checkpoint retired in an emergency.
fn emergencies(vault: &Vault, checkpoint: &Checkpoint) -> Vec<VersionRef> {
    let retired = checkpoint.removed.iter().filter(|id| id.is_document());
    let version = |id: &DocumentId| {
        let history = replay::load(vault.files(), id).ok()?;
        let of_event = |entry: &&Entry| entry.retired_at() == Some(checkpoint.at);
        let entry = history.entries().rev().find(of_event)?;
        let text = vouched::vouched(vault.files(), id, &history, entry.version).ok()?;
        let fields = fields_of(&text)?;
        (fields.state == ReviewState::Emergency).then(|| VersionRef {
            id: id.to_string(),
            version: entry.version.0,
            chain_hash: entry.chain_hash.to_string(),
            target: None,
        })
    };
    retired.filter_map(version).collect()
}

/// Returns the changes for the last versions of these histories that lack a line, with
/// their makers.
fn left_out(
    vault: &Vault,
    ids: &BTreeSet<DocumentId>,
) -> Result<Vec<(String, Change)>, ChangeError> {
    let recorded = recorded(vault)?;
    let mut by_step: BTreeMap<_, Vec<VersionRef>> = BTreeMap::new();
    for id in ids {
        let Ok(history) = replay::load(vault.files(), id) else { continue };
        let Some(entry) = history.entries().next_back() else { continue };
        let chain_hash = entry.chain_hash.to_string();
        let track = Track::of(vault.files(), id, &history).ok();
        let kind = Track::last_kind(vault.files(), id, &history).ok().and_then(step_of);
        let set = track.as_ref().and_then(|track| track.tail.change.clone());
        if let Some(step) = kind.filter(|_| !recorded.contains(&chain_hash)) {
            let pending = track.as_ref().and_then(|track| track.pending.as_ref());
            let pending = pending.filter(|_| step == Step::Submit);
            let target = target_of(pending.and_then(|pending| pending.action.as_ref()));
            let (id, version) = (id.to_string(), entry.version.0);
            let version = VersionRef { id, version, chain_hash, target };
            let made_by = entry.edited_by.clone();
            by_step.entry((made_by, step, set)).or_default().push(version);
        }
    }
    let line = |((made_by, step, change), versions)| {
        let step = change_of(
            step,
            ReviewStep { versions, change, recovered: true, ..ReviewStep::default() },
        );
        (made_by, step)
    };
    Ok(by_step.into_iter().map(line).collect())
}

/// Returns the step that made a version.
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

/// Returns the chain hashes of the versions in lines of steps.
fn recorded(vault: &Vault) -> Result<BTreeSet<String>, ChangeError> {
    let mut found = BTreeSet::new();
    let logs = Logs::of_changes(vault);
    let read = logs.and_then(|logs| {
        logs.steps(&mut |line| {
            let Event::Change(change) = &line.event else { return };
            let versions = change.step().map_or(&[][..], |step| &step.versions);
            found.extend(versions.iter().map(|version| version.chain_hash.clone()));
        })
    });
    read.map_err(ChangeError::Tail)?;
    Ok(found)
}
