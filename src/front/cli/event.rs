//! Prints an event: what was published or retired, and which steps failed.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use super::color::Paint;
use super::session::Session;
use super::ui::{Ui, shown};
use super::{Answer, recover};
use crate::files::vault::left_out::LeftOut;
use crate::read::snapshot::Snapshot;
use crate::read::working::gathered::{Gathered, REPEATED};
use crate::read::working::inbound::{Captured, FixedLinks, Inbound, InboundKind, RelativeLink};
use crate::record::chain::diff::print_between;
use crate::service::report::Report;
use crate::service::report::event::{Acted, EventReport, notes, why_id_stays};
use crate::service::report::failure::Failure;
use crate::text::document::links::Written;
use crate::text::document::validate::Problem;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;
use crate::values::text_util::count;
use crate::write::commit::{AfterCommit, Change, Item, Live};
use crate::write::publish::{Outcome, PublishError, review};

/// Returns the failure of an event, with a hint if one of several documents was refused.
pub(super) fn refused(why: PublishError, many: bool, hint: &'static str) -> Failure {
    let is_refused = matches!(why, PublishError::Refused(_));
    let failure = Failure::from(why);
    if many && is_refused { failure.hint(hint) } else { failure }
}

/// Prints an event, done or only planned; returns the answer of the verb.
pub(super) fn print<'o, R: Report>(
    session: &mut Session<'_>,
    outcome: &'o Acted,
    dry_run: bool,
    report: fn(EventReport<'o>) -> R,
) -> Answer {
    session.tell();
    if let Some(vault) = session.ui.vault().cloned() {
        let ids = outcome.items.iter().map(|item| &item.id).chain(&outcome.unchanged);
        session.warn_of_clones(&vault, ids);
    }
    match session.ui.json {
        true => session.ui.report(&report(EventReport::new(outcome, dry_run, session.ui.spell()))),
        false => text(session, R::SCHEMA, outcome, dry_run),
    }
    note_trouble(session, outcome)
}

/// Notes the failed steps of an event; returns the answer of the verb.
pub(super) fn note_trouble(session: &mut Session<'_>, outcome: &Outcome) -> Answer {
    let committed = outcome.committed.as_ref();
    let left_alone = committed.map(|c| c.left_alone.as_slice()).unwrap_or_default();
    for (path, why) in left_alone {
        let path = shown(path);
        session.ui.note(&format!("warning: recorded, but `{path}` was left as it is: {why}"));
    }
    for failed in committed.map(|c| c.after.as_slice()).unwrap_or_default() {
        let why = shown(&failed.why);
        session.ui.note(&match (failed.step, failed.path.as_deref()) {
            (AfterCommit::TrustedHead, _) => {
                format!("warning: recorded, but the trusted head was not updated: {why}")
            }
            (AfterCommit::ChangeLog, _) => {
                format!("warning: recorded, but the change log could not be written: {why}")
            }
            (_, Some(path)) => {
                format!("note: the derived file `{}` was left as it is: {why}", shown(path))
            }
            (step, None) => format!("note: recorded, but the {step} was not updated: {why}"),
        });
    }
    for note in notes(outcome, session.ui.spell()) {
        session.ui.note(&format!("note: {}", shown(&note)));
    }
    recover::note(session, &outcome.recovered);
    let is_recorded = committed
        .is_none_or(|c| c.after.iter().all(|failed| failed.step != AfterCommit::ChangeLog));
    if !is_recorded || left_alone.iter().any(|(_, why)| !why.is_changed()) {
        Answer::Incomplete
    } else {
        Answer::of(&outcome.refused)
    }
}

