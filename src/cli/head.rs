//! `ctx head`.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::failure::Code;
use super::session::Session;
use super::ui::{shown, table};
use super::{Answer, Failure};
use crate::checkpoint::log::Log;
use crate::head::{self, Head as End, Remembered};
use crate::vault::Vault;

/// Print the hash of the last checkpoint, or say what is remembered of it
///
/// The hash stands for everything that was ever published here: who keeps it elsewhere can prove
/// later, by `ctx verify --expect-head HASH`, that nothing of it was rewritten or cut off. On this
/// machine it is kept in the user's directory of state, for each vault and git branch: every
/// publication and every verification that finds all whole remembers it, and a log that does not
/// hold it any more is not written to.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx head\n  ctx head --json\n  ctx head trust --dry-run\n  \
ctx head list\n  ctx head forget /srv/vaults/old\n  ctx verify --expect-head \"$(ctx head)\"")]
pub(super) struct Head {
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    /// Remember the log as it is now, whatever was remembered before
    Trust {
        /// Show what would be remembered
        #[arg(long)]
        dry_run: bool,
    },
    /// Forget what is remembered of this vault and branch
    Forget {
        /// Forget everything of the vault in this folder, of all branches; it may be gone
        folder: Option<PathBuf>,
    },
    /// List what is remembered on this machine
    List,
}

#[derive(Serialize)]
struct HeadJson {
    checkpoint: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    hash: Option<String>,
    genesis: Option<String>,
    /// What is remembered on this machine.
    remembered: Option<MemoryJson>,
}

#[derive(Serialize)]
struct TrustJson {
    dry_run: bool,
    from: Option<MemoryJson>,
    to: EndJson,
}

#[derive(Serialize)]
struct EndJson {
    checkpoint: u64,
    hash: Option<String>,
}

#[derive(Serialize)]
struct MemoryJson {
    path: String,
    #[serde(rename = "ref")]
    branch: Option<String>,
    checkpoint: u64,
    hash: Option<String>,
    since: String,
}

impl From<&Remembered> for MemoryJson {
    fn from(memory: &Remembered) -> Self {
        Self {
            path: memory.path.display().to_string(),
            branch: memory.branch.clone(),
            checkpoint: memory.head.checkpoint,
            hash: memory.head.hashes.map(|hashes| hashes.last.to_string()),
            since: memory.at.to_string(),
        }
    }
}

pub(super) fn run(args: &Head, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.part {
        None => print(session),
        Some(Part::Trust { dry_run }) => trust(session, *dry_run),
        Some(Part::Forget { folder: None }) => forget(session),
        Some(Part::Forget { folder: Some(folder) }) => forget_folder(session, folder),
        Some(Part::List) => list(session),
    }
}

/// The head of a log whose last checkpoint was recomputed.
fn end_of(log: &Log) -> Result<End, Failure> {
    let chronicle = log.sound()?;
    chronicle.state_at(chronicle.head_number())?;
    Ok(End::of(&chronicle))
}

fn print(session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let log = head::open_log(&vault)?;
    let end = end_of(&log)?;
    let at = log.sound()?.head().map(|checkpoint| checkpoint.at);
    let memories = head::recall(&vault)?;
    let remembered = memories.binding().next();
    if session.ui.json {
        let json = HeadJson {
            checkpoint: end.checkpoint,
            at: at.map(|at| at.to_string()),
            hash: end.hashes.map(|hashes| hashes.last.to_string()),
            genesis: end.hashes.map(|hashes| hashes.genesis.to_string()),
            remembered: remembered.map(MemoryJson::from),
        };
        session.ui.result("head", &json);
    } else if let Some((hashes, at)) = end.hashes.zip(at) {
        session.ui.line(&hashes.last.to_string());
        session.ui.note(&format!("checkpoint {} of {at}", end.checkpoint));
    } else {
        session.ui.note("nothing is published yet, so there is no head");
    }
    // What is printed is going to be kept elsewhere: not without saying that it is another one.
    head::check(&vault, &log.sound()?)?;
    Ok(if end.hashes.is_some() { Answer::Yes } else { Answer::No })
}

