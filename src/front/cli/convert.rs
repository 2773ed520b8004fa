//! `ctx checkpoint convert`.

use super::choice::choice;
use super::expect::ExpectHead;
use super::session::Session;
use super::{Answer, Locking, event, progress, recover};
use crate::exchange::convert::{Converted, Request, convert};
use crate::files::vault::Vault;
use crate::files::vault::config::LogForm;
use crate::record::audit::{Change, HeadRef};
use crate::record::trusted_head;
use crate::service::report::checkpoint::ConvertReport;
use crate::service::report::failure::Failure;
use crate::service::workspace::head;
use crate::values::text_util::count;
use crate::write::publish::Mode;

/// Convert the checkpoint log to the other form
///
/// `delta` has one line of JSON for each checkpoint, with its changes. `full` is the YAML of the
/// reference implementation, with complete maps, which that can continue. Every checkpoint keeps
/// its number and its hash. .context/config.yaml gets `versions.checkpoint_log`, published as an
/// event of its own, and the old log is kept next to the new one. The vault is verified before
/// anything is written, and again in its new form.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx checkpoint convert --to delta --dry-run\n  \
ctx checkpoint convert --to full")]
pub(super) struct Convert {
    /// The new form
    #[arg(long, value_name = "FORM", value_parser = choice([LogForm::Delta, LogForm::Full].map(|form| (form.as_str(), form))))]
    to: LogForm,
    /// Show what would be converted; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    expect: ExpectHead,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Convert, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let form = args.to;
    let mode = Mode { dry_run: args.dry_run, expect: args.expect.read()?, ..Mode::default() };
    let author = session.workspace.author(&vault, None, None)?;
    let request = Request { author, form, adopts: false, mode };
    let converted = progress::watch(session, &vault, || convert(&vault, &request))?;
    session.print(&ConvertReport::new(&converted, form, args.dry_run), |session, _| {
        print(args, session, &converted);
    });
    finish(session, &vault, &converted)
}

/// Records that the log was replaced, and notes the after-commit steps that failed.
pub(super) fn finish(
    session: &mut Session<'_>,
    vault: &Vault,
    converted: &Converted,
) -> Result<Answer, Failure> {
    if converted.kept.is_some() {
        let end = head::end_of(&trusted_head::read_log(vault)?)?;
        session.changed(vault, Some(Change::ReplaceLog { to: HeadRef::of(&end) }));
    }
    recover::note(session, &converted.recovered);
    Ok(match &converted.event {
        Some(outcome) => event::note_trouble(session, outcome),
        None => Answer::Yes,
    })
}

fn print(args: &Convert, session: &mut Session<'_>, converted: &Converted) {
    let would = if args.dry_run { "would be " } else { "" };
    if let Some(outcome) = converted.event.as_ref().filter(|event| event.checkpoint.is_some()) {
        event::text(session, "convert", outcome, args.dry_run);
    }
    match converted.bytes {
        None => session.ui.line(&format!("the log has the form `{}` already", args.to)),
        Some((before, after)) => session.ui.line(&format!(
            "{} {would}converted to `{}`, {before} bytes to {after}",
            count(usize::try_from(converted.checkpoints).unwrap_or(usize::MAX), "checkpoint"),
            args.to
        )),
    }
    if let Some(path) = &converted.kept {
        session.ui.note(&format!("note: the old log is kept in {path}"));
    }
}
