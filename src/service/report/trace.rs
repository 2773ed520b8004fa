//! Reports of the access log: its lines, replays of them, and its verification.

use std::path::Path;

use serde::Serialize;

use super::Report;
use super::retention::PrunedRow;
use crate::prove::evidence::replay::{Outcome, Replayed};
use crate::prove::evidence::staged::{NOT_STAGED, UNSEEN};
use crate::prove::verify::{Class, Finding};
use crate::record::audit::{
    Change, Collected, Elsewhere, Event, EventKind, Fault, FileOutcome, Line, Output, Part, Prior,
    Produced, Reading,
};

/// The answer of `trace list`: accesses, listings, refusals and changes, ordered by time.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct TracesReport {
    /// Matching lines of the logs.
    pub traces: Vec<TraceRow>,
}

/// The answer of `trace grep`, in the shape of that of `trace list`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct TracesFoundReport {
    /// Matching lines of the logs.
    pub traces: Vec<TraceRow>,
}

impl Report for TracesFoundReport {
    const SCHEMA: &'static str = "trace.grep";
}

/// A new line of a log, as `trace follow` prints it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct TraceFollowedReport(pub TraceRow);

impl Report for TraceFollowedReport {
    const SCHEMA: &'static str = "trace.follow";
}

/// Summary of one line of a log.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct TraceRow {
    /// Name of the line, as in `0a1b2c3d-17`.
    pub trace: String,
    /// Time of the line, in UTC.
    pub at: String,
    /// `access`, `listing`, `refused`, `output`, `hydration` or `change`.
    pub event: EventKind,
    /// Name of the command.
    pub verb: String,
    /// Principal who ran the command.
    pub principal: Option<String>,
    /// Label of the agent.
    pub agent: Option<String>,
    /// Label of the session.
    pub session: Option<String>,
    /// True if the caller did not name the session.
    pub session_implicit: bool,
    /// Number of the last checkpoint at that time.
    pub head: Option<u64>,
    /// Selector, URI or search text of the request.
    pub query: Option<String>,
    /// Number of texts handed out, names listed, bytes produced or fetched, or documents changed.
    pub count: u64,
    /// Code of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Kind of a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<&'static str>,
    /// Checkpoint that a change made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sealed: Option<u64>,
    /// URI of the hydrated source, with a pin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Error of a failed hydration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Detail of a hold (its scope and reason), of the end of a hold (its reason), or of a binding
    /// (the time of its event).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Folder whose access log contains the line, if that is another folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_of: Option<String>,
}

/// Returns the subject of a change that names no documents.
fn detail(change: &Change) -> Option<String> {
    match change {
        Change::Hold { hold } => Some(format!("{} of {}: {}", hold.id, hold.held(), hold.reason)),
        Change::Lift { lifted, reason } => Some(format!("{lifted}: {reason}")),
        Change::Bind { event_at, .. } => Some(format!("the event of {event_at}")),
        _ => None,
    }
}

impl From<&Line> for TraceRow {
    fn from(line: &Line) -> Self {
        let request = &line.request;
        let (query, count, code) = match &line.event {
            Event::Access(access) => {
                (access.query.query.clone(), access.documents.len() as u64, None)
            }
            Event::Listing(listing) => (listing.query.query.clone(), listing.count, None),
            Event::Refused(refused) => (None, 0, Some(refused.code.clone())),
            Event::Change(change) => (None, change.names().len() as u64, None),
            Event::Output(produced) => (None, produced.bytes, None),
            Event::Hydration(hydration) => (None, hydration.bytes, None),
        };
        let change = match &line.event {
            Event::Change(change) => Some(change),
            _ => None,
        };
        let sealed = change.and_then(Change::sealed);
        Self {
            trace: line.trace().to_string(),
            at: line.at.clone(),
            event: line.event.kind(),
            verb: request.verb.clone(),
            principal: request.principal.clone(),
            agent: request.labels.agent.clone(),
            session: request.labels.session.clone(),
            session_implicit: request.labels.session_implicit,
            head: request.head.as_ref().map(|head| head.checkpoint),
            query,
            count,
            code,
            action: change.map(Change::as_str),
            sealed: sealed.map(|sealed| sealed.checkpoint),
            source: line.hydration().map(|of| of.name().to_owned()),
            error: line.hydration().and_then(|of| of.error.clone()),
            detail: change.and_then(detail),
            log_of: None,
        }
    }
}

