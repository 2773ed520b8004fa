//! `ctx stage`: results of sources, and the acts on them.

mod acts;
mod diff;
mod ending;
mod list;
mod promote;
mod show;

pub(super) use list::row;

use super::Answer;
use super::session::Session;
use crate::service::report::failure::Failure;
use crate::service::workspace::call::Note;
use crate::service::workspace::call::stage::staged_name as name;
use crate::values::model::id::DocumentId;

/// List, show, promote and remove staged results of sources
///
/// A result that an agent fetched from a source is kept as a staged entry, if the vault says so,
/// until its retention ends. It is not a document: agents get it only if they ask for it. You see
/// the entries of your own session; in a governed vault you see those of others only as editor or
/// reviewer of the source. A command accepts the URI of an entry, or only its last part, such as
/// `0a1b2c3d-17`.
///
/// With `bind: true` under `staging:` in .context/config.yaml each checkpoint contains the number
/// and hash of the last line of each chain of entries, so that `ctx verify` detects on every
/// machine that lines before it are missing or were replaced.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx stage list --source sources/prices\n  \
ctx stage show 0a1b2c3d-17\n  ctx stage promote 0a1b2c3d-17 --to nodes/prices/2026-11\n  \
ctx stage gc --dry-run")]
pub(super) struct Stage {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    List(list::List),
    Show(show::Show),
    Diff(diff::Diff),
    Pin(acts::Pin),
    Unpin(acts::Unpin),
    Promote(promote::Promote),
    Discard(acts::Discard),
    Gc(ending::Gc),
    Erase(ending::Erase),
}

pub(super) fn run(args: &Stage, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.action {
        Action::List(args) => list::run(args, session),
        Action::Show(args) => show::run(args, session),
        Action::Diff(args) => diff::run(args, session),
        Action::Pin(args) => acts::pin(args, session),
        Action::Unpin(args) => acts::unpin(args, session),
        Action::Promote(args) => promote::run(args, session),
        Action::Discard(args) => acts::discard(args, session),
        Action::Gc(args) => ending::gc(args, session),
        Action::Erase(args) => ending::erase(args, session),
    }
}

/// Warns of damaged chains, because entries and acts may be missing from the answer; returns the
/// answer of the verb then.
pub(super) fn warn_of_damage<'d>(
    session: &mut Session<'_>,
    damaged: impl Iterator<Item = &'d DocumentId>,
) -> Answer {
    let mut answer = Answer::Yes;
    for source in damaged {
        session.note(Note::DamagedChain(source.clone()));
        answer = Answer::No;
    }
    session.tell();
    answer
}
