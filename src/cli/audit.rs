//! `ctx audit`.

use super::expect::ExpectHead;
use super::session::Session;
use super::{Acting, Answer, event};
use crate::govern::Mode;
use crate::report::event::AuditBegun;
use crate::report::failure::Failure;

/// Record every change of the vault
///
/// Each command that changes the vault, or what is trusted of it, leaves a line in
/// `.context/audit/`: who, when, with which command, and the checkpoint that it made. The lines are
/// a hash chain of their own for each user and machine, so that branches merge without a conflict.
/// `ctx verify` checks the chains, and that each event has its line; `ctx trace list` prints them.
///
/// With `bind: true` under `audit:` in .context/config.yaml each checkpoint holds number and hash of
/// a line, so that `ctx verify` finds on every machine that lines before it are missing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx audit begin --dry-run\n  ctx audit begin")]
pub(super) struct Audit {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    /// Put `audit:` into .context/config.yaml and publish it
    ///
    /// From this event on each event needs its line. No later configuration takes that back.
    Begin(Begin),
}

#[derive(Debug, clap::Args)]
struct Begin {
    /// Show what would be published; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    expect: ExpectHead,
    #[command(flatten)]
    acting: Acting,
}

pub(super) fn run(args: &Audit, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let Part::Begin(args) = &args.part;
    let vault = session.acting(&args.acting)?;
    let mode = Mode { dry_run: args.dry_run, expect: args.expect.read()?, ..Mode::default() };
    let outcome = session.workspace.begin_audit(&vault, mode)?;
    if outcome.items.is_empty() && !session.ui.json {
        session.ui.line("changes of this vault are recorded already");
        return Ok(event::note_trouble(session, &outcome));
    }
    Ok(event::print(session, &outcome, args.dry_run, AuditBegun))
}
