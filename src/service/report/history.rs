//! The versions of one artifact, each recomputed, and the texts of single versions.

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
    id: &'h DocumentId,
    /// The versions in the order of the file.
    pub versions: Vec<VersionReport<'h>>,
    /// The lines of entries that cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<usize>,
    /// What checkpoints seal and the history lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostSeal>,
}

/// A version or a retirement that a checkpoint seals and the history lacks.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct LostSeal {
    /// The first checkpoint that seals it.
    pub checkpoint: CheckpointNumber,
    /// Its number; absent for a retirement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The finding of `ctx verify`.
    pub finding: String,
}

impl LostSeal {
    /// Puts what the history lacks into the words of a verifier.
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
    /// Its number.
    pub version: Version,
    /// `published`, `retired` or `unpublished`.
    pub state: EntryState,
    /// What it is to the reviews of the artifact: `submitted`, `approved in part`, `rejected`,
    /// `withdrawn`, `ratified`, or `approved` of one that an approval published or retired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewedAs>,
    /// Who submitted what was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitted_by: Option<String>,
    /// Who approved it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approved_by: Vec<String>,
    /// Why it was rejected, withdrawn or retired in an emergency, as its text says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The first checkpoint that seals it, or that its retirement takes effect at.
    pub checkpoint: Option<CheckpointNumber>,
    /// `keyframe` or `diff`.
    pub stored: &'h TextStorage,
    /// Who made it.
    pub edited_by: &'h str,
    /// When.
    pub edited_at: String,
    /// When it was published.
    pub published_at: Option<String>,
    /// When it retired the artifact.
    pub retired_at: Option<String>,
    /// A remark that no hash covers.
    pub unprotected_note: Option<&'h str>,
    /// The hash of the keyframe or diff.
    pub content_hash: String,
    /// The hash that binds the version to those before it.
    pub chain_hash: String,
    /// What is wrong with it.
    pub problems: Vec<String>,
    /// How many versions are before it in the file.
    #[serde(skip)]
    pub place: usize,
}

impl Report for HistoryReport<'_> {
    const SCHEMA: &'static str = "history";
}

impl<'h> HistoryReport<'h> {
    /// Recomputes every version of a history.
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
                // What comes before it, back to its keyframe and the link of that, must be there.
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

    /// Whether nothing is wrong.
    pub(crate) fn is_sound(&self) -> bool {
        self.unreadable.is_empty()
            && self.lost.is_empty()
            && self.versions.iter().all(|v| v.problems.is_empty())
    }
}

impl<'h> VersionReport<'h> {
    /// Says what the version is to the reviews of the artifact.
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
    /// What the log sealed or retired, the newest first.
    pub versions: Vec<LatestVersion<'h>>,
}

words! {
    /// What a version is to the reviews of its artifact.
    pub enum ReviewedAs {
        /// An approval published or retired it.
        Approved = "approved",
        /// It was submitted.
        Submitted = "submitted",
        /// It approves a submission that waits for more approvals.
        ApprovedInPart = "approved in part",
        /// It rejects a submission.
        Rejected = "rejected",
        /// It withdraws a submission.
        Withdrawn = "withdrawn",
        /// It ratifies a retirement in an emergency.
        Ratified = "ratified",
    }

    /// What a checkpoint does to an artifact.
    pub enum SealedState {
        /// It seals a version.
        Published = "published",
        /// It removes the artifact.
        Retired = "retired",
    }
}

/// One version as a checkpoint seals it, or the removal of an artifact.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct LatestVersion<'h> {
    /// The checkpoint.
    pub checkpoint: CheckpointNumber,
    /// When it was made.
    pub at: String,
    /// The artifact.
    pub id: &'h DocumentId,
    /// `published` or `retired`.
    pub state: SealedState,
    /// Absent of a removal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

impl Report for LatestReport<'_> {
    const SCHEMA: &'static str = "history.all";
}

impl<'h> LatestReport<'h> {
    /// What the checkpoints of a log changed: the first of what is listed, up to `limit`, and how
    /// many are left out.
    pub(crate) fn new(
        chronicle: &Chronicle<'h>,
        is_listed: impl Fn(&DocumentId) -> bool,
        limit: usize,
    ) -> (Self, usize) {
        let (mut versions, mut omitted) = (Vec::new(), 0);
        for checkpoint in chronicle.checkpoints().iter().rev() {
            let set =
                checkpoint.set.iter().map(|(id, mark)| (id, SealedState::Published, mark.version));
            let removed = checkpoint.removed.iter().map(|id| (id, SealedState::Retired, None));
            for (id, state, version) in set.chain(removed).filter(|(id, ..)| is_listed(id)) {
                if versions.len() == limit {
                    omitted += 1;
                    continue;
                }
                let (checkpoint, at) = (checkpoint.number, checkpoint.at.to_string());
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
    /// The artifact.
    pub id: &'s DocumentId,
    /// The version.
    pub version: Version,
    /// The first checkpoint that seals it.
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
    /// The artifact.
    pub id: &'d DocumentId,
    /// `v` and a version, or `live`.
    pub from: &'d str,
    /// The same.
    pub to: &'d str,
    /// Whether the texts are equal.
    pub equal: bool,
    /// The unified diff; empty for equal texts.
    pub diff: &'d str,
    /// What is wrong with the approvals of the versions.
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
    /// The documents that differ, in byte order of their ids.
    pub diffs: Vec<DiffReport<'d>>,
    /// The published documents whose live files are gone.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub missing: &'d [DocumentId],
}

impl Report for DiffsReport<'_> {
    const SCHEMA: &'static str = "diff.all";
}
