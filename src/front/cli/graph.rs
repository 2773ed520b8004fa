//! `ctx graph`.

use super::Answer;
use super::as_of::AsOf;
use super::session::Session;
use super::ui::shown;
use crate::read::graph::rank::hubs;
use crate::read::graph::{self, Edge};
use crate::read::snapshot::{Listing, Need, Snapshot, listing};
use crate::service::report::failure::Failure;
use crate::service::report::graph::{GraphReport, HubsReport};

/// Print the graph of references between published documents
///
/// The default format is DOT, which Graphviz draws: `ctx graph | dot -Tsvg > graph.svg`. JSON
/// also lists references to documents that are not published. --hubs lists the most
/// referenced documents.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx graph --format dot > vault.dot\n  \
ctx graph --format json --at 3\n  ctx graph --hubs 10")]
pub(super) struct Graph {
    /// `dot` or `json`
    #[arg(long, default_value = "dot")]
    format: Format,
    /// List the N documents with the most inbound references instead
    #[arg(long, value_name = "N", conflicts_with = "format")]
    hubs: Option<usize>,
    #[command(flatten)]
    at: AsOf,
}

/// The format of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Dot,
    Json,
}

pub(super) fn run(args: &Graph, session: &mut Session<'_>) -> Result<Answer, Failure> {
    session.ui.json |= args.format == Format::Json;
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Versions)?;
    let at = args.at.checkpoint(session, &vault, &source)?;
    let snapshot = Snapshot::of(&vault, &source, at)?;
    let checkpoint = snapshot.checkpoint();
    let mut all = snapshot.read_listing()?;
    let sites = snapshot.sites_or(&mut all.withheld);
    let graph = listing::graph(&mut all.documents, sites);
    session.recording.listed = Some(all.documents.len());
    session.note_unreadable(&snapshot)?;
    if let Some(limit) = args.hubs {
        let hubs = hubs(&graph, limit);
        print_hubs(session, &HubsReport::new(checkpoint, &all, &hubs));
    } else {
        let edges = graph::edges(&graph);
        match session.ui.json {
            true => session.ui.report(&GraphReport::new(checkpoint, &all, &graph, &edges)),
            false => dot(session, &all, &edges),
        }
    }
    Ok(session.answer(&all.withheld))
}

fn print_hubs(session: &mut Session<'_>, report: &HubsReport<'_>) {
    if session.ui.json {
        session.ui.report(report);
        return;
    }
    let row = |hub: &crate::service::report::graph::HubReport<'_>| {
        vec![hub.degree.to_string(), shown(hub.id).into_owned(), shown(hub.title).into_owned()]
    };
    session.ui.table(&report.hubs.iter().map(row).collect::<Vec<_>>());
    if report.hubs.is_empty() {
        session.ui.note("note: no published document refers to another");
    }
}

/// Prints the graph in the language of Graphviz, one line for each node and edge.
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

/// Returns a text as a quoted string of DOT, in which a backslash may begin an escape.
fn quoted(text: &str) -> String {
    format!("\"{}\"", shown(text).replace('\\', "\\\\").replace('"', "\\\""))
}
