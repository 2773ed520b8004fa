//! Writing a step of a review: versions that no checkpoint seals (`spec/review.md`, REV-10).

use super::review;
use super::transaction::Transaction;
use super::{Event, Outcome, PublishError, intend, taken_back};
use crate::record::audit::changes;
use crate::record::trusted_head::{self, Head};
use crate::write::commit::{AfterCommit, StepFailure, hint, point};

/// Writes the versions of a step, unless it is refused or a dry run.
pub(super) fn write(
    transaction: &Transaction<'_>,
    mut outcome: Outcome,
    event: &Event<'_>,
) -> Result<Outcome, PublishError> {
    if !outcome.refused.is_empty() && !event.mode.skip_invalid {
        return Err(PublishError::Refused(outcome.refused));
    }
    if event.mode.dry_run {
        return Ok(outcome);
    }
    if outcome.items.is_empty() {
        let lives = outcome.other_lives();
        outcome.committed = Some(point::commit(transaction.vault, &[], &lives, None)?);
        return Ok(outcome);
    }
    let (vault, before, author) = (transaction.vault, transaction.chronicle, event.author);
    let intent = intend((vault, before), author, transaction.at, None);
    let written = point::commit_step(vault, &outcome.items, transaction.at);
    let mut committed = written.map_err(|why| {
        taken_back(vault, &outcome.items, None, &intent);
        PublishError::from(why)
    })?;
    let head = Head::of(before);
    let steps = review::changes_of(&outcome.items, outcome.act.reason());
    let recorder = transaction.in_force.recorder(author);
    let recorded = steps
        .into_iter()
        .try_for_each(|change| changes::other(vault, Some(&head), &recorder, author.now, change));
    match recorded {
        Ok(()) => {
            // If the record is not withdrawn, or a line is missing, the next writer looks again.
            trusted_head::withdraw(vault, |left| left.event == intent.event);
            if trusted_head::interrupted(vault, &head).is_none() {
                hint::remove(vault.files());
            }
        }
        Err(why) => committed.after.push(StepFailure {
            step: AfterCommit::ChangeLog,
            path: None,
            why: why.to_string(),
        }),
    }
    outcome.committed = Some(committed);
    Ok(outcome)
}
