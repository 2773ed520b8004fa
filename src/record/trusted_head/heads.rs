//! Heads that are trusted for a vault, and the decision which of them bind it. Each path of a vault
//! on disk, and each branch that git has checked out there, has its own trusted head.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use super::stored::{self, TrustError};
use super::{Head, withdraw};
use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::files::vault::outside::{self, Mark, StateFolder};
use crate::files::vault::write::Written;
use crate::record::checkpoint::codec::{form_of, path_of};
use crate::values::model::digest::Digest;
use crate::values::model::timestamp::Timestamp;

/// Maximum number of heads per vault for commits that were checked out without a ref.
const MOST_DETACHED: usize = 64;

/// A trusted head, and the vault that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedHead {
    /// The canonical path of the vault.
    pub path: PathBuf,
    /// The ref or commit that git had checked out there; `None` without git.
    pub branch: Option<String>,
    /// The repository's folder; `None` without git.
    pub repository: Option<PathBuf>,
    /// The head.
    pub head: Head,
    /// The time when the head was trusted.
    pub at: Timestamp,
}

impl TrustedHead {
    /// Returns true if a commit was checked out that no ref named.
    fn is_detached(&self) -> bool {
        self.branch.as_ref().is_some_and(|branch| !branch.starts_with("refs/"))
    }
}

/// The trusted heads of a vault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedHeads {
    /// Head for the ref or commit that is checked out.
    pub here: Option<TrustedHead>,
    /// Heads that were trusted when the vault had another repository, or none.
    otherwise: Vec<TrustedHead>,
    /// Heads for other refs and commits of this repository.
    elsewhere: Vec<TrustedHead>,
}

impl TrustedHeads {
    /// Iterates over the heads that the log must contain, first that of the checked-out ref. Refs
    /// differ only within one repository: a head that was trusted with another repository, or with
    /// none, binds whatever is checked out. Otherwise an attacker who can write to the vault could
    /// plant a repository, and remove it together with the head that was trusted meanwhile.
    pub fn binding(&self) -> impl Iterator<Item = &TrustedHead> {
        self.here.iter().chain(&self.otherwise)
    }

    /// Returns the number of the last checkpoint that binds; `None` if no head binds.
    pub fn last(&self) -> Option<usize> {
        self.binding().map(|trusted| trusted.head.checkpoint.count()).max()
    }

    /// Returns the latest head of another checked-out ref that this log does not contain.
    pub fn elsewhere(&self, is_held: impl Fn(&Head) -> bool) -> Option<&TrustedHead> {
        let lost = self.elsewhere.iter().filter(|trusted| !is_held(&trusted.head));
        lost.max_by_key(|trusted| trusted.head.checkpoint)
    }
}

/// Returns the trusted heads of a vault; empty if there is none, or no directory of state.
///
/// # Errors
/// Fails if a trusted head cannot be read, because its checkpoint is then unknown.
pub fn trusted_heads(vault: &Vault) -> Result<TrustedHeads, TrustError> {
    vault.state().map_or(Ok(TrustedHeads::default()), |state| trusted_heads_in(state, vault.root()))
}

/// Returns the trusted heads for a vault in a folder, even if the vault is gone.
///
/// # Errors
/// Fails like [`trusted_heads`].
pub fn trusted_heads_in(state: &StateFolder, root: &Path) -> Result<TrustedHeads, TrustError> {
    let mut heads = TrustedHeads { here: stored::read(&state.dir)?, ..TrustedHeads::default() };
    for (_, trusted) in others(state, root) {
        let trusted = trusted?;
        match is_of_repository(&trusted, state) {
            true => heads.elsewhere.push(trusted),
            false => heads.otherwise.push(trusted),
        }
    }
    Ok(heads)
}

/// Returns true if a head was trusted with the repository that the vault has now. A path that is
/// not UTF-8 is stored with replacement characters.
fn is_of_repository(trusted: &TrustedHead, state: &StateFolder) -> bool {
    let written = |path: &PathBuf| path.to_string_lossy().into_owned();
    trusted.repository.as_ref().map(written) == state.repository.as_ref().map(written)
}

