//! Changes without a checkpoint, and the setting that turns the change log on.

use super::Workspace;
use crate::files::vault::Vault;
use crate::files::vault::audit::{Audit, RETENTION};
use crate::files::vault::config::Config;
use crate::files::vault::lock::LockError;
use crate::prove::verify::{self, Unrecorded};
use crate::read::working;
use crate::record::audit::changes::GivenUp;
use crate::record::audit::missing::Missing;
use crate::record::audit::{Change, ChangeError, HeadRef, VersionRef, changes};
use crate::record::staging;
use crate::record::trusted_head::{self, Head};
use crate::service::report::audit::{AuditAcknowledged, AuditDismissed, DismissedSubmission};
use crate::service::report::failure::{Code, Failure};
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::principal::{Principal, PrincipalKey};
use crate::write::publish::review::{self, Lost, rules_in_force};
use crate::write::publish::{self, Mode, Outcome, PublishError};

/// The reason why a change was not recorded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoChange {
    /// Another process holds the write lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The line was not written.
    #[error(transparent)]
    Append(#[from] ChangeError),
    /// A label is invalid, or the time is unknown.
    #[error("{}", .0.message)]
    Asked(Box<Failure>),
}

/// Lines of this user that are given up, of audit logs and of staging chains.
#[derive(Debug)]
pub(crate) struct AllGivenUp {
    logs: GivenUp,
    chains: Vec<Missing>,
}

impl AllGivenUp {
    /// Returns each line that is given up.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Missing> {
        self.logs.iter().chain(&self.chains)
    }
}

