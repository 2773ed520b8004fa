//! What awaits a decision.

use serde::Serialize;

use super::Report;
use super::advice::again::submitted_again;
use super::document::WithheldReport;
use crate::policy::rules::{Pending, Proposal};
use crate::prove::evidence::submission::unstamped;
use crate::record::chain::diff::change::{Change, Changes, Work};
use crate::text::document::review::Action;
use crate::values::codes::words;
use crate::values::model::hint::Hint;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::principal::Principal;
use crate::write::publish::review::{Queue, Waiting};

/// The answer of `review`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct QueueReport<'q> {
    /// Whose queue it is.
    pub principal: Option<&'q str>,
    /// What awaits, the oldest first, then the largest.
    pub waiting: Vec<QueuedReport<'q>>,
    /// How many submissions of the vault are not listed.
    pub others: usize,
    /// Steps that may be parts of interrupted ones: nothing is decided about these artifacts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<IncompleteReport<'q>>,
    /// Artifacts whose history cannot be read, so that it is unknown whether they await a decision.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<WithheldReport>,
}

/// A step that no line of the change log names.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct IncompleteReport<'q> {
    /// The artifact.
    pub id: &'q DocumentId,
    /// Its version.
    pub version: Version,
}

words! {
    /// What approving a submission does.
    pub enum QueuedAction {
        /// It publishes the text.
        Publish = "publish",
        /// It retires the artifact.
        Retire = "retire",
        /// It moves the document.
        Move = "move",
        /// It ratifies a retirement in an emergency.
        Emergency = "emergency",
        /// The text of the submission does not say it.
        Unknown = "unknown",
    }
}

impl From<&Action> for QueuedAction {
    fn from(action: &Action) -> Self {
        match action {
            Action::Publish => Self::Publish,
            Action::Retire => Self::Retire,
            Action::Move(_) => Self::Move,
        }
    }
}

/// One artifact that awaits a decision.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct QueuedReport<'q> {
    /// The artifact.
    pub id: &'q DocumentId,
    /// The version that was submitted, or that retired it.
    pub version: Version,
    /// `publish`, `retire` or `move`; `emergency` for a retirement that awaits ratification.
    pub action: QueuedAction,
    /// The id that it is moved to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<&'q DocumentId>,
    /// The set that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<&'q str>,
    /// Who submitted it.
    pub by: &'q str,
    /// When.
    pub at: String,
    /// The published version that it is based on, or 0.
    pub base: Version,
    /// Who approved it so far.
    pub approvals: Vec<&'q str>,
    /// How many approvals are required.
    pub required: u32,
    /// Lines that it adds to the published text, but for those that each step writes.
    pub lines_added: usize,
    /// Lines that it removes.
    pub lines_removed: usize,
    /// Whether this principal may approve it.
    pub mine: bool,
    /// Why it cannot be approved: an approval counts no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lapsed: Option<&'q str>,
    /// Of a retirement in an emergency, the submission upon it, which is decided first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Version>,
    /// What its submitter does where it cannot be approved.
    #[serde(skip)]
    pub(crate) again: Option<Hint>,
    /// Whether this principal is asked about it.
    #[serde(skip)]
    is_asked: bool,
}

impl<'q> QueueReport<'q> {
    /// Of a queue; `all` lists also what this principal may not approve.
    pub fn new(queue: &'q Queue, principal: Option<&'q Principal>, all: bool) -> Self {
        let rows = queue.waiting.iter().flat_map(QueuedReport::rows);
        let (mut waiting, others): (Vec<_>, Vec<_>) = rows.partition(|one| all || one.is_asked);
        waiting.sort_by_key(|one| {
            let size = one.lines_added + one.lines_removed;
            (one.at.clone(), std::cmp::Reverse(size), one.id)
        });
        let incomplete = queue.incomplete.iter();
        let incomplete = incomplete.map(|(id, version)| IncompleteReport { id, version: *version });
        let incomplete = incomplete.collect();
        Self {
            principal: principal.map(Principal::as_str),
            waiting,
            others: others.len(),
            incomplete,
            withheld: WithheldReport::all(&queue.withheld),
        }
    }
}

impl<'q> QueuedReport<'q> {
    /// What awaits a decision of one artifact: the submission, and the retirement in an emergency,
    /// which a submission upon it does not end (REV-14).
    pub fn rows(waiting: &'q Waiting) -> impl Iterator<Item = Self> {
        let track = &waiting.track;
        let after = track.pending.as_ref().map(|pending| pending.version);
        let submission = track.pending.as_ref().map(|pending| Self::of_pending(waiting, pending));
        let emergency = track.emergency.as_ref().map(|emergency| Self {
            version: emergency.version,
            by: &emergency.by,
            at: emergency.at.to_string(),
            mine: waiting.may_ratify && after.is_none(),
            is_asked: waiting.may_ratify,
            after,
            ..Self::of(waiting)
        });
        submission.into_iter().chain(emergency)
    }

    /// The first of these, which is decided first.
    pub fn first(waiting: &'q Waiting) -> Self {
        Self::rows(waiting).next().unwrap_or_else(|| Self::of(waiting))
    }

    fn of(waiting: &'q Waiting) -> Self {
        let published = waiting.track.published.as_ref();
        Self {
            id: waiting.track.id(),
            version: Version::NONE,
            action: QueuedAction::Emergency,
            target: None,
            change: None,
            by: "",
            at: String::new(),
            base: published.map_or(Version::NONE, |last| last.version),
            approvals: Vec::new(),
            required: 1,
            lines_added: 0,
            lines_removed: 0,
            mine: waiting.is_mine,
            lapsed: None,
            after: None,
            again: None,
            is_asked: waiting.is_asked,
        }
    }

    fn of_pending(waiting: &'q Waiting, pending: &'q Pending) -> Self {
        let track = &waiting.track;
        let before = track.last_published().map_or("", |last| last.text.as_str());
        let (before, after) = (unstamped(track.id(), before), unstamped(track.id(), &pending.text));
        let (lines_added, lines_removed) = size(&before, &after);
        let action = pending.action.as_ref();
        Self {
            version: pending.version,
            action: action.map_or(QueuedAction::Unknown, QueuedAction::from),
            target: action.and_then(|action| action.target()),
            change: pending.change.as_deref(),
            by: &pending.by,
            at: pending.at.to_string(),
            approvals: pending.approvals.iter().map(|a| a.by.as_str()).collect(),
            required: waiting.required,
            lines_added,
            lines_removed,
            again: waiting
                .lapsed
                .as_ref()
                .map(|_| submitted_again(track.id(), &Proposal::of(track, pending), false)),
            lapsed: waiting.lapsed.as_deref(),
            ..Self::of(waiting)
        }
    }
}

/// The work that counting the lines of one submission may cost: milliseconds. Texts further apart
/// than this finds count as replaced from the first line that differs to the last.
const STEPS: u64 = 1 << 20;

/// Returns how many lines differ between two texts: added and removed.
fn size(before: &str, after: &str) -> (usize, usize) {
    let Changes(changes) = Changes::between(before, after, &mut Work::of(STEPS));
    let sum = |of: fn(&Change) -> usize| changes.iter().map(of).sum();
    (sum(|change| change.added), sum(|change| change.removed))
}

impl Report for QueueReport<'_> {
    const SCHEMA: &'static str = "review";
}

/// The answer of `comment`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CommentReport<'c> {
    /// The artifact.
    pub id: &'c DocumentId,
}

impl Report for CommentReport<'_> {
    const SCHEMA: &'static str = "comment";
}
