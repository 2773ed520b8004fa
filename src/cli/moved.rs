//! `ctx mv`.

use super::expect::ExpectArgs;
use super::session::Session;
use super::{Answer, Failure, rows};
use crate::model::id::Id;

/// Give a published document another id
///
/// One event retires OLD and publishes NEW as version 1 with `derived_from` naming the version it
/// came from. The history of OLD stays where it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx mv nodes/returns nodes/policies/returns")]
pub(super) struct Mv {
    /// Id or file of the document
    old: String,
    /// Its new id
    new: String,
    /// Remark to keep with each version (covered by no hash)
    #[arg(short = 'm', long = "message", value_name = "NOTE")]
    note: Option<String>,
    /// Show what would happen, write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub(super) fn run(args: &Mv, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let mode = args.expect.mode(args.dry_run)?;
    let author = session.author(&vault, args.note.as_deref(), None)?;
    let old = session.named(&vault, &args.old)?;
    let new: Id = session.new_id(&vault, &args.new)?;
    Id::of_document_file(&new.live_path())?;
    let outcome = crate::publish::move_document(&vault, &old, &new, &author, mode)?;
    Ok(rows::event(session, "mv", &outcome, args.dry_run))
}
