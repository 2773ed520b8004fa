//! `ctx show`.

use serde::Serialize;

use super::failure::Code;
use super::history::{never_published, seals};
use super::session::Session;
use super::{Answer, Failure};
use crate::chain::history::History;
use crate::chain::replay::{self, ChainError};
use crate::checkpoint::chronicle::Chronicle;
use crate::model::id::Id;
use crate::vault::Vault;
use crate::words::argument;

/// Print the text of one version, reconstructed and recomputed
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx show nodes/policies/returns 2")]
pub(super) struct Show {
    /// Id or file of a document
    id: String,
    /// Number of the version, with or without `v`
    version: String,
}

#[derive(Serialize)]
struct ShowJson<'s> {
    id: &'s Id,
    version: u64,
    checkpoint: Option<u64>,
    text: &'s str,
}

pub(super) fn run(args: &Show, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let id = super::known_id(session, &vault, &args.id)?;
    let version = number(&args.version)?;
    let log = session.log(&vault)?;
    let chronicle = log.sound()?;
    let (text, history) = text_of(&vault, &chronicle, &id, version)?;
    let checkpoint = seals(&chronicle, &id, &history).get(&version).copied();
    if session.ui.json {
        session.ui.result("show", &ShowJson { id: &id, version, checkpoint, text: &text });
    } else {
        session.ui.text(&text);
    }
    if checkpoint.is_none() {
        session.ui.note(&format!("note: no checkpoint seals version {version}"));
    }
    Ok(Answer::Yes)
}

/// Reads `3` or `v3`.
pub(super) fn number(text: &str) -> Result<u64, Failure> {
    let digits = text.strip_prefix('v').unwrap_or(text);
    crate::yaml::canonical_number(digits).filter(|n| *n > 0).ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{text}` is not the number of a version"))
            .hint("versions are numbered 1, 2, 3")
    })
}

/// The text of a version, and the history that it comes from; one that the log seals must be the
/// one that it seals.
pub(super) fn text_of(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    id: &Id,
    version: u64,
) -> Result<(String, History), Failure> {
    let failed = |why: ChainError| match why {
        ChainError::HistoryMissing => never_published(id),
        ChainError::VersionMissing(_) => {
            Failure::new(Code::UnknownVersion, format!("`{id}` has no version {version}"))
                .hint(format!("`ctx history {}` shows them all", argument(id.as_str())))
        }
        why => Failure::new(Code::Withheld, format!("version {version} of `{id}`: {why}"))
            .hint("run `ctx verify` for the whole picture"),
    };
    let history = replay::load(vault.files(), id).map_err(failed)?;
    let text = replay::vouched(vault.files(), id, &history, version).map_err(failed)?;
    let found = history.entry(version).map(|entry| entry.chain_hash);
    let sealed = chronicle.checkpoints().iter().flat_map(|c| &c.set);
    for (_, mark) in sealed.filter(|(set, _)| set == id) {
        if let (Some((number, expected)), Some(found)) = (mark.sealed(), found)
            && number == version
            && expected != found
        {
            return Err(failed(ChainError::CrossChain { expected, found }));
        }
    }
    Ok((text, history))
}
