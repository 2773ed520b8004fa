//! `ctx list`.

use super::as_of::AsOf;
use super::limit::{self, Limit};
use super::session::Session;
use super::{Answer, document};
use crate::report::failure::Failure;
use crate::workspace::call::list;

/// List published documents
///
/// A selector or the path of a folder limits the list; see `ctx help resolve`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx list\n  ctx list nodes/policies/\n  ctx list '#policy' -n 20\n  ctx list --at 3 --json"
)]
pub(super) struct List {
    /// List what this selector, URI or folder selects; default: all documents
    selector: Option<String>,
    #[command(flatten)]
    at: AsOf,
    #[command(flatten)]
    limit: Limit,
}

pub(super) fn run(args: &List, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let typed = args.selector.as_deref();
    let selector = typed.and_then(|text| session.workspace.listed(&vault, text));
    let selector = selector.as_deref();
    let source = session.source(&vault, list::need(selector))?;
    let (places, at) = ((&vault, &source), args.at.moment());
    let mut listing =
        session.ask_quietly(|call, on_slow| call.list(places, selector, at, on_slow))?;
    document::note(session, listing.backend.as_deref(), &listing.notes);
    session.tell();
    let omitted = session.cut(&mut listing, 0, args.limit.entries());
    match session.ui.json {
        true => session.ui.report(&limit::report(listing.report(), omitted)),
        false => {
            session.ui.table(&document::rows(&listing.all.portions()));
            limit::note(omitted).iter().for_each(|note| session.ui.note(note));
        }
    }
    let all = &listing.all;
    let is_empty = args.selector.is_none() && all.documents.is_empty() && all.withheld.is_empty();
    if is_empty && session.recording.unreadable == 0 {
        session.ui.note("hint: nothing is published; `ctx status` shows what can be");
    }
    Ok(session.answer(&listing.all.withheld))
}
