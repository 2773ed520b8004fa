//! `ctx pack`.

mod add;
mod check;
mod list;
mod show;

use super::Answer;
use super::session::Session;
use crate::service::report::failure::Failure;

/// List, show, add and check context packs
///
/// A pack is a stored selector with instructions for agents, in packs/NAME.yml. `pack:ID` in a
/// selector means the pack as the checkpoint seals it, never the live file. `ctx publish` seals
/// changed packs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx pack list\n  ctx pack show procurement.onboarding\n  \
ctx pack add returns --label Returns --query '#policy + #retail' --include contextnest://nodes/glossary\n  \
ctx pack check")]
pub(super) struct Pack {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    List(list::List),
    Show(show::Show),
    Add(Box<add::Add>),
    Check(check::Check),
}

pub(super) fn run(args: &Pack, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.action {
        Action::List(args) => list::run(args, session),
        Action::Show(args) => show::run(args, session),
        Action::Add(args) => add::run(args, session),
        Action::Check(_) => check::run(session),
    }
}
