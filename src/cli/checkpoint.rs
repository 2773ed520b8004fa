//! `ctx checkpoint`.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;

use super::convert::{self, Convert};
use super::expect::ExpectHead;
use super::failure::Code;
use super::session::Session;
use super::ui::{SHOWN, first, shown, table};
use super::{Answer, Failure};
use crate::checkpoint::chronicle::Chronicle;
use crate::checkpoint::fault::LogError;
use crate::checkpoint::log::Checkpoint as Entry;
use crate::checkpoint::state::{Mark, State};
use crate::head::{self, Head};
use crate::model::digest::Digest;
use crate::model::id::Id;
use crate::recover::{self, Rebuilt};
use crate::vault::Vault;
use crate::words::count;

/// Look at the checkpoint log
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx checkpoint list\n  ctx checkpoint show 3\n  ctx checkpoint diff 1 3\n  \
ctx checkpoint export --form full > context_history.yaml"
)]
pub(super) struct Checkpoint {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    /// List all checkpoints, the newest last
    List,
    /// Show what one checkpoint changed and what it holds; its hash is recomputed
    Show {
        /// Number of the checkpoint
        number: u64,
    },
    /// Say what changed between two checkpoints
    Diff {
        /// Number of the older checkpoint; 0 is the empty vault
        older: u64,
        /// Number of the newer one
        newer: u64,
    },
    /// Print the whole log in one of its two forms
    Export {
        /// `delta` (what changed, JSON Lines) or `full` (whole maps, YAML)
        #[arg(long, default_value = "delta", value_parser = ["delta", "full"])]
        form: String,
    },
    Rebuild(Rebuild),
    Convert(Convert),
}

/// Make the log anew from the histories, where it is gone or broken
///
/// What agrees with the histories at the beginning of the log stays; what follows is derived: what was
/// published or retired at one instant is one checkpoint. From intact histories this gives the same log,
/// hash for hash, which `--from-scratch --dry-run` proves. The old log is kept beside the new one.
#[derive(Debug, clap::Args)]
pub(super) struct Rebuild {
    /// Keep nothing of the log that is there
    #[arg(long)]
    from_scratch: bool,
    /// Show what would be written, write nothing
    #[arg(long)]
    dry_run: bool,
    /// Do it although some versions cannot be vouched for and are left out, a sound log says otherwise,
    /// or the head that is remembered here is not in it; the new head is then remembered
    #[arg(long)]
    force: bool,
    /// With `--force`: let the log begin with another first checkpoint; no head that was noted elsewhere
    /// is of it any more
    #[arg(long, requires = "force")]
    new_first_checkpoint: bool,
    #[command(flatten)]
    expect: ExpectHead,
}

#[derive(Serialize)]
struct RebuildJson {
    dry_run: bool,
    same: bool,
    kept: usize,
    derived: Vec<EntryJson>,
    entries_before: usize,
    head: Option<String>,
    unsound: Vec<UnsoundJson>,
    /// Why it would not be done as it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// The first checkpoint that the log had, where it gets another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced_first: Option<String>,
    passed_over: Vec<PassedOverJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<String>,
}

/// A version that is recorded, but that no checkpoint holds.
#[derive(Serialize)]
struct PassedOverJson {
    id: Id,
    version: u64,
}

#[derive(Serialize)]
struct UnsoundJson {
    id: Id,
    version: u64,
    reason: String,
}

#[derive(Serialize)]
struct ListJson {
    checkpoints: Vec<EntryJson>,
}

#[derive(Serialize)]
struct EntryJson {
    checkpoint: u64,
    at: String,
    triggered_by: String,
    checkpoint_hash: String,
    set: Vec<MarkJson>,
    removed: Vec<Id>,
}

#[derive(Serialize)]
struct MarkJson {
    id: Id,
    version: Option<u64>,
    chain_hash: Option<String>,
}

#[derive(Serialize)]
struct ShowJson {
    #[serde(flatten)]
    entry: EntryJson,
    holds: Vec<MarkJson>,
}

#[derive(Serialize)]
struct ExportJson {
    form: &'static str,
    log: String,
}

