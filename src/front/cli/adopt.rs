//! `ctx checkpoint adopt`.

use super::convert::finish;
use super::expect::ExpectHead;
use super::session::Session;
use super::ui::shown;
use super::{Answer, Locking, event, progress};
use crate::exchange::convert::{Converted, Request, convert};
use crate::files::vault::config::LogForm;
use crate::service::report::checkpoint::AdoptReport;
use crate::service::report::failure::Failure;
use crate::values::model::id::DocumentId;
use crate::values::text_util::count;
use crate::write::publish::Mode;

/// Convert the log of the reference implementation as it is
///
/// Lists records that ctx would write differently: documents that were deleted, made again or
/// erased, and changes of a status. The command then publishes a configuration with
/// `versions.checkpoint_log: delta` and converts the log. After this checkpoint such records are
/// damage, and only ctx can write to the vault. A document without a history leaves the maps.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx checkpoint adopt --dry-run\n  ctx checkpoint adopt")]
pub(super) struct Adopt {
    /// List what would be accepted; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    expect: ExpectHead,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Adopt, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let author = session.workspace.author(&vault, None, None)?;
    let mode = Mode { dry_run: args.dry_run, expect: args.expect.read()?, ..Mode::default() };
    let request = Request { author, form: LogForm::Delta, adopts: true, mode };
    let converted = progress::watch(session, &vault, || convert(&vault, &request))?;
    session.print(&AdoptReport::new(&converted, args.dry_run), |session, _| {
        print(args, session, &converted);
    });
    finish(session, &vault, &converted)
}

fn print(args: &Adopt, session: &mut Session<'_>, converted: &Converted) {
    if converted.bytes.is_none() {
        session.ui.line("the log needs no adoption: ctx began or adopted it");
        return;
    }
    session.ui.line(&format!("accepted: {}", count(converted.accepted.len(), "record")));
    for found in &converted.accepted {
        let id = found.id.as_ref().map_or(found.path.as_str(), DocumentId::as_str);
        session.ui.line(&format!("  {}: {}", shown(id), shown(&found.message)));
    }
    if let Some(outcome) = converted.event.as_ref().filter(|event| event.checkpoint.is_some()) {
        for id in outcome.checkpoint.iter().flat_map(|checkpoint| &checkpoint.removed) {
            session.ui.line(&format!("  {}: leaves the maps", shown(id.as_str())));
        }
        event::text(session, "adopt", outcome, args.dry_run);
    }
    if let Some(path) = &converted.kept {
        session.ui.note(&format!("note: the old log is kept in {path}"));
    }
}
