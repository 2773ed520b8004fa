//! `ctx stage gc` and `ctx stage erase`.

use super::name;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::front::cli::{Answer, Locking};
use crate::service::report::failure::Failure;
use crate::service::report::staging::{StagedEraseReport, StagedGcReport};
use crate::values::text_util::count;

/// Collect staged entries past their retention
///
/// Pinned and promoted entries stay. The line of a collected entry stays, and its content is
/// removed with the last entry that shares it. If a command was interrupted before it removed a
/// content, or with --unclaimed, contents that no entry claims are removed, too. With --dry-run
/// nothing is written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx stage gc --dry-run")]
pub(super) struct Gc {
    /// Search all contents for those that no entry claims
    #[arg(long)]
    unclaimed: bool,
    /// Show what would be collected; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    locking: Locking,
}

/// Remove a staged content at once, as personal data may require
///
/// Ends every entry that shares the content, whatever its retention, and keeps their lines with the
/// reason. It is refused if a document contains the content. Commits of git that still contain the
/// file are named: `ctx` does not rewrite them. In a governed vault it needs the role reviewer at
/// the scope of the source, and ends only entries of sources at whose scopes the principal has it.
/// Entries of other sources that share the content keep it, and are never named: only a reviewer at
/// every scope is told that the content is gone, and which commits contain it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx stage erase 0a1b2c3d-17 --reason 'holds a home address'")]
pub(super) struct Erase {
    /// URI of the staged entry, or only its last part: `0a1b2c3d-17`
    #[arg(value_name = "ENTRY")]
    entry: String,
    /// Reason; it is part of the record, so it must not repeat the content
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Show what would be erased; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn gc(args: &Gc, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let collected = session.workspace.collect_staged(&vault, (args.unclaimed, !args.dry_run))?;
    let uris: Vec<String> = collected.entries.iter().map(|one| one.name().to_string()).collect();
    if session.ui.json {
        let (dry_run, files) = (args.dry_run, collected.files);
        session.ui.report(&StagedGcReport { dry_run, collected: uris, files });
        return Ok(Answer::Yes);
    }
    for entry in &collected.entries {
        let until = &entry.entry.retention_until;
        session.ui.line(&format!("{}, kept until {until}", entry.name()));
    }
    let verb = if args.dry_run { "would be collected" } else { "collected" };
    let entries = count(uris.len(), "staged entry");
    session.ui.note(&match collected.files {
        _ if uris.is_empty() && collected.files.is_none_or(|files| files == 0) => {
            "nothing to collect: no entry that you may see is past its retention".to_owned()
        }
        Some(files) => format!("{entries} {verb}, with {}", count(files, "file")),
        None => format!("{entries} {verb} of those that you may see"),
    });
    Ok(Answer::Yes)
}

pub(super) fn erase(args: &Erase, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let name = name(&args.entry)?;
    let reason = crate::front::cli::trace::reason(&args.reason)?;
    let erased = session.workspace.erase_staged(&vault, &name, (&reason, !args.dry_run))?;
    let uris: Vec<String> = erased.entries.iter().map(|one| one.name().to_string()).collect();
    let report = StagedEraseReport {
        dry_run: args.dry_run,
        erased: uris,
        everywhere: erased.is_everywhere,
        commits: erased.commits,
        more_commits: erased.more,
        git: erased.unknown,
    };
    session.print(&report, |session, report| {
    let verb = if args.dry_run { "would be erased" } else { "erased" };
    report.erased.iter().for_each(|uri| session.ui.line(&format!("{verb}: {uri}")));
    if report.erased.is_empty() {
        session.ui.line(&format!("is erased already: {name}"));
    }
    if !erased.is_everywhere {
        let stays = if args.dry_run { "would stay" } else { "stays" };
        session.ui.note(&format!(
            "warning: you are not a reviewer at every scope, and the content {stays} where an entry \
             of another source shares it; a reviewer at every scope erases it everywhere"
        ));
        if erased.in_git {
            let path = &erased.path;
            session.ui.note(&format!(
                "warning: git may contain it: `git log --all -- {path}` in the vault's folder shows it"
            ));
        }
    }
    if let Some(why) = &report.git {
        let why = shown(why).into_owned();
        session.ui.note(&format!("warning: it is unknown whether git contains the content: {why}"));
    }
    for commit in &report.commits {
        session.ui.note(&format!("warning: the git commit {commit} contains the content"));
    }
    if erased.more {
        session.ui.note("warning: further commits contain it");
    }
    });
    Ok(Answer::Yes)
}
