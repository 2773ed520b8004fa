//! The lower bound of a publication: its recorded changes of the disk, repeated by nothing but
//! their system calls.
//!
//! Changes between two waits for the disk are made by the same number of threads as recorded; the
//! syncs of one wait run in parallel. Trusted heads outside of the vault are written in parallel
//! with the syncs of live files, as in a publication.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rustix::fs::{CWD, RenameFlags};

use crate::changes::{Made, Op};

/// Changes without a wait between them.
#[derive(Default)]
struct Phase {
    /// Folders in which several threads work.
    folders: Vec<Op>,
    /// Changes of each thread.
    threads: Vec<Vec<Op>>,
    /// Syncs after the changes.
    syncs: Vec<Op>,
    /// Changes in parallel with the syncs.
    beside: Vec<Op>,
}

/// A recorded publication that can be repeated in another place.
pub(crate) struct Floor {
    phases: Vec<Phase>,
    root: PathBuf,
    /// Additional time of each sync.
    delay: Duration,
}

impl Floor {
    /// Prepares the changes of a vault, and of a home whose paths are absolute, for copies of both.
    pub(crate) fn new(
        made: Vec<Made>,
        [root, home]: [&Path; 2],
        recorded_home: &Path,
        delay: Duration,
    ) -> Self {
        let place = |path: &str| match Path::new(path).strip_prefix(recorded_home) {
            Ok(beneath) => home.join(beneath),
            Err(_) => root.join(path),
        };
        let mut phases = Vec::new();
        let (mut made_here, mut phase) = (Vec::new(), Phase::default());
        for Made { op, thread, .. } in made {
            let is_beside = op.path().is_some_and(|path| Path::new(path).is_absolute());
            let op = placed(op, &place);
            let is_sync = matches!(op, Op::Sync(_) | Op::SyncAll);
            match (is_beside, is_sync) {
                (true, _) => phase.beside.push(op),
                (false, true) => phase.syncs.push(op),
                (false, false) => {
                    if !(phase.syncs.is_empty() && phase.beside.is_empty()) {
                        phase.of_threads(std::mem::take(&mut made_here));
                        phases.push(std::mem::take(&mut phase));
                    }
                    made_here.push((thread, op));
                }
            }
        }
        phase.of_threads(made_here);
        phases.push(phase);
        Self { phases, root: root.to_owned(), delay }
    }

    /// Returns the number of syncs.
    pub(crate) fn syncs(&self) -> usize {
        let is_sync = |op: &&Op| matches!(op, Op::Sync(_) | Op::SyncAll);
        let count = |phase: &Phase| phase.syncs.len() + phase.beside.iter().filter(is_sync).count();
        self.phases.iter().map(count).sum()
    }

    /// Makes all changes; returns the time that was spent waiting for the disk.
    pub(crate) fn make(&self) -> io::Result<Duration> {
        let mut waited = Duration::ZERO;
        for phase in &self.phases {
            self.all(&phase.folders)?;
            match &phase.threads[..] {
                [one] => self.all(one)?,
                many => many.par_iter().try_for_each(|ops| self.all(ops))?,
            }
            let began = Instant::now();
            let (synced, beside) = rayon::join(
                || phase.syncs.par_iter().try_for_each(|op| self.one(op, &mut None)),
                || self.all(&phase.beside),
            );
            synced.and(beside)?;
            waited += began.elapsed();
        }
        Ok(waited)
    }

    fn all(&self, ops: &[Op]) -> io::Result<()> {
        let mut open = None;
        ops.iter().try_for_each(|op| self.one(op, &mut open))
    }

    /// Makes one change; `open` is the file that was written last.
    fn one<'o>(&self, op: &'o Op, open: &mut Option<(&'o str, File)>) -> io::Result<()> {
        match op {
            Op::Folder(path) => match fs::create_dir(path) {
                // Two threads may have tried.
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            },
            Op::Create(path) => *open = Some((path, File::create_new(path)?)),
            Op::Write(path, _, bytes) => match open {
                Some((made, file)) if made == path => file.write_all(bytes)?,
                // The disk of the vault does not make files outside of it.
                _ => OpenOptions::new().append(true).create(true).open(path)?.write_all(bytes)?,
            },
            Op::Truncate(path, length) => {
                OpenOptions::new().write(true).open(path)?.set_len(*length)?;
            }
            Op::Rename(from, to) => fs::rename(from, to)?,
            Op::Exchange(from, to) => {
                rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE)?;
            }
            // Files of an interrupted writer are removed, whether or not they exist.
            Op::Remove(path) => match fs::remove_file(path) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
                _ => {}
            },
            Op::Sync(path) => {
                std::thread::sleep(self.delay);
                File::open(path)?.sync_all()?;
            }
            Op::SyncAll => {
                std::thread::sleep(self.delay);
                #[cfg(target_os = "linux")]
                rustix::fs::syncfs(File::open(&self.root)?)?;
            }
        }
        Ok(())
    }
}

impl Phase {
    /// Assigns to each thread its changes. Folders in which another thread works come first.
    fn of_threads(&mut self, made: Vec<(ThreadId, Op)>) {
        let mut at_work: HashMap<PathBuf, HashSet<ThreadId>> = HashMap::new();
        for (thread, op) in &made {
            let paths = match op {
                Op::Rename(from, to) | Op::Exchange(from, to) => vec![from.as_str(), to],
                op => op.path().into_iter().collect(),
            };
            for path in paths {
                for folder in Path::new(path).ancestors().skip(1) {
                    at_work.entry(folder.to_owned()).or_default().insert(*thread);
                }
            }
        }
        let mut threads: HashMap<ThreadId, usize> = HashMap::new();
        for (thread, op) in made {
            let is_shared = |path: &String| {
                at_work.get(Path::new(path)).is_some_and(|at| at.iter().any(|one| *one != thread))
            };
            if matches!(&op, Op::Folder(path) if is_shared(path)) {
                self.folders.push(op);
                continue;
            }
            let next = threads.len();
            let n = *threads.entry(thread).or_insert(next);
            if n == self.threads.len() {
                self.threads.push(Vec::new());
            }
            self.threads[n].push(op);
        }
    }
}

/// Returns the same change in another place.
fn placed(op: Op, place: &impl Fn(&str) -> PathBuf) -> Op {
    let at = |path: String| place(&path).to_string_lossy().into_owned();
    match op {
        Op::Folder(path) => Op::Folder(at(path)),
        Op::Create(path) => Op::Create(at(path)),
        Op::Write(path, from, bytes) => Op::Write(at(path), from, bytes),
        Op::Truncate(path, length) => Op::Truncate(at(path), length),
        Op::Rename(from, to) => Op::Rename(at(from), at(to)),
        Op::Exchange(from, to) => Op::Exchange(at(from), at(to)),
        Op::Remove(path) => Op::Remove(at(path)),
        Op::Sync(path) => Op::Sync(at(path)),
        Op::SyncAll => Op::SyncAll,
    }
}
