//! `ctx publish`.

use super::expect::ExpectArgs;
use super::session::Session;
use super::{Answer, Locking, event, progress};
use crate::files::vault::Vault;
use crate::service::report::event::Published;
use crate::service::report::failure::{Code, Failure};
use crate::values::model::id::DocumentId;
use crate::write::publish::{Author, Mode, Request, Which, publish};

/// Publish documents as new versions under one checkpoint
///
/// Sets status, version, updated_at and checksum in the frontmatter of each document, appends a
/// version to its history, and seals all of them with one checkpoint. --all, --changed and the
/// first publication of a vault include changed governance files (CONTEXT.md, stewards.yaml,
/// .context/config.yaml, packs). Otherwise they are published by name, and until then the published
/// configuration is in force. --all leaves out drafts (`status: draft`, `draft: true`, `_drafts/`)
/// unless --drafts is given; --all, --changed and folders leave out documents that are marked as
/// not for use, as `status: rejected`, `not approved` and `deprecated: yes` do. --all also leaves
/// out copies that sync programs and editors write next to a document (`x (conflicted copy).md`,
/// `x.orig.md`), and Logseq's backups. It names each file that it leaves out. A document that is
/// named is published in any case. A folder stands for its changed documents. Without an id or an
/// option, a terminal shows what --changed would publish; nothing is written, and the exit code
/// is 2. One invalid document refuses all of them, unless --skip-invalid is given.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx publish nodes/policies/returns -m \"new threshold\"\n  \
ctx publish --all --dry-run\n  ctx publish --changed\n  ctx publish nodes/policies/")]
pub(super) struct Publish {
    /// Ids or files of documents, or folders (changed documents, no drafts)
    #[arg(value_name = "ID|FOLDER", conflicts_with_all = ["all", "changed"])]
    ids: Vec<String>,
    /// Publish new documents, and every change to published ones
    #[arg(long, conflicts_with = "changed")]
    all: bool,
    /// With --all, publish also documents that are marked as drafts
    #[arg(long, requires = "all", conflicts_with = "changed")]
    drafts: bool,
    /// Publish changes to published documents, except drafts
    #[arg(long)]
    changed: bool,
    /// Note to store with each version (covered by no hash)
    #[arg(short = 'm', long = "message", value_name = "NOTE")]
    note: Option<String>,
    /// Author for documents without one; the principal if none is configured
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Show what would be published; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not wait for the disk, for imports that can be repeated
    #[arg(long)]
    no_sync: bool,
    /// Publish the valid documents, and exit 1 if any is invalid
    #[arg(long)]
    skip_invalid: bool,
    #[command(flatten)]
    expect: ExpectArgs,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Publish, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let vault = if args.no_sync { vault.without_sync() } else { vault };
    let workspace = &session.call.workspace;
    let author = workspace.author(&vault, args.note.as_deref(), args.author.as_deref())?;
    let which = if args.all {
        Which::All
    } else if args.changed {
        Which::Changed
    } else {
        workspace.artifacts(&vault, &args.ids)?
    };
    if args.ids.is_empty() && !args.all && !args.changed {
        return Err(nothing_named(session, &vault, author));
    }
    let (skip_invalid, drafts) = (args.skip_invalid, args.drafts);
    let mode = Mode { skip_invalid, drafts, ..args.expect.mode(args.dry_run)? };
    let many = !matches!(&which, Which::Ids(ids) if ids.len() == 1);
    let request = Request { author, which, mode };
    let outcome = progress::watch(session, &vault, || publish(&vault, &request));
    let hint = "`--skip-invalid` publishes the valid documents";
    let outcome = outcome.map_err(|why| event::refused(why, many, hint))?;
    let outcome = session.acted(&vault, outcome);
    let answer = event::print(session, &outcome, args.dry_run, Published);
    let ids = outcome.items.iter().map(|item| &item.id).chain(&outcome.unchanged);
    let has_documents = ids.into_iter().any(DocumentId::is_document);
    if !has_documents && outcome.left_out.is_empty() && !session.ui.json {
        session.note_outside_layout(&vault);
    }
    Ok(answer)
}

/// Shows a person the documents that could be published, and the options.
fn nothing_named(session: &mut Session<'_>, vault: &Vault, author: Author) -> Failure {
    let failure = Failure::new(Code::Usage, "no document to publish is named")
        .hint("`--changed` publishes changes to published documents, `--all` also new documents")
        .hint("or name documents or folders; `ctx status` lists all that differ");
    if !session.ui.is_interactive() {
        return failure;
    }
    let mode = Mode { skip_invalid: true, dry_run: true, ..Mode::default() };
    match publish(vault, &Request { author, which: Which::Changed, mode }) {
        Ok(outcome) => event::text(session, "publish", &outcome, true),
        Err(why) => return why.into(),
    }
    failure
}