pub(super) fn text(session: &mut Session<'_>, verb: &str, outcome: &Outcome, dry_run: bool) {
    let ui = &mut session.ui;
    if dry_run {
        // The shown texts are recorded first.
        ui.hold();
    }
    match &outcome.checkpoint {
        Some(checkpoint) => {
            let what = count(outcome.items.len(), "version");
            let (number, at) = (checkpoint.number, checkpoint.at);
            let would = if dry_run { "would make " } else { "" };
            ui.painted(Paint::Good, &format!("{would}checkpoint {number} with {what}, {at}"));
        }
        None if !outcome.items.is_empty() => {
            let what = count(outcome.items.len(), "version");
            let would = if dry_run { "would be " } else { "" };
            ui.painted(Paint::Good, &format!("{what} {would}recorded, nothing published"));
        }
        None => match &outcome.recased {
            Some(recased) => {
                let (from, to) = (shown(&recased.from), shown(&recased.to));
                let why = why_id_stays(&recased.id);
                let renamed = match dry_run {
                    _ if from == to => format!("`{to}` has this name already"),
                    true => format!("would rename `{from}` to `{to}`"),
                    false => format!("renamed `{from}` to `{to}`"),
                };
                ui.painted(Paint::Good, &renamed);
                ui.line(&format!("  {}", shown(&why)));
            }
            None => ui.line(&format!("nothing to {}", verb.replace('.', " "))),
        },
    }
    let row = |item: &Item| {
        let id = shown(item.id.as_str()).into_owned();
        vec![format!("  {}", item.change.as_str()), id, format!("v{}", item.version)]
    };
    ui.table(&outcome.items.iter().map(row).collect::<Vec<_>>());
    match outcome.unchanged.as_slice() {
        [] => {}
        [id] => ui.line(&format!("  unchanged: {}", shown(id.as_str()))),
        all => ui.line(&format!("  unchanged: {}", count(all.len(), "document"))),
    }
    for (id, _) in &outcome.behind {
        let id = shown(id.as_str());
        ui.line(&format!("  live file updated: {id} (an earlier publication did not update it)"));
    }
    left_out(ui, &outcome.left_out);
    for awaited in outcome.awaited.iter().filter(|awaited| awaited.required > 0) {
        let (id, found, required) = (shown(awaited.id.as_str()), awaited.found, awaited.required);
        let change = awaited.change.as_deref().map(|name| format!(", change {}", shown(name)));
        let change = change.unwrap_or_default();
        ui.line(&format!("  waits: {id} ({found} of {required} approvals{change})"));
    }
    inbound(session, &outcome.links.inbound);
    relative(session, &outcome.relative);
    fixed(session, &outcome.fixed, dry_run);
    captured(session, &outcome.links.captured);
    texts(session, &outcome.links.texts);
    unread(session, &outcome.links.unread);
    let of_items = outcome
        .items
        .iter()
        .flat_map(|item| item.warnings.iter().map(|warning| (item.id.as_str(), warning)));
    let of_refused = outcome.refused.iter().flat_map(|refusal| {
        refusal.problems.iter().map(|problem| (refusal.path.as_str(), problem))
    });
    problems(session, &of_items.chain(of_refused).collect::<Vec<_>>());
    if dry_run {
        let changed = outcome.items.iter().filter_map(|item| {
            let approved = item.approved.as_deref();
            let then = match item.change {
                _ if approved.is_some() => "approved",
                Change::Retired => "retired",
                _ => "published",
            };
            Some(Changed {
                id: &item.id,
                old: None,
                new: match approved {
                    Some(text) => Planned::Text(text),
                    None => Planned::of(&item.id.live_path(), &item.live)?,
                },
                then,
                submitted: approved.map(|_| item.version.previous()),
            })
        });
        lives(session, changed);
    }
}

/// Names the files that an event does not include; a reason that many files share is one line.
fn left_out(ui: &mut Ui<'_>, files: &[LeftOut]) {
    let mut reasons: BTreeMap<String, Vec<&LeftOut>> = BTreeMap::new();
    for left in files {
        reasons.entry(left.why.to_string()).or_default().push(left);
    }
    for left in files {
        let why = left.why.to_string();
        let all = match reasons.get(&why) {
            Some(all) if all.len() > REPEATED => reasons.remove(&why).unwrap_or_default(),
            Some(_) => vec![left],
            None => continue,
        };
        // A hint that names one document is in the report of each.
        let hint = left.hint().filter(|_| all.len() == 1 || left.why.is_draft());
        let hint = hint.map(|hint| format!("; {}", hint.render(ui.spell()))).unwrap_or_default();
        let what = match all.as_slice() {
            [left] => shown(left.name()).into_owned(),
            all => count(all.len(), "file"),
        };
        ui.line(&format!("  left out: {what} ({}{})", shown(&why), shown(&hint)));
        if all.len() > 1 {
            let first = all.iter().take(FIRST).map(|left| shown(left.name()).into_owned());
            let first = first.collect::<Vec<_>>().join(", ");
            ui.line(&format!("    first: {first}"));
        }
    }
}

/// Number of files that are named if there are many.
const FIRST: usize = 3;

/// Prints problems, each with its place; a problem that many places share is one line.
fn problems(session: &mut Session<'_>, all: &[(&str, &Problem)]) {
    let mut gathered = Gathered::new(0);
    for (place, problem) in all {
        gathered.push(place, (*problem).clone());
    }
    let mut seen = HashSet::new();
    for (place, problem) in all {
        let Some((key, group)) = gathered.group_of(problem) else {
            note(session, place, problem);
            continue;
        };
        if !seen.insert(key) {
            continue;
        }
        let severity = group.severity;
        let (times, files) = (count(group.count, "time"), count(group.files, "file"));
        let (code, message) = (problem.code, group.message(key));
        let first = group.places.iter().map(|(path, line)| {
            let line = line.map_or_else(String::new, |n| format!(":{n}"));
            format!("{}{line}", shown(path))
        });
        let first = first.collect::<Vec<_>>().join(", ");
        session.ui.note(&format!("{severity}[{code}]: {times} in {files}: {}", shown(&message)));
        session.ui.note(&format!("  first: {first}"));
        session.ui.note("  hint: `ctx validate --all` lists each with its hint");
    }
}

