//! How long accesses are kept: legal holds, and deleting what is older than the retention.

use std::io;
use std::path::PathBuf;

use super::Workspace;
use super::changes::NoChange;
use super::recording::{AccessLogs, of_log};
use crate::audit::{
    self, Change, Cuts, Hold, Holds, LastLines, Line, Logs, PlacedHold, Plan, changes, hold,
    missing, prune,
};
use crate::govern;
use crate::model::layout;
use crate::model::timestamp::Timestamp;
use crate::report::failure::{Code, Failure};
use crate::trust;
use crate::vault::Vault;
use crate::vault::audit::Audit;

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// What was pruned, or would be.
#[derive(Debug)]
pub(crate) struct PruneOutcome {
    /// The folder of the logs.
    pub(crate) folder: PathBuf,
    /// For how many days accesses are kept.
    pub(crate) retention: u64,
    /// Only accesses before this time go.
    pub(crate) before: Timestamp,
    /// What goes.
    pub(crate) plan: Plan,
    /// The holds in force.
    pub(crate) holds: Holds,
}

impl Workspace<'_> {
    /// Where access logs of a vault were pruned.
    pub(crate) fn cuts(&self, vault: &Vault) -> Cuts {
        cuts_of(vault)
    }

    /// The holds in force.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn holds(&self, vault: &Vault) -> Result<Holds, Failure> {
        let AccessLogs { folder, .. } = self.access_logs(vault)?;
        let (lines, _) = of_log(lines_of_holds(vault))?;
        of_holds(Holds::read(folder.as_deref(), &lines))
    }

    /// The holds in force that the reader may be shown: to one who may not see every change, those of
    /// the user's own folder.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn shown_holds(&self, vault: &Vault) -> Result<Holds, Failure> {
        if !self.sight(vault)?.is_limited() {
            return self.holds(vault);
        }
        let AccessLogs { folder, .. } = self.access_logs(vault)?;
        of_holds(Holds::read(folder.as_deref(), &[]))
    }

    /// Places a hold; gives its name. Where changes are recorded, its line is durable before its file.
    ///
    /// # Errors
    /// It was not placed, or not everywhere.
    pub(crate) fn place_hold(&self, vault: &Vault, hold: Hold) -> Result<PlacedHold, Failure> {
        let AccessLogs { folder, .. } = self.access_logs(vault)?;
        let (principal, _) = self.principal(vault.root(), None)?;
        let id: String = audit::digits(self.environment.random).chars().take(8).collect();
        let hold = Hold { id, ..hold };
        let placed = PlacedHold::new(self.now()?.to_string(), Some(principal.to_string()), hold);
        self.record_change(vault, Some(Change::Hold { hold: placed.hold.clone() }))?;
        // Without a folder of the user there is only the line, and accesses in the vault, which
        // records changes then.
        if let Some(dir) = folder {
            hold::place(&dir, &self.environment.disk, &placed).map_err(|why| {
                let place = dir.display();
                Failure::new(Code::Io, format!("the hold was not written to `{place}`: {why}"))
            })?;
        }
        Ok(placed)
    }

    /// Lifts a hold.
    ///
    /// # Errors
    /// There is no such hold, or it is still in force.
    pub(crate) fn lift_hold(
        &self,
        vault: &Vault,
        id: &str,
        reason: String,
    ) -> Result<PlacedHold, Failure> {
        let AccessLogs { folder, .. } = self.access_logs(vault)?;
        self.principal(vault.root(), None)?;
        let holds = self.holds(vault)?;
        let is_limited = self.sight(vault)?.is_limited();
        // A hold of what this reader may not be told is unknown (REV-26).
        let may_know = |placed: &&PlacedHold| {
            let document = placed.hold.document.as_deref().filter(|_| is_limited);
            document.is_none_or(|document| self.readable_id(vault, document).is_ok())
        };
        let Some(placed) = holds.get(id).filter(may_know) else {
            let message = format!("no hold `{id}` is in force");
            return Err(
                Failure::new(Code::UnknownHold, message).hint("`ctx trace hold list` lists them")
            );
        };
        self.record_change(vault, Some(Change::Lift { lifted: id.to_owned(), reason }))?;
        let lifted = folder.map_or(Ok(()), |dir| hold::lift(&dir, &self.environment.disk, id));
        lifted
            .map_err(|why| Failure::new(Code::Io, format!("the hold is still in force: {why}")))?;
        Ok(placed.clone())
    }

    /// Deletes the accesses before a time that neither the retention nor a hold keeps; with
    /// `is_done` false it says what would go.
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
            let message = "this vault records no changes, so that pruned accesses would look \
                           like lost ones";
            return Err(Failure::new(Code::NotBegun, message).hint("run `ctx audit begin`"));
        }
        self.principal(vault.root(), None)?;
        let _lock = match is_done {
            true => Some(vault.lock(&self.holder("trace")?)?),
            false => None,
        };
        let retention = retention_of(vault)?;
        let before = self.limit(retention, before)?;
        let (lines, is_sound) = of_log(lines_of_holds(vault))?;
        if !is_sound {
            let message = "a change log is damaged, so that holds may be missing";
            return Err(Failure::new(Code::LogBroken, message)
                .hint("run `ctx verify`, and restore `.context/audit` from git or a backup"));
        }
        let AccessLogs { folder, logs } = self.access_logs(vault)?;
        let holds = of_holds(Holds::read(folder.as_deref(), &lines))?;
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
                    .hint("run `ctx trace prune` again; what is recorded as pruned stays so")
            })?;
        }
        Ok(())
    }

    /// The time before which accesses may go.
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

/// For how many days accesses are kept: as the sealed configuration says, or the live one where that
/// is longer. Where the sealed one cannot be known, nothing may go.
fn retention_of(vault: &Vault) -> Result<u64, Failure> {
    let log = trust::open_log(vault)?;
    let chronicle = log.sound()?;
    trust::check(vault, &chronicle)?;
    let sealed = govern::sealed_config(vault, &chronicle)?.as_ref().map(Audit::of);
    let live = Audit::of(vault.config());
    Ok(sealed.map_or(live, |sealed| sealed.stricter(live)).retention)
}

/// The lines of the change logs that place and lift holds, and whether these logs are whole.
fn lines_of_holds(vault: &Vault) -> io::Result<(Vec<Line>, bool)> {
    let logs = Logs::of_changes(vault)?;
    let mut lines = Vec::new();
    let faults = logs.each(&mut |line| {
        if line.is_of_hold() {
            lines.push(line);
        }
    })?;
    let missing = missing::faults(&missing::changes(vault)?);
    let is_damaged = faults.iter().chain(&missing).any(|fault| fault.kind.is_damage());
    Ok((lines, !is_damaged))
}

fn of_holds(read: io::Result<Holds>) -> Result<Holds, Failure> {
    read.map_err(|why| {
        Failure::new(Code::Io, format!("it is not known what is held: {why}"))
            .hint("restore the file from a backup, or place the hold again and remove the file")
    })
}

/// The cuts that the change logs of a vault record. A log that cannot be read records none, so that
/// pruned accesses count as missing.
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
