//! Cleanup by the next writer after an interrupted one (`spec/transactions.md`, section 5).

use rayon::prelude::*;
use std::collections::{BTreeSet, HashSet};

use super::item::Live;
use super::point;
use super::uncommitted::{Uncleared, UncommittedFile};
use super::{behind, beyond, hint, keep, uncommitted};
use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::files::vault::write::Written;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::log::Log;
use crate::record::trusted_head::{self, Head, HeadError};
use crate::values::model::id::DocumentId;

/// The reason for which a writer could not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettleError {
    /// The log cannot be relied on.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log does not contain the trusted head.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// A file could not be moved or written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The artifacts to look at.
#[derive(Clone, Debug)]
pub enum Scope {
    /// These artifacts.
    Ids(BTreeSet<DocumentId>),
    /// All artifacts that the log or a folder of histories names.
    Everything,
}

/// The remains of an interrupted command.
#[derive(Debug, Default)]
pub struct CleanupPlan {
    /// Bytes that no checkpoint seals, in byte order of their paths.
    pub uncommitted: Vec<UncommittedFile>,
    /// Live files that the last event did not bring up to date.
    pub behind: Vec<(DocumentId, Live)>,
    /// Artifacts whose folder is not cleaned up, with the reason.
    pub broken: Vec<(DocumentId, Uncleared)>,
    /// True if an interrupted writer committed a step of a review.
    ///
    /// The hint is kept until the line of the step is in the change log.
    pub(crate) has_step: bool,
}

impl CleanupPlan {
    /// Returns true if there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.uncommitted.is_empty() && self.behind.is_empty()
    }
}

/// The result of a cleanup.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The folder that contains the moved bytes; `None` if nothing was moved.
    pub folder: Option<String>,
    /// The bytes that were moved there.
    pub kept: Vec<UncommittedFile>,
    /// Live files that were brought up to date.
    pub caught_up: Vec<String>,
    /// Live files that were not changed, with the reason.
    pub left_alone: Vec<(String, FileError)>,
}

impl Recovered {
    /// Adds the result of a later cleanup.
    pub(crate) fn take(&mut self, later: Self) {
        self.folder = self.folder.take().or(later.folder);
        self.kept.extend(later.kept);
        self.caught_up.extend(later.caught_up);
        self.left_alone.extend(later.left_alone);
    }

    /// Returns true if nothing was done, and nothing must be reported.
    pub fn is_empty(&self) -> bool {
        !self.changed_anything() && self.left_alone.is_empty()
    }

    /// Returns the files that were moved or brought up to date, in byte order.
    pub(crate) fn paths(&self) -> Vec<String> {
        let kept = self.kept.iter().map(|file| &file.path);
        let mut paths: Vec<String> = kept.chain(&self.caught_up).cloned().collect();
        paths.sort_unstable();
        paths
    }

    /// Returns true if the cleanup changed the vault.
    pub(crate) fn changed_anything(&self) -> bool {
        !self.kept.is_empty() || !self.caught_up.is_empty()
    }
}

/// Finds the remains of an interrupted writer. Reads only.
pub fn plan(vault: &Vault, chronicle: &Chronicle<'_>, scope: &Scope) -> CleanupPlan {
    let behind = behind::of_last_event(vault, chronicle, true);
    CleanupPlan { behind, ..uncommitted_of(vault, chronicle, scope) }
}

fn uncommitted_of(vault: &Vault, chronicle: &Chronicle<'_>, scope: &Scope) -> CleanupPlan {
    let everything;
    let ids = match scope {
        Scope::Ids(ids) => ids,
        Scope::Everything => {
            everything = uncommitted::everything(vault, chronicle);
            &everything
        }
    };
    let sealed = uncommitted::SealedVersions::of(vault, chronicle, ids);
    let looked: Vec<_> =
        ids.par_iter().map(|id| (id, uncommitted::of_artifact(vault, id, &sealed))).collect();
    let mut plan = CleanupPlan {
        uncommitted: uncommitted::of_vault(vault, chronicle),
        has_step: beyond::standing(vault, chronicle).is_some(),
        ..CleanupPlan::default()
    };
    for (id, found) in looked {
        match found {
            Ok(found) => plan.uncommitted.extend(found),
            Err(why) => plan.broken.push((id.clone(), why)),
        }
    }
    plan.uncommitted.sort_by(|a, b| a.path.cmp(&b.path));
    plan
}

