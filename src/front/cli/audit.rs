//! `ctx audit`.

use super::expect::ExpectHead;
use super::session::Session;
use super::trace::reason;
use super::{Answer, Locking, event};
use crate::record::audit::VersionRef;
use crate::service::report::event::AuditBegun;
use crate::service::report::failure::Failure;
use crate::values::model::number::CheckpointNumber;
use crate::values::text_util::count;
use crate::write::publish::Mode;

/// Record every change of the vault
///
/// Each command that changes the vault, or its trusted head, appends a line to a file in
/// `.context/audit/`: who, when, with which command, and the checkpoint that it made. Each user and
/// machine has its own hash chain of lines, so that branches merge without a conflict. `ctx verify`
/// checks the chains, and that each event has its line; `ctx trace list` prints them.
///
/// With `bind: true` under `audit:` in .context/config.yaml each checkpoint contains the number and
/// hash of a line, so that `ctx verify` detects on every machine that lines before it are missing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx audit begin --dry-run\n  ctx audit begin")]
pub(super) struct Audit {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Put `audit:` into .context/config.yaml and publish it
    ///
    /// From this event on, each event needs its line. No later configuration changes that.
    Begin(Begin),
    Acknowledge(Acknowledge),
    Dismiss(Dismiss),
}

/// Declare that the change log lacks an event, and why
///
/// `ctx verify` reports such an event as `audit-missing`. Only the user who made the event can add
/// its line. If that is no longer possible, this appends a line that names the checkpoint with its
/// hash, who acknowledges it and why. `ctx verify` then reports the event as a note
/// (`audit-acknowledged`), not as recorded. In a governed vault this needs a reviewer of the whole
/// vault. First check with `ctx history` who published what.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
ctx audit acknowledge 17 --reason \"laptop of kim was lost, see ticket 9\"\n  \
ctx audit acknowledge 17 --reason \"laptop lost\" --dry-run")]
struct Acknowledge {
    /// The checkpoint of the event
    #[arg(value_parser = super::as_of::number)]
    checkpoint: CheckpointNumber,
    /// Reason why its line is missing
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Only check whether it may be acknowledged; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    locking: Locking,
}

/// Let principals approve again whose submissions were lost in a merge
///
/// A merge of two branches keeps the histories of one, and the change logs of both. The submitter
/// of a version that the history lacks may not approve the document, because the new submission may
/// have the same text. This command dismisses such submissions of a document, including those of
/// ids that moves link with it, but not your own. It appends a line that names them, who dismisses
/// them and why. By it, a reviewer of the whole vault declares that these principals may approve
/// what is submitted from now on, whatever was in the lost texts. --dry-run lists them first. A
/// document that stewards hide from you keeps its lost submissions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
ctx audit dismiss nodes/policies/returns --dry-run\n  \
ctx audit dismiss stewards.yaml --reason \"merge of 12 June kept the main branch\"")]
struct Dismiss {
    /// Id or file of the document or governance file
    id: String,
    /// Reason to ignore the lost submissions
    #[arg(long, value_name = "TEXT", required_unless_present = "dry_run")]
    reason: Option<String>,
    /// Only list what would be dismissed; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    locking: Locking,
}

#[derive(Debug, clap::Args)]
struct Begin {
    /// Show what would be published; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    expect: ExpectHead,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Audit, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.action {
        Action::Begin(args) => begin(args, session),
        Action::Acknowledge(args) => acknowledge(args, session),
        Action::Dismiss(args) => dismiss(args, session),
    }
}

fn acknowledge(args: &Acknowledge, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let reason = reason(&args.reason)?;
    let done = !args.dry_run;
    let report = session.workspace.acknowledge(&vault, args.checkpoint, reason, done)?;
    session.print(&report, |session, _| {
        let verb = if args.dry_run { "would acknowledge" } else { "acknowledged" };
        let number = report.checkpoint;
        session.ui.line(&format!("{verb}: no change log has the event of checkpoint {number}"));
    });
    Ok(Answer::Yes)
}

fn dismiss(args: &Dismiss, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let reason = args.reason.as_deref().map(reason).transpose()?;
    let id = session.workspace.named(&vault, &args.id)?;
    let done = !args.dry_run;
    let report = session.workspace.dismiss(&vault, &id, reason.unwrap_or_default(), done)?;
    session.print(&report, |session, _| {
        let verb = if args.dry_run { "would dismiss" } else { "dismissed" };
        for one in &report.dismissed {
            let VersionRef { id, version, .. } = &one.version;
            let (by, at) = (&one.submitter, &one.at);
            session
                .ui
                .line(&format!("{verb}: version {version} of {id}, submitted by {by} at {at}"));
        }
        if report.own > 0 {
            let own = count(report.own, "submission");
            session.ui.note(&format!("only another reviewer may dismiss {own} of your own"));
        }
        if report.hidden > 0 {
            let hidden = count(report.hidden, "submission");
            session
                .ui
                .note(&format!("{hidden} of documents that you may not read cannot be dismissed"));
        }
    });
    Ok(Answer::Yes)
}

fn begin(args: &Begin, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let mode = Mode { dry_run: args.dry_run, expect: args.expect.read()?, ..Mode::default() };
    let outcome = session.workspace.begin_audit(&vault, mode)?;
    let outcome = session.acted(&vault, outcome);
    if outcome.items.is_empty() && !session.ui.json {
        session.ui.line("changes of this vault are recorded already");
        return Ok(event::note_trouble(session, &outcome));
    }
    Ok(event::print(session, &outcome, args.dry_run, AuditBegun))
}
