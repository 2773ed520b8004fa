//! What the arguments of `ctx verify` know of a log from elsewhere.

use super::digest;
use crate::checkpoint::log::Log;
use crate::cli::failure::{Code, Failure};
use crate::cli::session::Session;
use crate::vault::Vault;
use crate::vault::config::LogForm;
use crate::vault::layout;
use crate::verify::Anchor;

/// `--expect-head HASH`.
pub(super) fn expected(hash: &str) -> Result<Anchor, Failure> {
    Ok(Anchor::expected(digest(hash)?))
}

/// `--since REVISION`: the log as git has it at a revision, whichever of its forms it had then.
pub(super) fn revision(
    session: &mut Session<'_>,
    vault: &Vault,
    name: &str,
) -> Result<Anchor, Failure> {
    let git = |args: &[&str]| (session.world.git)(vault.root(), args);
    let unknown = || {
        Failure::new(Code::Usage, format!("git has no revision `{name}` here"))
            .hint("name a commit, branch or tag of the repository that holds the vault; a shallow clone may lack it")
    };
    let commit = format!("{name}^{{commit}}");
    let commit = git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]);
    let commit = commit.and_then(|out| String::from_utf8(out).ok()).ok_or_else(unknown)?;
    let commit = commit.trim().to_owned();
    let read = |(form, path): (LogForm, &str)| {
        let bytes = git(&["cat-file", "blob", &format!("{commit}:./{path}")])?;
        Some((path.to_owned(), Log::parse(form, &bytes)))
    };
    let forms = [(LogForm::Full, layout::FULL_LOG), (LogForm::Delta, layout::DELTA_LOG)];
    let Some((path, log)) = forms.into_iter().find_map(read) else {
        let note = format!("note: there is no checkpoint log at `{name}`, so it anchors nothing");
        session.ui.note(&note);
        return Ok(Anchor::revision(name.to_owned(), commit, Vec::new()));
    };
    let chronicle = log.sound().map_err(|why| {
        Failure::new(Code::LogBroken, format!("the log `{path}` at `{name}` is broken: {why}"))
            .hint("name a revision at which the vault was whole")
    })?;
    let hashes = chronicle.checkpoints().iter().map(|checkpoint| checkpoint.hash).collect();
    Ok(Anchor::revision(name.to_owned(), commit, hashes))
}
