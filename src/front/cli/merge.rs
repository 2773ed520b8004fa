//! `ctx merge`, and the merge driver of git.

use std::path::PathBuf;

use super::choice::choice;
use super::session::Session;
use super::ui::shown;
use super::{Answer, Locking};
use crate::exchange::merge::merge;
use crate::exchange::merge::take::{Sides, Take};
use crate::record::checkpoint::merge::Conflict;
use crate::service::report::failure::Failure;
use crate::service::report::merge::{CarriedReport, ConflictReport, EntryReport, MergeReport};
use crate::service::workspace::merging;
use crate::values::model::layout;
use crate::values::text_util::{argument, count};

/// Merge the checkpoint logs of two branches that both published
///
/// Run it while `git merge`, `git rebase` or `git cherry-pick` waits because of a conflict in
/// .versions/checkpoints.jsonl. It reads both sides from git and writes one log: the checkpoints
/// of the trunk keep their numbers, those of the branch stay under their hashes, and a new
/// checkpoint joins them. Every version keeps its number, author, time and text. The result is
/// verified before anything is written.
///
/// A document that both branches published keeps the version of the trunk. The history of the
/// branch is kept aside, in `.versions`, and --take decides which text the live file gets. Publish
/// or submit the document then. In a governed vault the merge carries what was approved on the
/// branch, unless one of the branches changed the rules in the meantime.
///
/// The trunk is the branch that `contextnest.trunk` of git's configuration names, else the main
/// branch of `origin`, else `main` or `master`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 settled, 1 documents are in conflict, or nothing was merged.\n\n\
Examples:\n  git merge topic\n  ctx merge --dry-run\n  ctx merge\n  git add -A && git commit\n  \
ctx merge --take both nodes/policies/returns\n  ctx merge --take trunk nodes/policies/..."
)]
pub(super) struct Merge {
    /// Documents in conflict whose live files get a text: ids, or `FOLDER/...`
    #[arg(value_name = "ID", requires = "take")]
    ids: Vec<String>,
    /// Write the live files of these documents: the text of the trunk, that of the branch, or the
    /// changes of both
    #[arg(long, requires = "ids", value_name = "SIDE", value_parser = choice([("trunk", Take::Trunk), ("branch", Take::Branch), ("both", Take::Both)]))]
    take: Option<Take>,
    /// Show what would be merged; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Merge, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let holder = session.workspace.holder()?;
    let (merging, request) = merging::sides(&session.workspace, &vault, &holder, args.dry_run)?;
    let merged = merge(&vault, &request)?;
    let sides = Sides::of(&vault, &request.vaults, merged.trunk);
    let mut report = MergeReport::new(&merged, &merging.names, &sides, args.dry_run);
    if let Some(which) = args.take {
        let chosen = merging::chosen(&merged.conflicts, &args.ids)?;
        if !args.dry_run {
            merging::take_texts(&sides, &chosen, which, &mut report)?;
        }
    }
    merging::settle(&vault, &merged.conflicts, &mut report);
    session.print(&report, |session, report| print(session, report, args.dry_run));
    let open: Vec<&ConflictReport> = report.open().collect();
    let marked = match args.dry_run {
        true => Vec::new(),
        false => merging::marked(&session.workspace, &vault),
    };
    if !session.ui.json {
        for path in &marked {
            session.ui.note(&format!("`{}` has conflict markers: edit it", shown(path)));
        }
    }
    if !args.dry_run && !session.ui.json {
        if let Some(why) = &merged.not_followed {
            session.ui.note(&format!("warning: {}; run `ctx index`", shown(why)));
        }
        let publish = if merged.is_governed { "submit" } else { "publish" };
        next(session, &open, publish, merging.next());
    }
    Ok(if open.is_empty() && marked.is_empty() { Answer::Yes } else { Answer::No })
}

