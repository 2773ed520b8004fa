//! `ctx show`.

use super::Answer;
use super::session::Session;
use crate::read::snapshot::{Snapshot, seals};
use crate::record::audit::Traced;
use crate::service::report::failure::Failure;
use crate::service::report::history::ShowReport;
use crate::service::workspace::version::{number, recorded, text_of};
use crate::text::uri::Class;

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
    let (text, history) = text_of(&vault, &head, &chronicle, &id, version)?;
    let checkpoint = seals::of_log(&chronicle, &id, &history).get(&version).copied();
    session.recording.class = Some(Class::Direct);
    let recorded = recorded((vault.files(), &chronicle), &id, (version, &history), (&text, &text));
    let text = session.release(Traced::new(text, recorded.into_iter().collect()));
    session.print(&ShowReport { id: &id, version, checkpoint, text: &text }, |session, _| {
        session.ui.harmless(&text);
    });
    if checkpoint.is_none() {
        session.ui.note(&format!("note: no checkpoint seals version {version}"));
    }
    Ok(Answer::Yes)
}
