//! `ctx impact`.

use super::Answer;
use super::limit::{self, Limit};
use super::session::Session;
use super::trace::{LogPlace, Period, note_pruned, session_of};
use super::ui::shown;
use crate::audit::{Filter, readings};
use crate::chain::error::ChainError;
use crate::chain::replay;
use crate::report::failure::Failure;
use crate::report::trace::{ImpactReport, ImpactRow};
use crate::resolve::Snapshot;
use crate::trust;
use crate::words::count;
use crate::workspace::recording::of_log;
use crate::workspace::version::{check_name, number};

/// List who was handed a document, and in which version
///
/// Reads the access logs of this machine and of the vault, the oldest access first. `replaced` marks a version that had
/// been replaced or retired when it was handed out, as happens where a past checkpoint is asked.
/// `ctx trace show TRACE` prints one access.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx impact nodes/policies/returns\n  \
ctx impact nodes/policies/returns 2 --from 2026-11-01T00:00:00Z\n  \
ctx impact nodes/policies/returns --superseded --json")]
pub(super) struct Impact {
    /// Id or file of a document
    id: String,
    /// Only this version
    version: Option<String>,
    /// Only accesses to versions that had been replaced or retired
    #[arg(long)]
    superseded: bool,
    #[command(flatten)]
    period: Period,
    #[command(flatten)]
    place: LogPlace,
    #[command(flatten)]
    limit: Limit,
}

pub(super) fn run(args: &Impact, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.workspace.vault()?;
    let id = session.workspace.recorded_id(&vault, &args.id)?;
    if let Ok(log) = trust::open_log(&vault)
        && let Ok(chronicle) = log.sound()
    {
        check_name(&Snapshot::at(&vault, &chronicle, None)?, &id)?;
    }
    let version = args.version.as_deref().map(number).transpose()?;
    let history = match replay::load(vault.files(), &id) {
        Err(ChainError::HistoryMissing) => return Err(Failure::never_published(&id)),
        other => other?,
    };
    let filter = Filter { document: Some(id.clone()), version, ..args.period.filter()? };
    let logs = args.place.open(&vault, session)?.logs;
    let mut rows = Vec::new();
    let faults = logs.each(&mut |line| {
        if filter.wants(&line) {
            let found = readings(&line, &filter, &history).into_iter();
            let found = found.filter(|reading| !args.superseded || reading.ended.is_some());
            rows.extend(found.map(|reading| ImpactRow::new(&line, reading)));
        }
    });
    let faults = of_log(faults)?;
    rows.sort_by(|a, b| a.at.cmp(&b.at));
    let mut report = ImpactReport { id: id.to_string(), accesses: rows };
    let omitted = args.limit.last(&mut report.accesses);
    let is_empty = report.accesses.is_empty();
    if session.ui.json {
        session.ui.report(&limit::report(report, omitted));
    } else {
        session.ui.table(&report.accesses.iter().map(row).collect::<Vec<_>>());
        limit::note(omitted).iter().for_each(|note| session.ui.note(note));
        if is_empty {
            session.ui.note("note: the access log of this machine has no such access");
        }
    }
    note_pruned(session, &logs, filter.from);
    if faults.iter().any(|fault| fault.kind.is_damage()) {
        let what = count(faults.len(), "fault");
        session.ui.note(&format!(
            "warning: the access log has {what}, so accesses may be missing; run `ctx trace verify`"
        ));
        return Ok(Answer::No);
    }
    Ok(Answer::Yes)
}

fn row(access: &ImpactRow) -> Vec<String> {
    let or_dash = |text: &Option<String>| shown(text.as_deref().unwrap_or("-")).into_owned();
    let session = session_of(access.session.as_deref(), access.session_implicit);
    let ended = access.superseded_at.as_ref().map_or(String::new(), |at| format!("replaced {at}"));
    vec![
        access.trace.clone(),
        access.at.clone(),
        format!("v{}", access.version),
        shown(&access.verb).into_owned(),
        or_dash(&access.principal),
        or_dash(&access.agent),
        session,
        ended,
    ]
}
