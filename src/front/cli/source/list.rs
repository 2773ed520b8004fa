//! `ctx source list`.

use crate::front::cli::Answer;
use crate::front::cli::as_of::AsOf;
use crate::front::cli::limit::{self, Limit};
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::read::snapshot::Served;
use crate::read::source::SourceCall;
use crate::service::report::failure::Failure;
use crate::service::report::source::SourcesReport;
use crate::service::workspace::ask::Asked;
use crate::service::workspace::source::ALL;

/// List published sources with their calls
///
/// Prints the id, version, transport, server, tools, time to live in seconds, staging policy and
/// dependencies of each source.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx source list\n  ctx source list --at 3 --json")]
pub(super) struct List {
    #[command(flatten)]
    at: AsOf,
    #[command(flatten)]
    limit: Limit,
}

pub(super) fn run(args: &List, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Asked::need(ALL))?;
    let at = args.at.checkpoint(session, &vault, &source)?;
    let mut asked = session.workspace.ask_for_sources((&vault, &source), ALL, at)?;
    let mut all = asked.resolve(&vault)?;
    let checkpoint = asked.snapshot.checkpoint();
    session.note_unreadable(&asked.snapshot)?;
    all.documents.sort_by(|a, b| a.id.cmp(&b.id));
    let omitted = args.limit.first(&mut all.documents);
    session.recording.listed = Some(all.documents.len());
    session.print(&limit::report(SourcesReport::new(checkpoint, &all), omitted), |session, _| {
        session.ui.table(&all.documents.iter().filter_map(row).collect::<Vec<_>>());
        limit::note(omitted).iter().for_each(|note| session.ui.note(note));
        if all.documents.is_empty() && all.withheld.is_empty() {
            session.ui.note(&format!("note: checkpoint {checkpoint} publishes no source"));
        }
    });
    Ok(session.answer(&all.withheld))
}

fn row(served: &Served) -> Option<Vec<String>> {
    let call = SourceCall::of(served)?;
    let mut row =
        vec![shown(served.id.as_str()).into_owned(), format!("v{}", served.entry.version)];
    row.extend(super::call_cells(&call));
    Some(row)
}
