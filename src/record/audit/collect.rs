//! Collects the logs of several machines in one folder (AUDIT-24).
//!
//! A source is hostile input: only regular files are read, only whole lines are copied, and the
//! copy is verified before it gets a name among the logs. The logs in the folder only grow. If a
//! source lacks lines of the folder or has other ones, that is a contradiction, and no file of the
//! writer is changed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::blocks::{Ending, LineReader, LogFile};
use super::chain::Logs;
use super::change::HeadRef;
use super::cut::Cuts;
use super::end::end_of_line;
use super::fault::{Fault, FaultKind};
use super::find::begin_of;
use super::line::{Line, genesis};
use crate::files::vault::{lock, outside};
use crate::record::journal::{End, WriterId, files_in, last_line};
use crate::values::codes::serialize_as_words;
use crate::values::model::layout;
use crate::values::text_util::count;

/// Maximum length of a log file in bytes. Writers begin a new file at 64 MiB.
const MAX_FILE: u64 = 1 << 30;
/// Folder for copies until they are verified. Files that an interrupted command left there
/// are removed.
const STAGE: &str = ".collecting";

/// Returns true if the vault contradicts the head that a line names.
pub type Contradicted<'c> = &'c (dyn Fn(&HeadRef) -> bool + Sync);

/// A file of a source, and the result of collecting it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// The name of the file.
    pub file: String,
    /// The result for the file.
    pub outcome: FileOutcome,
}

/// Result of collecting one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOutcome {
    /// The folder had no copy of the file.
    New,
    /// The copy has more lines than before.
    Extended,
    /// The copy already has all lines of the file.
    Unchanged,
    /// No file of the writer was copied.
    Refused(Fault),
}

serialize_as_words!(FileOutcome);

impl FileOutcome {
    /// Returns the word in reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Extended => "extended",
            Self::Unchanged => "unchanged",
            Self::Refused(_) => "refused",
        }
    }
}

/// A folder that logs are collected in.
#[derive(Debug)]
pub struct Collection {
    dir: PathBuf,
    stage: PathBuf,
    /// Cuts at which sources may have been pruned.
    cuts: Cuts,
    /// Lock on the folder, released on drop.
    _turn: File,
}

