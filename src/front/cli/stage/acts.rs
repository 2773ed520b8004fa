//! `ctx stage pin`, `unpin` and `discard`.

use super::name;
use crate::front::cli::session::Session;
use crate::front::cli::{Answer, Locking};
use crate::record::staging::ActKind;
use crate::service::report::failure::Failure;
use crate::service::report::staging::StagedActReport;

/// Keep a staged entry past its retention
///
/// The entry is kept until it is unpinned, promoted or discarded. In a governed vault it needs the
/// role reviewer at the scope of the source.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx stage pin 0a1b2c3d-17")]
pub(super) struct Pin {
    #[command(flatten)]
    one: One,
}

/// Let the retention of a staged entry apply again
///
/// In a governed vault it needs the role reviewer at the scope of the source.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx stage unpin 0a1b2c3d-17")]
pub(super) struct Unpin {
    #[command(flatten)]
    one: One,
}

/// End a staged entry; its content goes unless another entry shares it
///
/// The line of the entry stays. In a governed vault it needs the role reviewer at the scope of the
/// source. A promoted entry is not discarded.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx stage discard 0a1b2c3d-17")]
pub(super) struct Discard {
    #[command(flatten)]
    one: One,
}

#[derive(Debug, clap::Args)]
struct One {
    /// URI of the staged entry, or only its last part: `0a1b2c3d-17`
    #[arg(value_name = "ENTRY")]
    entry: String,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn pin(args: &Pin, session: &mut Session<'_>) -> Result<Answer, Failure> {
    act(&args.one, ActKind::Pin, session)
}

pub(super) fn unpin(args: &Unpin, session: &mut Session<'_>) -> Result<Answer, Failure> {
    act(&args.one, ActKind::Unpin, session)
}

pub(super) fn discard(args: &Discard, session: &mut Session<'_>) -> Result<Answer, Failure> {
    act(&args.one, ActKind::Discard, session)
}

fn act(args: &One, kind: ActKind, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let name = name(&args.entry)?;
    let acted = session.workspace.act_on_staged(&vault, &name, kind)?;
    let uri = acted.entry.name().to_string();
    if session.ui.json {
        let unchanged = acted.unchanged;
        session.ui.report(&StagedActReport { act: kind, uri, unchanged });
        return Ok(Answer::Yes);
    }
    let done = match (kind, acted.unchanged) {
        (ActKind::Pin, false) => "pinned",
        (ActKind::Pin, true) => "is pinned already:",
        (ActKind::Unpin, false) => "unpinned",
        (ActKind::Unpin, true) => "is not pinned:",
        _ => "discarded",
    };
    session.ui.line(&format!("{done} {uri}"));
    Ok(Answer::Yes)
}