/// Returns the other heads of a vault's path, with their folders.
fn others(
    state: &StateFolder,
    root: &Path,
) -> impl Iterator<Item = (PathBuf, Result<TrustedHead, TrustError>)> {
    let dirs = folders(state, root).into_iter().skip(1);
    dirs.filter_map(|dir| {
        let trusted = stored::read(&dir).transpose()?;
        Some((dir, trusted))
    })
}

/// Returns the folders of a vault's path: first that of the checked-out ref, then the others in the
/// order of their names.
pub(super) fn folders(state: &StateFolder, root: &Path) -> Vec<PathBuf> {
    let mut dirs = folders_of(&state.home, root);
    dirs.retain(|dir| *dir != state.dir);
    dirs.insert(0, state.dir.clone());
    dirs
}

/// A folder of state of a vault's path.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The path of the folder.
    pub dir: PathBuf,
    /// True if its records bind whatever is checked out, see [`TrustedHeads::binding`].
    pub is_binding: bool,
    /// The ref or commit that git had checked out there, if it is known.
    pub checked_out: Option<String>,
}

/// Returns the folders of state of a vault's path, first that of the checked-out ref.
pub fn memories(vault: &Vault) -> Vec<Memory> {
    let Some(state) = vault.state() else { return Vec::new() };
    let here = state.mark();
    let of_dir = |dir: PathBuf| {
        let of_head = |head: TrustedHead| Mark {
            checked_out: head.branch,
            repository: head.repository.map(|path| path.to_string_lossy().replace('\n', " ")),
        };
        let head = || stored::read(&dir).ok().flatten().map(of_head);
        let mark = if dir == state.dir { Some(here.clone()) } else { None };
        let mark = mark.or_else(|| Mark::read(&dir)).or_else(head);
        let is_other = mark.as_ref().is_some_and(|mark| mark.repository != here.repository);
        let is_binding = dir == state.dir || is_other;
        Memory { dir, is_binding, checked_out: mark.and_then(|mark| mark.checked_out) }
    };
    folders(state, vault.root()).into_iter().map(of_dir).collect()
}

/// Returns the folders of a path in the user's directory of state. They are found by name, because
/// a path need not be text.
fn folders_of(home: &Path, path: &Path) -> Vec<PathBuf> {
    let key = outside::key_of(path);
    let is_ours = |dir: &PathBuf| {
        let name = dir.file_name().map(OsStr::as_encoded_bytes);
        name.is_some_and(|name| name.starts_with(key.as_bytes()))
    };
    let mut dirs: Vec<PathBuf> = stored::folders(home).filter(is_ours).collect();
    dirs.sort_unstable();
    dirs
}

/// Records the head of a log that contains the one trusted before it. A later head, from a faster
/// writer, is not replaced, unless the log holds it on a side line; `holds` says which checkpoints
/// it holds.
///
/// # Errors
/// Fails if the head could not be written.
pub fn advance(
    vault: &Vault,
    head: &Head,
    holds: impl Fn(&Digest) -> bool,
    now: Timestamp,
) -> Result<(), TrustError> {
    let Some(state) = vault.state() else { return Ok(()) };
    // Readers also record heads, at the same time as a writer: the later head must win.
    let _turn = stored::take_turn(&state.dir, vault.patience())?;
    let is_later = |known: &Head| {
        let is_held = known.hashes.is_some_and(|hashes| holds(&hashes.last));
        known == head || known.checkpoint > head.checkpoint && !is_held
    };
    match stored::read(&state.dir)? {
        Some(known) if is_later(&known.head) => Ok(()),
        _ => record(vault, state, head, now),
    }
}

/// Records a head, whatever was trusted before it. Intent records are withdrawn, because
/// checkpoints beyond this head may have been acknowledged.
///
/// # Errors
/// Fails if the head could not be written.
pub fn trust(vault: &Vault, head: &Head, now: Timestamp) -> Result<(), TrustError> {
    let Some(state) = vault.state() else { return Ok(()) };
    let heads = trusted_heads(vault).unwrap_or_default();
    if heads.binding().all(|trusted| trusted.head != *head) {
        withdraw(vault, |_| true);
    }
    let _turn = stored::take_turn(&state.dir, vault.patience())?;
    record(vault, state, head, now)?;
    forget_otherwise(vault, state).map(|_| ())
}

