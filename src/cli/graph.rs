//! `ctx graph`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::neighbors::EdgeJson;
use super::rows::{WithheldJson, tell_withheld};
use super::session::Session;
use super::ui::{shown, table};
use super::{Answer, Failure};
use crate::document::links::LinkTarget;
use crate::graph::rank::{Hub, hubs};
use crate::graph::{self, Catalog as _, Edge};
use crate::model::id::Id;
use crate::resolve::{Listed, Listing, Need, Snapshot, listing};

/// Print the graph of the published documents: who refers to whom
///
/// The default form is DOT, which Graphviz draws: `ctx graph | dot -Tsvg > graph.svg`. JSON also has
/// what is mentioned and not published. --hubs lists the documents that most others refer to.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx graph --format dot > vault.dot\n  \
ctx graph --format json --at 3\n  ctx graph --hubs 10")]
pub(super) struct Graph {
    /// `dot` or `json`
    #[arg(long, default_value = "dot", value_parser = ["dot", "json"])]
    format: String,
    /// List the N documents with the most inbound references instead
    #[arg(long, value_name = "N", conflicts_with = "format")]
    hubs: Option<usize>,
    /// As of this checkpoint
    #[arg(long, value_name = "N")]
    at: Option<u64>,
}

#[derive(Serialize)]
struct GraphJson<'g> {
    checkpoint: u64,
    documents: Vec<NodeJson<'g>>,
    edges: Vec<EdgeJson<'g>>,
    unresolved: Vec<UnresolvedJson>,
    withheld: Vec<WithheldJson>,
}

#[derive(Serialize)]
struct NodeJson<'g> {
    id: &'g str,
    title: &'g str,
    #[serde(rename = "type")]
    node_type: &'static str,
}

/// A mention of something that the checkpoint does not hold.
#[derive(Serialize)]
struct UnresolvedJson {
    from: Id,
    to: String,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct HubsJson<'g> {
    checkpoint: u64,
    hubs: Vec<HubJson<'g>>,
    withheld: Vec<WithheldJson>,
}

#[derive(Serialize)]
struct HubJson<'g> {
    id: &'g str,
    title: &'g str,
    degree: usize,
}

pub(super) fn run(args: &Graph, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let at = args.at;
    let source = session.source(&vault, Need::Versions)?;
    let snapshot = Snapshot::of(&vault, &source, at)?;
    let all = Listing::from(snapshot.all()?);
    let graph = listing::graph(&all.documents);
    if let Some(limit) = args.hubs {
        print_hubs(session, &snapshot, &all, &hubs(&graph, limit));
    } else {
        let edges = graph::edges(&graph);
        if session.ui.json || args.format == "json" {
            let json = GraphJson {
                checkpoint: snapshot.checkpoint(),
                documents: all.documents.iter().map(node_json).collect(),
                edges: edges.iter().map(EdgeJson::from).collect(),
                unresolved: unresolved(&graph),
                withheld: all.withheld.iter().map(WithheldJson::from).collect(),
            };
            session.ui.result("graph", &json);
        } else {
            dot(session, &all, &edges);
        }
    }
    tell_withheld(session, &all.withheld);
    Ok(if all.withheld.is_empty() { Answer::Yes } else { Answer::No })
}

fn node_json(listed: &Listed) -> NodeJson<'_> {
    let node_type = listed.metadata.node_type.as_str();
    NodeJson { id: listed.id.as_str(), title: listed.title(), node_type }
}

fn unresolved(graph: &graph::memory::Memory) -> Vec<UnresolvedJson> {
    let mut found = Vec::new();
    for from in graph.ids() {
        for mention in graph.mentions(&from) {
            if graph::resolve(graph, &from, &mention.target).is_none() {
                let (LinkTarget::Document(to) | LinkTarget::Name(to)) = mention.target;
                found.push(UnresolvedJson { from: from.clone(), to, kind: mention.kind.as_str() });
            }
        }
    }
    found
}

fn print_hubs<'h>(
    session: &mut Session<'_>,
    snapshot: &Snapshot<'_>,
    all: &'h Listing,
    found: &'h [Hub],
) {
    let titles = titles(all);
    let title = |id: &Id| titles.get(id).copied().unwrap_or_default();
    if session.ui.json {
        let hub = |hub: &'h Hub| HubJson {
            id: hub.id.as_str(),
            title: title(&hub.id),
            degree: hub.degree,
        };
        let json = HubsJson {
            checkpoint: snapshot.checkpoint(),
            hubs: found.iter().map(hub).collect(),
            withheld: all.withheld.iter().map(WithheldJson::from).collect(),
        };
        session.ui.result("graph.hubs", &json);
        return;
    }
    let row = |hub: &Hub| {
        let (id, title) = (shown(hub.id.as_str()), shown(title(&hub.id)));
        vec![hub.degree.to_string(), id.into_owned(), title.into_owned()]
    };
    table(&found.iter().map(row).collect::<Vec<_>>()).iter().for_each(|row| session.ui.line(row));
    if found.is_empty() {
        session.ui.note("no published document refers to another");
    }
}

/// The titles of documents by their ids.
fn titles(all: &Listing) -> BTreeMap<&Id, &str> {
    all.documents.iter().map(|listed| (&listed.id, listed.title())).collect()
}

/// Prints the graph in the language of Graphviz, one line a node and one an edge.
fn dot(session: &mut Session<'_>, all: &Listing, edges: &[Edge]) {
    let ui = &mut session.ui;
    ui.line("digraph vault {");
    for listed in &all.documents {
        let (id, title) = (quoted(listed.id.as_str()), quoted(listed.title()));
        ui.line(&format!("  {id} [label={title}, class={}];", listed.metadata.node_type.as_str()));
    }
    for edge in edges {
        let (from, to) = (quoted(edge.from.as_str()), quoted(edge.to.as_str()));
        ui.line(&format!("  {from} -> {to} [class={}];", edge.kind.as_str()));
    }
    ui.line("}");
}

/// A text as a quoted string of DOT, in which a backslash may begin an escape.
fn quoted(text: &str) -> String {
    format!("\"{}\"", shown(text).replace('\\', "\\\\").replace('"', "\\\""))
}
