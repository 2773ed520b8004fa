//! Reports of sources: the calls that they describe, and the results of these calls.

use serde::Serialize;

use super::document::{DocumentReport, WithheldReport};
use super::problem::{FileProblems, ProblemReport};
use super::{Report, Spell};
use crate::read::snapshot::{Resolution, Served, Withheld};
use crate::read::source::fresh::Stale;
use crate::read::source::{HydrationPlan, Lack, MissingDependency, PlannedSource, SourceCall};
use crate::record::audit::{Hydration, Traced};
use crate::record::staging::{ActKind, PartChange};
use crate::text::document::validate::{Problem, Severity};
use crate::values::codes::words;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::stage::StagePolicy;
use crate::values::model::transport::Transport;

/// The call that a source describes (SRC-5).
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CallReport<'c> {
    /// Protocol of the call.
    pub transport: Option<Transport>,
    /// Name of the server.
    pub server: Option<&'c str>,
    /// Names of the tools.
    pub tools: &'c [String],
    /// Ids of the sources that must be hydrated before it.
    pub depends_on: Vec<String>,
    /// Number of seconds for which a result may be reused.
    pub cache_ttl: Option<u64>,
    /// Policy for staging results.
    pub stage: Option<StagePolicy>,
    /// Retention of staged results in days, as in `30d`.
    pub retention: Option<String>,
}

impl<'c> CallReport<'c> {
    /// Returns the call of a source; `None` for other documents.
    pub(crate) fn of(served: &'c Served) -> Option<Self> {
        let call = SourceCall::of(served)?;
        let block = call.block;
        Some(Self {
            transport: block.transport,
            server: block.server.as_deref(),
            tools: &block.tools,
            depends_on: call.needed().iter().map(ToString::to_string).collect(),
            cache_ttl: block.cache_ttl,
            stage: block.stage,
            retention: block.retention.map(|days| format!("{days}d")),
        })
    }
}

/// The answer of `source list`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SourcesReport<'l> {
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Sources in byte order of their ids.
    sources: Vec<DocumentReport<'l>>,
    /// Documents that are not served: their history does not verify, or no valid approval exists.
    withheld: Vec<WithheldReport>,
}

impl Report for SourcesReport<'_> {
    const SCHEMA: &'static str = "source.list";
}

impl<'l> SourcesReport<'l> {
    /// Reports the sources of a checkpoint, without their texts.
    pub(crate) fn new(checkpoint: CheckpointNumber, all: &'l Resolution) -> Self {
        let sources = all.documents.iter().map(DocumentReport::named).collect();
        Self { checkpoint, sources, withheld: WithheldReport::all(&all.withheld) }
    }
}

/// The answer of `source show`: the document with its instructions in `body`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct SourceShowReport<'s>(DocumentReport<'s>);

impl Report for SourceShowReport<'_> {
    const SCHEMA: &'static str = "source.show";
}

impl<'s> SourceShowReport<'s> {
    /// Reports a source with its instructions.
    pub(crate) fn new(served: &'s Served) -> Traced<Self> {
        DocumentReport::whole(served).map(Self)
    }
}

/// The answer of `source order`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SourceOrderReport<'o> {
    /// Selector in its normal form.
    selector: String,
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// True if all sources can be fetched.
    complete: bool,
    /// Sources in the order in which they must be fetched.
    sources: Vec<PlannedReport<'o>>,
    /// Dependencies that cannot be used.
    missing: Vec<MissingReport<'o>>,
    /// Ids of sources that depend on each other, one list for each cycle.
    cycles: Vec<Vec<String>>,
    /// Documents that are not served: their history does not verify, or no valid approval exists.
    withheld: Vec<WithheldReport>,
    /// Remarks about the vault and the answer.
    notes: &'o [String],
}

/// A source in the order of hydration.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct PlannedReport<'o> {
    #[serde(flatten)]
    document: DocumentReport<'o>,
    /// True if the selector selects the source; false if another source needs it.
    selected: bool,
}

/// A dependency that cannot be used.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct MissingReport<'o> {
    /// Id of the dependency.
    id: String,
    /// Ids of the sources that need it.
    needed_by: Vec<String>,
    /// Reason, as a stable word.
    reason: &'o Lack,
    /// Reason, as a sentence.
    message: String,
}

impl Report for SourceOrderReport<'_> {
    const SCHEMA: &'static str = "source.order";
}

impl<'o> SourceOrderReport<'o> {
    /// Reports the order of the sources that a selector selects.
    pub(crate) fn new(
        (selector, checkpoint): (String, CheckpointNumber),
        plan: &'o HydrationPlan,
        withheld: &[Withheld],
        notes: &'o [String],
    ) -> Self {
        let planned = |source: &'o PlannedSource| PlannedReport {
            document: DocumentReport::named(&source.served),
            selected: source.is_selected,
        };
        let missing = |lack: &'o MissingDependency| MissingReport {
            id: lack.id.to_string(),
            needed_by: lack.needed_by.iter().map(ToString::to_string).collect(),
            reason: &lack.why,
            message: lack.why.sentence(),
        };
        let group = |ids: &std::collections::BTreeSet<DocumentId>| {
            ids.iter().map(ToString::to_string).collect()
        };
        Self {
            selector,
            checkpoint,
            complete: plan.is_complete() && withheld.is_empty(),
            sources: plan.sources.iter().map(planned).collect(),
            missing: plan.missing.iter().map(missing).collect(),
            cycles: plan.cycles.iter().map(group).collect(),
            withheld: WithheldReport::all(withheld),
            notes,
        }
    }
}