/// Lists the links that were changed, and those that must be changed by hand.
fn fixed(session: &mut Session<'_>, files: &[FixedLinks], dry_run: bool) {
    if files.is_empty() {
        return;
    }
    let vault = session.vault().ok();
    let log = vault.as_ref().and_then(|vault| session.log(vault).ok());
    let chronicle = log.as_ref().and_then(|log| log.sound().ok());
    let may_name = vault.as_ref().zip(chronicle.as_ref()).map(|at| review::may_name(at.0, at.1));
    let ui = &mut session.ui;
    let would = if dry_run { "would change" } else { "changed" };
    for file in files {
        let path = file.id.live_path();
        let path = shown(&path);
        let changed = file.new.changed.len();
        if changed > 0 {
            ui.line(&format!("  {would} {} in {path}, not published", count(changed, "link")));
        }
        let is_shown = may_name.as_ref().is_some_and(|may_name| may_name(&file.id));
        for Written { line, text } in &file.new.left {
            let text = if is_shown { format!(": `{}`", shown(text)) } else { String::new() };
            ui.note(&format!("warning: {path}:{line}: change this link by hand{text}"));
        }
    }
    if dry_run {
        let files = files.iter().filter(|file| !file.new.changed.is_empty());
        let changed = files.map(|file| Changed {
            id: &file.id,
            old: Some(&file.old),
            new: Planned::Text(&file.new.text),
            then: "with the new links",
            submitted: None,
        });
        lives(session, changed);
    } else if files.iter().any(|file| !file.new.changed.is_empty()) {
        let changed = Call::new(Verb::Publish).word("--changed");
        let next = Hint::call("{} {publishes} them", changed).render(session.ui.spell());
        session.ui.note(&format!("next: `ctx diff` shows the changed links, {next}"));
    }
}

/// Maximum number of printed links; the report as JSON has all of them.
const MOST_LINKS: usize = 20;

/// Lists the links to documents that were retired or moved.
fn inbound(session: &mut Session<'_>, links: &[Inbound]) {
    if links.is_empty() {
        return;
    }
    let ui = &mut session.ui;
    ui.painted(Paint::Heading, "Links that lead there:");
    for link in links.iter().take(MOST_LINKS) {
        let kind = match link.kind {
            InboundKind::Reference => "",
            kind => kind.as_str(),
        };
        let (path, line, to) = (shown(&link.path), link.line, shown(link.to.as_str()));
        ui.line(format!("  {path}:{line}  {to}  {kind}").trim_end());
    }
    if links.len() > MOST_LINKS {
        ui.line(&format!("  … {} more", links.len() - MOST_LINKS));
    }
}

/// Warns of links that lead to another document after the event.
fn captured(session: &mut Session<'_>, links: &[Captured]) {
    for Captured { path, line, was, now } in links.iter().take(MOST_LINKS) {
        let (path, was, now) = (shown(path), shown(was.as_str()), shown(now.as_str()));
        let what = format!("this link leads to {now} now, and led to {was}");
        session.ui.note(&format!("warning: {path}:{line}: {what}"));
    }
    if links.len() > MOST_LINKS {
        let more = count(links.len() - MOST_LINKS, "more link");
        session.ui.note(&format!("warning: {more} lead to other documents now"));
    }
}

/// Warns of text that may have been meant as links to documents that were retired or moved.
fn texts(session: &mut Session<'_>, links: &[Inbound]) {
    for Inbound { path, line, to, .. } in links.iter().take(MOST_LINKS) {
        let (path, to) = (shown(path), shown(to.as_str()));
        let what = format!("`(…)` after a wikilink is text, but names {to}; change it by hand");
        session.ui.note(&format!("warning: {path}:{line}: {what}"));
    }
    if links.len() > MOST_LINKS {
        let more = count(links.len() - MOST_LINKS, "more text");
        session.ui.note(&format!("warning: {more} after wikilinks to change by hand"));
    }
}

