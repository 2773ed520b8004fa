//! Reviews: the kind of each version, the edit of each step, and the faults of histories
//! (`spec/review.md`).

use std::collections::BTreeSet;

use contextnest::model::digest::Digest;
use contextnest::model::id::DocumentId;
use contextnest::model::number::Version;
use contextnest::model::timestamp::Timestamp;
use contextnest::policy::rules::{
    FaultKind, MoveSource, Reviewed, Rules, StepKind, Track, Versions, is_act,
};
use contextnest::policy::stewards;
use contextnest::record::chain::history::{Entry, EntryState, Forget, TextStorage};
use contextnest::text::document::Document;
use contextnest::text::document::edit::Edit;
use contextnest::text::document::review::{Action, ReviewEdit, ReviewFields};
use serde::Deserialize;

use crate::vectors::load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reviews {
    edits: Vec<Step>,
    steps: Vec<Text>,
    acts: Vec<Act>,
    histories: Vec<History>,
    provenance: Vec<Provenance>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    name: String,
    text: String,
    version: u64,
    at: String,
    step: String,
    #[serde(default)]
    base: u64,
    action: Option<String>,
    target: Option<String>,
    change: Option<String>,
    #[serde(default)]
    by: Vec<String>,
    reason: Option<String>,
    #[serde(default)]
    retires: bool,
    /// The edited text; `None` if the frontmatter cannot be edited.
    result: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    text: String,
    step: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Act {
    version: u64,
    diff: String,
    act: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct History {
    name: String,
    id: String,
    stewards: String,
    bar_author: bool,
    versions: Vec<Made>,
    /// Code and version.
    findings: BTreeSet<(String, u64)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Provenance {
    name: String,
    id: String,
    versions: Vec<Made>,
    /// The history of the document that a move retired.
    #[serde(default)]
    source: Vec<Made>,
    reviews: Vec<Review>,
}

/// The submitters and approvers of a version.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Review {
    version: u64,
    submission: u64,
    submitted_by: String,
    submitted_at: String,
    approved_by: Vec<String>,
    approved_at: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Made {
    by: String,
    at: String,
    becomes: String,
    text: String,
    act: Option<String>,
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn each_step_is_the_edit_of_the_text_before_it() {
    let cases: Reviews = load("review/cases.json");
    for case in cases.edits {
        let at = time(&case.at);
        let action = match case.action.as_deref() {
            None => Action::Publish,
            Some("retire") => Action::Retire,
            Some(_) => Action::Move(case.target.as_ref().unwrap().parse().unwrap()),
        };
        let (by, change) = (case.by.as_slice(), case.change.as_deref());
        let reason = case.reason.as_deref();
        let step = match case.step.as_str() {
            "submitted" => ReviewEdit::Submit { base: Version(case.base), action: &action, change },
            "approved-in-part" => ReviewEdit::ApproveInPart { by, at },
            "approved" => ReviewEdit::Approve { by, at },
            "rejected" => ReviewEdit::Reject { by: &by[0], reason: reason.unwrap() },
            "withdrawn" => ReviewEdit::Withdraw { reason },
            "emergency" => ReviewEdit::Emergency { reason: reason.unwrap() },
            "ratified" => ReviewEdit::Ratify { by, at },
            other => panic!("{other}"),
        };
        let status = if case.step == "approved" && !case.retires { "published" } else { "draft" };
        let made = Edit::step(Version(case.version), &case.at, status, &step).apply(&case.text);
        // The vectors have normal forms.
        let made = made.ok().map(|text| text.replace("\r\n", "\n"));
        assert_eq!(made, case.result.map(|text| text.replace("\r\n", "\n")), "{}", case.name);
    }
}

fn entry(version: u64, by: &str, at: Timestamp, state: EntryState, stored: TextStorage) -> Entry {
    let (content_hash, chain_hash) = (Digest::of(b""), Digest::of(b""));
    let (version, edited_by) = (Version(version), by.to_owned());
    let forget = Forget::None;
    let edited_at = at;
    Entry {
        version,
        stored,
        edited_by,
        edited_at,
        state,
        note: None,
        forget,
        content_hash,
        chain_hash,
    }
}

/// Returns the entry of a version of a case.
fn entry_of(version: u64, made: &Made) -> Entry {
    let at = time(&made.at);
    let state = match made.becomes.as_str() {
        "published" => EntryState::Published(at),
        "retired" => EntryState::Retired(at),
        _ => EntryState::Unpublished,
    };
    let stored = made.act.as_ref().map_or(TextStorage::Keyframe, |act| {
        let before = version - 1;
        TextStorage::Diff(format!("--- v{before}\n+++ v{version}\treview: {act}\n"))
    });
    entry(version, &made.by, at, state, stored)
}

/// Returns the review of the first version of the target of a move.
fn of_move(
    id: &DocumentId,
    first: &Entry,
    fields: &ReviewFields,
    source: &[Made],
) -> Option<Reviewed> {
    let entries: Vec<Entry> = source.iter().zip(1..).map(|(made, n)| entry_of(n, made)).collect();
    let entries: Vec<&Entry> = entries.iter().collect();
    let text = |version: Version| {
        let index = usize::try_from(version.0).ok()?.checked_sub(1)?;
        Some(source.get(index)?.text.clone())
    };
    Reviewed::of_move(id, first, fields, MoveSource { entries: &entries, text: &text })
}

#[test]
fn entries_tell_who_submitted_and_who_approved_a_version() {
    let cases: Reviews = load("review/cases.json");
    for case in cases.provenance {
        let id: DocumentId = case.id.parse().unwrap();
        let entries: Vec<Entry> =
            case.versions.iter().zip(1..).map(|(made, n)| entry_of(n, made)).collect();
        let index = |version: Version| usize::try_from(version.0).ok()?.checked_sub(1);
        let entry = |version| entries.get(index(version)?);
        let fields = |version| {
            let read = Document::parse(&case.versions.get(index(version)?)?.text).ok()?;
            ReviewFields::of(&read.frontmatter).filter(ReviewFields::is_partial)
        };
        let is_partial_by = |version, names: &[String]| {
            fields(version).is_some_and(|partial| partial.approved_by == names)
        };
        let versions = Versions { entry: &entry, is_partial_by: &is_partial_by };
        let mut found = Vec::new();
        for (version, made) in Version::sequence().zip(&case.versions) {
            let fields = Document::parse(&made.text).ok();
            let fields = fields.and_then(|read| ReviewFields::of(&read.frontmatter));
            let own = Reviewed::in_history(&id, versions, version, fields.as_ref());
            let moved = || of_move(&id, entry(version)?, fields.as_ref()?, &case.source);
            let review = own.or_else(moved);
            found.extend(review.map(|review| Review {
                version: version.0,
                submission: review.submission.0,
                submitted_by: review.submitted_by,
                submitted_at: review.submitted_at.to_string(),
                approved_by: review.approved_by,
                approved_at: review.approved_at.to_string(),
            }));
        }
        assert_eq!(found, case.reviews, "{}", case.name);
    }
}

fn word(kind: StepKind) -> Option<&'static str> {
    match kind {
        StepKind::Submitted => Some("submitted"),
        StepKind::ApprovedInPart => Some("approved-in-part"),
        StepKind::Rejected => Some("rejected"),
        StepKind::Withdrawn => Some("withdrawn"),
        StepKind::Ratified => Some("ratified"),
        StepKind::Event | StepKind::Other => None,
    }
}

#[test]
fn a_version_is_the_step_that_its_text_or_its_diff_says() {
    let cases: Reviews = load("review/cases.json");
    let at = time("2026-11-24T10:00:00.000Z");
    let document = Track::new(&"nodes/a".parse().unwrap());
    for case in cases.steps {
        let entry = entry(2, "ana@example.com", at, EntryState::Unpublished, TextStorage::Keyframe);
        let found = word(document.kind_of(&entry, &case.text));
        assert_eq!(found, case.step.as_deref(), "{}", case.name);
    }
    let file = Track::new(&DocumentId::stewards());
    for case in cases.acts {
        let stored = TextStorage::Diff(case.diff.clone());
        let entry = entry(case.version, "ana@example.com", at, EntryState::Unpublished, stored);
        assert_eq!(is_act(&entry), case.act.is_some(), "{}", case.diff);
        let expected = match case.act.as_deref() {
            None => Some("submitted"),
            Some("partial") => Some("approved-in-part"),
            Some("rejected") => Some("rejected"),
            Some("withdrawn") => Some("withdrawn"),
            Some(_) => None,
        };
        assert_eq!(word(file.kind_of(&entry, "")), expected, "{}", case.diff);
    }
}

#[test]
fn faults_of_approvals_are_found_in_the_history_alone() {
    let cases: Reviews = load("review/cases.json");
    for case in cases.histories {
        let stewards = stewards::read(&case.stewards).stewards.unwrap_or_default();
        let rules = Rules { stewards, bar_author: case.bar_author, ..Rules::default() };
        let (id, mut found) = (case.id.parse::<DocumentId>().unwrap(), BTreeSet::new());
        let mut track = Track::new(&id);
        for (made, version) in case.versions.iter().zip(1..) {
            let entry = entry_of(version, made);
            // The first version was published before the vault was governed.
            let fields = track.review_fields(&made.text);
            let read = (made.text.as_str(), fields.as_ref());
            let faults = match entry.state {
                _ if version == 1 => Vec::new(),
                EntryState::Unpublished => track.judge_step(&entry, read, &rules),
                _ => track.judge(&entry, read, &rules),
            };
            found.extend(faults.into_iter().map(|fault| {
                let code = match fault.kind {
                    FaultKind::Missing => "approval-missing",
                    FaultKind::SelfApproval => "approval-self",
                    FaultKind::Unauthorised => "approval-unauthorised",
                    FaultKind::Altered => "approval-altered",
                };
                (code.to_owned(), version)
            }));
            track.step(&entry, &made.text);
        }
        assert_eq!(found, case.findings, "{}", case.name);
    }
}
