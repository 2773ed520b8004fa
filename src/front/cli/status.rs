//! `ctx status`.

use std::collections::BTreeSet;

use super::Answer;
use super::color::Paint;
use super::limit::{self, Limit};
use super::next::{Step, next};
use super::review::ended_by;
use super::session::Session;
use super::ui::{Ui, shown};
use crate::files::vault::left_out::{LeftOut, Reason};
use crate::policy::stewards::Scope;
use crate::read::snapshot::Snapshot;
use crate::read::status::cache::Seen;
use crate::read::status::{
    DocumentState, GovernanceState, Row, Status as Compared, left_out, status,
};
use crate::record::checkpoint::fault::LogError;
use crate::service::report::failure::Failure;
use crate::service::report::review::{QueuedAction, QueuedReport};
use crate::service::report::submission::RefusedReport;
use crate::service::report::vault::StatusReport;
use crate::service::workspace::former::name_moves;
use crate::service::workspace::places::Places;
use crate::text::document::validate::{Problem, Severity};
use crate::values::model::hint::{Mode, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::timestamp::Timestamp;
use crate::values::text_util::count;
use crate::write::publish::PublishError;
use crate::write::publish::review::awaiting::Awaiting;
use crate::write::publish::review::due::Due;

/// Show how files differ from their published versions
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx status\n  ctx status nodes/policies/ --json\n  ctx status --ignored"
)]
pub(super) struct Status {
    /// Ids, files or folders to look at; default: the whole vault
    #[arg(value_name = "ID|FOLDER")]
    places: Vec<String>,
    /// Also list Markdown files that are not documents, with the reason
    #[arg(long)]
    ignored: bool,
    #[command(flatten)]
    limit: Limit,
}

pub(super) fn run(args: &Status, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    vault.usable_config()?;
    let log = session.log(&vault)?;
    let chronicle = log.sound()?;
    let head = Snapshot::whole(&vault, &chronicle, None)?;
    let places = session.workspace.places_at(&vault, &head, &args.places)?;
    let now = session.workspace.now()?;
    let mut compared = status(&vault, &head, &Seen::open(&vault))?;
    let mut awaiting = None;
    if session.ui.is_governed() {
        match Awaiting::of((&vault, &chronicle), &head, now, &mut compared) {
            Err(PublishError::Log(LogError::NoReader)) => session
                .ui
                .warn("pending submissions are not shown, because no principal is configured"),
            Err(why @ PublishError::Policy { .. }) => session.ui.withhold(&why.into()),
            found => awaiting = found.ok(),
        }
    }
    name_moves(&vault, &chronicle, &mut compared);
    compared.documents.retain(|row| places.holds(&row.path, row.id.as_ref()));
    compared.governance.retain(|(id, _)| places.holds(&id.live_path(), Some(id)));
    let mut ignored = if args.ignored { Some(left_out(&vault, &head)?) } else { None };
    ignored.iter_mut().for_each(|files| files.retain(|file| places.holds(&file.path, None)));
    session.warn_of_clones(&vault, head.state()?.iter().map(|(id, _)| id));
    if session.ui.json {
        let omitted = args.limit.first(&mut compared.documents);
        let report = StatusReport::new(&compared, (head.checkpoint(), now), session.ui.spell());
        let report = match &ignored {
            Some(files) => report.with_ignored(files),
            None => report,
        };
        let report = match &awaiting {
            Some(awaiting) => report.with_awaiting(awaiting),
            None => report,
        };
        session.ui.report(&limit::report(report, omitted));
        return Ok(Answer::Yes);
    }
    let waiting = awaiting.iter().flat_map(|awaiting| &awaiting.queue.waiting);
    let ratified = waiting.filter(|one| one.track.emergency.is_some()).map(|one| one.track.id());
    text(session, (&compared, &ratified.collect()), &head, (args.limit, now));
    if let Some(awaiting) = &awaiting {
        text_of_awaiting(session, awaiting, &places);
    }
    match ignored {
        Some(files) => text_of_ignored(session, &files),
        None if compared.documents.is_empty() && args.places.is_empty() => {
            session.note_outside_layout(&vault);
        }
        None => {}
    }
    Ok(Answer::Yes)
}