/// Names the first of the files whose links could not be read.
fn unread(session: &mut Session<'_>, paths: &[String]) {
    const NAMED: usize = 3;
    if paths.is_empty() {
        return;
    }
    let first: Vec<_> = paths.iter().take(NAMED).map(|path| shown(path)).collect();
    let more = if paths.len() > NAMED { ", …" } else { "" };
    let (files, first) = (count(paths.len(), "file"), first.join(", "));
    let what = format!("the links of {files} were not read: {first}{more}");
    session.ui.note(&format!("note: {what}; `ctx validate` says why"));
}

/// Lists the relative links of documents that were moved to another folder.
fn relative(session: &mut Session<'_>, links: &[RelativeLink]) {
    if links.is_empty() {
        return;
    }
    let ui = &mut session.ui;
    ui.painted(Paint::Heading, "Relative links, written for the old folder:");
    for RelativeLink { path, line, text } in links.iter().take(MOST_LINKS) {
        ui.line(&format!("  {}:{line}  {}", shown(path), shown(text)));
    }
    if links.len() > MOST_LINKS {
        ui.line(&format!("  … {} more", links.len() - MOST_LINKS));
    }
}

fn note(session: &mut Session<'_>, place: &str, problem: &Problem) {
    let line = problem.line.map_or_else(String::new, |n| format!(", line {n}"));
    let severity = problem.severity;
    let (place, message, code) = (shown(place), shown(&problem.message), problem.code);
    let hint = problem.hint.render(session.ui.spell());
    let hint = shown(&hint);
    session.ui.note(&format!("{severity}[{code}]: {place}{line}: {message} ({hint})"));
}

/// The planned change of a live file.
pub(super) enum Planned<'p> {
    /// A line that shows nothing of its text.
    Line(String),
    /// The new text of the file.
    Text(&'p str),
}

impl<'p> Planned<'p> {
    /// Returns the plan for a file; `None` if the file stays as it is.
    pub(super) fn of(path: &str, live: &'p Live) -> Option<Self> {
        let path = shown(path);
        match live {
            Live::Keep => None,
            Live::Create(_) => Some(Self::Line(format!("would create {path}"))),
            Live::Remove(_) => Some(Self::Line(format!("would remove {path}"))),
            Live::Replace { new, .. } => Some(Self::Text(new)),
        }
    }
}

/// A live file that a command would write.
struct Changed<'c> {
    id: &'c DocumentId,
    /// Its bytes; `None` if they are read when they are shown, so that at most one of very many
    /// files is in memory.
    old: Option<&'c [u8]>,
    new: Planned<'c>,
    /// The state of the new text.
    then: &'c str,
    /// The version that is approved, which is compared with the published text.
    submitted: Option<Version>,
}

/// Shows the changes of live files that the reader may read; of others, only that they would
/// be changed.
fn lives<'c>(session: &mut Session<'_>, changed: impl Iterator<Item = Changed<'c>>) {
    let mut changed = changed.peekable();
    if changed.peek().is_none() {
        return;
    }
    let Ok(vault) = session.vault() else { return };
    let log = session.log(&vault).ok();
    let chronicle = log.as_ref().and_then(|log| log.sound().ok());
    let head = chronicle.as_ref().and_then(|at| Snapshot::at(&vault, at, None).ok());
    let ground = chronicle.as_ref().zip(head.as_ref());
    for one in changed {
        let path = one.id.live_path();
        let new = match one.new {
            Planned::Text(new) => new,
            Planned::Line(line) => {
                session.ui.line(&line);
                continue;
            }
        };
        let read = || vault.files().read(&path, limit::DOCUMENT).unwrap_or_default();
        let diff = match one.submitted {
            // The live file may have the submitted text already.
            Some(_) => {
                let published = head.as_ref().and_then(|head| head.get(one.id)?.ok());
                let old = published.as_ref().map_or("", |served| &served.text);
                diff_of(&path, (old, "published"), (new, one.then))
            }
            None => {
                let old = one.old.map_or_else(|| Cow::Owned(read()), Cow::Borrowed);
                live_diff(&path, (&String::from_utf8_lossy(&old), new), one.then)
            }
        };
        let told = ground.and_then(|(chronicle, head)| {
            session.call.dry_run((&vault, chronicle, head), one.id, one.submitted, diff)
        });
        match told {
            Some(diff) => session.ui.diff(&diff),
            None => session.ui.line(&format!("would change {}", shown(&path))),
        }
    }
}

/// Returns the changes of a live file.
pub(super) fn live_diff(path: &str, (old, new): (&str, &str), then: &str) -> String {
    diff_of(path, (old, "now"), (new, then))
}

/// Returns the changes between two texts of a file, each with its state.
fn diff_of(path: &str, (old, before): (&str, &str), (new, then): (&str, &str)) -> String {
    let path = shown(path);
    print_between(old, new, &format!("{path} ({before})"), &format!("{path} ({then})"))
}
