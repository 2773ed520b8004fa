//! Why a step of a review is refused.

use crate::policy::rules::{Barred, Proposal, Unfit};
use crate::policy::stewards::Stuck;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// Why a step of a review is refused. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReviewError {
    /// Nothing awaits a decision.
    #[error("nothing of `{id}` awaits a decision")]
    NotSubmitted {
        /// The artifact.
        id: DocumentId,
        /// What awaits one and belongs to a change of this name, or is to be moved to it.
        others: Vec<DocumentId>,
    },
    /// No submission belongs to this set.
    #[error("no submission belongs to the change `{name}`")]
    NoChange {
        /// Its name.
        name: String,
        /// One that awaits a decision, whose name differs in case or Unicode form only.
        alike: Option<String>,
    },
    /// The principal has not the role.
    #[error("{0}, for `{id}`", id = .0.id)]
    Unfit(#[from] Unfit),
    /// A step may be a part of one whose writer was interrupted on another machine (REV-10).
    #[error(
        "no line of the change log names version {version} of `{id}`: its writer may have been interrupted"
    )]
    Unrecorded {
        /// The artifact.
        id: DocumentId,
        /// The step.
        version: Version,
    },
    /// What awaits a decision by its history was decided by a line of a change log: the history has
    /// lost its end.
    #[error(
        "the change log says that version {version} of `{id}` was decided, and its history has lost that"
    )]
    Decided {
        /// The artifact.
        id: DocumentId,
        /// The submission.
        version: Version,
    },
    /// The submission has its approvals, and other parts of its set have not.
    #[error(
        "`{id}` has the approvals that it needs; it waits for the other parts of the change `{change}`"
    )]
    WaitsForOthers {
        /// The artifact.
        id: DocumentId,
        /// The set.
        change: String,
        /// Whether the caller may read all of the other parts.
        is_shown: bool,
    },
    /// The submitter was no editor.
    #[error("version {version} of `{id}` cannot be approved: {why}")]
    NoEditor {
        /// The artifact.
        id: DocumentId,
        /// The version.
        version: Version,
        /// Which role was lacking.
        why: String,
    },
    /// Another part of its set alone was rejected or withdrawn.
    #[error("`{id}` was submitted with `{other}`, which alone was rejected or withdrawn")]
    Split {
        /// The part that awaits a decision.
        id: DocumentId,
        /// The other one.
        other: DocumentId,
        /// What it proposes.
        proposal: Box<Proposal>,
    },
    /// The submission belongs to a set already.
    #[error("`{id}` awaits a decision as a part of the change `{change}`")]
    InChange {
        /// The artifact.
        id: DocumentId,
        /// The set.
        change: String,
    },
    /// The principal is an author.
    #[error("`{who}` may not approve `{id}`: {who} {}", .why.reason())]
    Own {
        /// The artifact.
        id: DocumentId,
        /// The principal.
        who: String,
        /// Why they are an author.
        why: Barred,
    },
    /// The principal approved it before.
    #[error("`{who}` approved `{id}` already; another reviewer has to approve it, too")]
    Twice {
        /// The artifact.
        id: DocumentId,
        /// The principal.
        who: String,
    },
    /// The version is no submission.
    #[error("version {version} of `{id}` is no submission")]
    NoSubmission {
        /// The artifact.
        id: DocumentId,
        /// The version.
        version: Version,
    },
    /// The principal retired it, and cannot ratify that.
    #[error("`{who}` retired `{id}`; another reviewer has to ratify it")]
    OwnEmergency {
        /// The artifact.
        id: DocumentId,
        /// The principal.
        who: String,
    },
    /// Only the submitter withdraws.
    #[error("`{id}` was submitted by `{by}`, who alone can withdraw it")]
    NotTheSubmitter {
        /// The artifact.
        id: DocumentId,
        /// Who submitted it.
        by: String,
    },
    /// Another principal's submission awaits a decision.
    #[error("version {version} of `{id}`, submitted by `{by}`, awaits a decision")]
    Pending {
        /// The artifact.
        id: DocumentId,
        /// The version.
        version: Version,
        /// Who submitted it.
        by: String,
        /// Whether a text was to take its place, which can supersede it.
        is_text: bool,
    },
    /// The set has submissions of another principal.
    #[error("the change `{name}` has submissions of {}", .by.as_ref().map_or("another principal".to_owned(), |by| format!("`{by}`")))]
    OthersChange {
        /// The set.
        name: String,
        /// Who submitted them; none where the caller may read no part of it.
        by: Option<String>,
    },
    /// The name of a set differs from that of another one in case or Unicode form only.
    #[error("the name of the change `{name}` differs only in case or Unicode form from {}", .other.as_ref().map_or("one that awaits a decision".to_owned(), |other| format!("`{other}`, which awaits a decision")))]
    ChangeSpelling {
        /// The name.
        name: String,
        /// The other one; none where the caller may read no part of that set.
        other: Option<String>,
    },
    /// Another submission awaits a decision than the one that the reviewer names.
    #[error("version {found} of `{id}` awaits a decision, and not version {expected}")]
    Changed {
        /// The artifact.
        id: DocumentId,
        /// What the reviewer names.
        expected: Version,
        /// What is there.
        found: Version,
    },
    /// An approver before has lost the role, or is an author.
    #[error(
        "version {version} of `{id}` cannot be approved, because an approval counts no more: {why}"
    )]
    Lapsed {
        /// The artifact.
        id: DocumentId,
        /// The version.
        version: Version,
        /// Whose, and why.
        why: String,
        /// What it proposes.
        proposal: Box<Proposal>,
    },
    /// The submission is not one of what is published.
    #[error("version {version} of `{id}` cannot be approved: {why}")]
    Altered {
        /// The artifact.
        id: DocumentId,
        /// The version.
        version: Version,
        /// Why.
        why: String,
        /// What it proposes.
        proposal: Box<Proposal>,
        /// What is published, if the submission is not of it.
        published: Option<Version>,
    },
    /// A part of a set that the caller may not read is refused.
    #[error("1 part of the change that you may not read {}", .0.without_names())]
    HiddenPart(Box<ReviewError>),
    /// Files of parts of a set that the caller may not read are refused.
    #[error("{} of the change that you may not read {} refused", crate::values::text_util::count(.0.to_owned(), "file"), if *.0 == 1 { "is" } else { "are" })]
    HiddenFiles(usize),
    /// A text of the command cannot be recorded.
    #[error("{what} {why}")]
    Text {
        /// Which text.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// There would be too few reviewers.
    #[error("{found} of {needed} reviewers for the whole vault are assigned")]
    TooFewReviewers {
        /// How many there are.
        found: usize,
        /// How many are needed.
        needed: usize,
    },
    /// Nothing could be approved by the stewards of the whole vault, not even other stewards.
    #[error(
        "{0}: nothing could be approved, not even a change of stewards.yaml or the end of the mode"
    )]
    Locked(Stuck),
    /// Work is pending.
    #[error("{} before the mode can change", .0)]
    WorkPending(String),
}

impl ReviewError {
    /// The artifacts that it names.
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
            | Self::WorkPending(_) => Vec::new(),
        }
    }

    /// What is the matter with a part, of which nothing else is told.
    fn without_names(&self) -> &'static str {
        match self {
            Self::Unrecorded { .. } => "has a step that no line of the change log names",
            Self::Decided { .. } => "was decided, and its history has lost that",
            Self::WaitsForOthers { .. } => "has its approvals, and waits for the other parts",
            Self::Split { .. } => "alone was rejected or withdrawn",
            Self::NoEditor { .. } => "was submitted by a principal who was no editor",
            Self::Altered { .. } | Self::Changed { .. } => "cannot be approved as it is",
            Self::Lapsed { .. } => "has an approval that counts no more",
            Self::Own { .. } => "has you as an author",
            Self::Twice { .. } => "was approved by you already",
            Self::Unfit(_) => "asks for a role that you do not have",
            _ => "cannot be decided",
        }
    }
}
