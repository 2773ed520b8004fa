//! Finds a vault, and the user's folders for it.

use crate::values::model::visible::shown;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Workspace;
use super::init::vault_below;
use crate::files::vault::git_past::{History, NOT_SPARSE};
use crate::files::vault::lock;
use crate::files::vault::named;
use crate::files::vault::outside::{self, StateFolder};
use crate::files::vault::reader::Reader;
use crate::files::vault::{OpenError, Vault};
use crate::record::checkpoint::log::Log;
use crate::record::trusted_head;
use crate::service::report::failure::{Code, Failure};
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::layout;
use crate::values::text_util::argument;

impl Workspace<'_> {
    /// Opens the vault: `--vault`, `CTX_VAULT`, or the nearest one in the current folder and above.
    pub(crate) fn vault(&self) -> Result<Vault, Failure> {
        self.check_named_principal()?;
        let named = self.options.vault.clone();
        let named = named.or_else(|| self.environment.var("CTX_VAULT").map(PathBuf::from));
        let vault = match named {
            Some(dir) => {
                // Removes any `.`, which messages would repeat.
                let dir: PathBuf = self.environment.cwd.join(dir).components().collect();
                let vault = Vault::open(&dir).map_err(|why| self.not_opened(&dir, why))?;
                self.refuse_links(&dir, &vault)?;
                vault
            }
            None => {
                let cwd = &self.environment.cwd;
                let vault = Vault::find(cwd).map_err(|why| self.not_opened(cwd, why))?;
                if let Some(dir) = self.walked_to(vault.root()) {
                    self.refuse_links(&dir, &vault)?;
                }
                vault
            }
        };
        Ok(self.outfit(vault))
    }

    /// Returns the failure of a vault that could not be opened.
    fn not_opened(&self, dir: &Path, why: OpenError) -> Failure {
        let is_missing = matches!(why, OpenError::NotFound { .. } | OpenError::NotAVault { .. });
        let left_out = is_missing.then(|| self.left_out_vault(dir)).flatten();
        left_out.unwrap_or_else(|| match is_missing.then(|| vault_below(dir)).flatten() {
            Some(below) => {
                let below = self.environment.cwd.join(dir).join(below);
                let below = below.strip_prefix(&self.environment.cwd).unwrap_or(&below);
                let status = Call::new(Verb::Status).word("--vault");
                let status = status.value(below.display().to_string());
                let hint = "a vault is in a folder below: {} shows its state";
                Failure::new(Code::NoVault, why.to_string()).hint(Hint::call(hint, status))
            }
            None => why.into(),
        })
    }

    /// Returns a failure if git leaves a vault in this folder, or in the nearest one above it in
    /// its repository, out of the working copy; `None` if there is no such vault.
    pub(super) fn left_out_vault(&self, dir: &Path) -> Option<Failure> {
        let there = dir.ancestors().find(|folder| folder.exists())?;
        let rest = dir.strip_prefix(there).ok()?;
        let there = there.canonicalize().ok()?;
        let is_left_out = |folder: &Path, config: &Path| {
            let left_out = || self.history_of(folder).left_out();
            config.to_str().is_some_and(|config| left_out().contains(config))
        };
        let top = there.ancestors().position(|folder| folder.join(".git").exists())?;
        let root = match is_left_out(&there, &rest.join(layout::CONFIG)) {
            true => there.join(rest).components().collect(),
            false => there
                .ancestors()
                .take(top + 1)
                .find(|folder| is_left_out(folder, Path::new(layout::CONFIG)))?
                .to_owned(),
        };
        let root = root.display().to_string();
        let root = shown(&root);
        let message =
            format!("git leaves the vault in `{root}` out of the working copy (a sparse checkout)");
        Some(Failure::new(Code::NoVault, message).hint(NOT_SPARSE))
    }

    /// Returns the vault's folder with the links through which the user's shell reached it.
    fn walked_to(&self, root: &Path) -> Option<PathBuf> {
        let walked = Path::new(self.environment.var("PWD")?);
        let real = |path: &Path| path.canonicalize().ok();
        if !walked.is_absolute() || real(walked)? != real(&self.environment.cwd)? {
            return None;
        }
        let named = walked.ancestors().find(|dir| real(dir).is_some_and(|dir| dir == root));
        named.map(Path::to_owned)
    }

    /// Refuses a vault that was named through a link inside of a git work tree, or through a link
    /// that replaced a folder with a trusted head (VAULT-28).
    fn refuse_links(&self, dir: &Path, vault: &Vault) -> Result<(), Failure> {
        let work_tree =
            self.environment.var("GIT_WORK_TREE").map(|tree| self.environment.cwd.join(tree));
        let home = self.state_home();
        let was_trusted =
            |path: &Path| home.as_ref().is_some_and(|home| trusted_head::is_trusted(home, path));
        for link in named::links_to(dir, work_tree.as_deref()) {
            let path = shown(&link.path.display().to_string()).into_owned();
            let root = vault.root().display().to_string();
            let root = argument(&root);
            if link.is_in_work_tree {
                let message = format!("`{path}` is a symbolic link inside a git work tree");
                return Err(Failure::new(Code::Usage, message).hint(format!(
                    "name the target, which has its own trusted head: `--vault {root}`"
                )));
            }
            if was_trusted(&link.unfollowed) {
                let was = link.unfollowed.display().to_string();
                let message = format!(
                    "`{path}` is now a symbolic link, but it was a vault with a trusted head"
                );
                return Err(Failure::new(Code::Usage, message).hint(Hint::call(
                    "if the vault was moved on purpose, run {} and try again",
                    Call::new(Verb::HeadForget).value(was),
                )));
            }
        }
        Ok(())
    }

    /// Returns the nearest vault and the one that contains it; `None` if the user chose a vault.
    pub(crate) fn nested(&self) -> Option<(PathBuf, PathBuf)> {
        let is_named = self.options.vault.is_some() || self.environment.var("CTX_VAULT").is_some();
        if is_named { None } else { Vault::nested(&self.environment.cwd) }
    }

    /// Adds to a vault its folders in the user's directories, the reader, and the history of git.
    pub(crate) fn outfit(&self, vault: Vault) -> Vault {
        let root = vault.root();
        let checked_out = self.checked_out(root);
        // All detached commits share one index, but each has its own trusted head, because checking
        // out another one is not a change of the log.
        let branch = checked_out.as_deref().filter(|name| name.starts_with("refs/"));
        let cache = outside::cache_home(|name| self.environment.var(name));
        let cache = cache.and_then(|home| folder_beside(&home, root, branch));
        let state = self.state_in(root, checked_out.clone());
        let reader = self.reader(root);
        let history = self.history_of(root);
        let vault = vault.with_cache(cache).with_state(state).on(self.environment.disk.clone());
        let vault = vault.with_patience(self.patience()).read_by(reader).known_by(history);
        match vault.has_foreign_review() && !is_begun_by_ctx(&vault) {
            true => vault.with_foreign_review(),
            false => vault,
        }
    }

    /// Returns git's knowledge of a folder.
    fn history_of(&self, folder: &Path) -> History {
        let (git, folder) = (self.environment.git, folder.to_owned());
        History::new(move |args| git(&folder, args, b"").ok())
    }

    /// Returns the reader of the vault in a folder: the principal who acts, found on first use.
    fn reader(&self, root: &Path) -> Reader {
        let named = self.who(root);
        Reader::new(move || {
            let (name, source) = named()?;
            Some((name.parse().ok()?, source))
        })
        .of_published(self.options.is_served)
    }

    /// Returns the time for which this command waits for another writer.
    pub(crate) fn patience(&self) -> Duration {
        self.options.lock_timeout.map_or(lock::PATIENCE, Duration::from_secs)
    }

    /// Returns the folder with the trusted head of a vault.
    pub(crate) fn state_of(&self, root: &Path) -> Option<StateFolder> {
        self.state_in(root, self.checked_out(root))
    }

    fn state_in(&self, root: &Path, checked_out: Option<String>) -> Option<StateFolder> {
        let home = self.state_home()?;
        let dir = folder_beside(&home, root, checked_out.as_deref())?;
        let repository = checked_out.as_ref().and_then(|_| outside::repository(root));
        Some(StateFolder { home, dir, checked_out, repository })
    }

    /// Returns the user's state directory.
    pub(crate) fn state_home(&self) -> Option<PathBuf> {
        outside::state_home(|name| self.environment.var(name))
    }
}

/// Returns true if ctx made the first checkpoint of a vault, or if the log is not valid; false if
/// the log is missing.
fn is_begun_by_ctx(vault: &Vault) -> bool {
    let log = Log::read(vault);
    let begun = |log: &Log| log.sound().map_or(true, |log| log.is_begun_by_ctx());
    log.as_ref().map_or(true, begun)
}

/// Returns the folder of a vault in a directory of the user; `None` if it is inside of the vault,
/// where others could write to it.
fn folder_beside(home: &Path, root: &Path, checked_out: Option<&str>) -> Option<PathBuf> {
    let dir = outside::folder_of(home, root, checked_out);
    (!outside::lies_in(&dir, root)).then_some(dir)
}