impl Report for TracesReport {
    const SCHEMA: &'static str = "trace.list";
}

/// The answer of `impact`: every access to a document, the oldest first.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ImpactReport {
    /// Id of the document.
    pub id: String,
    /// Id before the document was moved. Accesses under that id are not included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub former_id: Option<String>,
    /// Texts of the document that were handed out.
    pub accesses: Vec<ImpactRow>,
}

impl Report for ImpactReport {
    const SCHEMA: &'static str = "impact";
}

/// One text that was handed out, or one hydration.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ImpactRow {
    /// Name of the line of the log.
    pub trace: String,
    /// Time of the line, in UTC.
    pub at: String,
    /// `access` or `hydration`.
    pub event: EventKind,
    /// Name of the command.
    pub verb: String,
    /// Principal who ran the command.
    pub principal: Option<String>,
    /// Label of the agent.
    pub agent: Option<String>,
    /// Label of the session.
    pub session: Option<String>,
    /// True if the caller did not name the session.
    pub session_implicit: bool,
    /// URI of the text.
    pub uri: Option<String>,
    /// Section anchor, if the text is a section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// Form in which the text was handed out, if it is not a piece of the version's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// Number of the version.
    pub version: u64,
    /// Checkpoint of the answer.
    pub checkpoint: Option<u64>,
    /// Hash of the text that was handed out, or of the result.
    pub sha256: String,
    /// Time at which the version was replaced or retired, if that was before the access.
    pub superseded_at: Option<String>,
    /// True if the version was retired, and not replaced.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub retired: bool,
    /// Problem with the approval of the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unapproved: Option<String>,
    /// Folder whose access log contains the line, if that is another folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_of: Option<String>,
}

/// Returns the name of the other folder whose access log contains a line.
pub(crate) fn log_of(folder: Option<&Path>) -> Option<String> {
    folder.map(|folder| folder.display().to_string())
}

impl ImpactRow {
    /// Reports a text of a line, which may be in the access log of another folder.
    pub(crate) fn new(line: &Line, reading: Reading, elsewhere: Option<&Path>) -> Self {
        let row = TraceRow::from(line);
        Self {
            trace: row.trace,
            at: row.at,
            event: row.event,
            verb: row.verb,
            principal: row.principal,
            agent: row.agent,
            session: row.session,
            session_implicit: row.session_implicit,
            uri: reading.uri,
            anchor: reading.anchor,
            part: reading.part,
            version: reading.version,
            checkpoint: reading.checkpoint,
            sha256: reading.sha256,
            superseded_at: reading.ended.map(|ended| ended.at.to_string()),
            retired: reading.ended.is_some_and(|ended| ended.is_retired),
            unapproved: None,
            log_of: log_of(elsewhere),
        }
    }
}

/// The answer of `replay`: the texts of accesses, rebuilt and compared.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ReplayReport {
    /// Number of texts that are the same.
    pub same: usize,
    /// Number of texts that differ.
    pub different: usize,
    /// Number of texts that cannot be rebuilt.
    pub cannot_tell: usize,
    /// Texts in the order of the lines.
    pub texts: Vec<ReplayedRow>,
}

/// One rebuilt text.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ReplayedRow {
    /// Name of the line of the log.
    pub trace: String,
    /// URI or id of the text; a placeholder if the reader may not see a staged result (STAGE-13).
    pub name: String,
    /// True if the entry is a result of the named source, and not the source's text.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub result: bool,
    /// Number of the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Recorded hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// `same`, `different` or `cannot tell`.
    pub(crate) outcome: Outcome,
    /// Reason why the text differs or cannot be rebuilt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Problem with the approval of the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unapproved: Option<String>,
}

