//! `ctx review`.

mod list;
mod show;

pub(super) use show::ended_by;

use super::session::Session;
use super::{Answer, Locking};
use crate::service::report::failure::Failure;

/// List pending submissions, or show one
///
/// Lists the submissions that you may approve, the oldest first, and of equal age the largest
/// first; --all includes those of others. `ctx review show ID` prints the changes of one.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:\n  ctx review\n  ctx review --all --json\n  \
ctx review show nodes/policies/returns")]
pub(super) struct Review {
    #[command(subcommand)]
    action: Option<Action>,
    /// List every submission, including those that you may not approve
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    locking: Locking,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Show(show::Show),
}

pub(super) fn run(args: &Review, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.action {
        Some(Action::Show(show)) => show::run(show, session),
        None => list::run((args.all, &args.locking), session),
    }
}
