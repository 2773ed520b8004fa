//! The retention of accesses: deletes those that are older and not held.

use std::path::PathBuf;

use super::changes::NoChange;
use super::recording::{AccessLogs, heads_of, of_log};
use super::{Workspace, holds};
use crate::files::vault::Vault;
use crate::files::vault::audit::Audit;
use crate::record::audit::{Change, Cuts, Holds, LastLines, Logs, Plan, changes, prune};
use crate::record::trusted_head;
use crate::service::report::failure::{Code, Failure};
use crate::values::model::layout;
use crate::values::model::timestamp::Timestamp;
use crate::write::publish;

/// Milliseconds per day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// The accesses that were pruned, or would be.
#[derive(Debug)]
pub(crate) struct PruneOutcome {
    /// The folder of the logs.
    pub(crate) folder: PathBuf,
    /// Number of days for which accesses are kept.
    pub(crate) retention: u64,
    /// Accesses from this time on are kept.
    pub(crate) before: Timestamp,
    /// The accesses to prune.
    pub(crate) plan: Plan,
    /// The holds in force.
    pub(crate) holds: Holds,
}

impl Workspace<'_> {
    /// Returns the places where access logs of a vault were pruned.
    pub(crate) fn cuts(&self, vault: &Vault) -> Cuts {
        cuts_of(vault)
    }

    /// Deletes the accesses before a time that neither the retention nor a hold keeps. If `is_done`
    /// is false, only returns them.
    ///
    /// # Errors
    /// Nothing was deleted, or not everything.
    pub(crate) fn prune(
        &self,
        vault: &Vault,
        before: Option<Timestamp>,
        is_done: bool,
    ) -> Result<PruneOutcome, Failure> {
        if !changes::is_begun(vault) {
            let message = "this vault does not have a change log, so pruned accesses would look \
                           like lost ones";
            return Err(Failure::new(Code::NotBegun, message).hint("run `ctx audit begin`"));
        }
        self.principal(vault.root(), None)?;
        let _lock = match is_done {
            true => Some(vault.lock(&self.holder()?)?),
            false => None,
        };
        let retention = retention_of(vault)?;
        let before = self.limit(retention, before)?;
        let AccessLogs { folder, logs, .. } = self.access_logs(vault)?;
        let logs = logs.compared_with(heads_of(vault));
        let (holds, is_sound) = holds::read(vault, folder.as_deref())?;
        if !is_sound {
            let message = "a change log is damaged, so that holds may be missing";
            return Err(Failure::new(Code::LogBroken, message)
                .hint("run `ctx verify`, and restore `.context/audit` from git or a backup"));
        }
        let ours = LastLines::read(vault.state());
        let plan = of_log(prune::plan(&logs, before, &holds, &ours))?;
        if is_done {
            self.execute(vault, &logs, (before, &plan))?;
        }
        let folder = folder.unwrap_or_else(|| vault.root().join(layout::ACCESS_DIR));
        Ok(PruneOutcome { folder, retention, before, plan, holds })
    }

    fn execute(
        &self,
        vault: &Vault,
        logs: &Logs,
        (before, plan): (Timestamp, &Plan),
    ) -> Result<(), Failure> {
        let pruned = plan.unrecorded(logs);
        if !pruned.is_empty() {
            let change = Change::Prune { before: before.to_string(), pruned };
            self.record_under_lock(vault, Some(change))?;
        }
        for writer in &plan.writers {
            prune::prune(logs, writer, &self.environment.disk).map_err(|why| {
                let message = format!("not every access was deleted: {why}");
                Failure::new(Code::Io, message)
                    .hint("run `ctx trace prune` again to delete the rest")
            })?;
        }
        Ok(())
    }

    /// Returns the time before which accesses may be deleted.
    fn limit(&self, retention: u64, asked: Option<Timestamp>) -> Result<Timestamp, Failure> {
        let days = i64::try_from(retention).unwrap_or(i64::MAX);
        let kept = self.now()?.millis().saturating_sub(days.saturating_mul(DAY));
        let limit = Timestamp::from_millis(kept);
        match asked {
            Some(asked) if asked > limit => {
                let message = format!(
                    "accesses are kept for {retention} days: those from {limit} on cannot be pruned"
                );
                Err(Failure::new(Code::Retained, message)
                    .hint("name an earlier time with `--before`, or leave it out"))
            }
            asked => Ok(asked.unwrap_or(limit)),
        }
    }
}

/// Returns the number of days for which accesses are kept: by the sealed configuration, or the live
/// one if it keeps them longer. If the sealed one cannot be read, nothing may be deleted.
fn retention_of(vault: &Vault) -> Result<u64, Failure> {
    let log = trusted_head::open_log(vault)?;
    let chronicle = log.sound()?;
    trusted_head::check(vault, &chronicle)?;
    let sealed = publish::sealed_config(vault, &chronicle)?.as_ref().map(Audit::of);
    let live = Audit::of(vault.config());
    Ok(sealed.map_or(live, |sealed| sealed.stricter(live)).retention)
}

/// Returns the cuts in the change logs of a vault. An unreadable log has none, so that pruned
/// accesses are reported as missing.
pub(super) fn cuts_of(vault: &Vault) -> Cuts {
    let cuts = Logs::of_changes(vault).and_then(|changes| Cuts::of(&changes));
    cuts.unwrap_or_default()
}

impl From<NoChange> for Failure {
    fn from(why: NoChange) -> Self {
        match why {
            NoChange::Lock(why) => why.into(),
            NoChange::Asked(failure) => *failure,
            NoChange::Append(why) => {
                Self::new(Code::Io, format!("the change was not recorded: {why}"))
            }
        }
    }
}
