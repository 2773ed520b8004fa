//! `ctx trace output`, and the inputs of an output in `ctx trace show`.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::read::snapshot::Need;
use crate::record::audit::{self, Event, Line, Logs, Produced};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::trace::{BeforeReport, OutputReport};
use crate::service::workspace::recording::of_log;
use crate::values::text_util::count;

/// Record the hash of the output of an agent in a session
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx trace output --session s-42 answer.md\n  \
ctx trace output --session s-42 --model small-1 < answer.md")]
pub(super) struct OutputArgs {
    /// File with the output; `-` or nothing for standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Record this model as the maker of the output
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

pub(super) fn run(args: &OutputArgs, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let labels = session.workspace.labels()?;
    if labels.session_implicit {
        return Err(Failure::new(Code::Usage, "an output needs the session that produced it")
            .hint("name the session of the accesses before it, with `--session` or CTX_SESSION"));
    }
    if let Some(Err(why)) = args.model.as_deref().map(audit::check_label) {
        return Err(Failure::new(Code::Usage, format!("the name of `--model` {why}")));
    }
    let vault = session.vault()?;
    let produced = read(args, session)?;
    // An output is recorded whatever the state of the checkpoint log.
    if session.source(&vault, Need::Versions).is_err() {
        session.ui.note("warning: the checkpoints cannot be read, so the head is not recorded");
    }
    let named = labels.session.clone().unwrap_or_default();
    let recording = &session.recording;
    let stated = Event::Output(produced.clone());
    let recorded = session.workspace.record_stated(recording, labels, stated);
    let trace = recorded
        .map_err(|why| Failure::new(Code::Io, format!("the output was not recorded: {why}")))?
        .to_string();
    session.print(&OutputReport { trace, session: named, produced }, |session, report| {
        session.ui.line(&report.trace);
    });
    Ok(Answer::Yes)
}

fn read(args: &OutputArgs, session: &mut Session<'_>) -> Result<Produced, Failure> {
    let model = args.model.clone();
    let Some(path) = args.file.as_deref().filter(|path| *path != Path::new("-")) else {
        return Produced::read(session.stdin, model)
            .map_err(|why| Failure::new(Code::Io, format!("cannot read standard input: {why}")));
    };
    let opened = File::open(session.workspace.environment.cwd.join(path));
    opened
        .and_then(|mut file| Produced::read(&mut file, model))
        .map_err(|why| Failure::new(Code::Io, format!("cannot read `{}`: {why}", path.display())))
}

/// Returns the accesses and hydrations of the session of an output before it.
pub(super) fn before(
    session: &mut Session<'_>,
    all: &[Logs],
    output: &Line,
) -> Result<BeforeReport, Failure> {
    let (mut accesses, mut faults) = (Vec::new(), Vec::new());
    for logs in all {
        let (found, broken) = of_log(audit::before(logs, output))?;
        accesses.extend(found);
        faults.extend(broken);
        super::note_pruned(session, logs, None);
    }
    accesses.sort_by(|a, b| a.at.cmp(&b.at));
    super::warn_of(session, &faults);
    Ok(BeforeReport { count: accesses.len(), accesses })
}

/// Prints the accesses and hydrations before an output.
pub(super) fn list(session: &mut Session<'_>, before: &BeforeReport) {
    let hydrations = before.accesses.iter().filter(|access| access.result.is_some()).count();
    let mut what = count(before.count - hydrations, "access");
    if hydrations > 0 {
        what.push_str(&format!(" and {}", count(hydrations, "hydration")));
    }
    session.ui.line(&format!("\n  {what} of the session before it"));
    let rows = before.accesses.iter().map(|access| {
        let texts = match &access.result {
            Some(of) => format!("{} {}", shown(&of.source), shown(&of.result_hash)),
            None => count(usize::try_from(access.texts).unwrap_or(usize::MAX), "text"),
        };
        let bound = if access.is_bound { "" } else { "in another log: before it by its time only" };
        vec![format!("  {}", access.trace), access.at.clone(), texts, bound.to_owned()]
    });
    session.ui.table(&rows.collect::<Vec<_>>());
}
