//! `ctx trace prune`.

use super::hold::what;
use super::time;
use crate::front::cli::color::Paint;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::front::cli::{Answer, Locking};
use crate::service::report::failure::Failure;
use crate::service::report::retention::{Keeping, PruneReport, PrunedWriter};
use crate::values::text_util::count;

/// Delete accesses that are older than the retention
///
/// `audit.retention` of the configuration is the number of days for which accesses are kept, 184 by
/// default. The sealed value applies, or the live one if it is longer. Lines are deleted from the
/// beginning of each log, up to the first line that is younger or that a hold names (`ctx trace
/// hold`). The last answer of each log stays, because the next line follows it.
///
/// The change log records the cut before anything is deleted, so the vault has to record changes
/// (`ctx audit begin`). Change logs are never pruned. If the command was interrupted, run it again:
/// it deletes the rest. Exit code 1 if a log is damaged: nothing is deleted from that log.
///
/// If accesses are kept in the vault, this prunes the logs that this machine continues, and those
/// without a line since that time. A machine that continues another log prunes it itself.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx trace prune --dry-run\n  ctx trace prune\n  \
ctx trace prune --before 2025-01-01")]
pub(super) struct Prune {
    /// Delete only accesses before this time; a date is its first instant in UTC
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    before: Option<String>,
    /// Show what would be deleted; delete nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Prune, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let now = session.workspace.now()?;
    let before = args.before.as_deref().map(|text| time(text, now)).transpose()?;
    let vault = session.locking(&args.locking)?;
    let outcome = session.workspace.prune(&vault, before, !args.dry_run)?;
    let folder = outcome.folder.display().to_string();
    let limits = (outcome.retention, outcome.before);
    let report = PruneReport::new((folder, args.dry_run), limits, &outcome.plan, &outcome.holds);
    session.print(&report, |session, _| print(&report, session));
    Ok(if report.damaged.is_empty() { Answer::Yes } else { Answer::No })
}

fn lines(number: u64) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "line")
}

fn print(report: &PruneReport, session: &mut Session<'_>) {
    let ui = &mut session.ui;
    for fault in &report.damaged {
        let (file, message) = (shown(&fault.file), shown(&fault.message));
        ui.painted(Paint::Bad, &format!("{}: {file}:{}: {message}", fault.code, fault.line));
    }
    for PrunedWriter { writer, from, from_at, to, to_at, .. } in &report.writers {
        let (from_at, to_at) = (shown(from_at), shown(to_at));
        ui.line(&format!("{writer}: lines {from} to {to}, from {from_at} to {to_at}"));
    }
    for Keeping { lines: number, hold } in &report.held {
        let (id, reason) = (shown(&hold.hold.id), shown(&hold.hold.reason));
        let (number, what) = (lines(*number), what(&hold.hold));
        ui.painted(Paint::Doubtful, &format!("{number} held by {id} ({what}): {reason}"));
    }
    let (verb, before) = (if report.dry_run { "would prune" } else { "pruned" }, &report.before);
    let writers = count(report.writers.len(), "writer");
    ui.line(&format!("{verb} {} of {writers}, before {before}", lines(report.lines)));
    if report.kept > 0 {
        let kept = lines(report.kept);
        ui.note(&format!("note: {kept} of that age stay, held or after a held line"));
    }
    if !report.elsewhere.is_empty() {
        let logs = count(report.elsewhere.len(), "log");
        ui.note(&format!(
            "note: nothing was deleted from {logs} in the vault that other machines may continue"
        ));
    }
    if !report.damaged.is_empty() {
        ui.note("warning: nothing was deleted from damaged logs; run `ctx trace verify`");
    }
}
