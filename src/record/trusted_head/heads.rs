//! Which heads are trusted for a vault, and which of them bind it. Each place of a vault on disk,
//! and each branch that git has checked out there, is a trusted head of its own.

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
use crate::values::model::timestamp::Timestamp;

/// So many heads of commits that were checked out without a ref are kept of a vault.
const MOST_DETACHED: usize = 64;

/// A head that is trusted, and of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedHead {
    /// The canonical path of the vault.
    pub path: PathBuf,
    /// What git had checked out there: a ref, or a commit; none without git.
    pub branch: Option<String>,
    /// The repository's folder; none without git.
    pub repository: Option<PathBuf>,
    /// The head.
    pub head: Head,
    /// When it was trusted.
    pub at: Timestamp,
}

impl TrustedHead {
    /// Whether a commit was checked out that no ref named.
    fn is_detached(&self) -> bool {
        self.branch.as_ref().is_some_and(|branch| !branch.starts_with("refs/"))
    }
}

/// What is trusted for a vault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedHeads {
    /// Of what is checked out.
    pub here: Option<TrustedHead>,
    /// Made when there was another repository, or none.
    otherwise: Vec<TrustedHead>,
    /// Of what else this repository has checked out at times.
    elsewhere: Vec<TrustedHead>,
}

impl TrustedHeads {
    /// Those that the log must hold, that of what is checked out first. A branch is another only
    /// within one repository: what was trusted when there was none, or another one, holds whatever
    /// is checked out. Else who may write to the vault could plant a repository, and take the
    /// trusted that was made meanwhile away with it.
    pub fn binding(&self) -> impl Iterator<Item = &TrustedHead> {
        self.here.iter().chain(&self.otherwise)
    }

    /// The number of the last checkpoint that binds; none where nothing does.
    pub fn last(&self) -> Option<usize> {
        self.binding().map(|trusted| trusted.head.checkpoint.count()).max()
    }

    /// The latest head that is trusted for something else that was checked out, and that this log
    /// does not hold.
    pub fn elsewhere(&self, is_held: impl Fn(&Head) -> bool) -> Option<&TrustedHead> {
        let lost = self.elsewhere.iter().filter(|trusted| !is_held(&trusted.head));
        lost.max_by_key(|trusted| trusted.head.checkpoint)
    }
}

/// What is trusted for a vault; nothing where there is no trusted head, or no place for one.
///
/// # Errors
/// There is a trusted head that cannot be read, so that what it held is unknown.
pub fn trusted_heads(vault: &Vault) -> Result<TrustedHeads, TrustError> {
    vault.state().map_or(Ok(TrustedHeads::default()), |state| trusted_heads_in(state, vault.root()))
}

/// What is trusted for the vault in a folder, whether or not there still is one.
///
/// # Errors
/// As [`trusted_heads`].
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

/// Whether a trusted head was made with the repository that there is now. A path that is no text is
/// written with marks for what is none of it.
fn is_of_repository(trusted: &TrustedHead, state: &StateFolder) -> bool {
    let written = |path: &PathBuf| path.to_string_lossy().into_owned();
    trusted.repository.as_ref().map(written) == state.repository.as_ref().map(written)
}

/// The other heads of a vault's path with their folders.
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

/// The folders of a vault's path: that of what is checked out, then the others in the order of
/// their names.
pub(super) fn folders(state: &StateFolder, root: &Path) -> Vec<PathBuf> {
    let mut dirs = folders_of(&state.home, root);
    dirs.retain(|dir| *dir != state.dir);
    dirs.insert(0, state.dir.clone());
    dirs
}

/// A folder of state of a vault's path.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The folder.
    pub dir: PathBuf,
    /// Whether what it says holds whatever is checked out, as [`TrustedHeads::binding`].
    pub is_binding: bool,
    /// What git had checked out there, as far as it is known.
    pub checked_out: Option<String>,
}

/// The folders of state of a vault's path, that of what is checked out first.
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

/// The folders of a path in the user's directory of state. Their names tell them, for a path need
/// not be text.
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

/// Records a head that holds the one trusted before it. What is known of a later checkpoint,
/// from a writer that was quicker, stays.
///
/// # Errors
/// It could not be written.
pub fn advance(vault: &Vault, head: &Head, now: Timestamp) -> Result<(), TrustError> {
    let Some(state) = vault.state() else { return Ok(()) };
    // Readers record heads too, beside a writer: the later head is to stay.
    let _turn = stored::take_turn(&state.dir, vault.patience())?;
    match stored::read(&state.dir)? {
        Some(known) if known.head == *head || known.head.checkpoint > head.checkpoint => Ok(()),
        _ => record(vault, state, head, now),
    }
}

/// Records a head whatever was trusted before it. No event is under way upon it: what is
/// beyond it may have been acknowledged.
///
/// # Errors
/// It could not be written.
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

/// Forgets the oldest heads of commits that were checked out without a ref: a machine that checks
/// out one commit after the other would keep them all, and read them all with every command. An
/// intent says what to do about what a writer left, so its trusted head stays.
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

/// Waits until the log is durable: a checkpoint that is trusted and then lost in a power cut would
/// be reported as a rollback.
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

/// Forgets what is trusted for a vault; says whether there was anything.
///
/// # Errors
/// It could not be removed.
pub fn forget(vault: &Vault) -> Result<bool, TrustError> {
    let Some(state) = vault.state() else { return Ok(false) };
    let any = stored::remove(&state.dir)?;
    Ok(forget_otherwise(vault, state)? || any)
}

/// Forgets what binds although it was trusted when there was another repository, or none; says
/// whether there was anything. A trusted that cannot be read is in the way of every writer.
fn forget_otherwise(vault: &Vault, state: &StateFolder) -> Result<bool, TrustError> {
    let mut any = false;
    for (dir, trusted) in others(state, vault.root()) {
        if trusted.map_or(true, |trusted| !is_of_repository(&trusted, state)) {
            any |= stored::remove(&dir)?;
        }
    }
    Ok(any)
}

/// Whether a head is trusted for a path, whatever git had checked out there.
pub fn is_trusted(home: &Path, path: &Path) -> bool {
    folders_of(home, path).iter().any(|dir| !matches!(stored::read(dir), Ok(None)))
}

/// Forgets everything that is trusted for a path in the user's directory of state, whatever git
/// had checked out; says how many heads there were. The path need not exist.
///
/// # Errors
/// One could not be removed.
pub fn forget_everywhere(home: &Path, path: &Path) -> Result<usize, TrustError> {
    let mut forgotten = 0;
    for dir in folders_of(home, path) {
        forgotten += usize::from(stored::remove(&dir)?);
    }
    Ok(forgotten)
}

/// Everything that is trusted in the user's directory of state, in the order of paths and
/// branches; with each trusted that cannot be read, why.
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
