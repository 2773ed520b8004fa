//! `ctx head`.

use std::path::{Path, PathBuf};

use super::Answer;
use super::session::Session;
use super::ui::shown;
use crate::record::audit::missing::Missing;
use crate::record::audit::{Change, HeadRef, LostLines};
use crate::record::trusted_head::{self, Head as End, TrustedHead};
use crate::service::report::failure::Failure;
use crate::service::report::head::{ForgetReport, HeadReport, HeadsReport, TrustReport};
use crate::service::workspace::head;

/// Print the hash of the last checkpoint, or manage the trusted head
///
/// The hash covers everything that was ever published in the vault. Store it elsewhere: with it
/// `ctx verify --expect-head HASH` detects a truncated or replaced log. ctx also keeps a trusted
/// head for each vault and git branch in the user's state directory. Every publication, and every
/// verification that finds the vault intact, updates it. ctx does not write to a log that does not
/// contain the trusted head.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx head\n  ctx head --json\n  ctx head trust --dry-run\n  \
ctx head list\n  ctx head forget /srv/vaults/old\n  ctx verify --expect-head \"$(ctx head)\"")]
pub(super) struct Head {
    #[command(subcommand)]
    action: Option<Action>,
}

/// Maximum number of writers of given-up lines in one line of the change log.
const MOST_LOST: usize = 1000;

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Trust the log as it is, whatever head was trusted before
    ///
    /// Lines that this machine wrote to logs in the vault, and that these lack, are given up: the
    /// output and the line of the change log name the writers and the numbers of the lines.
    Trust {
        /// Show the old and new trusted head; write nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Delete the trusted head of this vault and branch
    Forget {
        /// Delete all trusted heads of the vault in this folder, which may be gone
        folder: Option<PathBuf>,
    },
    /// List the trusted heads on this machine
    List,
}

pub(super) fn run(args: &Head, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.action {
        None => print(session),
        Some(Action::Trust { dry_run }) => trust(session, *dry_run),
        Some(Action::Forget { folder: None }) => forget(session),
        Some(Action::Forget { folder: Some(folder) }) => forget_folder(session, folder),
        Some(Action::List) => list(session),
    }
}

fn print(session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let log = trusted_head::open_log(&vault)?;
    let end = head::end_of(&log)?;
    let at = log.sound()?.head().map(|checkpoint| checkpoint.at);
    let heads = trusted_head::trusted_heads(&vault)?;
    if session.ui.json {
        session.ui.report(&HeadReport::new(&end, at, heads.binding().next()));
    } else if let Some((hashes, at)) = end.hashes.zip(at) {
        session.ui.line(&hashes.last.to_string());
        session.ui.note(&format!("note: checkpoint {} of {at}", end.checkpoint));
    } else {
        session.ui.note("note: nothing is published yet, so there is no head");
    }
    // The output is meant to be stored: a head that does not follow the trusted one is an error.
    trusted_head::check(&vault, &log.sound()?)?;
    Ok(if end.hashes.is_some() { Answer::Yes } else { Answer::No })
}

fn trust(session: &mut Session<'_>, dry_run: bool) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    head::check_state(&vault)?;
    let log = trusted_head::read_log(&vault)?;
    log.check_left_out(&vault)?;
    let end = head::end_of(&log)?;
    let heads = trusted_head::trusted_heads(&vault).unwrap_or_default();
    let before = heads.binding().next();
    let given_up = session.workspace.given_up(&vault)?;
    let lost: Vec<LostLines> = given_up.iter().take(MOST_LOST).map(Missing::lost).collect();
    if !dry_run {
        trusted_head::trust(&vault, &end, session.workspace.now()?)?;
        let from = before.and_then(|known| HeadRef::of(&known.head));
        session.workspace.accept_changes(&vault, &given_up)?;
        let (to, lost) = (HeadRef::of(&end), lost.clone());
        session.changed(&vault, Some(Change::HeadTrust { from, to, lost }));
    }
    session.print(&TrustReport::new(before, &end, lost, dry_run), |session, _| {
        let before = before.map_or_else(|| "no trusted head".to_owned(), |head| named(&head.head));
        session.ui.line(&format!("before: {before}"));
        let now = if dry_run { "would be" } else { "now" };
        session.ui.line(&format!("{now}: {}", named(&end)));
        for lost in given_up.iter() {
            session.ui.line(&format!("{now} given up: {}", lost.named()));
        }
        if !dry_run {
            session.ui.note("next: `ctx verify` recomputes everything up to it");
        }
    });
    Ok(Answer::Yes)
}

fn forget(session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    head::check_state(&vault)?;
    let heads = trusted_head::trusted_heads(&vault).unwrap_or_default();
    let from = heads.binding().next().and_then(|known| HeadRef::of(&known.head));
    let forgotten = trusted_head::forget(&vault)?;
    if forgotten {
        session.changed(&vault, Some(Change::HeadForget { from }));
    }
    Ok(print_forgotten(session, forgotten))
}

fn forget_folder(session: &mut Session<'_>, folder: &Path) -> Result<Answer, Failure> {
    let forgotten = session.workspace.forget_folder(folder)?;
    Ok(print_forgotten(session, forgotten > 0))
}

fn print_forgotten(session: &mut Session<'_>, forgotten: bool) -> Answer {
    match (session.ui.json, forgotten) {
        (true, _) => session.ui.report(&ForgetReport { forgotten }),
        (false, true) => session.ui.line("the trusted head was deleted"),
        (false, false) => session.ui.line("there was no trusted head"),
    }
    Answer::Yes
}

fn list(session: &mut Session<'_>) -> Result<Answer, Failure> {
    let home = session.workspace.known_state_home()?;
    let (heads, unreadable) = trusted_head::all(&home);
    for why in &unreadable {
        session.ui.note(&format!("warning: {why}"));
    }
    session.print(&HeadsReport::new(&heads), |session, _| {
        let row = |head: &TrustedHead| {
            vec![
                shown(&head.path.display().to_string()).into_owned(),
                head.branch.as_deref().map_or_else(|| "-".to_owned(), |b| shown(b).into_owned()),
                named(&head.head),
                head.at.to_string(),
            ]
        };
        session.ui.table(&heads.iter().map(row).collect::<Vec<_>>());
    });
    Ok(Answer::Yes)
}

fn named(head: &End) -> String {
    match head.hashes {
        Some(hashes) => format!("checkpoint {}, {}", head.checkpoint, hashes.last),
        None => "the empty log".to_owned(),
    }
}
