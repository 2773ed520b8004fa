//! The parts of a submission that its submitter must repeat to submit it again.

use super::track::{Pending, Track};
use crate::text::document::review::Action;

/// The proposal of a submission, apart from its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// The action of an approval.
    pub action: Action,
    /// True if it is the published text of a document, to be approved again.
    pub is_renewal: bool,
    /// Name of the set that contains it.
    pub change: Option<String>,
}

impl Proposal {
    /// Returns the proposal of a submission of an artifact.
    pub fn of(track: &Track, pending: &Pending) -> Self {
        let action = pending.action.clone().unwrap_or_default();
        let is_renewal =
            track.id().is_document() && track.renews((pending.version, pending.at), &pending.text);
        Self { action, is_renewal, change: pending.change.clone() }
    }
}
