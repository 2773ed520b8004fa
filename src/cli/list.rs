//! `ctx list`.

use super::session::Session;
use super::{Answer, document};
use crate::model::number::CheckpointNumber;
use crate::report::failure::Failure;
use crate::report::resolve::ListReport;
use crate::resolve::{Need, Snapshot};

/// List published documents
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx list\n  ctx list --at 3 --json")]
pub(super) struct List {
    /// List what was published at this checkpoint
    #[arg(long, value_name = "N")]
    at: Option<CheckpointNumber>,
}

pub(super) fn run(args: &List, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Versions)?;
    let snapshot = Snapshot::of(&vault, &source, args.at)?;
    let all = snapshot.all()?;
    match session.ui.json {
        true => session.ui.report(&ListReport::new(snapshot.checkpoint(), &all)),
        false => session.ui.table(&document::rows(&all.portions())),
    }
    if all.documents.is_empty() && all.withheld.is_empty() {
        session.ui.note("hint: nothing is published; `ctx status` shows what can be");
    }
    document::note_withheld(session, &all.withheld);
    Ok(Answer::of(&all.withheld))
}
