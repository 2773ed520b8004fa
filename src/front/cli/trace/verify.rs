//! `ctx trace verify`.

use super::LogPlace;
use crate::files::vault::Vault;
use crate::front::cli::Answer;
use crate::front::cli::color::Paint;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::prove::verify::{Finding, false_prunings, lacking_lines};
use crate::record::audit::{Fault, Logs, Verified, missing};
use crate::record::checkpoint::log::Log;
use crate::record::trusted_head;
use crate::service::report::failure::Failure;
use crate::service::report::retention::PrunedRow;
use crate::service::report::trace::{
    ChangesVerified, FaultReport, OtherPathReport, TraceVerifyReport,
};
use crate::service::workspace::recording::{AccessLogs, heads_of, of_log};
use crate::values::model::layout::{self, AUDIT_DIR};
use crate::values::text_util::count;

pub(super) fn run(place: &LogPlace, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.workspace.vault()?;
    let AccessLogs { folder, logs, other_paths, .. } = place.open(&vault, session)?;
    let logs = logs.compared_with(heads_of(&vault));
    let Verified { lines, pruned, mut faults } = of_log(logs.verify())?;
    if !place.is_named() {
        faults.extend(missing::faults(&of_log(missing::accesses(&vault, logs.cuts()))?));
    }
    let folder = folder.unwrap_or_else(|| vault.root().join(layout::ACCESS_DIR));
    let changes = match &place.logs {
        Some(_) => None,
        None => Some(of_log(Logs::of_changes(&vault))?),
    };
    let lost = match place.is_named() {
        true => Vec::new(),
        false => missing::faults(&of_log(missing::changes(&vault))?),
    };
    let false_cuts = false_prunings(&vault, session.workspace.now()?)?;
    // The change log of the vault explains missing lines in a named folder.
    let (of_changes, of_cuts, is_compared) = match place.is_named() {
        true => (Vec::new(), false_cuts, true),
        false => {
            let lacking = lacking(&vault, session)?;
            let is_compared = lacking.is_some();
            ([lacking.unwrap_or_default(), false_cuts].concat(), Vec::new(), is_compared)
        }
    };
    let is_any = |logs: &Logs| logs.writers() > 0 || !lost.is_empty() || !of_changes.is_empty();
    let changes = changes.as_ref().filter(|changes| is_any(changes));
    let changes = changes.map(|changes| verified_changes(changes, &lost, &of_changes));
    let changes = changes.transpose()?;
    let is_damaged = faults.iter().any(|fault| fault.kind.is_damage()) || !of_cuts.is_empty();
    let report = TraceVerifyReport {
        folder: folder.display().to_string(),
        writers: logs.writers(),
        lines,
        pruned: pruned.into_iter().map(PrunedRow::from).collect(),
        faults: faults
            .iter()
            .map(|fault| FaultReport { file: logs.named_file(fault), ..FaultReport::from(fault) })
            .chain(of_cuts.iter().map(FaultReport::from))
            .collect(),
        other_paths: other_paths.iter().map(OtherPathReport::from).collect(),
        changes,
    };
    let changes = report.changes.as_ref();
    let is_changed = changes.is_some_and(|changes| changes.faults.iter().any(|f| f.is_damage));
    session.print(&report, |session, _| {
        let of_logs = changes.iter().flat_map(|changes| &changes.faults);
        for fault in report.faults.iter().chain(of_logs) {
            let paint = if fault.is_damage { Paint::Bad } else { Paint::Doubtful };
            let (file, message) = (shown(&fault.file), shown(&fault.message));
            session.ui.painted(paint, &format!("{}: {file}:{}: {message}", fault.code, fault.line));
        }
        report.pruned.iter().for_each(|pruned| gone(session, pruned));
        if !report.other_paths.is_empty() {
            session.ui.line(&format!("log of this path: {}", shown(&report.folder)));
        }
        for OtherPathReport { folder, log_of } in &report.other_paths {
            session.ui.line(&format!("log of {}: {}", shown(log_of), shown(folder)));
        }
        let what = of_writers(lines, report.writers);
        let verdict = match is_damaged {
            true => "the access log is damaged",
            false => "every chain is intact up to its last line",
        };
        session.ui.line(&format!("{verdict}: {what}"));
        if let Some(changes) = changes {
            let what = of_writers(changes.lines, changes.writers);
            let verdict = match is_changed {
                true => "the change log is damaged",
                false => "every chain of the change log is intact up to its last line",
            };
            session.ui.line(&format!("{verdict}: {what}"));
        }
    });
    if !is_damaged && !is_changed && !session.ui.json {
        session.ui.note(match (place.is_named(), logs.is_all_in_vault()) {
            (false, true) if logs.writers() > 0 => "note: truncation of a log of another user cannot be detected",
            (false, _) if vault.files().exists(AUDIT_DIR) => {
                "note: truncation of a log outside of the vault, or of one of another user, cannot be detected"
            }
            _ => "note: truncation of a log cannot be detected",
        });
    }
    Ok(if is_damaged || is_changed || !is_compared { Answer::No } else { Answer::Yes })
}

/// Formats a number of lines and writers.
fn of_writers(lines: u64, writers: usize) -> String {
    let lines = count(usize::try_from(lines).unwrap_or(usize::MAX), "line");
    format!("{lines} of {}", count(writers, "writer"))
}

/// Returns findings about lines that the change logs lack, as the checkpoints show; `None`, with a
/// warning, if the checkpoint log cannot be relied on.
fn lacking(vault: &Vault, session: &mut Session<'_>) -> Result<Option<Vec<Finding>>, Failure> {
    let log = trusted_head::open_log(vault);
    match log.as_ref().map(Log::sound) {
        Ok(Ok(chronicle)) => Ok(Some(lacking_lines(vault, &chronicle, session.workspace.now()?)?)),
        _ => {
            session.ui.warn(
                "the checkpoint log cannot be relied on, so the change log was not compared with it; run `ctx verify`",
            );
            Ok(None)
        }
    }
}

/// Returns the findings about the chains of change logs, about missing lines that this user wrote or
/// that checkpoints demand, and about prunings that no writer makes.
fn verified_changes(
    logs: &Logs,
    lost: &[Fault],
    found: &[Finding],
) -> Result<ChangesVerified, Failure> {
    let Verified { lines, faults, .. } = of_log(logs.verify())?;
    let of_vault = |fault: &Fault| FaultReport {
        file: format!("{AUDIT_DIR}/{}", fault.file),
        ..FaultReport::from(fault)
    };
    Ok(ChangesVerified {
        writers: logs.writers(),
        lines,
        faults: faults
            .iter()
            .map(of_vault)
            .chain(lost.iter().map(FaultReport::from))
            .chain(found.iter().map(FaultReport::from))
            .collect(),
    })
}

/// Prints which lines were pruned, and by whom.
fn gone(session: &mut Session<'_>, pruned: &PrunedRow) {
    let PrunedRow { writer, from, to, by, at, principal, .. } = pruned;
    let (at, who) = (shown(at), shown(principal.as_deref().unwrap_or("-")));
    let what = format!("lines {from} to {to} of {}", shown(writer));
    session.ui.line(&format!("pruned: {what}, {at} by {who} (change {})", shown(by)));
}