pub(super) fn run(args: &Checkpoint, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.part {
        Part::Rebuild(args) => return rebuild(args, session),
        Part::Convert(args) => return convert::run(args, session),
        _ => {}
    }
    let vault = session.vault()?;
    let log = session.log(&vault)?;
    let chronicle = log.sound()?;
    match &args.part {
        Part::Rebuild(_) | Part::Convert(_) => {}
        Part::List => list(session, &chronicle),
        Part::Show { number } => {
            let entry = chronicle.checkpoint(*number)?;
            show(session, entry, &chronicle.state_at(*number)?);
        }
        Part::Diff { older, newer } => {
            let (before, after) = (chronicle.state_at(*older)?, chronicle.state_at(*newer)?);
            diff(session, (*older, *newer), &before, &after);
        }
        Part::Export { form } => {
            let form = convert::form_of(form);
            let bytes = chronicle.export(form);
            if session.ui.json {
                let log = String::from_utf8_lossy(&bytes).into_owned();
                session.ui.result("checkpoint.export", &ExportJson { form: form.as_str(), log });
            } else {
                session.ui.bytes(&bytes);
            }
        }
    }
    Ok(Answer::Yes)
}

fn entry_json(entry: &Entry) -> EntryJson {
    EntryJson {
        checkpoint: entry.number,
        at: entry.at.to_string(),
        triggered_by: entry.triggered_by.to_string(),
        checkpoint_hash: entry.hash.to_string(),
        set: entry.set.iter().map(|(id, mark)| mark_json(id, mark)).collect(),
        removed: entry.removed.clone(),
    }
}

fn mark_json(id: &Id, mark: &Mark) -> MarkJson {
    let chain_hash = mark.chain_hash.map(|hash| hash.to_string());
    MarkJson { id: id.clone(), version: mark.version, chain_hash }
}

fn rebuild(args: &Rebuild, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let _lock = match args.dry_run {
        true => None,
        false => Some(vault.lock(&session.holder("checkpoint rebuild")?)?),
    };
    let old = head::read_log(&vault)?;
    if old.both_forms {
        return Err(LogError::BothForms.into());
    }
    let sound = old.sound().and_then(|chronicle| chronicle.check_hashes(vault.files()));
    // Of a log that is broken nobody can say whether it has the head that is expected.
    session.check_expected(&vault, &[], args.expect.read()?)?;
    let rebuilt = recover::rebuild(&vault, &old, args.from_scratch);
    let same = rebuilt.is_same(&old);
    let end = Head::of(&rebuilt.log.sound()?);
    let mut replaced = None;
    let mut refusal = None;
    if !same && !args.force {
        // A log that lost its end, or everything, is whole and says too little.
        let is_complete = old.sound().is_ok_and(|chronicle| {
            let end = Head::of(&chronicle);
            let says_enough = !old.is_blank() || head::interrupted(&vault, &end).is_some();
            says_enough && head::check(&vault, &chronicle).is_ok()
        });
        refusal = refuse(&vault, &rebuilt, sound.is_ok() && is_complete).err();
    }
    let replaced_first = rebuilt.replaced_first(&old, &head::recall(&vault).unwrap_or_default());
    if let Some(first) = replaced_first.filter(|_| args.force && !args.new_first_checkpoint) {
        refusal = Some(another_first(&rebuilt, &first));
    }
    if !args.dry_run && !same {
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        replaced = recover::replace_log(&vault, &rebuilt.log)?;
        head::trust(&vault, &end, session.now()?)?;
    }
    let unsound = || rebuilt.unsound.iter();
    if session.ui.json {
        let json = RebuildJson {
            dry_run: args.dry_run,
            same,
            kept: rebuilt.kept,
            derived: rebuilt.derived().map(entry_json).collect(),
            entries_before: rebuilt.before,
            head: end.hashes.map(|hashes| hashes.last.to_string()),
            unsound: unsound()
                .map(|(id, version, why)| UnsoundJson {
                    id: id.clone(),
                    version: *version,
                    reason: why.to_string(),
                })
                .collect(),
            passed_over: rebuilt
                .passed_over
                .iter()
                .map(|(id, version)| PassedOverJson { id: id.clone(), version: *version })
                .collect(),
            replaced,
            refused: refusal.map(|refusal| refusal.message),
            replaced_first: replaced_first.map(|first| first.to_string()),
        };
        session.ui.result("checkpoint.rebuild", &json);
    } else {
        let would = if args.dry_run { "would be " } else { "" };
        let derived: Vec<&Entry> = rebuilt.derived().collect();
        let all = count(rebuilt.kept + derived.len(), "checkpoint");
        match (same, derived.len()) {
            (true, _) => session.ui.line(&format!("the histories give the same log: {all}")),
            (false, n) => session.ui.line(&format!(
                "{} {would}kept, {} {would}derived from the histories",
                count(rebuilt.kept, "checkpoint"),
                count(n, "checkpoint")
            )),
        }
        if !same {
            let rows: Vec<Vec<String>> = derived.iter().map(|entry| row_of(entry)).collect();
            table(&rows).iter().for_each(|row| session.ui.line(row));
        }
        for (id, version, why) in unsound() {
            let (id, why) = (shown(id.as_str()), why.to_string());
            session.ui.note(&format!("left out: {id} version {version}: {}", shown(&why)));
        }
        let passed_over = first(SHOWN, rebuilt.passed_over.iter(), |(id, version)| {
            let id = shown(id.as_str());
            format!("not in it: {id} version {version}, recorded before its last checkpoint")
        });
        passed_over.iter().for_each(|line| session.ui.note(line));
        if let Some(first) = replaced_first {
            let have = if args.dry_run { "would have" } else { "has" };
            session
                .ui
                .note(&format!("warning: the log {have} another first checkpoint: it was {first}"));
        }
        if let Some(refusal) = refusal {
            let flag = if args.force { "new-first-checkpoint" } else { "force" };
            let why = shown(&refusal.message);
            session.ui.note(&format!("warning: without `--{flag}` it would be refused: {why}"));
        }
        if let Some(path) = replaced {
            session.ui.note(&format!("the log that was there is kept in {path}"));
        }
    }
    let is_all = rebuilt.unsound.is_empty() && rebuilt.passed_over.is_empty();
    Ok(if is_all { Answer::Yes } else { Answer::No })
}

