//! `ctx recover`.

use std::collections::BTreeSet;

use serde::Serialize;

use super::expect::ExpectHead;
use super::failure::Code;
use super::session::Session;
use super::ui::{SHOWN, first, shown, table};
use super::{Answer, Failure};
use crate::checkpoint::fault::LogError;
use crate::head::{self, EventKey, Head};
use crate::publish::expect;
use crate::recover::{self, Lost};
use crate::txn::{self, Leftover, Plan, Recovered, Remains, Scope};
use crate::words::count;

/// Clear away what an interrupted command left, and say what cannot be had any more
///
/// Every command that writes does this by itself, where it is remembered here that a command
/// began and did not end. What lies beyond the sealed versions is moved to .context/local/recovered/, never deleted;
/// files that a publication did not bring up to date any more get what it published. Damage in what is
/// sealed is named and left alone: bring those files back from git or a backup.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx recover --dry-run\n  ctx recover")]
pub(super) struct Recover {
    /// Show what would be done, write nothing
    #[arg(long)]
    dry_run: bool,
    /// Clear it away although nothing that is remembered says that a command was interrupted
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    expect: ExpectHead,
}

#[derive(Serialize)]
struct RecoverJson<'r> {
    dry_run: bool,
    remembered: bool,
    #[serde(flatten)]
    recovered: RecoveredJson<'r>,
    broken: Vec<BrokenJson<'r>>,
    lost_versions: Vec<LostVersionJson<'r>>,
    lost_checkpoints: Vec<LostCheckpointJson<'r>>,
}

/// What was moved and brought up to date, in JSON.
#[derive(Serialize)]
pub(super) struct RecoveredJson<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<&'r str>,
    leftovers: Vec<LeftoverJson<'r>>,
    brought_up_to_date: Vec<String>,
}

#[derive(Serialize)]
struct LeftoverJson<'r> {
    path: &'r str,
    what: &'static str,
    from: u64,
    bytes: u64,
    events: Vec<EventJson<'r>>,
}

/// Who recorded what is left, and when.
#[derive(Serialize)]
struct EventJson<'r> {
    at: String,
    by: &'r str,
}

#[derive(Serialize)]
struct BrokenJson<'r> {
    id: &'r str,
    reason: String,
}

#[derive(Serialize)]
struct LostVersionJson<'r> {
    id: &'r str,
    version: u64,
    reason: String,
}

#[derive(Serialize)]
struct LostCheckpointJson<'r> {
    entry: usize,
    reason: &'r str,
}

pub(super) fn run(args: &Recover, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let _lock = match args.dry_run {
        true => None,
        false => Some(vault.lock(&session.holder("recover")?)?),
    };
    let log = head::read_log(&vault)?;
    let sound = log.sound();
    let faults: Vec<LogError> =
        sound.iter().flat_map(|chronicle| chronicle.hash_faults(vault.files())).collect();
    let lost = recover::lost(&vault, &log, &faults);
    let (mut plan, mut end, mut interrupted) = (Plan::default(), None, None);
    let sound = sound.and_then(|chronicle| faults.into_iter().next().map_or(Ok(chronicle), Err));
    let is_held = match &sound {
        Ok(chronicle) => head::check(&vault, chronicle),
        Err(_) => Ok(()),
    };
    if let (Ok(chronicle), Ok(())) = (&sound, &is_held) {
        expect::check(&vault, chronicle, &[], args.expect.read()?)?;
        let head = Head::of(chronicle);
        interrupted = head::interrupted(&vault, &head);
        end = Some(head);
        plan = txn::plan(&vault, chronicle, &Scope::Everything);
    }
    let is_sound = sound.is_ok() && is_held.is_ok();
    let unsure: Vec<&Leftover> =
        plan.leftovers.iter().filter(|leftover| !leftover.is_of(interrupted.as_ref())).collect();
    let is_sure = unsure.is_empty();
    if !is_sure && !args.force && !args.dry_run {
        let leftovers = count(unsure.len(), "leftover");
        let message =
            format!("{leftovers}, and no command that was interrupted is remembered here");
        let mut failure = Failure::new(Code::Unremembered, message)
            .hint("a command may have been interrupted, or somebody may have cut the log: look at them")
            .hint("if a command was: `ctx recover --force` moves them to .context/local/recovered/")
            .hint("if the log was cut: bring it back, or see what `ctx checkpoint rebuild --dry-run` makes of them");
        failure.details = rows(unsure);
        return Err(failure);
    }
    let broken = std::mem::take(&mut plan.broken);
    let recovered = if args.dry_run {
        let caught_up = plan.behind.iter().map(|(id, _)| id.live_path()).collect();
        Recovered { kept: plan.leftovers, caught_up, ..Recovered::default() }
    } else if is_sound {
        let recovered = txn::carry_out(&vault, plan)?;
        head::withdraw(&vault, |intent| Some(&intent.upon) == end.as_ref());
        recovered
    } else {
        // Beside a log that cannot be relied on nothing is touched.
        Recovered::default()
    };
    if session.ui.json {
        let json = RecoverJson {
            dry_run: args.dry_run,
            remembered: is_sure,
            recovered: json(&recovered),
            broken: broken
                .iter()
                .map(|(id, why)| BrokenJson { id: id.as_str(), reason: why.to_string() })
                .collect(),
            lost_versions: lost
                .versions
                .iter()
                .map(|lost| LostVersionJson {
                    id: lost.id.as_str(),
                    version: lost.version,
                    reason: lost.why.to_string(),
                })
                .collect(),
            lost_checkpoints: lost
                .checkpoints
                .iter()
                .map(|(entry, reason)| LostCheckpointJson { entry: *entry, reason })
                .collect(),
        };
        session.ui.result("recover", &json);
    } else {
        if is_sound && (broken.is_empty() || !recovered.is_empty()) {
            print(session, &recovered, args.dry_run);
        }
        print_lost(session, &lost);
        for (id, why) in &broken {
            let (id, why) = (shown(id.as_str()), shown(&why.to_string()).into_owned());
            session.ui.note(&format!("warning: nothing was cleared beside {id}: {why}"));
        }
    }
    tell_left_alone(session, &recovered);
    if let Err(why) = sound {
        return Err(why.into());
    }
    is_held?;
    let is_whole = lost.versions.is_empty() && broken.is_empty();
    let is_done = recovered.left_alone.iter().all(|(_, why)| why.is_changed());
    Ok(match (is_done, is_whole) {
        (false, _) => Answer::Incomplete,
        (true, true) => Answer::Yes,
        (true, false) => Answer::No,
    })
}

