//! `ctx checkpoint`.

use std::collections::HashSet;

use super::Answer;
use super::adopt::{self, Adopt};
use super::convert::{self, Convert};
use super::limit::{self, Limit};
use super::rebuild::{self, Rebuild};
use super::session::Session;
use super::ui::shown;
use crate::read::snapshot::{Need, Snapshot};
use crate::record::checkpoint::event::{Checkpoint as Entry, Event};
use crate::record::checkpoint::state::PublishedSet;
use crate::service::report::checkpoint::{CheckpointsReport, StateDiffReport, StateReport};
use crate::service::report::failure::Failure;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::text_util::count;

/// List, show and compare checkpoints; rebuild, convert or adopt the log
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx checkpoint list\n  ctx checkpoint show 3\n  ctx checkpoint diff 1 3"
)]
pub(super) struct Checkpoint {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List checkpoints with what they published or retired, the newest last
    List {
        /// List the checkpoints of other branches that merges brought, with their own numbers
        #[arg(long)]
        merged: bool,
        #[command(flatten)]
        limit: Limit,
    },
    /// Show what one checkpoint changed and contains; its hash is recomputed
    Show {
        /// Number of the checkpoint
        #[arg(value_parser = super::as_of::number)]
        number: CheckpointNumber,
    },
    /// Show what changed between two checkpoints
    Diff {
        /// Number of the older checkpoint; 0 is the empty vault
        #[arg(value_parser = super::as_of::number)]
        older: CheckpointNumber,
        /// Number of the newer checkpoint
        #[arg(value_parser = super::as_of::number)]
        newer: CheckpointNumber,
    },
    Rebuild(Rebuild),
    Convert(Convert),
    Adopt(Adopt),
}

pub(super) fn run(args: &Checkpoint, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.action {
        Action::Rebuild(args) => return rebuild::run(args, session),
        Action::Convert(args) => return convert::run(args, session),
        Action::Adopt(args) => return adopt::run(args, session),
        _ => {}
    }
    let vault = session.vault()?;
    if let (Action::List { limit, merged: false }, false) = (&args.action, session.ui.json) {
        let source = session.source(&vault, Need::Versions)?;
        let head = Snapshot::of(&vault, &source, None)?;
        head.check_rules()?;
        let events = match head.is_limited() {
            false => source.events(&vault)?,
            true => {
                let log = source.log(&vault)?;
                log.sound()?.checkpoints().iter().map(|entry| seen(entry, &head)).collect()
            }
        };
        list(session, events, *limit, &head);
        return Ok(Answer::Yes);
    }
    let log = session.log(&vault)?;
    let chronicle = log.sound()?;
    let head = Snapshot::at(&vault, &chronicle, None)?;
    head.check_rules()?;
    match &args.action {
        Action::Rebuild(_) | Action::Convert(_) | Action::Adopt(_) => {}
        Action::List { limit, merged: true } if !session.ui.json => {
            let sides = chronicle.sides().map(|side| seen(side, &head)).collect();
            list(session, sides, *limit, &head);
        }
        Action::List { limit, merged } => {
            let mut checkpoints = match merged {
                true => chronicle.sides().collect(),
                false => chronicle.checkpoints().to_vec(),
            };
            let omitted = limit.last(&mut checkpoints);
            session.recording.listed = Some(checkpoints.len());
            session.ui.report(&limit::report(CheckpointsReport::new(&checkpoints, &head), omitted));
        }
        Action::Show { number } => {
            let entry = chronicle.checkpoint(*number)?;
            let at = Snapshot::at(&vault, &chronicle, Some(*number))?;
            let state = at.state()?;
            session.recording.listed = Some(state.len());
            session.note_unreadable(&at)?;
            show(session, entry, state, &head);
        }
        Action::Diff { older, newer } => {
            let (before, after) = match head.is_limited() {
                true => {
                    let at = |number: CheckpointNumber| -> Result<PublishedSet, Failure> {
                        if number == CheckpointNumber::NONE {
                            return Ok(chronicle.state_at(number)?);
                        }
                        Ok(Snapshot::at(&vault, &chronicle, Some(number))?.state()?.clone())
                    };
                    (at(*older)?, at(*newer)?)
                }
                false => (chronicle.state_at(*older)?, chronicle.state_at(*newer)?),
            };
            diff(session, (*older, &before), (*newer, &after));
        }
    }
    Ok(Answer::Yes)
}

