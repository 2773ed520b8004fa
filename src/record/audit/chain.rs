//! Reading logs again: every line in order, and what is wrong with the chains (AUDIT-10).
//!
//! Threads read blocks of lines side by side. What a block cannot say by itself, whether its first
//! line follows the last one before it, is looked at when the blocks are put together in their order.
//! So the answer is the same whatever the number of threads.
//!
//! `block` is what a thread reads, by `needles` where not every line is wanted, `whole` puts the blocks
//! of a file together, and `follows` says how a line follows the one before it.

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

/// How many blocks are read before what they say is handed on: what was found in them is in memory.
const BLOCKS_AT_ONCE: u64 = 32;

/// The logs of some folders.
#[derive(Debug, Default)]
pub struct Logs {
    pub(super) folders: Vec<Folder>,
    /// The folders whose lines have to name checkpoints of the vault, by their places.
    pub(super) compared: BTreeMap<usize, Compared>,
    /// The checkpoints of the vault, which the lines in these folders have to name.
    pub(super) known: Heads,
    pub(super) files: BTreeMap<WriterId, LogFiles>,
    /// Where they were pruned.
    cuts: Cuts,
    /// What is known of the checkpoints that they name.
    heads: Heads,
    /// What of their lines may be seen.
    sight: Sight,
    /// The folders that could not be listed.
    unlisted: Vec<Fault>,
}

/// The files of one writer.
#[derive(Debug)]
pub(super) struct LogFiles {
    /// The folder, among those of the logs.
    pub(super) folder: usize,
    /// The number of the first line of each.
    pub(super) firsts: Vec<u64>,
}

/// What is kept of the lines that a filter wants.
fn wanted<'k, T>(filter: &'k Filter, keep: Keep<'k, T>) -> impl Fn(Line) -> Option<T> + Sync + 'k {
    move |line| if filter.wants(&line) { keep(line) } else { None }
}

/// What a verifier says of logs.
#[derive(Debug)]
pub struct Verified {
    /// How many lines are what their hashes say.
    pub lines: u64,
    /// The lines that are gone because they were pruned.
    pub pruned: Vec<Pruned>,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

impl Logs {
    /// The logs in a folder; none if it does not exist.
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn open(dir: &Path) -> io::Result<Self> {
        Self::none().with(Folder::Outside(dir.to_owned()))
    }

    /// No logs.
    pub fn none() -> Self {
        Self::default()
    }

    /// The logs of accesses in a folder of the user and in the vault, for an answer from both. A
    /// folder that cannot be listed is a fault, so that it does not hide the other one.
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

    /// The folders that could not be listed.
    pub(crate) fn unlisted(&self) -> &[Fault] {
        &self.unlisted
    }

    /// The change logs of a vault; none if it has no folder for them.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn of_changes(vault: &Vault) -> io::Result<Self> {
        Self::none().with(Folder::of_changes(vault.files()))
    }

    /// The same logs and those of accesses that a vault has. A writer of the user's own folder is not
    /// looked for in the vault, where another may have put a copy of its files.
    ///
    /// # Errors
    /// The folder cannot be listed.
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

    /// The same logs, which were pruned at these cuts.
    #[must_use]
    pub fn pruned_at(self, cuts: Cuts) -> Self {
        Self { cuts, ..self }
    }

    /// The same logs, to be compared with the checkpoints of the vault.
    #[must_use]
    pub fn compared_with(self, heads: Heads) -> Self {
        Self { heads, ..self }
    }

    /// The same logs as a reader may see them. What verifies them says nothing of their lines.
    #[must_use]
    pub fn seen_by(self, sight: Sight) -> Self {
        Self { sight, ..self }
    }

    /// What a reader may see of them.
    pub(crate) fn sight(&self) -> &Sight {
        &self.sight
    }

    /// Returns the part of a line that may be seen; `None` if the line is not about this vault.
    pub(super) fn seen(&self, line: Line, writer: &WriterId) -> Option<Line> {
        let line = Some(line).filter(|line| self.answers(line, writer))?;
        self.sight.of(line, self.folder_of(writer)?)
    }

    /// Where they were pruned.
    pub fn cuts(&self) -> &Cuts {
        &self.cuts
    }

    /// The last pruning of accesses of these writers, by the time before which they are gone.
    pub fn last_pruning(&self) -> Option<&Pruning> {
        self.cuts.last(self.files.keys().map(ToString::to_string))
    }

