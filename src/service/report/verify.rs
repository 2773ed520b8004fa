//! Report of a verification.

use serde::Serialize;

use super::Report;
use crate::prove::verify::{self, AnchorResult, AnchorSource, Class, Code, Finding};
use crate::values::model::number::{CheckpointNumber, Version};

/// The answer of `verify`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct VerifyReport {
    /// Result of the verification.
    verdict: verify::Verdict,
    /// True if the whole vault was checked, not only the requested part.
    whole: bool,
    /// Checkpoints from outside of the vault with which the log was compared.
    anchors: Vec<AnchorReport>,
    /// Number of checkpoints.
    checkpoints: u64,
    /// Hash of the last checkpoint.
    checkpoint_hash: Option<String>,
    /// Number of artifacts; absent, like other counts, for a reader who may not read everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifacts: Option<usize>,
    /// Number of versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    versions: Option<u64>,
    /// Number of notes that no hash covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    unprotected_notes: Option<u64>,
    /// Number of retirements whose author no hash covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    unprotected_retirements: Option<u64>,
    /// Number of edited live files with status `draft`.
    #[serde(skip_serializing_if = "super::is_zero")]
    drafts: u64,
    /// Number of staged results, including those without content.
    #[serde(skip_serializing_if = "super::is_zero")]
    staged_results: usize,
    /// Number of findings that are not listed.
    #[serde(skip_serializing_if = "super::is_zero")]
    omitted: u64,
    /// Reason why the trusted head could not be read or updated.
    #[serde(skip_serializing_if = "Option::is_none")]
    trusted_head_error: Option<String>,
    /// Findings of the verifier.
    findings: Vec<FindingReport>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct AnchorReport {
    /// `expected`, `trusted-head`, `revision` or `merge-base`.
    source: AnchorSource,
    /// Time from which the head is trusted, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// Revision of git, as the user named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    /// Commit of git that contains the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// Number of checkpoints of the revision that this log lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<u64>,
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Hash of the checkpoint; null for the empty vault.
    checkpoint_hash: Option<String>,
    /// Number of the checkpoint that is known, if a merge brought it. `checkpoint` is then the one
    /// of the main line before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    merged: Option<CheckpointNumber>,
}

impl From<&AnchorResult> for AnchorReport {
    fn from(held: &AnchorResult) -> Self {
        let (mut since, mut revision, mut commit, mut behind) = (None, None, None, None);
        match &held.source {
            AnchorSource::Expected => {}
            AnchorSource::Trusted { since: at } => {
                since = Some(at.to_string());
            }
            AnchorSource::Revision { name, commit: of } => {
                revision = Some(name.clone());
                commit = Some(of.clone());
            }
            AnchorSource::MergeBase { name, commit: of, behind: beyond } => {
                revision = Some(name.clone());
                commit = Some(of.clone());
                behind = Some(*beyond);
            }
        }
        let source = held.source.clone();
        let checkpoint_hash = held.hash.map(|hash| hash.to_string());
        let checkpoint = held.checkpoint;
        let merged = held.side;
        Self { source, since, revision, commit, behind, checkpoint, checkpoint_hash, merged }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub(super) struct FindingReport {
    /// Stable code; `ctx help CODE` explains it.
    code: Code,
    /// `damage`, `unsettled`, `working copy` or `note`.
    class: Class,
    /// Path in the vault.
    path: String,
    /// Number of the line in the file, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// Id of the artifact; null if the finding is not about one.
    id: Option<String>,
    /// Number of the version; null if the finding is not about one.
    version: Option<Version>,
    /// Number of the checkpoint; null if the finding is not about one.
    checkpoint: Option<CheckpointNumber>,
    /// Value that was expected.
    expected: Option<String>,
    /// Value that was found.
    found: Option<String>,
    /// Description of the finding.
    message: String,
}

impl From<&Finding> for FindingReport {
    fn from(finding: &Finding) -> Self {
        Self {
            code: finding.code,
            class: finding.code.class(),
            path: finding.path.clone(),
            line: finding.line,
            id: finding.id.as_ref().map(ToString::to_string),
            version: finding.version,
            checkpoint: finding.checkpoint,
            expected: finding.expected.clone(),
            found: finding.found.clone(),
            message: finding.message.clone(),
        }
    }
}

impl Report for VerifyReport {
    const SCHEMA: &'static str = "verify";
}

impl VerifyReport {
    /// Keeps at most this number of findings and counts the others.
    #[cfg(feature = "mcp")]
    pub(crate) fn first(mut self, findings: usize) -> Self {
        let more = self.findings.len().saturating_sub(findings) as u64;
        self.findings.truncate(findings);
        Self { omitted: self.omitted.saturating_add(more), ..self }
    }

    /// Removes the counts that reveal submissions and drafts to a reader who may not know of these.
    #[cfg(feature = "mcp")]
    pub(crate) fn without_counts(self) -> Self {
        Self {
            artifacts: None,
            versions: None,
            unprotected_notes: None,
            unprotected_retirements: None,
            drafts: 0,
            staged_results: 0,
            ..self
        }
    }

    /// Removes the number of findings that are not listed.
    #[cfg(feature = "mcp")]
    pub(crate) fn without_omitted(self) -> Self {
        Self { omitted: 0, ..self }
    }

    /// Reports the result of a verifier; `whole` is true if it checked the whole vault.
    pub(crate) fn new(report: &verify::Report, whole: bool) -> Self {
        Self {
            verdict: report.verdict,
            whole,
            anchors: report.anchors.iter().map(AnchorReport::from).collect(),
            checkpoints: report.checkpoints,
            checkpoint_hash: report.head.map(|hash| hash.to_string()),
            artifacts: Some(report.ids.len()),
            versions: Some(report.versions),
            unprotected_notes: Some(report.unprotected_notes),
            unprotected_retirements: Some(report.unprotected_retirements),
            drafts: report.drafts,
            staged_results: report.staged_results,
            omitted: report.omitted,
            trusted_head_error: report.trust_error.as_ref().map(ToString::to_string),
            findings: report.findings.iter().map(FindingReport::from).collect(),
        }
    }
}