/// Returns the counts of a checkpoint that the reader of `head` may know.
fn seen(entry: &Entry, head: &Snapshot<'_>) -> Event {
    let set = entry.set.iter().filter(|(id, _)| head.may_name(id)).count() as u64;
    let removed = entry.removed.iter().filter(|id| head.may_name(id)).count() as u64;
    Event { set, removed, ..Event::from(entry) }
}

fn list(session: &mut Session<'_>, mut events: Vec<Event>, limit: Limit, head: &Snapshot<'_>) {
    let omitted = limit.last(&mut events);
    session.recording.listed = Some(events.len());
    let row = |c: &Event| {
        let of = |n: u64, what| Some(n).filter(|n| *n > 0).map(|n| format!("{n} {what}"));
        let what: Vec<String> =
            of(c.set, "published").into_iter().chain(of(c.removed, "retired")).collect();
        let name = shown(c.triggered_by.as_str());
        vec![
            format!("@{}", c.number),
            c.at.to_string(),
            c.hash.short(),
            what.join(", "),
            match c.set + c.removed {
                _ if !head.may_name(&c.triggered_by) => String::new(),
                0 | 1 => name.into_owned(),
                n => format!("{name} and {} more", n - 1),
            },
        ]
    };
    let rows: Vec<Vec<String>> = events.iter().map(row).collect();
    if rows.is_empty() && omitted == 0 && head.checkpoint() == CheckpointNumber::NONE {
        session.ui.note("hint: there is no checkpoint yet; `ctx publish --all` makes the first");
    }
    session.ui.table(&rows);
    limit::note(omitted).iter().for_each(|note| session.ui.note(note));
}

fn diff(
    session: &mut Session<'_>,
    before: (CheckpointNumber, &PublishedSet),
    after: (CheckpointNumber, &PublishedSet),
) {
    let report = StateDiffReport::new(before, after);
    session.recording.listed = Some(report.changes.len());
    if session.ui.json {
        session.ui.report(&report);
        return;
    }
    let version = |v: Option<Version>| v.map_or_else(String::new, |v| format!("v{v}"));
    let row = |c: &crate::service::report::checkpoint::ChangeReport<'_>| {
        let versions = match (c.from, c.to) {
            (Some(from), Some(to)) => format!("v{from} -> v{to}"),
            (from, to) => version(from.or(to)),
        };
        vec![c.change.to_string(), shown(c.id.as_str()).into_owned(), versions]
    };
    session.ui.table(&report.changes.iter().map(row).collect::<Vec<_>>());
    if report.changes.is_empty() {
        let (older, newer) = (before.0, after.0);
        session
            .ui
            .note(&format!("note: checkpoints {older} and {newer} contain the same versions"));
    }
}

fn show(session: &mut Session<'_>, entry: &Entry, state: &PublishedSet, head: &Snapshot<'_>) {
    if session.ui.json {
        session.ui.report(&StateReport::new(entry, state, head));
        return;
    }
    let ui = &mut session.ui;
    ui.line(&format!("checkpoint {} of {}", entry.number, entry.at));
    if head.may_name(&entry.triggered_by) {
        ui.line(&format!("triggered by {}", shown(entry.triggered_by.as_str())));
    }
    ui.line(&format!("hash {}", entry.hash));
    for id in entry.removed.iter().filter(|id| head.may_name(id)) {
        ui.line(&format!("removed {}", shown(id.as_str())));
    }
    ui.line(&format!("contains {} (* = set by this checkpoint):", count(state.len(), "artifact")));
    let changed: HashSet<&DocumentId> = entry.set.iter().map(|(id, _)| id).collect();
    let row = |(id, mark): (&DocumentId, &crate::record::checkpoint::state::Mark)| {
        let version = mark.version.map_or_else(|| "-".to_owned(), |v| format!("v{v}"));
        let hash = mark.chain_hash.map_or_else(|| "-".to_owned(), |hash| hash.short());
        let star = if changed.contains(id) { "  * " } else { "    " };
        vec![format!("{star}{}", shown(id.as_str())), version, hash]
    };
    ui.table(&state.iter().map(row).collect::<Vec<_>>());
}
