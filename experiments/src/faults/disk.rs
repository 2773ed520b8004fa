//! A disk that observes every change: the n-th one fails, is torn, or kills the process; and the
//! states that a power cut could have left of the changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use contextnest::files::vault::disk::{Change, Overseer, Verdict};

use crate::changes::Op;
use crate::corpus::Draw;
use crate::process::Result;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// The fault at the n-th change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The change fails, and the program continues.
    Fails,
    /// The disk is full from there on; half of a write is made. Changes that free room still work.
    Full,
    /// The process dies before the change.
    Dies,
    /// The process dies in the middle of the change, if it is a write; otherwise after it.
    DiesWithin,
}

impl Fault {
    pub(super) const ALL: [Self; 4] = [Self::Fails, Self::Full, Self::Dies, Self::DiesWithin];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Fails => "it fails",
            Self::Full => "the disk is full",
            Self::Dies => "killed before it",
            Self::DiesWithin => "killed within it",
        }
    }
}

/// Observes the changes of one command.
#[derive(Debug)]
pub(super) struct Watch {
    fault: Option<(u64, Fault)>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    count: u64,
    dead: bool,
    full: bool,
    made: Vec<Op>,
}

impl Watch {
    /// Returns an observer without a fault, or with one at the n-th change, from 0.
    pub(super) fn new(fault: Option<(u64, Fault)>) -> Self {
        Self { fault, seen: Mutex::default() }
    }

    /// Returns the number of changes.
    pub(super) fn count(&self) -> u64 {
        self.seen.lock().map_or(0, |seen| seen.count)
    }

    /// Returns true if the process was killed.
    pub(super) fn was_killed(&self) -> bool {
        self.seen.lock().is_ok_and(|seen| seen.dead)
    }

    /// Returns the changes.
    pub(super) fn made(&self) -> Vec<Op> {
        self.seen.lock().map(|mut seen| std::mem::take(&mut seen.made)).unwrap_or_default()
    }
}

impl Overseer for Watch {
    fn judge(&self, change: &Change<'_>) -> Verdict {
        let Ok(mut seen) = self.seen.lock() else { return Verdict::Refuse(EIO) };
        let n = seen.count;
        seen.count += 1;
        if seen.dead {
            return Verdict::Refuse(EIO);
        }
        let takes_room = matches!(
            change,
            Change::Write { .. } | Change::Create { .. } | Change::MakeFolder { .. }
        );
        if seen.full && takes_room {
            return Verdict::Refuse(ENOSPC);
        }
        let fault = self.fault.filter(|(at, _)| *at == n).map(|(_, fault)| fault);
        let half = match change {
            Change::Write { bytes, .. } => Some(bytes.len() / 2),
            _ => None,
        };
        match (fault, half) {
            (Some(Fault::Fails), _) => return Verdict::Refuse(EIO),
            (Some(Fault::Dies), _) => {
                seen.dead = true;
                return Verdict::Refuse(EIO);
            }
            (Some(Fault::DiesWithin), half) => {
                seen.dead = true;
                if let Some(half) = half {
                    return Verdict::Tear(half, EIO);
                }
            }
            (Some(Fault::Full), half) => {
                seen.full = true;
                match half {
                    Some(half) => return Verdict::Tear(half, ENOSPC),
                    None if takes_room => return Verdict::Refuse(ENOSPC),
                    None => {}
                }
            }
            (None, _) => {}
        }
        seen.made.push(Op::of(change));
        Verdict::Allow
    }
}

/// The possible content of a disk after a power cut: everything that was synced, and of the rest
/// whatever survives, whole or in part.
#[derive(Clone)]
pub(super) struct Disk {
    /// The file of each name.
    names: BTreeMap<String, usize>,
    folders: BTreeSet<String>,
    files: Vec<Vec<u8>>,
}

/// The part of the unsynced changes that survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Survival {
    /// All of it.
    All,
    /// None of it.
    None,
    /// A random part.
    Some,
}

pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

impl Disk {
    /// Reads the disk from a folder, and from another whose paths are absolute.
    pub(super) fn read(root: &Path, home: &Path) -> Result<Self> {
        let mut disk = Self { names: BTreeMap::new(), folders: BTreeSet::new(), files: Vec::new() };
        for (base, prefix) in [(root, String::new()), (home, format!("{}/", home.display()))] {
            for path in crate::inside::files(base)? {
                disk.names.insert(format!("{prefix}{path}"), disk.files.len());
                disk.files.push(fs::read(base.join(&path))?);
            }
        }
        Ok(disk)
    }

