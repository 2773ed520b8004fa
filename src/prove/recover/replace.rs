//! Replacing the log by one that is derived from the histories, or by its other form.

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
use crate::values::model::timestamp::Timestamp;
use crate::write::commit::expect::{self, Expect, ExpectError};
use crate::write::commit::keep;

/// What a rebuild is asked to do.
#[derive(Debug)]
pub(crate) struct RebuildRequest<'r> {
    /// What a command that waits for the write lock shows.
    pub(crate) holder: &'r str,
    /// The clock.
    pub(crate) now: Timestamp,
    /// Keep nothing of the log that is there.
    pub(crate) from_scratch: bool,
    /// Write nothing.
    pub(crate) dry_run: bool,
    /// Replace the log although it would be refused.
    pub(crate) force: bool,
    /// With `force`: let the log begin with another first checkpoint.
    pub(crate) new_first_checkpoint: bool,
    /// What the caller has read.
    pub(crate) expect: Expect,
}

/// What a rebuild did, or would do.
#[derive(Debug)]
pub(crate) struct Replacement {
    /// The log that the histories give.
    pub(crate) rebuilt: Rebuilt,
    /// Whether it is the log that is there.
    pub(crate) is_same: bool,
    /// The end of the rebuilt log.
    pub(crate) head: Head,
    /// The first checkpoint of the old log, where the new one begins with another.
    pub(crate) replaced_first: Option<Digest>,
    /// Why it would be refused as it was asked for; set in a dry run only.
    pub(crate) refused: Option<Refused>,
    /// Where the old log is kept, if it was replaced.
    pub(crate) kept: Option<String>,
}

/// Why a log is not replaced without force.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// Versions that are recorded as published or retired are not vouched for.
    #[error("the chain does not vouch for {}", crate::values::text_util::count(.0.len(), "version"))]
    Unsound(Vec<(String, String)>),
    /// Versions of a governed vault are recorded as published or retired without an approval.
    #[error("no approval vouches for {}", crate::values::text_util::count(.0.len(), "version"))]
    Unapproved(Vec<(String, String)>),
    /// No checkpoint of the rebuilt log would say that the vault was governed.
    #[error("the rebuilt log would make the vault ungoverned: {0}")]
    Forgotten(String),
    /// A change log names checkpoints that the rebuilt log does not hold.
    #[error("the rebuilt log contradicts the change log: {0}")]
    Contradicted(String),
    /// The rebuilt log does not hold the trusted head.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// The rebuilt log has checkpoints after the trusted head.
    #[error("{} would follow the trusted head", crate::values::text_util::count(*.0, "checkpoint"))]
    Beyond(usize),
    /// The log is whole, but the histories record something else.
    #[error("the log is intact, but the histories record more or something else")]
    Whole,
    /// The log would begin with another first checkpoint.
    #[error("the log would {after} (it began with {before})")]
    NewFirst {
        /// The first checkpoint before.
        before: Digest,
        /// What it would be.
        after: String,
    },
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RebuildError {
    /// It takes force, or more than that.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Both log files exist and differ.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Something else is published than what the caller has read.
    #[error(transparent)]
    Expected(#[from] ExpectError),
    /// The new head cannot be trusted, or the trusted one not be read.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// Another process holds the write lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Reading or writing failed.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Derives the log from the histories and puts it in the place of the one that is there.
///
/// # Errors
/// Nothing was written; see [`RebuildError`].
pub(crate) fn rebuild_log(
    vault: &Vault,
    request: &RebuildRequest<'_>,
) -> Result<Replacement, RebuildError> {
    let _lock = if request.dry_run { None } else { Some(vault.lock(request.holder)?) };
    let old = trusted_head::read_log(vault)?;
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
        // A log that lost its end, or everything, is whole and records too little.
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

/// Why a rebuilt log should not replace the old one before a person has looked.
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

/// Puts a rebuilt log in the place of the old one, which is kept beside it; gives the path of that.
/// Only the holder of the write lock may ask for it.
///
/// # Errors
/// Something could not be written; the old log is where it was.
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

/// Puts a log in its other form beside the one that is there, whole and durable, and gives that
/// another name, which it returns. Only the holder of the write lock may ask for it.
///
/// # Errors
/// Something could not be written. Where both files are left, they say the same, and the next
/// writer clears that away.
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