/// Refuses what nobody wants without having looked.
fn refuse(vault: &Vault, rebuilt: &Rebuilt, was_whole: bool) -> Result<(), Failure> {
    if !rebuilt.unsound.is_empty() {
        let n = count(rebuilt.unsound.len(), "version");
        let mut failure = Failure::new(Code::LogBroken, format!("{n} cannot be vouched for"));
        failure.details = first(SHOWN, rebuilt.unsound.iter(), |(id, version, why)| {
            format!("{id} version {version}: {why}")
        });
        return Err(failure.hint(
            "nothing was written; bring the histories back first, or leave these out with `--force`",
        ));
    }
    head::check(vault, &rebuilt.log.sound()?)?;
    let last = head::recall(vault)?.last().unwrap_or(usize::MAX);
    let beyond = rebuilt.log.entries.len().saturating_sub(last);
    if beyond > 0 && !was_whole {
        let n = count(beyond, "checkpoint");
        let message = format!("{n} would follow the last one that is remembered here");
        return Err(Failure::new(Code::Unremembered, message)
            .hint("nothing was written; look at what they hold with `--dry-run`: a writer that died, or somebody else, may have left it")
            .hint("`--force` makes checkpoints of everything that the histories say was published"));
    }
    if was_whole {
        return Err(Failure::new(
            Code::LogBroken,
            "the log is sound, but the histories say more, or something else",
        )
        .hint("nothing was written; `ctx recover` clears away what an interrupted command left")
        .hint("`--force` makes checkpoints of everything that the histories say was published"));
    }
    Ok(())
}

/// Refuses a log of which no head is known that was noted anywhere.
fn another_first(rebuilt: &Rebuilt, before: &Digest) -> Failure {
    let after = match rebuilt.log.entries.first() {
        Some(Ok(first)) => format!("begin with {} instead of {before}", first.hash),
        _ => format!("be empty; it began with {before}"),
    };
    Failure::new(Code::LogBroken, format!("the log would {after}"))
        .hint("nothing was written; `ctx verify` says which histories are damaged: bring them back first")
        .hint("`--force --new-first-checkpoint` does it; no head that was noted elsewhere, in CI, on other machines or in evidence, is then one of this log")
}

fn row_of(entry: &Entry) -> Vec<String> {
    let versions = count(entry.set.len() + entry.removed.len(), "version");
    vec![format!("  checkpoint {}", entry.number), entry.at.to_string(), versions]
}