fn text_of_awaiting(session: &mut Session<'_>, awaiting: &Awaiting, places: &Places) {
    let waiting = awaiting.queue.waiting.iter().flat_map(QueuedReport::rows);
    let waiting: Vec<QueuedReport<'_>> =
        waiting.filter(|one| places.holds(&one.id.live_path(), Some(one.id))).collect();
    let ui = &mut session.ui;
    if !waiting.is_empty() {
        ui.line("");
        ui.painted(Paint::Heading, "Awaiting a decision (next: ctx review show ID):");
    }
    for one in &waiting {
        let (id, by) = (shown(one.id.as_str()), shown(one.by));
        ui.line(&format!("  {id} (v{} to {}, by {by})", one.version, action(one.action)));
        if let Some(why) = one.lapsed {
            ui.line(&format!("      an approval is no longer valid: {}", shown(why)));
        }
        if let Some(again) = &one.again {
            let again = again.render(ui.spell());
            ui.line(&format!("      {}", shown(&again)));
        }
    }
    let refused = awaiting.refused.iter().filter_map(RefusedReport::of);
    let refused: Vec<RefusedReport<'_>> =
        refused.filter(|one| places.holds(&one.id.live_path(), Some(one.id))).collect();
    if !refused.is_empty() {
        ui.line("");
        let heading = "Not approved, and not submitted again";
        let next = "edit the file, then ctx submit ID";
        ui.painted(Paint::Heading, &format!("{heading} (next: {next}):"));
    }
    for RefusedReport { id, version, by, ended } in &refused {
        let (id, by) = (shown(id.as_str()), shown(by));
        ui.line(&format!("  {id} (v{version}, by {by})"));
        ui.line(&format!("      {}", ended_by(ended)));
    }
    let due = awaiting.due.iter().filter(|due| places.holds(&due.id.live_path(), Some(&due.id)));
    let due: Vec<_> = due.collect();
    if !due.is_empty() {
        ui.line("");
        let heading = "Due for a review, because the approval is too old, or there is none";
        ui.painted(Paint::Heading, &format!("{heading} (next: ctx submit ID --renew):"));
    }
    for one in due {
        let Due { id, approved_at, is_approved, max_age } = one;
        let id = shown(id.as_str());
        let since = match is_approved {
            true => format!("approved at {approved_at}"),
            false => format!("published at {approved_at} without a review"),
        };
        ui.line(&format!("  {id} ({since}, due after {max_age} days)"));
    }
    for stuck in &awaiting.stuck {
        let what = shown(&stuck.to_string()).into_owned();
        ui.note(&format!("warning: {what}: submissions there cannot be approved"));
    }
    let is_stuck = |scope: &Scope| awaiting.stuck.iter().any(|stuck| stuck.scope == *scope);
    for (scope, principal) in awaiting.alone.iter().filter(|(scope, _)| !is_stuck(scope)) {
        let (scope, principal) = (scope.to_string(), shown(principal));
        let what = format!("{principal} is the only reviewer of {}", shown(&scope));
        ui.note(&format!("note: {what}, and cannot approve texts of their own"));
    }
}

fn action(action: QueuedAction) -> &'static str {
    if action == QueuedAction::Emergency { "ratify" } else { action.as_str() }
}

fn text_of_ignored(session: &mut Session<'_>, files: &[LeftOut]) {
    let ui = &mut session.ui;
    ui.line("");
    if files.is_empty() {
        ui.line("Every Markdown file is a document");
        return;
    }
    ui.painted(Paint::Heading, "Markdown files that are not documents:");
    for file in files {
        let why = file.why.to_string();
        ui.line(&format!("  {} ({})", shown(&file.path), shown(&why)));
    }
}

