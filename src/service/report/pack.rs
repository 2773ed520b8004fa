//! Reports of packs as a checkpoint seals them.

use serde::Serialize;

use super::Report;
use super::document::{DocumentReport, WithheldReport};
use crate::read::snapshot::packs::{Packs, SealedPack, Unusable};
use crate::read::snapshot::plan::PlanFault;
use crate::read::snapshot::{QueryPlan, Resolution, Snapshot};
use crate::record::audit::{Part, Text, Traced};
use crate::record::checkpoint::fault::LogError;
use crate::text::document::frontmatter::NodeType;
use crate::text::pack::Placed;
use crate::text::uri::{Class, Uri};
use crate::values::model::number::{CheckpointNumber, Version};

/// The answer of `pack list`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PacksReport<'l> {
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Packs in byte order of their ids.
    pub packs: Vec<PackReport<'l>>,
    /// Pack files that cannot be read.
    unusable: Vec<UnusableReport<'l>>,
    /// Documents that are not served: their history does not verify, or no valid approval exists.
    withheld: Vec<WithheldReport>,
}

/// A sealed pack.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PackReport<'l> {
    /// Id in selectors.
    pub id: &'l str,
    /// Name for people.
    pub label: Option<&'l str>,
    /// Path of the file in the vault.
    pub path: &'l str,
    /// Version of the file.
    pub version: Version,
    /// Class of the answer; null if the pack cannot be resolved.
    pub class: Option<Class>,
    /// Number of documents; null for packs with a search, which a list does not run.
    pub documents: Option<usize>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct UnusableReport<'l> {
    /// Path in the vault.
    path: &'l str,
    /// Stable code.
    code: &'static str,
    /// Description of the problem.
    reason: String,
}

impl Report for PacksReport<'_> {
    const SCHEMA: &'static str = "pack.list";
}

impl<'l> PacksReport<'l> {
    /// Reports the packs of a checkpoint, with the number of documents of each.
    ///
    /// # Errors
    /// Fails if the log is not reliable.
    pub(crate) fn new(snapshot: &Snapshot<'_>, packs: &'l Packs) -> Result<Self, LogError> {
        let usable = packs.usable.iter().map(|pack| PackReport::new(pack, snapshot));
        let unusable = |sealed: &'l Unusable| UnusableReport {
            path: sealed.file.as_str(),
            code: sealed.why.code(),
            reason: sealed.why.kind.to_string(),
        };
        Ok(Self {
            checkpoint: snapshot.checkpoint(),
            packs: usable.collect::<Result<_, _>>()?,
            unusable: packs.unusable.iter().map(unusable).collect(),
            withheld: WithheldReport::all(&packs.withheld),
        })
    }
}

impl<'l> PackReport<'l> {
    /// Reports a pack with the number of its documents.
    ///
    /// # Errors
    /// Fails if the log is not reliable.
    pub(crate) fn new(sealed: &'l SealedPack, snapshot: &Snapshot<'_>) -> Result<Self, LogError> {
        let plan = QueryPlan::of_pack(sealed, snapshot, &mut |_| Err(NotAsked));
        let (class, documents) = match plan {
            Ok(plan) => (Some(plan.class()), Some(snapshot.count(&plan)?)),
            Err(PlanFault::Search(NotAsked)) => (Some(Class::Delegated), None),
            Err(_) => (None, None),
        };
        Ok(Self {
            id: &sealed.pack.id,
            label: sealed.pack.label.as_deref(),
            path: sealed.file.as_str(),
            version: sealed.version,
            class,
            documents,
        })
    }
}

/// A search in a pack, which is not run: a back-end may take long to answer.
struct NotAsked;

/// The answer of `pack show`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PackShowReport<'s> {
    /// Id of the pack in selectors.
    id: &'s str,
    /// Name for people.
    label: Option<&'s str>,
    /// Description of the pack.
    description: Option<&'s str>,
    /// Path of the file in the vault.
    path: &'s str,
    /// Version of the file.
    version: Version,
    /// Class of the answer: `direct`, `set` or `delegated`.
    class: Class,
    /// Back-end that answered the search; absent if nothing was searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<&'s str>,
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Selector of the pack; null without one.
    query: Option<String>,
    /// URIs of further documents.
    includes: Vec<String>,
    /// URIs of documents that the pack leaves out.
    excludes: Vec<String>,
    /// Types that the documents are limited to; empty for all types.
    node_types: Vec<&'s str>,
    /// Audiences of the pack.
    audiences: &'s [String],
    /// Instructions for agents; null without them.
    agent_instructions: Option<&'s str>,
    /// Documents that the pack selects.
    documents: Vec<DocumentReport<'s>>,
    /// Documents that are not served: their history does not verify, or no valid approval exists.
    withheld: Vec<WithheldReport>,
}

impl Report for PackShowReport<'_> {
    const SCHEMA: &'static str = "pack.show";
}

impl<'s> PackShowReport<'s> {
    /// Reports a sealed pack with its documents at a checkpoint, and its recorded instructions.
    pub(crate) fn new(
        snapshot: &Snapshot<'_>,
        sealed: &'s SealedPack,
        plan: &'s QueryPlan,
        resolution: &'s Resolution,
    ) -> Traced<Self> {
        let pack = &sealed.pack;
        let file = snapshot.get(&sealed.file).and_then(Result::ok);
        let instructions = pack.agent_instructions.as_ref().zip(file);
        let recorded = instructions.map(|(text, file)| Text {
            part: Some(Part::Instructions),
            ..file.origin().text(text)
        });
        let texts = |uris: &[Placed<Uri>]| uris.iter().map(|uri| uri.value.to_string()).collect();
        let report = Self {
            id: &pack.id,
            label: pack.label.as_deref(),
            description: pack.description.as_deref(),
            path: sealed.file.as_str(),
            version: sealed.version,
            class: plan.class(),
            backend: plan.backend.as_deref(),
            checkpoint: snapshot.checkpoint(),
            query: pack.query.as_ref().map(|query| query.value.to_string()),
            includes: texts(&pack.includes),
            excludes: texts(&pack.excludes),
            node_types: pack.node_types.iter().map(NodeType::as_str).collect(),
            audiences: &pack.audiences,
            agent_instructions: pack.agent_instructions.as_deref(),
            documents: DocumentReport::all(&resolution.portions(), false, None),
            withheld: WithheldReport::all(&resolution.withheld),
        };
        Traced::new(report, recorded.into_iter().collect())
    }
}

/// The answer of `pack add`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PackAddReport<'a> {
    /// Id of the new pack.
    pub id: &'a str,
    /// Path of its file.
    pub path: &'a str,
}

impl Report for PackAddReport<'_> {
    const SCHEMA: &'static str = "pack.add";
}
