//! Reports of evidence: exported and verified bundles, and the list of publications.

use serde::Serialize;

use super::Report;
use super::failure::{Code, Failure};
use crate::prove::evidence::bundle::export::{ExportError, Exported};
use crate::prove::evidence::bundle::manifest::{Gap, ScopeKind};
use crate::prove::evidence::bundle::verify::{BundleFault, Item, Kind, Verdict, Verified};
use crate::prove::evidence::publications::{Act, Emergency, Publication};
use crate::read::snapshot::provenance::written;
use crate::record::audit::HeadRef;

/// The answer of `evidence export`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct EvidenceExportReport {
    /// Path of the file that was written.
    pub file: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Number of lines of the access log in the bundle.
    pub line_count: usize,
    /// Number of versions whose texts are in the bundle.
    pub version_count: usize,
    /// Last checkpoint; null without one.
    pub head: Option<HeadRef>,
    /// Versions and texts that the bundle does not prove.
    pub unproved: Vec<UnprovedRow>,
    /// Gaps of the logs, where accesses of the bundle may be missing.
    pub gaps: Vec<GapRow>,
}

/// A gap in a log.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct GapRow {
    /// Code of the fault, or `pruned`.
    pub code: String,
    /// Path of the log file.
    pub file: String,
    /// Number of the line in the file.
    pub line: u64,
    /// Description of the gap.
    pub message: String,
    /// True for damage; false for a recorded pruning or a torn end.
    pub is_damage: bool,
}

impl From<&Gap> for GapRow {
    fn from(gap: &Gap) -> Self {
        let Gap { code, file, line, why } = gap.clone();
        Self { code, file, line, message: why, is_damage: gap.is_damage() }
    }
}

/// A version or text that a bundle does not prove.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct UnprovedRow {
    /// Name of the version or text.
    pub name: String,
    /// Reason why it is not proved.
    pub why: String,
}

impl EvidenceExportReport {
    /// Reports a bundle that was written to a file.
    pub(crate) fn new(file: String, exported: &Exported) -> Self {
        let unproved = exported.unproved.iter();
        let row = |one: &crate::prove::evidence::bundle::export::Unproved| UnprovedRow {
            name: one.name.clone(),
            why: one.why.clone(),
        };
        Self {
            file,
            bytes: exported.bytes.len() as u64,
            sha256: crate::values::model::digest::Digest::of(&exported.bytes).to_string(),
            line_count: exported.lines,
            version_count: exported.versions,
            head: exported.head.clone(),
            unproved: unproved.map(row).collect(),
            gaps: exported.gaps.iter().map(GapRow::from).collect(),
        }
    }
}

impl Report for EvidenceExportReport {
    const SCHEMA: &'static str = "evidence.export";
}

/// Limits of every bundle, regardless of its content.
pub const LIMITS: [&str; 5] = [
    "principals and labels are stated by the caller",
    "the time of an access is that of its machine's clock",
    "the writer of an access log or a staging chain may have truncated it, or replaced its lines; so may \
     every holder of the bundle, unless its SHA-256 is compared (`--expect-sha256`)",
    "the exporter may have left out a gap of the log, in the manifest and on the pages",
    "a head that is not recorded elsewhere is only a statement of the bundle",
];

/// Version of this program.
pub const TOOL: &str = env!("CARGO_PKG_VERSION");

/// The answer of `evidence verify`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct EvidenceVerifyReport {
    /// `trace`, `session` or `document`.
    pub scope: ScopeKind,
    /// Name of the trace, session or document.
    pub name: String,
    /// Version of the program that made the bundle, as the bundle states it.
    pub tool: String,
    /// Head of the log at the export.
    pub head: Option<HeadRef>,
    /// True if the head was compared with an anchor from outside of the bundle, and matches it.
    pub anchored: bool,
    /// Number of items that are proved.
    pub proved: usize,
    /// Number of items that are not proved.
    pub not_proved: usize,
    /// Number of items that are contradicted.
    pub contradicted: usize,
    /// All items.
    pub items: Vec<ItemRow>,
    /// Limits of every bundle, as sentences.
    pub limits: [&'static str; 5],
}

/// One item of a bundle.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ItemRow {
    /// Kind of the item. `bundle`: the file, with `--expect-sha256`. `scope`, `gap`, `file`,
    /// `checkpoint`, `head`, `line`, `version`, `text`, `steward`, `hydration`: parts of the bundle.
    /// `sealed`: a version in the maps of a checkpoint, even if the bundle lacks it. `history`:
    /// nothing of a document was published before the checkpoints of its bundle. `approval`: a
    /// valid approval published a version of a governed vault. `staged`, `content`, `role`,
    /// `result`, `promotion`: parts of a staged result.
    pub kind: Kind,
    /// Name of the item.
    pub name: String,
    /// `proved`, `not proved` or `contradicted`; for the head also `not anchored`.
    pub verdict: Verdict,
    /// True if the bundle lacks a proof that it should contain.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// Reason why the item is not proved. For an approval it names the finding of `ctx verify`, or
    /// begins with `approval not checked:`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl From<Item> for ItemRow {
    fn from(item: Item) -> Self {
        Self {
            kind: item.kind,
            name: item.name,
            verdict: item.verdict,
            missing: item.verdict == Verdict::NotProved,
            why: item.why,
        }
    }
}

