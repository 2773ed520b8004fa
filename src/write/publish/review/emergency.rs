//! Emergency retirement: one reviewer removes a document from the maps, and another one ratifies
//! it afterwards.

use super::super::governance_files::Includes;
use super::super::{Act, Author, Event, Gate, Mode, Outcome, PublishError, Refusal, event};
use super::ReviewError;
use super::decide::check_text;
use crate::files::vault::Vault;
use crate::policy::stewards::Role;
use crate::text::document::edit::Edit;
use crate::text::document::review::ReviewEdit;
use crate::values::model::id::DocumentId;
use crate::write::commit::Change;

/// Retires documents in an emergency, without waiting for another reviewer, as one event.
///
/// # Errors
/// Nothing was retired; see [`PublishError`].
pub fn retire_at_once(
    vault: &Vault,
    ids: &[DocumentId],
    (author, mode): (&Author, Mode),
    reason: &str,
) -> Result<Outcome, PublishError> {
    check_text("the reason", reason, 1000)?;
    let subjects: Vec<&DocumentId> = ids.iter().collect();
    let (includes, gate) = (Includes::Only(&[]), Gate::Decides);
    let what = Event { author, mode, subjects: &subjects, includes, gate };
    event(vault, &what, |transaction, outcome| {
        transaction.check_readable(ids)?;
        outcome.act = Act::Emergency(reason.to_owned());
        let rules = transaction.rules();
        for id in ids {
            if transaction.state.get(id.as_str()).is_none() || !id.is_document() {
                let message = "it is not a published document".to_owned();
                let hint = "only a published document can be retired";
                outcome.refused.push(Refusal::new(id.live_path(), "not-published", message, hint));
                continue;
            }
            let reviewed = transaction.reviewed(id)?;
            let base = &reviewed.base;
            let sealed = base.sealed.as_deref().unwrap_or_default();
            outcome.ended.extend(reviewed.track.pending.clone().map(|ended| (id.clone(), ended)));
            let subjects = reviewed.track.retired(sealed);
            let fit = rules.require(author.principal.as_str(), Role::Reviewer, subjects);
            fit.map_err(ReviewError::from)?;
            let step = ReviewEdit::Emergency { reason };
            let at = transaction.at.to_string();
            let edit = Edit::step(base.next(), &at, "draft", &step);
            let text =
                edit.apply(sealed).map_err(|why| Refusal::of_spelling(&id.live_path(), &why));
            let item = text
                .and_then(|text| transaction.next_version(id, base, &text.into(), Change::Retired));
            let mut item = item.map_err(|refusal| PublishError::Refused(vec![refusal]))?;
            item.live = transaction.retired_live(id, base);
            outcome.items.push(item);
        }
        Ok(())
    })
}
