//! `ctx recover`.

use super::expect::ExpectHead;
use super::session::Session;
use super::ui::{first, shown, table};
use super::{Answer, Locking};
use crate::files::vault::git_past::NOT_SPARSE;
use crate::prove::recover::{Lost, Recovery, Request, recover};
use crate::record::audit::Change;
use crate::service::report::failure::Failure;
use crate::service::report::recover::{RecoverReport, recorded_by};
use crate::values::model::layout;
use crate::values::text_util::count;
use crate::write::commit::{Recovered, UncommittedFile};

/// Clean up after an interrupted command and report what is lost
///
/// Every writing command does this first if an intent record on this machine names an interrupted
/// command. Files that no checkpoint seals are moved to .context/local/recovered/, never deleted.
/// Live files that a publication did not update are updated, and so are `context.yaml` and
/// INDEX.md. If the change log lacks an event of your own, a step of a review, or an act on staged
/// entries, the line is added. A promotion whose document was made is completed. Contents of staged
/// entries that an interrupted command left, and that no entry claims, are removed. Damage to
/// sealed versions is reported and not changed: restore those files from git or a backup.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx recover --dry-run\n  ctx recover")]
pub(super) struct Recover {
    /// Show what would be done; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Move uncommitted files even if no intent record explains them
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    expect: ExpectHead,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Recover, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let request = Request {
        holder: &session.workspace.holder()?,
        dry_run: args.dry_run,
        force: args.force,
        expect: args.expect.read()?,
    };
    let mut recovery = recover(&vault, &request)?;
    let mut is_recorded = true;
    if !args.dry_run && recovery.unreliable.is_none() {
        let paths = recovery.recovered.paths();
        let change = (!paths.is_empty()).then_some(Change::Recover { paths });
        let added = session.changed(&vault, change);
        is_recorded = added.is_some() || recovery.owed.is_empty() && recovery.steps.is_empty();
        if added.is_none() {
            recovery.steps.clear();
        }
        recovery.owed = added.unwrap_or_default();
    }
    if recovery.unreliable.is_none() {
        recovery.acts = session.workspace.settle_act(&vault, !args.dry_run)?;
        let kept = &recovery.recovered.kept;
        recovery.promotions = session.workspace.settle_promotions(&vault, kept, !args.dry_run)?;
        recovery.unclaimed =
            session.workspace.settle_staged(&vault, recovery.acts.as_ref(), !args.dry_run)?;
    }
    let (recovered, broken, lost) = (&recovery.recovered, &recovery.broken, &recovery.lost);
    session.print(&RecoverReport::new(&recovery, args.dry_run), |session, _| {
        let is_empty = recovery.is_empty();
        if recovery.unreliable.is_none() && (broken.is_empty() || !is_empty) {
            print(session, &recovery, args.dry_run);
        }
        print_lost(session, lost);
        for (id, why) in broken {
            let (id, why) = (shown(id.as_str()), why.to_string());
            let why = shown(&why);
            session
                .ui
                .note(&format!("warning: no file was moved next to the history of {id}: {why}"));
        }
    });
    note_left_alone(session, recovered);
    for (path, why) in &recovery.derived.failed {
        let (path, why) = (shown(path), shown(why));
        session.ui.note(&format!("warning: `{path}` was not written again: {why}"));
    }
    let is_whole = lost.versions.is_empty() && lost.left_out.count() == 0 && broken.is_empty();
    let is_done = is_recorded && recovered.left_alone.iter().all(|(_, why)| why.is_changed());
    if let Some(why) = recovery.unreliable {
        return Err(why.into());
    }
    Ok(match (is_done, is_whole) {
        (false, _) => Answer::Incomplete,
        (true, true) => Answer::Yes,
        (true, false) => Answer::No,
    })
}

/// Notes the cleanup before an event.
pub(super) fn note(session: &mut Session<'_>, recovered: &Recovered) {
    if let Some(folder) = &recovered.folder {
        let moved = count(recovered.kept.len(), "uncommitted file");
        session.ui.note(&format!("note: {moved} of an interrupted command moved to {folder}/"));
    }
    let caught_up = first(recovered.caught_up.iter(), |path| {
        format!("note: `{}` was updated after an interrupted command", shown(path))
    });
    caught_up.iter().for_each(|line| session.ui.note(line));
    note_left_alone(session, recovered);
}

fn note_left_alone(session: &mut Session<'_>, recovered: &Recovered) {
    let left_alone = first(recovered.left_alone.iter(), |(path, why)| {
        format!("warning: `{}` was left as it is: {why}", shown(path))
    });
    left_alone.iter().for_each(|line| session.ui.note(line));
}

