//! The submitter and the approvers of a version, read from the entries of its history.

use super::track::{decision, fields_of};
use crate::files::vault::files::Files;
use crate::record::chain::history::{Entry, EntryState, History};
use crate::record::chain::{replay, vouched};
use crate::text::document::review::{Action, ReviewFields, ReviewState};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::principal::PrincipalKey;
use crate::values::model::timestamp::Timestamp;

/// The review of a version that was published or retired by an approval (`spec/review.md`, REV-20).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewed {
    /// The version that was submitted. For the target of a move, its first version: the submission
    /// is in the history of the source.
    pub submission: Version,
    /// The submitter.
    pub submitted_by: String,
    /// Time of the submission.
    pub submitted_at: Timestamp,
    /// The approvers, in order.
    pub approved_by: Vec<String>,
    /// Time of the last approval.
    pub approved_at: Timestamp,
}

/// Access to the entries and texts of a history, or of a part of one.
#[derive(Clone, Copy)]
pub struct Versions<'v> {
    /// Returns the entry of a version.
    pub entry: &'v dyn Fn(Version) -> Option<&'v Entry>,
    /// Returns true if the text of a version is an approval in part with exactly these approvers.
    pub is_partial_by: &'v dyn Fn(Version, &[String]) -> bool,
}

/// The history of the document that a move retired.
#[derive(Clone, Copy)]
pub struct MoveSource<'v> {
    /// The entries of the history, in order.
    pub entries: &'v [&'v Entry],
    /// Returns the text of a version, if the chain vouches for it.
    pub text: &'v dyn Fn(Version) -> Option<String>,
}

impl Reviewed {
    /// Returns true if a version, whose text has these fields, claims that a review published it.
    ///
    /// If [`Reviewed::in_history`] returns `None` for such a version, the entries before it are
    /// missing or are not steps.
    pub fn is_claimed(id: &DocumentId, entry: &Entry, fields: Option<&ReviewFields>) -> bool {
        match id.is_document() {
            true => fields.is_some_and(|fields| is_approved(entry, fields)),
            false => decision(entry) == Some(Ok("approved")),
        }
    }

    /// Returns true if an entry is a submission or an approval in part by its hashed content.
    ///
    /// `fields` are those of its text. The state of an entry is not hashed.
    pub fn is_step(id: &DocumentId, entry: &Entry, fields: Option<&ReviewFields>) -> bool {
        match id.is_document() {
            true => fields.is_some_and(|fields| fields.state == ReviewState::Submitted),
            false => decision(entry) != Some(Ok("approved")),
        }
    }

