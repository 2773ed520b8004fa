//! Reading logs again: every line in order, and what is wrong with the chains (AUDIT-10).
//!
//! Threads read blocks of lines side by side. What a block cannot say by itself, whether its first
//! line follows the last one before it, is looked at when the blocks are put together in their order.
//! So the answer is the same whatever the number of threads.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter, memrchr};
use rayon::prelude::*;

use super::blocks::{Ending, LineReader, Lines, LogFile, Unread};
use super::cut::{self, Cuts, Pruned, Pruning};
use super::end::last_line;
use super::event::Event;
use super::fault::{Fault, FaultKind, Faults};
use super::filter::Filter;
use super::folder::Folder;
use super::heads::Heads;
use super::line::{HeadRef, Line, LineFault};
use super::sight::Sight;
use super::writer::{FilesByWriter, WriterId};
use crate::model::digest::Digest;
use crate::vault::Vault;

/// How many blocks are read before what they say is handed on: what was found in them is in memory.
const BLOCKS_AT_ONCE: u64 = 32;

/// The logs of some folders.
#[derive(Debug)]
pub struct Logs {
    folders: Vec<Folder>,
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
    folder: usize,
    /// The number of the first line of each.
    pub(super) firsts: Vec<u64>,
}

/// What is kept of a line, by the thread that reads it.
pub type Keep<'k, T> = &'k (dyn Fn(Line) -> Option<T> + Sync);

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
        let (folders, files) = (Vec::new(), BTreeMap::new());
        Self {
            folders,
            files,
            cuts: Cuts::default(),
            heads: Heads::default(),
            sight: Sight::default(),
            unlisted: Vec::new(),
        }
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

    fn having_files(mut self, folder: Folder, files: FilesByWriter) -> Self {
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

    /// What may be seen of a line of a writer.
    pub(super) fn seen(&self, line: Line, writer: &WriterId) -> Option<Line> {
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
        let keep = |line| if filter.wants(&line) { keep(line) } else { None };
        self.having(&filter.needles(), &keep, found)
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
        let keep = |line| if filter.wants(&line) { keep(line) } else { None };
        Ok(self.read(None, &keep, found)?.faults)
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

    /// The same of remarks about submissions.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn comments(&self, found: &mut dyn FnMut(Line)) -> io::Result<Vec<Fault>> {
        self.having(&[b"\"action\":\"comment\"".to_vec()], &Some, found)
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
            let mut expected = Expected { seq: 1, prev: writer.genesis() };
            let cuts = self.cuts.of_writer(&writer.to_string());
            let mut jumps = Vec::new();
            let seen = |line: Line| keep(self.seen(line, writer)?);
            let keep: Keep<'_, T> = &seen;
            for first in firsts {
                let (name, file) = match self.opened(writer, *first)? {
                    Ok(opened) => opened,
                    Err(fault) => {
                        faults.add(fault);
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
                let (mut from, known) = (0, faults.kept());
                while from < file.blocks() {
                    let to = file.blocks().min(from + BLOCKS_AT_ONCE);
                    let blocks = (from..to).into_par_iter();
                    let read = blocks.map_init(Vec::new, |buffer, block| {
                        file.with_block(block, buffer, |lines| reader.block(block == 0, &lines))
                    });
                    for block in read.collect::<io::Result<Vec<_>>>()? {
                        lines += block.sound;
                        block.found.into_iter().for_each(&mut *found);
                        whole.add(block.said, &mut faults);
                    }
                    from = to;
                }
                let is_read = needles.is_none() || faults.kept() > known;
                if !is_read {
                    whole.count(&file, &mut faults)?;
                }
                whole.end(&mut faults);
            }
            pruned.extend(jumps.into_iter().map(|(from, cut): Jump<'_>| Pruned {
                writer: writer.to_string(),
                from,
                cut: cut.clone(),
            }));
        }
        Ok(Verified { lines, pruned, faults: faults.listed() })
    }
}

/// Bytes that each wanted line has. A log may have millions of lines: most are not read further.
pub(super) struct Needles<'n> {
    /// The longest, which fewest lines have.
    first: Option<Finder<'n>>,
    others: Vec<Finder<'n>>,
}

