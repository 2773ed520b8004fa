//! Recovery after an interrupted command: what no checkpoint seals is moved away, live and derived
//! files are brought up to date, and what is lost is named.

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

/// What a recovery is asked to do.
#[derive(Debug)]
pub(crate) struct Request<'r> {
    /// What a command that waits for the write lock shows.
    pub(crate) holder: &'r str,
    /// Write nothing.
    pub(crate) dry_run: bool,
    /// Move uncommitted files away although no intent record explains them.
    pub(crate) force: bool,
    /// What the caller has read.
    pub(crate) expect: Expect,
}

/// What a recovery did, or would do.
#[derive(Debug)]
pub(crate) struct Recovery {
    /// Whether an intent record explains all that is uncommitted.
    pub(crate) is_explained: bool,
    /// What was moved and brought up to date.
    pub(crate) recovered: Recovered,
    /// Artifacts beside whose histories nothing was moved.
    pub(crate) broken: Vec<(DocumentId, Uncleared)>,
    /// The checkpoints of interrupted commands of this user whose lines the change log lacks: who
    /// asked for the recovery adds them, unless it is a dry run.
    pub(crate) owed: Vec<CheckpointNumber>,
    /// The versions of an interrupted step of a review that stands, and whose lines are added like
    /// those of the events.
    pub(crate) steps: Vec<VersionRef>,
    /// The promotions that were interrupted between their document and their act: the caller completes
    /// them.
    pub(crate) promotions: Vec<CompletedPromotion>,
    /// The act upon staged entries that was interrupted before its line in the change log, which the
    /// caller adds.
    pub(crate) acts: Option<CompletedAct>,
    /// The contents of staged entries that an interrupted command left, and that no entry claims: the
    /// caller removes them.
    pub(crate) unclaimed: Vec<String>,
    /// The files of change logs and staging chains of this user that ended in a torn line, which was
    /// removed.
    pub(crate) torn: Vec<String>,
    /// The derived files that an interrupted command did not write again.
    pub(crate) derived: Followed,
    /// What cannot be restored from the files.
    pub(crate) lost: Lost,
    /// Why nothing was touched: the log cannot be relied on.
    pub(crate) unreliable: Option<Unreliable>,
}

/// A promotion that was interrupted after its document was made, and was completed.
#[derive(Debug)]
pub(crate) struct CompletedPromotion {
    /// The URI of the staged entry.
    pub(crate) entry: String,
    /// The document.
    pub(crate) document: DocumentId,
    /// The version that was made of the entry.
    pub(crate) version: Version,
}

/// An act upon staged entries whose line was added to the change log.
#[derive(Debug)]
pub(crate) struct CompletedAct {
    /// Its word.
    pub(crate) action: &'static str,
    /// The URIs of the entries.
    pub(crate) staged: Vec<String>,
}

/// Why a log cannot be relied on.
#[derive(Debug)]
pub(crate) enum Unreliable {
    /// It is broken.
    Log(LogError),
    /// It does not hold the trusted head.
    Head(HeadError),
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RecoverError {
    /// Files or entries are uncommitted, and no intent record explains them.
    #[error("no intent record explains what is uncommitted")]
    Unexplained(Vec<UncommittedFile>),
    /// Histories of documents, each with its id and the one where it is now, were moved with their
    /// folder.
    #[error("histories were moved with their folder")]
    Moved(Vec<(DocumentId, DocumentId)>),
    /// Something else is published than what the caller has read.
    #[error(transparent)]
    Expected(#[from] ExpectError),
    /// Another process holds the write lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Reading or writing failed.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Moves away what an interrupted command left, brings live files up to date, and looks for what is
/// lost. Beside a log that cannot be relied on, nothing is touched.
///
/// # Errors
/// Nothing was done; see [`RecoverError`].
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
        // The line of a step that stands is for the next writer.
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

/// The refusal that histories are where a move of their folder without ctx left them: what no checkpoint
/// seals there is the record of documents.
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

/// Writes the derived files again that the last event did not, because its command was interrupted.
fn write_derived(vault: &Vault, chronicle: &Chronicle<'_>, dry_run: bool) -> Followed {
    let Some(last) = chronicle.head() else { return Followed::default() };
    let removed = last.removed.iter().filter(|id| id.is_document());
    let removed: Vec<DocumentId> = removed.cloned().collect();
    let Ok(state) = chronicle.state_at(last.number) else { return Followed::default() };
    let documents = state.iter().filter(|(id, _)| id.is_document()).count();
    derived::follow(vault, documents, &removed, dry_run)
}

/// What carrying out a plan would do.
fn planned(plan: CleanupPlan) -> Recovered {
    let caught_up = plan.behind.iter().map(|(id, _)| id.live_path()).collect();
    Recovered { kept: plan.uncommitted, caught_up, ..Recovered::default() }
}

impl Recovery {
    /// Whether nothing was done, or would be.
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
