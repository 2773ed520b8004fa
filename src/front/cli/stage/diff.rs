//! `ctx stage diff`.

use super::name;
use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::record::staging::StagedEntry;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::staging::{StagedDiffReport, diff_block};
use crate::service::workspace::staging::StagedView;

/// Show how a staged content differs from the one before it
///
/// Compares with the entry of the same source that was staged before, or with the one that is
/// named. JSON values are compared by structure, spelled line by line with keys in order; other
/// texts by their lines. The difference is printed between two lines that mark it as data.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx stage diff 0a1b2c3d-17\n  \
ctx stage diff 0a1b2c3d-17 0a1b2c3d-12")]
pub(super) struct Diff {
    /// URI of the newer entry, or only its last part: `0a1b2c3d-17`
    #[arg(value_name = "ENTRY")]
    entry: String,
    /// The older entry; default: the one of the same source before it
    #[arg(value_name = "OLDER")]
    older: Option<String>,
    /// Print only the difference, without the lines that mark it as data
    #[arg(long, conflicts_with = "json")]
    raw: bool,
}

pub(super) fn run(args: &Diff, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let newer = name(&args.entry)?;
    let older = args.older.as_deref().map(name).transpose()?;
    let view = match &older {
        Some(older) => session.workspace.staged_named(&vault, &session.labels, &[&newer, older])?,
        None => session.workspace.staged_beside(&vault, &session.labels, &newer)?,
    };
    let new = view.find(&newer)?;
    let old = match older {
        Some(older) => view.find(&older)?,
        None => before(&view, new)?,
    };
    let diff = session.staged_diff(&vault, (old, new))?;
    let (from, to) = (old.name().to_string(), new.name().to_string());
    let equal = old.entry.content_hash == new.entry.content_hash;
    if session.ui.json {
        session.ui.report(&StagedDiffReport { from, to, equal, diff });
    } else if diff.is_empty() {
        session.ui.note("note: the contents are equal");
    } else if args.raw {
        session.ui.diff(&diff);
    } else {
        session.ui.diff(&diff_block(old, new, &diff));
    }
    Ok(Answer::Yes)
}

/// Returns the live entry of the same source that was staged before.
fn before<'v>(view: &'v StagedView, new: &StagedEntry) -> Result<&'v StagedEntry, Failure> {
    let all = view.visible();
    let older = all.into_iter().take_while(|one| one.name() != new.name());
    let older = older.filter(|one| one.source == new.source && one.is_live()).last();
    older.ok_or_else(|| {
        let message = format!("`{}` has no live entry before this one", new.source);
        Failure::new(Code::UnknownStaged, message)
    })
}
