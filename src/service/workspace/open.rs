//! Finding a vault and the user's folders that belong to it.

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
    /// The vault: `--vault`, `CTX_VAULT`, or the nearest one from here upwards.
    pub(crate) fn vault(&self) -> Result<Vault, Failure> {
        self.check_named_principal()?;
        let named = self.options.vault.clone();
        let named = named.or_else(|| self.environment.var("CTX_VAULT").map(PathBuf::from));
        let vault = match named {
            Some(dir) => {
                // Without the `.` in it, which messages would repeat.
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

    /// Why no vault was opened.
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

    /// The failure that a folder, or the nearest one above it in its repository, holds a vault that
    /// git leaves out of the working copy; `None` if there is no such vault.
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

    /// The vault's folder as the user's shell walked to it, which may be through links.
    fn walked_to(&self, root: &Path) -> Option<PathBuf> {
        let walked = Path::new(self.environment.var("PWD")?);
        let real = |path: &Path| path.canonicalize().ok();
        if !walked.is_absolute() || real(walked)? != real(&self.environment.cwd)? {
            return None;
        }
        let named = walked.ancestors().find(|dir| real(dir).is_some_and(|dir| dir == root));
        named.map(Path::to_owned)
    }

    /// Refuses a vault that was named through a link inside a git work tree, or through a link in
    /// the place of a folder of which a head is trusted (VAULT-28).
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

    /// The nearest vault and the one that contains it, where the user did not say which one to use.
    pub(crate) fn nested(&self) -> Option<(PathBuf, PathBuf)> {
        let is_named = self.options.vault.is_some() || self.environment.var("CTX_VAULT").is_some();
        if is_named { None } else { Vault::nested(&self.environment.cwd) }
    }

    /// The vault with its folders in the user's directories.
    pub(crate) fn outfit(&self, vault: Vault) -> Vault {
        let root = vault.root();
        let checked_out = self.checked_out(root);
        // All commits that are checked out by themselves share one index; each is a memory of its
        // own, because another one is no change.
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

    /// What git knows of a folder.
    fn history_of(&self, folder: &Path) -> History {
        let (git, folder) = (self.environment.git, folder.to_owned());
        History::new(move |args| git(&folder, args, b"").ok())
    }

    /// Who reads the vault in a folder: as who acts, when it is asked.
    fn reader(&self, root: &Path) -> Reader {
        let named = self.who(root);
        Reader::new(move || {
            let (name, source) = named()?;
            Some((name.parse().ok()?, source))
        })
        .of_published(self.options.is_served)
    }

    /// How long this command waits for another writer.
    pub(crate) fn patience(&self) -> Duration {
        self.options.lock_timeout.map_or(lock::PATIENCE, Duration::from_secs)
    }

    /// Where the head of a vault in a folder is trusted.
    pub(crate) fn state_of(&self, root: &Path) -> Option<StateFolder> {
        self.state_in(root, self.checked_out(root))
    }

    fn state_in(&self, root: &Path, checked_out: Option<String>) -> Option<StateFolder> {
        let home = self.state_home()?;
        let dir = folder_beside(&home, root, checked_out.as_deref())?;
        let repository = checked_out.as_ref().and_then(|_| outside::repository(root));
        Some(StateFolder { home, dir, checked_out, repository })
    }

    /// The user's directory of state.
    pub(crate) fn state_home(&self) -> Option<PathBuf> {
        outside::state_home(|name| self.environment.var(name))
    }
}

/// Whether ctx began the log of a vault; true for a log that cannot be relied on. A vault without
/// a log has none that ctx began.
fn is_begun_by_ctx(vault: &Vault) -> bool {
    let log = Log::read(vault);
    let begun = |log: &Log| log.sound().map_or(true, |log| log.is_begun_by_ctx());
    log.as_ref().map_or(true, begun)
}

/// The folder of a vault in a directory of the user. What is in the vault is not out of the reach
/// of those who write there.
fn folder_beside(home: &Path, root: &Path, checked_out: Option<&str>) -> Option<PathBuf> {
    let dir = outside::folder_of(home, root, checked_out);
    (!outside::lies_in(&dir, root)).then_some(dir)
}