    /// Whether no log is outside of a vault.
    pub(crate) fn is_all_in_vault(&self) -> bool {
        self.files.keys().all(|writer| self.folder_of(writer).is_some_and(Folder::is_shared))
    }

    /// How many writers there are.
    pub fn writers(&self) -> usize {
        self.files.len()
    }

    /// Recomputes every hash.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn verify(&self) -> io::Result<Verified> {
        self.read(None, &|_| None::<()>, &mut drop)
    }

    /// Hands out every line that is what its hash says, writer by writer in their order, and gives
    /// the faults.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn each(&self, found: &mut dyn FnMut(Line)) -> io::Result<Vec<Fault>> {
        Ok(self.read(None, &Some, found)?.faults)
    }

    /// Hands out what is kept of the lines that a filter wants, without looking at whether each
    /// follows the one before it, and gives the faults of those that were read.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn matching<T: Send>(
        &self,
        filter: &Filter,
        keep: Keep<'_, T>,
        found: &mut dyn FnMut(T),
    ) -> io::Result<Vec<Fault>> {
        self.having(&filter.needles(), &wanted(filter, keep), found)
    }

    /// The same of logs of which every line is read: a line that was altered so that the filter does
    /// not want it any more is a fault, too.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn matching_verified<T: Send>(
        &self,
        filter: &Filter,
        keep: Keep<'_, T>,
        found: &mut dyn FnMut(T),
    ) -> io::Result<Vec<Fault>> {
        Ok(self.read(None, &wanted(filter, keep), found)?.faults)
    }

    /// As [`Logs::matching`], of the lines that have all of these bytes in them.
    pub(super) fn having<T: Send>(
        &self,
        needles: &[Vec<u8>],
        keep: Keep<'_, T>,
        found: &mut dyn FnMut(T),
    ) -> io::Result<Vec<Fault>> {
        Ok(self.read(Some(&Needles::new(needles)), keep, found)?.faults)
    }

    /// Hands out the lines of steps of reviews, which name versions, and gives the faults of these.
    /// No other line is read further than that.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn steps(&self, found: &mut dyn FnMut(Line)) -> io::Result<Vec<Fault>> {
        self.having(&[b"\"versions\":[".to_vec()], &Some, found)
    }

    /// The same of the checkpoints that lines of events name.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn sealed(&self, found: &mut dyn FnMut(HeadRef)) -> io::Result<Vec<Fault>> {
        let sealed = |line: Line| match &line.event {
            Event::Change(change) => change.sealed().cloned(),
            _ => None,
        };
        self.having(&[b"\"action\":\"event\"".to_vec()], &sealed, found)
    }

    /// The same of dismissals of lost submissions.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn dismissals(&self, found: &mut dyn FnMut(Line)) -> io::Result<Vec<Fault>> {
        self.having(&[b"\"action\":\"dismiss\"".to_vec()], &Some, found)
    }

    /// The same of remarks about submissions.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn comments(&self, found: &mut dyn FnMut(Line)) -> io::Result<Vec<Fault>> {
        self.having(&[b"\"action\":\"comment\"".to_vec()], &Some, found)
    }

    /// The same of drafts that were written.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn drafts(&self, found: &mut dyn FnMut(Line)) -> io::Result<Vec<Fault>> {
        self.having(&[b"\"action\":\"draft\"".to_vec()], &Some, found)
    }

    /// Opens a file of a writer; gives its name, too.
    pub(super) fn file(&self, writer: &WriterId, first: u64) -> io::Result<(String, LogFile)> {
        let name = writer.file(first);
        let folder = self.folder_of(writer).ok_or(io::ErrorKind::NotFound)?;
        let named = folder.name_of(&name);
        let file = folder.open(&name);
        let file = file.map_err(|why| io::Error::new(why.kind(), format!("`{named}`: {why}")))?;
        Ok((named, file))
    }

    /// The same, where what has the name of a file may be none, or one that cannot be read: any user
    /// of the vault can put one there, and it must not hide the others.
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
        Ok(Err(Fault { file, ..Fault::new(kind, 1, format!("it cannot be read: {why}")) }))
    }

    /// Every file in the order of writers and lines.
    pub(super) fn each_file(&self) -> impl Iterator<Item = (&WriterId, u64)> {
        let files = self.files.iter();
        files.flat_map(|(writer, files)| files.firsts.iter().map(move |first| (writer, *first)))
    }

    /// Reads every line, or those with needles in them.
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
