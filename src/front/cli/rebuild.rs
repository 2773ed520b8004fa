//! `ctx checkpoint rebuild`.

use super::expect::ExpectHead;
use super::session::Session;
use super::ui::{first, shown};
use super::{Answer, Locking};
use crate::prove::recover::{RebuildRequest, Replacement, rebuild_log};
use crate::record::audit::{Change, HeadRef};
use crate::record::checkpoint::event::Checkpoint;
use crate::service::report::checkpoint::RebuildReport;
use crate::service::report::failure::Failure;
use crate::values::text_util::count;

/// Derive a missing or damaged log from the histories
///
/// The beginning of the log that agrees with the histories stays. The rest is derived: all versions
/// that were published or retired at one instant become one checkpoint. Intact histories produce
/// the same log, hash for hash; `--from-scratch --dry-run` shows that. In a governed vault nothing
/// is published without an approval that vouches for it. The old log is kept next to the new one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx checkpoint rebuild --dry-run")]
pub(super) struct Rebuild {
    /// Keep nothing of the existing log
    #[arg(long)]
    from_scratch: bool,
    /// Show what would be written; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Replace the log even if versions are left out, the log is intact and differs, or it lacks
    /// the trusted head; the new head is then trusted
    #[arg(long)]
    force: bool,
    /// With `--force`: allow another first checkpoint; heads stored elsewhere will not match
    /// the log
    #[arg(long, requires = "force")]
    new_first_checkpoint: bool,
    #[command(flatten)]
    expect: ExpectHead,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Rebuild, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let request = RebuildRequest {
        holder: &session.workspace.holder()?,
        now: session.workspace.now()?,
        from_scratch: args.from_scratch,
        dry_run: args.dry_run,
        force: args.force,
        new_first_checkpoint: args.new_first_checkpoint,
        expect: args.expect.read()?,
    };
    let replacement = rebuild_log(&vault, &request)?;
    session.print(&RebuildReport::new(&replacement, args.dry_run), |session, _| {
        print(args, session, &replacement);
    });
    if replacement.kept.is_some() {
        session.changed(&vault, Some(Change::ReplaceLog { to: HeadRef::of(&replacement.head) }));
    }
    let rebuilt = &replacement.rebuilt;
    let is_all = rebuilt.unsound.is_empty()
        && rebuilt.unapproved.is_empty()
        && rebuilt.passed_over.is_empty();
    Ok(if is_all { Answer::Yes } else { Answer::No })
}

fn print(args: &Rebuild, session: &mut Session<'_>, replacement: &Replacement) {
    let (ui, rebuilt) = (&mut session.ui, &replacement.rebuilt);
    let would = if args.dry_run { "would be " } else { "" };
    let derived: Vec<&Checkpoint> = rebuilt.derived().collect();
    let kept = count(rebuilt.kept, "checkpoint");
    if replacement.is_same {
        let all = count(rebuilt.kept + derived.len(), "checkpoint");
        ui.line(&format!("the histories produce the same log: {all}"));
    } else {
        let new = count(derived.len(), "checkpoint");
        ui.line(&format!("{kept} {would}kept, {new} {would}derived from the histories"));
        ui.table(&derived.iter().map(|entry| row(entry)).collect::<Vec<_>>());
    }
    for (id, version, why) in &rebuilt.unsound {
        let (id, why) = (shown(id.as_str()), why.to_string());
        ui.note(&format!("left out: {id} version {version}: {}", shown(&why)));
    }
    for one in &rebuilt.unapproved {
        let (id, why) = (shown(one.id.as_str()), shown(&one.why));
        let version = one.version;
        ui.note(&format!("left out from version {version} on, without an approval: {id}: {why}"));
    }
    let passed_over = first(rebuilt.passed_over.iter(), |(id, version)| {
        let id = shown(id.as_str());
        format!("not in the log: {id} version {version}, recorded before its last checkpoint")
    });
    passed_over.iter().for_each(|line| ui.note(line));
    if let Some(first) = replacement.replaced_first {
        let has = if args.dry_run { "would have" } else { "has" };
        ui.note(&format!("warning: the log {has} another first checkpoint; it was {first}"));
    }
    if let Some(refused) = &replacement.refused {
        let flag = if args.force { "new-first-checkpoint" } else { "force" };
        let why = refused.to_string();
        ui.note(&format!("warning: refused without `--{flag}`: {}", shown(&why)));
    }
    if let Some(path) = &replacement.kept {
        ui.note(&format!("note: the old log is kept in {path}"));
    }
}

fn row(entry: &Checkpoint) -> Vec<String> {
    let versions = count(entry.set.len() + entry.removed.len(), "version");
    vec![format!("  checkpoint {}", entry.number), entry.at.to_string(), versions]
}
