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
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Put `audit:` into .context/config.yaml and publish it
    ///
    /// From this event on each event needs its line. No later configuration takes that back.
    Begin(Begin),
    Acknowledge(Acknowledge),
    Dismiss(Dismiss),
}

/// Declare that an event has no line in the change log, and why
///
/// `ctx verify` reports such an event as `audit-missing`. Its line can only be added by the user who
/// made it; where that is no longer possible, this appends a line that names the checkpoint with its
/// hash, who acknowledges it and why. `ctx verify` then reports the event as a note
/// (`audit-acknowledged`), not as recorded. In a governed vault a reviewer of the whole vault has to
/// do it. First check with `ctx history` who published what.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
ctx audit acknowledge 17 --reason \"laptop of kim was lost, see ticket 9\"\n  \
ctx audit acknowledge 17 --reason \"laptop lost\" --dry-run")]
struct Acknowledge {
    /// The checkpoint of the event
    #[arg(value_parser = super::as_of::number)]
    checkpoint: CheckpointNumber,
    /// Why its line is missing
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
/// A merge of two branches keeps the histories of one, and the change logs of both. Who submitted a
/// version that the history lacks may not approve the document, because what is submitted now may be
/// the same text. This dismisses such submissions of a document, of ids that moves link with it too,
/// but not your own: it appends a line that names them, who dismisses them and why. In it a reviewer
/// of the whole vault says that these principals may approve what is submitted from now on, whatever
/// was in the lost texts. --dry-run lists them first. A document that stewards keep from you keeps
/// its lost submissions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
ctx audit dismiss nodes/policies/returns --dry-run\n  \
ctx audit dismiss stewards.yaml --reason \"merge of 12 June kept the main branch\"")]
struct Dismiss {
    /// Id or file of the document or governance file
    id: String,
    /// Why the submissions may be passed over
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
            session
                .ui
                .note(&format!("{own} of your own may only be dismissed by another reviewer"));
        }
        if report.hidden > 0 {
            let hidden = count(report.hidden, "submission");
            session.ui.note(&format!("{hidden} of documents that you may not read stay lost"));
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