impl From<Verified> for EvidenceVerifyReport {
    fn from(verified: Verified) -> Self {
        let Verified { scope: (scope, name), tool, head, items } = verified;
        let count = |of: &[Verdict]| items.iter().filter(|item| of.contains(&item.verdict)).count();
        let is_head = |item: &&Item| item.kind == Kind::Head;
        let anchored =
            items.iter().find(is_head).is_some_and(|item| item.verdict == Verdict::Proved);
        Self {
            scope,
            name,
            tool,
            head,
            anchored,
            proved: count(&[Verdict::Proved]),
            not_proved: count(&[Verdict::NotProved, Verdict::Unprovable]),
            contradicted: count(&[Verdict::Contradicted]),
            items: items.into_iter().map(ItemRow::from).collect(),
            limits: LIMITS,
        }
    }
}

impl EvidenceVerifyReport {
    /// Returns true if another version of the program made the bundle.
    pub(crate) fn is_of_another_tool(&self) -> bool {
        self.tool != TOOL
    }

    /// Returns true if no item is contradicted and no proof is missing.
    pub(crate) fn holds(&self) -> bool {
        self.contradicted == 0 && self.items.iter().all(|item| !item.missing)
    }
}

impl Report for EvidenceVerifyReport {
    const SCHEMA: &'static str = "evidence.verify";
}

/// The answer of `evidence report`: every publication and retirement of a period.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PublicationsReport {
    /// First instant of the period.
    pub from: Option<String>,
    /// First instant after the period.
    pub to: Option<String>,
    /// Publications, by checkpoint and id.
    pub publications: Vec<PublicationRow>,
}

/// One artifact in one checkpoint.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PublicationRow {
    /// Number of the checkpoint.
    pub checkpoint: u64,
    /// Time of the checkpoint, in UTC.
    pub at: String,
    /// `published`, `retired` or `removed`.
    pub(crate) action: Act,
    /// Id of the document or governance file.
    pub id: String,
    /// Number of the version.
    pub version: Option<u64>,
    /// Field `author` of the version.
    pub author: Option<String>,
    /// Submitter of the version, or its maker if it was published without a review.
    pub edited_by: Option<String>,
    /// Time at which the version was submitted or made.
    pub edited_at: Option<String>,
    /// Reviewers who approved it.
    pub approved_by: Vec<String>,
    /// Emergency retirement, if the version is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emergency: Option<EmergencyRow>,
    /// True if the history verifies up to the version, and the checkpoint verifies.
    pub complete: bool,
    /// Reason why the row is not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Note on the version, which no hash covers.
    pub unprotected_note: Option<String>,
    /// Chain hash of the version.
    pub chain_hash: Option<String>,
    /// Hash of the checkpoint.
    pub checkpoint_hash: String,
}

/// An emergency retirement by the reviewer in `edited_by`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct EmergencyRow {
    /// Reason for the retirement.
    pub reason: String,
    /// Reviewer who ratified the retirement; null before that.
    pub ratified_by: Option<String>,
    /// Time of the ratification; null before that.
    pub ratified_at: Option<String>,
}

impl From<Emergency> for EmergencyRow {
    fn from(emergency: Emergency) -> Self {
        let ratified = emergency.ratified.as_ref();
        Self {
            ratified_by: ratified.map(|entry| entry.edited_by.clone()),
            ratified_at: ratified.map(|entry| entry.edited_at.to_string()),
            reason: emergency.reason,
        }
    }
}

impl From<Publication> for PublicationRow {
    fn from(row: Publication) -> Self {
        let entry = row.entry.as_ref();
        let reviewed = row.reviewed.as_ref();
        let written = entry.map(|entry| written(entry, reviewed));
        Self {
            checkpoint: row.checkpoint.0,
            at: row.at.to_string(),
            action: row.act,
            id: row.id.to_string(),
            version: row.version.map(|version| version.0),
            author: row.author,
            edited_by: written.map(|(by, _)| by.to_owned()),
            edited_at: written.map(|(_, at)| at.to_string()),
            approved_by: reviewed.map(|of| of.approved_by.clone()).unwrap_or_default(),
            emergency: row.emergency.map(EmergencyRow::from),
            complete: row.why.is_none(),
            why: row.why,
            unprotected_note: entry.and_then(|entry| entry.note.clone()),
            chain_hash: entry.map(|entry| entry.chain_hash.to_string()),
            checkpoint_hash: row.checkpoint_hash.to_string(),
        }
    }
}

impl Report for PublicationsReport {
    const SCHEMA: &'static str = "evidence.report";
}

impl From<ExportError> for Failure {
    fn from(why: ExportError) -> Self {
        let message = why.to_string();
        match why {
            ExportError::HalfSealed => {
                Self::new(Code::LogBroken, message).hint("`ctx verify` names the checkpoint")
            }
            ExportError::SideLine { .. } => Self::new(Code::Usage, message).hint(
                "export on a commit before the merge, or repeat the access: `ctx replay` answers for both lines",
            ),
            ExportError::TooLarge => {
                Self::new(Code::Usage, message).hint("name one access instead of a session")
            }
            ExportError::Json(_) => Self::new(Code::Io, message),
        }
    }
}

impl From<BundleFault> for Failure {
    fn from(why: BundleFault) -> Self {
        Self::new(Code::BundleInvalid, format!("this file is not an evidence bundle: {why}"))
            .hint("verify the file as `ctx evidence export` wrote it; a file that was changed, or unpacked and packed again, is not valid")
    }
}