impl ReplayReport {
    /// Reports the replayed texts of lines.
    pub(crate) fn new(all: Vec<(String, Replayed)>) -> Self {
        let how_many = |of: &dyn Fn(&Outcome) -> bool| {
            all.iter().filter(|(_, replayed)| of(&replayed.outcome)).count()
        };
        let same = how_many(&|outcome| matches!(outcome, Outcome::Same));
        let different = how_many(&|outcome| matches!(outcome, Outcome::Different(_)));
        let cannot_tell = how_many(&|outcome| matches!(outcome, Outcome::CannotTell(_)));
        let row = |(trace, one): (String, Replayed)| {
            let is_seen = one.outcome.why() != Some(UNSEEN);
            let has_hash = is_seen && one.outcome.why() != Some(NOT_STAGED);
            ReplayedRow {
                trace,
                name: if is_seen { one.name } else { "a staged result".to_owned() },
                result: one.is_result,
                version: is_seen.then_some(one.version),
                sha256: has_hash.then_some(one.sha256),
                why: one.outcome.why().map(str::to_owned),
                outcome: one.outcome,
                unapproved: one.finding.filter(|_| is_seen),
            }
        };
        Self { same, different, cannot_tell, texts: all.into_iter().map(row).collect() }
    }
}

impl Report for ReplayReport {
    const SCHEMA: &'static str = "replay";
}

/// The answer of `replay --output`: commands that were run again.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ReplayOutputReport {
    /// Number of outputs that are the same.
    pub same: usize,
    /// Number of outputs that differ.
    pub different: usize,
    /// Number of outputs that cannot be made again.
    pub cannot_tell: usize,
    /// Outputs in the order of the lines.
    pub outputs: Vec<ReplayedOutput>,
}

/// One command that was run again.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ReplayedOutput {
    /// Name of the line of the log.
    pub trace: String,
    /// Name of the command.
    pub verb: String,
    /// Number of bytes recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Recorded hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// `same`, `different` or `cannot tell`.
    pub(crate) outcome: Outcome,
    /// Reason why the output differs or cannot be made again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl ReplayedOutput {
    /// Reports the replayed output of a line.
    pub(crate) fn new(line: &Line, recorded: Option<&Output>, outcome: Outcome) -> Self {
        Self {
            trace: line.trace().to_string(),
            verb: line.request.verb.clone(),
            bytes: recorded.map(|output| output.bytes),
            sha256: recorded.map(|output| output.sha256.clone()),
            why: outcome.why().map(str::to_owned),
            outcome,
        }
    }
}

impl ReplayOutputReport {
    /// Reports the replayed outputs of lines.
    pub(crate) fn new(outputs: Vec<ReplayedOutput>) -> Self {
        let outcomes = || outputs.iter().map(|output| &output.outcome);
        let same = outcomes().filter(|outcome| matches!(outcome, Outcome::Same)).count();
        let different =
            outcomes().filter(|outcome| matches!(outcome, Outcome::Different(_))).count();
        Self { same, different, cannot_tell: outputs.len() - same - different, outputs }
    }
}

impl Report for ReplayOutputReport {
    const SCHEMA: &'static str = "replay.output";
}

/// The answer of `trace show`: the line with this name, and the further lines of its answer.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct TraceReport<'t> {
    /// Name of the line.
    pub trace: String,
    /// Lines as the log contains them, in the form that `spec/audit.md` describes.
    pub lines: &'t [Line],
    /// Accesses of the session before an output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<BeforeReport>,
    /// Folder whose access log contains the lines, if that is another folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_of: Option<String>,
    /// Texts whose version lacks a valid approval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unapproved: Vec<UnapprovedText>,
}

/// A text that was handed out from a version without a valid approval.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct UnapprovedText {
    /// URI or id of the text, as the line records it.
    pub name: String,
    /// Number of the version.
    pub version: u64,
    /// Finding of a verifier, with its code.
    pub finding: String,
}

/// The accesses of a session before an output.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct BeforeReport {
    /// Number of accesses.
    pub count: usize,
    /// Accesses, the oldest first.
    pub accesses: Vec<Prior>,
}

