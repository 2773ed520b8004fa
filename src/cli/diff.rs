//! `ctx diff`.

use super::Answer;
use super::session::Session;
use crate::chain::diff::print_between;
use crate::report::failure::Failure;
use crate::report::history::DiffReport;
use crate::resolve::Snapshot;
use crate::workspace::version::{live_text, number, published, text_of};

/// Show changes between two versions, or since publication
///
/// Without a version: from the published text to the live file. With one version: from that version
/// to the live file. Texts are compared in the form that is hashed, in which CRLF and LF are equal.
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

pub(super) fn run(args: &Diff, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let id = session.workspace.known_id(&vault, &args.id)?;
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
            let served = published(&vault, &head, &id)?;
            (format!("v{}", served.entry.version), served.text)
        }
    };
    let (to, new) = side(args.v2.as_ref())?;
    let equal = old == new;
    let diff = if equal { String::new() } else { print_between(&old, &new, &from, &to) };
    if session.ui.json {
        session.ui.report(&DiffReport { id: &id, from: &from, to: &to, equal, diff: &diff });
    } else {
        session.ui.diff(&diff);
        if equal {
            session.ui.note(&format!("note: {from} and {to} are equal"));
        }
    }
    Ok(Answer::Yes)
}
