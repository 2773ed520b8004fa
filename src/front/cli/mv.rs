//! `ctx mv`.

use super::expect::ExpectArgs;
use super::session::Session;
use super::{Answer, Locking, event};
use crate::service::report::event::Moved;
use crate::service::report::failure::Failure;
use crate::values::model::id::DocumentId;
use crate::write::publish::{Mode, move_document};

/// Give a published document another id
///
/// One checkpoint retires OLD and publishes NEW as version 1, with `derived_from` naming the
/// version that it comes from. The history of OLD stays. A file that is at its new place already is
/// recorded there. Links to OLD are listed, and relative links of the document that name something
/// else from its new folder. With --fix-links they are changed in the live files, and `ctx publish
/// --changed` publishes these. Packs are changed by hand, and definitions of links that no link uses
/// stay. A link that names another document after the move than before is a warning. Links in HTML
/// are not looked at.
///
/// If only the case of the last name changes, the live file is renamed and the id stays. This does
/// not make a checkpoint, even in a governed vault. Links lead to the document in either case.
///
/// If the command is interrupted after its checkpoint, links may be left as they were. Run it again
/// with --fix-links: then it only changes the links that still lead to OLD.
///
/// In a governed vault the move is submitted for review, and links are changed by repeating the
/// command with --fix-links after its approval.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx mv nodes/returns nodes/policies/returns\n  ctx mv nodes/returns nodes/policies/returns --fix-links --dry-run"
)]
pub(super) struct Mv {
    /// Id or file of the document
    old: String,
    /// Its new id, or a folder with `/` at its end, where it keeps its name
    new: String,
    /// Note to store with each version (covered by no hash)
    #[arg(short = 'm', long = "message", value_name = "NOTE")]
    note: Option<String>,
    /// Show what would be moved; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Change links to OLD, and the document's relative links, in live files; publish none of them
    #[arg(long)]
    fix_links: bool,
    #[command(flatten)]
    expect: ExpectArgs,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Mv, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let workspace = &session.call.workspace;
    let mode = Mode { fix_links: args.fix_links, ..args.expect.mode(args.dry_run)? };
    let author = workspace.author(&vault, args.note.as_deref(), None)?;
    let old = workspace.named(&vault, &args.old)?;
    let new: DocumentId = workspace.moved_id(&vault, &old, &args.new)?;
    DocumentId::of_document_file(&new.live_path())?;
    let outcome = move_document(&vault, &old, &new, &author, mode)?;
    let outcome = session.acted(&vault, outcome);
    Ok(event::print(session, &outcome, args.dry_run, Moved))
}
