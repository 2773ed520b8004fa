//! Records the changes of a disk that a vault makes.

// Each target that includes this file uses a part of it.
#![allow(dead_code, unreachable_pub)]

use std::sync::Mutex;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use contextnest::files::vault::disk::{Change, Overseer, Verdict};

/// A change of the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Folder(String),
    Create(String),
    Write(String, u64, Vec<u8>),
    Truncate(String, u64),
    Rename(String, String),
    Exchange(String, String),
    Remove(String),
    Sync(String),
    SyncAll,
}

impl Op {
    pub fn of(change: &Change<'_>) -> Self {
        let text = |path: &str| path.to_owned();
        match change {
            Change::MakeFolder { path } => Self::Folder(text(path)),
            Change::Create { path } => Self::Create(text(path)),
            Change::Write { path, at, bytes } => Self::Write(text(path), *at, bytes.to_vec()),
            Change::Truncate { path, length } => Self::Truncate(text(path), *length),
            Change::Rename { from, to } => Self::Rename(text(from), text(to)),
            Change::Exchange { from, to } => Self::Exchange(text(from), text(to)),
            Change::Remove { path } => Self::Remove(text(path)),
            Change::Sync { path } => Self::Sync(text(path)),
            Change::SyncAll => Self::SyncAll,
        }
    }

    /// Returns true if the change makes a file durable.
    pub fn syncs(&self, path: &str) -> bool {
        matches!(self, Self::SyncAll) || matches!(self, Self::Sync(synced) if synced == path)
    }

    /// Returns true if the change writes to a file.
    pub fn writes(&self, path: &str) -> bool {
        match self {
            Self::Write(written, ..) => written == path,
            Self::Rename(_, to) => to == path,
            _ => false,
        }
    }

    /// Returns the path of the change; `None` for a sync of everything.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Folder(path)
            | Self::Create(path)
            | Self::Write(path, ..)
            | Self::Truncate(path, _)
            | Self::Rename(path, _)
            | Self::Exchange(path, _)
            | Self::Remove(path)
            | Self::Sync(path) => Some(path),
            Self::SyncAll => None,
        }
    }
}

/// A change, with its time and thread.
#[derive(Clone, Debug)]
pub struct Made {
    pub op: Op,
    pub at: Instant,
    pub thread: ThreadId,
}

/// A disk observer that records every change.
#[derive(Debug, Default)]
pub struct Recorder(Mutex<Vec<Made>>);

impl Recorder {
    /// Returns the changes so far.
    pub fn made(&self) -> Vec<Made> {
        self.0.lock().map(|mut made| std::mem::take(&mut *made)).unwrap_or_default()
    }
}

impl Overseer for Recorder {
    fn judge(&self, change: &Change<'_>) -> Verdict {
        if let Ok(mut made) = self.0.lock() {
            let (op, thread) = (Op::of(change), thread::current().id());
            made.push(Made { op, at: Instant::now(), thread });
        }
        Verdict::Allow
    }
}

/// A disk that delays every sync by this time.
#[derive(Debug)]
pub struct Slow(pub Duration);

impl Overseer for Slow {
    fn judge(&self, change: &Change<'_>) -> Verdict {
        if matches!(change, Change::Sync { .. } | Change::SyncAll) {
            thread::sleep(self.0);
        }
        Verdict::Allow
    }
}
