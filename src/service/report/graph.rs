//! Reports of references between documents.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Report;
use super::document::WithheldReport;
use crate::read::graph::memory::Memory;
use crate::read::graph::rank::Hub;
use crate::read::graph::walk::Neighbor;
use crate::read::graph::{self, Catalog as _, Edge};
use crate::read::snapshot::{Around, Listed, Listing, Withheld};
use crate::text::document::links::{LinkKind, LinkTarget, is_site_folder, site_targets};
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;

/// An edge of the graph.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct EdgeReport<'g> {
    /// Id of the referring document.
    from: &'g str,
    /// Id of the document that it refers to.
    to: &'g str,
    /// Kind of the edge: `reference`, `derived_from` or `depends_on`.
    kind: LinkKind,
}

impl<'g> From<&'g Edge> for EdgeReport<'g> {
    fn from(edge: &'g Edge) -> Self {
        Self { from: edge.from.as_str(), to: edge.to.as_str(), kind: edge.kind }
    }
}

/// The answer of `graph`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct GraphReport<'g> {
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Documents in byte order of their ids.
    documents: Vec<NodeReport<'g>>,
    /// References between the documents.
    edges: Vec<EdgeReport<'g>>,
    /// References to artifacts that are not published.
    unresolved: Vec<UnresolvedReport>,
    /// Documents that are not served: their history does not verify, or no valid approval exists.
    withheld: Vec<WithheldReport>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct NodeReport<'g> {
    /// Id of the document or governance file.
    id: &'g str,
    /// Title of the document.
    title: &'g str,
    /// Type of the document.
    #[serde(rename = "type")]
    node_type: &'g str,
}

/// A reference to an artifact that is not published at the checkpoint.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct UnresolvedReport {
    /// Id of the referring document.
    from: DocumentId,
    /// Target of the reference, as far as it is known.
    to: String,
    /// Kind of the reference: `reference`, `derived_from` or `depends_on`.
    kind: LinkKind,
}

impl Report for GraphReport<'_> {
    const SCHEMA: &'static str = "graph";
}

impl<'g> GraphReport<'g> {
    /// Reports the graph of all documents that are published at a checkpoint.
    pub(crate) fn new(
        checkpoint: CheckpointNumber,
        all: &'g Listing,
        graph: &Memory,
        edges: &'g [Edge],
    ) -> Self {
        let node = |listed: &'g Listed| NodeReport {
            id: listed.id.as_str(),
            title: listed.title(),
            node_type: listed.metadata.node_type.as_str(),
        };
        Self {
            checkpoint,
            documents: all.documents.iter().map(node).collect(),
            edges: edges.iter().map(EdgeReport::from).collect(),
            unresolved: unresolved(graph),
            withheld: WithheldReport::all(&all.withheld),
        }
    }
}

fn unresolved(graph: &Memory) -> Vec<UnresolvedReport> {
    let (mut found, ids) = (Vec::new(), graph.ids());
    // The site generator may make a page for a folder that has documents.
    let has_documents = |folder: &str| {
        let first = ids.partition_point(|id| id.as_str() < folder);
        ids.get(first).is_some_and(|id| id.as_str().starts_with(folder))
    };
    for from in &ids {
        for mention in graph.mentions(from) {
            if graph::resolve(graph, from, &mention).is_none() {
                let to = match mention.target {
                    LinkTarget::Document(to) | LinkTarget::Name(to) => to,
                    LinkTarget::Site(path) if is_site_folder(&path) => {
                        match graph.sites().mapped(&path).filter(|folder| !has_documents(folder)) {
                            Some(folder) => folder.trim_end_matches('/').to_owned(),
                            None => continue,
                        }
                    }
                    LinkTarget::Site(path) => match site_targets(&path, graph.sites()).first() {
                        Some(to) => to.to_string(),
                        None => continue,
                    },
                };
                let kind = mention.kind;
                found.push(UnresolvedReport { from: from.clone(), to, kind });
            }
        }
    }
    found
}

/// The answer of `graph --hubs`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct HubsReport<'g> {
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Documents with the most inbound references, in descending order.
    pub hubs: Vec<HubReport<'g>>,
    /// Documents that are not served: their history does not verify, or no valid approval exists.
    withheld: Vec<WithheldReport>,
}

/// A document that many others refer to.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct HubReport<'g> {
    /// Id of the document.
    pub id: &'g str,
    /// Title of the document.
    pub title: &'g str,
    /// Number of documents that refer to it.
    pub degree: usize,
}

impl Report for HubsReport<'_> {
    const SCHEMA: &'static str = "graph.hubs";
}

impl<'g> HubsReport<'g> {
    /// Reports these hubs of a checkpoint.
    pub(crate) fn new(checkpoint: CheckpointNumber, all: &'g Listing, hubs: &'g [Hub]) -> Self {
        let titles: BTreeMap<&DocumentId, &str> =
            all.documents.iter().map(|listed| (&listed.id, listed.title())).collect();
        let hub = |hub: &'g Hub| HubReport {
            id: hub.id.as_str(),
            title: titles.get(&hub.id).copied().unwrap_or_default(),
            degree: hub.degree,
        };
        let hubs = hubs.iter().map(hub).collect();
        Self { checkpoint, hubs, withheld: WithheldReport::all(&all.withheld) }
    }
}

/// The answer of `neighbors`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct NeighborsReport<'n> {
    /// Id of the document or governance file.
    id: &'n str,
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Documents around it, the nearest first.
    neighbors: Vec<NeighborReport<'n>>,
    /// True if there are more documents than the limit.
    truncated: bool,
    /// Documents that are not served: their history does not verify, or no valid approval exists.
    withheld: Vec<WithheldReport>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct NeighborReport<'n> {
    /// Id of the document or governance file.
    id: &'n str,
    /// Title of the document.
    title: &'n str,
    /// Number of edges on a shortest path.
    hops: usize,
    /// Edges from documents one step nearer.
    via: Vec<EdgeReport<'n>>,
}

impl Report for NeighborsReport<'_> {
    const SCHEMA: &'static str = "neighbors";
}

impl<'n> NeighborsReport<'n> {
    /// Reports the documents around a document at a checkpoint.
    pub(crate) fn new(
        id: &'n DocumentId,
        checkpoint: CheckpointNumber,
        around: &'n Around,
    ) -> Self {
        let titles: BTreeMap<&DocumentId, &str> =
            around.titles.iter().map(|(id, title)| (id, &**title)).collect();
        let neighbor = |neighbor: &'n Neighbor| NeighborReport {
            id: neighbor.id.as_str(),
            title: titles.get(&neighbor.id).copied().unwrap_or_default(),
            hops: neighbor.hops,
            via: neighbor.via.iter().map(EdgeReport::from).collect(),
        };
        let withheld: &[Withheld] = &around.withheld;
        Self {
            id: id.as_str(),
            checkpoint,
            neighbors: around.found.neighbors.iter().map(neighbor).collect(),
            truncated: around.found.truncated,
            withheld: WithheldReport::all(withheld),
        }
    }
}
