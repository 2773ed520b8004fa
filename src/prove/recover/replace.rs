//! Replaces the log by one that is derived from the histories, or by its other form.

use super::rebuild::{Rebuilt, Unsound, rebuild};
use super::unapproved::{Unapproved, contradicted};
use crate::files::vault::Vault;
use crate::files::vault::config::LogForm;
use crate::files::vault::files::FileError;
use crate::files::vault::lock::LockError;
use crate::files::vault::write::Written;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::codec::path_of;
use crate::record::checkpoint::fault::{Duplicate, LogError};
use crate::record::checkpoint::log::Log;
use crate::record::trusted_head::{self, Head, HeadError, TrustError};
use crate::values::model::digest::Digest;
use crate::values::model::layout::limit;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;
use crate::write::commit::expect::{self, Expect, ExpectError};
use crate::write::commit::keep;

/// Options of a rebuild.
#[derive(Debug)]
pub(crate) struct RebuildRequest<'r> {
    /// Text that commands waiting for the write lock show.
    pub(crate) holder: &'r str,
    pub(crate) now: Timestamp,
    /// Keep nothing of the current log.
    pub(crate) from_scratch: bool,
    pub(crate) dry_run: bool,
    /// Replace the log even if it would be refused.
    pub(crate) force: bool,
    /// With `force`: let the log begin with another first checkpoint.
    pub(crate) new_first_checkpoint: bool,
    /// Published state that the caller has read.
    pub(crate) expect: Expect,
}

/// Result of a rebuild, or of a dry run.
#[derive(Debug)]
pub(crate) struct Replacement {
    /// Log derived from the histories.
    pub(crate) rebuilt: Rebuilt,
    /// True if it equals the current log.
    pub(crate) is_same: bool,
    /// Head of the rebuilt log.
    pub(crate) head: Head,
    /// First checkpoint of the old log, if the new one begins with another.
    pub(crate) replaced_first: Option<Digest>,
    /// Reason why the request would be refused. Only a dry run sets it.
    pub(crate) refused: Option<Refused>,
    /// Path of the kept old log, if it was replaced.
    pub(crate) kept: Option<String>,
}

/// Reason why a log is not replaced without force.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// The chain does not vouch for versions that are recorded as published or retired.
    #[error("the chain does not vouch for {}", crate::values::text_util::count(.0.len(), "version"))]
    Unsound(Vec<(String, String)>),
    /// Versions of a governed vault are recorded as published or retired without an approval.
    #[error("no approval vouches for {}", crate::values::text_util::count(.0.len(), "version"))]
    Unapproved(Vec<(String, String)>),
    /// No checkpoint of the rebuilt log would record that the vault was governed.
    #[error("the rebuilt log would make the vault ungoverned: {0}")]
    Forgotten(String),
    /// A change log names checkpoints that the rebuilt log does not contain.
    #[error("the rebuilt log contradicts the change log: {0}")]
    Contradicted(String),
    /// The rebuilt log does not contain the trusted head.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// The rebuilt log has checkpoints after the trusted head.
    #[error("{} would follow the trusted head", crate::values::text_util::count(*.0, "checkpoint"))]
    Beyond(usize),
    /// The log is intact, but the histories record other events.
    #[error("the log is intact, but the histories record other or further events")]
    Whole,
    /// The log would begin with another first checkpoint.
    #[error("the log would {after} (it began with {before})")]
    NewFirst {
        /// First checkpoint of the old log.
        before: Digest,
        /// Start of the rebuilt log.
        after: String,
    },
}

