//! `ctx diff`.

use serde::Serialize;

use super::failure::Code;
use super::session::Session;
use super::show::{number, text_of};
use super::{Answer, Failure};
use crate::chain::diff::print_between;
use crate::document::text::normalise;
use crate::live;
use crate::model::id::Id;
use crate::resolve::Snapshot;
use crate::words::argument;

/// Show what changed between two versions, or since publication
///
/// Without a version: from the published text to the live file. With one: from that version to the
/// live file. Line ends are compared as they are hashed, so CRLF and LF are one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx diff nodes/policies/returns\n  \
ctx diff nodes/policies/returns 1 3\n  ctx diff nodes/policies/returns 2 live")]
pub(super) struct Diff {
    /// Id or file of a document
    id: String,
    /// The older version
    v1: Option<String>,
    /// The newer version, or `live` for the live file
    v2: Option<String>,
}

#[derive(Serialize)]
struct DiffJson<'d> {
    id: &'d Id,
    from: &'d str,
    to: &'d str,
    equal: bool,
    diff: &'d str,
}

pub(super) fn run(args: &Diff, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let id = super::known_id(session, &vault, &args.id)?;
    let log = session.log(&vault)?;
    let chronicle = log.sound()?;
    let side = |text: Option<&String>| -> Result<(String, String), Failure> {
        match text.map(String::as_str) {
            None | Some("live") => Ok(("live".to_owned(), live_text(&vault, &id)?)),
            Some(text) => {
                let version = number(text)?;
                let (text, _) = text_of(&vault, &chronicle, &id, version)?;
                Ok((format!("v{version}"), text))
            }
        }
    };
    let (from, old) = match &args.v1 {
        Some(_) => side(args.v1.as_ref())?,
        None => {
            let head = Snapshot::at(&vault, &chronicle, None)?;
            let served = super::read::get(&vault, &head, &id)?;
            (format!("v{}", served.entry.version), served.text)
        }
    };
    let (to, new) = side(args.v2.as_ref())?;
    let equal = old == new;
    let diff = if equal { String::new() } else { print_between(&old, &new, &from, &to) };
    if session.ui.json {
        let (from, to, diff) = (from.as_str(), to.as_str(), diff.as_str());
        session.ui.result("diff", &DiffJson { id: &id, from, to, equal, diff });
    } else {
        session.ui.text(&diff);
    }
    Ok(Answer::Yes)
}

fn live_text(vault: &crate::vault::Vault, id: &Id) -> Result<String, Failure> {
    let path = id.live_path();
    let missing = || {
        Failure::new(Code::UnknownId, format!("`{path}` is not there"))
            .hint(format!("`ctx read {}` prints the published text", argument(id.as_str())))
    };
    if !id.is_document() {
        let limit = crate::model::layout::limit::DOCUMENT;
        let bytes = vault.files().read_optional(&path, limit)?.ok_or_else(missing)?;
        let text = crate::document::utf8(&bytes)
            .map_err(|why| Failure::new(Code::Refused, format!("`{path}` is {why}")))?;
        return Ok(normalise(text).into_owned());
    }
    match live::read(vault, &path) {
        None => Err(missing()),
        Some(live::LiveFile { content: Ok(content), .. }) => {
            Ok(normalise(&content.text).into_owned())
        }
        Some(live::LiveFile { content: Err(problem), .. }) => {
            Err(Failure::new(Code::Refused, format!("`{path}`: {}", problem.message))
                .hint(problem.hint))
        }
    }
}
