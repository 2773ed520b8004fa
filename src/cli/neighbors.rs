//! `ctx neighbors`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::rows::{WithheldJson, tell_withheld};
use super::session::Session;
use super::ui::{shown, table};
use super::{Answer, Failure};
use crate::document::links::LinkKind;
use crate::graph::Edge;
use crate::graph::walk::{Direction, Neighbor, Walk};
use crate::model::id::Id;
use crate::resolve::{Around, Need, Snapshot};
use crate::words::nearest;

/// List the documents that a published document refers to, and those that refer to it
///
/// Follows links of the text (contextnest:// URIs, Markdown links, wikilinks), derived_from and the
/// depends_on of sources, as the texts of the checkpoint say them. The nearest documents come first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx neighbors nodes/policies/returns\n  \
ctx neighbors nodes/policies/returns --direction in --kind reference\n  \
ctx neighbors sources/tickets --hops 3 --kind depends_on --json")]
pub(super) struct Neighbors {
    /// Id, `ID@CHECKPOINT`, URI or file of a document
    #[arg(value_name = "ID[@N]")]
    id: String,
    /// The most steps to go
    #[arg(long, value_name = "N", default_value_t = 1)]
    hops: usize,
    /// `in` for those who refer to it, `out` for what it refers to
    #[arg(long, default_value = "both", value_parser = ["in", "out", "both"])]
    direction: String,
    /// Follow links of one kind only
    #[arg(long, value_parser = LinkKind::ALL.map(|(word, _)| word))]
    kind: Option<String>,
    /// The most documents to list
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,
    /// As of this checkpoint
    #[arg(long, value_name = "N")]
    at: Option<u64>,
}

#[derive(Serialize)]
struct NeighborsJson<'n> {
    id: &'n str,
    checkpoint: u64,
    neighbors: Vec<NeighborJson<'n>>,
    truncated: bool,
    withheld: Vec<WithheldJson>,
}

#[derive(Serialize)]
struct NeighborJson<'n> {
    id: &'n str,
    title: &'n str,
    hops: usize,
    via: Vec<EdgeJson<'n>>,
}

/// An edge in JSON.
#[derive(Serialize)]
pub(super) struct EdgeJson<'n> {
    from: &'n str,
    to: &'n str,
    #[serde(rename = "type")]
    kind: &'static str,
}

impl<'n> From<&'n Edge> for EdgeJson<'n> {
    fn from(edge: &'n Edge) -> Self {
        Self { from: edge.from.as_str(), to: edge.to.as_str(), kind: edge.kind.as_str() }
    }
}

pub(super) fn run(args: &Neighbors, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Fields)?;
    let named = session.named_at(&vault, &source, &args.id)?;
    let at = args.at.or(named.checkpoint);
    let snapshot = Snapshot::of(&vault, &source, at)?;
    let walk = Walk {
        hops: args.hops,
        direction: match args.direction.as_str() {
            "in" => Direction::In,
            "out" => Direction::Out,
            _ => Direction::Both,
        },
        kind: args.kind.as_deref().and_then(LinkKind::from_word),
        limit: args.limit,
    };
    let Some(Around { found, titles, withheld }) = snapshot.around(&named.id, &walk)? else {
        if let Some(Err(withheld)) = snapshot.get(&named.id) {
            return Err(withheld.into());
        }
        let near = nearest(named.id.as_str(), snapshot.documents()?.map(Id::as_str));
        return Err(Failure::unknown_id(named.id.as_str(), near));
    };
    let titles: BTreeMap<&Id, &str> = titles.iter().map(|(id, title)| (id, &**title)).collect();
    let title = |id: &Id| titles.get(id).copied().unwrap_or_default();
    if session.ui.json {
        let neighbor = |n| neighbor_json(n, &titles);
        let json = NeighborsJson {
            id: named.id.as_str(),
            checkpoint: snapshot.checkpoint(),
            neighbors: found.neighbors.iter().map(neighbor).collect(),
            truncated: found.truncated,
            withheld: withheld.iter().map(WithheldJson::from).collect(),
        };
        session.ui.result("neighbors", &json);
    } else {
        let rows: Vec<Vec<String>> = found.neighbors.iter().map(|n| row(n, title(&n.id))).collect();
        table(&rows).iter().for_each(|row| session.ui.line(row));
    }
    if found.neighbors.is_empty() {
        session.ui.note("no document is linked with it in this way");
    }
    if found.truncated {
        session.ui.note(&format!("there are more than {}; `--limit` lists them", args.limit));
    }
    tell_withheld(session, &withheld);
    Ok(if withheld.is_empty() { Answer::Yes } else { Answer::No })
}

fn neighbor_json<'n>(neighbor: &'n Neighbor, titles: &BTreeMap<&Id, &'n str>) -> NeighborJson<'n> {
    NeighborJson {
        id: neighbor.id.as_str(),
        title: titles.get(&neighbor.id).copied().unwrap_or_default(),
        hops: neighbor.hops,
        via: neighbor.via.iter().map(EdgeJson::from).collect(),
    }
}

/// Steps, the document, its title, and how it is linked: `->` leads to it, `<-` back from it. In the
/// second step and beyond, the nearer document is named.
fn row(neighbor: &Neighbor, title: &str) -> Vec<String> {
    let way = |edge: &Edge| {
        let (nearer, arrow) = match edge.to == neighbor.id {
            true => (&edge.from, "->"),
            false => (&edge.to, "<-"),
        };
        let kind = edge.kind.as_str();
        match neighbor.hops {
            1 => format!("{arrow} {kind}"),
            _ => format!("{} {arrow} {kind}", shown(nearer.as_str())),
        }
    };
    let shown_ways = if neighbor.hops == 1 { neighbor.via.len() } else { 1 };
    let mut ways: Vec<String> = neighbor.via.iter().take(shown_ways).map(way).collect();
    if neighbor.via.len() > shown_ways {
        ways.push(format!("{} more", neighbor.via.len() - shown_ways));
    }
    vec![
        neighbor.hops.to_string(),
        shown(neighbor.id.as_str()).into_owned(),
        shown(title).into_owned(),
        ways.join(", "),
    ]
}
