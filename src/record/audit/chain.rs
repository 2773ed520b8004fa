//! Reads logs: every line in order, and the faults of the chains (AUDIT-10).
//!
//! Threads read blocks of lines in parallel. A block alone cannot show whether its first line
//! follows the last line before it. That is checked when the blocks are put together in order, so
//! that the answer does not depend on the number of threads.
//!
//! `block` is what a thread reads, and `needles` finds the lines if not every line is wanted.
//! `whole` puts the blocks of a file together, and `follows` compares a line with the one
//! before it.

mod block;
mod follows;
mod needles;
mod whole;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use rayon::prelude::*;

use super::blocks::LogFile;
use super::change::HeadRef;
use super::cut::{Cuts, Pruned, Pruning};
use super::event::Event;
use super::fault::{Fault, FaultKind, Faults};
use super::filter::Filter;
use super::folder::{Compared, Folder};
use super::heads::Heads;
use super::line::{Line, genesis};
use super::sight::Sight;
use crate::files::vault::Vault;
use crate::record::journal::{FilesByWriter, WriterId};
pub use block::Keep;
use block::Reader;
use follows::{Expected, Jump};
use needles::Needles;
use whole::Whole;

/// Number of blocks that are read before their results are passed on. Results stay in memory
/// until then.
const BLOCKS_AT_ONCE: u64 = 32;

/// The logs of some folders.
#[derive(Debug, Default)]
pub struct Logs {
    pub(super) folders: Vec<Folder>,
    /// The folders whose lines are compared with the checkpoints of the vault, by index.
    pub(super) compared: BTreeMap<usize, Compared>,
    /// The checkpoints of the vault that lines in these folders are compared with.
    pub(super) known: Heads,
    pub(super) files: BTreeMap<WriterId, LogFiles>,
    cuts: Cuts,
    /// Hashes of the checkpoints that lines may name.
    heads: Heads,
    /// The part of the lines that the reader may see.
    sight: Sight,
    /// Faults of the folders that could not be listed.
    unlisted: Vec<Fault>,
}

#[derive(Debug)]
pub(super) struct LogFiles {
    /// Index of the folder in [`Logs::folders`].
    pub(super) folder: usize,
    /// The number of the first line of each file.
    pub(super) firsts: Vec<u64>,
}

/// Applies `keep` to the lines that match a filter.
fn wanted<'k, T>(filter: &'k Filter, keep: Keep<'k, T>) -> impl Fn(Line) -> Option<T> + Sync + 'k {
    move |line| if filter.wants(&line) { keep(line) } else { None }
}

/// Result of the verification of logs.
#[derive(Debug)]
pub struct Verified {
    /// Number of lines that match their hashes.
    pub lines: u64,
    /// The lines that were pruned.
    pub pruned: Vec<Pruned>,
    /// The faults, in the order of writers and lines.
    pub faults: Vec<Fault>,
}

impl Logs {
    /// Returns the logs in a folder; empty if it does not exist.
    ///
    /// # Errors
    /// Fails if the folder cannot be listed.
    pub fn open(dir: &Path) -> io::Result<Self> {
        Self::none().with(Folder::Outside(dir.to_owned()))
    }

    /// Returns a value without logs.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the logs of accesses in a folder of the user and in the vault. A folder that cannot
    /// be listed is a fault, so that it does not hide the other one.
    pub(crate) fn of_accesses(dir: Option<&Path>, vault: &Vault) -> Self {
        let own = dir.map(|dir| Folder::Outside(dir.to_owned()));
        let folders = own.into_iter().chain([Folder::of_accesses(vault.files())]);
        folders.fold(Self::none(), |mut logs, folder| match folder.files() {
            Ok(files) => logs.having_files(folder, files),
            Err(why) => {
                let fault = Fault::new(FaultKind::Unreadable, 1, format!("cannot list it: {why}"));
                logs.unlisted.push(Fault { file: folder.name(), ..fault });
                logs.having_files(folder, FilesByWriter::new())
            }
        })
    }

    /// Returns faults for the folders that could not be listed.
    pub(crate) fn unlisted(&self) -> &[Fault] {
        &self.unlisted
    }

    /// Returns the change logs of a vault; empty if their folder is missing.
    ///
    /// # Errors
    /// Fails if the folder cannot be listed.
    pub fn of_changes(vault: &Vault) -> io::Result<Self> {
        Self::none().with(Folder::of_changes(vault.files()))
    }

    /// Adds the logs of accesses in a vault. The files of a writer who also has a log in the user's
    /// own folder are ignored in the vault, where another user may have put a copy of them.
    ///
    /// # Errors
    /// Fails if the folder cannot be listed.
    pub fn with_accesses_in(self, vault: &Vault) -> io::Result<Self> {
        self.with(Folder::of_accesses(vault.files()))
    }

    fn with(self, folder: Folder) -> io::Result<Self> {
        let files = folder.files()?;
        Ok(self.having_files(folder, files))
    }