fn list(session: &mut Session<'_>, chronicle: &Chronicle<'_>) {
    if session.ui.json {
        let checkpoints = chronicle.checkpoints().iter().map(|c| entry_json(c)).collect();
        session.ui.result("checkpoint.list", &ListJson { checkpoints });
        return;
    }
    let rows: Vec<Vec<String>> = chronicle
        .checkpoints()
        .iter()
        .map(|c| {
            let removed = match c.removed.len() {
                0 => String::new(),
                n => format!(", {n} removed"),
            };
            vec![
                format!("@{}", c.number),
                c.at.to_string(),
                c.hash.short(),
                format!("{}{removed}", count(c.set.len(), "version")),
                shown(c.triggered_by.as_str()).into_owned(),
            ]
        })
        .collect();
    if rows.is_empty() {
        session.ui.note("there is no checkpoint yet; `ctx publish --all` makes the first");
    }
    table(&rows).iter().for_each(|row| session.ui.line(row));
}

#[derive(Serialize)]
struct DiffJson<'d> {
    older: u64,
    newer: u64,
    changes: Vec<ChangeJson<'d>>,
}

#[derive(Serialize)]
struct ChangeJson<'d> {
    id: &'d Id,
    change: &'static str,
    from: Option<u64>,
    to: Option<u64>,
}

/// What two states hold differently, in byte order of ids.
fn changes<'d>(before: &'d State, after: &'d State) -> Vec<ChangeJson<'d>> {
    let ids: BTreeSet<&Id> = before.iter().chain(after.iter()).map(|(id, _)| id).collect();
    let change = |id: &'d Id| {
        let (old, new) = (before.get(id.as_str()), after.get(id.as_str()));
        let word = match (old, new) {
            (None, _) => "new",
            (_, None) => "removed",
            (Some(old), Some(new)) if old == new => return None,
            _ => "changed",
        };
        let version = |mark: Option<&Mark>| mark.and_then(|mark| mark.version);
        Some(ChangeJson { id, change: word, from: version(old), to: version(new) })
    };
    ids.into_iter().filter_map(change).collect()
}

fn diff(session: &mut Session<'_>, (older, newer): (u64, u64), before: &State, after: &State) {
    let changes = changes(before, after);
    if session.ui.json {
        session.ui.result("checkpoint.diff", &DiffJson { older, newer, changes });
        return;
    }
    let version = |v: Option<u64>| v.map_or_else(String::new, |v| format!("v{v}"));
    let rows: Vec<Vec<String>> = changes
        .iter()
        .map(|c| {
            let versions = match (c.from, c.to) {
                (Some(from), Some(to)) => format!("v{from} -> v{to}"),
                (from, to) => version(from.or(to)),
            };
            vec![c.change.to_owned(), shown(c.id.as_str()).into_owned(), versions]
        })
        .collect();
    table(&rows).iter().for_each(|row| session.ui.line(row));
    if rows.is_empty() {
        session.ui.note(&format!("checkpoints {older} and {newer} hold the same"));
    }
}

fn show(session: &mut Session<'_>, entry: &Entry, state: &State) {
    if session.ui.json {
        let holds = state.iter().map(|(id, mark)| mark_json(id, mark)).collect();
        session.ui.result("checkpoint.show", &ShowJson { entry: entry_json(entry), holds });
        return;
    }
    let ui = &mut session.ui;
    ui.line(&format!("checkpoint {} of {}", entry.number, entry.at));
    ui.line(&format!("triggered by {}", shown(entry.triggered_by.as_str())));
    ui.line(&format!("hash {}", entry.hash));
    for id in &entry.removed {
        ui.line(&format!("removed {}", shown(id.as_str())));
    }
    ui.line(&format!("holds {}:", count(state.len(), "artifact")));
    let changed: HashSet<&Id> = entry.set.iter().map(|(id, _)| id).collect();
    let rows: Vec<Vec<String>> = state
        .iter()
        .map(|(id, mark)| {
            let version = mark.version.map_or_else(|| "-".to_owned(), |v| format!("v{v}"));
            let hash = mark.chain_hash.map_or_else(|| "-".to_owned(), |hash| hash.short());
            let star = if changed.contains(id) { "  * " } else { "    " };
            vec![format!("{star}{}", shown(id.as_str())), version, hash]
        })
        .collect();
    table(&rows).iter().for_each(|row| ui.line(row));
}
