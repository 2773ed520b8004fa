//! `ctx show`.

use super::Answer;
use super::session::Session;
use crate::read::snapshot::Snapshot;
use crate::service::report::failure::Failure;
use crate::service::report::history::ShowReport;
use crate::service::workspace::version::number;

/// Print the text of one version, rebuilt and verified
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx show nodes/policies/returns 2")]
pub(super) struct Show {
    /// Id or file of a document
    id: String,
    /// Number of the version, with or without `v`
    version: String,
}

pub(super) fn run(args: &Show, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let id = session.workspace.known_id(&vault, &args.id)?;
    let version = number(&args.version)?;
    let log = session.log(&vault)?;
    let chronicle = log.sound()?;
    let head = Snapshot::at(&vault, &chronicle, None)?;
    let (text, checkpoint) = session.version((&vault, &chronicle, &head), &id, version)?;
    session.print(&ShowReport { id: &id, version, checkpoint, text: &text }, |session, _| {
        session.ui.harmless(&text);
    });
    if checkpoint.is_none() {
        session.ui.note(&format!("note: no checkpoint seals version {version}"));
    }
    Ok(Answer::Yes)
}
