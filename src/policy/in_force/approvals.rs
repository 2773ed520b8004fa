//! Judges each event of a history by the rules in force before it (REV-17).

use super::decided::Decided;
use crate::policy::rules::{Fault, FaultKind, Rules, StepKind, Track};
use crate::record::chain::history::{Entry, EntryState};
use crate::record::checkpoint::record::Brought;
use crate::text::document::review::{Action, ReviewFields, ReviewState};
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// The data outside of a history on which its approvals depend.
pub(crate) trait Around {
    /// Returns the rules in force before an event; `None` if the vault was not governed.
    fn rules_before(&self, event: Brought) -> Option<&Rules>;

    /// Returns the rules that judge a step at this time (REV-31).
    fn rules_at(&self, at: Timestamp) -> Option<&Rules>;

    /// Returns the faults of the move that made this first version; `None` if no move made it.
    fn moved_here(
        &self,
        id: &DocumentId,
        entry: &Entry,
        text: &str,
        checkpoint: CheckpointNumber,
    ) -> Option<Vec<Fault>>;

    /// Returns true if an event publishes the first version of an artifact.
    fn begins(&self, id: &DocumentId, event: Brought) -> bool;
}

/// The approvals of one history, as far as it was read.
#[derive(Debug)]
pub(crate) struct Approvals {
    /// The reviews of the artifact.
    pub(crate) track: Track,
    /// The faults of the pending submission, which are reported when it is approved.
    submission: Vec<(Version, Fault)>,
}

/// The result of taking one version.
#[derive(Debug)]
pub(crate) struct Taken {
    /// The kind of step.
    pub(crate) kind: StepKind,
    /// The faults of its approval or of the step itself, each with the version to report.
    pub(crate) faults: Vec<(Version, Fault)>,
    /// The version as an event of a governed vault made it, to compare with the others of
    /// the event.
    pub(crate) decided: Option<Decided>,
}

impl Approvals {
    /// Creates the approvals of an artifact before its first version.
    pub(crate) fn new(id: &DocumentId) -> Self {
        Self { track: Track::new(id), submission: Vec::new() }
    }

    /// Skips a version whose text is lost; `entry` is `None` if that cannot be read, too.
    pub(crate) fn lose(&mut self, entry: Option<&Entry>) {
        self.track.lose(entry);
    }

    /// Takes the next version, and judges it if the vault was governed.
    ///
    /// `checkpoint` is the one whose event published or retired the version.
    pub(crate) fn take(
        &mut self,
        (entry, text): (&Entry, &str),
        checkpoint: Option<CheckpointNumber>,
        around: &impl Around,
    ) -> Taken {
        self.take_described((entry, text, None), checkpoint, around)
    }

    /// Takes the next version, whose review fields may be known already.
    pub(crate) fn take_described(
        &mut self,
        (entry, text, fields): (&Entry, &str, Option<Option<&ReviewFields>>),
        checkpoint: Option<CheckpointNumber>,
        around: &impl Around,
    ) -> Taken {
        // Reading the fields of a text takes longer than everything else here.
        let read = fields.is_none().then(|| self.track.review_fields(text)).flatten();
        let fields = fields.unwrap_or(read.as_ref());
        let mut submission = std::mem::take(&mut self.submission);
        let of_entry = |fault| (entry.version, fault);
        let mut faults = Vec::new();
        let event = checkpoint.zip(entry.event_at());
        let governed = event.and_then(|event| Some((event, around.rules_before(event)?)));
        let decided = governed.map(|(event, _)| Decided::of(&self.track, (entry, fields), event));
        if let Some(((checkpoint, _), rules)) = governed {
            if let Some(moved) = self.moved_here((entry, text), checkpoint, around) {
                faults = moved.into_iter().map(of_entry).collect();
            } else {
                let judged = self.track.judge(entry, (text, fields), rules);
                faults = judged.into_iter().map(of_entry).collect();
                // An emergency retirement approves nothing.
                if !is_emergency(fields) {
                    faults.splice(..0, submission.drain(..));
                    faults.extend(self.lost_target(entry, checkpoint, around).map(of_entry));
                }
            }
        } else if entry.state == EntryState::Unpublished
            && let Some(rules) = around.rules_at(entry.edited_at)
        {
            let judged =
                self.track.judge_step(entry, (text, fields), rules).into_iter().map(of_entry);
            match self.track.kind_by(entry, fields) {
                StepKind::Submitted => submission = judged.collect(),
                StepKind::ApprovedInPart => {}
                _ => {
                    submission.clear();
                    faults = judged.collect();
                }
            }
        }
        let is_author = !faults.is_empty() && !self.track.is_exact_approval(entry, (text, fields));
        let kind = self.track.take(entry, text, fields);
        if kind == StepKind::Event && !faults.is_empty() {
            self.track.disown(is_author.then_some(entry));
        }
        if entry.state == EntryState::Unpublished {
            self.submission = submission;
        }
        Taken { kind, faults, decided }
    }

    /// Returns the faults of the move that made a first version; `None` if no move made it.
    ///
    /// The submission of the source of the move is also that of this version.
    fn moved_here(
        &self,
        (entry, text): (&Entry, &str),
        checkpoint: CheckpointNumber,
        around: &impl Around,
    ) -> Option<Vec<Fault>> {
        let is_first = entry.version == Version::FIRST && self.track.pending.is_none();
        let id = self.track.id();
        let is_new = is_first && entry.is_published();
        is_new.then(|| around.moved_here(id, entry, text, checkpoint)).flatten()
    }

    /// Returns the fault of a move whose target was not published by the same event.
    fn lost_target(
        &self,
        entry: &Entry,
        checkpoint: CheckpointNumber,
        around: &impl Around,
    ) -> Option<Fault> {
        let action = self.track.pending.as_ref()?.action.as_ref()?;
        let Action::Move(target) = action else { return None };
        let is_lost = entry.retired_at().is_some_and(|at| !around.begins(target, (checkpoint, at)));
        let message =
            || format!("it was moved to `{target}`, which its checkpoint does not publish");
        is_lost.then(|| Fault::new(FaultKind::Altered, message()))
    }
}

/// Returns true if these are the fields of an emergency retirement, which moves nothing.
fn is_emergency(fields: Option<&ReviewFields>) -> bool {
    fields.is_some_and(|fields| fields.state == ReviewState::Emergency)
}