/// Reason why nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RebuildError {
    /// The rebuild needs `force`, or more than that.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The log has merges, which do not follow from the histories alone (MERGE-28).
    #[error("checkpoint {0} merged another log, and a rebuild would lose it")]
    Merged(CheckpointNumber),
    /// Both log files exist and differ.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Another state is published than the one that the caller has read.
    #[error(transparent)]
    Expected(#[from] ExpectError),
    /// The trusted head cannot be read or written.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// Another process holds the write lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Reading or writing failed.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Replaces the log by one that is derived from the histories.
///
/// # Errors
/// Returns a [`RebuildError`] if nothing was written.
pub(crate) fn rebuild_log(
    vault: &Vault,
    request: &RebuildRequest<'_>,
) -> Result<Replacement, RebuildError> {
    let _lock = if request.dry_run { None } else { Some(vault.lock(request.holder)?) };
    let old = trusted_head::read_log(vault)?;
    if let Some(merge) = old.entries.iter().flatten().find(|one| one.is_merge()) {
        return Err(RebuildError::Merged(merge.number));
    }
    if vault.history().is_sparse()
        && let Some(path) = vault.gone().first_of_record()
    {
        return Err(LogError::LeftOut { path: path.to_owned() }.into());
    }
    if old.diagnosis.duplicate == Some(Duplicate::Different) {
        return Err(LogError::BothForms.into());
    }
    let is_sound = old.sound().and_then(|chronicle| chronicle.check_hashes(vault.files())).is_ok();
    if request.expect.is_said() {
        let log = trusted_head::open_log_locked(vault)?;
        expect::check((vault, &log.sound()?), &[], request.expect, |_| true)?;
    }
    let rebuilt = rebuild(vault, &old, request.from_scratch, request.now)?;
    let is_same = rebuilt.is_same(&old);
    let head = Head::of(&rebuilt.log.sound()?);
    let mut refused = None;
    if !is_same && !request.force {
        // A log that lost its end, or everything, is intact and records too little.
        let is_complete = old.sound().is_ok_and(|chronicle| {
            let end = Head::of(&chronicle);
            let records_enough =
                !old.is_blank() || trusted_head::interrupted(vault, &end).is_some();
            records_enough && trusted_head::check(vault, &chronicle).is_ok()
        });
        refused = check(vault, &rebuilt, is_sound && is_complete, request.now)?;
    }
    let replaced_first =
        rebuilt.replaced_first(&old, &trusted_head::trusted_heads(vault).unwrap_or_default());
    if let Some(before) = replaced_first
        && request.force
        && !request.new_first_checkpoint
    {
        refused = Some(Refused::NewFirst { before, after: beginning(&rebuilt) });
    }
    let mut kept = None;
    if !request.dry_run && !is_same {
        if let Some(refused) = refused {
            return Err(refused.into());
        }
        kept = replace_log(vault, &rebuilt.log)?;
        trusted_head::trust(vault, &head, request.now)?;
    }
    Ok(Replacement { rebuilt, is_same, head, replaced_first, refused, kept })
}

/// Returns the reason why a person should look before the rebuilt log replaces the old one.
fn check(
    vault: &Vault,
    rebuilt: &Rebuilt,
    was_whole: bool,
    now: Timestamp,
) -> Result<Option<Refused>, RebuildError> {
    if !rebuilt.unsound.is_empty() {
        let line =
            |(id, version, why): &Unsound| (format!("{id} version {version}"), why.to_string());
        return Ok(Some(Refused::Unsound(rebuilt.unsound.iter().map(line).collect())));
    }
    if !rebuilt.unapproved.is_empty() {
        let line =
            |one: &Unapproved| (format!("{} version {}", one.id, one.version), one.why.clone());
        return Ok(Some(Refused::Unapproved(rebuilt.unapproved.iter().map(line).collect())));
    }
    if let Some(why) = &rebuilt.forgotten {
        return Ok(Some(Refused::Forgotten(why.clone())));
    }
    if let Err(why) = trusted_head::check(vault, &rebuilt.log.sound()?) {
        return Ok(Some(why.into()));
    }
    if let Some(why) = contradicted(vault, &rebuilt.log, now)? {
        return Ok(Some(Refused::Contradicted(why)));
    }
    let last = trusted_head::trusted_heads(vault)?.last().unwrap_or(usize::MAX);
    let beyond = rebuilt.log.entries.len().saturating_sub(last);
    Ok(match was_whole {
        true => Some(Refused::Whole),
        false if beyond > 0 => Some(Refused::Beyond(beyond)),
        false => None,
    })
}

fn beginning(rebuilt: &Rebuilt) -> String {
    match rebuilt.log.entries.first() {
        Some(Ok(first)) => format!("begin with {}", first.hash),
        _ => "be empty".to_owned(),
    }
}

/// Replaces the old log by a rebuilt one and returns the path of the kept old log. The caller must
/// hold the write lock.
///
/// # Errors
/// Fails if a file cannot be written; the old log is then still in place.
fn replace_log(vault: &Vault, new: &Log) -> Result<Option<String>, FileError> {
    let (files, path) = (vault.files(), new.path());
    let bytes = new.sound().map(|chronicle| chronicle.export(new.form)).unwrap_or_default();
    let Some(old) = files.read_optional(path, limit::LOG)? else {
        files.create_durable(path, &bytes)?;
        return Ok(None);
    };
    let kept = keep::copy_beside(files, path)?;
    files.replace(path, &old, &bytes).inspect_err(|_| {
        let _ = files.remove_of_length(&kept, old.len() as u64);
    })?;
    Ok(Some(kept))
}

/// Writes the log in its other form, syncs it, renames the old one and returns its new name. The
/// caller must hold the write lock.
///
/// # Errors
/// Fails if a file cannot be written. If both files remain, they have the same content, and the
/// next writer cleans up.
pub(crate) fn exchange_log(
    vault: &Vault,
    old: &Chronicle<'_>,
    form: LogForm,
    bytes: &[u8],
) -> Result<String, FileError> {
    let (files, path) = (vault.files(), old.path());
    files.create_durable(path_of(form), bytes)?;
    let kept = keep::free_beside(files, path);
    files.move_new(path, &kept)?;
    files.sync(&[Written::Named(path)])?;
    Ok(kept)
}
