//! The fields that record the steps of a review in a document's frontmatter, and the edit for each
//! step (`spec/review.md`, section 2; paper, section 4.5).
//!
//! A submission, a decision on it and a retirement are versions that record their role in their
//! text, so that every reader sees it and the chain protects it. `Edit::review` is the only writer
//! of these fields, and [`ReviewFields::of`] their only reader.

use super::edit::Edit;
use super::frontmatter::{Frontmatter, Status, one_or_many};
use super::validate::Foreign;
use crate::text::uri::{Target, Uri};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;
use crate::values::yaml::Node;

/// Fields that a review sets, in the order in which they are written.
pub(crate) const FIELDS: [&str; 9] = [
    "review",
    "review_base",
    "review_action",
    "review_target",
    "change",
    "approved_by",
    "approved_at",
    "rejected_by",
    "review_reason",
];

/// The role of a version in its review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewState {
    /// The submission awaits a decision; with `approved_by`, it is approved in part.
    Submitted,
    /// The submission was approved.
    Approved,
    /// The submission was rejected.
    Rejected,
    /// The submission was withdrawn.
    Withdrawn,
    /// One reviewer retired the document.
    Emergency,
    /// Another reviewer ratified that retirement.
    Ratified,
}

impl ReviewState {
    const ALL: [(&'static str, Self); 6] = [
        ("submitted", Self::Submitted),
        ("approved", Self::Approved),
        ("rejected", Self::Rejected),
        ("withdrawn", Self::Withdrawn),
        ("emergency", Self::Emergency),
        ("ratified", Self::Ratified),
    ];

    /// Returns the word in a frontmatter.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, state)| *state == self).map_or("submitted", |(word, _)| word)
    }

    /// Returns true if a text in this state may have a field.
    fn has(self, field: &str) -> bool {
        let others: &[&str] = match self {
            Self::Submitted => {
                return !matches!(field, "rejected_by" | "review_reason");
            }
            Self::Approved | Self::Ratified => &["approved_by", "approved_at"],
            Self::Rejected => &["rejected_by", "review_reason"],
            Self::Withdrawn | Self::Emergency => &["review_reason"],
        };
        field == "review" || others.contains(&field)
    }

    /// Returns the state with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, state)| *state)
    }
}

/// The effect of approving a submission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Approval publishes the submitted text.
    #[default]
    Publish,
    /// Approval retires the document.
    Retire,
    /// Approval retires the document, and publishes its text under this id.
    Move(DocumentId),
}

impl Action {
    /// Returns the word in reports; except for `publish`, also that in a frontmatter.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Retire => "retire",
            Self::Move(_) => "move",
        }
    }

    /// Returns the new id of a moved document.
    pub fn target(&self) -> Option<&DocumentId> {
        if let Self::Move(target) = self { Some(target) } else { None }
    }

    /// Returns true if the approval removes the document from the maps.
    pub fn is_retirement(&self) -> bool {
        *self != Self::Publish
    }
}

/// The review fields of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewFields {
    /// Value of `review`.
    pub state: ReviewState,
    /// Value of `review_base`.
    pub base: Option<Version>,
    /// Action of `review_action` and `review_target`; `None` if they are not valid together.
    pub action: Option<Action>,
    /// Value of `change`.
    pub change: Option<String>,
    /// Value of `approved_by`.
    pub approved_by: Vec<String>,
    /// Value of `approved_at`.
    pub approved_at: Option<Timestamp>,
    /// Value of `rejected_by`.
    pub rejected_by: Option<String>,
    /// Value of `review_reason`.
    pub reason: Option<String>,
    /// First document in `derived_from`: the source of a move.
    pub origin: Option<DocumentId>,
}

impl ReviewFields {
    /// Reads the fields of a frontmatter; `None` if `review` is not one of our words.
    pub fn of(fields: &Frontmatter) -> Option<Self> {
        let text = |key: &str| fields.get(key).and_then(Node::text);
        let state = ReviewState::from_word(text("review")?)?;
        let owned = |key: &str| text(key).map(str::to_owned);
        let target = || text("review_target")?.parse::<DocumentId>().ok();
        let action = match (text("review_action"), fields.get("review_target")) {
            (None, None) => Some(Action::Publish),
            (Some("retire"), None) => Some(Action::Retire),
            (Some("move"), Some(_)) => target().map(Action::Move),
            _ => None,
        };
        let approved_by = one_or_many(fields.get("approved_by")).iter().filter_map(Node::text);
        Some(Self {
            state,
            base: fields.get("review_base").and_then(Node::number).map(Version),
            action,
            change: owned("change"),
            approved_by: approved_by.map(str::to_owned).collect(),
            approved_at: text("approved_at").and_then(|text| text.parse().ok()),
            rejected_by: owned("rejected_by"),
            reason: owned("review_reason"),
            origin: origin(fields),
        })
    }

