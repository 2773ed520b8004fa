//! The logs that a question is about: those in a named folder, or those of a vault; and their
//! missing lines.

use std::path::{Path, PathBuf};

use crate::files::vault::Vault;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::record::audit::{Elsewhere, Fault, FaultKind, Logs, Sight, missing};
use crate::service::report::failure::Failure;
use crate::service::workspace::elsewhere::UnreadLogs;
use crate::service::workspace::recording::{AccessLogs, of_log};
use crate::values::text_util::{argument, count};

/// The logs of a question.
pub(super) struct Asked {
    pub(super) logs: Vec<Logs>,
    /// True if access logs are among them: there may be no place for them.
    pub(super) has_accesses: bool,
}

/// The choice of logs.
#[derive(Debug, clap::Args)]
pub(in crate::front::cli) struct LogPlace {
    /// Read logs from this folder, such as one of `ctx trace collect`
    #[arg(long, value_name = "DIR")]
    pub(super) logs: Option<PathBuf>,
}

impl LogPlace {
    /// Returns the named logs, or all of this vault: of accesses on this machine or in the vault,
    /// and of changes; as a reader may see them.
    pub(super) fn all(
        &self,
        vault: &Vault,
        session: &mut Session<'_>,
        sight: &Sight,
    ) -> Result<Asked, Failure> {
        let mut has_accesses = true;
        session.named_logs.clone_from(&self.logs);
        let all = match &self.logs {
            Some(dir) => vec![session.workspace.logs_in(vault, dir)?.logs],
            None => {
                let (accesses, lacks) = session.workspace.all_logs(vault);
                if let Some(why) = lacks {
                    has_accesses = false;
                    let why = why.to_string();
                    session.ui.warn(&format!("no access log is read: {}", shown(&why)));
                }
                name_unread(&accesses.unread, session);
                vec![accesses.logs, of_log(Logs::of_changes(vault))?]
            }
        };
        let logs = all.into_iter().map(|logs| logs.seen_by(sight.clone())).collect();
        Ok(Asked { logs, has_accesses })
    }

    /// Names the folder of the user's logs if it does not exist, for an answer without any line.
    pub(in crate::front::cli) fn note_lacking(&self, vault: &Vault, session: &mut Session<'_>) {
        if self.logs.is_some() {
            return;
        }
        if let Some(dir) = session.workspace.lacking_folder(vault) {
            let dir = dir.display().to_string();
            let dir = shown(&dir);
            session.ui.note(&format!(
                "note: there is no access log of this user: `{dir}` is not a folder"
            ));
        }
    }

    /// Returns the accesses of this user that the vault lacks. Lines on another ref are not a fault
    /// of an answer here.
    pub(in crate::front::cli) fn lost_accesses(
        &self,
        vault: &Vault,
        logs: &Logs,
    ) -> Result<Vec<Fault>, Failure> {
        if self.is_named() {
            return Ok(Vec::new());
        }
        Ok(here(missing::faults(&of_log(missing::accesses(vault, logs.cuts()))?)))
    }

    /// Returns the changes of this user that the vault lacks.
    pub(in crate::front::cli) fn lost_changes(&self, vault: &Vault) -> Result<Vec<Fault>, Failure> {
        if self.is_named() {
            return Ok(Vec::new());
        }
        Ok(here(missing::faults(&of_log(missing::changes(vault))?)))
    }

    /// Returns both; the first of the logs are those of accesses.
    pub(in crate::front::cli) fn lost(
        &self,
        vault: &Vault,
        all: &[Logs],
    ) -> Result<Vec<Fault>, Failure> {
        let Some(accesses) = all.first() else { return Ok(Vec::new()) };
        let mut lost = self.lost_accesses(vault, accesses)?;
        lost.extend(self.lost_changes(vault)?);
        Ok(lost)
    }

    /// Returns true if the user named a folder.
    pub(in crate::front::cli) fn is_named(&self) -> bool {
        self.logs.is_some()
    }

    /// Returns the folder of the user's access logs, or the named one, which may not have a
    /// log yet.
    pub(super) fn folder(
        &self,
        vault: &Vault,
        session: &Session<'_>,
    ) -> Result<Option<PathBuf>, Failure> {
        match &self.logs {
            Some(dir) => session.workspace.named_folder(dir).map(Some),
            None => Ok(session.workspace.readable_logs(vault)?.folder),
        }
    }

    /// Returns the access logs for a question: those in the named folder, or those of this machine
    /// and of the vault, including those of this user at other paths.
    pub(super) fn open(
        &self,
        vault: &Vault,
        session: &mut Session<'_>,
    ) -> Result<AccessLogs, Failure> {
        session.named_logs.clone_from(&self.logs);
        let found = match &self.logs {
            Some(dir) => session.workspace.logs_in(vault, dir),
            None => session.workspace.asked_logs(vault),
        }?;
        name_unread(&found.unread, session);
        Ok(found)
    }

    /// Returns these logs as a reader may see them.
    pub(in crate::front::cli) fn seen(
        &self,
        vault: &Vault,
        session: &mut Session<'_>,
    ) -> Result<Logs, Failure> {
        let sight = super::sight(session, vault)?;
        Ok(self.open(vault, session)?.logs.seen_by(sight))
    }
}

/// Returns the faults without those about lines on another ref.
fn here(mut faults: Vec<Fault>) -> Vec<Fault> {
    faults.retain(|fault| fault.kind != FaultKind::Elsewhere);
    faults
}

/// Names the logs of this user that an answer does not include, and how to read them.
fn name_unread(unread: &[UnreadLogs], session: &mut Session<'_>) {
    let named = |dir: &Path| shown(&dir.display().to_string()).into_owned();
    for logs in unread {
        match logs {
            UnreadLogs::Diverged(Elsewhere { dir, of }, lines) => {
                let dir = dir.display().to_string();
                let dir = argument(&dir);
                let lines = count(usize::try_from(*lines).unwrap_or(usize::MAX), "line");
                session.ui.note(&format!(
                    "note: {lines} at checkpoints that this vault does not contain, in the access log of `{}`; `--logs {dir}` reads them",
                    named(of)
                ));
            }
            UnreadLogs::Lacking(Elsewhere { dir, of }, why) => {
                let (dir, why) = (named(dir), shown(why));
                session.ui.note(&format!(
                    "note: the access log of `{}` may lack accesses of this vault: {why} (in `{dir}`)",
                    named(of)
                ));
            }
            UnreadLogs::Uncompared(folders) => {
                let folders = count(*folders, "folder");
                session.ui.warn(&format!(
                    "the checkpoint log cannot be relied on, so the access logs of other paths ({folders}) are not read; run `ctx verify`"
                ));
            }
            UnreadLogs::Failed(dir, why) => {
                let why = shown(why);
                session
                    .ui
                    .warn(&format!("the access logs in `{}` are not read: {why}", named(dir)));
            }
            UnreadLogs::TooMany(home, more) => {
                let more = count(*more, "folder");
                session.ui.warn(&format!("{more} of access logs in `{}` not read", named(home)));
            }
        }
    }
}
