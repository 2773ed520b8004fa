//! The log that accesses to a vault are recorded in, and the writer of this user there
//! (AUDIT-1, AUDIT-30).

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::folder::Folder;
use super::line::genesis;
use crate::files::vault::files::Files;
use crate::files::vault::lock;
use crate::files::vault::outside::{self, StateFolder};
use crate::record::journal::{End, Last, LastLines, Random, WriterId};

/// Name of the folder of access logs in the directory of state of ctx.
const FOLDER: &str = "audit";
/// File in a vault's folder of state with the writer of accesses outside of the vault.
const NAME: &str = "accesses";
/// File next to it with the path of the vault. Lines that are read from another path are named
/// by it.
const ROOT: &str = "vault";
/// Maximum length of a path in bytes.
const MOST_PATH: u64 = 16 << 10;

/// The log that accesses to a vault are recorded in.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The folder with the logs of all writers.
    pub(crate) folder: Folder,
    /// The folder of the vault.
    root: PathBuf,
    /// The folder that records the writer; `None` without a directory of state.
    state: Option<StateFolder>,
    /// Maximum time to wait for another process that locks the log.
    pub(super) patience: Duration,
}

impl Place {
    /// Returns the folder of a vault in the user's directory of state, or in the one that
    /// `CTX_AUDIT_DIR` names; `None` if there is neither, or if the folder is in the vault.
    pub(crate) fn of(
        root: &Path,
        state: Option<StateFolder>,
        named: Option<&Path>,
    ) -> Option<Self> {
        let home = match named {
            Some(dir) => dir.to_owned(),
            None => Self::home_of(state.as_ref()?),
        };
        let dir = home.join(outside::log_key_of(root));
        let folder = Folder::Outside(dir.clone());
        let patience = lock::PATIENCE;
        (!outside::lies_in(&dir, root)).then_some(Self {
            folder,
            root: root.to_owned(),
            state,
            patience,
        })
    }

    /// Returns the folder of all access logs in the user's directory of state.
    pub(crate) fn home_of(state: &StateFolder) -> PathBuf {
        state.home.join(outside::OURS).join(FOLDER)
    }

    /// Returns the folder of access logs in the vault.
    pub(crate) fn in_vault(files: &Files, state: Option<StateFolder>) -> Self {
        Self {
            folder: Folder::of_accesses(files),
            root: files.root().to_owned(),
            state,
            patience: lock::PATIENCE,
        }
    }

    /// Sets the maximum time to wait for another process.
    #[must_use]
    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Returns the writer of this user. A writer whose file is gone is not continued, because two
    /// lines would have the same trace.
    pub(super) fn writer(&self, random: Random) -> io::Result<WriterId> {
        self.known().map_or_else(|| self.begin(None, random), Ok)
    }

    /// Returns the writer of this process, if no writer can be stored for later processes.
    fn of_process(&self, former: Option<&WriterId>, random: Random) -> WriterId {
        let mut all = OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get(&self.folder.shown()).filter(|kept| Some(*kept) != former).cloned();
        kept.unwrap_or_else(|| {
            let new = WriterId::new(random);
            all.insert(self.folder.shown(), new.clone());
            new
        })
    }

    fn known(&self) -> Option<WriterId> {
        let state = self.state.as_ref()?;
        let known = match self.folder.is_shared() {
            true => LastLines::read(Some(state)).into_writer()?,
            false => read(&state.dir.join(NAME))?,
        };
        self.folder.has(&known.file(1)).then_some(known)
    }

    /// Returns true if a log with this end may be continued. In the vault another program may have
    /// restored an older state of the file, and a line number must not be used twice.
    pub(super) fn may_follow(&self, writer: &WriterId, end: &End) -> bool {
        let is_it = |last: &&Last| last.writer == *writer;
        !self.folder.is_shared()
            || LastLines::read(self.state.as_ref())
                .iter()
                .find(is_it)
                .is_none_or(|last| last.may_be_followed_by(end))
    }

    /// Records the last line that was written, if other users can change the log.
    pub(super) fn wrote(&self, writer: &WriterId, end: End, is_durable: bool) {
        if let Some(state) = self.state.as_ref().filter(|_| self.folder.is_shared()) {
            // The access is recorded. Without this record, only a later truncation is not detected.
            let _ = LastLines::read(Some(state))
                .advance((writer, genesis(writer)), end, is_durable)
                .write(state);
        }
    }

    /// Makes a new writer, in place of one whose log cannot be continued. If several processes need
    /// one at once, only one of them makes it.
    pub(super) fn begin(&self, former: Option<&WriterId>, random: Random) -> io::Result<WriterId> {
        let Some(state) = &self.state else { return Ok(WriterId::new(random)) };
        let _turn = match outside::take_turn(&state.dir, self.patience) {
            Err(why) if !self.folder.is_shared() && is_read_only(&why) => {
                return Ok(self.of_process(former, random));
            }
            turn => turn?,
        };
        if let Some(known) = self.known().filter(|known| Some(known) != former) {
            return Ok(known);
        }
        let new = WriterId::new(random);
        self.folder.open_to_append(&new.file(1))?;
        if self.folder.is_shared() {
            let end = End::begin(genesis(&new));
            LastLines::read(Some(state)).advance((&new, genesis(&new)), end, false).write(state)?;
            return Ok(new);
        }
        // After a crash here no writer is stored, and the next process makes one.
        let mut file = outside::open_to_append(&state.dir.join(NAME))?;
        file.set_len(0)?;
        writeln!(file, "{new}")?;
        // Without the path, lines are named by the folder of the log.
        let _ = outside::open_to_write(&state.dir.join(ROOT)).and_then(|mut file| {
            file.set_len(0)?;
            file.write_all(self.root.as_os_str().as_encoded_bytes())
        });
        Ok(new)
    }
}

/// Returns the paths of vaults in the user's directory of state, by the names of the folders of
/// their logs. A path that does not lead to its folder is ignored.
pub(crate) fn recorded_roots(home: &Path) -> HashMap<String, PathBuf> {
    let folders = home.join(outside::OURS).read_dir().into_iter().flatten().flatten();
    let found = folders.filter_map(|folder| {
        let mut path = Vec::new();
        let file = outside::open_regular(&folder.path().join(ROOT)).ok()?;
        file.take(MOST_PATH).read_to_end(&mut path).ok()?;
        let path = PathBuf::from(OsString::from_vec(path));
        let key = outside::log_key_of(&path);
        folder.file_name().to_str()?.starts_with(&key).then_some((key, path))
    });
    found.collect()
}

/// Writers of this process, for folders whose state cannot be stored.
static OF_PROCESS: Mutex<BTreeMap<PathBuf, WriterId>> = Mutex::new(BTreeMap::new());

/// Returns true if an error means that a folder cannot be made or written, as in a sandbox. `NotFound`
/// is the error of `/proc` and of other file systems in which no folder can be made.
fn is_read_only(why: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem};
    [PermissionDenied, ReadOnlyFilesystem, NotADirectory, NotFound].contains(&why.kind())
}

fn read(path: &Path) -> Option<WriterId> {
    let mut text = String::new();
    outside::open_regular(path).ok()?.take(64).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
