//! The refusals of steps of a review.

use crate::policy::rules::{Barred, Proposal, Unfit};
use crate::policy::stewards::Stuck;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// The reason for which a step of a review is refused. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReviewError {
    /// No submission or emergency retirement of the artifact awaits a decision.
    #[error("no submission of `{id}` awaits a decision")]
    NotSubmitted {
        /// The artifact.
        id: DocumentId,
        /// Pending submissions in a change with this name, or with this id as the target of a move.
        others: Vec<DocumentId>,
    },
    /// No submission belongs to this set.
    #[error("no submission belongs to the change `{name}`")]
    NoChange {
        /// Name of the set.
        name: String,
        /// The name of a pending set that differs in case or Unicode form only.
        alike: Option<String>,
    },
    /// The principal lacks the required role.
    #[error("{0}, for `{id}`", id = .0.id)]
    Unfit(#[from] Unfit),
    /// A step may be part of one that was interrupted on another machine (REV-10).
    #[error(
        "no line of the change log names version {version} of `{id}`: its writer may have been interrupted"
    )]
    Unrecorded {
        /// The artifact.
        id: DocumentId,
        /// The version of the step.
        version: Version,
    },
    /// A line of a change log records a decision that the history has lost.
    #[error(
        "the change log records a decision about version {version} of `{id}`, which its history has lost"
    )]
    Decided {
        /// The artifact.
        id: DocumentId,
        /// The version of the submission.
        version: Version,
    },
    /// The submission has its approvals, but other parts of its set lack theirs.
    #[error(
        "`{id}` has the approvals that it needs; it waits for the other parts of the change `{change}`"
    )]
    WaitsForOthers {
        /// The artifact.
        id: DocumentId,
        /// Name of the set.
        change: String,
        /// True if the caller may read all of the other parts.
        is_shown: bool,
    },
    /// The submitter was not an editor.
    #[error("version {version} of `{id}` cannot be approved: {why}")]
    NoEditor {
        /// The artifact.
        id: DocumentId,
        /// The version of the submission.
        version: Version,
        /// The reason, as a sentence.
        why: String,
    },
    /// Another part of its set alone was rejected or withdrawn.
    #[error("`{id}` was submitted with `{other}`, which alone was rejected or withdrawn")]
    Split {
        /// The part that awaits a decision.
        id: DocumentId,
        /// The part that was rejected or withdrawn.
        other: DocumentId,
        /// The proposal, to submit it again.
        proposal: Box<Proposal>,
    },
    /// The submission is already part of a set.
    #[error("`{id}` awaits a decision as a part of the change `{change}`")]
    InChange {
        /// The artifact.
        id: DocumentId,
        /// Name of the set.
        change: String,
    },
    /// The principal is an author of the submission.
    #[error("`{who}` may not approve `{id}`: {who} {}", .why.reason())]
    Own {
        /// The artifact.
        id: DocumentId,
        /// The principal.
        who: String,
        /// The reason for which they are an author.
        why: Barred,
    },
    /// The principal has already approved the submission.
    #[error("`{who}` approved `{id}` already; another reviewer has to approve it, too")]
    Twice {
        /// The artifact.
        id: DocumentId,
        /// The principal.
        who: String,
    },
    /// An approval names the document only, but a submission and an emergency retirement of it
    /// await a decision.
    #[error(
        "two decisions about `{id}` are pending: version {submission} was submitted, and version {emergency} retired it in an emergency"
    )]
    TwoAwait {
        /// The artifact.
        id: DocumentId,
        /// The version of the submission, which is decided first.
        submission: Version,
        /// The version of the retirement.
        emergency: Version,
    },
    /// The version is not a submission.
    #[error("version {version} of `{id}` is not a submission")]
    NoSubmission {
        /// The artifact.
        id: DocumentId,
        /// The version.
        version: Version,
    },
    /// The principal retired the document in an emergency, and so cannot ratify that.
    #[error("`{who}` retired `{id}`; another reviewer has to ratify it")]
    OwnEmergency {
        /// The artifact.
        id: DocumentId,
        /// The principal.
        who: String,
    },
    /// Only the submitter may withdraw a submission.
    #[error("`{id}` was submitted by `{by}`, who alone can withdraw it")]
    NotTheSubmitter {
        /// The artifact.
        id: DocumentId,
        /// The version of the submission.
        version: Version,
        /// The submitter.
        by: String,
    },
    /// A submission by another principal awaits a decision.
    #[error("version {version} of `{id}`, submitted by `{by}`, awaits a decision")]
    Pending {
        /// The artifact.
        id: DocumentId,
        /// The version of the submission.
        version: Version,
        /// The submitter.
        by: String,
        /// True if the refused submission is a text, which can supersede the pending one.
        is_text: bool,
    },
    /// The set contains submissions by another principal.
    #[error("the change `{name}` has submissions of {}", .by.as_ref().map_or("another principal".to_owned(), |by| format!("`{by}`")))]
    OthersChange {
        /// Name of the set.
        name: String,
        /// The other submitter; `None` if the caller may read no part of the set.
        by: Option<String>,
    },
    /// The name of a set differs from that of another one in case or Unicode form only.
    #[error("the name of the change `{name}` differs only in case or Unicode form from {}", .other.as_ref().map_or("one that awaits a decision".to_owned(), |other| format!("`{other}`, which awaits a decision")))]
    ChangeSpelling {
        /// The name in the command.
        name: String,
        /// The other name; `None` if the caller may read no part of that set.
        other: Option<String>,
    },
    /// The pending submission is not the one that the reviewer names.
    #[error("version {found} of `{id}` awaits a decision, not version {expected}")]
    Changed {
        /// The artifact.
        id: DocumentId,
        /// The version that the reviewer names.
        expected: Version,
        /// The version of the pending submission.
        found: Version,
    },
    /// An earlier approver has lost the role, or is an author.
    #[error(
        "version {version} of `{id}` cannot be approved, because an approval is no longer valid: {why}"
    )]
    Lapsed {
        /// The artifact.
        id: DocumentId,
        /// The version of the submission.
        version: Version,
        /// The approver and the reason, as a sentence.
        why: String,
        /// The proposal, to submit it again.
        proposal: Box<Proposal>,
    },
    /// The submission is not based on the published version.
    #[error("version {version} of `{id}` cannot be approved: {why}")]
    Altered {
        /// The artifact.
        id: DocumentId,
        /// The version of the submission.
        version: Version,
        /// The reason, as a sentence.
        why: String,
        /// The proposal, to submit it again.
        proposal: Box<Proposal>,
        /// The published version, if the submission is based on another one.
        published: Option<Version>,
    },
    /// A part of a set that the caller may not read is refused.
    #[error("1 part of the change that you may not read {}", .0.without_names())]
    HiddenPart(Box<ReviewError>),
    /// Files of parts of a set that the caller may not read are refused; contains their number.
    #[error("{} of the change that you may not read {} refused", crate::values::text_util::count(.0.to_owned(), "file"), if *.0 == 1 { "is" } else { "are" })]
    HiddenFiles(usize),
    /// A text of the command cannot be recorded.
    #[error("{what} {why}")]
    Text {
        /// The name of the text, such as "the reason".
        what: &'static str,
        /// The fault of the text, as a predicate.
        why: String,
    },
    /// Fewer reviewers are assigned to the whole vault than are required.
    #[error("{found} of {needed} reviewers for the whole vault are assigned")]
    TooFewReviewers {
        /// Number of reviewers of the whole vault.
        found: usize,
        /// Number of reviewers that are required.
        needed: usize,
    },
    /// The stewards of the whole vault could approve nothing, not even other stewards.
    #[error(
        "{0}: nothing could be approved, not even a change of stewards.yaml or the end of mandatory review"
    )]
    Locked(Stuck),
    /// Submissions await a decision; contains the action that is required first.
    #[error("{} before the mode can change", .0)]
    ReviewsPending(String),
}