impl<'n> Needles<'n> {
    fn new(needles: &'n [Vec<u8>]) -> Self {
        let mut needles: Vec<&[u8]> = needles.iter().map(Vec::as_slice).collect();
        needles.sort_by_key(|needle| needle.len());
        let first = needles.pop().map(Finder::new);
        Self { first, others: needles.into_iter().map(Finder::new).collect() }
    }

    /// Gives every line that has all of them, with its place in the text.
    fn each(&self, text: &[u8], mut line: impl FnMut(usize, &[u8])) {
        let mut at = 0;
        while at < text.len() {
            let hit = self.first.as_ref().map_or(Some(0), |first| first.find(&text[at..]));
            let Some(hit) = hit else { break };
            let begin = memrchr(b'\n', &text[at..at + hit]).map_or(at, |end| at + end + 1);
            let end = memchr(b'\n', &text[at + hit..]).map_or(text.len(), |end| at + hit + end);
            let bytes = &text[begin..end];
            if self.others.iter().all(|needle| needle.find(bytes).is_some()) {
                line(begin, bytes);
            }
            at = end + 1;
        }
    }
}

/// What the next line of a writer has to be.
#[derive(Clone, Debug)]
struct Expected {
    seq: u64,
    prev: String,
}

impl Expected {
    fn after(seq: u64, hash: Digest) -> Self {
        Self { seq: seq.saturating_add(1), prev: hash.to_string() }
    }

    /// How a line follows that is found in this place.
    fn step<'c>(&self, found: &Self, cuts: &'c [Pruning]) -> Step<'c> {
        let (seq, expected) = (found.seq, self.seq);
        if seq > expected {
            if let Some(cut) = cut::find(cuts, seq, &found.prev) {
                return Step::Jump((expected, cut));
            }
            let why = format!("it is line {seq} of its writer, but line {expected} is missing");
            Step::Fault(FaultKind::Gap, why)
        } else if seq < expected || found.prev != self.prev {
            let why = format!("line {seq} does not follow the line before it");
            Step::Fault(FaultKind::Mismatch, why)
        } else {
            Step::Next
        }
    }
}

/// Lines that were pruned: the number of the first of them, and the cut.
type Jump<'c> = (u64, &'c Pruning);

/// How a line follows the one before it.
enum Step<'c> {
    Next,
    /// After lines that were pruned.
    Jump(Jump<'c>),
    /// It does not.
    Fault(FaultKind, String),
}

/// What a thread found in a block.
struct Read<'c, T> {
    /// How many lines are what their hashes say.
    sound: u64,
    found: Vec<T>,
    said: Said<'c>,
}

/// What a thread says of a block. Lines are counted from 0 on, from the first of the block.
struct Said<'c> {
    /// How many lines begin in it.
    lines: u64,
    /// What is wrong.
    faults: Faults,
    /// Lines that were pruned between two lines of it.
    jumps: Vec<Jump<'c>>,
    ends: Option<Ends>,
    /// From a line with NUL on, after which no line is what its hash says: this line, and the faults.
    doubtful: Option<Doubtful>,
}

/// Lines that a power cut may have left: they are damage if a sound line follows them in the file.
struct Doubtful {
    /// The number of the first one.
    line: u64,
    faults: Faults,
}

impl Said<'_> {
    fn fault(&mut self, fault: Fault) {
        match &mut self.doubtful {
            Some(doubtful) => doubtful.faults.add(fault),
            None => self.faults.add(fault),
        }
    }

    /// A sound line follows.
    fn is_sound_here(&mut self) {
        if let Some(doubtful) = self.doubtful.take() {
            self.faults.join(doubtful.faults, (0, None), |fault| fault);
        }
    }
}

/// The first and the last line of a block, of those that are what their hashes say.
struct Ends {
    /// What the first line says of itself.
    first: Expected,
    /// Where it is.
    line: u64,
    /// How many faults are before it.
    faults: usize,
    /// What has to follow the last one.
    next: Expected,
}