fn rows(uncommitted: &[UncommittedFile]) -> Vec<String> {
    let row = |file: &UncommittedFile| {
        let mut events = recorded_by(file).into_iter();
        let one = events.next().map(|key| shown(&key.to_string()).into_owned());
        let more = match events.len() {
            0 => String::new(),
            more => format!(", and {}", count(more, "more event")),
        };
        vec![
            format!("  {}", shown(&file.path)),
            file.remains.to_string(),
            format!("{} bytes", file.bytes),
            one.unwrap_or_default() + &more,
        ]
    };
    let rows: Vec<Vec<String>> = uncommitted.iter().map(row).collect();
    first(table(&rows).into_iter(), |line| line)
}

fn print(session: &mut Session<'_>, recovery: &Recovery, dry_run: bool) {
    let (recovered, owed) = (&recovery.recovered, &recovery.owed);
    let would = if dry_run { "would be " } else { "" };
    if recovery.is_empty() {
        session.ui.line("nothing to clean up");
        return;
    }
    if !recovered.kept.is_empty() {
        let to = recovered.folder.as_deref().unwrap_or(layout::RECOVERED);
        let moved = count(recovered.kept.len(), "uncommitted file");
        session.ui.line(&format!("{moved} {would}moved to {to}/"));
        rows(&recovered.kept).iter().for_each(|row| session.ui.line(row));
    }
    for (paths, what) in
        [(&recovered.caught_up, "live file"), (&recovery.derived.written, "derived file")]
    {
        if !paths.is_empty() {
            session.ui.line(&format!("{} {would}updated", count(paths.len(), what)));
            paths.iter().for_each(|path| session.ui.line(&format!("  {}", shown(path))));
        }
    }
    if !owed.is_empty() {
        let events = count(owed.len(), "event");
        session.ui.line(&format!("{events} {would}added to the change log"));
        owed.iter().for_each(|number| session.ui.line(&format!("  checkpoint {number}")));
    }
    if !recovery.steps.is_empty() {
        let versions = count(recovery.steps.len(), "version");
        session.ui.line(&format!("{versions} of a review {would}added to the change log"));
        let rows = recovery.steps.iter();
        rows.for_each(|step| {
            session.ui.line(&format!("  {}  v{}", shown(&step.id), step.version));
        });
    }
    if let Some(act) = &recovery.acts {
        let entries = count(act.staged.len(), "staged entry");
        session.ui.line(&format!("{} of {entries} {would}added to the change log", act.action));
        let rows = first(act.staged.iter(), |uri| format!("  {}", shown(uri)));
        rows.iter().for_each(|row| session.ui.line(row));
    }
    if !recovery.promotions.is_empty() {
        let promotions = count(recovery.promotions.len(), "promotion");
        session.ui.line(&format!("{promotions} {would}completed"));
        let rows = recovery.promotions.iter();
        rows.for_each(|one| {
            let (entry, document) = (shown(&one.entry), shown(one.document.as_str()));
            session.ui.line(&format!("  {entry} to {document} v{}", one.version));
        });
    }
    if !recovery.torn.is_empty() {
        let lines = count(recovery.torn.len(), "torn line");
        session.ui.line(&format!("{lines} {would}removed"));
        recovery.torn.iter().for_each(|path| session.ui.line(&format!("  {}", shown(path))));
    }
    if !recovery.unclaimed.is_empty() {
        let files = count(recovery.unclaimed.len(), "content");
        session.ui.line(&format!("{files} that no staged entry claims {would}removed"));
        recovery.unclaimed.iter().for_each(|path| session.ui.line(&format!("  {}", shown(path))));
    }
}

fn print_lost(session: &mut Session<'_>, lost: &Lost) {
    for (checkpoint, why) in &lost.checkpoints {
        session.ui.line(&format!("lost: checkpoint {checkpoint}: {}", shown(why)));
    }
    for lost in &lost.versions {
        let (id, why) = (shown(lost.id.as_str()), lost.why.to_string());
        session.ui.line(&format!("lost: {id} version {}: {}", lost.version, shown(&why)));
    }
    if lost.left_out.count() > 0 {
        let files = count(lost.left_out.count(), "file");
        session.ui.note(&format!(
            "warning: git leaves {files} of the vault out of the working copy (a sparse checkout)"
        ));
        session.ui.note(&format!("hint: {NOT_SPARSE}"));
    }
    if !lost.versions.is_empty() || !lost.checkpoints.is_empty() {
        session
            .ui
            .note("hint: restore what is lost from git or a backup; `ctx verify` reports more");
    }
}
