//! Notifies a program of the user (mail, chat) of submissions and decisions. Only the user's own
//! configuration can name it, never a vault, and its result does not change the vault.

use serde::Serialize;

use super::Workspace;
use crate::files::process::configured;
use crate::files::vault::Vault;
use crate::service::workspace::submission::reviewers;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::write::commit::{self, Step};
use crate::write::publish::{Act, Outcome, review};

/// The version of the message format.
const PROTOCOL: u32 = 1;

/// The message to the program: JSON on one line.
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
    /// The set of its submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'n str>,
    /// The outcome, in the words of the command.
    outcome: &'static str,
    /// The principals who may decide next.
    reviewers: Vec<String>,
}

impl Workspace<'_> {
    /// Runs the program that the user's configuration names for this vault, if there is one, after
    /// a submission or a decision.
    ///
    /// # Errors
    /// The program could not be run, or failed. The event remains recorded.
    pub(crate) fn notify(&self, vault: &Vault, outcome: &Outcome) -> Result<(), String> {
        let reason = outcome.act.reason();
        let action = match &outcome.act {
            Act::Publish => return Ok(()),
            Act::Submit => "submit",
            Act::Approve => "approve",
            Act::Reject(_) => "reject",
            Act::Withdraw(_) => "withdraw",
            Act::Emergency(_) => "emergency",
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
    /// Returns keys of the user's configuration that nothing reads, such as misspelt ones,
    /// as sentences.
    pub(crate) fn unknown_settings(&self, vault: &Vault) -> Vec<String> {
        configured::unknown_keys(vault.root(), |name| self.environment.var(name))
    }
}

/// Returns the set that all items of an outcome belong to.
fn the_set(outcome: &Outcome) -> Option<&str> {
    let first = outcome.items.first()?.set.as_deref()?;
    outcome.items.iter().all(|item| item.set.as_deref() == Some(first)).then_some(first)
}
