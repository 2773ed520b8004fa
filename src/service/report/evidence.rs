//! Evidence: bundles, what verifying one gave, and the list of publications.

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
pub struct EvidenceExportReport {
    /// The file that was written.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: String,
    /// How many lines of the access log it has.
    pub line_count: usize,
    /// How many versions it has the texts of.
    pub version_count: usize,
    /// The last checkpoint.
    pub head: Option<HeadRef>,
    /// What the bundle does not prove.
    pub unproved: Vec<UnprovedRow>,
    /// Where the logs are not whole: accesses that belong to the bundle may be missing there.
    pub gaps: Vec<GapRow>,
}

/// A place where a log is not whole.
#[derive(Debug, Serialize)]
pub struct GapRow {
    /// The code of the fault, or `pruned`.
    pub code: String,
    /// The file of the log.
    pub file: String,
    /// The place in the file.
    pub line: u64,
    /// What it is.
    pub message: String,
    /// Whether it is damage, and not a recorded pruning or a line that was not written to its end.
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
pub struct UnprovedRow {
    /// Which one.
    pub name: String,
    /// Why.
    pub why: String,
}

impl EvidenceExportReport {
    /// A bundle that was written to a file.
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

/// What no bundle can prove, whatever is in it.
pub const LIMITS: [&str; 5] = [
    "a principal and a label are what the caller stated",
    "a time of an access is that of the clock of its machine",
    "the writer of an access log or a staging chain may have truncated it, or replaced its lines; so may \
     all who had the bundle, unless its SHA-256 is compared (`--expect-sha256`)",
    "who exported it may have left out a gap of the log, in the manifest and on the pages",
    "a head that is not noted elsewhere is only what the bundle says",
];

/// The version of this program.
pub const TOOL: &str = env!("CARGO_PKG_VERSION");

/// The answer of `evidence verify`.
#[derive(Debug, Serialize)]
pub struct EvidenceVerifyReport {
    /// `trace`, `session` or `document`.
    pub scope: ScopeKind,
    /// Which one.
    pub name: String,
    /// The version of the program that made the bundle, as it says.
    pub tool: String,
    /// The head that the bundle was exported at.
    pub head: Option<HeadRef>,
    /// Whether the head was compared with one from elsewhere, and is proved.
    pub anchored: bool,
    /// How many items are proved.
    pub proved: usize,
    /// How many are not.
    pub not_proved: usize,
    /// How many are contradicted.
    pub contradicted: usize,
    /// Every item.
    pub items: Vec<ItemRow>,
    /// What no bundle can prove.
    pub limits: [&'static str; 5],
}

/// One item of a bundle.
#[derive(Debug, Serialize)]
pub struct ItemRow {
    /// What kind.
    pub kind: Kind,
    /// Which one.
    pub name: String,
    /// `proved`, `not proved`, `contradicted`, or, of the head, `not anchored`.
    pub verdict: Verdict,
    /// Whether the bundle should prove it, and does not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// Why it is not proved.
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
    /// Returns true if another version made the bundle.
    pub(crate) fn is_of_another_tool(&self) -> bool {
        self.tool != TOOL
    }

    /// Whether nothing is contradicted and no proof is missing.
    pub(crate) fn holds(&self) -> bool {
        self.contradicted == 0 && self.items.iter().all(|item| !item.missing)
    }
}

impl Report for EvidenceVerifyReport {
    const SCHEMA: &'static str = "evidence.verify";
}

/// The answer of `evidence report`: every publication and retirement of a period.
#[derive(Debug, Serialize)]
pub struct PublicationsReport {
    /// The first instant of the period.
    pub from: Option<String>,
    /// The instant after the last.
    pub to: Option<String>,
    /// The publications, by checkpoint and id.
    pub publications: Vec<PublicationRow>,
}

/// One artifact in one checkpoint.
#[derive(Debug, Serialize)]
pub struct PublicationRow {
    /// The checkpoint.
    pub checkpoint: u64,
    /// When it was made.
    pub at: String,
    /// `published`, `retired` or `removed`.
    pub(crate) action: Act,
    /// The document or governance file.
    pub id: String,
    /// Its version.
    pub version: Option<u64>,
    /// The field `author` of the version.
    pub author: Option<String>,
    /// Who submitted the version, or who recorded it without a review.
    pub edited_by: Option<String>,
    /// When.
    pub edited_at: Option<String>,
    /// Who approved it.
    pub approved_by: Vec<String>,
    /// That one reviewer retired it at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emergency: Option<EmergencyRow>,
    /// Whether the history verifies up to the version, and the checkpoint.
    pub complete: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// A remark that no hash covers.
    pub unprotected_note: Option<String>,
    /// The chain hash of the version.
    pub chain_hash: Option<String>,
    /// The hash of the checkpoint.
    pub checkpoint_hash: String,
}

/// A retirement in an emergency, by the reviewer of `edited_by` alone.
#[derive(Debug, Serialize)]
pub struct EmergencyRow {
    /// Why.
    pub reason: String,
    /// The other reviewer, who ratified it; none so far.
    pub ratified_by: Option<String>,
    /// When.
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
            ExportError::TooLarge => {
                Self::new(Code::Usage, message).hint("name one access instead of a session")
            }
            ExportError::Json(_) => Self::new(Code::Io, message),
        }
    }
}

impl From<BundleFault> for Failure {
    fn from(why: BundleFault) -> Self {
        Self::new(Code::BundleInvalid, format!("this is no evidence bundle: {why}"))
            .hint("verify the file as `ctx evidence export` wrote it: unpacked and packed again, or changed, it is no bundle")
    }
}