    /// Returns true for an approval in part.
    pub fn is_partial(&self) -> bool {
        self.state == ReviewState::Submitted && !self.approved_by.is_empty()
    }
}

/// Returns the first document that a text was derived from.
pub(crate) fn origin(fields: &Frontmatter) -> Option<DocumentId> {
    let uri = one_or_many(fields.get("derived_from")).first()?.text()?;
    match uri.parse::<Uri>().ok()?.target {
        Target::Document { id, .. } => Some(id),
        _ => None,
    }
}

/// A step that is written into a frontmatter, besides `status`, `version` and `updated_at`.
#[derive(Clone, Copy, Debug)]
pub enum ReviewEdit<'s> {
    /// Submits the text.
    Submit {
        /// Published version, or 0.
        base: Version,
        /// Effect of the approval.
        action: &'s Action,
        /// Name of the set of submissions.
        change: Option<&'s str>,
    },
    /// Approves the submission, which is then published or retired.
    Approve {
        /// Approvers, in order.
        by: &'s [String],
        /// Time of the approval.
        at: Timestamp,
    },
    /// Approves the submission in part.
    ApproveInPart {
        /// Approvers, in order.
        by: &'s [String],
        /// Time of the approval.
        at: Timestamp,
    },
    /// Rejects the submission.
    Reject {
        /// Reviewer who rejects it.
        by: &'s str,
        /// Reason for the rejection.
        reason: &'s str,
    },
    /// Withdraws the submission.
    Withdraw {
        /// Reason for the withdrawal, if given.
        reason: Option<&'s str>,
    },
    /// Retires the document at once.
    Emergency {
        /// Reason for the retirement.
        reason: &'s str,
    },
    /// Ratifies the retirement.
    Ratify {
        /// Reviewers, in order.
        by: &'s [String],
        /// Time of the ratification.
        at: Timestamp,
    },
}

impl<'s> ReviewEdit<'s> {
    /// Returns the step that these fields record for a retirement at this instant; `None` if they
    /// are from an earlier version, and no review was needed.
    pub(crate) fn of_retirement(fields: &'s ReviewFields, at: Timestamp) -> Option<Self> {
        match fields.state {
            ReviewState::Approved if fields.approved_at == Some(at) => {
                Some(Self::Approve { by: &fields.approved_by, at })
            }
            ReviewState::Emergency => Some(Self::Emergency { reason: fields.reason.as_deref()? }),
            _ => None,
        }
    }
}

impl Edit {
    /// Writes the fields of a step and removes those that it does not set.
    #[must_use]
    pub(crate) fn review(self, step: &ReviewEdit<'_>) -> Self {
        let approved = |edit: Self, by: &[String], at: Timestamp| {
            edit.names("approved_by", by).text("approved_at", &at.to_string())
        };
        let edit = match step {
            ReviewEdit::Submit { base, action, change } => {
                let edit = self.text("review", "submitted").number("review_base", base.0);
                let edit = match action {
                    Action::Publish => edit,
                    action => edit.text("review_action", action.as_str()),
                };
                let edit = match action {
                    Action::Move(target) => edit.text("review_target", target.as_str()),
                    Action::Publish | Action::Retire => edit,
                };
                change.iter().fold(edit, |edit, change| edit.text("change", change))
            }
            ReviewEdit::Approve { by, at } => approved(self.text("review", "approved"), by, *at),
            // The submission continues to await a decision, so its fields stay.
            ReviewEdit::ApproveInPart { by, at } => return approved(self, by, *at),
            ReviewEdit::Reject { by, reason } => self
                .text("review", "rejected")
                .text("rejected_by", by)
                .text("review_reason", reason),
            ReviewEdit::Withdraw { reason } => {
                let edit = self.text("review", "withdrawn");
                reason.iter().fold(edit, |edit, reason| edit.text("review_reason", reason))
            }
            ReviewEdit::Emergency { reason } => {
                self.text("review", "emergency").text("review_reason", reason)
            }
            ReviewEdit::Ratify { by, at } => approved(self.text("review", "ratified"), by, *at),
        };
        edit.without_others(&FIELDS)
    }

    /// Makes the edit of a step, for the text of the version before it.
    #[must_use]
    pub fn step(version: Version, at: &str, status: &str, step: &ReviewEdit<'_>) -> Self {
        let edit = Self::default().text("status", status).number("version", version.0);
        edit.text("updated_at", at).review(step)
    }

    /// Sets one name as a text, or several as a list.
    fn names(self, key: &'static str, names: &[String]) -> Self {
        match names {
            [one] => self.text(key, one),
            several => self.list(key, several),
        }
    }
}

/// Returns the values of these fields that no review of ours wrote, which an edit that removes the
/// fields must keep.
pub(crate) fn foreign_values(fields: &Frontmatter) -> Vec<Foreign<'_>> {
    let state = ReviewFields::of(fields).map(|review| review.state);
    let is_foreign = |field: &str| state.is_none_or(|state| !state.has(field));
    let value = |field: &&'static str| {
        let value = fields.get(field).filter(|value| is_foreign(field) && !value.is_null())?;
        Some(Foreign { field, value })
    };
    FIELDS.iter().filter_map(value).collect()
}

