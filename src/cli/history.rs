//! `ctx history`.

use super::Answer;
use super::session::Session;
use super::ui::{shown, table};
use crate::chain::error::ChainError;
use crate::chain::replay;
use crate::report::failure::Failure;
use crate::report::history::{HistoryReport, VersionReport};
use crate::resolve::Need;

/// List the versions of a document, each verified
///
/// Every hash is recomputed from the stored texts. A note is covered by no hash.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx history nodes/policies/returns\n  \
ctx history nodes/policies/returns --json")]
pub(super) struct History {
    /// Id or file of a document
    id: String,
}

pub(super) fn run(args: &History, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let id = session.workspace.known_id(&vault, &args.id)?;
    let source = session.source(&vault, Need::Versions)?;
    let history = match replay::load(vault.files(), &id) {
        Err(ChainError::HistoryMissing) => return Err(Failure::never_published(&id)),
        other => other?,
    };
    let seals = source.seals(&vault, &id, &history)?;
    let report = HistoryReport::new(vault.files(), &seals, &id, &history);
    match session.ui.json {
        true => session.ui.report(&report),
        false => text(session, &report.versions),
    }
    for line in &report.unreadable {
        session.ui.note(&format!("error: the entry on line {line} is malformed"));
    }
    if report.is_sound() {
        return Ok(Answer::Yes);
    }
    session.ui.note("hint: run `ctx verify` for a full report");
    Ok(Answer::No)
}

fn text(session: &mut Session<'_>, versions: &[VersionReport<'_>]) {
    let row = |v: &VersionReport<'_>| {
        let hash = v.chain_hash.get(7..19).unwrap_or_default();
        let at = v.checkpoint.map_or_else(|| "-".to_owned(), |n| format!("@{n}"));
        vec![
            format!("v{}", v.version),
            v.state.to_owned(),
            at,
            v.stored.to_owned(),
            v.edited_at.clone(),
            shown(v.edited_by).into_owned(),
            hash.to_owned(),
            v.unprotected_note.map_or_else(String::new, |n| format!("({})", shown(n))),
        ]
    };
    let rows: Vec<Vec<String>> = versions.iter().map(row).collect();
    for (row, version) in table(&rows).iter().zip(versions) {
        session.ui.line(row);
        for problem in &version.problems {
            session.ui.line(&format!("    {}", shown(problem)));
        }
    }
}
