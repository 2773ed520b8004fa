//! Report of one submission, for a reviewer who decides about it.

use std::collections::BTreeSet;

use serde::Serialize;

use super::problem::ProblemReport;
use super::review::QueuedReport;
use super::{Report, Spell};
use crate::policy::rules::{EmergencyRetirement, PastSubmission, StepKind, SubmissionEnd};
use crate::prove::evidence::blame::Blame;
use crate::prove::evidence::comparison::{Compared, Hunk, Piece, compare};
use crate::prove::evidence::submission::{FieldChange, Remark, Submitted, Texts};
use crate::values::codes::words;
use crate::values::model::hint::{Call, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// The answer of `review show`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SubmissionReport<'s> {
    /// Submission as `review` lists it.
    #[serde(flatten)]
    pub submission: QueuedReport<'s>,
    /// Other artifacts of its set.
    pub members: &'s [DocumentId],
    /// Number of further artifacts of its set that this principal may not read.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub members_hidden: usize,
    /// Artifacts that emergency retirements removed from its set.
    #[serde(skip_serializing_if = "<[DocumentId]>::is_empty")]
    pub members_left: &'s [DocumentId],
    /// True if it has its approvals and waits for another part of its set.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_others: bool,
    /// Note of the submission, which no hash covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unprotected_note: Option<&'s str>,
    /// Reason of an emergency retirement that awaits ratification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'s str>,
    /// Emergency retirement that preceded the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emergency: Option<EmergencyReport<'s>>,
    /// Version published before an emergency retirement; a later submission is compared with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub former: Option<Version>,
    /// Principals who may approve or ratify it now.
    pub reviewers: &'s [String],
    /// Reason why this principal may not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barred: Option<&'s str>,
    /// True if its submitters may not approve it because of submissions that were lost in a merge.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub barred_by_loss: bool,
    /// Reason why it cannot be approved in its present form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<&'s str>,
    /// Fields of the frontmatter that differ.
    pub fields: Vec<FieldReport<'s>>,
    /// True if the frontmatter also differs in comments, order or spelling.
    pub respelled: bool,
    /// Changes of the lines of the frontmatter, if `respelled`.
    pub frontmatter: Vec<HunkReport<'s>>,
    /// Changes of the body.
    pub hunks: Vec<HunkReport<'s>>,
    /// Parts of the submitted text that a rendered page does not show.
    pub warnings: Vec<ProblemReport>,
    /// Comments on the submission.
    pub comments: Vec<RemarkReport<'s>>,
    /// End of the submission, if it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<SubmissionEndReport<'s>>,
    /// Call that approves the submission.
    #[serde(skip)]
    pub approve: Call,
}

/// An emergency retirement that awaits ratification.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct EmergencyReport<'s> {
    /// Version that retired the document.
    pub version: Version,
    /// Reviewer who retired it.
    pub by: &'s str,
    /// Time of the retirement, in UTC.
    pub at: String,
    /// Reason for the retirement.
    pub reason: &'s str,
}

words! {
    /// End of a submission.
    pub enum Ending {
        /// An approval published or retired the artifact.
        Approved = "approved",
        /// A reviewer rejected the submission.
        Rejected = "rejected",
        /// Its submitter withdrew the submission.
        Withdrawn = "withdrawn",
        /// A later submission replaced it.
        Replaced = "replaced",
        /// An emergency retirement, or a version of another program, followed it.
        Ended = "ended",
    }

    /// Change of a line, or of a part of it.
    pub enum LineChange {
        /// The line is unchanged.
        Kept = "kept",
        /// The line was removed.
        Removed = "removed",
        /// The line was added.
        Added = "added",
        /// Parts of the line were removed or added.
        Changed = "changed",
    }
}

/// A submission that was refused, and not submitted again.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct RefusedReport<'s> {
    /// Id of the document or governance file.
    pub id: &'s DocumentId,
    /// Version of the submission.
    pub version: Version,
    /// Principal who submitted it.
    pub by: &'s str,
    /// End of the submission: `rejected`, or `ended` by an emergency retirement.
    pub ended: SubmissionEndReport<'s>,
}

impl<'s> RefusedReport<'s> {
    /// Returns the report; `None` if the submission still awaits a decision.
    pub(crate) fn of(past: &'s PastSubmission) -> Option<Self> {
        let pending = past.track.pending.as_ref()?;
        let (id, ended) = (past.track.id(), SubmissionEndReport::from(past.end.as_ref()?));
        Some(Self { id, version: pending.version, by: &pending.by, ended })
    }
}

