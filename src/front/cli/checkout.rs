//! `ctx checkout`.

use std::path::PathBuf;

use super::Answer;
use super::session::Session;
use super::ui::shown;
use crate::read::snapshot::checkout::checkout;
use crate::read::snapshot::{Need, Snapshot};
use crate::service::report::failure::Failure;
use crate::service::report::vault::CheckoutReport;
use crate::text::uri::Class;
use crate::values::model::number::CheckpointNumber;
use crate::values::text_util::count;

/// Write the files of a checkpoint into an empty folder, verified
///
/// Writes every document and governance file as the checkpoint seals it. All of them are recomputed
/// before the first is written. The vault is not changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx checkout 3 ../as-of-3")]
pub(super) struct Checkout {
    /// Number of the checkpoint
    #[arg(value_parser = super::as_of::number)]
    number: CheckpointNumber,
    /// An empty or new folder outside of the vault
    dir: PathBuf,
}

pub(super) fn run(args: &Checkout, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Versions)?;
    let snapshot = Snapshot::of(&vault, &source, Some(args.number))?;
    let checkout = checkout(&snapshot, &session.workspace.environment.cwd.join(&args.dir))?;
    let checkout = session.release(checkout);
    session.recording.class = Some(Class::Set);
    let (checkpoint, folder) = (args.number, args.dir.display().to_string());
    let artifacts = checkout.len();
    session.note_unreadable(&snapshot)?;
    session.print(&CheckoutReport { checkpoint, folder, artifacts }, |session, report| {
        let (what, folder) = (count(artifacts, "file"), shown(&report.folder));
        session.ui.line(&format!("wrote checkpoint {checkpoint} to {folder}: {what}"));
    });
    session.record(None)?;
    checkout.write().inspect_err(|_| session.ui.discard())?;
    Ok(Answer::Yes)
}
