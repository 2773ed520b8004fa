//! Recovery after an interrupted command: moves away what no checkpoint seals, updates live and
//! derived files, and lists what is lost.

use std::{io, mem};

use super::lost::{Lost, lost};
use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::files::vault::lock::LockError;
use crate::read::derived::{self, Followed};
use crate::record::audit::{VersionRef, changes};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::moved::MissingHistories;
use crate::record::staging;
use crate::record::trusted_head::{self, Head, HeadError};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::AUDIT_DIR;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::write::commit::expect::{self, Expect, ExpectError};
use crate::write::commit::{self, CleanupPlan, Recovered, Scope, Uncleared, UncommittedFile};
use crate::write::publish::review;

/// Options of a recovery.
#[derive(Debug)]
pub(crate) struct Request<'r> {
    /// Text that commands waiting for the write lock show.
    pub(crate) holder: &'r str,
    pub(crate) dry_run: bool,
    /// Move uncommitted files away even if no intent record explains them.
    pub(crate) force: bool,
    /// Published state that the caller has read.
    pub(crate) expect: Expect,
}

/// Result of a recovery, or of a dry run.
#[derive(Debug)]
pub(crate) struct Recovery {
    /// True if an intent record explains all uncommitted files.
    pub(crate) is_explained: bool,
    /// Files that were moved or updated.
    pub(crate) recovered: Recovered,
    /// Artifacts whose uncommitted files were not moved.
    pub(crate) broken: Vec<(DocumentId, Uncleared)>,
    /// Checkpoints of interrupted commands of this user without a line in the change log. The
    /// caller adds these lines, except in a dry run.
    pub(crate) owed: Vec<CheckpointNumber>,
    /// Versions of an interrupted step of a review that is kept. The caller adds its line, too.
    pub(crate) steps: Vec<VersionRef>,
    /// Promotions that were interrupted between document and act. The caller completes them.
    pub(crate) promotions: Vec<CompletedPromotion>,
    /// Act on staged entries that was interrupted before its line in the change log. The caller
    /// adds the line.
    pub(crate) acts: Option<CompletedAct>,
    /// Contents of staged entries that an interrupted command wrote and no entry names. The caller
    /// removes them.
    pub(crate) unclaimed: Vec<String>,
    /// Files of change logs and staging chains of this user with a torn end, which was removed.
    pub(crate) torn: Vec<String>,
    /// Derived files that an interrupted command did not update.
    pub(crate) derived: Followed,
    /// Data that cannot be restored from the files.
    pub(crate) lost: Lost,
    /// Reason why nothing was touched: the log is unreliable.
    pub(crate) unreliable: Option<Unreliable>,
}

/// A promotion that was interrupted after its document was made, and was completed.
#[derive(Debug)]
pub(crate) struct CompletedPromotion {
    /// URI of the staged entry.
    pub(crate) entry: String,
    pub(crate) document: DocumentId,
    /// Version that was made from the entry.
    pub(crate) version: Version,
}

/// An act on staged entries whose line was added to the change log.
#[derive(Debug)]
pub(crate) struct CompletedAct {
    /// Name of the act.
    pub(crate) action: &'static str,
    /// URIs of the entries.
    pub(crate) staged: Vec<String>,
}

/// Reason why a log is unreliable.
#[derive(Debug)]
pub(crate) enum Unreliable {
    /// The log is broken.
    Log(LogError),
    /// The log does not contain the trusted head.
    Head(HeadError),
}