impl ReviewError {
    /// Returns the artifacts that the error names.
    pub(super) fn artifacts(&self) -> Vec<&DocumentId> {
        match self {
            Self::Split { id, other, .. } => vec![id, other],
            Self::Unfit(why) => vec![&why.id],
            Self::NotSubmitted { id, .. }
            | Self::Unrecorded { id, .. }
            | Self::Decided { id, .. }
            | Self::WaitsForOthers { id, .. }
            | Self::NoEditor { id, .. }
            | Self::InChange { id, .. }
            | Self::Own { id, .. }
            | Self::Twice { id, .. }
            | Self::TwoAwait { id, .. }
            | Self::NoSubmission { id, .. }
            | Self::OwnEmergency { id, .. }
            | Self::NotTheSubmitter { id, .. }
            | Self::Pending { id, .. }
            | Self::Changed { id, .. }
            | Self::Lapsed { id, .. }
            | Self::Altered { id, .. } => vec![id],
            Self::NoChange { .. }
            | Self::OthersChange { .. }
            | Self::ChangeSpelling { .. }
            | Self::HiddenPart(_)
            | Self::HiddenFiles(_)
            | Self::Text { .. }
            | Self::TooFewReviewers { .. }
            | Self::Locked(_)
            | Self::ReviewsPending(_) => Vec::new(),
        }
    }

    /// Returns the fault of a part whose name must not be shown, as a predicate.
    fn without_names(&self) -> &'static str {
        match self {
            Self::Unrecorded { .. } => "has a step that no line of the change log names",
            Self::Decided { .. } => "was decided, but its history has lost the decision",
            Self::WaitsForOthers { .. } => "has its approvals, and waits for the other parts",
            Self::Split { .. } => "alone was rejected or withdrawn",
            Self::NoEditor { .. } => "was submitted by a principal who was not an editor",
            Self::Altered { .. } | Self::Changed { .. } => "cannot be approved as it is",
            Self::Lapsed { .. } => "has an approval that is no longer valid",
            Self::Own { .. } => "has you as an author",
            Self::Twice { .. } => "was approved by you already",
            Self::Unfit(_) => "requires a role that you do not have",
            _ => "cannot be decided",
        }
    }
}
