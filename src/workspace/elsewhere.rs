//! Access logs of this user that are of other paths, and answer questions about a vault (AUDIT-34).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Workspace;
use super::recording::heads_of;
use crate::audit::{Elsewhere, Heads, Place, Shared, recorded_roots};
use crate::trust;
use crate::vault::Vault;
use crate::vault::outside;

/// Maximum number of folders of logs that are looked at for lines about a vault.
const MOST_FOLDERS: usize = 1000;

/// The logs of other paths.
#[derive(Debug, Default)]
pub(crate) struct OtherLogs {
    /// The folders with lines about the vault.
    pub(crate) read: Vec<Elsewhere>,
    /// The checkpoints of the vault.
    pub(crate) heads: Heads,
    /// The folders with lines that are not read.
    pub(crate) unread: Vec<UnreadLogs>,
}

/// Logs of this user that are not read.
#[derive(Debug)]
pub(crate) enum UnreadLogs {
    /// Some lines have heads that are not checkpoints of the vault.
    Diverged(Elsewhere),
    /// The folder cannot be read, for this reason.
    Failed(PathBuf, String),
    /// This folder contains this number of further folders.
    TooMany(PathBuf, usize),
}

impl Workspace<'_> {
    /// The folders that contain the access logs of this user, a folder for each path of a vault.
    pub(super) fn audit_homes(&self, vault: &Vault) -> Vec<PathBuf> {
        let own = self.user_folder(vault).ok().flatten();
        let own = own.and_then(|dir| Some(dir.parent()?.to_owned()));
        let default = vault.state().map(Place::home_of).filter(|home| own.as_ref() != Some(home));
        own.into_iter().chain(default).collect()
    }

    /// Finds the logs of other paths that have lines about a vault.
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
        if folders.is_empty() {
            return found;
        }
        found.heads = heads_of(vault);
        let mut paths = None;
        for dir in folders {
            let shared = match Shared::of(&dir, &found.heads) {
                Ok(shared) if !shared.any => continue,
                Ok(shared) => shared,
                Err(why) => {
                    found.unread.push(UnreadLogs::Failed(dir, why.to_string()));
                    continue;
                }
            };
            let paths = paths.get_or_insert_with(|| vault_paths(vault));
            let of = dir.file_name().and_then(|key| paths.get(key.to_str()?)).unwrap_or(&dir);
            let elsewhere = Elsewhere { of: of.clone(), dir };
            if shared.later && shared.others {
                found.unread.push(UnreadLogs::Diverged(elsewhere.clone()));
            }
            found.read.push(elsewhere);
        }
        found
    }
}

/// The folders in a folder that have the name of a folder of logs, in the order of their names.
fn log_folders(home: &Path) -> Vec<PathBuf> {
    let entries = home.read_dir().into_iter().flatten().flatten();
    let is_key = |name: &str| name.len() == 24 && name.bytes().all(|b| b.is_ascii_hexdigit());
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_key));
    let mut folders: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    folders.sort_unstable();
    folders
}

/// The paths of vaults that this user read, or trusts a head of, by the names of the folders of their
/// logs.
fn vault_paths(vault: &Vault) -> HashMap<String, PathBuf> {
    let Some(state) = vault.state() else { return HashMap::new() };
    let (heads, _) = trust::all(&state.home);
    let named = heads.into_iter().map(|head| (outside::log_key_of(&head.path), head.path));
    let mut paths: HashMap<_, _> = named.collect();
    paths.extend(recorded_roots(&state.home));
    paths
}
