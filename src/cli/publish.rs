//! `ctx publish`.

use super::expect::ExpectArgs;
use super::session::Session;
use super::{Answer, Failure, rows};
use crate::publish::{Mode, PublishError, Request, Which, publish};

/// Publish documents as new versions under one new checkpoint
///
/// Sets status, version, updated_at and checksum in each document's frontmatter, appends a version
/// to its history and seals all of them with one checkpoint. Governance files that changed
/// (CONTEXT.md, stewards.yaml, .context/config.yaml, packs) are taken along. It is all or nothing:
/// one invalid document refuses them all, unless --skip-invalid says otherwise.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx publish nodes/policies/returns -m \"new threshold\"\n  \
ctx publish --all --dry-run\n  ctx publish --changed")]
pub(super) struct Publish {
    /// Ids or files of documents
    #[arg(value_name = "ID", required_unless_present_any = ["all", "changed"], conflicts_with_all = ["all", "changed"])]
    ids: Vec<String>,
    /// Publish every document that differs from what is published, drafts too
    #[arg(long, conflicts_with = "changed")]
    all: bool,
    /// Publish published documents whose file changed and does not say `draft`
    #[arg(long)]
    changed: bool,
    /// Remark to keep with each version (covered by no hash)
    #[arg(short = 'm', long = "message", value_name = "NOTE")]
    note: Option<String>,
    /// Author for documents that have none; the principal where none is configured
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Show what would happen, write nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not wait for the disk: for imports that can be repeated after a power cut
    #[arg(long)]
    no_sync: bool,
    /// Publish the valid documents and exit 1 if any was left out
    #[arg(long)]
    skip_invalid: bool,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub(super) fn run(args: &Publish, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let vault = if args.no_sync { vault.without_sync() } else { vault };
    let author = session.author(&vault, args.note.as_deref(), args.author.as_deref())?;
    let which = if args.all {
        Which::All
    } else if args.changed {
        Which::Changed
    } else {
        let ids = args.ids.iter().map(|text| session.named(&vault, text));
        Which::Ids(ids.collect::<Result<_, _>>()?)
    };
    let mode = Mode { skip_invalid: args.skip_invalid, ..args.expect.mode(args.dry_run)? };
    let many = !matches!(&which, Which::Ids(ids) if ids.len() == 1);
    let outcome = publish(&vault, &Request { author, which, mode });
    let outcome = outcome.map_err(|why| {
        let rest = many && matches!(why, PublishError::Refused(_));
        let failure = Failure::from(why);
        if rest { failure.hint("`--skip-invalid` publishes the rest") } else { failure }
    })?;
    Ok(rows::event(session, "publish", &outcome, args.dry_run))
}
