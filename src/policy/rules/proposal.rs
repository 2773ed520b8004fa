//! What a submission proposes, as far as its submitter has to say it to submit it once more.

use super::track::{Pending, Track};
use crate::text::document::review::Action;

/// What a submission proposes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// What approving it does.
    pub action: Action,
    /// Whether it is the published text of a document, to be approved again.
    pub is_renewal: bool,
    /// The set that it belongs to.
    pub change: Option<String>,
}

impl Proposal {
    /// What a submission of an artifact proposes.
    pub fn of(track: &Track, pending: &Pending) -> Self {
        let action = pending.action.clone().unwrap_or_default();
        let is_renewal =
            track.id().is_document() && track.renews((pending.version, pending.at), &pending.text);
        Self { action, is_renewal, change: pending.change.clone() }
    }
}
