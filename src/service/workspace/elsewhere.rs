//! Access logs of this user for other paths of the same vault (AUDIT-34).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Workspace;
use super::recording::sound_heads;
use crate::files::vault::Vault;
use crate::files::vault::outside;
use crate::record::audit::{Elsewhere, Heads, Place, Shared, fault_at_ends, recorded_roots};
use crate::record::trusted_head::{self, TrustedHead};
use crate::values::model::number::CheckpointNumber;

/// Maximum number of folders of logs that are searched for lines about a vault.
const MOST_FOLDERS: usize = 1000;

/// The logs of other paths.
#[derive(Debug, Default)]
pub(crate) struct OtherLogs {
    /// The folders with lines about the vault.
    pub(crate) read: Vec<Elsewhere>,
    /// The checkpoints of the vault; `None` if its log is not valid.
    pub(crate) heads: Option<Heads>,
    /// Logs that are not used, or whose lines may be incomplete.
    pub(crate) unread: Vec<UnreadLogs>,
}

/// Logs of this user that are not read in full.
#[derive(Debug)]
pub(crate) enum UnreadLogs {
    /// This number of lines name checkpoints that the vault does not contain.
    Diverged(Elsewhere, u64),
    /// Lines of the vault may be missing, for this reason.
    Lacking(Elsewhere, String),
    /// The folder cannot be read, for this reason.
    Failed(PathBuf, String),
    /// This folder contains this number of further folders.
    TooMany(PathBuf, usize),
    /// The checkpoint log is not valid, so the logs in this number of folders cannot be compared
    /// with it.
    Uncompared(usize),
}

impl Workspace<'_> {
    /// Returns the folders that contain the access logs of this user, with a subfolder for each
    /// path of a vault.
    pub(super) fn audit_homes(&self, vault: &Vault) -> Vec<PathBuf> {
        let own = self.user_folder(vault).ok().flatten();
        let own = own.and_then(|dir| Some(dir.parent()?.to_owned()));
        let default = vault.state().map(Place::home_of).filter(|home| own.as_ref() != Some(home));
        own.into_iter().chain(default).collect()
    }

    /// Finds the logs of other paths that have lines about a vault, and logs of any path that have
    /// other lines but may belong to it.
    pub(super) fn other_logs(&self, vault: &Vault) -> OtherLogs {
        let own = self.user_folder(vault).ok().flatten();
        let mut found = OtherLogs::default();
        let mut folders = Vec::new();
        for home in self.audit_homes(vault) {
            let mut named = log_folders(&home);
            named.retain(|dir| own.as_ref() != Some(dir));
            let more = named.len().saturating_sub(MOST_FOLDERS);
            named.truncate(MOST_FOLDERS);
            folders.extend(named);
            if more > 0 {
                found.unread.push(UnreadLogs::TooMany(home, more));
            }
        }
        let Some(heads) = sound_heads(vault) else {
            found
                .unread
                .extend((!folders.is_empty()).then_some(UnreadLogs::Uncompared(folders.len())));
            return found;
        };
        // Unreadable logs in the vault's own folder are reported as faults of the logs.
        if let Some(dir) = own
            && let Ok(Shared { others, empty, .. }) = Shared::of(&dir, &heads)
        {
            let logs = Elsewhere { dir, of: vault.root().to_owned() };
            found.name(&logs, others, empty);
        }
        if !folders.is_empty() {
            let known = Known::of(vault, &heads);
            for dir in folders {
                match Shared::of(&dir, &heads) {
                    Ok(shared) => found.meet(dir, shared, &known),
                    Err(why) => found.unread.push(UnreadLogs::Failed(dir, why.to_string())),
                }
            }
        }
        found.heads = Some(heads);
        found
    }
}

