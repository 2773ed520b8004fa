//! `ctx stage list`.

use crate::cli::Answer;
use crate::cli::session::Session;
use crate::cli::ui::shown;
use crate::report::failure::Failure;
use crate::report::staging::{StagedListReport, StagedReport};

/// List staged entries, the oldest first
///
/// Ended entries are listed with --all. `--session` names the session whose entries are listed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx stage list --source sources/prices --all")]
pub(super) struct List {
    /// List only the entries of this source, by id or file
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// List also entries whose content is gone
    #[arg(long)]
    all: bool,
    /// List the entries of every session, also with CTX_SESSION
    #[arg(long)]
    every_session: bool,
}

pub(super) fn run(args: &List, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = args.source.as_ref();
    let source = source.map(|id| session.workspace.recorded_id(&vault, id)).transpose()?;
    let view = session.workspace.staged(&vault, &session.labels)?;
    let of_session = match session.labels.session_implicit || args.every_session {
        true => None,
        false => session.labels.session.as_deref(),
    };
    let mut visible = view.visible();
    visible.retain(|entry| {
        (args.all || entry.is_live())
            && source.as_ref().is_none_or(|source| entry.source == *source)
            && of_session.is_none_or(|session| entry.entry.session.as_deref() == Some(session))
    });
    session.recording.listed = Some(visible.len());
    let staged: Vec<StagedReport> =
        visible.into_iter().map(|entry| StagedReport::of(entry, view.is_own(entry))).collect();
    if session.ui.json {
        session.ui.report(&StagedListReport { staged });
        return Ok(Answer::Yes);
    }
    if staged.is_empty() {
        session.ui.note("note: no staged entry that you may see");
    }
    session.ui.table(&staged.iter().map(row).collect::<Vec<_>>());
    Ok(Answer::Yes)
}

/// An entry as a row of a table.
pub(in crate::cli) fn row(staged: &StagedReport) -> Vec<String> {
    let text = |text: &str| shown(text).into_owned();
    vec![
        text(&staged.uri),
        staged.state.to_owned(),
        text(&staged.at),
        text(staged.principal.as_deref().unwrap_or("-")),
        text(staged.session.as_deref().unwrap_or("-")),
        crate::words::count(usize::try_from(staged.bytes).unwrap_or(usize::MAX), "byte"),
    ]
}
