//! Report of the submissions that await a decision.

use std::fmt;

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
use crate::write::publish::review::{LeftPart, Queue, Waiting};

/// The answer of `review`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct QueueReport<'q> {
    /// Principal whose queue this is.
    pub principal: Option<&'q str>,
    /// Submissions that await a decision, the oldest first, then the largest.
    pub waiting: Vec<QueuedReport<'q>>,
    /// Number of submissions of the vault that are not listed.
    pub others: usize,
    /// Possibly incomplete steps, whose artifacts cannot be decided about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<IncompleteReport<'q>>,
    /// Artifacts whose history cannot be read, so that their submissions are unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<WithheldReport>,
    /// Parts that emergency retirements removed from the changes of the listed submissions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<LeftReport<'q>>,
}

/// A part of a change whose submission an emergency retirement ended.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct LeftReport<'q> {
    /// Id of the document.
    pub id: &'q DocumentId,
    /// Version that retired it.
    pub version: Version,
    /// Name of the change.
    pub change: &'q str,
}

/// A step without a line in the change log.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct IncompleteReport<'q> {
    /// Id of the artifact.
    pub id: &'q DocumentId,
    /// Number of the version.
    pub version: Version,
}

words! {
    /// Effect of an approval.
    pub enum QueuedAction {
        /// The approval publishes the text.
        Publish = "publish",
        /// The approval retires the artifact.
        Retire = "retire",
        /// The approval moves the document.
        Move = "move",
        /// The approval ratifies an emergency retirement.
        Emergency = "emergency",
        /// The text of the submission does not state its action.
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
    /// Id of the artifact.
    pub id: &'q DocumentId,
    /// Version that was submitted, or that retired the artifact.
    pub version: Version,
    /// Effect of the approval: `publish`, `retire`, `move`, or `emergency` for a retirement that
    /// awaits ratification.
    pub action: QueuedAction,
    /// New id, for a move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<&'q DocumentId>,
    /// Name of the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<&'q str>,
    /// Principal who submitted it.
    pub by: &'q str,
    /// Time of the submission, in UTC.
    pub at: String,
    /// Published version that it is based on, or 0.
    pub base: Version,
    /// Reviewers who have approved it.
    pub approvals: Vec<&'q str>,
    /// Number of approvals that are required.
    pub required: u32,
    /// Number of lines added to the published text, without the fields that each step writes.
    pub lines_added: usize,
    /// Number of lines removed.
    pub lines_removed: usize,
    /// True if this principal may approve it.
    pub mine: bool,
    /// Reason why it cannot be approved, if an approval is no longer valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lapsed: Option<&'q str>,
    /// Submission after an emergency retirement, which must be decided first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Version>,
    /// Advice for the submitter if it cannot be approved.
    #[serde(skip)]
    pub(crate) again: Option<Hint>,
    /// True if a decision of this principal is requested.
    #[serde(skip)]
    is_asked: bool,
}

impl<'q> From<&'q LeftPart> for LeftReport<'q> {
    fn from(part: &'q LeftPart) -> Self {
        Self { id: &part.id, version: part.version, change: &part.change }
    }
}

impl fmt::Display for LeftReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, version, change } = self;
        let why = format!("its emergency retirement, version {version}, ended the submission");
        write!(f, "the change {change} no longer contains {id}: {why}")
    }
}

impl<'q> QueueReport<'q> {
    /// Reports a queue; `all` includes submissions that this principal may not approve.
    pub fn new(queue: &'q Queue, principal: Option<&'q Principal>, all: bool) -> Self {
        let rows = queue.waiting.iter().flat_map(QueuedReport::rows);
        let (mut waiting, others): (Vec<_>, Vec<_>) = rows.partition(|one| all || one.is_asked);
        waiting.sort_by_key(|one| {
            let size = one.lines_added + one.lines_removed;
            (one.at.clone(), std::cmp::Reverse(size), one.id)
        });
        let is_listed =
            |part: &&LeftPart| waiting.iter().any(|one| one.change == Some(part.change.as_str()));
        let left = queue.left.iter().filter(is_listed).map(LeftReport::from).collect();
        let incomplete = queue.incomplete.iter();
        let incomplete = incomplete.map(|(id, version)| IncompleteReport { id, version: *version });
        let incomplete = incomplete.collect();
        Self {
            principal: principal.map(Principal::as_str),
            waiting,
            others: others.len(),
            incomplete,
            withheld: WithheldReport::all(&queue.withheld),
            left,
        }
    }
}

impl<'q> QueuedReport<'q> {
    /// Returns the rows of one artifact: the submission, and the emergency retirement.
    ///
    /// A submission after an emergency retirement does not end it (REV-14), so both may be present.
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

    /// Returns the row that must be decided first.
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
        // An approval approves every change since the last text that was approved.
        let before = match pending.writes_text(track.id()) {
            true => track.last_approved(),
            false => track.last_published(),
        };
        let before = before.map_or("", |last| last.text.as_str());
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
                .map(|_| submitted_again(track.id(), &Proposal::of(track, pending), None)),
            lapsed: waiting.lapsed.as_deref(),
            ..Self::of(waiting)
        }
    }
}

/// Maximum work for counting the changed lines of one submission: milliseconds.
///
/// Beyond it, all lines from the first to the last difference are counted as replaced.
const STEPS: u64 = 1 << 20;

/// Returns the numbers of added and removed lines between two texts.
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
    /// Id of the artifact.
    pub id: &'c DocumentId,
}

impl Report for CommentReport<'_> {
    const SCHEMA: &'static str = "comment";
}