fn trust(session: &mut Session<'_>, dry_run: bool) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    has_memory(&vault)?;
    let end = end_of(&head::read_log(&vault)?)?;
    let memories = head::recall(&vault).unwrap_or_default();
    let before = memories.binding().next();
    if !dry_run {
        head::trust(&vault, &end, session.now()?)?;
    }
    if session.ui.json {
        let hash = end.hashes.map(|hashes| hashes.last.to_string());
        let to = EndJson { checkpoint: end.checkpoint, hash };
        let json = TrustJson { dry_run, from: before.map(MemoryJson::from), to };
        session.ui.result("head.trust", &json);
        return Ok(Answer::Yes);
    }
    let before = before.map_or_else(|| "nothing".to_owned(), |memory| said(&memory.head));
    session.ui.line(&format!("before: {before}"));
    let now = if dry_run { "would be" } else { "now" };
    session.ui.line(&format!("{now}: {}", said(&end)));
    if !dry_run {
        session.ui.note("next: `ctx verify` recomputes everything up to it");
    }
    Ok(Answer::Yes)
}

fn forget(session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    has_memory(&vault)?;
    let forgotten = head::forget(&vault)?;
    Ok(say_forgotten(session, forgotten))
}

/// The folder of a vault that is gone has no canonical path any more; it is then as it was printed.
fn forget_folder(session: &mut Session<'_>, folder: &Path) -> Result<Answer, Failure> {
    let home = session.state_home().ok_or_else(no_memory)?;
    let path = session.world.cwd.join(folder);
    // A link may have taken the place of the folder that is meant.
    let path = match head::is_remembered(&home, &path) {
        true => path,
        false => path.canonicalize().unwrap_or(path),
    };
    let forgotten = head::forget_everywhere(&home, &path)?;
    Ok(say_forgotten(session, forgotten > 0))
}

fn say_forgotten(session: &mut Session<'_>, forgotten: bool) -> Answer {
    if session.ui.json {
        session.ui.result("head.forget", &serde_json::json!({"forgotten": forgotten}));
    } else {
        let said = if forgotten { "forgotten" } else { "nothing was remembered" };
        session.ui.line(said);
    }
    Answer::Yes
}

fn list(session: &mut Session<'_>) -> Result<Answer, Failure> {
    let home = session.state_home().ok_or_else(no_memory)?;
    let (memories, unreadable) = head::all(&home);
    for why in &unreadable {
        session.ui.note(&format!("warning: {why}"));
    }
    if session.ui.json {
        let heads: Vec<MemoryJson> = memories.iter().map(MemoryJson::from).collect();
        session.ui.result("head.list", &serde_json::json!({"heads": heads}));
        return Ok(Answer::Yes);
    }
    let row = |memory: &Remembered| {
        vec![
            shown(&memory.path.display().to_string()).into_owned(),
            memory.branch.as_deref().map_or_else(|| "-".to_owned(), |b| shown(b).into_owned()),
            said(&memory.head),
            memory.at.to_string(),
        ]
    };
    for line in table(&memories.iter().map(row).collect::<Vec<_>>()) {
        session.ui.line(&line);
    }
    Ok(Answer::Yes)
}

fn said(head: &End) -> String {
    match head.hashes {
        Some(hashes) => format!("checkpoint {}, {}", head.checkpoint, hashes.last),
        None => "the empty log".to_owned(),
    }
}

fn has_memory(vault: &Vault) -> Result<(), Failure> {
    vault.state().map(|_| ()).ok_or_else(no_memory)
}

fn no_memory() -> Failure {
    Failure::new(Code::Usage, "there is no place to remember a head in")
        .hint("set HOME or XDG_STATE_HOME to a folder outside of the vault")
}
