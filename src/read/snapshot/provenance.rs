//! Responsibility for a text: its maker and approvers, the steward who decides about the document,
//! and the time when the approval is due again (`spec/resolve.md`, RES-29).

use super::{Served, Snapshot, Withheld};
use crate::files::vault::config::Config;
use crate::files::vault::files::Files;
use crate::policy::rules::Reviewed;
use crate::policy::stewards::{self, Stewards};
use crate::record::audit::Deciding;
use crate::record::chain::history::{Entry, History};
use crate::text::document::obsidian::Markup;
use crate::text::document::review::ReviewFields;
use crate::values::model::id::DocumentId;
use crate::values::model::tag::Tag;
use crate::values::model::timestamp::Timestamp;

/// Number of milliseconds of a day.
const DAY: u64 = 86_400_000;

/// Responsibility for a text, in addition to the entry of its version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provenance {
    /// Review of the version; `None` if no review published it.
    pub(crate) reviewed: Option<Reviewed>,
    /// Steward who decides about the document; `None` if the checkpoint leaves the
    /// vault ungoverned.
    pub(crate) steward: Option<Deciding>,
    /// Time when the approval is due again.
    pub(crate) review_due: Option<Timestamp>,
}

/// Settings of a checkpoint's configuration for every document.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Markup of documents.
    pub(crate) markup: Markup,
    /// Stewards of a governed vault.
    stewards: Option<Stewards>,
}

impl Settings {
    /// Returns the settings of a checkpoint with this configuration.
    pub(super) fn of(snapshot: &Snapshot<'_>, config: &Result<Option<&Config>, Withheld>) -> Self {
        let Ok(config) = config else { return Self { markup: Markup::Unknown, stewards: None } };
        let stewards = || stewards::read(&snapshot.stewards_in_force()?).stewards;
        Self::read(*config, stewards)
    }

    /// Returns the settings of a checkpoint with this configuration, if any, and these stewards,
    /// which are only read if the vault is governed.
    pub(crate) fn read(config: Option<&Config>, found: impl FnOnce() -> Option<Stewards>) -> Self {
        let markup = config.map(Markup::of).unwrap_or_default();
        let stewards = config.filter(|config| config.is_governed()).and_then(|_| found());
        Self { markup, stewards }
    }

    /// Returns the steward who decides about an artifact with these tags, and the time when its
    /// approval is due again.
    pub(crate) fn answering(
        &self,
        id: &DocumentId,
        tags: &[Tag],
        reviewed: Option<&Reviewed>,
    ) -> (Option<Deciding>, Option<Timestamp>) {
        let Some(stewards) = &self.stewards else { return (None, None) };
        let max_age = stewards.review_of(id, tags).max_age;
        let review_due = reviewed.and_then(|reviewed| due(reviewed.approved_at, max_age?));
        (stewards.deciding(id, tags), review_due)
    }
}

impl Provenance {
    /// Returns the provenance of a version.
    pub(super) fn of(
        files: &Files,
        settings: &Settings,
        served: &Served,
        history: &History,
    ) -> Self {
        let (id, entry) = (&served.id, &served.entry);
        let fields = ReviewFields::of(&served.fields);
        let reviewed = Reviewed::of(files, id, history, entry.version, fields.as_ref());
        let tags = &served.fields.tags;
        let (steward, review_due) = settings.answering(id, tags, reviewed.as_ref());
        Self { reviewed, steward, review_due }
    }
}

/// Returns the time `days` later; `None` if a timestamp cannot represent it.
fn due(approved_at: Timestamp, days: u64) -> Option<Timestamp> {
    let later = i64::try_from(days.checked_mul(DAY)?).ok()?;
    let later = approved_at.millis().checked_add(later)?;
    // A time without a spelling is clamped.
    Some(Timestamp::from_millis(later)).filter(|due| due.millis() == later)
}

impl Served {
    /// Returns the principal who submitted the version, or who recorded it without a review.
    pub fn edited_by(&self) -> &str {
        written(&self.entry, self.provenance.reviewed.as_ref()).0
    }

    /// Returns the time when the text was submitted or recorded.
    pub fn edited_at(&self) -> Timestamp {
        written(&self.entry, self.provenance.reviewed.as_ref()).1
    }

    /// Returns the approvers, in order; empty if no review published the version.
    pub fn approved_by(&self) -> &[String] {
        self.provenance.reviewed.as_ref().map_or(&[], |reviewed| &reviewed.approved_by)
    }

    /// Returns the time of the last approval; `None` if no review published the version.
    pub fn approved_at(&self) -> Option<Timestamp> {
        self.provenance.reviewed.as_ref().map(|reviewed| reviewed.approved_at)
    }
}

/// Returns the maker and time of the text of a version.
pub(crate) fn written<'e>(
    entry: &'e Entry,
    reviewed: Option<&'e Reviewed>,
) -> (&'e str, Timestamp) {
    match reviewed {
        Some(reviewed) => (&reviewed.submitted_by, reviewed.submitted_at),
        None => (&entry.edited_by, entry.edited_at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn review_is_due_after_days_within_the_range_of_timestamps() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let due = |from: &str, days| due(at(from), days).map(|due| due.to_string());
        assert_eq!(
            due("2026-11-24T10:00:00.000Z", 90).as_deref(),
            Some("2027-02-22T10:00:00.000Z")
        );
        assert_eq!(due("9999-11-24T10:00:00.000Z", 36_500), None);
        assert_eq!(due("2026-11-24T10:00:00.000Z", u64::MAX), None);
    }
}
