//! Deletes the oldest accesses of each log (AUDIT-27 to AUDIT-29).
//!
//! The deleted lines are always the beginning of a log, up to the first line that is younger, held,
//! or of the last answer. The cut is recorded in the change log first. Then each file is replaced
//! or removed as a whole, the newest first. After a crash, the log contains its beginning, and the
//! lines after the cut.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};

use super::blocks::{Ending, LineReader, LogFile};
use super::chain::Logs;
use super::change::{Change, Cut};
use super::cut::Cuts;
use super::event::Event;
use super::fault::{Fault, Faults, writer_of};
use super::find::begin_of;
use super::folder::Folder;
use super::hold::Holds;
use super::line::Line;
use crate::files::vault::disk::Disk;
use crate::files::vault::lock;
use crate::record::journal::{LastLines, WriterId};
use crate::values::model::timestamp::Timestamp;

/// Number of bytes that are copied at a time.
const PIECE: usize = 256 << 10;

/// Bytes that each line with a cut contains.
const NEEDLE: &[u8] = b"\"action\":\"prune\"";

impl Cuts {
    /// Reads the cuts from change logs.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn of(changes: &Logs) -> io::Result<Self> {
        let mut cuts = Self::default();
        prunings(changes, &mut |line| cuts.take(&line))?;
        Ok(cuts)
    }
}

/// Passes the lines of change logs that record a pruning to `found`.
///
/// # Errors
/// Fails if a file cannot be read.
pub(crate) fn prunings(changes: &Logs, found: &mut dyn FnMut(Line)) -> io::Result<()> {
    let is_pruning =
        |line: Line| matches!(line.event, Event::Change(Change::Prune { .. })).then_some(line);
    changes.having(&[NEEDLE.to_vec()], &is_pruning, found).map(drop)
}

/// The lines that would be pruned.
#[derive(Debug, Default)]
pub struct Plan {
    /// The logs, writer by writer.
    pub writers: Vec<WriterPlan>,
    /// The first fault of each damaged log. No line of these logs is pruned.
    pub damaged: Vec<Fault>,
    /// The writers of logs in the vault that another user or machine may continue. No line of these
    /// logs is pruned, because git could not merge both changes.
    pub elsewhere: Vec<WriterId>,
}

/// The lines of one writer that would be pruned.
#[derive(Clone, Debug)]
pub struct WriterPlan {
    /// The id of the writer.
    pub writer: WriterId,
    /// Number of lines that would be deleted.
    pub lines: u64,
    /// The numbers and times of the first and the last of them.
    pub ends: Option<[(u64, String); 2]>,
    /// The cut; `None` if no line would be deleted.
    pub cut: Option<Cut>,
    /// Number of older lines that remain, because a hold holds them or a line before them.
    pub kept: u64,
    /// Number of older lines that each hold holds, by its id.
    pub held: BTreeMap<String, u64>,
    /// The hash of the line after the cut.
    next: Option<String>,
}

/// A line that may be the first one that remains.
struct Candidate {
    seq: u64,
    prev: String,
    hash: Option<String>,
    /// Number of lines before it, and the last of them.
    before: u64,
    last: Option<(u64, String)>,
}

/// State of reading a log from its beginning.
struct Reading {
    plan: WriterPlan,
    first: Option<(u64, String)>,
    candidate: Option<Candidate>,
    is_stopped: bool,
    lines: u64,
    last: Option<(u64, String)>,
    old: u64,
}

impl Reading {
    fn new(writer: WriterId) -> Self {
        let plan = WriterPlan {
            writer,
            lines: 0,
            ends: None,
            cut: None,
            kept: 0,
            held: BTreeMap::new(),
            next: None,
        };
        let (first, candidate, last) = (None, None, None);
        Self { plan, first, candidate, is_stopped: false, lines: 0, last, old: 0 }
    }

    fn take(&mut self, line: &Line, (is_old, held): (bool, &[&str])) {
        let name = || (line.seq, line.at.clone());
        self.first.get_or_insert_with(name);
        // The lines of one answer are kept or deleted together.
        if !self.is_stopped && (line.cause.is_none() || self.candidate.is_none()) {
            self.candidate = Some(Candidate {
                seq: line.seq,
                prev: line.prev.clone(),
                hash: line.hash.map(|hash| hash.to_string()),
                before: self.lines,
                last: self.last.clone(),
            });
        }
        self.is_stopped |= !is_old || !held.is_empty();
        self.lines += 1;
        self.last = Some(name());
        self.old += u64::from(is_old);
        if is_old {
            for id in held {
                *self.plan.held.entry((*id).to_owned()).or_default() += 1;
            }
        }
    }

    fn done(self) -> WriterPlan {
        let mut plan = self.plan;
        let Some(candidate) = self.candidate else { return plan };
        plan.kept = match plan.held.is_empty() {
            true => 0,
            false => self.old.saturating_sub(candidate.before),
        };
        if let (Some(first), Some(last)) = (self.first, candidate.last) {
            plan.lines = candidate.before;
            plan.ends = Some([first, last]);
            let (writer, seq) = (plan.writer.to_string(), candidate.seq - 1);
            plan.cut = Some(Cut { writer, seq, hash: candidate.prev });
            plan.next = candidate.hash;
        }
        plan
    }
}