    pub(super) fn having_files(mut self, folder: Folder, files: FilesByWriter) -> Self {
        let place = self.folders.len();
        self.folders.push(folder);
        for (writer, firsts) in files {
            self.files.entry(writer).or_insert(LogFiles { folder: place, firsts });
        }
        self
    }

    /// The folder of a writer's log.
    pub(super) fn folder_of(&self, writer: &WriterId) -> Option<&Folder> {
        self.files.get(writer).and_then(|files| self.folders.get(files.folder))
    }

    /// Returns the logs with these cuts, at which they were pruned.
    #[must_use]
    pub fn pruned_at(self, cuts: Cuts) -> Self {
        Self { cuts, ..self }
    }

    /// Returns the logs with the checkpoint hashes that their lines are compared with.
    #[must_use]
    pub fn compared_with(self, heads: Heads) -> Self {
        Self { heads, ..self }
    }

    /// Returns the logs as a reader may see them. Verification reports nothing about their lines.
    #[must_use]
    pub fn seen_by(self, sight: Sight) -> Self {
        Self { sight, ..self }
    }

    /// Returns the part of the lines that the reader may see.
    pub(crate) fn sight(&self) -> &Sight {
        &self.sight
    }

    /// Returns the part of a line that may be seen; `None` if the line is not about this vault.
    pub(super) fn seen(&self, line: Line, writer: &WriterId) -> Option<Line> {
        let line = Some(line).filter(|line| self.answers(line, writer))?;
        self.sight.of(line, self.folder_of(writer)?)
    }

    /// Returns the cuts at which the logs were pruned.
    pub fn cuts(&self) -> &Cuts {
        &self.cuts
    }

    /// Returns the last pruning of accesses of these writers, by the time before which they
    /// are gone.
    pub fn last_pruning(&self) -> Option<&Pruning> {
        self.cuts.last(self.files.keys().map(ToString::to_string))
    }

    /// Returns true if every log is in a vault.
    pub(crate) fn is_all_in_vault(&self) -> bool {
        self.files.keys().all(|writer| self.folder_of(writer).is_some_and(Folder::is_shared))
    }

    /// Returns the number of writers.
    pub fn writers(&self) -> usize {
        self.files.len()
    }