/// The states that need a look, each with the steps that come next.
const SECTIONS: [(DocumentState, &str, &[Step]); 12] = [
    (
        DocumentState::Withheld,
        "Withheld, because the history does not verify",
        &[Step::run(Verb::Verify, "")],
    ),
    (DocumentState::Invalid, "Invalid, cannot be published", &[Step::run(Verb::Validate, "")]),
    (
        DocumentState::Stale,
        "Not edited from the published version",
        &[Step::words("as shown for each")],
    ),
    (DocumentState::Changed, "Changed since publication", &[Step::run(Verb::Publish, "--changed")]),
    (
        DocumentState::Missing,
        "Published, but the live file is missing",
        &[Step::run(Verb::Restore, "ID"), Step::run(Verb::Retire, "ID").after("or ")],
    ),
    (
        DocumentState::RetiredElsewhere,
        "Published, but the live file was retired on another branch",
        &[Step::run(Verb::Retire, "ID"), Step::run(Verb::Restore, "ID").after("or ")],
    ),
    (
        DocumentState::Draft,
        "Published, with a draft of the next version",
        &[Step::run(Verb::Publish, "ID")],
    ),
    (
        DocumentState::Unpublished,
        "Never published",
        &[
            Step::run(Verb::Publish, "ID"),
            Step::run(Verb::Publish, "--all").after("or ").only(Mode::Publishes),
        ],
    ),
    (
        DocumentState::Submitted,
        "Submitted, and not edited since",
        &[Step::run(Verb::ReviewShow, "ID")],
    ),
    (
        DocumentState::Retired,
        "Retired",
        &[
            Step::run(Verb::Restore, "ID"),
            Step::run(Verb::Publish, "ID").after("then "),
            Step::words("to bring one back"),
        ],
    ),
    (DocumentState::NotCheckedOut, "Left out by git here, a sparse checkout", &[SPARSE]),
    (DocumentState::LeftOut, "Left out, not documents", &[Step::run(Verb::Validate, "")]),
];

const SPARSE: Step = Step::words("git sparse-checkout disable");
const MERGE: Step = Step::words("merge each copy with its original, and delete it");

/// The warning that a file is a copy of another one.
fn copy_of(row: &Row) -> Option<&Problem> {
    row.problems.iter().find(|problem| problem.code == "copy")
}

/// The mark of a copy, and what to do about it.
fn copied(ui: &Ui<'_>, row: &Row) -> String {
    let mark = |copy: &Problem| format!(" ({}; {})", copy.message, copy.hint.render(ui.spell()));
    copy_of(row).map_or_else(String::new, mark)
}

fn text_of_governance(ui: &mut Ui<'_>, files: &[(DocumentId, GovernanceState)]) {
    use GovernanceState as State;
    let sections: [(&[State], &str, &[Step]); 5] = [
        (
            &[State::New, State::Changed, State::Unreadable],
            "Governance files changed",
            &[Step::run(Verb::Publish, "--changed")],
        ),
        (&[State::Copy], "Copies of governance files", &[MERGE]),
        (&[State::Submitted], "Governance files submitted", &[Step::run(Verb::ReviewShow, "ID")]),
        (
            &[State::Deleted],
            "Governance files deleted",
            &[
                Step::run(Verb::Restore, "FILE"),
                Step::run(Verb::Retire, "FILE").after("or ").only(Mode::Publishes),
                Step::run(Verb::Publish, "FILE")
                    .after("or, to delete a pack, ")
                    .only(Mode::Submits),
            ],
        ),
        (&[State::NotCheckedOut], "Governance files left out by git here", &[SPARSE]),
    ];
    for (states, heading, steps) in sections {
        let mut files = files.iter().filter(|(_, state)| states.contains(state)).peekable();
        if files.peek().is_none() {
            continue;
        }
        ui.line("");
        let next = next(ui, steps);
        ui.painted(Paint::Heading, &format!("{heading} (next: {next}):"));
        for (id, state) in files {
            ui.line(&format!("  {} ({})", shown(id.as_str()), state.as_str()));
        }
    }
}

