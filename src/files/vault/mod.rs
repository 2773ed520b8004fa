//! A folder that is a vault: its tree, its configuration, the access to its files, and the lock of
//! its writers. Versions are not handled here.
//!
//! [`Vault::find`] walks up from a folder as git does. [`files::Files`] is the only code that opens
//! files of a vault; [`crate::values::model::layout`] has all file names.

mod attributes;
pub mod audit;
pub mod cloned;
pub mod config;
pub(crate) mod copies;
pub mod disk;
pub mod federation;
pub mod files;
pub mod git_past;
pub mod ignored;
pub mod left_out;
pub mod lock;
pub mod named;
pub mod outside;
mod private;
pub mod progress;
pub mod reader;
mod recased;
pub mod replace;
pub mod review;
pub(crate) mod setting;
pub mod site;
pub mod staging;
pub(crate) mod tree;
mod unshare;
pub mod walk;
pub mod write;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use config::{Config, Layout};
use disk::Disk;
use files::{FileError, Files};
use git_past::{Gone, History};
use ignored::WorkTree;
use outside::StateFolder;
use progress::Progress;
use reader::Reader;
use tree::Tree;

use crate::values::model::digest::Digest;
use crate::values::model::layout;
use crate::values::yaml;

/// An opened vault.
#[derive(Clone, Debug)]
pub struct Vault {
    files: Files,
    config: Config,
    /// Digest of the configuration file; `None` if another configuration is used.
    config_digest: Option<Digest>,
    config_error: Option<yaml::Error>,
    layout: Layout,
    /// Folder of Obsidian's templates, in the obsidian layout.
    templates: Option<String>,
    cache: Option<PathBuf>,
    state: Option<StateFolder>,
    reader: Reader,
    history: History,
    /// Files that git leaves out, after the first query.
    gone: Arc<OnceLock<Gone>>,
    patience: Duration,
    holder: lock::Holder,
    /// Work tree that overrides the one of the vault's folder.
    work_tree: Option<Arc<Option<WorkTree>>>,
    progress: Arc<Progress>,
}

