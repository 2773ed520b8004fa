//! `ctx neighbors`.

use super::as_of::AsOf;
use super::choice::choice;
use super::session::Session;
use super::ui::shown;
use super::{Answer, document};
use crate::read::graph::Edge;
use crate::read::graph::walk::{Direction, Neighbor, Walk};
use crate::service::report::failure::Failure;
use crate::service::workspace::call::neighbors;
use crate::text::document::links::LinkKind;
use crate::values::model::id::DocumentId;

/// List the documents that a document refers to or is referred to by
///
/// Follows links of the text (contextnest:// URIs, Markdown links, wikilinks), derived_from and the
/// depends_on of sources, as the checkpoint seals them. The nearest documents come first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx neighbors nodes/policies/returns\n  \
ctx neighbors nodes/policies/returns --direction in --kind reference\n  \
ctx neighbors sources/tickets --hops 3 --kind depends_on --json")]
pub(super) struct Neighbors {
    /// Id, `ID@CHECKPOINT`, URI or file of a document
    #[arg(value_name = "ID[@N]")]
    id: String,
    /// Follow at most this many links in a row
    #[arg(long, value_name = "N", default_value_t = 1)]
    hops: usize,
    /// `in`: documents that refer to it; `out`: documents that it refers to
    #[arg(long, default_value = "both", value_parser = choice(DIRECTIONS))]
    direction: Direction,
    /// Follow links of this kind only
    #[arg(long, value_parser = choice(LinkKind::ALL))]
    kind: Option<LinkKind>,
    /// List at most this many documents
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,
    #[command(flatten)]
    at: AsOf,
}

const DIRECTIONS: [(&str, Direction); 3] =
    [("in", Direction::In), ("out", Direction::Out), ("both", Direction::Both)];

impl Neighbors {
    fn walk(&self) -> Walk {
        let Self { hops, direction, kind, limit, .. } = *self;
        Walk { hops, direction, kind, limit }
    }
}

pub(super) fn run(args: &Neighbors, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, neighbors::NEED)?;
    let (places, asked) = ((&vault, &source), (args.id.as_str(), args.at.moment()));
    let linked = session.ask(|call, _| call.neighbors(places, asked, (&args.walk(), 0)))?;
    let around = &linked.around;
    let found = &around.found;
    session.print(&linked.report(), |session, _| {
        let title = |id: &DocumentId| around.titles.get(id).map(String::as_str).unwrap_or_default();
        let rows = found.neighbors.iter().map(|n| row(n, title(&n.id)));
        session.ui.table(&rows.collect::<Vec<_>>());
    });
    if found.neighbors.is_empty() {
        session.ui.note("note: no document is linked with it in this way");
    }
    if found.truncated {
        let limit = args.limit;
        session
            .ui
            .note(&format!("hint: there are more than {limit}; raise `--limit` to list them"));
    }
    document::note_withheld(session, &around.withheld);
    Ok(Answer::of(&around.withheld))
}

/// Returns hops, id, title, and the link: `->` leads to it, `<-` back from it. From the second hop
/// on, the nearer document is named.
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