/// The end of a submission.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SubmissionEndReport<'s> {
    /// Kind of the end: `approved`, `rejected`, `withdrawn`, `replaced` by a later submission, or
    /// `ended` by an emergency retirement or a version of another program.
    pub how: Ending,
    /// Version that ended it.
    pub version: Version,
    /// Principal who made that version.
    pub by: &'s str,
    /// Time of that version, in UTC.
    pub at: String,
    /// Recorded reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'s str>,
}

/// A field of the frontmatter that differs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct FieldReport<'s> {
    /// Name of the field.
    pub name: &'s str,
    /// Published value, in flow form; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<&'s str>,
    /// Submitted value, in flow form; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<&'s str>,
}

/// A group of changes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct HunkReport<'s> {
    /// First line of the hunk in the published text, from 1.
    pub from_line: usize,
    /// First line of the hunk in the submitted text, from 1.
    pub to_line: usize,
    /// Anchors of the changed sections; empty for the part before the first section.
    pub sections: Vec<String>,
    /// Makers of the lines that the hunk removes or changes.
    pub replaces: Vec<ReplacedReport<'s>>,
    /// Lines of the hunk.
    pub lines: Vec<ChangedLine<'s>>,
}

/// A version whose lines are removed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ReplacedReport<'s> {
    /// Version that added the lines.
    pub version: Version,
    /// Principal who made the version.
    pub edited_by: &'s str,
}

/// A line of a hunk.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ChangedLine<'s> {
    /// `kept`, `removed`, `added` or `changed`.
    pub change: LineChange,
    /// Version that added a removed or changed line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Line as one part, or the parts of a changed line.
    pub parts: Vec<PartReport<'s>>,
}

/// A part of a line.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PartReport<'s> {
    /// `kept`, `removed` or `added`.
    pub change: LineChange,
    /// Text of the part.
    pub text: &'s str,
}

/// A comment on a submission.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct RemarkReport<'s> {
    /// Version of the submission.
    pub version: u64,
    /// Principal who commented.
    pub by: &'s str,
    /// Time of the comment, in UTC.
    pub at: &'s str,
    /// Text of the comment.
    pub text: &'s str,
}

impl Report for SubmissionReport<'_> {
    const SCHEMA: &'static str = "review.show";
}

impl<'s> SubmissionReport<'s> {
    pub(crate) fn new(submitted: &'s Submitted, spell: Spell) -> Self {
        let track = &submitted.about.waiting.track;
        let submission = QueuedReport::first(&submitted.about.waiting);
        let emergency = track.emergency.as_ref();
        let former = track.former.as_ref().filter(|_| track.pending.is_some());
        let approve = Call::new(Verb::Approve).value(track.id().as_str());
        let approve = approve.word("--version").value(submission.version.to_string());
        Self {
            members: &submitted.about.members,
            members_hidden: submitted.about.hidden,
            members_left: &submitted.about.left,
            waits_for_others: submitted.about.waits_for_others,
            barred_by_loss: submitted.about.end.is_none() && track.has_lost(),
            unprotected_note: submitted.note.as_deref(),
            reason: emergency.filter(|_| track.pending.is_none()).map(|one| one.reason.as_str()),
            emergency: emergency.filter(|_| track.pending.is_some()).map(EmergencyReport::from),
            former: former.map(|former| former.version),
            reviewers: &submitted.reviewers,
            barred: submitted.barred.as_deref(),
            fault: submitted.fault.as_deref(),
            fields: submitted.texts.fields.iter().map(FieldReport::from).collect(),
            respelled: submitted.texts.frontmatter.is_some(),
            frontmatter: frontmatter(&submitted.texts),
            warnings: ProblemReport::all(&submitted.warnings, spell),
            hunks: hunks(&submitted.texts, submitted.blame.as_ref()),
            comments: submitted.comments.iter().map(RemarkReport::from).collect(),
            submission,
            ended: submitted.about.end.as_ref().map(SubmissionEndReport::from),
            approve,
        }
    }
}

impl<'s> From<&'s EmergencyRetirement> for EmergencyReport<'s> {
    fn from(emergency: &'s EmergencyRetirement) -> Self {
        let EmergencyRetirement { version, by, at, reason, .. } = emergency;
        Self { version: *version, by, at: at.to_string(), reason }
    }
}

