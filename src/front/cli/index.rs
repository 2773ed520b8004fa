//! `ctx index`.

use super::expect::ExpectHead;
use super::session::Session;
use super::ui::shown;
use super::{Answer, Locking};
use crate::read::derived::{self, Derived, Outcome, Which};
use crate::service::report::failure::Failure;
use crate::service::report::vault::IndexReport;
use crate::service::workspace::create;

/// Write context.yaml and INDEX.md, lists of the published documents
///
/// Both are derived from the last checkpoint and can be deleted. context.yaml has the documents,
/// their references, hubs and servers. INDEX.md is a list with links; `index.folders: true` in the
/// configuration adds one for each folder. A file that is not derived is never overwritten.
///
/// Every publication and retirement updates the existing files. It also makes context.yaml while
/// the vault has at most 2,000 documents (`index.auto` in the configuration; 0 turns all of this
/// off). --check passes if a file was never made.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx index\n  ctx index --check")]
pub(super) struct Index {
    /// Exit 1 if a file that exists is out of date; write nothing
    #[arg(long)]
    check: bool,
    /// Show what would be written; write nothing
    #[arg(long, conflicts_with = "check")]
    dry_run: bool,
    #[command(flatten)]
    expect: ExpectHead,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Index, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    vault.usable_config()?;
    let looks = args.check || args.dry_run;
    let holder = session.workspace.holder()?;
    let _lock = if looks { None } else { Some(vault.lock(&holder)?) };
    create::check(&vault, &[], args.expect.read()?)?;
    let files = derived::files(&vault, Which::Asked, &[])?;
    let outcomes = derived::write(&vault, &files, looks);
    session.print(&IndexReport::new(&files, &outcomes), |session, _| {
        let row = |(file, outcome): (&Derived, &Outcome)| {
            let would = if looks && outcome.is_stale() { "would be " } else { "" };
            vec![shown(&file.path).into_owned(), format!("{would}{}", outcome.as_str())]
        };
        session.ui.table(&files.iter().zip(&outcomes).map(row).collect::<Vec<_>>());
    });
    if files.is_empty() {
        session.ui.note("note: nothing is published, so there is nothing to list");
    }
    let mut answer = Answer::Yes;
    for (file, outcome) in files.iter().zip(&outcomes) {
        if let Some(reason) = outcome.reason() {
            let (path, reason) = (shown(&file.path), shown(&reason));
            session.ui.note(&format!("warning: `{path}` was left as it is: {reason}"));
        }
        answer = match outcome {
            Outcome::Failed(_) => Answer::Incomplete,
            Outcome::Foreign(_) if answer == Answer::Yes => Answer::No,
            stale if args.check && stale.is_outdated() && answer == Answer::Yes => Answer::No,
            _ => answer,
        };
    }
    Ok(answer)
}
