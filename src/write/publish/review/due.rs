//! Documents whose approval is older than the stewards allow (`review.max_age`, STEW-6).

use rayon::prelude::*;

use super::super::PublishError;
use super::queue::rules_in_force;
use crate::files::vault::Vault;
use crate::policy::rules::Reviewed;
use crate::read::snapshot::Snapshot;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::text::document::review::ReviewFields;
use crate::values::model::id::DocumentId;
use crate::values::model::timestamp::Timestamp;

const DAY: i64 = 24 * 60 * 60 * 1000;

/// A document that is due for a review.
#[derive(Debug)]
pub(crate) struct Due {
    /// The document.
    pub(crate) id: DocumentId,
    /// Time of the approval; of the publication, if the vault was not governed then.
    pub(crate) approved_at: Timestamp,
    /// True if a review published the text; otherwise no reviewer has approved it yet.
    pub(crate) is_approved: bool,
    /// Number of days after which an approval is due again.
    pub(crate) max_age: u64,
}

/// Returns the documents of the head whose approval is older than allowed, in byte order.
///
/// Empty in an ungoverned vault. Texts are read only if some scope sets `max_age`.
///
/// # Errors
/// The log or the configuration cannot be relied on.
pub(crate) fn due(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    head: &Snapshot<'_>,
    now: Timestamp,
) -> Result<Vec<Due>, PublishError> {
    let Some(rules) = rules_in_force(vault, chronicle)? else { return Ok(Vec::new()) };
    let stewards = &rules.stewards;
    if stewards.review_entries().all(|(_, entry)| entry.max_age.is_none()) {
        return Ok(Vec::new());
    }
    let ids: Vec<&DocumentId> = head.documents()?.collect();
    let each = ids.into_par_iter().filter_map(|id| {
        let served = head.get(id)?.ok()?;
        let max_age = stewards.review_of(id, &served.fields.tags).max_age?;
        let approved_at = served.entry.published_at()?;
        let allowed = i64::try_from(max_age).unwrap_or(i64::MAX).saturating_mul(DAY);
        let age = now.millis().saturating_sub(approved_at.millis());
        let review = ReviewFields::of(&served.fields);
        let is_approved = Reviewed::is_claimed(id, &served.entry, review.as_ref());
        let due = || Due { id: id.clone(), approved_at, is_approved, max_age };
        (age > allowed).then(due)
    });
    let mut due: Vec<Due> = each.collect();
    due.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(due)
}
