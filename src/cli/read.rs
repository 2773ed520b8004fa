//! `ctx read`.

use super::failure::Code;
use super::rows::DocumentJson;
use super::session::Session;
use super::{Answer, Failure};
use crate::model::id::Id;
use crate::resolve::{Need, Served, Snapshot};
use crate::vault::Vault;
use crate::words::{argument, nearest};

/// Print the published text of a document, verified
///
/// The text is the one that the checkpoint seals, byte for byte, frontmatter included; the live
/// file is not looked at. `#anchor` names a section: `ctx outline` lists them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx read nodes/policies/returns\n  \
ctx read nodes/policies/returns@3\n  ctx read nodes/policies/returns#exceptions\n  \
ctx read CONTEXT.md --json")]
pub(super) struct Read {
    /// Id, `ID@CHECKPOINT`, URI or file of a document, with `#anchor` for a section
    #[arg(value_name = "ID[@N][#ANCHOR]")]
    id: String,
}

pub(super) fn run(args: &Read, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Versions)?;
    let named = session.named_at(&vault, &source, &args.id)?;
    let snapshot = Snapshot::of(&vault, &source, named.checkpoint)?;
    let served = get(&vault, &snapshot, &named.id)?;
    let section = named.anchor.map(|anchor| served.section(&anchor)).transpose()?;
    match (&section, session.ui.json) {
        (None, false) => session.ui.text(&served.text),
        (Some(section), false) => session.ui.text(&served.text[section.range.clone()]),
        (None, true) => session.ui.result("read", &DocumentJson::new(&served, true)),
        (Some(section), true) => {
            session.ui.result("read", &DocumentJson::of_section(&served, section, true));
        }
    }
    Ok(Answer::Yes)
}

/// The verified text of an artifact, or a failure that says what is there instead.
pub(super) fn get(vault: &Vault, snapshot: &Snapshot<'_>, id: &Id) -> Result<Served, Failure> {
    match snapshot.get(id) {
        Some(Ok(served)) => Ok(served),
        Some(Err(withheld)) => Err(withheld.into()),
        None => {
            let at = snapshot.checkpoint();
            let message = format!("`{id}` is not published at checkpoint {at}");
            let hint = if vault.files().exists(&id.history_path()) {
                format!("`ctx history {}` shows when it was", argument(id.as_str()))
            } else if vault.files().exists(&id.live_path()) {
                format!("it was never published; `ctx publish {}` does that", argument(id.as_str()))
            } else {
                let known = snapshot.state()?.iter().map(|(id, _)| id.as_str());
                let near = nearest(id.as_str(), known);
                return Err(Failure { message, ..Failure::unknown_id(id.as_str(), near) });
            };
            Err(Failure::new(Code::UnknownId, message).hint(hint))
        }
    }
}
