//! The workflow of a governed vault: texts are submitted, reviewers decide, and what they approve is
//! published (paper, section 4.5; `spec/review.md`).
//!
//! Every step is a version of the history of what it is about. `submit` proposes a text, `propose` a
//! retirement or a move, and `admissible` says which of these may be made. `decide` approves, rejects,
//! withdraws and ratifies; `approvals` are what that is about, `publication` makes the versions that
//! publish and `acts` the others. `emergency` retires at once. `queue` lists what awaits a decision, as the
//! histories of the `candidates` say; `lines` are what the change logs say of steps, `recorded`
//! writes them, and `lost` are submissions that only lines name. `hidden` is what a refusal may say. `mode` makes a vault governed. `awaiting` finds the files that submissions were made
//! from, `due` approvals that are too old, and `access` what an access review asks for.

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
mod lines;
mod lost;
mod mode;
mod propose;
mod publication;
mod queue;
mod recorded;
mod submit;

pub use decide::{Decision, Refusing, approve, comment, reject, withdraw};
pub use emergency::retire_at_once;
pub use error::ReviewError;
pub(crate) use hidden::may_name;
pub use lost::{Lost, lost};
pub use mode::{Begin, begin, may_end};
pub use propose::{propose_move, propose_retirement};
pub use queue::{
    About, Awaited, Queue, Waiting, about, about_version, may_decide, queue, reviewers,
    rules_in_force,
};
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
    /// What awaits a decision.
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
    /// The history of an artifact with its reviews, every hash recomputed.
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

    /// What the checkpoints say of artifacts.
    fn maps(&self) -> Maps<'_> {
        let in_force = &self.in_force.timeline;
        Maps::Log { chronicle: self.chronicle, state: &self.state, in_force }
    }

    /// The rules in force.
    pub(super) fn rules(&self) -> Rules {
        self.in_force.rules(self.chronicle)
    }

    /// Why what awaits a decision cannot be approved by any reviewer (REV-15).
    pub(super) fn fault_of(&self, track: &Track, pending: &Pending) -> Option<Fault> {
        fault_of(&self.in_force.timeline, track, pending)
    }
}

/// Why what awaits a decision cannot be approved, by any reviewer: it is no submission of what is
/// published, or its submitter was no editor at that time (REV-15, REV-17).
fn fault_of(in_force: &in_force::InForce, track: &Track, pending: &Pending) -> Option<Fault> {
    track.submission(pending).or_else(|| {
        let rules = in_force.rules_at(pending.at)?;
        track.submitted_by_editor(pending, rules)
    })
}