/// Returns the first of these fields that was changed in a live text with the version of the
/// published one.
pub(crate) fn changed_by_hand(live: &Frontmatter, published: &Frontmatter) -> Option<&'static str> {
    changed(live, published).filter(|_| live.version == published.version)
}

/// Returns the first of these fields whose value in a live text is not that of the published one.
pub(crate) fn changed(live: &Frontmatter, published: &Frontmatter) -> Option<&'static str> {
    // Retiring changes these fields in the history only.
    let is_retired = published.status != Status::Published;
    if is_retired || !is_ours(live) { None } else { differing(live, published) }
}

/// Returns the first of these fields with a value in a live text that another text does not have.
pub(crate) fn differing(live: &Frontmatter, other: &Frontmatter) -> Option<&'static str> {
    let differs = |field: &&&'static str| {
        let said = live.get(field).filter(|value| !value.is_null());
        said.is_some_and(|said| !other.get(field).is_some_and(|sealed| said.same_value(sealed)))
    };
    FIELDS.iter().find(differs).copied()
}

/// Returns true if a frontmatter has fields of a review of ours, which publishing without a
/// review removes.
pub(crate) fn is_ours(fields: &Frontmatter) -> bool {
    ReviewFields::of(fields).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::document::Document;

    fn at() -> Timestamp {
        "2026-11-24T10:00:00.000Z".parse().unwrap()
    }

    const DRAFT: &str = "---\ntitle: A\nstatus: published\nversion: 3 # three\nreview: approved\n\
        approved_by:\n  - kim@example.com\n  - lee@example.com\napproved_at: '2026-11-01T10:00:00.000Z' # x\n\
        owner: ana\n---\nbody\n";

    fn edited(text: &str, version: u64, status: &str, step: &ReviewEdit<'_>) -> String {
        Edit::step(Version(version), &at().to_string(), status, step).apply(text).unwrap()
    }

    #[test]
    fn each_step_sets_its_fields_and_removes_the_others_with_their_lines() {
        let submit = ReviewEdit::Submit {
            base: Version(3),
            action: &Action::Move("nodes/b".parse().unwrap()),
            change: Some("autumn: prices"),
        };
        let submitted = edited(DRAFT, 4, "draft", &submit);
        insta::assert_snapshot!(submitted, @r"
        ---
        title: A
        status: draft
        version: 4 # three
        review: submitted
        owner: ana
        updated_at: '2026-11-24T10:00:00.000Z'
        review_base: 3
        review_action: move
        review_target: nodes/b
        change: 'autumn: prices'
        ---
        body
        ");
        let fields = ReviewFields::of(&Document::parse(&submitted).unwrap().frontmatter).unwrap();
        assert_eq!(fields.action, Some(Action::Move("nodes/b".parse().unwrap())));
        assert_eq!((fields.base, fields.is_partial()), (Some(Version(3)), false));

        let lee = ["lee@example.com".to_owned()];
        let part =
            edited(&submitted, 5, "draft", &ReviewEdit::ApproveInPart { by: &lee, at: at() });
        let fields = ReviewFields::of(&Document::parse(&part).unwrap().frontmatter).unwrap();
        assert!(fields.is_partial() && fields.change.as_deref() == Some("autumn: prices"));
        let both = ["lee@example.com".to_owned(), "kim@example.com".to_owned()];
        insta::assert_snapshot!(edited(&part, 6, "published", &ReviewEdit::Approve { by: &both, at: at() }), @r"
        ---
        title: A
        status: published
        version: 6 # three
        review: approved
        owner: ana
        updated_at: '2026-11-24T10:00:00.000Z'
        approved_by: [lee@example.com, kim@example.com]
        approved_at: '2026-11-24T10:00:00.000Z'
        ---
        body
        ");
        let reject = ReviewEdit::Reject { by: "kim@example.com", reason: "no\nsource" };
        insta::assert_snapshot!(edited(&part, 6, "draft", &reject), @r#"
        ---
        title: A
        status: draft
        version: 6 # three
        review: rejected
        owner: ana
        updated_at: '2026-11-24T10:00:00.000Z'
        rejected_by: kim@example.com
        review_reason: "no\nsource"
        ---
        body
        "#);
    }

    #[test]
    fn foreign_words_are_not_read_as_a_review() {
        let fields = |text: &str| Document::parse(text).unwrap().frontmatter;
        assert!(!is_ours(&fields("---\nreview: quarterly\nchange: minor\n---\n")));
        let moved = fields("---\nreview: submitted\nreview_action: move\n---\n");
        assert_eq!(ReviewFields::of(&moved).unwrap().action, None);
    }
}
