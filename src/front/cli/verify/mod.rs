//! `ctx verify`.

pub(super) mod text;

use super::format::{self, FormatArg};
use super::session::Session;
use super::ui::shown;
use super::{Answer, progress};
use crate::prove::verify::verify;
use crate::service::report::checks::Checked;
use crate::service::report::failure::Failure;
use crate::service::report::verify::VerifyReport;
use crate::service::workspace::git_index::staged;
use crate::service::workspace::revision;

/// Recompute every hash and report all alterations
///
/// Reads the whole vault: recomputes the hash of every version and checkpoint, rebuilds every
/// version, and compares every live file. Nothing is repaired. The files alone cannot show that the
/// log was truncated or replaced as a whole. That takes a checkpoint hash from elsewhere: the
/// trusted head of this machine (`ctx head`), --expect-head, or --since. The verdict names its
/// anchor. An intact vault updates the trusted head.
///
/// --since is strict, for servers: the log must have every checkpoint of REVISION. --since-fork is
/// for branches, which may be behind REVISION: it compares with the merge base of HEAD and
/// REVISION, reports how many checkpoints the branch is behind, and anchors nothing. Both report
/// lines of the logs in `.context/audit` and of staged results that were there and are gone.
///
/// --staged is for hooks: it checks what git would commit, in a copy. It ignores files that are not
/// staged, and the trusted head, which may be ahead of the commit.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 intact (notes allowed), 1 damaged, unsettled or drifted.\n\n\
Examples:\n  ctx verify\n  ctx verify --allow-drift --json\n  ctx verify nodes/policies/returns\n  \
ctx verify --expect-head sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef\n  \
ctx verify --quiet --since origin/main\n  ctx verify --staged --since HEAD\n  ctx verify --format sarif > findings.sarif"
)]
pub(super) struct Verify {
    /// Check only these documents or governance files, and the log
    ids: Vec<String>,
    /// Exit 0 if only live files differ
    #[arg(long)]
    allow_drift: bool,
    /// Require a checkpoint with this hash, as `ctx head` prints it
    #[arg(long, value_name = "HASH")]
    expect_head: Vec<String>,
    /// Require that the logs begin with those of this git revision
    #[arg(long, value_name = "REVISION")]
    since: Vec<String>,
    /// Require the logs of the merge base with this revision
    #[arg(long, value_name = "REVISION")]
    since_fork: Vec<String>,
    /// Accept an expected head or a revision that was merged, instead of continued
    #[arg(long)]
    allow_merged: bool,
    /// Check the files that are staged in git instead of those in the folder
    #[arg(long)]
    staged: bool,
    /// Neither read nor update the trusted head of this machine
    #[arg(long)]
    no_trusted_head: bool,
    #[command(flatten)]
    format: FormatArg,
    /// Print SARIF 2.1.0, as `--format sarif` does
    #[arg(long, conflicts_with = "format")]
    sarif: bool,
    /// Print nothing if the exit code is 0
    #[arg(long, short)]
    quiet: bool,
}

/// The reason for most findings about staged files.
pub(super) const PARTLY_STAGED: &str = "hint: only staged files were checked; if a publication is staged in part, \
                             `git add` the vault's folder stages all of it";

pub(super) fn run(args: &Verify, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let format = args.format.chosen(args.sarif, session.ui.json)?;
    let vault = session.vault()?;
    let workspace = &session.call.workspace;
    let vault = if args.no_trusted_head { vault.with_state(None) } else { vault };
    let copy = args.staged.then(|| staged(workspace, &vault)).transpose()?;
    let checked = copy.as_ref().map_or(&vault, |copy| &copy.vault);
    let mut request = workspace.verification(checked, &args.ids, Vec::new())?;
    request.allow_merged = args.allow_merged;
    for hash in &args.expect_head {
        request.anchors.push(revision::expected(hash)?);
    }
    for revision in &args.since {
        request.anchors.push(revision::revision(workspace, &vault, revision)?);
    }
    for revision in &args.since_fork {
        request.anchors.push(revision::merge_base(workspace, &vault, revision)?);
    }
    let whole = request.only.is_none();
    let report = match args.quiet {
        true => verify(checked, &request)?,
        false => progress::watch(session, checked, || verify(checked, &request))?,
    };
    let answer = if report.passes(args.allow_drift) { Answer::Yes } else { Answer::No };
    let trust_error = report.trust_error.as_ref().map(|why| format!("warning: {why}"));
    if args.quiet && answer == Answer::Yes {
        // Nothing was compared with a trusted head that cannot be read.
        trust_error.iter().for_each(|warning| session.ui.note(warning));
        return Ok(answer);
    }
    session.warn_of_clones(&vault, &report.ids);
    if copy.as_ref().is_some_and(|copy| copy.is_empty) {
        session.ui.note("note: no file of this vault is staged");
    }
    if copy.is_some() && answer != Answer::Yes {
        session.ui.note(PARTLY_STAGED);
    }
    trust_error.iter().for_each(|warning| session.ui.note(warning));
    if let Some(format) = format {
        let checked = Checked::of_findings(&report, args.allow_drift, session.ui.spell());
        format::print(session, &vault, format, &[checked]);
    } else if session.ui.json {
        session.ui.report(&VerifyReport::new(&report, whole));
    } else {
        text::report(&mut session.ui, &report, whole);
    }
    if copy.is_none()
        && let Some(hint) = session.workspace.restoring(&vault, &report.findings)
    {
        session.ui.note(&shown(&hint));
    }
    Ok(answer)
}
