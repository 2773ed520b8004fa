//! Searches with the back-end that the user chose.

use std::path::Path;

use super::Workspace;
use crate::files::process::configured;
use crate::files::vault::Vault;
use crate::read::search::builtin::Builtin;
use crate::read::search::command::Command;
use crate::read::search::{self, Answer, Backend, Query};
use crate::read::snapshot::plan::Searched;
use crate::read::snapshot::{CheckpointSource, Snapshot};
use crate::service::report::failure::{Code, Failure};

/// Gets the number of documents that an index is about to read, if this takes long.
pub(crate) type OnSlow<'s> = &'s dyn Fn(usize);

/// A note for vaults whose configuration names a program.
const IGNORED: &str = "`search` in .context/config.yaml is ignored, because a vault cannot choose which \
                       program runs; set CTX_SEARCH_COMMAND, or name the vault in \
                       ~/.config/contextnest/config.yaml";

/// An answer, and the name of the back-end that returned it.
pub(crate) struct Answered {
    pub(crate) backend: String,
    pub(crate) answer: Answer,
}

/// Asks the back-end for at most `limit` hits.
///
/// # Errors
/// The back-end or its configuration failed.
pub(crate) fn ask(
    workspace: &Workspace<'_>,
    vault: &Vault,
    snapshot: &Snapshot<'_>,
    (query, limit): (&Query, usize),
    on_slow: OnSlow<'_>,
) -> Result<Answered, Failure> {
    let program = configured::program(vault.root(), |name| workspace.environment.var(name))?;
    // Limited readers use no shared index, because its words and weights would reveal
    // unreadable texts.
    let cache = vault.cache().filter(|_| !snapshot.is_limited()).map(Path::to_owned);
    let backend: Box<dyn Backend> = match (program, snapshot.hash()) {
        (Some(program), _) => Box::new(Command::new(program, vault.root(), snapshot.checkpoint())),
        (None, Some(head)) => Box::new(Builtin::new(snapshot, head, cache, on_slow)),
        (None, None) => Box::new(search::Nothing),
    };
    let mut answer = search::search(snapshot, &*backend, query, limit)?;
    if vault.config().search_ignored {
        answer.notes.push(IGNORED.to_owned());
    }
    Ok(Answered { backend: backend.name().to_owned(), answer })
}

/// Runs a search in a selector at `snapshot`, and returns sections or whole documents.
///
/// # Errors
/// The snapshot is not of the last checkpoint, or the back-end failed.
pub(crate) fn in_selector(
    workspace: &Workspace<'_>,
    (vault, source): (&Vault, &CheckpointSource),
    snapshot: &Snapshot<'_>,
    (query, whole): (&str, bool),
    on_slow: OnSlow<'_>,
) -> Result<Searched, Failure> {
    let (asked, head) = (snapshot.checkpoint(), Snapshot::of(vault, source, None)?.checkpoint());
    if asked != head {
        let message = format!(
            "a search answers for the last checkpoint, {head}, but checkpoint {asked} was asked for"
        );
        return Err(Failure::new(Code::SearchPast, message)
            .hint("omit the checkpoint, or select by tag, type, folder or document"));
    }
    let query = (&Query::parse(query)?, search::SELECTED_HITS);
    let answered = ask(workspace, vault, snapshot, query, on_slow)?;
    Ok(answered.answer.into_searched(answered.backend, whole))
}
