//! What an interrupted writer left, and how the next one clears it away (`spec/transactions.md`,
//! section 5).

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

/// Why a writer could not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettleError {
    /// The log cannot be relied on.
    #[error(transparent)]
    Log(#[from] LogError),
    /// It does not hold what is trusted for it.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// Something could not be cleared away.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Which artifacts to look at.
#[derive(Clone, Debug)]
pub enum Scope {
    /// These.
    Ids(BTreeSet<DocumentId>),
    /// All that the log or a folder of histories names.
    Everything,
}

/// What an interrupted command left.
#[derive(Debug, Default)]
pub struct CleanupPlan {
    /// Bytes that no checkpoint seals, in byte order of their paths.
    pub uncommitted: Vec<UncommittedFile>,
    /// Live files that the last event did not bring up to date.
    pub behind: Vec<(DocumentId, Live)>,
    /// Artifacts beside whose histories nothing is cleared.
    pub broken: Vec<(DocumentId, Uncleared)>,
    /// Whether a step of a review stands whose writer was interrupted: word of it is kept until its
    /// line is in the change log.
    pub(crate) has_step: bool,
}

impl CleanupPlan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.uncommitted.is_empty() && self.behind.is_empty()
    }
}

/// What was done about it.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The folder that holds what was moved, where anything was.
    pub folder: Option<String>,
    /// What was moved there.
    pub kept: Vec<UncommittedFile>,
    /// Live files that were brought up to date.
    pub caught_up: Vec<String>,
    /// Live files that were left as they are, and why.
    pub left_alone: Vec<(String, FileError)>,
}

impl Recovered {
    /// Takes in what was done after this.
    pub(crate) fn take(&mut self, later: Self) {
        self.folder = self.folder.take().or(later.folder);
        self.kept.extend(later.kept);
        self.caught_up.extend(later.caught_up);
        self.left_alone.extend(later.left_alone);
    }

    /// Whether nothing was done, and nothing has to be reported.
    pub fn is_empty(&self) -> bool {
        !self.changed_anything() && self.left_alone.is_empty()
    }

    /// The files that were moved or brought up to date, in byte order.
    pub(crate) fn paths(&self) -> Vec<String> {
        let kept = self.kept.iter().map(|file| &file.path);
        let mut paths: Vec<String> = kept.chain(&self.caught_up).cloned().collect();
        paths.sort_unstable();
        paths
    }

    /// Whether the vault is another one now.
    pub(crate) fn changed_anything(&self) -> bool {
        !self.kept.is_empty() || !self.caught_up.is_empty()
    }
}

/// Finds what an interrupted writer left. Reads only.
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

/// Clears away what was found. Only the holder of the write lock may ask for it, and only of what a
/// writer left that said what it began, or when a user who looked demands it.
///
/// # Errors
/// Something could not be kept, or was changed meanwhile; what was not cleared stays where it is.
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
    // What could not be written is for the next writer; what another process changed is theirs.
    let is_over = left_alone.iter().all(|(_, why)| why.is_changed());
    recovered.left_alone = left_alone;
    let names: Vec<Written<'_>> = recovered.caught_up.iter().map(|p| Written::Named(p)).collect();
    vault.files().sync(&names)?;
    if is_over && !has_step {
        hint::remove(vault.files());
    }
    Ok(recovered)
}

/// What a writer does first, under the lock: reads the log, which must hold what is trusted for it,
/// and clears away what an interrupted command left.
///
/// # Errors
/// The log cannot be relied on, or something could not be cleared away.
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

/// If a command was interrupted here, clears away what it left.
///
/// Bytes beyond the sealed ones are cleared only where a writer said that it begins an event upon
/// this end of the log, and only if they are of that event. Live files are brought up to date in
/// any case; they become what the log seals.
///
/// # Errors
/// See [`carry_out`]; or the log does not follow from itself.
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
        // The hint may be of another writer, or was taken away or altered by hand or by a power
        // cut.
        Some(event) => {
            let ids = hint::read(vault.files(), event.at);
            ids.map_or(Scope::Everything, Scope::Ids)
        }
    };
    let mut plan = uncommitted_of(vault, chronicle, &scope);
    plan.uncommitted.retain(|file| file.is_of(interrupted.as_ref()));
    if interrupted.is_some() && !plan.uncommitted.is_empty() {
        // A log that was altered before its end might not name what it once sealed.
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

/// The live files that the last event did not bring up to date, if its command was interrupted.
pub(crate) fn interrupted_lives(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
) -> Vec<(DocumentId, Live)> {
    match hint::is_left(vault.files()) {
        true => behind::of_last_event(vault, chronicle, false),
        false => Vec::new(),
    }
}

/// Ends the intent records of events that were committed, if no live file waits for the next writer.
/// The caller has recorded the event in the change log, where changes are recorded.
pub(crate) fn complete(vault: &Vault, chronicle: &Chronicle<'_>) {
    if !hint::is_left(vault.files()) {
        trusted_head::complete(vault, |intent| intent.is_committed(|n| chronicle.hash_of(n)));
    }
}
