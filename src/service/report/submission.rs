//! One submission, as a reviewer reads it before the decision.

use std::collections::BTreeSet;

use serde::Serialize;

use super::problem::ProblemReport;
use super::review::QueuedReport;
use super::{Report, Spell};
use crate::policy::rules::{EmergencyRetirement, StepKind, SubmissionEnd};
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
    /// What awaits, as `review` lists it.
    #[serde(flatten)]
    pub submission: QueuedReport<'s>,
    /// The other artifacts of its set.
    pub members: &'s [DocumentId],
    /// How many further ones of its set may not be read.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub members_hidden: usize,
    /// Whether it has its approvals, and another part of its set has not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_others: bool,
    /// The note of the submission, which no hash covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unprotected_note: Option<&'s str>,
    /// Why it was retired in an emergency, which awaits its ratification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'s str>,
    /// The retirement in an emergency that a submission was made upon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emergency: Option<EmergencyReport<'s>>,
    /// The version that was published before the document was retired, with which a submission upon
    /// the retirement is compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub former: Option<Version>,
    /// Who may approve it now, or ratify it.
    pub reviewers: &'s [String],
    /// Why this principal may not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barred: Option<&'s str>,
    /// Whether submissions of it that a merge gave up keep their submitters from approving it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub barred_by_loss: bool,
    /// Why it cannot be approved as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<&'s str>,
    /// The fields of the frontmatter that differ.
    pub fields: Vec<FieldReport<'s>>,
    /// Whether the frontmatter differs in its comments, order or spelling, beside these fields.
    pub respelled: bool,
    /// The changes of the lines of the frontmatter, where it does.
    pub frontmatter: Vec<HunkReport<'s>>,
    /// The changes of the body.
    pub hunks: Vec<HunkReport<'s>>,
    /// What a page does not show of the submitted text.
    pub warnings: Vec<ProblemReport>,
    /// The remarks about it.
    pub comments: Vec<RemarkReport<'s>>,
    /// How it ended, if it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<EndReport<'s>>,
    /// The call that approves it.
    #[serde(skip)]
    pub approve: Call,
}

/// A retirement in an emergency that awaits its ratification.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct EmergencyReport<'s> {
    /// The version that retired it.
    pub version: Version,
    /// Who made it.
    pub by: &'s str,
    /// When.
    pub at: String,
    /// Why.
    pub reason: &'s str,
}

words! {
    /// A way in which a submission ends.
    pub enum Ending {
        /// An approval published or retired it.
        Approved = "approved",
        /// A reviewer rejected it.
        Rejected = "rejected",
        /// Its submitter withdrew it.
        Withdrawn = "withdrawn",
        /// A later submission replaced it.
        Replaced = "replaced",
        /// A retirement in an emergency, or a version of another program, came after it.
        Ended = "ended",
    }

    /// What becomes of a line, or of a part of it.
    pub enum LineChange {
        /// It stays.
        Kept = "kept",
        /// It goes.
        Removed = "removed",
        /// It is new.
        Added = "added",
        /// Parts of it go or are new.
        Changed = "changed",
    }
}

/// How a submission ended.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct EndReport<'s> {
    /// `approved`, `rejected`, `withdrawn`, `replaced` by a later submission, or `ended`, by a
    /// retirement in an emergency or a version of another program.
    pub how: Ending,
    /// The version that ended it.
    pub version: Version,
    /// Who made it.
    pub by: &'s str,
    /// When.
    pub at: String,
    /// Why, where that is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'s str>,
}

/// A field of the frontmatter that differs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct FieldReport<'s> {
    /// Its name.
    pub name: &'s str,
    /// Its published value, in flow form; absent, where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<&'s str>,
    /// Its submitted value, in flow form; absent, where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<&'s str>,
}

/// A group of changes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct HunkReport<'s> {
    /// The first line of it in the published text, from 1.
    pub from_line: usize,
    /// The first line of it in the submitted text, from 1.
    pub to_line: usize,
    /// The section anchors that it changes something in; empty for what is before the first.
    pub sections: Vec<String>,
    /// Who made the lines that it removes or changes.
    pub replaces: Vec<ReplacedReport<'s>>,
    /// Its lines.
    pub lines: Vec<ChangedLine<'s>>,
}

/// Who made lines that are removed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ReplacedReport<'s> {
    /// The version that added them.
    pub version: Version,
    /// Who made it.
    pub edited_by: &'s str,
}

/// A line of a hunk.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ChangedLine<'s> {
    /// `kept`, `removed`, `added` or `changed`.
    pub change: LineChange,
    /// Of a removed or changed line, the version that added it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The line, or the parts of a changed one, each with what becomes of it.
    pub parts: Vec<PartReport<'s>>,
}

/// A part of a line.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PartReport<'s> {
    /// `kept`, `removed` or `added`.
    pub change: LineChange,
    /// Its text.
    pub text: &'s str,
}

/// A remark about a submission.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct RemarkReport<'s> {
    /// The submission that it is about.
    pub version: u64,
    /// Who made it.
    pub by: &'s str,
    /// When.
    pub at: &'s str,
    /// The remark.
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
        let call = Call::new(Verb::Approve).value(track.id().as_str());
        let approve = match track.pending {
            Some(_) => call.word("--version").value(submission.version.to_string()),
            None => call,
        };
        Self {
            members: &submitted.about.members,
            members_hidden: submitted.about.hidden,
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
            ended: submitted.about.end.as_ref().map(EndReport::from),
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

impl<'s> From<&'s SubmissionEnd> for EndReport<'s> {
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

/// The changes of the lines of the frontmatter.
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
    // Lines are counted in the whole texts, as editors and blame do.
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
