//! Making a vault governed, as one event that seals both governance files.

use std::collections::BTreeSet;

use super::super::governance_files::Includes;
use super::super::{Author, Event, Gate, Mode, Outcome, PublishError, event};
use super::ReviewError;
use super::queue::whole_queue;
use crate::files::vault::Vault;
use crate::policy::stewards::{self, Role, Scope, Stewards, Stuck};
use crate::text::document::utf8;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::principal::PrincipalKey;

/// A request to make a vault governed.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'b> {
    /// The principal, the time and the note.
    pub author: &'b Author,
    /// True if one reviewer of the vault is enough.
    pub alone: bool,
    /// The mode of the event.
    pub mode: Mode,
}

/// Publishes the stewards, and the configuration with mandatory review.
///
/// # Errors
/// Nothing was changed; see [`PublishError`].
pub fn begin(
    vault: &Vault,
    begin: &Begin<'_>,
    edit: impl Fn(&str) -> Result<String, String>,
) -> Result<Outcome, PublishError> {
    let files = vault.files();
    let live = files.read_optional(&DocumentId::stewards().live_path(), limit::DOCUMENT)?;
    let text = live.as_deref().and_then(|bytes| utf8(bytes).ok()).unwrap_or_default();
    let (reading, mut stuck) = (stewards::read(text), Vec::new());
    // Problems of the file are reported when it is prepared for publication.
    if let Some(found) = &reading.stewards {
        let (reviewers, needed) = (vault_reviewers(found).len(), if begin.alone { 1 } else { 2 });
        if reviewers < needed {
            return Err(ReviewError::TooFewReviewers { found: reviewers, needed }.into());
        }
        stuck = check_stewards(found)?;
    }
    let ids = DocumentId::rules();
    let subjects = [&ids[0], &ids[1]];
    let (author, mode, gate) = (begin.author, begin.mode, Gate::Begins);
    let includes = Includes::Only(&subjects);
    event(vault, &Event { author, mode, subjects: &[], includes, gate }, |transaction, outcome| {
        outcome.stuck.clone_from(&stuck);
        for (n, id) in ids.iter().enumerate() {
            match n {
                0 => transaction.prepare_edit(id, &edit, outcome),
                _ => transaction.prepare_edit(id, &|text| Ok(text.to_owned()), outcome),
            }
        }
        Ok(())
    })
}

/// Checks that no submission awaits a decision, so that a vault may become ungoverned.
///
/// # Errors
/// [`ReviewError::ReviewsPending`], or a pending submission cannot be read.
pub fn may_end(vault: &Vault) -> Result<(), PublishError> {
    let queue = whole_queue(vault, None)?;
    let waiting = queue.waiting.iter().map(|waiting| waiting.track.id());
    let unknown = queue.withheld.iter().map(|withheld| &withheld.id);
    let all = waiting.chain(queue.incomplete.iter().map(|(id, _)| id)).chain(unknown);
    let others = all.filter(|id| **id != DocumentId::config()).count();
    match others {
        0 => Ok(()),
        n => {
            let what = crate::values::text_util::count(n, "submission");
            Err(ReviewError::ReviewsPending(format!("decide or withdraw {what}")).into())
        }
    }
}

/// Refuses stewards who could never approve a change of `stewards.yaml`, nor turn off
/// mandatory review.
///
/// No principal could change such a state later.
fn check_vault(found: &Stewards) -> Result<(), ReviewError> {
    match vault_reviewers(found).len() {
        0 => Err(ReviewError::TooFewReviewers { found: 0, needed: 1 }),
        _ => found.stuck_at(&Scope::Vault).map_or(Ok(()), |stuck| Err(ReviewError::Locked(stuck))),
    }
}

/// Checks stewards; returns the other scopes at which nothing could be approved.
///
/// A reviewer of the vault can change those.
pub(super) fn check_stewards(found: &Stewards) -> Result<Vec<Stuck>, ReviewError> {
    check_vault(found)?;
    Ok(found.stuck())
}

/// Returns the reviewers of the whole vault, each once.
fn vault_reviewers(found: &Stewards) -> BTreeSet<PrincipalKey> {
    let scope = found.at(&Scope::Vault);
    let holders = scope.map(|scope| found.holders(scope)).unwrap_or_default();
    let reviewers = holders.into_iter().filter(|holder| holder.role == Role::Reviewer);
    reviewers.map(|holder| holder.principal.key()).collect()
}