/// Reason why nothing was done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RecoverError {
    /// Files or entries are uncommitted, and no intent record explains them.
    #[error("no intent record explains the uncommitted files")]
    Unexplained(Vec<UncommittedFile>),
    /// Histories were moved with their folder. Each pair is the old id and the new one.
    #[error("histories were moved with their folder")]
    Moved(Vec<(DocumentId, DocumentId)>),
    /// Another state is published than the one that the caller has read.
    #[error(transparent)]
    Expected(#[from] ExpectError),
    /// Another process holds the write lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Reading or writing failed.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Moves uncommitted files of an interrupted command away, updates live files, and lists what is
/// lost. If the log is unreliable, nothing is touched.
///
/// # Errors
/// Returns a [`RecoverError`] if nothing was done.
pub(crate) fn recover(vault: &Vault, request: &Request<'_>) -> Result<Recovery, RecoverError> {
    let _lock = if request.dry_run { None } else { Some(vault.lock(request.holder)?) };
    let log = trusted_head::read_log(vault)?;
    if let Err(why @ LogError::LeftOut { .. }) = log.check_against_histories(vault) {
        return Ok(Recovery::untouched(Lost::default(), Unreliable::Log(why)));
    }
    let sound = log.sound();
    let faults: Vec<LogError> =
        sound.iter().flat_map(|chronicle| chronicle.hash_faults(vault.files())).collect();
    let lost = lost(vault, &log, &faults);
    let sound = sound.and_then(|chronicle| faults.into_iter().next().map_or(Ok(chronicle), Err));
    let chronicle = match sound {
        Ok(chronicle) => chronicle,
        Err(why) => return Ok(Recovery::untouched(lost, Unreliable::Log(why))),
    };
    if let Err(why) = trusted_head::check(vault, &chronicle) {
        return Ok(Recovery::untouched(lost, Unreliable::Head(why)));
    }
    expect::check((vault, &chronicle), &[], request.expect, |_| true)?;
    let end = Head::of(&chronicle);
    let interrupted = trusted_head::interrupted(vault, &end);
    let mut plan = commit::plan(vault, &chronicle, &Scope::Everything);
    let is_explained = plan.uncommitted.iter().all(|left| left.is_of(interrupted.as_ref()));
    if !is_explained && let Some(moved) = moved_folders(vault, &chronicle) {
        return Err(moved);
    }
    if !is_explained && !request.force {
        plan.uncommitted.retain(|file| !file.is_of(interrupted.as_ref()));
        return Err(RecoverError::Unexplained(plan.uncommitted));
    }
    let owed = changes::owed(vault, &chronicle).map_err(FileError::io("read", AUDIT_DIR))?;
    let owed = owed.into_keys().collect();
    let steps = review::interrupted_step(vault, &chronicle);
    let steps = steps.map_err(|why| FileError::io("read", AUDIT_DIR)(io::Error::other(why)))?;
    let mut torn = changes::torn(vault)?;
    torn.extend(staging::torn(vault)?);
    let mut broken = mem::take(&mut plan.broken);
    broken.retain(|(id, _)| !lost.left_out.has(&id.history_path()));
    let recovered = if request.dry_run {
        planned(plan)
    } else {
        let has_step = plan.has_step;
        let recovered = commit::carry_out(vault, plan)?;
        torn.iter().try_for_each(|line| line.cut(vault.files()))?;
        // The next writer adds the line of a step that is kept.
        trusted_head::withdraw(vault, |intent| intent.upon == end && !has_step);
        if !changes::is_begun_at(vault, &chronicle) {
            commit::complete(vault, &chronicle);
        }
        recovered
    };
    let derived = match lost.is_empty() {
        true => write_derived(vault, &chronicle, request.dry_run),
        false => Followed::default(),
    };
    let (promotions, acts, unclaimed, unreliable) = Default::default();
    let torn = torn.into_iter().map(|line| line.path).collect();
    Ok(Recovery {
        is_explained,
        recovered,
        broken,
        owed,
        steps,
        promotions,
        acts,
        unclaimed,
        torn,
        derived,
        lost,
        unreliable,
    })
}

/// Returns the refusal if histories were moved with their folder without ctx: there, unsealed
/// histories are the record of documents.
fn moved_folders(vault: &Vault, chronicle: &Chronicle<'_>) -> Option<RecoverError> {
    let state = chronicle.state_at(chronicle.head_number()).ok()?;
    let missing = MissingHistories::of(vault.files(), &state);
    let folders = vault.history_folders();
    let ids = folders.iter().filter_map(|dir| DocumentId::of_history_dir(dir).ok());
    let ids: Vec<DocumentId> = ids.filter(|id| state.get(id.as_str()).is_none()).collect();
    let moves = missing.moves(vault.files(), ids.iter());
    let moves: Vec<_> = moves.into_iter().map(|(old, new)| (old.clone(), new.clone())).collect();
    (!moves.is_empty()).then_some(RecoverError::Moved(moves))
}

/// Updates the derived files that the last event did not write, because its command
/// was interrupted.
fn write_derived(vault: &Vault, chronicle: &Chronicle<'_>, dry_run: bool) -> Followed {
    let Some(last) = chronicle.head() else { return Followed::default() };
    let removed = last.removed.iter().filter(|id| id.is_document());
    let removed: Vec<DocumentId> = removed.cloned().collect();
    let Ok(state) = chronicle.state_at(last.number) else { return Followed::default() };
    let documents = state.iter().filter(|(id, _)| id.is_document()).count();
    derived::follow(vault, documents, &removed, dry_run)
}

/// Returns the expected result of a plan.
fn planned(plan: CleanupPlan) -> Recovered {
    let caught_up = plan.behind.iter().map(|(id, _)| id.live_path()).collect();
    Recovered { kept: plan.uncommitted, caught_up, ..Recovered::default() }
}

impl Recovery {
    /// Returns true if there was nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        let is_settled = self.owed.is_empty()
            && self.steps.is_empty()
            && self.promotions.is_empty()
            && self.acts.is_none();
        let is_settled = is_settled && self.unclaimed.is_empty() && self.torn.is_empty();
        self.recovered.is_empty() && is_settled && self.derived.written.is_empty()
    }

    fn untouched(lost: Lost, why: Unreliable) -> Self {
        let recovered = Recovered::default();
        let unreliable = Some(why);
        let (broken, owed, steps, promotions, acts, unclaimed, torn) = Default::default();
        let derived = Followed::default();
        Self {
            is_explained: true,
            recovered,
            broken,
            owed,
            steps,
            promotions,
            acts,
            unclaimed,
            torn,
            derived,
            lost,
            unreliable,
        }
    }
}
