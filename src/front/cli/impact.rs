//! `ctx impact`.

use super::Answer;
use super::limit::{self, Limit};
use super::session::Session;
use super::trace::{LogPlace, Period, in_log_of, named, note_pruned, session_of, warn_of};
use super::ui::shown;
use crate::read::snapshot::Snapshot;
use crate::record::audit::{Filter, readings};
use crate::record::chain::history::History;
use crate::record::chain::replay;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::trace::{ImpactReport, ImpactRow};
use crate::service::workspace::former::former_id;
use crate::service::workspace::recording::{heads_of, of_log};
use crate::service::workspace::version::number;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::number::Version;
use crate::values::text_util::argument;

/// List who read a document, and in which version
///
/// Reads the access logs of this machine and of the vault, the oldest access first. `replaced`
/// or `retired` marks a version that was no longer in force when it was returned, as for a past
/// checkpoint. `ctx trace show TRACE` prints one access. Accesses of a document before it was moved
/// are listed under its former id, which a hint names.
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
    let id =
        session.workspace.readable_id(&vault, &args.id).map_err(|why| pinned(&args.id, why))?;
    let version = args.version.as_deref().map(number).transpose()?;
    // The logs contain the accesses, whatever the state of the history.
    let (history, lacking) = match replay::load(vault.files(), &id) {
        Ok(history) => (history, None),
        Err(why) => match Failure::history(&vault, &id, why) {
            failure if failure.code == Code::Withheld => (History::new(), Some(failure)),
            failure => return Err(failure),
        },
    };
    let labels = args.period.with_labels(session)?;
    let filter = Filter { document: Some(id.clone()), version, ..labels };
    let logs = args.place.seen(&vault, session)?;
    let logs = logs.compared_with(heads_of(&vault));
    let mut rows = Vec::new();
    let faults = logs.each(&mut |line| {
        if filter.wants(&line) {
            let elsewhere = logs.elsewhere(&line);
            let found = readings(&line, &filter, &history).into_iter();
            let found = found
                .filter(|reading| !args.superseded || lacking.is_some() || reading.ended.is_some());
            rows.extend(found.map(|reading| ImpactRow::new(&line, reading, elsewhere)));
        }
    });
    let mut faults = of_log(faults)?;
    faults.extend(args.place.lost_accesses(&vault, &logs)?);
    rows.sort_by(|a, b| a.at.cmp(&b.at));
    if !rows.is_empty() {
        // If the log cannot be relied on, approvals are unknown.
        let unapproved = session.log(&vault).ok().and_then(|log| {
            let head = Snapshot::whole(&vault, &log.sound().ok()?, None).ok()?;
            Some(head.unapproved_events(&id, &history))
        });
        let unapproved = unapproved.unwrap_or_default();
        for row in &mut rows {
            row.unapproved = unapproved.get(&Version(row.version)).map(ToString::to_string);
        }
    }
    let former = former_id(&vault, &id, &history);
    // Readers who may not know of the former document must not learn of it.
    let former = former.filter(|id| session.workspace.readable_id(&vault, id.as_str()).is_ok());
    let former_id = former.map(|id| id.to_string());
    let mut report = ImpactReport { id: id.to_string(), former_id, accesses: rows };
    let former_id = report.former_id.clone();
    let is_empty = report.accesses.is_empty();
    let omitted = args.limit.last(&mut report.accesses);
    limit::print(session, report, omitted, |session, report| {
        session.ui.table(&report.accesses.iter().map(row).collect::<Vec<_>>());
        if is_empty {
            let which = if logs.sight().is_limited() { " that you may read" } else { "" };
            session.ui.note(&format!(
                "note: the access log of this vault's path has no such access{which}"
            ));
        }
    });
    if let Some(former) = former_id {
        let former = argument(&former);
        session.ui.note(&format!(
            "hint: it was moved; `ctx impact {former}` lists the accesses under its former id"
        ));
    }
    if is_empty {
        args.place.note_lacking(&vault, session);
    }
    note_pruned(session, &logs, filter.from);
    let answer = warn_of(session, &faults);
    let Some(lacking) = lacking else { return Ok(answer) };
    let message = format!("{}; it is unknown when its versions were replaced", lacking.message);
    session.ui.warn(&message);
    for hint in &lacking.hints {
        session.ui.note(&format!("hint: {}", hint.render(session.ui.spell())));
    }
    Ok(Answer::No)
}

/// Adds a hint to the failure if a version or a section is named as in a URI.
fn pinned(text: &str, why: Failure) -> Failure {
    let call = |id: &str| Call::new(Verb::Impact).value(id);
    let version = text.rsplit_once('@').filter(|(_, version)| number(version).is_ok());
    match (version, text.rsplit_once('#')) {
        (Some((id, version)), _) => {
            why.hint(Hint::call("{} lists the accesses to one version", call(id).value(version)))
        }
        (None, Some((id, _))) => {
            why.hint(Hint::call("{} lists the accesses to it, with the section of each", call(id)))
        }
        _ => why,
    }
}

/// Returns the version of the text, with the section or the kind of part.
fn of_text(access: &ImpactRow) -> String {
    let section = access.anchor.as_ref().map_or(String::new(), |anchor| format!(" #{anchor}"));
    let part = access.part.map_or(String::new(), |part| format!(" ({})", part.as_str()));
    format!("v{}{}{part}", access.version, shown(&section))
}

fn row(access: &ImpactRow) -> Vec<String> {
    let session = session_of(access.session.as_deref(), access.session_implicit);
    let event = if access.retired { "retired" } else { "replaced" };
    let ended = access.superseded_at.as_ref().map_or(String::new(), |at| format!("{event} {at}"));
    let finding = access.unapproved.as_deref().map(|finding| shown(finding).into_owned());
    vec![
        access.trace.clone(),
        access.at.clone(),
        of_text(access),
        shown(&access.verb).into_owned(),
        named(access.principal.as_deref()),
        named(access.agent.as_deref()),
        session,
        ended,
        finding.unwrap_or_default(),
        in_log_of(access.log_of.as_deref()),
    ]
}
