//! `ctx list`.

use serde::Serialize;

use super::rows::{DocumentJson, WithheldJson, document_table, tell_withheld};
use super::session::Session;
use super::{Answer, Failure};
use crate::resolve::{Need, Snapshot};

/// List what is published
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx list\n  ctx list --at 3 --json")]
pub(super) struct List {
    /// List what was published at this checkpoint
    #[arg(long, value_name = "N")]
    at: Option<u64>,
}

#[derive(Serialize)]
struct ListJson<'l> {
    checkpoint: u64,
    documents: Vec<DocumentJson<'l>>,
    withheld: Vec<WithheldJson>,
}

pub(super) fn run(args: &List, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Versions)?;
    let snapshot = Snapshot::of(&vault, &source, args.at)?;
    let all = snapshot.all()?;
    if session.ui.json {
        let json = ListJson {
            checkpoint: snapshot.checkpoint(),
            documents: all.documents.iter().map(|d| DocumentJson::new(d, false)).collect(),
            withheld: all.withheld.iter().map(WithheldJson::from).collect(),
        };
        session.ui.result("list", &json);
    } else {
        document_table(&all.portions()).iter().for_each(|row| session.ui.line(row));
    }
    if all.documents.is_empty() && all.withheld.is_empty() {
        session.ui.note("nothing is published; `ctx status` shows what could be");
    }
    tell_withheld(session, &all.withheld);
    Ok(if all.withheld.is_empty() { Answer::Yes } else { Answer::No })
}
