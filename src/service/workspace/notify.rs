//! Telling a program of the user what was submitted or decided (mail, chat). The user's own
//! configuration names it, never a vault; what it does changes nothing in the vault.

use serde::Serialize;

use super::Workspace;
use crate::files::process::configured;
use crate::files::vault::Vault;
use crate::service::workspace::submission::reviewers;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::write::commit::{self, Step};
use crate::write::publish::{Act, Outcome, review};

/// The version of the message.
const PROTOCOL: u32 = 1;

/// What the program gets on its input, as JSON on one line.
#[derive(Debug, Serialize)]
struct Notice<'n> {
    protocol: u32,
    /// `submit`, `approve`, `reject`, `withdraw` or `emergency`.
    action: &'n str,
    /// The folder of the vault.
    vault: String,
    items: Vec<Noticed<'n>>,
    by: &'n str,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'n str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'n str>,
}

/// One artifact of a message.
#[derive(Debug, Serialize)]
struct Noticed<'n> {
    id: &'n DocumentId,
    version: Version,
    /// The set that its submission belonged to.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'n str>,
    /// What became of it, as the command prints it.
    outcome: &'static str,
    /// Who may decide about it now.
    reviewers: Vec<String>,
}

impl Workspace<'_> {
    /// Runs the program that the user's configuration names for this vault, if there is one, after
    /// something was submitted or decided.
    ///
    /// # Errors
    /// The program was not run, or failed. What was recorded stands.
    pub(crate) fn notify(&self, vault: &Vault, outcome: &Outcome) -> Result<(), String> {
        let (action, reason) = match &outcome.act {
            Act::Publish => return Ok(()),
            Act::Submit => ("submit", None),
            Act::Approve => ("approve", None),
            Act::Reject(reason) => ("reject", Some(reason.as_str())),
            Act::Withdraw(reason) => ("withdraw", reason.as_deref()),
            Act::Emergency(reason) => ("emergency", Some(reason.as_str())),
        };
        if outcome.committed.is_none() || outcome.items.is_empty() {
            return Ok(());
        }
        let program = configured::notified(vault.root(), |name| self.environment.var(name));
        let Some(program) = program.map_err(|why| why.to_string())? else { return Ok(()) };
        let (principal, _) =
            self.principal(vault.root(), None).map_err(|why| why.message.clone())?;
        let waits = |step| matches!(step, commit::Change::Step(Step::Submit | Step::ApproveInPart));
        let who = |id: &DocumentId| review::about(vault, id, &principal).map(|a| reviewers(&a));
        let items = outcome.items.iter().map(|item| Noticed {
            id: &item.id,
            version: item.version,
            change: item.set.as_deref(),
            outcome: item.change.as_str(),
            reviewers: match waits(item.change) || matches!(outcome.act, Act::Emergency(_)) {
                true => who(&item.id).unwrap_or_default(),
                false => Vec::new(),
            },
        });
        let at = match &outcome.checkpoint {
            Some(checkpoint) => checkpoint.at,
            None => self.now().map_err(|why| why.message.clone())?,
        };
        let notice = Notice {
            protocol: PROTOCOL,
            action,
            vault: vault.root().display().to_string(),
            items: items.collect(),
            by: principal.as_str(),
            at: at.to_string(),
            change: the_set(outcome),
            reason,
        };
        let mut line = serde_json::to_vec(&notice).map_err(|why| why.to_string())?;
        line.push(b'\n');
        program.tell(&line)
    }
}

impl Workspace<'_> {
    /// What the user's configuration says that nothing reads, as a misspelt key.
    pub(crate) fn unknown_settings(&self, vault: &Vault) -> Vec<String> {
        configured::unknown_keys(vault.root(), |name| self.environment.var(name))
    }
}

/// The set that all of it belongs to.
fn the_set(outcome: &Outcome) -> Option<&str> {
    let first = outcome.items.first()?.set.as_deref()?;
    outcome.items.iter().all(|item| item.set.as_deref() == Some(first)).then_some(first)
}