/// The answer of `trace output`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct OutputReport {
    /// Name of the line.
    pub trace: String,
    /// Session that produced the output.
    pub session: String,
    /// Size and hash of the output, and its model.
    #[serde(flatten)]
    pub produced: Produced,
}

impl Report for OutputReport {
    const SCHEMA: &'static str = "trace.output";
}

impl Report for TraceReport<'_> {
    const SCHEMA: &'static str = "trace.show";
}

/// The access logs of another path of the vault.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct OtherPathReport {
    /// Folder of the logs.
    pub folder: String,
    /// Folder of the vault that wrote these logs, or the folder of the logs.
    pub log_of: String,
}

impl From<&Elsewhere> for OtherPathReport {
    fn from(logs: &Elsewhere) -> Self {
        let (folder, log_of) = (logs.dir.display().to_string(), logs.of.display().to_string());
        Self { folder, log_of }
    }
}

/// The answer of `trace verify`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct TraceVerifyReport {
    /// Folder of the logs.
    pub folder: String,
    /// Number of writers that have a log.
    pub writers: usize,
    /// Number of lines that match their hashes.
    pub lines: u64,
    /// Lines that were removed by pruning.
    pub pruned: Vec<PrunedRow>,
    /// Lines that do not match their hash or do not follow the line before them.
    pub faults: Vec<FaultReport>,
    /// Logs of other paths of the vault that were verified as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_paths: Vec<OtherPathReport>,
    /// Result for the change logs, if the vault has any and no other folder was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<ChangesVerified>,
}

/// Result of the verification of the change logs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ChangesVerified {
    /// Number of writers that have a log.
    pub writers: usize,
    /// Number of lines that match their hashes.
    pub lines: u64,
    /// Lines that do not match their hash or do not follow the line before them.
    pub faults: Vec<FaultReport>,
}

/// The answer of `trace collect`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct TraceCollectReport {
    /// Folder with the copies.
    pub folder: String,
    /// Files of the sources; one file for a refused writer.
    pub files: Vec<CollectedRow>,
    /// Writers with copies in the folder of whom no source has a log. These copies were not compared.
    pub absent: Vec<String>,
}

impl Report for TraceCollectReport {
    const SCHEMA: &'static str = "trace.collect";
}

/// Outcome for one file of a source.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CollectedRow {
    /// Folder of the source.
    pub source: String,
    /// Name of the file.
    pub file: String,
    /// `new`, `extended`, `unchanged` or `refused`.
    pub outcome: FileOutcome,
    /// Fault that prevented copying the files of its writer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultReport>,
}

impl CollectedRow {
    /// Reports the outcome for a file of a source.
    pub(crate) fn new(source: &Path, collected: &Collected) -> Self {
        let outcome = collected.outcome.clone();
        let fault = match &outcome {
            FileOutcome::Refused(fault) => Some(FaultReport::from(fault)),
            _ => None,
        };
        let source = source.display().to_string();
        Self { source, file: collected.file.clone(), outcome, fault }
    }
}

/// A fault of a line.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct FaultReport {
    /// Code of the fault.
    pub code: &'static str,
    /// True if the log is no longer reliable.
    pub is_damage: bool,
    /// Path of the file.
    pub file: String,
    /// Number of the line in the file, from 1.
    pub line: u64,
    /// Description of the fault.
    pub message: String,
}

impl From<&Fault> for FaultReport {
    fn from(fault: &Fault) -> Self {
        Self {
            code: fault.kind.as_str(),
            is_damage: fault.kind.is_damage(),
            file: fault.file.clone(),
            line: fault.line,
            message: fault.why.clone(),
        }
    }
}

impl From<&Finding> for FaultReport {
    fn from(finding: &Finding) -> Self {
        Self {
            code: finding.code.as_str(),
            is_damage: matches!(finding.code.class(), Class::Damage | Class::Unsettled),
            file: finding.path.clone(),
            line: finding.line.unwrap_or(1) as u64,
            message: finding.message.clone(),
        }
    }
}

impl Report for TraceVerifyReport {
    const SCHEMA: &'static str = "trace.verify";
}