impl OtherLogs {
    /// Adds the logs of another path.
    fn meet(&mut self, dir: PathBuf, shared: Shared, known: &Known<'_>) {
        let Shared { any, later, others, unreadable, empty } = shared;
        let key = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let key = key.as_str();
        let of = known.paths.get(key).unwrap_or(&dir).clone();
        let is_of_vault = known.is_trusted(key);
        let is_related = later || is_of_vault || known.is_of_repository(key);
        let logs = Elsewhere { dir, of };
        let empty = empty.filter(|_| is_related || !known.is_of_another(key));
        if any || is_of_vault {
            self.name(&logs, if is_related { others } else { 0 }, empty);
            return self.read.push(logs);
        }
        let lacks = unreadable.or(empty);
        let lacks =
            lacks.or_else(|| fault_at_ends(&logs.dir).unwrap_or_else(|why| Some(why.to_string())));
        self.name(&logs, if is_related { others } else { 0 }, lacks);
    }

    /// Reports logs with this number of lines of other checkpoints, and the lines that they lack.
    fn name(&mut self, logs: &Elsewhere, others: u64, lacks: Option<String>) {
        if others > 0 {
            self.unread.push(UnreadLogs::Diverged(logs.clone(), others));
        }
        self.unread.extend(lacks.map(|why| UnreadLogs::Lacking(logs.clone(), why)));
    }
}

/// The records of the user's state directory on the paths of vaults.
struct Known<'h> {
    heads: &'h Heads,
    /// The paths of vaults, by the names of the folders of their logs.
    paths: HashMap<String, PathBuf>,
    /// The trusted heads of these paths.
    trusted: HashMap<String, Vec<TrustedHead>>,
    /// The repository that the vault is in.
    repository: Option<PathBuf>,
}

impl<'h> Known<'h> {
    fn of(vault: &Vault, heads: &'h Heads) -> Self {
        let mut known =
            Self { heads, paths: HashMap::new(), trusted: HashMap::new(), repository: None };
        let Some(state) = vault.state() else { return known };
        known.repository = state.repository.as_deref().map(of_worktrees);
        for head in trusted_head::all(&state.home).0 {
            let key = outside::log_key_of(&head.path);
            known.paths.insert(key.clone(), head.path.clone());
            known.trusted.entry(key).or_default().push(head);
        }
        known.paths.extend(recorded_roots(&state.home));
        known
    }

    fn trusted(&self, key: &str) -> &[TrustedHead] {
        self.trusted.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns true if a head that is trusted for the path is one of the vault.
    fn is_trusted(&self, key: &str) -> bool {
        self.trusted(key).iter().any(|trusted| self.heads.holds(&trusted.head))
    }

    /// Returns true if the path has a vault of the same repository and with the same first
    /// checkpoint, as in a worktree.
    fn is_of_repository(&self, key: &str) -> bool {
        let is_it = |trusted: &TrustedHead| {
            self.begins(trusted)
                && trusted.repository.as_deref().map(of_worktrees) == self.repository
        };
        self.repository.is_some() && self.trusted(key).iter().any(is_it)
    }

    /// Returns true if the path is known, and only for vaults with another first checkpoint.
    fn is_of_another(&self, key: &str) -> bool {
        let trusted = self.trusted(key);
        !trusted.is_empty() && !trusted.iter().any(|trusted| self.begins(trusted))
    }

    /// Returns true if a trusted head has the same first checkpoint as the vault.
    fn begins(&self, trusted: &TrustedHead) -> bool {
        let first = trusted.head.hashes.map(|hashes| hashes.genesis.to_string());
        first.is_some_and(|first| self.heads.has(CheckpointNumber::FIRST.0, &first))
    }
}

/// Returns the git folder of the repository that has this worktree.
fn of_worktrees(repository: &Path) -> PathBuf {
    let worktrees = repository.parent().filter(|dir| dir.ends_with("worktrees"));
    worktrees.and_then(Path::parent).unwrap_or(repository).to_owned()
}

/// Returns the subfolders with the name of a folder of logs, in the order of their names.
fn log_folders(home: &Path) -> Vec<PathBuf> {
    let entries = home.read_dir().into_iter().flatten().flatten();
    let is_key = |name: &str| name.len() == 24 && name.bytes().all(|b| b.is_ascii_hexdigit());
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_key));
    let mut folders: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    folders.sort_unstable();
    folders
}
