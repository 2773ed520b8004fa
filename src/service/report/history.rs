//! Reports of the versions of one artifact, each recomputed, and of texts of single versions.

use std::mem;

use serde::Serialize;

use super::Report;
use crate::files::vault::files::Files;
use crate::policy::rules::{self, Reviewed, StepKind, Track};
use crate::read::snapshot::seals::Seals;
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{Entry, EntryState, History, TextStorage};
use crate::record::chain::walk::Walk;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::values::codes::words;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};

/// The answer of `history`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct HistoryReport<'h> {
    /// Id of the document or governance file.
    id: &'h DocumentId,
    /// Versions in the order of the file.
    pub versions: Vec<VersionReport<'h>>,
    /// Lines of entries that cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<usize>,
    /// Versions and retirements that checkpoints seal and the history lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostSeal>,
}

/// A version or a retirement that a checkpoint seals and the history lacks.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct LostSeal {
    /// First checkpoint that seals it.
    pub checkpoint: CheckpointNumber,
    /// Number of the version; absent for a retirement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Finding of `ctx verify`.
    pub finding: String,
}

impl LostSeal {
    /// Describes a missing version or retirement in the words of a verifier.
    pub(crate) fn new(checkpoint: CheckpointNumber, version: Option<Version>) -> Self {
        let finding = match version {
            Some(version) => format!(
                "[checkpoint-version-unknown] checkpoint {checkpoint}: the history has no version {version}"
            ),
            None => format!(
                "[unrecorded-removal] checkpoint {checkpoint}: the checkpoint removes it, but its \
                 history does not record a retirement"
            ),
        };
        Self { checkpoint, version, finding }
    }
}

/// One version.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct VersionReport<'h> {
    /// Number of the version.
    pub version: Version,
    /// `published`, `retired` or `unpublished`.
    pub state: EntryState,
    /// State in the reviews of the artifact: `submitted`, `approved in part`, `rejected`,
    /// `withdrawn` or `ratified`; `approved` for a version that an approval published or retired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewedAs>,
    /// Submitter of the approved submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitted_by: Option<String>,
    /// Reviewers who approved the version.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approved_by: Vec<String>,
    /// Reason for a rejection, withdrawal or emergency retirement, as its text states it. The change
    /// log states it for a governance file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// First checkpoint that seals the version, or at which its retirement takes effect.
    pub checkpoint: Option<CheckpointNumber>,
    /// `keyframe` or `diff`.
    pub stored: &'h TextStorage,
    /// Principal who made the version.
    pub edited_by: &'h str,
    /// Time at which the version was made, in UTC.
    pub edited_at: String,
    /// Time of publication.
    pub published_at: Option<String>,
    /// Time of retirement.
    pub retired_at: Option<String>,
    /// Note on the version, which no hash covers.
    pub unprotected_note: Option<&'h str>,
    /// Hash of the keyframe or diff.
    pub content_hash: String,
    /// Chain hash, which binds the version to the versions before it.
    pub chain_hash: String,
    /// Faults of the version.
    pub problems: Vec<String>,
    /// Number of versions before it in the file.
    #[serde(skip)]
    pub place: usize,
}

impl Report for HistoryReport<'_> {
    const SCHEMA: &'static str = "history";
}

impl<'h> HistoryReport<'h> {
    /// Recomputes every version of a history and reports the result.
    pub(crate) fn new(
        files: &'h Files,
        seals: &Seals,
        id: &'h DocumentId,
        history: &'h History,
    ) -> Self {
        let mut walk = Walk::new(files, id, history);
        let has_steps = history.entries().any(|entry| entry.state == EntryState::Unpublished);
        let (versions, unreadable, lost) = Default::default();
        let mut report = Self { id, versions, unreadable, lost };
        while let Some(step) = walk.next() {
            let Ok(mut version) = step.version else {
                report.unreadable.push(step.slot.line);
                continue;
            };
            let (entry, mut wrong) = (version.entry, mem::take(&mut version.wrong));
            if wrong.is_empty() {
                // The versions back to the keyframe must exist, and the entry that the keyframe
                // follows.
                wrong.extend(history.chain_to(entry.version).err().map(ChainError::from));
            }
            if wrong.is_empty() {
                wrong.extend(version.check_text().err());
                wrong.extend(version.check_retirement().err());
            }
            // The review of the target of a move is in the history of its source.
            let may_be_reviewed = has_steps || entry.version == Version::FIRST;
            let text = version.text.filter(|_| may_be_reviewed && wrong.is_empty());
            let mut row = VersionReport::new(entry, seals, &wrong);
            if let Some(text) = text {
                row.review(files, id, history, text);
            }
            row.place = report.versions.len();
            report.versions.push(row);
        }
        report
    }

    /// Returns true if every version verifies and none is missing.
    pub(crate) fn is_sound(&self) -> bool {
        self.unreadable.is_empty()
            && self.lost.is_empty()
            && self.versions.iter().all(|v| v.problems.is_empty())
    }
}

