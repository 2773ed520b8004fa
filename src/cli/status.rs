//! `ctx status`.

use serde::Serialize;

use super::failure::ProblemJson;
use super::session::Session;
use super::ui::shown;
use super::{Answer, Failure};
use crate::document::validate::Severity;
use crate::resolve::Snapshot;
use crate::status::{PolicyStanding, Row, Standing, Status as Report, status};
use crate::words::count;

/// Show how the files stand to what is published
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx status\n  ctx status --json")]
pub(super) struct Status {}

#[derive(Serialize)]
struct StatusJson<'s> {
    checkpoint: u64,
    documents: Vec<RowJson<'s>>,
    governance: Vec<PolicyJson<'s>>,
}

#[derive(Serialize)]
struct RowJson<'s> {
    path: &'s str,
    id: Option<&'s str>,
    standing: &'static str,
    version: Option<u64>,
    problems: Vec<ProblemJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withheld: Option<String>,
}

#[derive(Serialize)]
struct PolicyJson<'s> {
    id: &'s str,
    standing: &'static str,
}

pub(super) fn run(_: &Status, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    vault.usable_config()?;
    let log = session.log(&vault)?;
    let head = Snapshot::at(&vault, &log.sound()?, None)?;
    let report = status(&vault, &head)?;
    if session.ui.json {
        session.ui.result("status", &json(&report, head.checkpoint()));
    } else {
        text(session, &report, &head);
    }
    Ok(Answer::Yes)
}

fn json(report: &Report, checkpoint: u64) -> StatusJson<'_> {
    StatusJson {
        checkpoint,
        documents: report.documents.iter().map(row_json).collect(),
        governance: report
            .policy
            .iter()
            .map(|(id, standing)| PolicyJson { id: id.as_str(), standing: standing.as_str() })
            .collect(),
    }
}

fn row_json(row: &Row) -> RowJson<'_> {
    RowJson {
        path: &row.path,
        id: row.id.as_ref().map(crate::model::id::Id::as_str),
        standing: row.standing.as_str(),
        version: row.version,
        problems: row.problems.iter().map(ProblemJson::from).collect(),
        withheld: row.withheld.as_ref().map(|w| w.why.to_string()),
    }
}

/// Headings in the order in which a reader should see them, each with the next command to type.
const SECTIONS: [(Standing, &str, &str); 7] = [
    (Standing::Withheld, "Withheld, because the chain does not vouch for them", "ctx verify"),
    (Standing::Invalid, "Invalid, cannot be published", "ctx validate"),
    (Standing::Changed, "Changed since publication", "ctx publish --changed"),
    (Standing::Missing, "Published, but the file is missing", "ctx retire ID"),
    (Standing::Draft, "Published, with a draft of the next version", "ctx publish ID"),
    (Standing::Unpublished, "Never published", "ctx publish ID, or ctx publish --all"),
    (Standing::Retired, "Retired", "ctx publish ID"),
];

fn text(session: &mut Session<'_>, report: &Report, head: &Snapshot<'_>) {
    let ui = &mut session.ui;
    match head.made_at() {
        Some(at) => ui.line(&format!("Checkpoint {} of {at}", head.checkpoint())),
        None => ui.line("Nothing is published yet"),
    }
    let with = |standing| report.documents.iter().filter(move |row| row.standing == standing);
    let published = with(Standing::Published).count();
    ui.line(&format!(
        "Published, and the file is the published text: {}",
        count(published, "document")
    ));
    for (standing, heading, next) in SECTIONS {
        let rows: Vec<&Row> = with(standing).collect();
        if rows.is_empty() {
            continue;
        }
        ui.line("");
        ui.line(&format!("{heading} (next: {next}):"));
        for row in rows {
            let version = row.version.map_or_else(String::new, |v| format!(" (v{v})"));
            ui.line(&format!("  {}{version}", shown(&row.path)));
            if let Some(withheld) = &row.withheld {
                ui.line(&format!("      {}", shown(&withheld.why.to_string())));
            }
            for problem in row.problems.iter().filter(|p| p.severity == Severity::Error) {
                ui.line(&format!("      {}", shown(&problem.message)));
            }
        }
    }
    if !report.policy.is_empty() {
        ui.line("");
        ui.line("Governance files changed (next: any publication takes them along):");
        for (id, standing) in &report.policy {
            let what = match standing {
                PolicyStanding::Unreadable => {
                    "unreadable; nothing is published before it is mended"
                }
                standing => standing.as_str(),
            };
            ui.line(&format!("  {} ({what})", shown(id.as_str())));
        }
    }
    let clean = report.documents.iter().all(|row| row.standing == Standing::Published)
        && report.policy.iter().all(|(_, standing)| *standing != PolicyStanding::Unreadable);
    if clean && report.policy.is_empty() && published > 0 {
        ui.line("Nothing to publish");
    }
}