    /// Returns the source of a move, if the version is the first one of the target.
    ///
    /// The review of such a version is that of the retirement of the source.
    pub fn moved_from<'f>(entry: &Entry, fields: &'f ReviewFields) -> Option<&'f DocumentId> {
        let is_approved = fields.approved_at.is_some() && !fields.approved_by.is_empty();
        fields.origin.as_ref().filter(|_| entry.version == Version::FIRST && is_approved)
    }

    /// Returns the review of the first version of a document that a move made.
    ///
    /// The review is that of the retirement of the source at the same time, if that was submitted
    /// as a move to this id. `fields` are those of the text of the first version.
    pub fn of_move(
        id: &DocumentId,
        first: &Entry,
        fields: &ReviewFields,
        source: MoveSource<'_>,
    ) -> Option<Self> {
        let source_id = Self::moved_from(first, fields)?;
        let at = first.published_at()?;
        let mut entries = source.entries.iter();
        let retired = *entries.find(|entry| entry.retired_at() == Some(at))?;
        let said_by = |version| fields_of(&(source.text)(version)?);
        let said = said_by(retired.version)?;
        let is_same =
            said.approved_by == fields.approved_by && said.approved_at == fields.approved_at;
        if !is_same || retired.version == Version::FIRST {
            return None;
        }
        let entry = |version| source.entries.iter().copied().find(|entry| entry.version == version);
        let is_partial_by = |version, names: &[String]| {
            let partial = said_by(version).filter(ReviewFields::is_partial);
            partial.is_some_and(|partial| partial.approved_by == names)
        };
        let versions = Versions { entry: &entry, is_partial_by: &is_partial_by };
        let reviewed = Self::in_history(source_id, versions, retired.version, Some(&said))?;
        let submitted = said_by(reviewed.submission)?;
        let is_move = submitted.action.as_ref().and_then(Action::target) == Some(id);
        is_move.then_some(Self { submission: first.version, ..reviewed })
    }

    /// Returns the review of a version of a history, whose text has these fields.
    ///
    /// `None` if the entries before it are not those of a submission and its approvals.
    pub fn of(
        files: &Files,
        id: &DocumentId,
        history: &History,
        version: Version,
        fields: Option<&ReviewFields>,
    ) -> Option<Self> {
        let entry = |version| history.entry(version);
        let is_partial_by = |version: Version, names: &[String]| {
            let text = vouched::vouched(files, id, history, version).ok();
            let partial = text.and_then(|text| fields_of(&text)).filter(ReviewFields::is_partial);
            partial.is_some_and(|partial| partial.approved_by == names)
        };
        let versions = Versions { entry: &entry, is_partial_by: &is_partial_by };
        let own = Self::in_history(id, versions, version, fields);
        own.or_else(|| of_move(files, id, history.entry(version)?, fields?))
    }

    /// Returns the review of a version from the entries of this history alone.
    ///
    /// The names are `edited_by` of entries, which the chain hash covers; the field `approved_by`
    /// only decides the number of approvals. A text is read only if one principal made the version
    /// and the one before it.
    pub fn in_history(
        id: &DocumentId,
        versions: Versions<'_>,
        version: Version,
        fields: Option<&ReviewFields>,
    ) -> Option<Self> {
        let step = |version: Version| (versions.entry)(version).filter(is_step);
        let last = (versions.entry)(version)?;
        if last.state == EntryState::Unpublished {
            return None;
        }
        let (in_part, decides) = match id.is_document() {
            true => of_document(versions, last, fields?)?,
            false => of_governance_file(versions, last)?,
        };
        let first = version.0.checked_sub(in_part)?;
        let submission = step(Version(first.checked_sub(1)?))?;
        let approvals = (first..version.0).map(|number| step(Version(number)));
        let approvals = approvals.collect::<Option<Vec<_>>>()?;
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

/// Returns true if a document's version, whose text has these fields, claims to be approved.
fn is_approved(last: &Entry, fields: &ReviewFields) -> bool {
    let is_of_entry = fields.approved_at == Some(last.edited_at);
    fields.state == ReviewState::Approved && is_of_entry && !fields.approved_by.is_empty()
}

/// Returns the number of approvals in part before a version, and true if it is an approval itself.
///
/// An event that completes a set may have been made by the approval of another part of the set.
fn of_document(versions: Versions<'_>, last: &Entry, fields: &ReviewFields) -> Option<(u64, bool)> {
    if !is_approved(last, fields) {
        return None;
    }
    let key = PrincipalKey::of(&last.edited_by);
    let all = u64::try_from(fields.approved_by.len()).ok()?;
    let is_named_last = PrincipalKey::of(fields.approved_by.last()?) == key;
    let are_named_before = || {
        let before = (versions.entry)(last.version.previous()).filter(is_step);
        let before = before.filter(|before| PrincipalKey::of(&before.edited_by) == key);
        before.is_some_and(|before| (versions.is_partial_by)(before.version, &fields.approved_by))
    };
    let decides = is_named_last && !are_named_before();
    Some((all - u64::from(decides), decides))
}

/// Returns the result of [`Reviewed::of_move`] with the source read from the vault.
fn of_move(
    files: &Files,
    id: &DocumentId,
    first: &Entry,
    fields: &ReviewFields,
) -> Option<Reviewed> {
    let source = Reviewed::moved_from(first, fields)?;
    let history = replay::load(files, source).ok()?;
    let entries: Vec<&Entry> = history.entries().collect();
    let text = |version| vouched::vouched(files, source, &history, version).ok();
    Reviewed::of_move(id, first, fields, MoveSource { entries: &entries, text: &text })
}

/// Returns the result of [`of_document`] for a governance file, whose acts are marked in diffs.
fn of_governance_file(versions: Versions<'_>, last: &Entry) -> Option<(u64, bool)> {
    let is_retired = matches!(last.state, EntryState::Retired(_));
    if !is_retired && decision(last) != Some(Ok("approved")) {
        return None;
    }
    let before = (1..last.version.0).rev().map(|number| (versions.entry)(Version(number)));
    let is_partial = |entry: &Option<&Entry>| {
        entry.is_some_and(|entry| decision(entry) == Some(Ok("partial")) && is_step(&entry))
    };
    let approvals: Vec<&Entry> = before.take_while(is_partial).flatten().collect();
    // A principal who approved before only publishes a text that needs no further approval (REV-8).
    let key = PrincipalKey::of(&last.edited_by);
    let decides = approvals.iter().all(|entry| PrincipalKey::of(&entry.edited_by) != key);
    Some((u64::try_from(approvals.len()).ok()?, decides))
}
