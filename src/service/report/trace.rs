//! What the access log says.

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

/// The answer of `trace list`: accesses, listings, refusals and changes in the order of their times.
#[derive(Debug, Serialize)]
pub struct TracesReport {
    /// The lines.
    pub traces: Vec<TraceRow>,
}

/// The answer of `trace grep`: as that of `trace list`.
#[derive(Debug, Serialize)]
pub struct TracesFoundReport {
    /// The lines.
    pub traces: Vec<TraceRow>,
}

impl Report for TracesFoundReport {
    const SCHEMA: &'static str = "trace.grep";
}

/// A line that `trace follow` meets.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct TraceFollowedReport(pub TraceRow);

impl Report for TraceFollowedReport {
    const SCHEMA: &'static str = "trace.follow";
}

/// One line in short.
#[derive(Debug, Serialize)]
pub struct TraceRow {
    /// Its name.
    pub trace: String,
    /// When.
    pub at: String,
    /// `access`, `listing`, `refused`, `output`, `hydration` or `change`.
    pub event: EventKind,
    /// The command.
    pub verb: String,
    /// Who asked.
    pub principal: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// Whether the session was not named.
    pub session_implicit: bool,
    /// The checkpoint that was the last one then.
    pub head: Option<u64>,
    /// What was asked for.
    pub query: Option<String>,
    /// How many texts were handed out, names listed, bytes produced or fetched, or documents changed.
    pub count: u64,
    /// The code of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What a change was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<&'static str>,
    /// The checkpoint that a change made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sealed: Option<u64>,
    /// The source that was hydrated, pinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What went wrong with a hydration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Of a hold what it holds and why, of its end why, and of a binding the time of its event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The folder whose access log has the line, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_of: Option<String>,
}

/// What a change is about, where no document says it.
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

/// The answer of `impact`: who was handed a document, the oldest access first.
#[derive(Debug, Serialize)]
pub struct ImpactReport {
    /// The document.
    pub id: String,
    /// The id that it was moved from, whose accesses are not among these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub former_id: Option<String>,
    /// The texts of it that were handed out.
    pub accesses: Vec<ImpactRow>,
}

impl Report for ImpactReport {
    const SCHEMA: &'static str = "impact";
}

/// One text that was handed out, or a hydration.
#[derive(Debug, Serialize)]
pub struct ImpactRow {
    /// The line of the log.
    pub trace: String,
    /// When.
    pub at: String,
    /// `access` or `hydration`.
    pub event: EventKind,
    /// The command.
    pub verb: String,
    /// Who asked.
    pub principal: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// Whether the session was not named.
    pub session_implicit: bool,
    /// The text.
    pub uri: Option<String>,
    /// The anchor of the section that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// What was made of the version's text, where it is no piece of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// Its version.
    pub version: u64,
    /// The checkpoint that was answered.
    pub checkpoint: Option<u64>,
    /// The hash of what was handed out, or of the result.
    pub sha256: String,
    /// When the version had been replaced or retired, if that was before the access.
    pub superseded_at: Option<String>,
    /// What is wrong with the approval of the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unapproved: Option<String>,
    /// The folder whose access log has the line, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_of: Option<String>,
}

/// The name of another folder whose access log has a line.
pub(crate) fn log_of(folder: Option<&Path>) -> Option<String> {
    folder.map(|folder| folder.display().to_string())
}

impl ImpactRow {
    /// A text of a line, which may be in the access log of another folder.
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
            superseded_at: reading.ended.map(|at| at.to_string()),
            unapproved: None,
            log_of: log_of(elsewhere),
        }
    }
}

/// The answer of `replay`: the texts of accesses, made again.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ReplayReport {
    /// How many are the same.
    pub same: usize,
    /// How many differ.
    pub different: usize,
    /// How many cannot be made again.
    pub cannot_tell: usize,
    /// The texts, in the order of the lines.
    pub texts: Vec<ReplayedRow>,
}

/// One text, made again.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ReplayedRow {
    /// The line of the log.
    pub trace: String,
    /// The URI or id of the text; of a staged result that the reader may not see neither (STAGE-13).
    pub name: String,
    /// Whether it is what the source of this URI or id returned, and not its text.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub result: bool,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The hash that is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// `same`, `different` or `cannot tell`.
    pub(crate) outcome: Outcome,
    /// What differs or is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What is wrong with the approval of the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unapproved: Option<String>,
}

