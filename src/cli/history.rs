//! `ctx history`.

use std::collections::HashMap;

use serde::Serialize;

use super::failure::Code;
use super::session::Session;
use super::ui::{shown, table};
use super::{Answer, Failure};
use crate::chain::described;
use crate::chain::history::{self as chain, Entry, Stored};
use crate::chain::replay::{self, ChainError, Replay};
use crate::checkpoint::chronicle::Chronicle;
use crate::model::id::Id;
use crate::model::timestamp::Timestamp;
use crate::words::argument;

/// Show the versions of a document, each recomputed
///
/// Every hash is recomputed from the stored texts. A note is covered by no hash.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx history nodes/policies/returns\n  \
ctx history nodes/policies/returns --json")]
pub(super) struct History {
    /// Id or file of a document
    id: String,
}

#[derive(Serialize)]
struct HistoryJson<'h> {
    id: &'h Id,
    versions: Vec<VersionJson<'h>>,
}

#[derive(Serialize)]
struct VersionJson<'h> {
    version: u64,
    state: &'static str,
    checkpoint: Option<u64>,
    stored: &'static str,
    edited_by: &'h str,
    edited_at: String,
    published_at: Option<String>,
    retired_at: Option<String>,
    unprotected_note: Option<&'h str>,
    content_hash: String,
    chain_hash: String,
    problems: Vec<String>,
}

pub(super) fn run(args: &History, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let id = super::known_id(session, &vault, &args.id)?;
    let log = session.log(&vault)?;
    let chronicle = log.sound()?;
    let history = match replay::load(vault.files(), &id) {
        Err(ChainError::HistoryMissing) => return Err(never_published(&id)),
        other => other?,
    };
    let seals = seals(&chronicle, &id, &history);
    let mut replay = Replay::new(vault.files(), &id, None);
    let mut described = described::Reader::default();
    let mut versions = Vec::new();
    let mut published: Option<String> = None;
    let mut sound = true;
    for slot in &history.slots {
        match &slot.entry {
            Ok(entry) => {
                let mut wrong = replay.step(entry);
                if wrong.is_empty() {
                    // What lies before it, back to its keyframe and the link of that, must be there.
                    wrong.extend(history.chain_to(entry.version).err().map(ChainError::from));
                }
                if let Some(text) = replay.text().filter(|_| wrong.is_empty()) {
                    let text = text.to_owned();
                    wrong.extend(described.check(&id, entry, &text).err());
                    if let Some(published) = &published {
                        let retired = replay::check_retirement(&id, entry, published, &text);
                        wrong.extend(retired.err());
                    }
                    if entry.published_at.is_some() {
                        published = Some(text);
                    }
                }
                let problems: Vec<String> = wrong.iter().map(ToString::to_string).collect();
                sound &= problems.is_empty();
                versions.push(json(entry, &seals, problems));
            }
            Err(_) => {
                sound = false;
                replay.lose();
                let line = slot.line;
                session.ui.note(&format!("error: the entry on line {line} cannot be read"));
            }
        }
    }
    if session.ui.json {
        session.ui.result("history", &HistoryJson { id: &id, versions });
    } else {
        text(session, &versions);
    }
    if !sound {
        session.ui.note("hint: run `ctx verify` for the whole picture");
    }
    Ok(if sound { Answer::Yes } else { Answer::No })
}

/// A document that is there, but without a history.
pub(super) fn never_published(id: &Id) -> Failure {
    Failure::new(Code::UnknownId, format!("`{id}` was never published"))
        .hint(format!("`ctx publish {}` makes version 1", argument(id.as_str())))
}

/// The first checkpoint that seals each version of an artifact; for a retirement, the one that
/// takes the artifact out.
pub(super) fn seals(
    chronicle: &Chronicle<'_>,
    id: &Id,
    history: &chain::History,
) -> HashMap<u64, u64> {
    let mut seals = HashMap::new();
    let retired: HashMap<Timestamp, u64> =
        history.entries().filter_map(|e| Some((e.retired_at?, e.version))).collect();
    for checkpoint in chronicle.checkpoints() {
        if checkpoint.removed.contains(id)
            && let Some(version) = retired.get(&checkpoint.at)
        {
            seals.entry(*version).or_insert(checkpoint.number);
        }
        for (_, mark) in checkpoint.set.iter().filter(|(set, _)| set == id) {
            if let Some(version) = mark.version {
                seals.entry(version).or_insert(checkpoint.number);
            }
        }
    }
    seals
}

fn json<'h>(entry: &'h Entry, seals: &HashMap<u64, u64>, problems: Vec<String>) -> VersionJson<'h> {
    let state = match (entry.published_at, entry.retired_at) {
        (Some(_), _) => "published",
        (None, Some(_)) => "retired",
        (None, None) => "unpublished",
    };
    VersionJson {
        version: entry.version,
        state,
        checkpoint: seals.get(&entry.version).copied(),
        stored: if entry.stored == Stored::Keyframe { "keyframe" } else { "diff" },
        edited_by: &entry.edited_by,
        edited_at: entry.edited_at.to_string(),
        published_at: entry.published_at.map(|t| t.to_string()),
        retired_at: entry.retired_at.map(|t| t.to_string()),
        unprotected_note: entry.note.as_deref(),
        content_hash: entry.content_hash.to_string(),
        chain_hash: entry.chain_hash.to_string(),
        problems,
    }
}

fn text(session: &mut Session<'_>, versions: &[VersionJson<'_>]) {
    let rows: Vec<Vec<String>> = versions
        .iter()
        .map(|v| {
            let hash = v.chain_hash.get(7..19).unwrap_or_default();
            let at = v.checkpoint.map_or_else(|| "-".to_owned(), |n| format!("@{n}"));
            vec![
                format!("v{}", v.version),
                v.state.to_owned(),
                at,
                v.stored.to_owned(),
                v.edited_at.clone(),
                shown(v.edited_by).into_owned(),
                hash.to_owned(),
                v.unprotected_note.map_or_else(String::new, |n| format!("({})", shown(n))),
            ]
        })
        .collect();
    for (row, version) in table(&rows).iter().zip(versions) {
        session.ui.line(row);
        for problem in &version.problems {
            session.ui.line(&format!("    {}", shown(problem)));
        }
    }
}