impl Workspace<'_> {
    /// Records a change without a checkpoint if the vault has a change log. Missing lines for
    /// earlier steps and events of this user are written first. Returns the checkpoints of
    /// these events.
    ///
    /// # Errors
    /// Something was not recorded.
    pub(crate) fn record_change(
        &self,
        vault: &Vault,
        change: Option<Change>,
    ) -> Result<Vec<CheckpointNumber>, NoChange> {
        // The command that started the change log may have been interrupted.
        let is_begun = || {
            let log = trusted_head::open_log(vault).ok();
            let chronicle = log.as_ref().and_then(|log| log.sound().ok());
            chronicle.is_some_and(|chronicle| changes::is_begun_at(vault, &chronicle))
        };
        if !changes::is_begun(vault) && !is_begun() {
            return Ok(Vec::new());
        }
        let holder = self.holder().map_err(|why| NoChange::Asked(Box::new(why)))?;
        let _lock = vault.lock(&holder)?;
        self.record_under_lock(vault, change)
    }

    /// Records a change as the holder of the write lock.
    ///
    /// # Errors
    /// Something was not recorded.
    pub(super) fn record_under_lock(
        &self,
        vault: &Vault,
        change: Option<Change>,
    ) -> Result<Vec<CheckpointNumber>, NoChange> {
        self.record_made_by(vault, change, None)
    }

    /// Records a change of an interrupted command. `made_by` is the principal whom the history
    /// names as its maker.
    ///
    /// # Errors
    /// Something was not recorded.
    pub(super) fn record_made_by(
        &self,
        vault: &Vault,
        change: Option<Change>,
        made_by: Option<&str>,
    ) -> Result<Vec<CheckpointNumber>, NoChange> {
        let asked = |why: Failure| NoChange::Asked(Box::new(why));
        let principal = self.principal(vault.root(), None).ok();
        let recorder = self.recorder(vault, principal).map_err(asked)?;
        let now = self.now().map_err(asked)?;
        // Changes are recorded even if the checkpoint log is damaged.
        let log = trusted_head::read_log(vault).ok();
        let chronicle = log.as_ref().and_then(|log| log.sound().ok());
        let sealed = chronicle.as_ref().map(|log| publish::sealed_config(vault, log));
        // Without a valid log, the sealed configuration is unknown.
        let recorder = match &sealed {
            Some(sealed) => recorder.under(sealed.as_ref().ok().map(Option::as_ref)),
            None => recorder.under(None),
        };
        let added = match &chronicle {
            Some(chronicle) => {
                review::catch_up(vault, chronicle, &recorder, now)?;
                review::catch_up_event(vault, chronicle, &recorder, now)?
            }
            None => Vec::new(),
        };
        let Some(change) = change else { return Ok(added) };
        let head = chronicle.as_ref().map(Head::of);
        let recorder = made_by.map_or_else(|| recorder.clone(), |by| recorder.of_interrupted(by));
        changes::other(vault, head.as_ref(), &recorder, now, change)?;
        Ok(added)
    }

    /// Records that the event of a checkpoint lacks its line, and why (AUDIT-31). If `is_done` is
    /// false, only checks that this is possible.
    ///
    /// # Errors
    /// The event has its line, the user may not acknowledge it, or nothing was recorded.
    pub(crate) fn acknowledge(
        &self,
        vault: &Vault,
        number: CheckpointNumber,
        reason: String,
        is_done: bool,
    ) -> Result<AuditAcknowledged, Failure> {
        if !changes::is_begun(vault) {
            let message = "this vault does not have a change log, so no event can lack its line";
            return Err(Failure::new(Code::NotBegun, message));
        }
        let (principal, _) = self.principal(vault.root(), None)?;
        let _lock = match is_done {
            true => Some(vault.lock(&self.holder()?)?),
            false => None,
        };
        let log = trusted_head::open_log(vault)?;
        let chronicle = log.sound()?;
        trusted_head::check(vault, &chronicle)?;
        chronicle.checkpoint(number)?;
        // The missing line may be one of this user, which is written now.
        if is_done {
            self.record_under_lock(vault, None)?;
        }
        let Unrecorded { missing, acknowledgers } = verify::unrecorded(vault, self.now()?)?;
        let Some(hash) = missing.get(&number) else {
            let message = format!(
                "the event of checkpoint {number} has its line in the change log or is acknowledged"
            );
            return Err(Failure::new(Code::NotMissing, message)
                .hint("`ctx verify` lists the events without a line"));
        };
        if !acknowledgers.has(principal.as_str()) {
            return Err(no_reviewer(&principal, "acknowledge a missing line"));
        }
        let (checkpoint, hash) = (number.0, hash.to_string());
        if is_done {
            let acknowledged = HeadRef { checkpoint, hash: hash.clone() };
            let change = Change::Acknowledge { acknowledged, reason: reason.clone() };
            self.record_under_lock(vault, Some(change))?;
        }
        let (principal, dry_run) = (principal.to_string(), !is_done);
        Ok(AuditAcknowledged { checkpoint, checkpoint_hash: hash, reason, principal, dry_run })
    }

    /// Records that lost submissions of an artifact are dismissed, and why (REV-28). If `is_done`
    /// is false, only returns them.
    ///
    /// # Errors
    /// There are none, the user may not dismiss them, or nothing was recorded.
    pub(crate) fn dismiss(
        &self,
        vault: &Vault,
        id: &DocumentId,
        reason: String,
        is_done: bool,
    ) -> Result<AuditDismissed, Failure> {
        let (principal, _) = self.principal(vault.root(), None)?;
        let _lock = match is_done {
            true => Some(vault.lock(&self.holder()?)?),
            false => None,
        };
        let log = trusted_head::open_log(vault)?;
        let chronicle = log.sound()?;
        trusted_head::check(vault, &chronicle)?;
        let Some(rules) = rules_in_force(vault, &chronicle)? else {
            return Err(PublishError::Ungoverned.into());
        };
        if !rules.is_reviewer_of_vault(principal.as_str()) {
            return Err(no_reviewer(&principal, "dismiss lost submissions"));
        }
        let id = &self.nameable(vault, id.clone())?;
        let found = review::lost(vault, &chronicle, id)?;
        if found.is_empty() && !working::is_known(vault, id) {
            return Err(Failure::unknown_id(id.as_str(), None));
        }
        // A principal who may not read a document cannot vouch for its submitters.
        let (found, hidden): (Vec<Lost>, Vec<Lost>) = found
            .into_iter()
            .partition(|one| one.id == *id || self.nameable(vault, one.id.clone()).is_ok());
        let (own, others): (Vec<Lost>, Vec<Lost>) =
            found.into_iter().partition(|one| PrincipalKey::of(&one.by) == principal.key());
        if others.is_empty() {
            return Err(nothing_lost(id, own.len()));
        }
        let dismissed: Vec<DismissedSubmission> = others.into_iter().map(dismissed).collect();
        if is_done {
            let versions = dismissed.iter().map(|one| one.version.clone()).collect();
            let change = Change::Dismiss { dismissed: versions, reason: reason.clone() };
            self.record_under_lock(vault, Some(change))?;
        }
        let (id, own, principal) = (id.to_string(), own.len(), principal.to_string());
        let hidden = hidden.len();
        Ok(AuditDismissed { id, dismissed, own, hidden, reason, principal, dry_run: !is_done })
    }

    /// Returns the lines of this user that the vault lacks. They are forgotten if the log is
    /// trusted as it is.
    ///
    /// # Errors
    /// A log or a chain cannot be read.
    pub(crate) fn given_up(&self, vault: &Vault) -> Result<AllGivenUp, Failure> {
        let failed = |what: &str, why| Failure::new(Code::Io, format!("the {what}: {why}"));
        Ok(AllGivenUp {
            logs: changes::given_up(vault).map_err(|why| failed("logs", why))?,
            chains: staging::given_up(vault).map_err(|why| failed("staging chains", why))?,
        })
    }

    /// Forgets lines of this user that the vault lacks.
    ///
    /// # Errors
    /// A log cannot be read, or its record in the state directory cannot be written.
    pub(crate) fn accept_changes(&self, vault: &Vault, lost: &AllGivenUp) -> Result<(), Failure> {
        changes::accept(vault, &lost.logs)
            .map_err(|why| Failure::new(Code::Io, format!("the change log: {why}")))?;
        staging::accept(vault, &lost.chains)
            .map_err(|why| Failure::new(Code::Io, format!("the staging chains: {why}")))
    }

    /// Publishes a configuration that turns the change log on, as one event.
    ///
    /// # Errors
    /// Nothing was changed.
    pub(crate) fn begin_audit(&self, vault: &Vault, mode: Mode) -> Result<Outcome, Failure> {
        let author = self.author(vault, None, None)?;
        // The event that turns the log on is recorded, too.
        let audit = vault.config().audit.or(Some(Audit::default()));
        let vault = &vault.under(Config { audit, ..vault.config().clone() });
        let id = DocumentId::config();
        Ok(publish::change_governance_file(vault, &id, &author, mode, with_setting)?)
    }
}

