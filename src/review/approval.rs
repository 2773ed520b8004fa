//! Who submitted and who approved a version, read from the entries of its history.

use super::track::decision;
use crate::chain::history::{Entry, EntryState, History};
use crate::document::review::{ReviewFields, ReviewState};
use crate::model::id::DocumentId;
use crate::model::number::Version;
use crate::model::principal::PrincipalKey;
use crate::model::timestamp::Timestamp;

/// The review of a version that was published or retired by an approval (`spec/review.md`, REV-20).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewed {
    /// The version that was submitted.
    pub submission: Version,
    /// Who submitted it.
    pub submitted_by: String,
    /// When.
    pub submitted_at: Timestamp,
    /// Who approved it, in order.
    pub approved_by: Vec<String>,
    /// When the last of them did.
    pub approved_at: Timestamp,
}

impl Reviewed {
    /// Whether a version, whose text has these fields, says that a review published it: where
    /// [`Reviewed::of`] gives none all the same, the entries before it are missing, or no steps.
    pub fn is_claimed(id: &DocumentId, entry: &Entry, fields: Option<&ReviewFields>) -> bool {
        match id.is_document() {
            true => fields.is_some_and(|fields| of_document(entry, fields).is_some()),
            false => decision(entry) == Some(Ok("approved")),
        }
    }

    /// Whether an entry, whose text has these fields, is a submission or an approval in part by what
    /// its hash covers, which its state is not.
    pub fn is_step(id: &DocumentId, entry: &Entry, fields: Option<&ReviewFields>) -> bool {
        match id.is_document() {
            true => fields.is_some_and(|fields| fields.state == ReviewState::Submitted),
            false => decision(entry) != Some(Ok("approved")),
        }
    }

    /// The review of a version, whose text has these fields; none where the entries before it are
    /// not those of a submission and its approvals.
    ///
    /// The names are `edited_by` of entries, which the chain hash covers. The field `approved_by`
    /// only says how many of them approved.
    pub fn of(
        id: &DocumentId,
        history: &History,
        version: Version,
        fields: Option<&ReviewFields>,
    ) -> Option<Self> {
        let last = history.entry(version)?;
        if last.state == EntryState::Unpublished {
            return None;
        }
        let (in_part, decides) = match id.is_document() {
            true => of_document(last, fields?)?,
            false => of_governance_file(history, last)?,
        };
        let first = version.0.checked_sub(in_part)?;
        let submission = history.entry(Version(first).previous()).filter(is_step)?;
        let approvals = (first..version.0).map(|number| history.entry(Version(number)));
        let approvals = approvals.map(|entry| entry.filter(is_step)).collect::<Option<Vec<_>>>()?;
        let approvals = approvals.into_iter().chain(decides.then_some(last));
        Some(Self {
            submission: submission.version,
            submitted_by: submission.edited_by.clone(),
            submitted_at: submission.edited_at,
            approved_by: approvals.map(|entry| entry.edited_by.clone()).collect(),
            approved_at: last.edited_at,
        })
    }
}

fn is_step(entry: &&Entry) -> bool {
    entry.state == EntryState::Unpublished
}

/// How many approvals in part come before a version, and whether its own principal approved it: the
/// approval that completes a set may be of another part of the set.
fn of_document(last: &Entry, fields: &ReviewFields) -> Option<(u64, bool)> {
    if fields.state != ReviewState::Approved || fields.approved_at != Some(last.edited_at) {
        return None;
    }
    let key = PrincipalKey::of(&last.edited_by);
    let decides = fields.approved_by.iter().any(|by| PrincipalKey::of(by) == key);
    let all = u64::try_from(fields.approved_by.len()).ok().filter(|all| *all > 0)?;
    Some((all - u64::from(decides), decides))
}

/// The same of a governance file, whose acts are told by their diffs.
fn of_governance_file(history: &History, last: &Entry) -> Option<(u64, bool)> {
    let is_retired = matches!(last.state, EntryState::Retired(_));
    if !is_retired && decision(last) != Some(Ok("approved")) {
        return None;
    }
    let before = (1..last.version.0).rev().map(|number| history.entry(Version(number)));
    let is_partial = |entry: &Option<&Entry>| {
        entry.is_some_and(|entry| decision(entry) == Some(Ok("partial")) && is_step(&entry))
    };
    let in_part = before.take_while(is_partial).count();
    Some((u64::try_from(in_part).ok()?, true))
}
