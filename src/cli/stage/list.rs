//! `ctx stage list`.

use super::warn_of_damage;
use crate::cli::Answer;
use crate::cli::session::Session;
use crate::cli::ui::shown;
use crate::report::failure::Failure;
use crate::report::staging::{StagedListReport, StagedReport};
use crate::resolve::{Need, Snapshot};
use crate::words::count;
use crate::workspace::source::no_source;
use crate::workspace::staging::Listed;

/// List staged entries, the oldest first
///
/// Ended entries are listed with --all. `--session` names the session whose entries are listed; in a
/// governed vault who is no editor or reviewer of a source sees entries only with it.
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
    let source = source.map(|id| session.workspace.readable_id(&vault, id)).transpose()?;
    let of_session = match session.labels.session_implicit || args.every_session {
        true => None,
        false => session.labels.session.as_deref(),
    };
    let listed = Listed { source: source.as_ref(), session: of_session, ended: args.all };
    let view = session.workspace.staged_listed(&vault, &session.labels, listed)?;
    let mut visible = view.visible();
    visible.retain(|entry| {
        (args.all || entry.is_live())
            && of_session.is_none_or(|session| entry.entry.session.as_deref() == Some(session))
    });
    let elsewhere = view.own_elsewhere(source.as_ref());
    let damaged = view.damaged().filter(|id| source.as_ref().is_none_or(|source| *id == source));
    let answer = warn_of_damage(session, damaged);
    session.recording.listed = Some(visible.len());
    let staged: Vec<StagedReport> =
        visible.into_iter().map(|entry| StagedReport::of(entry, view.is_own(entry))).collect();
    if let Some(source) = source.filter(|_| staged.is_empty()) {
        let checkpoints = session.source(&vault, Need::Versions)?;
        let head = Snapshot::of(&vault, &checkpoints, None)?;
        no_source(&head, &source).map_or(Ok(()), Err)?;
    }
    if session.ui.json {
        session.ui.report(&StagedListReport { staged, own_elsewhere: elsewhere });
        return Ok(answer);
    }
    if staged.is_empty() {
        session.ui.note("note: no staged entry that you may see");
    }
    session.ui.table(&staged.iter().map(row).collect::<Vec<_>>());
    if elsewhere > 0 {
        let what = count(elsewhere, "staged entry");
        session.ui.note(&format!(
            "note: {what} of yours in other sessions: name the session with `--session` to see more"
        ));
    }
    Ok(answer)
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
        count(usize::try_from(staged.bytes).unwrap_or(usize::MAX), "byte"),
    ]
}