impl Collection {
    /// Creates the folder if it is missing, and waits for other processes that collect logs in it.
    ///
    /// # Errors
    /// Fails if the folder cannot be created, or if another process held its lock for too long.
    pub fn open(dir: &Path, cuts: Cuts) -> io::Result<Self> {
        let turn = outside::take_turn(dir, lock::PATIENCE)?;
        let stage = dir.join(STAGE);
        match fs::remove_dir_all(&stage) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            _ => {}
        }
        Ok(Self { dir: dir.to_owned(), stage, cuts, _turn: turn })
    }

    /// Collects the logs in a folder, writer by writer.
    ///
    /// # Errors
    /// Fails if a file cannot be read or written. Files that were reported before are collected.
    pub fn add(
        &self,
        source: &Path,
        contradicted: Contradicted<'_>,
        report: &mut dyn FnMut(Collected),
    ) -> io::Result<()> {
        for (writer, firsts) in files_in(source)? {
            outside::make_private(&self.stage)?;
            let added = self.add_writer(source, (&writer, &firsts), contradicted);
            fs::remove_dir_all(&self.stage)?;
            match added? {
                Ok(files) => files.into_iter().for_each(&mut *report),
                Err(fault) => {
                    let file = fault.file.clone();
                    report(Collected { file, outcome: FileOutcome::Refused(fault) });
                }
            }
        }
        Ok(())
    }

    /// Returns the writers with copies in the folder of whom no source has a file. Their copies were
    /// compared with nothing.
    ///
    /// # Errors
    /// Fails if a folder cannot be listed.
    pub fn absent(&self, sources: &[PathBuf]) -> io::Result<Vec<WriterId>> {
        let mut copied = files_in(&self.dir)?;
        for source in sources {
            let there = files_in(source)?;
            copied.retain(|writer, _| !there.contains_key(writer));
        }
        Ok(copied.into_keys().collect())
    }

    fn add_writer(
        &self,
        source: &Path,
        (writer, firsts): (&WriterId, &[u64]),
        contradicted: Contradicted<'_>,
    ) -> io::Result<Result<Vec<Collected>, Fault>> {
        for first in firsts {
            let name = writer.file(*first);
            if let Err(fault) = copy_lines(&source.join(&name), &self.stage.join(&name))? {
                return Ok(Err(Fault { file: name, ..fault }));
            }
        }
        let logs = Logs::open(&self.stage)?.pruned_at(self.cuts.clone());
        if let Some(fault) = fault_of(&logs, writer, contradicted)? {
            return Ok(Err(fault));
        }
        // Lines that were pruned from the source stay in the copy.
        let begin = begin_of_source(&self.stage, (writer, firsts))?;
        let there = files_in(&self.dir)?.remove(writer).unwrap_or_default();
        for gone in there.iter().filter(|first| !firsts.contains(first)) {
            let file = LogFile::open(&self.dir.join(writer.file(*gone)))?;
            let is_pruned = last_of(&file, writer)?.is_none_or(|last| last.seq < begin.seq);
            if !is_pruned || begin.seq == 1 {
                let why = "the copy has this file, but the source does not";
                let fault = Fault::new(FaultKind::Rollback, 1, why.to_owned());
                return Ok(Err(Fault { file: writer.file(*gone), ..fault }));
            }
        }
        if let Some(fault) = self.does_not_join((writer, &there), &begin)? {
            return Ok(Err(fault));
        }
        let mut files = Vec::new();
        for first in firsts {
            let file = writer.file(*first);
            let outcome = match there.contains(first) {
                true => grown(&self.dir.join(&file), &self.stage.join(&file), begin.seq)?,
                false => FileOutcome::New,
            };
            if let FileOutcome::Refused(fault) = outcome {
                return Ok(Err(Fault { file, ..fault }));
            }
            files.push(Collected { file, outcome });
        }
        self.place(&files)?;
        Ok(Ok(files))
    }

    /// Returns a fault if a copy ends right before the source begins, but the source does not
    /// follow it.
    fn does_not_join(
        &self,
        (writer, there): (&WriterId, &[u64]),
        begin: &Begin,
    ) -> io::Result<Option<Fault>> {
        for first in there.iter().rev() {
            let file = LogFile::open(&self.dir.join(writer.file(*first)))?;
            let Some(last) = last_of(&file, writer)? else { continue };
            let follows = last.seq.checked_add(1) != Some(begin.seq) || last.hash == begin.prev;
            let why = "the last line of the copy is not the line at which the source was pruned";
            let fault = || Fault::new(FaultKind::Rollback, 1, why.to_owned());
            return Ok((!follows).then(|| Fault { file: writer.file(*first), ..fault() }));
        }
        Ok(None)
    }

    /// Renames verified copies to their final names, the oldest lines first. At every moment the
    /// folder then contains the beginning of a chain.
    #[allow(clippy::disallowed_methods, reason = "copies of logs are in no vault")]
    fn place(&self, files: &[Collected]) -> io::Result<()> {
        for Collected { file, outcome } in files {
            if *outcome != FileOutcome::Unchanged {
                fs::rename(self.stage.join(file), self.dir.join(file))?;
            }
        }
        File::open(&self.dir)?.sync_all()
    }
}

/// Copies the whole lines of a file.
fn copy_lines(from: &Path, to: &Path) -> io::Result<Result<(), Fault>> {
    let refused = |why: String| Ok(Err(Fault::new(FaultKind::Malformed, 1, why)));
    let file = match LogFile::open(from) {
        Ok(file) => file,
        Err(why) => return refused(format!("cannot be read: {why}")),
    };
    if file.length() > MAX_FILE {
        return refused("the file is longer than 1 GiB".to_owned());
    }
    let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut file.beginning(file.end_of_lines()?)?, &mut copy)?;
    copy.sync_all()?;
    Ok(Ok(()))
}