/// Carries out a cleanup.
///
/// The caller must hold the write lock. It may clean up after a writer that left an intent record,
/// or on the demand of a user who saw the plan.
///
/// # Errors
/// A file could not be kept, or was changed meanwhile; the rest stays where it is.
pub fn carry_out(vault: &Vault, plan: CleanupPlan) -> Result<Recovered, FileError> {
    let has_step = plan.has_step;
    let folder = keep::keep(vault.files(), &plan.uncommitted)?;
    let mut recovered = Recovered { folder, kept: plan.uncommitted, ..Recovered::default() };
    let lives: Vec<(String, &Live)> =
        plan.behind.iter().map(|(id, live)| (id.live_path(), live)).collect();
    let left_alone = point::bring_up_to_date(vault.files(), &lives)?;
    let alone: HashSet<&String> = left_alone.iter().map(|(path, _)| path).collect();
    let is_done = |path: &String| !alone.contains(path);
    recovered.caught_up = lives.into_iter().map(|(path, _)| path).filter(is_done).collect();
    // If a file could not be written, the next writer tries again. A file that another process
    // changed is left to that process.
    let is_over = left_alone.iter().all(|(_, why)| why.is_changed());
    recovered.left_alone = left_alone;
    let names: Vec<Written<'_>> = recovered.caught_up.iter().map(|p| Written::Named(p)).collect();
    vault.files().sync(&names)?;
    if is_over && !has_step {
        hint::remove(vault.files());
    }
    Ok(recovered)
}

/// Reads the log and cleans up after an interrupted command, as every writer does first under
/// the lock.
///
/// The log must contain the trusted head.
///
/// # Errors
/// The log cannot be relied on, or the cleanup failed.
pub(crate) fn settled_log(vault: &Vault) -> Result<(Log, Recovered), SettleError> {
    let mut recovered = Recovered::default();
    loop {
        let log = trusted_head::open_log_locked(vault)?;
        let chronicle = log.sound()?;
        trusted_head::check(vault, &chronicle)?;
        let settled = settle(vault, &chronicle)?;
        let is_settled = !settled.changed_anything();
        recovered.take(settled);
        if is_settled {
            return Ok((log, recovered));
        }
    }
}

/// Cleans up after a command that was interrupted here.
///
/// Bytes after the sealed ones are moved only if a writer recorded the intent to extend this end of
/// the log, and only if they are of that event. Live files are brought up to date in any case; they
/// get the text that the log seals.
///
/// # Errors
/// See [`carry_out`]; or the hashes of the log do not match.
fn settle(vault: &Vault, chronicle: &Chronicle<'_>) -> Result<Recovered, SettleError> {
    let was_hinted = hint::is_left(vault.files());
    let interrupted = trusted_head::interrupted(vault, &Head::of(chronicle));
    let has_torn_end = chronicle.torn() > 0;
    let has_temporaries = vault.files().has_temporaries();
    let is_converted = chronicle.duplicate().is_some();
    let has_died = was_hinted || interrupted.is_some();
    if !has_died && !has_torn_end && !is_converted && !has_temporaries {
        return Ok(Recovered::default());
    }
    let scope = match &interrupted {
        None => Scope::Ids(BTreeSet::new()),
        // The hint may be of another writer, or was removed or altered by hand or by a power cut.
        Some(event) => {
            let ids = hint::read(vault.files(), event.at);
            ids.map_or(Scope::Everything, Scope::Ids)
        }
    };
    let mut plan = uncommitted_of(vault, chronicle, &scope);
    plan.uncommitted.retain(|file| file.is_of(interrupted.as_ref()));
    if interrupted.is_some() && !plan.uncommitted.is_empty() {
        // A log that was altered before its end might no longer name versions that it once sealed.
        chronicle.check_hashes(vault.files())?;
    }
    if was_hinted {
        plan.behind = behind::of_last_event(vault, chronicle, true);
    }
    let has_step = plan.has_step;
    let recovered = carry_out(vault, plan)?;
    if let Some(event) = interrupted.filter(|_| !has_step) {
        trusted_head::withdraw(vault, |intent| intent.event == event);
    }
    Ok(recovered)
}

/// Returns the live files that the last event did not bring up to date, if its command
/// was interrupted.
pub(crate) fn interrupted_lives(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
) -> Vec<(DocumentId, Live)> {
    match hint::is_left(vault.files()) {
        true => behind::of_last_event(vault, chronicle, false),
        false => Vec::new(),
    }
}

/// Ends the intent records of committed events, if no live file waits for the next writer.
///
/// If changes are recorded, the caller has recorded the event in the change log.
pub(crate) fn complete(vault: &Vault, chronicle: &Chronicle<'_>) {
    if !hint::is_left(vault.files()) {
        trusted_head::complete(vault, |intent| intent.is_committed(|n| chronicle.hash_of(n)));
    }
}
