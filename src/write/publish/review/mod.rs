//! The workflow of a governed vault: texts are submitted, reviewers decide, and approved texts are
//! published (paper, section 4.5; `spec/review.md`).
//!
//! Every step is a version in the history of its artifact. `submit` proposes a text, `propose` a
//! retirement or a move, and `admissible` checks both. `decide` approves, rejects, withdraws and
//! ratifies; `approvals` reads the submissions of a decision, `publication` makes the versions that
//! publish and `acts` the others. `emergency` retires without waiting for a second reviewer.
//!
//! `queue` lists the pending submissions from the histories of the `candidates`. `lines` reads the
//! steps in the change logs, `recorded` writes them, and `lost` finds submissions that only the
//! change logs record. `left` finds the parts that left their sets, and `reasons` what only the change logs say. `hidden` removes names from
//! refusals. `mode` makes a vault governed. `awaiting` marks the files of submissions in the
//! status, `due` finds approvals that are too old, and `access` collects the data of an access
//! review.

pub(crate) mod access;
mod acts;
mod admissible;
mod approvals;
pub(crate) mod awaiting;
mod candidates;
mod decide;
pub(crate) mod due;
mod emergency;
mod error;
mod hidden;
mod left;
mod lines;
mod lost;
mod mode;
mod propose;
mod publication;
mod queue;
mod reasons;
mod recorded;
mod submit;

pub use decide::{Decision, Refusing, approve, comment, reject, withdraw};
pub use emergency::retire_at_once;
pub use error::ReviewError;
pub(crate) use hidden::may_name;
pub use lost::{Lost, lost};
pub use mode::{Begin, begin, may_end};
pub(crate) use publication::unapproved;
pub use queue::{
    About, Awaited, LeftPart, Queue, Waiting, about, about_version, may_decide, queue, reviewers,
    rules_in_force,
};
pub(crate) use reasons::reasons;
pub(super) use recorded::{beside, changes_of};
pub(crate) use recorded::{catch_up, catch_up_event, interrupted_step};
pub use submit::{Submission, submit, submit_edit};

use self::candidates::Maps;
use super::artifact::Base;
use super::transaction::Transaction;
use super::{PublishError, Refusal};
use crate::policy::in_force::{self, Judge, Moves};
use crate::policy::rules::{Fault, Pending, Rules, Track};
use crate::values::model::id::DocumentId;

/// An artifact of a governed vault, with the reviews of its history.
pub(super) struct Reviewed {
    pub(super) base: Base,
    pub(super) track: Track,
}

impl Reviewed {
    /// Returns the pending submission.
    ///
    /// # Errors
    /// [`ReviewError::NotSubmitted`].
    fn pending(&self) -> Result<&Pending, ReviewError> {
        let id = self.track.id();
        self.track
            .pending
            .as_ref()
            .ok_or_else(|| ReviewError::NotSubmitted { id: id.clone(), others: Vec::new() })
    }
}

impl Transaction<'_> {
    /// Returns the history of an artifact with its reviews, with every hash recomputed.
    pub(super) fn reviewed(&self, id: &DocumentId) -> Result<Reviewed, PublishError> {
        let refused = |refusal: Refusal| PublishError::Refused(vec![refusal]);
        let last_sealed = self.last_sealed([id]).get(id).copied();
        let base = self.base(id, last_sealed).map_err(refused)?;
        let moves = Moves::default();
        let (files, in_force) = (self.vault.files(), &self.in_force.timeline);
        let judge = Judge { files, in_force, records: self.chronicle, moves: &moves };
        let track = judge.track(id, &base.history);
        let track = track.map_err(|why| refused(self.broken(id, &why)))?;
        Ok(Reviewed { base, track })
    }

    /// Returns the records of the checkpoints about artifacts.
    fn maps(&self) -> Maps<'_> {
        let in_force = &self.in_force.timeline;
        Maps::Log { chronicle: self.chronicle, state: &self.state, in_force }
    }

    /// Returns the rules in force.
    pub(super) fn rules(&self) -> Rules {
        self.in_force.rules(self.chronicle)
    }

    /// Returns the fault that keeps every reviewer from approving a pending submission (REV-15).
    pub(super) fn fault_of(&self, track: &Track, pending: &Pending) -> Option<Fault> {
        fault_of(&self.in_force.timeline, track, pending)
    }
}

/// Returns the fault that keeps every reviewer from approving a pending submission.
///
/// The submission is not based on the published version, or its submitter was not an editor
/// (REV-15, REV-17).
fn fault_of(in_force: &in_force::InForce, track: &Track, pending: &Pending) -> Option<Fault> {
    track.submission(pending).or_else(|| {
        let rules = in_force.rules_at(pending.at)?;
        track.submitted_by_editor(pending, rules)
    })
}
