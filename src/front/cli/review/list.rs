//! `ctx review` without a submission.

use crate::front::cli::document::note_withheld;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::front::cli::{Answer, Locking};
use crate::service::report::failure::Failure;
use crate::service::report::review::QueuedReport;
use crate::service::workspace::call::review;
use crate::values::text_util::count;

/// Maximum number of named steps that may be incomplete.
const MOST_INCOMPLETE: usize = 10;

pub(super) fn run(
    (all, locking): (bool, &Locking),
    session: &mut Session<'_>,
) -> Result<Answer, Failure> {
    let vault = session.locking(locking)?;
    let source = session.source(&vault, review::NEED)?;
    let queued = session.call.queue((&vault, &source), all)?;
    let report = queued.report();
    session.print(&report, |session, _| {
    let (others, incomplete) = (report.others, report.incomplete.len());
    let ui = &mut session.ui;
    if report.waiting.is_empty() && report.withheld.is_empty() {
        ui.line(if all { "nothing awaits a decision" } else { "nothing awaits your decision" });
    }
    let row = |one: &QueuedReport<'_>| {
        let size = format!("+{} -{}", one.lines_added, one.lines_removed);
        let approvals = format!("{} of {}", one.approvals.len(), one.required);
        let change = one.change.map_or_else(String::new, |name| format!("change {name}"));
        let row = [
            one.id.to_string(),
            format!("v{}", one.version),
            one.action.to_string(),
            one.at.to_string(),
            one.by.to_owned(),
            size,
            approvals,
            change,
        ];
        row.iter().map(|cell| shown(cell).into_owned()).collect::<Vec<String>>()
    };
    ui.table(&report.waiting.iter().map(row).collect::<Vec<_>>());
    for one in &report.waiting {
        let id = shown(one.id.as_str());
        if let Some(why) = one.lapsed {
            let why = shown(why);
            ui.note(&format!(
                "warning: {id} cannot be approved, because an approval is no longer valid: {why}"
            ));
        }
        if let Some(again) = &one.again {
            let again = again.render(ui.spell());
            ui.note(&format!("hint: {}", shown(&again)));
        }
        if let Some(version) = one.after {
            ui.note(&format!("note: {id} is ratified after v{version} is decided, which was submitted after its retirement"));
        }
    }
    for part in &report.left {
        ui.note(&format!("note: {}", shown(&part.to_string())));
    }
    if others > 0 {
        ui.note(&format!(
            "note: {} that you are not asked to decide; `--all` lists them",
            count(others, "submission")
        ));
    }
    for one in report.incomplete.iter().take(MOST_INCOMPLETE) {
        let id = shown(one.id.as_str());
        ui.note(&format!(
            "note: no line of the change log names version {} of {id}; its writer may have been interrupted",
            one.version
        ));
    }
    if let Some(more) = incomplete.checked_sub(MOST_INCOMPLETE).filter(|more| *more > 0) {
        ui.note(&format!("note: {} more; `--json` lists them", count(more, "such version")));
    }
    });
    note_withheld(session, queued.withheld());
    Ok(Answer::of(queued.withheld()))
}