/// How a thread reads a block of a file.
struct Reader<'r, T> {
    writer: &'r WriterId,
    /// The number of the first line, by the name of the file.
    first: u64,
    /// Which lines are read; all of them, if each has to follow the one before it.
    needles: Option<&'r Needles<'r>>,
    keep: Keep<'r, T>,
    /// Where the log was pruned.
    cuts: &'r [Pruning],
    /// What its heads are compared with.
    heads: &'r Heads,
}

impl<'r, T> Reader<'r, T> {
    fn block(&self, is_first: bool, lines: &Lines<'_>) -> Read<'r, T> {
        let (faults, jumps) = (Faults::default(), Vec::new());
        let said = Said { lines: 0, faults, jumps, ends: None, doubtful: None };
        let mut read = Read { sound: 0, found: Vec::new(), said };
        let text = lines.text;
        match self.needles {
            Some(needles) => {
                let number = |at: usize| memchr_iter(b'\n', &text[..at]).count() as u64;
                needles.each(text, |at, bytes| {
                    self.line(bytes, (is_first && at == 0, &|| number(at)), &mut read);
                });
                // What was asked for may have been in a line that a power cut left as NUL.
                if let Some(at) = memchr(0, text) {
                    let why = "the line holds NUL".to_owned();
                    read.said.fault(Fault::new(FaultKind::Torn, number(at), why));
                }
                read.said.lines = number(text.len());
            }
            None => {
                for bytes in text.split_inclusive(|byte| *byte == b'\n') {
                    let number = read.said.lines;
                    let bytes = &bytes[..bytes.len() - 1];
                    // JSON has no NUL.
                    if read.said.doubtful.is_none() && memchr(0, bytes).is_some() {
                        let faults = Faults::default();
                        read.said.doubtful = Some(Doubtful { line: number, faults });
                    }
                    self.line(bytes, (is_first && number == 0, &|| number), &mut read);
                    read.said.lines += 1;
                }
            }
        }
        if let Some(unread) = lines.unread {
            let (kind, why) = match unread {
                Unread::Torn => (FaultKind::Torn, "the last line has no end"),
                Unread::TooLong => (FaultKind::Malformed, "it is longer than 16 MiB"),
            };
            read.said.fault(Fault::new(kind, read.said.lines, why.to_owned()));
            read.said.lines += 1;
        }
        read
    }

    fn line(
        &self,
        bytes: &[u8],
        (begins_file, number): (bool, &dyn Fn() -> u64),
        read: &mut Read<'r, T>,
    ) {
        let said = &mut read.said;
        let (line, hash) = match Line::read(bytes) {
            Ok(read) => read,
            Err(fault) => {
                return said.fault(Fault::new(fault.kind(), number(), fault.to_string()));
            }
        };
        if !self.writer.is(&line.writer) {
            let why = format!("it is of the writer {}", line.writer);
            return said.fault(Fault::new(FaultKind::Mismatch, number(), why));
        }
        said.is_sound_here();
        let seq = line.seq;
        if self.needles.is_none() {
            let found = Expected { seq, prev: line.prev.clone() };
            let next = Expected::after(seq, hash);
            match &mut said.ends {
                Some(ends) => {
                    match ends.next.step(&found, self.cuts) {
                        Step::Next => {}
                        Step::Jump(jump) => said.jumps.push(jump),
                        Step::Fault(kind, why) => {
                            said.faults.add(Fault::new(kind, number(), why));
                        }
                    }
                    ends.next = next;
                }
                None => {
                    let (line, faults) = (number(), said.faults.kept());
                    said.ends = Some(Ends { first: found, line, faults, next });
                }
            }
        }
        if let Some(why) = self.heads.contradict(&line) {
            said.faults.add(Fault::new(FaultKind::Contradicts, number(), why));
        }
        let is_after_cut = || seq > self.first && cut::find(self.cuts, seq, &line.prev).is_some();
        if begins_file && seq != self.first && !is_after_cut() {
            let first = self.first;
            let why = format!("the file is named for line {first}, but begins with {seq}");
            said.faults.add(Fault::new(FaultKind::Mismatch, number(), why));
        }
        read.sound += 1;
        read.found.extend((self.keep)(line));
    }
}

impl LineFault {
    /// What kind of fault it is.
    fn kind(&self) -> FaultKind {
        match self {
            Self::Malformed(_) => FaultKind::Malformed,
            Self::Hash { .. } => FaultKind::Mismatch,
        }
    }
}

/// A file whose blocks are put together.
struct Whole<'w, 'c> {
    name: &'w str,
    /// The number of the next line.
    number: u64,
    expected: &'w mut Expected,
    /// Where the log was pruned.
    cuts: &'c [Pruning],
    jumps: &'w mut Vec<Jump<'c>>,
    /// What a power cut may have left, unless a sound line follows.
    doubtful: Option<Doubtful>,
}

impl<'c> Whole<'_, 'c> {
    /// Adds the faults of the next block, and those between it and what is before it.
    fn add(&mut self, said: Said<'c>, all: &mut Faults) {
        let (name, number) = (self.name, self.number);
        let placed = |fault: Fault| fault.placed(name, number);
        let (before, first) = match &said.ends {
            Some(ends) => {
                if let Some(doubtful) = self.doubtful.take() {
                    all.join(doubtful.faults, (0, None), |fault| fault);
                }
                let fault = match self.expected.step(&ends.first, self.cuts) {
                    Step::Next => None,
                    Step::Jump(jump) => {
                        self.jumps.push(jump);
                        None
                    }
                    Step::Fault(kind, why) => Some(Fault::new(kind, ends.line, why)),
                };
                (ends.faults, fault)
            }
            None => (0, None),
        };
        let faults = self.doubtful.as_mut().map_or(all, |doubtful| &mut doubtful.faults);
        faults.join(said.faults, (before, first), placed);
        if let Some(Doubtful { line, faults: later }) = said.doubtful {
            let begin = Doubtful { line: line + number, faults: Faults::default() };
            let doubtful = self.doubtful.get_or_insert(begin);
            doubtful.faults.join(later, (0, None), placed);
        }
        if let Some(ends) = said.ends {
            *self.expected = ends.next;
        }
        self.jumps.extend(said.jumps);
        self.number += said.lines;
    }