/// Returns the first damage of a writer's log, or a contradiction with the vault; `None` for a
/// sound log.
fn fault_of(
    logs: &Logs,
    writer: &WriterId,
    contradicted: Contradicted<'_>,
) -> io::Result<Option<Fault>> {
    let mut other = None;
    let names_other = |line: Line| {
        let head = line.request.head.as_ref().filter(|head| contradicted(head));
        head.map(|head| (line.seq, head.checkpoint))
    };
    let verified = logs.read(None, &names_other, &mut |found| {
        other.get_or_insert(found);
    })?;
    let damage = verified.faults.into_iter().find(|fault| fault.kind.is_damage());
    Ok(damage.or_else(|| {
        let (seq, checkpoint) = other?;
        let why = format!(
            "line {seq} of the writer has another hash for checkpoint {checkpoint} than the vault"
        );
        let files = logs.files.get(writer)?;
        let first = files.firsts.iter().rev().find(|first| **first <= seq)?;
        let fault = Fault::new(FaultKind::Contradicts, seq - first + 1, why);
        Some(Fault { file: writer.file(*first), ..fault })
    }))
}

/// Number and previous hash of the first line of a source.
struct Begin {
    seq: u64,
    prev: String,
}

/// Returns the first line of a sound source; for a source without lines, the line that would
/// be first.
fn begin_of_source(dir: &Path, (writer, firsts): (&WriterId, &[u64])) -> io::Result<Begin> {
    for first in firsts {
        let file = LogFile::open(&dir.join(writer.file(*first)))?;
        if let Ending::Line(bytes) = LineReader::new(&file).next()?
            && let Ok((line, _)) = Line::read(bytes)
        {
            return Ok(Begin { seq: line.seq, prev: line.prev });
        }
    }
    Ok(Begin { seq: 1, prev: genesis(writer) })
}

/// Returns the last line of a copy.
fn last_of(file: &LogFile, writer: &WriterId) -> io::Result<Option<End>> {
    let (line, _) = last_line(file.length(), |from, length| file.part(from, length))?;
    Ok(line.and_then(|line| end_of_line(&line, writer)))
}

/// Returns the offset in a copy at which the source's lines begin: those from the number `from` on.
fn kept(there: &LogFile, from: u64) -> io::Result<u64> {
    if from == 1 {
        return Ok(0);
    }
    if let Some(begin) = begin_of(there, from)? {
        return Ok(begin);
    }
    let mut lines = LineReader::new(there);
    lines.go_to(0)?;
    let is_later = match lines.next()? {
        Ending::Line(bytes) => Line::read(bytes).is_ok_and(|(line, _)| line.seq >= from),
        _ => true,
    };
    Ok(if is_later { 0 } else { there.length() })
}

/// Compares a new copy of a file with the existing one. If the new copy extends it, puts the
/// existing lines that the source no longer has in front.
fn grown(there: &Path, new: &Path, from: u64) -> io::Result<FileOutcome> {
    let there = LogFile::open(there)?;
    let keep = kept(&there, from)?;
    let outcome = compared(&there, keep, &LogFile::open(new)?)?;
    if keep > 0 && outcome == FileOutcome::Extended {
        join(&there, keep, new)?;
    }
    Ok(outcome)
}

/// Puts the beginning of the existing copy in front of the new one.
#[allow(clippy::disallowed_methods, reason = "copies of logs are in no vault")]
fn join(there: &LogFile, keep: u64, new: &Path) -> io::Result<()> {
    let joined = new.with_extension("joined");
    let mut options = OpenOptions::new();
    let mut copy = options.write(true).create_new(true).mode(0o600).open(&joined)?;
    io::copy(&mut there.beginning(keep)?, &mut copy)?;
    io::copy(&mut File::open(new)?, &mut copy)?;
    copy.sync_all()?;
    fs::rename(joined, new)
}

