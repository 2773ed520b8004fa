//! `ctx checkout`.

use std::path::PathBuf;

use serde::Serialize;

use super::session::Session;
use super::ui::shown;
use super::{Answer, Failure};
use crate::resolve::checkout::checkout;
use crate::resolve::{Need, Snapshot};
use crate::words::count;

/// Write the whole state of a checkpoint into an empty folder, verified
///
/// Every document and governance file as the checkpoint seals it, retired ones of that time
/// included. All of them are recomputed before the first is written. The vault is not changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx checkout 3 ../as-of-3")]
pub(super) struct Checkout {
    /// Number of the checkpoint
    number: u64,
    /// A folder outside of the vault that is empty or not there
    dir: PathBuf,
}

#[derive(Serialize)]
struct CheckoutJson {
    checkpoint: u64,
    folder: String,
    artifacts: usize,
}

pub(super) fn run(args: &Checkout, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Versions)?;
    let snapshot = Snapshot::of(&vault, &source, Some(args.number))?;
    let artifacts = checkout(&snapshot, &session.world.cwd.join(&args.dir))?;
    let folder = args.dir.display().to_string();
    if session.ui.json {
        let checkpoint = args.number;
        session.ui.result("checkout", &CheckoutJson { checkpoint, folder, artifacts });
    } else {
        let what = count(artifacts, "file");
        session.ui.line(&format!(
            "wrote checkpoint {} into {}: {what}",
            args.number,
            shown(&folder)
        ));
    }
    Ok(Answer::Yes)
}