/// Says what to type next.
fn next(session: &mut Session<'_>, open: &[&ConflictReport], publish: &str, then: &str) {
    let Some(first) = open.first() else {
        session.ui.note(&format!("next: {then}"));
        return;
    };
    let id = shown(&argument(first.id.as_str())).into_owned();
    session.ui.note(&match first.settled {
        Some(_) => {
            format!("next: edit the conflict markers in {id}, then `ctx {publish} {id}`, {then}")
        }
        None => format!(
            "next: `ctx merge --take trunk|branch|both {id}`, `ctx {publish} {id}`, then {then}"
        ),
    });
}

fn print(session: &mut Session<'_>, report: &MergeReport, dry_run: bool) {
    let [trunk, branch] =
        [&report.trunk, &report.branch].map(|side| shown(&side.name).into_owned());
    let side = count(usize::try_from(report.side_checkpoints).unwrap_or(usize::MAX), "checkpoint");
    session.ui.line(&format!(
        "trunk: {trunk}, up to checkpoint {}; branch: {branch}, {side} since checkpoint {}",
        report.trunk.checkpoint, report.base
    ));
    let would = if dry_run { "would merge" } else { "merges" };
    match report.checkpoint {
        _ if report.done => session.ui.line("the log was merged already"),
        None => session.ui.line("one log goes on from the other; nothing has to be merged"),
        Some(number) => {
            let carried: Vec<String> = report.carried.iter().map(carried).collect();
            let what = match carried.is_empty() {
                true => "no version".to_owned(),
                false => carried.join(", "),
            };
            session.ui.line(&format!("checkpoint {number} {would} them: {what}"));
        }
    }
    for one in &report.conflicts {
        let line = conflict(one);
        session.ui.line(&line);
    }
}

fn carried(one: &CarriedReport) -> String {
    let id = shown(one.id.as_str()).into_owned();
    match one.version {
        Some(version) => format!("{id} v{version}"),
        None => format!("{id} retired"),
    }
}

fn conflict(one: &ConflictReport) -> String {
    let side = |name: &str, entry: Option<&EntryReport>| match entry {
        None => format!("{name}: none"),
        Some(entry) => {
            let retired = if entry.retired { " (retired)" } else { "" };
            format!("{name}: v{}{retired} by {}", entry.version, shown(&entry.edited_by))
        }
    };
    let why = match one.why {
        Conflict::BothChanged => "",
        Conflict::Event => "; changed together with another document in conflict",
        Conflict::Approval => "; its approval does not hold on the trunk",
        Conflict::History => "; both sides reviewed it: the steps of the branch are kept aside",
    };
    let settled = match one.settled {
        None => "",
        Some(true) => "; settled",
        Some(false) => "; it has conflict markers",
    };
    let sides = [side("trunk", one.trunk.as_ref()), side("branch", one.branch.as_ref())];
    format!("conflict: {} ({}){why}{settled}", shown(one.id.as_str()), sides.join(", "))
}

/// Merge one file, for git
///
/// Git calls it for the files that `.gitattributes` gives `merge=ctx`, if the driver is registered.
/// %A gets the result. A log or a history that needs a decision gets conflict markers, with exit
/// code 1, and `ctx merge` settles it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  git config merge.ctx.driver 'ctx merge-driver %O %A %B %P'")]
pub(super) struct MergeDriver {
    /// The common version, %O
    base: PathBuf,
    /// The version of the branch that is checked out, %A
    ours: PathBuf,
    /// The version of the other branch, %B
    theirs: PathBuf,
    /// The path of the file in the repository, %P
    path: String,
}

pub(super) fn drive(args: &MergeDriver, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let files = [&args.base, &args.ours, &args.theirs]
        .map(|path| session.workspace.environment.cwd.join(path));
    let is_merged =
        merging::drive(&session.workspace, files.each_ref().map(PathBuf::as_path), &args.path)?;
    if !is_merged && args.path.contains(layout::VERSIONS) {
        session.ui.note(&format!("`{}` is not merged: run `ctx merge`", shown(&args.path)));
    }
    Ok(if is_merged { Answer::Yes } else { Answer::No })
}
