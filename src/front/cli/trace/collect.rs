//! `ctx trace collect`.

use std::path::{Path, PathBuf};

use crate::files::vault::outside;
use crate::front::cli::Answer;
use crate::front::cli::color::Paint;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::record::audit::{Collection, HeadRef, folder_with_logs};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::trace::{CollectedRow, TraceCollectReport};
use crate::values::model::number::CheckpointNumber;
use crate::values::text_util::count;

/// Copy the logs of several machines into one folder
///
/// Each DIR has the log files of one vault, like the folder in `contextnest/audit` of a user's
/// state directory, or contains that folder; or it is a vault that keeps its accesses. A log is
/// copied if every hash and chain in it is valid, and no line names a checkpoint with another hash
/// than this vault. Run the command again to copy new lines: a copy only grows. Lines that `ctx
/// trace prune` deleted from a source stay in the copy. If the copy has other lines that its source
/// no longer has, that is reported (`audit-rollback`), and the copy stays as it is. The same
/// applies to logs of two machines that were made from one image with a state directory in it: both
/// continue one log. Collect each of these into a folder of its own. If no source has a log of a
/// writer in the folder, its copies are not compared, and a note says so: the log may be of a
/// machine that you did not name, or deleted. Exit code 1 if a log was refused. `--logs` of the
/// other commands reads the folder.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx trace collect /mnt/a/audit /mnt/b/audit --into ../logs\n  \
ctx trace verify --logs ../logs"
)]
pub(super) struct Collect {
    /// Folders with logs
    #[arg(required = true, value_name = "DIR")]
    sources: Vec<PathBuf>,
    /// Folder of the copies; made if it does not exist
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
}

pub(super) fn run(args: &Collect, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.workspace.vault()?;
    let cwd = &session.workspace.environment.cwd;
    let into = cwd.join(&args.into);
    if outside::lies_in(&into, vault.root()) {
        let message = format!("`{}` is in the vault", into.display());
        return Err(Failure::new(Code::Usage, message).hint("name a folder outside of it"));
    }
    let own = session.workspace.access_logs(&vault).ok().and_then(|logs| logs.folder);
    let key = outside::key_of(vault.root());
    let key = key.trim_end_matches('-');
    let mut sources = Vec::new();
    for dir in &args.sources {
        let dir = cwd.join(dir);
        let found = folder_with_logs(&dir, key);
        let (source, others) = found.map_err(|why| failed("read", &dir, &why))?;
        sources.push(source);
        if others > 0 {
            let (dir, others) = (dir.display().to_string(), count(others, "other folder"));
            session.ui.note(&format!(
                "note: {} has the logs of {others}, of other vaults or other clones of this one, which are not collected; name a folder to collect it",
                shown(&dir)
            ));
        }
    }
    if let Some(same) = sources.iter().chain(&own).find(|dir| is_same(dir, &into)) {
        let message = format!("`{}` has the logs of a machine, not copies", same.display());
        return Err(Failure::new(Code::Usage, message).hint("name another folder with `--into`"));
    }
    let log = session.log(&vault)?;
    let chronicle = log.sound()?;
    let contradicted = |head: &HeadRef| {
        let checkpoint = chronicle.checkpoint(CheckpointNumber(head.checkpoint));
        checkpoint.is_ok_and(|checkpoint| head.hash.parse() != Ok(checkpoint.hash))
    };
    let collection = Collection::open(&into, session.workspace.cuts(&vault))
        .map_err(|why| failed("write to", &into, &why))?;
    let mut files = Vec::new();
    for source in &sources {
        let mut report = |collected| files.push(CollectedRow::new(source, &collected));
        let added = collection.add(source, &contradicted, &mut report);
        added.map_err(|why| failed("copy the logs in", source, &why))?;
    }
    let absent = collection.absent(&sources).map_err(|why| failed("read", &into, &why))?;
    let report = TraceCollectReport {
        folder: into.display().to_string(),
        files,
        absent: absent.iter().map(ToString::to_string).collect(),
    };
    print(&report, session);
    let is_refused = report.files.iter().any(|file| file.fault.is_some());
    Ok(if is_refused { Answer::No } else { Answer::Yes })
}

fn failed(action: &str, dir: &Path, why: &std::io::Error) -> Failure {
    Failure::new(Code::Io, format!("cannot {action} `{}`: {why}", dir.display()))
}

fn is_same(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

fn print(report: &TraceCollectReport, session: &mut Session<'_>) {
    if session.ui.json {
        return session.ui.report(report);
    }
    for CollectedRow { source, file, fault, .. } in &report.files {
        let Some(fault) = fault else { continue };
        let (source, file, message) = (shown(source), shown(file), shown(&fault.message));
        let place = format!("{source}/{file}:{}", fault.line);
        session.ui.painted(Paint::Bad, &format!("{}: {place}: {message}", fault.code));
    }
    let of =
        |outcome: &str| report.files.iter().filter(|file| file.outcome.as_str() == outcome).count();
    let files = count(report.files.len(), "file");
    let outcomes = ["new", "extended", "unchanged", "refused"]
        .map(|outcome| format!("{} {outcome}", of(outcome)));
    session.ui.line(&format!("{files}: {}", outcomes.join(", ")));
    if !report.absent.is_empty() {
        let writers = count(report.absent.len(), "writer");
        session.ui.note(&format!(
            "note: the folder has copies of {writers} of whom no source has a log, so they were not compared (`--json` lists them)"
        ));
    }
}