fn no_reviewer(who: &Principal, what: &str) -> Failure {
    let message = format!("`{who}` is not a reviewer of the vault, and cannot {what}");
    Failure::new(Code::NotASteward, message).hint("`ctx steward list` lists reviewers")
}

fn dismissed(lost: Lost) -> DismissedSubmission {
    let Lost { id, version, chain_hash, by: submitter, at } = lost;
    let (id, chain_hash) = (id.to_string(), chain_hash.to_string());
    let version = VersionRef { id, version: version.0, chain_hash, target: None };
    DismissedSubmission { version, submitter, at: at.to_string() }
}

fn nothing_lost(id: &DocumentId, own: usize) -> Failure {
    let message = match own {
        0 => format!("`{id}` does not have a lost submission to dismiss"),
        _ => format!("the lost submissions of `{id}` are your own"),
    };
    let failure = Failure::new(Code::NotLost, message);
    match own {
        0 => failure,
        _ => failure.hint("another reviewer of the whole vault has to dismiss them"),
    }
}

/// Returns a configuration that turns the change log on. Existing settings of it stay unchanged.
pub(super) fn with_setting(text: &str) -> Result<String, String> {
    RETENTION.set(text, |config| config.audit.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_setting_is_appended_once() {
        for (before, after) in [
            ("", "audit:\n  retention: 184d\n"),
            ("name: x", "name: x\naudit:\n  retention: 184d\n"),
            ("name: x\r\n", "name: x\r\naudit:\r\n  retention: 184d\r\n"),
            ("audit: {durability: sync}\n", "audit: {durability: sync}\n"),
            ("# audit:\n", "# audit:\naudit:\n  retention: 184d\n"),
        ] {
            assert_eq!(with_setting(before).as_deref(), Ok(after), "{before:?}");
        }
        for before in ["{name: x}\n", "name: x\n...\n", "- a\n"] {
            assert!(with_setting(before).is_err(), "{before:?}");
        }
    }
}