/// Plans which lines before a time are pruned from the logs.
///
/// # Errors
/// Fails if a file cannot be read.
pub(crate) fn plan(
    logs: &Logs,
    before: Timestamp,
    holds: &Holds,
    ours: &LastLines,
) -> io::Result<Plan> {
    let tests = holds.tests();
    let (mut readings, mut plan) = (Vec::<Reading>::new(), Plan::default());
    let faults = logs.each(&mut |line| {
        let Ok(writer) = line.writer.parse::<WriterId>() else { return };
        if readings.last().is_none_or(|last| last.plan.writer != writer) {
            readings.push(Reading::new(writer));
        }
        let held: Vec<&str> = tests.iter().filter(|t| t.holds(&line)).map(|t| t.id).collect();
        let is_old = line.at.parse::<Timestamp>().is_ok_and(|at| at < before);
        if let Some(reading) = readings.last_mut() {
            reading.take(&line, (is_old, &held));
        }
    })?;
    let is_listed = faults.len() <= Faults::MAX;
    let mut damaged: BTreeMap<String, Fault> = BTreeMap::new();
    for fault in faults.into_iter().filter(|fault| fault.kind.is_damage()) {
        damaged.entry(writer_of(&fault.file).to_owned()).or_insert(fault);
    }
    // If not all faults are listed, any log may have one.
    let is_sound =
        |reading: &Reading| is_listed && !damaged.contains_key(&reading.plan.writer.to_string());
    let may_go_on = |reading: &Reading| {
        let writer = &reading.plan.writer;
        let is_shared = logs.folder_of(writer).is_some_and(Folder::is_shared);
        is_shared && !ours.has(writer) && reading.old < reading.lines
    };
    for reading in readings.into_iter().filter(is_sound) {
        match may_go_on(&reading) {
            true => plan.elsewhere.push(reading.plan.writer),
            false => plan.writers.push(reading.done()),
        }
    }
    plan.damaged = damaged.into_values().collect();
    Ok(plan)
}

impl Plan {
    /// Returns the cuts that no line records yet.
    pub(crate) fn unrecorded(&self, logs: &Logs) -> Vec<Cut> {
        let cuts = self.writers.iter().filter_map(|writer| writer.cut.as_ref());
        cuts.filter(|cut| !logs.cuts().has(cut)).cloned().collect()
    }
}

/// Deletes the lines before a cut, which is already durable in the change log. Does nothing if the
/// lines were already deleted.
///
/// # Errors
/// Fails if not everything was deleted. The next command then continues.
pub(crate) fn prune(logs: &Logs, plan: &WriterPlan, disk: &Disk) -> io::Result<()> {
    let (Some(cut), Some(next)) = (&plan.cut, &plan.next) else { return Ok(()) };
    let Some(folder) = logs.folder_of(&plan.writer) else { return Ok(()) };
    let _turn = folder.take_turn(&plan.writer.file(1), lock::PATIENCE)?;
    let firsts = folder.files()?.remove(&plan.writer).unwrap_or_default();
    let Some(place) = firsts.iter().rposition(|first| *first <= cut.seq + 1) else {
        return Ok(());
    };
    let name = plan.writer.file(firsts[place]);
    let log = folder.open(&name)?;
    let Some(begin) = begin_of(&log, cut.seq + 1)? else {
        return Err(io::Error::other("the line after the cut is missing"));
    };
    let mut lines = LineReader::new(&log);
    lines.go_to(begin)?;
    let is_it = match lines.next()? {
        Ending::Line(bytes) => Line::read(bytes).is_ok_and(|(_, hash)| hash.to_string() == *next),
        _ => false,
    };
    if !is_it {
        return Err(io::Error::other("the line after the cut has changed"));
    }
    if begin > 0 {
        replace(folder, (&name, &log, begin), disk)?;
    }
    for first in firsts[..place].iter().rev() {
        let name = plan.writer.file(*first);
        // Processes lock the writer's first file, so it is emptied instead of removed.
        match *first {
            1 => folder.empty(&name, disk)?,
            _ => folder.remove(&name, disk)?,
        }
    }
    folder.sync(disk)
}

/// Replaces a file by its own end, from offset `begin`.
fn replace(
    folder: &Folder,
    (name, log, begin): (&str, &LogFile, u64),
    disk: &Disk,
) -> io::Result<()> {
    let mut fill = |file: &File, path: &str| {
        let mut rest = log.from(begin)?;
        let (mut at, mut piece) = (0, Vec::new());
        loop {
            piece.clear();
            rest.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
            if piece.is_empty() {
                return Ok(());
            }
            disk.write(file, path, at, &piece)?;
            at += piece.len() as u64;
        }
    };
    folder.replace(name, &mut fill, disk)
}