impl ReplayReport {
    /// The texts of lines.
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
pub struct ReplayOutputReport {
    /// How many outputs are the same.
    pub same: usize,
    /// How many differ.
    pub different: usize,
    /// How many cannot be made again.
    pub cannot_tell: usize,
    /// The outputs, in the order of the lines.
    pub outputs: Vec<ReplayedOutput>,
}

/// One command that was run again.
#[derive(Debug, Serialize)]
pub struct ReplayedOutput {
    /// The line of the log.
    pub trace: String,
    /// The command.
    pub verb: String,
    /// How many bytes are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The hash that is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// `same`, `different` or `cannot tell`.
    pub(crate) outcome: Outcome,
    /// What differs or is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl ReplayedOutput {
    /// The output of a line.
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
    /// The outputs of lines.
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

/// The answer of `trace show`: the line that a trace names, then the further lines of its answer.
#[derive(Debug, Serialize)]
pub struct TraceReport<'t> {
    /// The name.
    pub trace: String,
    /// The lines, as the log has them.
    pub lines: &'t [Line],
    /// Of an output, the accesses of its session before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<BeforeReport>,
    /// The folder whose access log has them, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_of: Option<String>,
    /// The texts whose version has no valid approval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unapproved: Vec<UnapprovedText>,
}

/// A text that was handed out of a version without a valid approval.
#[derive(Debug, Serialize)]
pub struct UnapprovedText {
    /// Its URI or id, as the line has it.
    pub name: String,
    /// Its version.
    pub version: u64,
    /// What a verifier finds, with its code.
    pub finding: String,
}

/// The accesses of a session before an output.
#[derive(Debug, Serialize)]
pub struct BeforeReport {
    /// How many they are.
    pub count: usize,
    /// The accesses, the oldest first.
    pub accesses: Vec<Prior>,
}

/// The answer of `trace output`.
#[derive(Debug, Serialize)]
pub struct OutputReport {
    /// What names the line.
    pub trace: String,
    /// The session that produced it.
    pub session: String,
    /// What was produced.
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
pub struct OtherPathReport {
    /// The folder of the logs.
    pub folder: String,
    /// The folder of the vault whose logs these are, or that of the logs.
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
pub struct TraceVerifyReport {
    /// The folder of the logs.
    pub folder: String,
    /// How many writers have one.
    pub writers: usize,
    /// How many lines are what their hashes say.
    pub lines: u64,
    /// The lines that are gone because they were pruned.
    pub pruned: Vec<PrunedRow>,
    /// The lines that are not, or do not follow the ones before them.
    pub faults: Vec<FaultReport>,
    /// The logs of other paths of the vault that are verified as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_paths: Vec<OtherPathReport>,
    /// The same of the change logs, where the vault has some and no other folder is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<ChangesVerified>,
}

/// What a verifier says of the chains of change logs.
#[derive(Debug, Serialize)]
pub struct ChangesVerified {
    /// How many writers have one.
    pub writers: usize,
    /// How many lines are what their hashes say.
    pub lines: u64,
    /// The lines that are not, or do not follow the ones before them.
    pub faults: Vec<FaultReport>,
}

/// The answer of `trace collect`.
#[derive(Debug, Serialize)]
pub struct TraceCollectReport {
    /// The folder with the copies.
    pub folder: String,
    /// The files of the sources; of a refused writer one.
    pub files: Vec<CollectedRow>,
}

impl Report for TraceCollectReport {
    const SCHEMA: &'static str = "trace.collect";
}

/// What became of a file of a source.
#[derive(Debug, Serialize)]
pub struct CollectedRow {
    /// The folder of the source.
    pub source: String,
    /// The file.
    pub file: String,
    /// `new`, `extended`, `unchanged` or `refused`.
    pub outcome: FileOutcome,
    /// Why nothing of its writer was copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultReport>,
}

impl CollectedRow {
    /// A file of a source.
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

/// What is wrong with a line.
#[derive(Debug, Serialize)]
pub struct FaultReport {
    /// Its code.
    pub code: &'static str,
    /// Whether the log can no longer be relied on.
    pub is_damage: bool,
    /// The file.
    pub file: String,
    /// The line in it.
    pub line: u64,
    /// What it is.
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
            is_damage: finding.code.class() == Class::Damage,
            file: finding.path.clone(),
            line: finding.line.unwrap_or(1) as u64,
            message: finding.message.clone(),
        }
    }
}

impl Report for TraceVerifyReport {
    const SCHEMA: &'static str = "trace.verify";
}
