//! `ctx govern`.

use super::session::Session;
use super::{Answer, Locking, event};
use crate::service::report::event::{GovernOff, GovernOn};
use crate::service::report::failure::Failure;
use crate::service::workspace::governance_mode::is_shared;
use crate::write::publish::Mode;

/// Turn mandatory review on or off
///
/// In a governed vault a text is published only after a reviewer who is not its author approved
/// it. stewards.yaml names the reviewers of each scope. On a command line, principals are
/// asserted: a process that can write to the files of the vault can name any. `ctx verify` detects
/// texts that were published past the review. With `reads: stewards` in the configuration, each
/// principal sees only what their role allows. Both are a boundary between people only if a server
/// authenticates them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx govern on --dry-run\n  ctx govern off")]
pub(super) struct Govern {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Make the vault governed
    ///
    /// Writes `governance: governed` into the configuration and publishes it with stewards.yaml,
    /// which must assign two reviewers to the whole vault, or with --alone one and an editor who
    /// submits what the reviewer approves. If `review` requires more approvals of the whole vault,
    /// that many reviewers are needed besides a submitter. Earlier versions stay as they are.
    #[command(after_help = "Example:\n  ctx govern on --dry-run")]
    On {
        /// Accept one reviewer of the vault, besides an editor who submits
        #[arg(long)]
        alone: bool,
        #[command(flatten)]
        how: How,
    },
    /// Submit a change that turns off mandatory review
    ///
    /// The change is reviewed like any other, by a reviewer of the whole vault. While other
    /// submissions await a decision, the change is refused.
    #[command(after_help = "Example:\n  ctx govern off")]
    Off {
        #[command(flatten)]
        how: How,
    },
}

#[derive(Debug, clap::Args)]
struct How {
    /// Note to store with each version (covered by no hash)
    #[arg(short = 'm', long = "message", value_name = "NOTE")]
    note: Option<String>,
    /// Show what would change; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Govern, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let (Action::On { how, .. } | Action::Off { how }) = &args.action;
    let vault = session.locking(&how.locking)?;
    let mode = Mode { dry_run: how.dry_run, ..Mode::default() };
    let workspace = &session.call.workspace;
    let note = how.note.as_deref();
    match &args.action {
        Action::On { alone, .. } => {
            let outcome = workspace.begin_governance(&vault, note, *alone, mode)?;
            let outcome = session.acted(&vault, outcome);
            let answer = event::print(session, &outcome, how.dry_run, GovernOn);
            if *alone {
                session.ui.note("warning: one reviewer of the vault cannot approve their own texts; an editor of the vault submits another reviewer in stewards.yaml");
            }
            if is_shared(&vault)? {
                session.ui.note("warning: the reference implementation can write to this vault; its publications lack approvals, and its next event drops the governance files from the maps");
            }
            Ok(answer)
        }
        Action::Off { .. } => {
            let outcome = workspace.end_governance(&vault, note, mode)?;
            let outcome = session.acted(&vault, outcome);
            Ok(event::print(session, &outcome, how.dry_run, GovernOff))
        }
    }
}
