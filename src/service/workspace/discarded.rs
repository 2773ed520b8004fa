//! Detects that git discarded a publication: the log equals that of the commit that is checked out,
//! and lacks checkpoints that this user saw.

use super::Workspace;
use crate::files::vault::Vault;
use crate::files::vault::outside::repository;
use crate::service::report::failure::{Code, Failure};
use crate::values::model::hint::{Hint, Verb};
use crate::values::model::layout;

/// Maximum number of commits that are searched for one that shortened the log.
const COMMITS: &str = "50";

impl Workspace<'_> {
    /// Removes hints that the principal cannot follow from a failure. If git restored an older log,
    /// which does not contain the trusted head, the failure says so.
    pub(crate) fn explained(&self, mut failure: Failure) -> Failure {
        failure.hints.retain(|hint| self.is_answerable(hint));
        if failure.code != Code::HeadRollback || !self.is_log_of_commit() {
            return failure;
        }
        let message = format!(
            "git discarded a publication, and the log is as in the commit that is checked out: {}",
            failure.message
        );
        Failure { message, hints: Vec::new(), ..failure }
            .hint("nothing was written; `git stash pop` restores stashed changes, and `git reflog` lists the commits that were left")
            .hint(Hint::call("to go on without the publication, {} trusts the log as it is", Verb::HeadTrust))
    }

    fn is_log_of_commit(&self) -> bool {
        let Ok(vault) = self.vault() else { return false };
        repository(vault.root()).is_some() && self.ask_of_log(&vault).unwrap_or(false)
    }

    /// Returns true if the log equals that of the commit that is checked out, and no earlier commit
    /// removed lines from it.
    fn ask_of_log(&self, vault: &Vault) -> Option<bool> {
        let logs = [layout::DELTA_LOG, layout::FULL_LOG];
        let ask = |args: &[&str]| {
            let args = [args, &["--"], &logs].concat();
            (self.environment.git)(vault.root(), &args, b"").ok()
        };
        let committed = ask(&["ls-tree", "-z", "HEAD"])?;
        let committed = String::from_utf8_lossy(&committed);
        let is_committed = |log: &&str| {
            let mut entries = committed.split('\0').filter_map(|line| line.split_once('\t'));
            let object = entries.find_map(|(meta, path)| (path == *log).then_some(meta));
            let object = object.and_then(|meta| meta.split(' ').nth(2));
            match (object, vault.files().exists(log)) {
                (Some(object), true) => self.object_of(vault, log).as_deref() == Some(object),
                (object, exists) => object.is_none() && !exists,
            }
        };
        let history = ask(&[
            "log",
            "--relative",
            "--no-renames",
            "--no-textconv",
            "--no-ext-diff",
            "--numstat",
            "--format=",
            "-n",
            COMMITS,
        ])?;
        let history = String::from_utf8_lossy(&history);
        // The columns are: lines added, lines removed, path.
        let only_grew = history
            .lines()
            .filter(|line| !line.is_empty())
            .all(|line| line.split('\t').nth(1) == Some("0"));
        Some(logs.iter().all(is_committed) && only_grew)
    }

    /// Returns the name of the git object with the bytes of a file, unchanged by filters.
    fn object_of(&self, vault: &Vault, path: &str) -> Option<String> {
        let args = ["hash-object", "--no-filters", "--", path];
        let said = (self.environment.git)(vault.root(), &args, b"").ok()?;
        Some(String::from_utf8_lossy(&said).trim().to_owned())
    }
}
