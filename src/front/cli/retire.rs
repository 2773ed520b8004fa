//! `ctx retire`.

use super::expect::ExpectArgs;
use super::session::Session;
use super::{Answer, Locking, event};
use crate::service::report::event::Retired;
use crate::service::report::failure::Failure;
use crate::write::publish::{self, review};

/// Withdraw published documents; their histories stay
///
/// Retiring makes a version with `status: draft`, and removes the document from the checkpoint's
/// maps. The live file may be missing. `ctx publish ID` publishes the document again while its file
/// exists. Links to the documents are listed; one that leads to another document afterwards is a
/// warning.
///
/// In a governed vault this is submitted for review. With --emergency a reviewer of the documents
/// retires them at once, and another reviewer ratifies it with `ctx approve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx retire nodes/policies/old-returns -m \"replaced\"\n  \
ctx retire nodes/a nodes/b --dry-run")]
pub(super) struct Retire {
    /// Ids or files of documents
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Retire before another reviewer has agreed (governed vaults)
    #[arg(long, requires = "reason", conflicts_with = "change")]
    emergency: bool,
    /// Reason of --emergency; it is part of the recorded text (else -m)
    #[arg(long, value_name = "TEXT", requires = "emergency")]
    reason: Option<String>,
    /// Retire only together with the other submissions of this change (governed vaults)
    #[arg(long, value_name = "NAME")]
    change: Option<String>,
    /// Note to store with each version (covered by no hash)
    #[arg(short = 'm', long = "message", value_name = "NOTE")]
    note: Option<String>,
    /// Show what would be retired; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    expect: ExpectArgs,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Retire, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let workspace = &session.call.workspace;
    let mode = args.expect.mode(args.dry_run)?;
    let author = workspace.author(&vault, args.note.as_deref(), None)?;
    let ids = args.ids.iter().map(|text| workspace.named(&vault, text));
    let ids: Vec<_> = ids.collect::<Result<_, _>>()?;
    let by = (&author, mode);
    let outcome = match args.reason.as_deref() {
        Some(reason) => review::retire_at_once(&vault, &ids, by, reason)?,
        None => publish::retire(&vault, &ids, by, args.change.as_deref())?,
    };
    let outcome = session.acted(&vault, outcome);
    Ok(event::print(session, &outcome, args.dry_run, Retired))
}
