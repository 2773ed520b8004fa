//! `ctx history`.

use super::Answer;
use super::limit::{self, Limit};
use super::session::Session;
use super::ui::{shown, table};
use crate::files::vault::Vault;
use crate::read::snapshot::Snapshot;
use crate::record::chain::history::EntryState;
use crate::service::report::failure::Failure;
use crate::service::report::history::{LatestReport, VersionReport};
use crate::service::workspace::call::history;

/// List the versions of a document, each verified, or the latest of all
///
/// With an id, every hash is recomputed from the stored texts, and the newest version is last.
/// Without one, the latest versions of the vault are listed as the log seals them, the newest
/// first. No hash covers a note.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx history -n 5\n  ctx history nodes/policies/returns\n  \
ctx history nodes/policies/returns --json")]
pub(super) struct History {
    /// Id or file of a document; default: the whole vault
    id: Option<String>,
    #[command(flatten)]
    limit: Limit,
}

pub(super) fn run(args: &History, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let Some(id) = &args.id else { return all(session, &vault, args.limit) };
    let id = session.workspace.recorded_id(&vault, id)?;
    let source = session.source(&vault, history::NEED)?;
    let versions = session.ask(|call, _| call.history((&vault, &source), id))?;
    let mut report = versions.report(&vault);
    let is_sound = report.is_sound();
    let omitted = session.cut_history(&mut report, None, args.limit.entries());
    if !session.ui.json {
        text(session, &report.versions);
        limit::note(omitted).iter().for_each(|note| session.ui.note(note));
    }
    for line in &report.unreadable {
        session.ui.note(&format!("error: the entry on line {line} is malformed"));
    }
    for lost in &report.lost {
        session.ui.note(&format!("error: {}", lost.finding));
    }
    if session.ui.json {
        session.ui.report(&limit::report(report, omitted));
    }
    if is_sound {
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
            match (v.state, v.review) {
                (EntryState::Unpublished, Some(review)) => review.to_string(),
                (state, _) => state.as_str().to_owned(),
            },
            at,
            v.stored.as_str().to_owned(),
            v.edited_at.clone(),
            shown(v.edited_by).into_owned(),
            hash.to_owned(),
            [
                reviewed(v),
                v.reason.as_deref().map(because),
                v.unprotected_note.map(|n| format!("({})", shown(n))),
            ]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
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

/// Returns who submitted and who approved a version that a review published or retired.
fn reviewed(v: &VersionReport<'_>) -> Option<String> {
    let by = shown(v.submitted_by.as_deref()?).into_owned();
    Some(format!("submitted by {by}, approved by {}", shown(&v.approved_by.join(", "))))
}

/// Returns why a version was rejected, withdrawn or retired.
fn because(reason: &str) -> String {
    format!("because: {}", shown(reason))
}

/// Default number of versions of the whole vault.
const LATEST: usize = 20;

fn all(session: &mut Session<'_>, vault: &Vault, limit: Limit) -> Result<Answer, Failure> {
    let log = session.log(vault)?;
    let chronicle = log.sound()?;
    let head = Snapshot::at(vault, &chronicle, None)?;
    head.check_rules()?;
    let limit = limit.entries().unwrap_or(LATEST);
    let (report, omitted) = LatestReport::new(&chronicle, |id| head.may_name(id), limit);
    session.recording.listed = Some(report.versions.len());
    limit::print(session, report, omitted, |session, report| {
        let row = |v: &crate::service::report::history::LatestVersion<'_>| {
            vec![
                format!("@{}", v.checkpoint),
                v.at.clone(),
                v.state.to_string(),
                shown(v.id.as_str()).into_owned(),
                v.version.map_or_else(String::new, |n| format!("v{n}")),
            ]
        };
        session.ui.table(&report.versions.iter().map(row).collect::<Vec<_>>());
        if report.versions.is_empty() && omitted == 0 {
            session.ui.note("hint: nothing is published; `ctx status` shows what can be");
        }
    });
    Ok(Answer::Yes)
}