    /// Looks whether a line is missing, in a file of which not every line was read: by the numbers of
    /// its first and its last line, and by how many it has.
    fn count(&mut self, file: &LogFile, all: &mut Faults) -> io::Result<()> {
        let name = self.name;
        let mut fault = |kind, line, why| all.add(Fault::new(kind, line, why).placed(name, 0));
        let mut lines = LineReader::new(file);
        let Ending::Line(first) = lines.next()? else { return Ok(()) };
        let first = Line::read(first);
        let (last, _) = last_line(file.length(), |from, length| file.part(from, length))?;
        let last = Line::read(&last.unwrap_or_default());
        let ((first, _), (last, hash)) = match (first, last) {
            (Ok(first), Ok(last)) => (first, last),
            (Err(why), _) => {
                fault(why.kind(), 1, why.to_string());
                return Ok(());
            }
            (_, Err(why)) => {
                fault(why.kind(), self.number - 1, why.to_string());
                return Ok(());
            }
        };
        match self.expected.step(&Expected { seq: first.seq, prev: first.prev }, self.cuts) {
            Step::Next => {}
            Step::Jump(jump) => self.jumps.push(jump),
            Step::Fault(kind, why) => fault(kind, 1, why),
        }
        let (lines, numbered) = (self.number - 1, last.seq.saturating_sub(first.seq) + 1);
        // A copy may lack what was pruned of its source in between.
        let is_cut = self.cuts.iter().any(|cut| (first.seq..last.seq).contains(&cut.seq));
        if lines > numbered || lines < numbered && !is_cut {
            let (from, to) = (first.seq, last.seq);
            let why = format!("it has {lines} lines, but they are numbered from {from} to {to}");
            fault(FaultKind::Gap, lines, why);
        }
        *self.expected = Expected::after(last.seq, hash);
        Ok(())
    }

    /// The file ends.
    fn end(self, all: &mut Faults) {
        if let Some(doubtful) = self.doubtful {
            let why = "the line holds NUL, and no sound line follows".to_owned();
            all.add(Fault::new(FaultKind::Torn, doubtful.line, why).placed(self.name, 0));
        }
    }
}