    /// Recomputes every hash.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn verify(&self) -> io::Result<Verified> {
        self.read(None, &|_| None::<()>, &mut drop)
    }

    /// Passes every line that matches its hash to `found`, writer by writer in order, and returns
    /// the faults.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn each(&self, found: &mut dyn FnMut(Line)) -> io::Result<Vec<Fault>> {
        Ok(self.read(None, &Some, found)?.faults)
    }

    /// Passes what `keep` returns for the lines that match a filter to `found`, and returns the
    /// faults of the lines that were read. Does not check whether each line follows the one
    /// before it.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn matching<T: Send>(
        &self,
        filter: &Filter,
        keep: Keep<'_, T>,
        found: &mut dyn FnMut(T),
    ) -> io::Result<Vec<Fault>> {
        self.having(&filter.needles(), &wanted(filter, keep), found)
    }

    /// Works like [`Logs::matching`], but reads every line. A line that was altered so that it no
    /// longer matches the filter is then also a fault.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn matching_verified<T: Send>(
        &self,
        filter: &Filter,
        keep: Keep<'_, T>,
        found: &mut dyn FnMut(T),
    ) -> io::Result<Vec<Fault>> {
        Ok(self.read(None, &wanted(filter, keep), found)?.faults)
    }

    /// Works like [`Logs::matching`], for the lines that contain all of these bytes.
    pub(super) fn having<T: Send>(
        &self,
        needles: &[Vec<u8>],
        keep: Keep<'_, T>,
        found: &mut dyn FnMut(T),
    ) -> io::Result<Vec<Fault>> {
        Ok(self.read(Some(&Needles::new(needles)), keep, found)?.faults)
    }

    /// Passes the lines of steps of reviews, which name versions, to `found`, and returns their
    /// faults. Other lines are only searched, not parsed.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub(crate) fn steps(&self, found: &mut dyn FnMut(Line)) -> io::Result<Vec<Fault>> {
        self.having(&[b"\"versions\":[".to_vec()], &Some, found)
    }

    /// Passes the checkpoints that lines of events name to `found`, and returns the faults of
    /// these lines.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub(crate) fn sealed(&self, found: &mut dyn FnMut(HeadRef)) -> io::Result<Vec<Fault>> {
        let sealed = |line: Line| match &line.event {
            Event::Change(change) => change.sealed().cloned(),
            _ => None,
        };
        self.having(&[b"\"action\":\"event\"".to_vec()], &sealed, found)
    }

    /// Passes the lines that dismiss lost submissions to `found`, and returns their faults.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub(crate) fn dismissals(&self, found: &mut dyn FnMut(Line)) -> io::Result<Vec<Fault>> {
        self.having(&[b"\"action\":\"dismiss\"".to_vec()], &Some, found)
    }

    /// Passes the comments on submissions to `found`, and returns the faults of these lines.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub(crate) fn comments(&self, found: &mut dyn FnMut(Line)) -> io::Result<Vec<Fault>> {
        self.having(&[b"\"action\":\"comment\"".to_vec()], &Some, found)
    }

    /// Passes the lines of written drafts to `found`, and returns their faults.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub(crate) fn drafts(&self, found: &mut dyn FnMut(Line)) -> io::Result<Vec<Fault>> {
        self.having(&[b"\"action\":\"draft\"".to_vec()], &Some, found)
    }

    /// Opens a file of a writer; returns its name and the file.
    pub(super) fn file(&self, writer: &WriterId, first: u64) -> io::Result<(String, LogFile)> {
        let name = writer.file(first);
        let folder = self.folder_of(writer).ok_or(io::ErrorKind::NotFound)?;
        let named = folder.name_of(&name);
        let file = folder.open(&name);
        let file = file.map_err(|why| io::Error::new(why.kind(), format!("`{named}`: {why}")))?;
        Ok((named, file))
    }

    /// Opens a file of a writer; an inner error if it is not a regular file or not readable. Any
    /// user of the vault can put such a file there, and it must not hide the others.
    pub(super) fn opened(
        &self,
        writer: &WriterId,
        first: u64,
    ) -> io::Result<Result<(String, LogFile), Fault>> {
        let why = match self.file(writer, first) {
            Ok(opened) => return Ok(Ok(opened)),
            Err(why) => why,
        };
        let (kind, folder) = match (why.kind(), self.folder_of(writer)) {
            (io::ErrorKind::NotFound, _) | (_, None) => return Err(why),
            (io::ErrorKind::PermissionDenied, Some(folder)) => (FaultKind::Unreadable, folder),
            (_, Some(folder)) => (FaultKind::Malformed, folder),
        };
        let file = folder.name_of(&writer.file(first));
        Ok(Err(Fault { file, ..Fault::new(kind, 1, format!("cannot be read: {why}")) }))
    }

    /// Returns every file, in the order of writers and lines.
    pub(super) fn each_file(&self) -> impl Iterator<Item = (&WriterId, u64)> {
        let files = self.files.iter();
        files.flat_map(|(writer, files)| files.firsts.iter().map(move |first| (writer, *first)))
    }

    /// Reads every line, or those that contain the needles.
    pub(super) fn read<T: Send>(
        &self,
        needles: Option<&Needles<'_>>,
        keep: Keep<'_, T>,
        found: &mut dyn FnMut(T),
    ) -> io::Result<Verified> {
        let (mut lines, mut faults, mut pruned) = (0, Faults::default(), Vec::new());
        self.unlisted.iter().for_each(|fault| faults.add(fault.clone()));
        for (writer, LogFiles { firsts, .. }) in &self.files {
            let mut expected = Expected { seq: 1, prev: genesis(writer) };
            let cuts = self.cuts.of_writer(&writer.to_string());
            let mut jumps = Vec::new();
            let seen = |line: Line| keep(self.seen(line, writer)?);
            let keep: Keep<'_, T> = &seen;
            let mut of_writer = Faults::default();
            for first in firsts {
                let (name, file) = match self.opened(writer, *first)? {
                    Ok(opened) => opened,
                    Err(fault) => {
                        of_writer.add(fault);
                        continue;
                    }
                };
                let heads = &self.heads;
                let reader = Reader { writer, first: *first, needles, keep, cuts, heads };
                let mut whole = Whole {
                    name: &name,
                    number: 1,
                    expected: &mut expected,
                    cuts,
                    jumps: &mut jumps,
                    doubtful: None,
                };
                let (mut from, known) = (0, of_writer.kept());
                while from < file.blocks() {
                    let to = file.blocks().min(from + BLOCKS_AT_ONCE);
                    let blocks = (from..to).into_par_iter();
                    let read = blocks.map_init(Vec::new, |buffer, block| {
                        file.with_block(block, buffer, |lines| reader.block(block == 0, &lines))
                    });
                    for block in read.collect::<io::Result<Vec<_>>>()? {
                        lines += block.sound;
                        block.found.into_iter().for_each(&mut *found);
                        whole.add(block.said, &mut of_writer);
                    }
                    from = to;
                }
                let is_read = needles.is_none() || of_writer.kept() > known;
                if !is_read {
                    whole.count(&file, &mut of_writer)?;
                }
                whole.end(&mut of_writer);
            }
            faults.join(of_writer, (0, None), |fault| fault);
            pruned.extend(jumps.into_iter().map(|(from, cut): Jump<'_>| Pruned {
                writer: writer.to_string(),
                from,
                cut: cut.clone(),
            }));
        }
        Ok(Verified { lines, pruned, faults: faults.listed() })
    }
}