/// Says what an event cleared away before it began.
pub(super) fn tell(session: &mut Session<'_>, recovered: &Recovered) {
    if let Some(folder) = &recovered.folder {
        let leftovers = count(recovered.kept.len(), "leftover");
        session.ui.note(&format!("note: {leftovers} of an interrupted command moved to {folder}/"));
    }
    let caught_up = first(SHOWN, recovered.caught_up.iter(), |path| {
        let path = shown(path);
        format!("note: `{path}` was brought up to date after an interrupted command")
    });
    caught_up.iter().for_each(|line| session.ui.note(line));
    tell_left_alone(session, recovered);
}

fn tell_left_alone(session: &mut Session<'_>, recovered: &Recovered) {
    let left_alone = first(SHOWN, recovered.left_alone.iter(), |(path, why)| {
        format!("warning: `{}` was left as it is: {why}", shown(path))
    });
    left_alone.iter().for_each(|line| session.ui.note(line));
}

pub(super) fn json(recovered: &Recovered) -> RecoveredJson<'_> {
    RecoveredJson {
        folder: recovered.folder.as_deref(),
        leftovers: recovered.kept.iter().map(leftover_json).collect(),
        brought_up_to_date: recovered.caught_up.clone(),
    }
}

fn leftover_json(leftover: &Leftover) -> LeftoverJson<'_> {
    let Leftover { path, remains, from, bytes, .. } = leftover;
    let events = recorded_by(leftover).into_iter();
    let events = events.map(|key| EventJson { at: key.at.to_string(), by: &key.by }).collect();
    LeftoverJson { path, what: word(*remains), from: *from, bytes: *bytes, events }
}

/// The events that a leftover is of, as far as it says.
fn recorded_by(leftover: &Leftover) -> BTreeSet<&EventKey> {
    leftover.events.iter().flatten().collect()
}

fn word(remains: Remains) -> &'static str {
    match remains {
        Remains::Temporary => "a file that never got its name",
        Remains::Text => "a text that no entry has",
        Remains::History => "a history that no checkpoint seals",
        Remains::Entries => "entries that no checkpoint seals",
        Remains::Log => "what follows the last checkpoint",
        Remains::Twin => "the log before it was converted",
    }
}

fn rows<'l>(leftovers: impl IntoIterator<Item = &'l Leftover>) -> Vec<String> {
    let row = |leftover: &Leftover| {
        let path = format!("  {}", shown(&leftover.path));
        let mut events = recorded_by(leftover).into_iter();
        let one = events.next().map(|key| shown(&key.to_string()).into_owned());
        let more = match events.len() {
            0 => String::new(),
            more => format!(", and {}", count(more, "more event")),
        };
        let recorded = one.unwrap_or_default() + &more;
        let bytes = format!("{} bytes", leftover.bytes);
        vec![path, word(leftover.remains).to_owned(), bytes, recorded]
    };
    let rows: Vec<Vec<String>> = leftovers.into_iter().map(row).collect();
    first(SHOWN, table(&rows).into_iter(), |line| line)
}

fn print(session: &mut Session<'_>, recovered: &Recovered, dry_run: bool) {
    let would = if dry_run { "would be " } else { "" };
    if recovered.is_empty() {
        session.ui.line("no command was interrupted");
        return;
    }
    if !recovered.kept.is_empty() {
        let to = recovered.folder.as_deref().unwrap_or(crate::model::layout::RECOVERED);
        let leftovers = count(recovered.kept.len(), "leftover");
        session.ui.line(&format!("{leftovers} {would}moved to {to}/"));
        rows(&recovered.kept).iter().for_each(|row| session.ui.line(row));
    }
    if !recovered.caught_up.is_empty() {
        let files = count(recovered.caught_up.len(), "file");
        session.ui.line(&format!("{files} {would}brought up to date"));
        for path in &recovered.caught_up {
            session.ui.line(&format!("  {}", shown(path)));
        }
    }
}

fn print_lost(session: &mut Session<'_>, lost: &Lost) {
    for (entry, why) in &lost.checkpoints {
        session.ui.line(&format!("lost: entry {entry} of the log: {}", shown(why)));
    }
    for lost in &lost.versions {
        let (id, why) = (shown(lost.id.as_str()), lost.why.to_string());
        session.ui.line(&format!("lost: {id} version {}: {}", lost.version, shown(&why)));
    }
    if !lost.versions.is_empty() || !lost.checkpoints.is_empty() {
        session
            .ui
            .note("what is lost comes back only from git or a backup; `ctx verify` says more");
    }
}