fn record(
    vault: &Vault,
    state: &StateFolder,
    head: &Head,
    now: Timestamp,
) -> Result<(), TrustError> {
    let remembered = TrustedHead {
        path: vault.root().to_owned(),
        branch: state.checked_out.clone(),
        repository: state.repository.clone(),
        head: *head,
        at: now,
    };
    settle_log(vault).map_err(TrustError::io("write", &state.dir))?;
    let is_new = stored::read(&state.dir).is_ok_and(|known| known.is_none());
    stored::write(vault.files().disk(), &state.dir, &remembered)?;
    if is_new && remembered.is_detached() { prune(vault, state) } else { Ok(()) }
}

/// Forgets the oldest heads of commits that were checked out without a ref. A machine that checks
/// out one commit after the other would keep all of them, and read them with every command. A head
/// with an intent record is kept, because that decides about uncommitted files.
fn prune(vault: &Vault, state: &StateFolder) -> Result<(), TrustError> {
    let mut detached: Vec<(Timestamp, PathBuf)> = others(state, vault.root())
        .filter_map(|(dir, trusted)| Some((dir, trusted.ok()?)))
        .filter(|(dir, trusted)| {
            trusted.is_detached() && is_of_repository(trusted, state) && !stored::has_intent(dir)
        })
        .map(|(dir, trusted)| (trusted.at, dir))
        .collect();
    detached.sort_unstable();
    let old = detached.len().saturating_sub(MOST_DETACHED - 1);
    let patience = vault.patience();
    detached[..old].iter().try_for_each(|(_, dir)| stored::remove_folder(dir, patience))
}

/// Syncs the log: if a trusted checkpoint is lost in a power cut, it would be reported as
/// a rollback.
fn settle_log(vault: &Vault) -> io::Result<()> {
    match vault.files().sync(&[Written::Longer(path_of(form_of(vault)))]) {
        Err(FileError::Io { source, .. })
            if !matches!(
                source.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Err(source)
        }
        _ => Ok(()),
    }
}

/// Forgets the binding heads of a vault; returns true if there was one.
///
/// # Errors
/// Fails if a head could not be removed.
pub fn forget(vault: &Vault) -> Result<bool, TrustError> {
    let Some(state) = vault.state() else { return Ok(false) };
    let any = stored::remove(&state.dir)?;
    Ok(forget_otherwise(vault, state)? || any)
}

/// Forgets heads that were trusted with another repository, or with none, and unreadable ones,
/// which would block every writer; returns true if there was one.
fn forget_otherwise(vault: &Vault, state: &StateFolder) -> Result<bool, TrustError> {
    let mut any = false;
    for (dir, trusted) in others(state, vault.root()) {
        if trusted.map_or(true, |trusted| !is_of_repository(&trusted, state)) {
            any |= stored::remove(&dir)?;
        }
    }
    Ok(any)
}

/// Returns true if a head is trusted for a path, whatever git had checked out there.
pub fn is_trusted(home: &Path, path: &Path) -> bool {
    folders_of(home, path).iter().any(|dir| !matches!(stored::read(dir), Ok(None)))
}

/// Forgets all heads for a path in the user's directory of state, whatever git had checked out, and
/// returns how many there were. The path need not exist.
///
/// # Errors
/// Fails if a head could not be removed.
pub fn forget_everywhere(home: &Path, path: &Path) -> Result<usize, TrustError> {
    let mut forgotten = 0;
    for dir in folders_of(home, path) {
        forgotten += usize::from(stored::remove(&dir)?);
    }
    Ok(forgotten)
}

/// Returns all heads in the user's directory of state, in the order of paths and branches, and an
/// error for each head that cannot be read.
pub fn all(home: &Path) -> (Vec<TrustedHead>, Vec<TrustError>) {
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    for dir in stored::folders(home) {
        match stored::read(&dir) {
            Ok(trusted) => found.extend(trusted),
            Err(why) => unreadable.push(why),
        }
    }
    found.sort_by(|a, b| (&a.path, &a.branch).cmp(&(&b.path, &b.branch)));
    (found, unreadable)
}