fn compared(there: &LogFile, keep: u64, new: &LogFile) -> io::Result<FileOutcome> {
    let (mut old, mut all) = (there.beginning(there.length())?, new.beginning(new.length())?);
    io::copy(&mut old.by_ref().take(keep), &mut io::sink())?;
    let (mut line, mut a, mut b) = (1, Vec::new(), Vec::new());
    loop {
        a.clear();
        old.by_ref().take(PIECE).read_to_end(&mut a)?;
        b.clear();
        all.by_ref().take(a.len() as u64).read_to_end(&mut b)?;
        if a != b {
            let same = a.iter().zip(&b).take_while(|(a, b)| a == b).map(|(a, _)| *a);
            line += same.filter(|byte| *byte == b'\n').count() as u64;
            // Both are sound chains of this writer up to here.
            let why = match b.len() < a.len() && a.starts_with(&b) {
                true => "the copy has a line here that the source lacks",
                false => {
                    "this line differs between source and copy: two machines continue one log, as \
                     after a state directory was copied, or one of the logs was replaced; collect \
                     this source into another folder with `--into`"
                }
            };
            let why = why.to_owned();
            return Ok(FileOutcome::Refused(Fault::new(FaultKind::Rollback, line, why)));
        }
        if a.is_empty() {
            break;
        }
        line += memchr::memchr_iter(b'\n', &a).count() as u64;
    }
    let is_same = there.length() == keep + new.length();
    Ok(if is_same { FileOutcome::Unchanged } else { FileOutcome::Extended })
}

/// Returns the folder with the accesses of a vault; `None` if it is missing, empty or behind
/// a link.
fn accesses_in(root: &Path) -> io::Result<Option<PathBuf>> {
    let mut dir = root.to_owned();
    for name in layout::ACCESS_DIR.split('/') {
        dir.push(name);
        if !dir.symlink_metadata().is_ok_and(|there| there.is_dir()) {
            return Ok(None);
        }
    }
    Ok((!files_in(&dir)?.is_empty()).then_some(dir))
}

/// Number of bytes that are compared at once.
const PIECE: u64 = 64 << 10;

/// Returns the folder with logs in a folder that a user names. That is the folder itself, the one
/// of this vault in it, the only one in it, or, in a vault, the one with its accesses. Also returns
/// the number of other folders in it that have logs.
///
/// # Errors
/// Fails if there is no such folder, if there are several, or if the folder cannot be listed.
pub fn folder_with_logs(dir: &Path, key: &str) -> io::Result<(PathBuf, usize)> {
    let is_key = |name: &str| {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        name.len() == key.len() && name.bytes().all(is_digit)
    };
    let mut folders = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        // A link is not followed here.
        if entry.file_type()?.is_dir() && name.to_str().is_some_and(is_key) {
            folders.push(entry.path());
        }
    }
    let named = |why: String| Err(io::Error::other(why));
    if !files_in(dir)?.is_empty() {
        // Copies beside the folders would hide the lines that these get later.
        return match folders.len() {
            0 => Ok((dir.to_owned(), 0)),
            n => named(format!(
                "it has logs itself and in {}; name one of its folders, or move the logs",
                count(n, "folder")
            )),
        };
    }
    if let Some(accesses) = accesses_in(dir)? {
        return Ok((accesses, 0));
    }
    let own = dir.join(key);
    let others = folders.len().saturating_sub(1);
    match folders.as_slice() {
        _ if folders.contains(&own) => Ok((own, others)),
        [one] => Ok((one.clone(), 0)),
        [] => named("it contains no logs".to_owned()),
        several => {
            named(format!("it has the logs of {} vaults; name one of its folders", several.len()))
        }
    }
}
