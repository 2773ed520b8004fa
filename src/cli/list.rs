//! `ctx list`.

use super::as_of::AsOf;
use super::limit::{self, Limit};
use super::session::Session;
use super::{Answer, document};
use crate::report::failure::Failure;
use crate::report::resolve::ListReport;
use crate::resolve::{Need, Snapshot};
use crate::uri::Class;
use crate::workspace::ask::{Asked, Query};

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
    let folder = typed.and_then(|text| session.workspace.listed_folder(&vault, text));
    let selector = match folder.as_deref() {
        Some("") => None,
        Some(folder) => Some(folder),
        None => typed,
    };
    let (checkpoint, mut all) = match selector {
        None => {
            let source = session.source(&vault, Need::Versions)?;
            let at = args.at.checkpoint(session, &vault, &source)?;
            let snapshot = Snapshot::of(&vault, &source, at)?;
            session.note_unreadable(&snapshot);
            (snapshot.checkpoint(), snapshot.all()?)
        }
        Some(selector) => {
            let source = session.source(&vault, Asked::need(selector))?;
            let at = args.at.checkpoint(session, &vault, &source)?;
            let mut asked = session.with_search(|workspace, on_slow| {
                let query = Query { text: selector, at, whole: true, staged: false };
                Asked::new(workspace, (&vault, &source), query, on_slow)
            })?;
            let found = asked.resolve(&vault)?;
            let notes = asked.notes(&found)?;
            document::note(session, asked.plan.backend.as_deref(), &notes);
            if asked.plan.class() == Class::Set {
                session.note_unreadable(&asked.snapshot);
            }
            (asked.snapshot.checkpoint(), found)
        }
    };
    let omitted = args.limit.first(&mut all.documents);
    session.recording.listed = Some(all.documents.len());
    match session.ui.json {
        true => {
            session.ui.report(&limit::report(ListReport::new(checkpoint, &all), omitted));
        }
        false => {
            session.ui.table(&document::rows(&all.portions()));
            limit::note(omitted).iter().for_each(|note| session.ui.note(note));
        }
    }
    let is_empty = args.selector.is_none() && all.documents.is_empty() && all.withheld.is_empty();
    if is_empty && session.recording.unreadable == 0 {
        session.ui.note("hint: nothing is published; `ctx status` shows what can be");
    }
    Ok(session.answer(&all.withheld))
}