impl<'h> VersionReport<'h> {
    /// Adds the state of the version in the reviews of the artifact.
    fn review(&mut self, files: &Files, id: &DocumentId, history: &History, text: &str) {
        let Some(entry) = history.entry(self.version) else { return };
        let fields = id.is_document().then(|| rules::fields_of(text)).flatten();
        self.reason = fields.as_ref().and_then(|fields| fields.reason.clone());
        self.review = match Track::new(id).kind_of(entry, text) {
            StepKind::Other => None,
            StepKind::Event => {
                let found = Reviewed::of(files, id, history, self.version, fields.as_ref());
                found.map(|reviewed| {
                    self.submitted_by = Some(reviewed.submitted_by);
                    self.approved_by = reviewed.approved_by;
                    ReviewedAs::Approved
                })
            }
            StepKind::Submitted => Some(ReviewedAs::Submitted),
            StepKind::ApprovedInPart => Some(ReviewedAs::ApprovedInPart),
            StepKind::Rejected => Some(ReviewedAs::Rejected),
            StepKind::Withdrawn => Some(ReviewedAs::Withdrawn),
            StepKind::Ratified => Some(ReviewedAs::Ratified),
        };
    }

    fn new(entry: &'h Entry, seals: &Seals, wrong: &[ChainError]) -> Self {
        Self {
            version: entry.version,
            state: entry.state,
            review: None,
            submitted_by: None,
            approved_by: Vec::new(),
            reason: None,
            checkpoint: seals.get(&entry.version).copied(),
            stored: &entry.stored,
            edited_by: &entry.edited_by,
            edited_at: entry.edited_at.to_string(),
            published_at: entry.published_at().map(|t| t.to_string()),
            retired_at: entry.retired_at().map(|t| t.to_string()),
            unprotected_note: entry.note.as_deref(),
            content_hash: entry.content_hash.to_string(),
            chain_hash: entry.chain_hash.to_string(),
            problems: wrong.iter().map(ToString::to_string).collect(),
            place: 0,
        }
    }
}

/// The answer of `history` for the whole vault.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct LatestReport<'h> {
    /// Versions that the log sealed and retirements, the newest first.
    pub versions: Vec<LatestVersion<'h>>,
}

words! {
    /// State of a version in the reviews of its artifact.
    pub enum ReviewedAs {
        /// An approval published or retired the version.
        Approved = "approved",
        /// The version is a submission.
        Submitted = "submitted",
        /// The version approves a submission that waits for more approvals.
        ApprovedInPart = "approved in part",
        /// The version rejects a submission.
        Rejected = "rejected",
        /// The version withdraws a submission.
        Withdrawn = "withdrawn",
        /// The version ratifies an emergency retirement.
        Ratified = "ratified",
    }

    /// Change that a checkpoint makes to an artifact.
    pub enum SealedState {
        /// The checkpoint seals a version.
        Published = "published",
        /// The checkpoint removes the artifact.
        Retired = "retired",
    }
}

/// One version as a checkpoint seals it, or the removal of an artifact.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct LatestVersion<'h> {
    /// Number of the checkpoint.
    pub checkpoint: CheckpointNumber,
    /// Time of the checkpoint, in UTC.
    pub at: String,
    /// Id of the artifact.
    pub id: &'h DocumentId,
    /// `published` or `retired`.
    pub state: SealedState,
    /// Number of the version; absent for a removal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

impl Report for LatestReport<'_> {
    const SCHEMA: &'static str = "history.all";
}

impl<'h> LatestReport<'h> {
    /// Reports changes of the log's checkpoints, the newest first.
    ///
    /// At most `limit` changes are listed; the second value is the number of changes left out.
    pub(crate) fn new(
        chronicle: &Chronicle<'h>,
        is_listed: impl Fn(&DocumentId) -> bool,
        limit: usize,
    ) -> (Self, usize) {
        let (mut versions, mut omitted) = (Vec::new(), 0);
        for checkpoint in chronicle.checkpoints().iter().rev() {
            let mut changes: Vec<_> =
                checkpoint.changes().filter(|(id, ..)| is_listed(id)).collect();
            // A merge has changes of several times.
            changes.sort_by_key(|(_, at, _)| std::cmp::Reverse(*at));
            for (id, at, mark) in changes {
                if versions.len() == limit {
                    omitted += 1;
                    continue;
                }
                let state = mark.map_or(SealedState::Retired, |_| SealedState::Published);
                let version = mark.and_then(|mark| mark.version);
                let (checkpoint, at) = (checkpoint.number, at.to_string());
                versions.push(LatestVersion { checkpoint, at, id, state, version });
            }
        }
        (Self { versions }, omitted)
    }
}

/// The answer of `show`: the whole text of a version.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ShowReport<'s> {
    /// Id of the artifact.
    pub id: &'s DocumentId,
    /// Number of the version.
    pub version: Version,
    /// First checkpoint that seals the version.
    pub checkpoint: Option<CheckpointNumber>,
    /// Frontmatter and body, in normal form.
    pub text: &'s str,
}

impl Report for ShowReport<'_> {
    const SCHEMA: &'static str = "show";
}

/// The answer of `diff`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct DiffReport<'d> {
    /// Id of the artifact.
    pub id: &'d DocumentId,
    /// Older text: `v` with the number of a version, or `live`.
    pub from: &'d str,
    /// Newer text, in the same form.
    pub to: &'d str,
    /// True if the texts are equal.
    pub equal: bool,
    /// Unified diff; empty if the texts are equal.
    pub diff: &'d str,
    /// Problems with the approvals of the versions.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub unapproved: &'d [String],
}

impl Report for DiffReport<'_> {
    const SCHEMA: &'static str = "diff";
}

/// The answer of `diff` for many documents.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct DiffsReport<'d> {
    /// Documents that differ, in byte order of their ids.
    pub diffs: Vec<DiffReport<'d>>,
    /// Published documents whose live files are missing.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub missing: &'d [DocumentId],
}

impl Report for DiffsReport<'_> {
    const SCHEMA: &'static str = "diff.all";
}
