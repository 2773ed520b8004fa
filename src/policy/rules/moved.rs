//! The text that an approved move publishes under the new id. Its source and the event decide every
//! byte (`spec/review.md`, REV-7).

use super::Rules;
use super::track::{Track, fields_of};
use crate::record::chain::history::Entry;
use crate::text::document::Document;
use crate::text::document::edit::EditError;
use crate::text::document::live_form::LiveForm;
use crate::text::document::review::{Action, ReviewState};
use crate::text::document::stamp::{NextText, Stamp, StampedAs};
use crate::text::uri::Uri;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// A move that is approved, and the event that publishes it.
pub(crate) struct ApprovedMove<'m> {
    /// The ids before and after the move.
    pub(crate) ids: (&'m DocumentId, &'m DocumentId),
    /// The principal of the event.
    pub(crate) by: &'m str,
    /// The principals whom the text names as approvers.
    pub(crate) approved_by: &'m [String],
    /// Time of the event.
    pub(crate) at: Timestamp,
    /// The checkpoint before the event.
    pub(crate) head: CheckpointNumber,
}

impl ApprovedMove<'_> {
    /// Returns the first version of the new id, made from the live form of the published text.
    ///
    /// # Errors
    /// The frontmatter cannot be edited.
    pub(crate) fn first(&self, form: &LiveForm<'_>, rules: &Rules) -> Result<NextText, EditError> {
        let (old, new) = self.ids;
        let origin = Uri::pinned(old.clone(), self.head).within(&rules.authorities);
        let origin = origin.map(|origin| origin.to_string());
        let stamp = Stamp {
            version: Version::FIRST,
            author: self.by.to_owned(),
            created: self.at.to_string(),
            updated: self.at.to_string(),
            markup: rules.markup,
            stamped_as: StampedAs::Approved(self.approved_by.to_vec(), self.at),
        };
        let live = Document::of_live(form.text())?;
        stamp.next(new, form.text(), &live, origin.as_deref(), rules.frontmatter)
    }
}

/// The first version of the target of a recorded move.
#[derive(Clone, Debug)]
pub(crate) struct MovedText {
    pub(crate) target: DocumentId,
    /// The principal of the event.
    pub(crate) by: String,
    pub(crate) text: String,
}

impl Track {
    /// Returns the text that the retirement by this entry publishes under another id.
    ///
    /// `None` if the version is not a move. `head` is the checkpoint before its event. Must be
    /// called before the track takes the version.
    pub(crate) fn moved(
        &self,
        (entry, text): (&Entry, &str),
        rules: &Rules,
        head: CheckpointNumber,
    ) -> Option<MovedText> {
        let Some(Action::Move(target)) = &self.pending.as_ref()?.action else { return None };
        let fields = fields_of(text).filter(|fields| fields.state == ReviewState::Approved)?;
        let (by, approved_by) = (entry.edited_by.as_str(), fields.approved_by.as_slice());
        let (ids, at) = ((self.id(), target), entry.retired_at()?);
        let made = ApprovedMove { ids, by, approved_by, at, head };
        let form = LiveForm::of(&self.published.as_ref()?.text);
        let text = made.first(&form, rules).ok()?.sealed.to_string();
        Some(MovedText { target: target.clone(), by: by.to_owned(), text })
    }
}
