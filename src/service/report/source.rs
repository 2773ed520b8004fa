//! Source nodes: what is to be called, and what was fetched.

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

/// What a source says is to be called (SRC-5).
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CallReport<'c> {
    /// The protocol.
    pub transport: Option<Transport>,
    /// The server.
    pub server: Option<&'c str>,
    /// The tools.
    pub tools: &'c [String],
    /// The ids of the sources that are hydrated before it.
    pub depends_on: Vec<String>,
    /// Seconds for which a result may be used again.
    pub cache_ttl: Option<u64>,
    /// Whether results are kept.
    pub stage: Option<StagePolicy>,
    /// For how many days, as in `30d`.
    pub retention: Option<String>,
}

impl<'c> CallReport<'c> {
    /// What a document says; none for one that is no source.
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
pub struct SourcesReport<'l> {
    checkpoint: CheckpointNumber,
    sources: Vec<DocumentReport<'l>>,
    withheld: Vec<WithheldReport>,
}

impl Report for SourcesReport<'_> {
    const SCHEMA: &'static str = "source.list";
}

impl<'l> SourcesReport<'l> {
    /// The sources of a checkpoint, without their texts.
    pub(crate) fn new(checkpoint: CheckpointNumber, all: &'l Resolution) -> Self {
        let sources = all.documents.iter().map(DocumentReport::named).collect();
        Self { checkpoint, sources, withheld: WithheldReport::all(&all.withheld) }
    }
}

/// The answer of `source show`: the document with its instructions in `body`.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct SourceShowReport<'s>(DocumentReport<'s>);

impl Report for SourceShowReport<'_> {
    const SCHEMA: &'static str = "source.show";
}

impl<'s> SourceShowReport<'s> {
    /// A source with its instructions.
    pub(crate) fn new(served: &'s Served) -> Traced<Self> {
        DocumentReport::whole(served).map(Self)
    }
}

/// The answer of `source order`.
#[derive(Debug, Serialize)]
pub struct SourceOrderReport<'o> {
    selector: String,
    checkpoint: CheckpointNumber,
    complete: bool,
    sources: Vec<PlannedReport<'o>>,
    missing: Vec<MissingReport<'o>>,
    cycles: Vec<Vec<String>>,
    withheld: Vec<WithheldReport>,
    notes: &'o [String],
}

/// One source in its place.
#[derive(Debug, Serialize)]
struct PlannedReport<'o> {
    #[serde(flatten)]
    document: DocumentReport<'o>,
    selected: bool,
}

/// A dependency that cannot be used.
#[derive(Debug, Serialize)]
struct MissingReport<'o> {
    id: String,
    needed_by: Vec<String>,
    reason: &'o Lack,
    message: String,
}

impl Report for SourceOrderReport<'_> {
    const SCHEMA: &'static str = "source.order";
}

impl<'o> SourceOrderReport<'o> {
    /// The order of the sources that a selector gives.
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
pub struct SourceCheckReport {
    /// The last checkpoint.
    pub checkpoint: CheckpointNumber,
    /// How many live sources were read.
    pub live_count: usize,
    /// How many sources are published.
    pub published_count: usize,
    /// How many problems are errors.
    pub errors: usize,
    /// How many problems are warnings.
    pub warnings: usize,
    /// The live files with problems.
    pub live: Vec<FileProblems>,
    /// The published sources with problems.
    pub published: Vec<PublishedProblems>,
    withheld: Vec<WithheldReport>,
}

/// A published source with its problems.
#[derive(Debug, Serialize)]
pub struct PublishedProblems {
    /// The source.
    pub id: String,
    /// The problems in the order of their lines.
    pub problems: Vec<ProblemReport>,
}

impl Report for SourceCheckReport {
    const SCHEMA: &'static str = "source.check";
}

impl SourceCheckReport {
    /// The problems of live files, by their paths, and of published sources.
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
    /// What names the line of the access log.
    pub trace: String,
    /// The session.
    pub session: &'r str,
    /// What the line says.
    #[serde(flatten)]
    pub hydration: &'r Hydration,
    /// The URI of the staged result, where it was staged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staged: Option<&'r str>,
}

impl Report for SourceRecordReport<'_> {
    const SCHEMA: &'static str = "source.record";
}

/// The answer of `source fresh`.
#[derive(Debug, Serialize)]
pub struct SourceFreshReport<'f> {
    /// The source.
    pub source: String,
    /// Whether a recorded result may be used again.
    pub fresh: bool,
    /// Why not: `unrecorded`, `no-ttl`, `failed`, `other-version`, `later`, `expired`, `discarded` or
    /// `erased`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<Stale>,
    /// The line of the result, or of the last one that may not be used.
    pub trace: Option<&'f str>,
    /// When it was recorded.
    pub at: Option<String>,
    /// Until when it may be used.
    pub until: Option<String>,
    /// The SHA-256 of the result.
    pub result_hash: Option<&'f str>,
    /// The URI of the staged result, where it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staged: Option<String>,
    /// What ended the staged result: `discard`, `collect` or `erase`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<ActKind>,
    /// The result, where it was staged and is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'f str>,
    /// The result in hexadecimal digits, where it was staged and is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_hex: Option<String>,
}

impl Report for SourceFreshReport<'_> {
    const SCHEMA: &'static str = "source.fresh";
}

words! {
    /// What two contents are compared by.
    pub enum ComparedAs {
        /// Their JSON values.
        Json = "json",
        /// Their lines.
        Text = "text",
        /// Their bytes.
        Bytes = "bytes",
    }
}

/// The answer of `source diff`.
#[derive(Debug, Serialize)]
pub struct SourceDiffReport<'d> {
    /// The source.
    pub source: String,
    /// The URI of the older result.
    pub from: String,
    /// That of the newer one.
    pub to: String,
    /// When each was staged, the older one first.
    pub at: [&'d str; 2],
    /// Whether both have the same content.
    pub equal: bool,
    /// What they are compared by: `json`, `text` or `bytes`.
    pub form: ComparedAs,
    /// Of JSON the parts that changed, each with its JSON Pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<&'d [PartChange]>,
    /// What changed, line by line; empty of contents that are no text.
    pub diff: &'d str,
    /// The documents that were promoted from a result before the newer one.
    pub promoted: Vec<PromotedFromReport>,
}

/// A document that was promoted from a staged content.
#[derive(Debug, Serialize)]
pub struct PromotedFromReport {
    /// The document.
    pub document: String,
    /// The URI of the entry.
    pub entry: String,
    /// The version that is published; null where none is.
    pub published: Option<u64>,
    /// Whether the newer result still has the content of the entry.
    pub current: bool,
}

impl Report for SourceDiffReport<'_> {
    const SCHEMA: &'static str = "source.diff";
}

/// The answer of `source run`.
#[derive(Debug, Serialize)]
pub struct SourceRunReport<'r> {
    /// What is recorded.
    #[serde(flatten)]
    pub recorded: SourceRecordReport<'r>,
    /// What the program printed; null where it is not UTF-8.
    pub result: Option<&'r str>,
}

impl Report for SourceRunReport<'_> {
    const SCHEMA: &'static str = "source.run";
}