    /// Applies the changes that survive.
    pub(super) fn after(mut self, made: &[Op], survival: Survival, draw: &mut Draw) -> Self {
        // The file of each name, as the program saw it.
        let mut seen = self.names.clone();
        for (n, op) in made.iter().enumerate() {
            let later = &made[n + 1..];
            let is_synced =
                |paths: &[&str]| later.iter().any(|op| paths.iter().any(|path| op.syncs(path)));
            let mut survives = |synced: bool| match survival {
                _ if synced => true,
                Survival::All => true,
                Survival::None => false,
                Survival::Some => draw.below(2) == 0,
            };
            match op {
                Op::Folder(path) => {
                    if survives(is_synced(&[folder_of(path)])) {
                        self.folders.insert(path.clone());
                    }
                }
                Op::Create(path) => {
                    let file = self.new_file(&mut seen, path);
                    if survives(is_synced(&[folder_of(path)])) {
                        self.names.insert(path.clone(), file);
                    }
                }
                Op::Write(path, at, bytes) => {
                    // Files outside of the vault need not be made first.
                    let file = match seen.get(path) {
                        Some(file) => *file,
                        None => self.new_file(&mut seen, path),
                    };
                    let names: Vec<&str> =
                        names_of(&seen, file).into_iter().chain([path.as_str()]).collect();
                    // The file may have another name when it is synced.
                    let renamed = later.iter().filter_map(|op| match op {
                        Op::Rename(from, to) if names.contains(&from.as_str()) => Some(to.as_str()),
                        _ => None,
                    });
                    let names: Vec<&str> = names.iter().copied().chain(renamed).collect();
                    let synced = is_synced(&names);
                    let at = usize::try_from(*at).unwrap_or(usize::MAX);
                    if survives(synced) {
                        let torn = !synced && survival == Survival::Some;
                        self.write(file, at, bytes, if torn { draw.below(4) } else { 0 });
                    }
                }
                Op::Truncate(path, length) => {
                    if let Some(file) = seen.get(path).copied()
                        && survives(is_synced(&[path]))
                    {
                        self.files[file].truncate(usize::try_from(*length).unwrap_or(usize::MAX));
                    }
                }
                Op::Rename(from, to) => {
                    let Some(file) = seen.remove(from) else { continue };
                    seen.insert(to.clone(), file);
                    // A rename is seen completely or not at all, from both folders.
                    if survives(is_synced(&[folder_of(from), folder_of(to)])) {
                        self.names.remove(from);
                        self.names.insert(to.clone(), file);
                    }
                }
                Op::Exchange(from, to) => {
                    let (Some(one), Some(other)) = (seen.get(from).copied(), seen.get(to).copied())
                    else {
                        continue;
                    };
                    seen.insert(from.clone(), other);
                    seen.insert(to.clone(), one);
                    if survives(is_synced(&[folder_of(from), folder_of(to)])) {
                        self.names.insert(from.clone(), other);
                        self.names.insert(to.clone(), one);
                    }
                }
                Op::Remove(path) => {
                    seen.remove(path);
                    if survives(is_synced(&[folder_of(path)])) {
                        self.names.remove(path);
                    }
                }
                Op::Sync(_) | Op::SyncAll => {}
            }
        }
        self
    }

    fn new_file(&mut self, seen: &mut BTreeMap<String, usize>, path: &str) -> usize {
        self.files.push(Vec::new());
        let file = self.files.len() - 1;
        seen.insert(path.to_owned(), file);
        file
    }

    /// Writes bytes completely, or a remainder: a beginning, only the length, or other bytes before
    /// the end.
    fn write(&mut self, file: usize, at: usize, bytes: &[u8], how: usize) {
        let left = match how {
            1 => bytes[..bytes.len() / 3].to_vec(),
            2 => vec![0; bytes.len()],
            3 => [vec![0; bytes.len() / 2], bytes[bytes.len() / 2..].to_vec()].concat(),
            _ => bytes.to_vec(),
        };
        let file = &mut self.files[file];
        file.resize(at.max(file.len().min(at)), 0);
        file.extend_from_slice(&left);
    }

    /// Writes the files into the two folders, in place of everything there. A trusted head belongs
    /// to one place.
    pub(super) fn lay(&self, root: &Path, home: &Path) -> Result<()> {
        for folder in [root, home] {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
            fs::create_dir_all(folder)?;
        }
        for folder in &self.folders {
            fs::create_dir_all(root.join(folder))?;
        }
        for (path, file) in &self.names {
            // An absolute path stays as it is.
            let path = root.join(path);
            if let Some(above) = path.parent() {
                fs::create_dir_all(above)?;
            }
            fs::write(path, &self.files[*file])?;
        }
        Ok(())
    }
}

fn names_of(seen: &BTreeMap<String, usize>, file: usize) -> Vec<&str> {
    seen.iter().filter(|(_, held)| **held == file).map(|(name, _)| name.as_str()).collect()
}