impl<'s> From<&'s SubmissionEnd> for SubmissionEndReport<'s> {
    fn from(end: &'s SubmissionEnd) -> Self {
        let how = match end.kind {
            StepKind::Event if end.is_approval => Ending::Approved,
            StepKind::Rejected => Ending::Rejected,
            StepKind::Withdrawn => Ending::Withdrawn,
            StepKind::Submitted => Ending::Replaced,
            _ => Ending::Ended,
        };
        let (by, at, reason) = (&end.by, end.at.to_string(), end.reason.as_deref());
        Self { how, version: end.version, by, at, reason }
    }
}

impl<'s> From<&'s FieldChange> for FieldReport<'s> {
    fn from(field: &'s FieldChange) -> Self {
        let (before, after) = (field.before.as_deref(), field.after.as_deref());
        Self { name: &field.name, before, after }
    }
}

impl<'s> From<&'s Remark> for RemarkReport<'s> {
    fn from(remark: &'s Remark) -> Self {
        let Remark { version, by, at, text } = remark;
        Self { version: *version, by, at, text }
    }
}

/// Returns the changes of the lines of the frontmatter.
fn frontmatter<'s>(texts: &'s Texts) -> Vec<HunkReport<'s>> {
    let Some((old, new)) = &texts.frontmatter else { return Vec::new() };
    let place = |numbers: &[usize], n: usize| match numbers.get(n) {
        Some(number) => *number,
        None => numbers.last().map_or(1, |last| last + 1),
    };
    let report = |hunk: Hunk<'s>| {
        let from_line = place(&old.numbers, hunk.old.start);
        let to_line = place(&new.numbers, hunk.new.start);
        let lines = hunk.lines.into_iter().map(|line| changed(line, &|_| None)).collect();
        HunkReport { from_line, to_line, sections: Vec::new(), replaces: Vec::new(), lines }
    };
    compare(&old.text, &new.text, false).into_iter().map(report).collect()
}

fn hunks<'s>(texts: &'s Texts, blame: Option<&'s Blame>) -> Vec<HunkReport<'s>> {
    let (old, new) = texts.compared();
    // Lines are numbered in the whole texts, as in editors and in blame.
    let before = texts.published[..texts.bodies.0].split_inclusive('\n').count();
    let begin = texts.submitted[..texts.bodies.1].split_inclusive('\n').count();
    let origin = |line: usize| {
        let line = line + before;
        let spans = blame.map(|blame| blame.attribution.within(line..line + 1));
        spans.and_then(|mut spans| spans.next()).map(|span| span.version)
    };
    let report = |hunk: Hunk<'s>| {
        let (from_line, to_line) = (hunk.old.start + before + 1, hunk.new.start + begin + 1);
        let lines: Vec<ChangedLine<'s>> =
            hunk.lines.into_iter().map(|line| changed(line, &origin)).collect();
        let versions: BTreeSet<Version> = lines.iter().filter_map(|line| line.version).collect();
        let replaced = |version: Version| {
            let origin = blame?.origins.get(&version)?;
            Some(ReplacedReport { version, edited_by: &origin.edited_by })
        };
        let replaces = versions.into_iter().filter_map(replaced).collect();
        HunkReport { from_line, to_line, sections: hunk.sections, replaces, lines }
    };
    compare(old, new, texts.is_markdown).into_iter().map(report).collect()
}

fn changed<'s>(line: Compared<'s>, origin: &dyn Fn(usize) -> Option<Version>) -> ChangedLine<'s> {
    let whole = |change, version, text| ChangedLine {
        change,
        version,
        parts: vec![PartReport { change, text }],
    };
    match line {
        Compared::Kept(text) => whole(LineChange::Kept, None, text),
        Compared::Removed(at, text) => whole(LineChange::Removed, origin(at), text),
        Compared::Added(text) => whole(LineChange::Added, None, text),
        Compared::Changed(at, pieces) => {
            let parts = pieces.into_iter().map(|piece| match piece {
                Piece::Kept(text) => PartReport { change: LineChange::Kept, text },
                Piece::Removed(text) => PartReport { change: LineChange::Removed, text },
                Piece::Added(text) => PartReport { change: LineChange::Added, text },
            });
            ChangedLine { change: LineChange::Changed, version: origin(at), parts: parts.collect() }
        }
    }
}
