//! `ctx retire`.

use super::expect::ExpectArgs;
use super::session::Session;
use super::{Answer, Failure, rows};

/// Take documents out of what is published
///
/// Retiring is a version too: the text gets `status: draft`, the document leaves the checkpoint's
/// maps, and its history stays. The file may be gone already. `ctx publish ID` brings it back while its file is there.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx retire nodes/policies/old-returns -m \"replaced\"\n  \
ctx retire nodes/a nodes/b --dry-run")]
pub(super) struct Retire {
    /// Ids or files of documents
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Remark to keep with each version (covered by no hash)
    #[arg(short = 'm', long = "message", value_name = "NOTE")]
    note: Option<String>,
    /// Show what would happen, write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub(super) fn run(args: &Retire, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let mode = args.expect.mode(args.dry_run)?;
    let author = session.author(&vault, args.note.as_deref(), None)?;
    let ids: Vec<_> =
        args.ids.iter().map(|text| session.named(&vault, text)).collect::<Result<_, _>>()?;
    let outcome = crate::publish::retire(&vault, &ids, &author, mode)?;
    Ok(rows::event(session, "retire", &outcome, args.dry_run))
}