/// The answer of `source check`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SourceCheckReport {
    /// Last checkpoint.
    pub checkpoint: CheckpointNumber,
    /// Number of live sources that were read.
    pub live_count: usize,
    /// Number of published sources.
    pub published_count: usize,
    /// Number of problems that are errors.
    pub errors: usize,
    /// Number of problems that are warnings.
    pub warnings: usize,
    /// Live files with problems.
    pub live: Vec<FileProblems>,
    /// Published sources with problems.
    pub published: Vec<PublishedProblems>,
    /// Documents that are not served: their history does not verify, or no valid approval exists.
    withheld: Vec<WithheldReport>,
}

/// A published source with its problems.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PublishedProblems {
    /// Id of the source.
    pub id: String,
    /// Problems in the order of their lines.
    pub problems: Vec<ProblemReport>,
}

impl Report for SourceCheckReport {
    const SCHEMA: &'static str = "source.check";
}

impl SourceCheckReport {
    /// Reports the problems of live files, by path, and of published sources.
    pub(crate) fn new(
        checkpoint: CheckpointNumber,
        (live_count, live): (usize, Vec<(String, Vec<Problem>)>),
        (published_count, published): (usize, Vec<(DocumentId, Vec<Problem>)>),
        withheld: &[Withheld],
        spell: Spell,
    ) -> Self {
        let all = || {
            let of_live = live.iter().flat_map(|(_, problems)| problems);
            of_live.chain(published.iter().flat_map(|(_, problems)| problems))
        };
        let errors = all().filter(|problem| problem.severity == Severity::Error).count();
        let warnings = all().count() - errors;
        let of_file = |(path, problems): &(String, Vec<Problem>)| FileProblems {
            path: path.clone(),
            problems: ProblemReport::all(problems, spell),
        };
        let of_source = |(id, problems): &(DocumentId, Vec<Problem>)| PublishedProblems {
            id: id.to_string(),
            problems: ProblemReport::all(problems, spell),
        };
        let (live, published) =
            (live.iter().map(of_file).collect(), published.iter().map(of_source).collect());
        let withheld = WithheldReport::all(withheld);
        Self {
            checkpoint,
            live_count,
            published_count,
            errors,
            warnings,
            live,
            published,
            withheld,
        }
    }
}

/// The answer of `source record`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SourceRecordReport<'r> {
    /// Name of the line of the access log.
    pub trace: String,
    /// Session that recorded the result.
    pub session: &'r str,
    /// Content of the line.
    #[serde(flatten)]
    pub hydration: &'r Hydration,
    /// URI of the staged result, if it was staged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staged: Option<&'r str>,
}

impl Report for SourceRecordReport<'_> {
    const SCHEMA: &'static str = "source.record";
}

/// The answer of `source fresh`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SourceFreshReport<'f> {
    /// Id of the source.
    pub source: String,
    /// True if a recorded result may be reused.
    pub fresh: bool,
    /// Reason why no result may be reused: `unrecorded`, `no-ttl`, `failed`, `other-version`,
    /// `later`, `expired`, `discarded` or `erased`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<Stale>,
    /// Line of the result, or of the last result that may not be reused.
    pub trace: Option<&'f str>,
    /// Time at which the result was recorded.
    pub at: Option<String>,
    /// Time until which the result may be reused.
    pub until: Option<String>,
    /// SHA-256 of the result.
    pub result_hash: Option<&'f str>,
    /// URI of the staged result, if it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staged: Option<String>,
    /// Act that ended the staged result: `discard`, `collect` or `erase`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<ActKind>,
    /// Result, if it was staged and is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'f str>,
    /// Result in hexadecimal digits, if it was staged and is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_hex: Option<String>,
}

impl Report for SourceFreshReport<'_> {
    const SCHEMA: &'static str = "source.fresh";
}

words! {
    /// Form in which two contents are compared.
    pub enum ComparedAs {
        /// JSON values.
        Json = "json",
        /// Lines of text.
        Text = "text",
        /// Single bytes.
        Bytes = "bytes",
    }
}

/// The answer of `source diff`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SourceDiffReport<'d> {
    /// Id of the source.
    pub source: String,
    /// URI of the older result.
    pub from: String,
    /// URI of the newer result.
    pub to: String,
    /// Times at which the results were staged, the older one first.
    pub at: [&'d str; 2],
    /// True if both results have the same content.
    pub equal: bool,
    /// Form of the comparison: `json`, `text` or `bytes`.
    pub form: ComparedAs,
    /// Parts of JSON values that changed, each with its JSON Pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<&'d [PartChange]>,
    /// Changes by line; empty if the contents are not text.
    pub diff: &'d str,
    /// Documents that were promoted from a result before the newer one.
    pub promoted: Vec<PromotedFromReport>,
}

/// A document that was promoted from a staged content.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PromotedFromReport {
    /// Id of the document.
    pub document: String,
    /// URI of the entry.
    pub entry: String,
    /// Published version; null if there is none.
    pub published: Option<u64>,
    /// True if the newer result still has the content of the entry.
    pub current: bool,
}

impl Report for SourceDiffReport<'_> {
    const SCHEMA: &'static str = "source.diff";
}

/// The answer of `source run`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct SourceRunReport<'r> {
    /// Recorded line of the result.
    #[serde(flatten)]
    pub recorded: SourceRecordReport<'r>,
    /// Output of the program; null if it is not UTF-8.
    pub result: Option<&'r str>,
}

impl Report for SourceRunReport<'_> {
    const SCHEMA: &'static str = "source.run";
}
