//! A past or pending submission, as the history of its artifact records it.

use super::approval::Reviewed;
use super::track::{StepKind, Track, fields_of};
use crate::files::vault::files::Files;
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{Entry, History};
use crate::record::chain::walk::Walk;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;

/// A submission as it awaited a decision, and the version that ended it.
#[derive(Clone, Debug)]
pub struct PastSubmission {
    /// The reviews of its artifact before it ended, including its approvals in part.
    pub track: Track,
    /// The version that ended it; `None` while it awaits a decision.
    pub end: Option<SubmissionEnd>,
}

/// The version that ended a submission.
#[derive(Clone, Debug)]
pub struct SubmissionEnd {
    /// Kind of the version; [`StepKind::Submitted`] if another submission replaced this one.
    pub kind: StepKind,
    /// True if the version claims to be an approval.
    pub is_approval: bool,
    /// Number of the version.
    pub version: Version,
    /// Chain hash of the version.
    pub chain_hash: Digest,
    /// The principal who made it.
    pub by: String,
    /// Time of the version.
    pub at: Timestamp,
    /// The reason in its text, if any; that of a governance file is in the change log.
    pub reason: Option<String>,
}

impl PastSubmission {
    /// Returns the submission with this version; `None` if the version is not a submission.
    ///
    /// # Errors
    /// The first version up to its end that the chain does not vouch for.
    pub fn of(
        files: &Files,
        id: &DocumentId,
        history: &History,
        version: Version,
    ) -> Result<Option<Self>, ChainError> {
        let mut track = Track::new(id);
        let mut walk = Walk::new(files, id, history);
        while let Some(step) = walk.next() {
            let before = awaits(&track, version).then(|| track.clone());
            let Some((entry, text, kind)) = track.take_vouched(step)? else { continue };
            if let Some(before) = before.filter(|_| !awaits(&track, version)) {
                let end = SubmissionEnd::of(id, entry, kind, text);
                return Ok(Some(Self { track: before, end: Some(end) }));
            }
            if entry.version == version && !awaits(&track, version) {
                return Ok(None);
            }
        }
        Ok(awaits(&track, version).then_some(Self { track, end: None }))
    }

    /// Returns the submission that was rejected, or ended by an emergency retirement, if no other
    /// submission or event follows.
    ///
    /// # Errors
    /// The first version that the chain does not vouch for.
    pub fn refused(
        files: &Files,
        id: &DocumentId,
        history: &History,
    ) -> Result<Option<Self>, ChainError> {
        let mut track = Track::new(id);
        let mut walk = Walk::new(files, id, history);
        let mut found = None;
        while let Some(step) = walk.next() {
            let before = track.pending.is_some().then(|| track.clone());
            let Some((entry, text, kind)) = track.take_vouched(step)? else { continue };
            let is_end = match kind {
                StepKind::Rejected => true,
                StepKind::Event => track.emergency.is_some(),
                StepKind::ApprovedInPart | StepKind::Ratified => continue,
                StepKind::Submitted | StepKind::Withdrawn | StepKind::Other => false,
            };
            found = before.filter(|_| is_end).map(|track| {
                let end = Some(SubmissionEnd::of(id, entry, kind, text));
                Self { track, end }
            });
        }
        Ok(found)
    }
}

fn awaits(track: &Track, version: Version) -> bool {
    track.pending.as_ref().is_some_and(|pending| pending.version == version)
}

impl SubmissionEnd {
    fn of(id: &DocumentId, entry: &Entry, kind: StepKind, text: &str) -> Self {
        let text = id.is_document().then_some(text);
        let fields = text.and_then(fields_of);
        let is_approval = Reviewed::is_claimed(id, entry, fields.as_ref());
        let (by, at) = (entry.edited_by.clone(), entry.edited_at);
        let reason = fields.and_then(|fields| fields.reason);
        let (version, chain_hash) = (entry.version, entry.chain_hash);
        Self { kind, is_approval, version, chain_hash, by, at, reason }
    }
}
