//! A folder that is a vault: its tree, its configuration, how bytes are read and written, and the
//! lock of its writers. Knows nothing of versions.
//!
//! [`Vault::find`] walks up from a folder as git does. [`files::Files`] is the only place that
//! opens files of a vault; [`crate::values::model::layout`] states every file name once.

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

use crate::values::model::digest::Digest;
use crate::values::model::layout;
use crate::values::yaml;

/// An opened vault.
#[derive(Clone, Debug)]
pub struct Vault {
    files: Files,
    config: Config,
    /// The digest of the file that it was read from; none where it is another configuration.
    config_digest: Option<Digest>,
    config_error: Option<yaml::Error>,
    layout: Layout,
    /// The folder of Obsidian's templates, in the obsidian layout.
    templates: Option<String>,
    cache: Option<PathBuf>,
    state: Option<StateFolder>,
    reader: Reader,
    history: History,
    /// The files that git leaves out, once they were asked for.
    gone: Arc<OnceLock<Gone>>,
    patience: Duration,
    holder: lock::Holder,
    /// The work tree that it is part of, where its folder does not show that.
    work_tree: Option<Arc<Option<WorkTree>>>,
    progress: Arc<Progress>,
}

/// Why a vault could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No folder from here upwards is a vault.
    #[error("no vault in `{}` or any folder above it", start.display())]
    NotFound {
        /// Where the search began.
        start: PathBuf,
    },
    /// The folder was named, but is no vault.
    #[error("`{}` is not a vault: there is neither `.context` nor a checkpoint log", root.display())]
    NotAVault {
        /// The folder.
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
    /// Finds the vault that holds `start`: that folder or the nearest one above.
    ///
    /// # Errors
    /// There is none, or it cannot be opened.
    pub fn find(start: &Path) -> Result<Self, OpenError> {
        let absolute = start.canonicalize().unwrap_or_else(|_| start.to_owned());
        match absolute.ancestors().find(|dir| is_vault(dir)) {
            Some(root) => Self::open(root),
            None => Err(OpenError::NotFound { start: start.to_owned() }),
        }
    }

    /// Opens the vault in exactly this folder. A configuration that cannot be read does not keep
    /// a vault from being opened (an auditor must be able to look): see [`Vault::usable_config`].
    ///
    /// # Errors
    /// The folder is no vault, or cannot be opened.
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
        let (config, config_digest, config_error) = match read_config(&files) {
            Ok((config, digest)) => (config, Some(digest), None),
            Err(error) => (Config::default(), None, Some(error)),
        };
        let config_error = config_error.or_else(|| config.foreign_review.clone());
        let layout = placed(&files, &config);
        let templates = templates(&files, layout);
        Ok(Self {
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
        })
    }

    /// The vault that a folder is in, and the one that this one is in, where there is one. No
    /// command makes a vault inside of another.
    pub fn nested(start: &Path) -> Option<(PathBuf, PathBuf)> {
        let absolute = start.canonicalize().ok()?;
        let mut vaults = absolute.ancestors().filter(|dir| is_vault(dir)).map(Path::to_owned);
        Some((vaults.next()?, vaults.next()?))
    }

    /// The vault for an import that can be repeated: what is written becomes durable when the
    /// system pleases, and a power cut may leave any part of it.
    #[must_use]
    pub fn without_sync(mut self) -> Self {
        self.files.stop_waiting();
        self
    }

    /// The vault with a folder in which an index may lie; see [`outside::folder_of`].
    #[must_use]
    pub fn with_cache(mut self, dir: Option<PathBuf>) -> Self {
        self.cache = dir;
        self
    }

    /// The folder in which an index may lie, outside of the vault.
    pub fn cache(&self) -> Option<&Path> {
        self.cache.as_deref()
    }

    /// The vault with the place in which its head is trusted.
    #[must_use]
    pub fn with_state(mut self, state: Option<StateFolder>) -> Self {
        self.state = state;
        self
    }

    /// The vault with who reads it.
    #[must_use]
    pub fn read_by(mut self, reader: Reader) -> Self {
        self.reader = reader;
        self
    }

    /// Who reads it.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The vault with what git knows of it.
    #[must_use]
    pub fn known_by(mut self, history: History) -> Self {
        self.history = history;
        self
    }

    /// What git knows of it.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The files of the vault that git leaves out of the working copy. Git is asked once.
    pub(crate) fn gone(&self) -> &Gone {
        self.gone.get_or_init(|| Gone::of(self))
    }

    /// Where the head is trusted, outside of the vault.
    pub fn state(&self) -> Option<&StateFolder> {
        self.state.as_ref()
    }

    /// The canonical path of the vault's folder.
    pub fn root(&self) -> &Path {
        self.files.root()
    }

    /// Its files.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Its configuration, or the defaults where none can be made.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The configuration, for commands whose outcome depends on it.
    ///
    /// # Errors
    /// It cannot be read; line and column say where.
    pub fn usable_config(&self) -> Result<&Config, OpenError> {
        match &self.config_error {
            None => Ok(&self.config),
            Some(error) => Err(OpenError::Config(error.clone())),
        }
    }

    /// Whether only a `review` of the reference implementation makes the configuration unusable.
    pub(crate) fn has_foreign_review(&self) -> bool {
        self.config_error.is_some() && self.config_error == self.config.foreign_review
    }

    /// The vault with its configuration, whose `review` is one of the reference implementation.
    #[must_use]
    pub(crate) fn with_foreign_review(self) -> Self {
        match self.has_foreign_review() {
            true => Self { config_error: None, ..self },
            false => self,
        }
    }

    /// The digest of the file with the configuration, as it was when the vault was opened; none
    /// where it cannot be used, or is not what this vault is under.
    pub(crate) fn config_digest(&self) -> Option<Digest> {
        self.config_digest
    }

    /// The same vault under another configuration than that of the live file.
    #[must_use]
    pub(crate) fn under(&self, config: Config) -> Self {
        let layout = placed(&self.files, &config);
        let templates = templates(&self.files, layout);
        let config_digest = None;
        Self { config, config_digest, config_error: None, layout, templates, ..self.clone() }
    }

    /// How far long work over it is; shared with every copy of it.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Where documents lie.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Whether a path in the vault is in the folder of Obsidian's templates.
    pub fn is_template(&self, path: &str) -> bool {
        let folder = self.templates.as_deref().and_then(|folder| path.strip_prefix(folder));
        folder.is_some_and(|rest| rest.starts_with('/'))
    }

    /// The vault's name: as configured, else that of its folder.
    pub fn name(&self) -> String {
        self.config.name.clone().unwrap_or_else(|| self.folder_name())
    }

    /// The name of the vault's folder.
    pub fn folder_name(&self) -> String {
        self.root().file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
    }

    /// The vault with another time to wait for the lock than [`lock::PATIENCE`].
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How long a command waits for another process that has a lock.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// The vault on a disk with an observer.
    #[must_use]
    pub fn on(mut self, disk: Disk) -> Self {
        self.files = self.files.on(disk);
        self
    }

    /// What tells whether the log was touched.
    pub fn log_stamp(&self) -> Option<files::Stamp> {
        [layout::FULL_LOG, layout::DELTA_LOG].iter().find_map(|log| self.files.stamp(log).ok())
    }

    /// Keeps writers from beginning, as long as what is given back is held, and waits for the one
    /// that is at work. Writes nothing: where no command ever wrote there is nothing to hold. The
    /// thread that holds the write lock does not wait.
    pub fn hold_off_writers(&self) -> lock::HeldOff {
        match self.holder.is_this_thread() {
            true => lock::HeldOff::BY_ITSELF,
            false => lock::hold_off(&self.files, self.patience),
        }
    }

    /// Takes the lock that every writer holds. A process that waits for it meanwhile shows `who`
    /// has it.
    ///
    /// # Errors
    /// Another process holds it, or the lock file cannot be made (a read-only vault).
    pub fn lock(&self, who: &str) -> Result<lock::WriteLock, lock::LockError> {
        let lock = lock::acquire(&self.files, self.patience, who)?.held_by(&self.holder);
        // Another process may have renamed files meanwhile.
        self.files.recased.forget();
        Ok(lock)
    }
}

/// Whether a folder bears the marks of a vault.
pub(crate) fn is_vault(dir: &Path) -> bool {
    MARKS.iter().any(|mark| dir.join(mark).exists())
}

/// Where documents lie, by the configuration or else by the folders that there are.
fn placed(files: &Files, config: &Config) -> Layout {
    config.layout.unwrap_or(match files.exists(layout::NODES) {
        true => Layout::Structured,
        false => Layout::Obsidian,
    })
}

/// The folder of templates that Obsidian is set to (`spec/vault.md`, VAULT-62); none where the
/// setting cannot be read or names no folder of the vault.
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