/// The reason why a vault could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Neither the folder nor one above it is a vault.
    #[error("no vault in `{}` or any folder above it", start.display())]
    NotFound {
        /// Folder where the search began.
        start: PathBuf,
    },
    /// The named folder is not a vault.
    #[error("`{}` is not a vault: there is neither `.context` nor a checkpoint log", root.display())]
    NotAVault {
        /// Path of the folder.
        root: PathBuf,
    },
    /// The configuration cannot be used.
    #[error("`.context/config.yaml` cannot be read: {0}")]
    Config(#[source] yaml::Error),
    /// A file could not be read.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Files whose presence makes a folder a vault.
const MARKS: [&str; 4] = [layout::CONFIG, layout::DELTA_LOG, layout::FULL_LOG, layout::CONTEXT_DIR];

impl Vault {
    /// Finds the vault that contains `start`: that folder or the nearest one above.
    ///
    /// # Errors
    /// No vault contains it, or the vault cannot be opened.
    pub fn find(start: &Path) -> Result<Self, OpenError> {
        let absolute = start.canonicalize().unwrap_or_else(|_| start.to_owned());
        match absolute.ancestors().find(|dir| is_vault(dir)) {
            Some(root) => Self::open(root),
            None => Err(OpenError::NotFound { start: start.to_owned() }),
        }
    }

    /// Opens the vault in exactly this folder. A vault with an invalid configuration can be opened,
    /// because an auditor must be able to read it: see [`Vault::usable_config`].
    ///
    /// # Errors
    /// The folder is not a vault, or cannot be opened.
    pub fn open(root: &Path) -> Result<Self, OpenError> {
        let files = match Files::open(root) {
            Err(why) if why.is_not_found() => {
                return Err(OpenError::NotAVault { root: root.to_owned() });
            }
            opened => opened?,
        };
        if !MARKS.iter().any(|mark| files.exists(mark)) {
            return Err(OpenError::NotAVault { root: root.to_owned() });
        }
        Ok(Self::of(files))
    }

    /// Returns the vault in a tree of git, which may be without any file. `root` names its folder.
    ///
    /// # Errors
    /// The folder cannot be opened.
    pub(crate) fn of_tree(root: &Path, tree: Tree) -> Result<Self, OpenError> {
        Ok(Self::of(Files::of_tree(root, tree)?))
    }

    fn of(files: Files) -> Self {
        let (config, config_digest, config_error) = match read_config(&files) {
            Ok((config, digest)) => (config, Some(digest), None),
            Err(error) => (Config::default(), None, Some(error)),
        };
        let config_error = config_error.or_else(|| config.foreign_review.clone());
        let layout = placed(&files, &config);
        let templates = templates(&files, layout);
        Self {
            files,
            config,
            config_digest,
            config_error,
            layout,
            templates,
            cache: None,
            state: None,
            patience: lock::PATIENCE,
            reader: Reader::default(),
            history: History::default(),
            gone: Arc::default(),
            holder: lock::Holder::default(),
            work_tree: None,
            progress: Arc::default(),
        }
    }

    /// Returns the vault that contains a folder and the next vault above it; `None` if there are
    /// not two. No command makes a vault inside another.
    pub fn nested(start: &Path) -> Option<(PathBuf, PathBuf)> {
        let absolute = start.canonicalize().ok()?;
        let mut vaults = absolute.ancestors().filter(|dir| is_vault(dir)).map(Path::to_owned);
        Some((vaults.next()?, vaults.next()?))
    }

    /// Returns the vault for an import that can be repeated: written files become durable when the
    /// system decides, and a power cut may leave any part of them.
    #[must_use]
    pub fn without_sync(mut self) -> Self {
        self.files.stop_waiting();
        self
    }

    /// Returns the vault with a folder for an index; see [`outside::folder_of`].
    #[must_use]
    pub fn with_cache(mut self, dir: Option<PathBuf>) -> Self {
        self.cache = dir;
        self
    }

    /// Returns the folder for an index, outside of the vault.
    pub fn cache(&self) -> Option<&Path> {
        self.cache.as_deref()
    }

    /// Returns the vault with the folder of its trusted head.
    #[must_use]
    pub fn with_state(mut self, state: Option<StateFolder>) -> Self {
        self.state = state;
        self
    }

    /// Returns the vault with its reader.
    #[must_use]
    pub fn read_by(mut self, reader: Reader) -> Self {
        self.reader = reader;
        self
    }

    /// Returns the principal who reads the vault.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Returns the vault with its git history.
    #[must_use]
    pub fn known_by(mut self, history: History) -> Self {
        self.history = history;
        self
    }

    /// Returns the git history.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the files of the vault that git leaves out of the working copy. Git is asked once.
    pub(crate) fn gone(&self) -> &Gone {
        self.gone.get_or_init(|| Gone::of(self))
    }

    /// Returns the folder of the trusted head, outside of the vault.
    pub fn state(&self) -> Option<&StateFolder> {
        self.state.as_ref()
    }

    /// Returns the canonical path of the vault's folder.
    pub fn root(&self) -> &Path {
        self.files.root()
    }

    /// Returns the files of the vault.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Returns the configuration, or the defaults if it is invalid.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the configuration, for commands whose outcome depends on it.
    ///
    /// # Errors
    /// The configuration is invalid; line and column name the place.
    pub fn usable_config(&self) -> Result<&Config, OpenError> {
        match &self.config_error {
            None => Ok(&self.config),
            Some(error) => Err(OpenError::Config(error.clone())),
        }
    }

    /// Returns true if the configuration is unusable only because of a `review` of the
    /// reference implementation.
    pub(crate) fn has_foreign_review(&self) -> bool {
        self.config_error.is_some() && self.config_error == self.config.foreign_review
    }

    /// Returns the vault with its configuration in use even if `review` is one of the
    /// reference implementation.
    #[must_use]
    pub(crate) fn with_foreign_review(self) -> Self {
        match self.has_foreign_review() {
            true => Self { config_error: None, ..self },
            false => self,
        }
    }

    /// Returns the digest of the configuration file when the vault was opened; `None` if it is
    /// unusable, or another configuration is in use.
    pub(crate) fn config_digest(&self) -> Option<Digest> {
        self.config_digest
    }

    /// Returns the vault under another configuration than that of the live file.
    #[must_use]
    pub(crate) fn under(&self, config: Config) -> Self {
        let layout = placed(&self.files, &config);
        let templates = templates(&self.files, layout);
        let config_digest = None;
        Self { config, config_digest, config_error: None, layout, templates, ..self.clone() }
    }

    /// Returns the progress of long work on the vault, which all copies of the value share.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Returns the layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns true if a path in the vault is in the folder of Obsidian's templates.
    pub fn is_template(&self, path: &str) -> bool {
        let folder = self.templates.as_deref().and_then(|folder| path.strip_prefix(folder));
        folder.is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the configured name of the vault, or that of its folder.
    pub fn name(&self) -> String {
        self.config.name.clone().unwrap_or_else(|| self.folder_name())
    }

    /// Returns the name of the vault's folder.
    pub fn folder_name(&self) -> String {
        self.root().file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
    }

    /// Returns the vault with another time to wait for the lock than [`lock::PATIENCE`].
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Returns the time that a command waits for another process that has a lock.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// Returns the vault on a disk with an observer.
    #[must_use]
    pub fn on(mut self, disk: Disk) -> Self {
        self.files = self.files.on(disk);
        self
    }

    /// Returns the stamp of the log, which changes with the file.
    pub fn log_stamp(&self) -> Option<files::Stamp> {
        [layout::FULL_LOG, layout::DELTA_LOG].iter().find_map(|log| self.files.stamp(log).ok())
    }

    /// Keeps writers from beginning until the returned guard is dropped, and waits for the one that
    /// is at work. Nothing is written. The thread that holds the write lock does not wait.
    pub fn hold_off_writers(&self) -> lock::HeldOff {
        match self.holder.is_this_thread() || self.files.tree().is_some() {
            true => lock::HeldOff::BY_ITSELF,
            false => lock::hold_off(&self.files, self.patience),
        }
    }

    /// Takes the lock that every writer holds. Processes that wait for it show `who` as the holder.
    ///
    /// # Errors
    /// Another process holds the lock, or the lock file cannot be created, as in a read-only vault.
    pub fn lock(&self, who: &str) -> Result<lock::WriteLock, lock::LockError> {
        let lock = lock::acquire(&self.files, self.patience, who)?.held_by(&self.holder);
        // Another process may have renamed files in the meantime.
        self.files.recased.forget();
        Ok(lock)
    }
}

/// Returns the folder of the vault that a file with this path makes a vault; the folder at the top
/// has an empty path. Files among histories do not make their folder one.
pub(crate) fn marked_by(path: &str) -> Option<&str> {
    let within = format!("/{path}/");
    let ends = MARKS.iter().filter_map(|mark| within.find(&format!("/{mark}/")));
    let folder = &path[..ends.min()?.saturating_sub(1)];
    (!folder.split('/').any(|name| name == layout::VERSIONS)).then_some(folder)
}

/// Returns true if a folder has one of the files that make it a vault.
pub(crate) fn is_vault(dir: &Path) -> bool {
    MARKS.iter().any(|mark| dir.join(mark).exists())
}

/// Returns the configured layout, or the one that the folders suggest.
fn placed(files: &Files, config: &Config) -> Layout {
    config.layout.unwrap_or(match files.exists(layout::NODES) {
        true => Layout::Structured,
        false => Layout::Obsidian,
    })
}

/// Returns the folder of templates in the settings of Obsidian (`spec/vault.md`, VAULT-62); `None`
/// if the setting cannot be read or does not name a folder of the vault.
fn templates(files: &Files, layout: Layout) -> Option<String> {
    if layout != Layout::Obsidian {
        return None;
    }
    let bytes = files.read(layout::TEMPLATES, layout::limit::FRONTMATTER as u64).ok()?;
    let setting: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let folder = setting.get("folder")?.as_str()?.trim_matches('/');
    let is_path = folder.split('/').all(|name| !matches!(name, "" | "." | ".."));
    is_path.then(|| folder.to_owned())
}

fn read_config(files: &Files) -> Result<(Config, Digest), yaml::Error> {
    let limit = layout::limit::FRONTMATTER as u64;
    let unusable = |problem| yaml::Error { line: 1, column: 1, problem };
    let bytes = files.read_optional(layout::CONFIG, limit).map_err(|e| unusable(e.to_string()))?;
    let bytes = bytes.unwrap_or_default();
    let text = std::str::from_utf8(&bytes)
        .map_err(|e| unusable(format!("not UTF-8 at byte {}", e.valid_up_to())))?;
    Ok((Config::parse(text)?, Digest::of(&bytes)))
}
