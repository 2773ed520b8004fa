//! `ctx evidence`.

mod export;
mod report;
mod table;
mod verify;

use super::Answer;
use super::session::Session;
use crate::service::report::failure::Failure;

/// Prove to others what was read and published, without the vault
///
/// A bundle is one file with lines of the access log, the texts of the versions that were returned,
/// and their proofs: parts of histories and the checkpoint log. It is verified without the vault,
/// and without ctx too: fixtures/evidence/verify.py in the source of ctx needs only Python.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx evidence export 0a1b2c3d-17 -o access.tar\n  \
ctx evidence export --session s-42 -o session.tar\n  ctx evidence verify session.tar\n  \
ctx evidence report --from 2026-10-01T00:00:00Z --to 2027-01-01T00:00:00Z")]
pub(super) struct Evidence {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Export(export::Export),
    Verify(verify::Verify),
    Report(report::Report),
}

pub(super) fn run(args: &Evidence, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.action {
        Action::Export(args) => export::run(args, session),
        Action::Verify(args) => verify::run(args, session),
        Action::Report(args) => report::run(args, session),
    }
}
