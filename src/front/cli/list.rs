//! `ctx list`.

use super::as_of::AsOf;
use super::color::Paint;
use super::limit::{self, Limit};
use super::session::Session;
use super::ui::{Ui, shown, table};
use super::{Answer, document};
use crate::read::search::Snippet;
use crate::read::snapshot::{Snapshot, Withheld};
use crate::service::report::failure::Failure;
use crate::service::report::resolve::ListRows;
use crate::service::workspace::call::Places;
use crate::service::workspace::call::list::{self, Listing};

/// List published documents
///
/// A selector or the path of a folder limits the list; see `ctx help resolve`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx list\n  ctx list nodes/policies/\n  ctx list '#policy' -n 20\n  ctx list --snippets -n 5\n  ctx list --at 3 --json"
)]
pub(super) struct List {
    /// List what this selector, URI or folder selects; default: all documents
    selector: Option<String>,
    #[command(flatten)]
    at: AsOf,
    #[command(flatten)]
    limit: Limit,
    /// Print the first words of each text, too
    #[arg(long)]
    snippets: bool,
}

pub(super) fn run(args: &List, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let typed = args.selector.as_deref();
    let selector = typed.and_then(|text| session.workspace.listed(&vault, text));
    let selector = selector.as_deref();
    let source = session.source(&vault, list::need(selector))?;
    let (places, at) = ((&vault, &source), args.at.moment());
    if selector.is_none() && !args.snippets {
        return all(args, session, places);
    }
    let page = (0, args.limit.entries());
    let listing =
        session.ask_quietly(|call, on_slow| call.list(places, (selector, at), page, on_slow))?;
    document::note(session, listing.backend.as_deref(), &listing.notes);
    session.tell();
    let openings = args.snippets.then(|| session.openings(&listing));
    match session.ui.json {
        true => {
            let report = listing.report(openings.as_deref());
            session.ui.report(&limit::report(report, listing.omitted));
        }
        false => {
            print(&mut session.ui, &listing, openings.as_deref().unwrap_or_default());
            limit::note(listing.omitted).iter().for_each(|note| session.ui.note(note));
        }
    }
    let all = &listing.all;
    if selector.is_none() && all.documents.is_empty() && listing.omitted == 0 {
        note_empty(session, &all.withheld);
    }
    Ok(session.answer(&all.withheld))
}

/// Lists all documents. Each text is read for its row and dropped, because those of a large vault
/// do not fit into memory.
fn all(args: &List, session: &mut Session<'_>, places: Places<'_>) -> Result<Answer, Failure> {
    let (vault, source) = places;
    let at = session.workspace.checkpoint_at(places, args.at.moment())?;
    let snapshot = Snapshot::of(vault, source, at)?;
    session.note_unreadable(&snapshot)?;
    let page = snapshot.page((0, args.limit.entries().unwrap_or(usize::MAX)))?;
    let (listed, withheld) = match session.ui.json {
        true => {
            let report = ListRows::new(snapshot.checkpoint(), &page);
            let report = limit::report(report, page.omitted);
            session.ui.report(&report);
            report.report.finish()
        }
        false => {
            let (mut rows, mut withheld) = (Vec::new(), Vec::new());
            page.read(|part| {
                rows.extend(document::rows(&part.portions()));
                withheld.extend(part.withheld);
            });
            session.ui.table(&rows);
            limit::note(page.omitted).iter().for_each(|note| session.ui.note(note));
            (rows.len(), withheld)
        }
    };
    session.recording.listed = Some(listed);
    if listed == 0 && page.omitted == 0 {
        note_empty(session, &withheld);
    }
    Ok(session.answer(&withheld))
}

/// Notes that no document of a vault is published, if nothing else explains the empty list.
fn note_empty(session: &mut Session<'_>, withheld: &[Withheld]) {
    if withheld.is_empty() && session.recording.unreadable == 0 {
        session.ui.note("hint: nothing is published; `ctx status` shows what can be");
    }
}

/// Prints a line for each document, with the beginning of its text below it if requested.
fn print(ui: &mut Ui<'_>, listing: &Listing, openings: &[Snippet]) {
    let rows = table(&document::rows(&listing.all.portions()));
    for (n, row) in rows.iter().enumerate() {
        ui.line(row);
        let Some(Snippet { text, cut_after, .. }) = openings.get(n) else { continue };
        if !text.is_empty() {
            let dots = if *cut_after { "…" } else { "" };
            ui.painted(Paint::Faint, &format!("    {}{dots}", shown(text)));
        }
    }
}