/// How the files compare; `emergencies` are the documents whose retirement awaits its ratification.
fn text(
    session: &mut Session<'_>,
    (compared, emergencies): (&Compared, &BTreeSet<&DocumentId>),
    head: &Snapshot<'_>,
    (limit, now): (Limit, Timestamp),
) {
    let ui = &mut session.ui;
    match head.made_at() {
        Some(at) => ui.line(&format!("Checkpoint {} of {at}", head.checkpoint())),
        None => ui.line("Nothing is published yet"),
    }
    let with = |state| compared.documents.iter().filter(move |row| row.state == state);
    let (published, mut left_out) = (with(DocumentState::Published).count(), 0);
    ui.line(&format!("Published and unchanged: {}", count(published, "document")));
    for (state, heading, steps) in SECTIONS {
        let mut rows: Vec<&Row> = with(state).collect();
        let omitted = limit.first(&mut rows);
        left_out += omitted;
        if rows.is_empty() && omitted == 0 {
            continue;
        }
        let is_new = state == DocumentState::Unpublished;
        let is_left_out = |row: &Row| match &row.left_out {
            Some(Reason::NotForUse { .. }) => true,
            why => is_new && why.is_some(),
        };
        let publish = Step::run(Verb::Publish, "ID");
        let steps = match omitted == 0 && rows.iter().all(|row| is_left_out(row)) {
            true if !is_new => &[Step::run(Verb::Retire, "ID"), publish.after("or ")],
            true if rows.iter().all(|row| copy_of(row).is_some()) => &[MERGE][..],
            true => &[publish],
            false => steps,
        };
        let heading = format!("{heading} (next: {}):", next(ui, steps));
        ui.line("");
        ui.painted(Paint::Heading, &heading);
        for row in rows {
            let version = row.version.map_or_else(String::new, |v| format!(" (v{v})"));
            let awaits = |id| state == DocumentState::Retired && emergencies.contains(id);
            let mark = match row.id.as_ref().is_some_and(awaits) {
                true => " (awaits its ratification)".to_owned(),
                false => match row.left_out.as_ref().filter(|_| is_left_out(row)) {
                    Some(Reason::NotForUse { says, is_published: true }) => {
                        let publish = Step::run(Verb::Publish, "by its id").after("or ");
                        let next = next(ui, &[Step::run(Verb::Retire, ""), publish]);
                        format!(" (`{says}`: {next})")
                    }
                    Some(Reason::NotForUse { says, .. }) => format!(" (`{says}`: only by its id)"),
                    Some(Reason::DraftsFolder) => " (in `_drafts`: only by its id)".to_owned(),
                    Some(Reason::Backup) => " (a backup of Logseq: only by its id)".to_owned(),
                    Some(Reason::MarkedDraft(says)) => format!(" (`{says}`: only by its id)"),
                    Some(Reason::Copy(_)) => copied(ui, row),
                    Some(Reason::Erased) => " (its texts were erased on purpose)".to_owned(),
                    Some(_) => " (`status: draft`: only by its id)".to_owned(),
                    None if is_new => copied(ui, row),
                    None => String::new(),
                },
            };
            ui.line(&format!("  {}{version}{}", shown(&row.path), shown(&mark)));
            if state == DocumentState::NotCheckedOut {
                continue;
            }
            if let Some(withheld) = &row.withheld {
                ui.line(&format!("      {}", shown(&withheld.why.to_string())));
            }
            // A move is refused, too, while no role is known.
            let is_moved = !ui.withholds || state == DocumentState::Retired;
            if row.withheld.is_some() || row.moved.is_some() && is_moved {
                for hint in row.hints().iter().take(1) {
                    ui.line(&format!("      {}", shown(&hint.render(ui.spell()))));
                }
            }
            let is_reason =
                |p: &&Problem| p.severity == Severity::Error || state == DocumentState::LeftOut;
            for problem in row.problems.iter().filter(is_reason) {
                ui.line(&format!("      {}", shown(&problem.message)));
                if problem.code == "stale" {
                    ui.line(&format!("      {}", shown(&problem.hint.render(ui.spell()))));
                }
            }
        }
        if omitted > 0 {
            ui.line(&format!("  … {omitted} more"));
        }
    }
    let mut expired: Vec<&Row> =
        compared.documents.iter().filter(|row| row.is_expired(now)).collect();
    let omitted = limit.first(&mut expired);
    left_out += omitted;
    if !expired.is_empty() {
        ui.line("");
        let later = Step::run(Verb::Publish, "ID").after("or a later date and ");
        let next = next(ui, &[Step::run(Verb::Retire, "ID"), later]);
        ui.painted(Paint::Heading, &format!("Published, and no longer valid (next: {next}):"));
    }
    for row in expired {
        let end = row.end.map_or_else(String::new, |end| format!(" (expired at {end})"));
        ui.line(&format!("  {}{end}", shown(&row.path)));
    }
    text_of_governance(ui, &compared.governance);
    let is_done = |row: &Row| {
        matches!(
            row.state,
            DocumentState::Published | DocumentState::LeftOut | DocumentState::NotCheckedOut
        )
    };
    let is_clean = compared.documents.iter().all(is_done)
        && compared.governance.iter().all(|(_, state)| *state == GovernanceState::NotCheckedOut);
    if is_clean && published > 0 {
        ui.line(if ui.is_governed() { "Nothing to submit" } else { "Nothing to publish" });
    }
    limit::note(left_out).iter().for_each(|note| ui.note(note));
}
