//! `ctx ci`.

mod summary;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::color::Paint;
use super::format::{self, FormatArg};
use super::session::Session;
use super::ui::shown;
use super::{Answer, validate, verify};
use crate::files::vault::Vault;
use crate::prove::verify::{self as verifier, AnchorSource, Report};
use crate::read::snapshot::Snapshot;
use crate::record::checkpoint::state::PublishedSet;
use crate::service::report::checkpoint::StateDiffReport;
use crate::service::report::checks::Checked;
use crate::service::report::ci::{BaseReport, CiReport};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::problem::ValidateReport;
use crate::service::report::verify::VerifyReport;
use crate::service::workspace::ci::changes::{Unpublished, unpublished};
use crate::service::workspace::ci::{self, Given};
use crate::service::workspace::validate::{LISTED, validate as problems_of};
use crate::values::model::number::CheckpointNumber;

/// Validate and verify a vault in a job of continuous integration
///
/// Runs `ctx validate`, and `ctx verify` with the base of the job as its anchor. The base comes from
/// the variables of GitHub Actions or GitLab CI. For a pull request, a merge request or a push to
/// another branch, it is the merge base with the target branch, as with --since-fork. For a push to
/// the default branch, it is the commit before the push, as with --since. The trusted head of the
/// machine is neither read nor updated.
///
/// If git lacks the base, as in a shallow clone, the command fails. It also fails if the event that
/// started the job has no base.
///
/// The summary in Markdown lists what was published since the base, what is not yet published, its
/// reviewers and sizes, and the findings. On GitHub it is added to the summary of the step.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 intact and without errors (notes and warnings allowed), 1 otherwise.\n\n\
Examples:\n  ctx ci --since origin/main\n  ctx ci --since-fork origin/main --summary summary.md"
)]
pub(super) struct Ci {
    /// Compare with this git revision, as `ctx verify --since` does
    #[arg(long, value_name = "REVISION")]
    since: Option<String>,
    /// Compare with the merge base with this revision
    #[arg(long, value_name = "REVISION", conflicts_with = "since")]
    since_fork: Option<String>,
    /// Exit 0 if only live files differ
    #[arg(long)]
    allow_drift: bool,
    /// Write the summary to this file [default on GitHub: $GITHUB_STEP_SUMMARY]
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) fn run(args: &Ci, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let format = args.format.chosen(false, session.ui.json)?;
    let vault = session.vault()?.with_state(None);
    let given = args.since.as_deref().map(Given::Since);
    let given = given.or_else(|| args.since_fork.as_deref().map(Given::Fork));
    let anchor = ci::anchor(&session.workspace, &vault, given)?;
    let base = anchor.as_ref().and_then(ci::commit_of).map(|(revision, commit)| BaseReport {
        revision: revision.to_owned(),
        commit: commit.to_owned(),
    });
    if base.is_none() {
        session.ui.note("note: the first push has no base, so the log was not compared");
    }
    let (checked, found) = problems_of(&session.workspace, (&vault, &vault), &[], LISTED)?;
    let problems = ValidateReport::new(checked, &found, session.ui.spell());
    let request = session.workspace.verification(&vault, &[], anchor.into_iter().collect())?;
    let verified = verifier::verify(&vault, &request)?;
    let passes = verified.passes(args.allow_drift) && problems.errors == 0;
    let answer = if passes { Answer::Yes } else { Answer::No };
    let checks = [
        Checked::of_problems(&problems),
        Checked::of_findings(&verified, args.allow_drift, session.ui.spell()),
    ];
    let states = states(session, &vault, &verified);
    let commit = base.as_ref().map(|base| base.commit.as_str());
    let unpublished =
        session.log(&vault).and_then(|log| unpublished(&session.workspace, (&vault, &log), commit));
    let (unpublished, unknown) = match unpublished {
        Ok(found) => (found, None),
        Err(why) => (Unpublished::default(), Some(why.message)),
    };
    let published = states.as_ref().map_or_else(Vec::new, |[before, after]| {
        let all = StateDiffReport::new((before.0, &before.1), (after.0, &after.1)).changes;
        all.into_iter().filter(|change| !change.id.is_chain()).collect()
    });
    session.recording.listed = Some(published.len() + unpublished.changed.len());
    let report = CiReport {
        base,
        problems,
        verification: VerifyReport::new(&verified, true),
        published,
        unpublished: unpublished.changed,
        unchanged: unpublished.unchanged,
        unknown,
    };
    match format {
        Some(format) => format::print(session, &vault, format, &checks),
        None if session.ui.json => session.ui.report(&report),
        None => text(session, &report, &verified),
    }
    // What leaves in the summary is recorded before it.
    session.record(None)?;
    let markdown = || summary::markdown(&report, &checks, passes);
    let on_github = || session.workspace.environment.var("GITHUB_STEP_SUMMARY").map(PathBuf::from);
    let written = match (&args.summary, on_github()) {
        (Some(path), _) => write(session, path, &markdown(), false),
        (None, Some(path)) => write(session, &path, &markdown(), true),
        (None, None) => Ok(()),
    };
    written.inspect_err(|_| session.ui.discard())?;
    Ok(answer)
}

/// Returns the numbers and the contents of the checkpoints at the base and now, without what the
/// reader may not know; `None` if the log does not begin with that of the base.
fn states(
    session: &mut Session<'_>,
    vault: &Vault,
    verified: &Report,
) -> Option<[(CheckpointNumber, PublishedSet); 2]> {
    let held = verified.anchors.iter().find(|held| {
        matches!(held.source, AnchorSource::Revision { .. } | AnchorSource::MergeBase { .. })
    })?;
    let log = session.log(vault).ok()?;
    let chronicle = log.sound().ok()?;
    let at = |number: CheckpointNumber| match number {
        CheckpointNumber::NONE => Some((number, PublishedSet::default())),
        number => {
            let at = Snapshot::at(vault, &chronicle, Some(number)).ok()?;
            Some((number, at.state().ok()?.clone()))
        }
    };
    Some([at(held.checkpoint)?, at(chronicle.head_number())?])
}

fn text(session: &mut Session<'_>, report: &CiReport<'_>, verified: &Report) {
    if let Some(base) = &report.base {
        let commit = base.commit.get(..12).unwrap_or(&base.commit);
        session.ui.line(&format!("base: {} ({commit})", shown(&base.revision)));
    }
    validate::text(&mut session.ui, &report.problems, false);
    verify::text::report(&mut session.ui, verified, true);
    for (heading, rows) in summary::lists(report) {
        session.ui.line("");
        session.ui.painted(Paint::Heading, &format!("{heading}:"));
        let rows = rows.iter().map(|row| row.iter().map(|cell| shown(cell).into_owned()).collect());
        session.ui.table(&rows.collect::<Vec<Vec<String>>>());
    }
    summary::rest(report).iter().for_each(|line| session.ui.line(&shown(line)));
}

/// Writes a summary to a file, or adds it to the end.
fn write(session: &Session<'_>, path: &Path, text: &str, adds: bool) -> Result<(), Failure> {
    let path = session.workspace.environment.cwd.join(path);
    let opened = match adds {
        true => OpenOptions::new().create(true).append(true).open(&path),
        false => OpenOptions::new().create(true).write(true).truncate(true).open(&path),
    };
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|why| {
        let path = path.display();
        Failure::new(Code::Io, format!("cannot write the summary to `{path}`: {why}"))
    })
}
