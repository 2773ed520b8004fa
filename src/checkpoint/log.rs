//! The checkpoint log behind one type, whichever of its two forms lies on disk.
//!
//! Reading gathers faults instead of stopping. Those who must rely on the log ask for
//! [`Log::sound`]. The log is read from the vault and never from live files.

use std::io::{self, Read as _};

use super::chronicle::Chronicle;
use super::fault::{EntryFault, LogError};
use super::state::{Mark, State, in_json_order};
use super::{full, lines};
use crate::model::digest::Digest;
use crate::model::id::Id;
use crate::model::layout::{self, limit};
use crate::model::timestamp::Timestamp;
use crate::torn;
use crate::vault::Vault;
use crate::vault::config::LogForm;
use crate::vault::files::{FileError, Stamp};

/// One publication event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its number, from 1 without a gap.
    pub number: u64,
    /// When it happened.
    pub at: Timestamp,
    /// The greatest id of the event.
    pub triggered_by: Id,
    /// The hash over the complete maps and the checkpoint before.
    pub hash: Digest,
    /// Artifacts that are new or have another version since the checkpoint before, in the order of
    /// CKPT-11 whatever the form of the log: two logs are compared as lists of checkpoints.
    pub set: Vec<(Id, Mark)>,
    /// Artifacts that left the maps.
    pub removed: Vec<Id>,
}

impl Checkpoint {
    /// Whether it seals governance files, as the other tool never does.
    pub(crate) fn seals_governance(&self) -> bool {
        self.set.iter().any(|(id, _)| !id.is_document())
    }

    /// Turns the state before it into its own.
    pub(crate) fn apply(&self, state: &mut State) {
        if state.is_empty() {
            // Nothing can be removed, and a map is built at once faster than entry by entry.
            *state = self.set.iter().cloned().collect();
            return;
        }
        for id in &self.removed {
            state.remove(id);
        }
        for (id, mark) in &self.set {
            state.set(id.clone(), *mark);
        }
    }

    /// Turns the state before it into its own, and takes the hash that follows from that.
    pub(super) fn seal(&mut self, state: &mut State, previous: Option<&Digest>) {
        in_json_order(&mut self.set);
        self.apply(state);
        self.hash = state.hash(previous, self.number, self.at, self.triggered_by.as_str());
    }
}

/// The id that an event of these is recorded under: the greatest of a document, else the greatest
/// (CKPT-3).
pub(crate) fn trigger<'i>(ids: impl Iterator<Item = &'i Id> + Clone) -> Option<&'i Id> {
    ids.clone().filter(|id| id.is_document()).max().or_else(|| ids.max())
}

/// A checkpoint log.
#[derive(Clone, Debug)]
pub struct Log {
    /// Its form on disk.
    pub form: LogForm,
    /// Whether a file exists.
    pub exists: bool,
    /// Whether files of both forms exist, and do not say the same. Nobody relies on either; this is
    /// the one with more checkpoints.
    pub both_forms: bool,
    /// The form of a second file that says the same: what an interrupted conversion leaves.
    pub twin: Option<LogForm>,
    /// The entries in file order; an entry that cannot be read holds its fault.
    pub entries: Vec<Result<Checkpoint, EntryFault>>,
    /// Why the file as a whole cannot be read.
    pub unreadable: Option<String>,
    /// The line of a conflict marker of git.
    pub conflict: Option<usize>,
    /// Bytes after the last whole entry: an append that was cut short.
    pub torn: usize,
    /// Bytes of the file.
    pub(super) length: u64,
    /// Where the last entry begins; in a file that cannot be read, where that begins which cannot.
    last_at: u64,
    /// Whether a line end has to come before an entry that is appended.
    pub(super) lacks_newline: bool,
    /// What the file's stamp was before it was read.
    pub(super) stamp: Option<Stamp>,
    /// Where the spelling of the last entry's hash begins in the file.
    pub(super) head_hash_at: Option<u64>,
    /// Whether an entry that is appended becomes the next one.
    pub(super) appendable: bool,
    /// The line from which on a log of whole maps that is ours is spelled otherwise than by a writer
    /// of ours (CKPT-37).
    pub respelled: Option<usize>,
}

/// How often a log is read again that is converted meanwhile.
const MAX_LOOKS: usize = 10;

/// How much of a log in full form is read at once.
const PIECE: u64 = 4 << 20;

/// The most entries that may be unreadable one by one: a log of rubbish could have billions.
pub(super) const MAX_FAULTY: usize = 100;

impl Log {
    /// Reads the log of a vault.
    ///
    /// # Errors
    /// The file exists but could not be read at all; what is wrong inside is in the value.
    pub fn read(vault: &Vault) -> Result<Self, FileError> {
        let mut log = Self::read_as_it_is(vault)?;
        // Somebody may convert it, or append to it, between the looks at its two files.
        for _ in 0..MAX_LOOKS {
            if log.exists && !log.both_forms || log.is_still(vault) {
                break;
            }
            log = Self::read_as_it_is(vault)?;
        }
        Ok(log)
    }

    /// Whether the file is the one that was read.
    fn is_still(&self, vault: &Vault) -> bool {
        vault.files().stamp(self.path()).ok() == self.stamp
            && self.exists == vault.files().exists(path_of(vault.log_form()))
    }

    fn read_as_it_is(vault: &Vault) -> Result<Self, FileError> {
        let mut log = Self::read_form(vault, vault.log_form())?;
        let other = log.form.other();
        if log.exists && vault.files().exists(path_of(other)) {
            match Self::read_form(vault, other)? {
                gone if !gone.exists => {}
                second if second.says_the_same(&log) => log.twin = Some(other),
                second => {
                    let readable = |log: &Self| log.entries.iter().flatten().count();
                    if readable(&second) > readable(&log) {
                        log = second;
                    }
                    log.both_forms = true;
                }
            }
        }
        Ok(log)
    }

    fn read_form(vault: &Vault, form: LogForm) -> Result<Self, FileError> {
        let path = path_of(form);
        let stamp = vault.files().stamp(path).ok();
        let file = vault.files().open_optional(path, limit::LOG)?;
        let mut log = Self { exists: file.is_some(), stamp, ..Self::empty(form) };
        let Some(file) = file else { return Ok(log) };
        match form {
            LogForm::Delta => log.read_delta(file).map_err(FileError::io("read", path))?,
            LogForm::Full => {
                let read = until_nul(file.take(limit::LOG));
                let (bytes, has_nul) = read.map_err(FileError::io("read", path))?;
                log.length = match stamp.filter(|_| has_nul) {
                    Some(stamp) => stamp.length.max(bytes.len() as u64),
                    None => bytes.len() as u64,
                };
                log.read_full(&bytes);
            }
        }
        Ok(log)
    }

    /// The log that these bytes are, wherever they lie.
    pub fn parse(form: LogForm, bytes: &[u8]) -> Self {
        let mut log = Self::empty(form);
        log.exists = true;
        match form {
            LogForm::Delta => {
                if let Err(why) = log.read_delta(bytes) {
                    // Reading from memory does not fail.
                    log.unreadable = Some(why.to_string());
                }
            }
            LogForm::Full => {
                log.length = bytes.len() as u64;
                log.read_full(bytes);
            }
        }
        log
    }

    /// A log of these checkpoints, wherever it will lie.
    pub(crate) fn of(form: LogForm, checkpoints: Vec<Checkpoint>) -> Self {
        Self {
            exists: true,
            entries: checkpoints.into_iter().map(Ok).collect(),
            ..Self::empty(form)
        }
    }

    fn empty(form: LogForm) -> Self {
        Self {
            form,
            exists: false,
            both_forms: false,
            twin: None,
            entries: Vec::new(),
            unreadable: None,
            conflict: None,
            torn: 0,
            length: 0,
            last_at: 0,
            lacks_newline: false,
            stamp: None,
            head_hash_at: None,
            appendable: true,
            respelled: None,
        }
    }

    fn read_delta(&mut self, file: impl io::Read) -> io::Result<()> {
        let read = lines::read(file)?;
        self.length = read.length;
        self.torn = read.torn;
        if read.faulty > MAX_FAULTY {
            self.unreadable = Some(format!("more than {MAX_FAULTY} lines are no checkpoints"));
            return Ok(());
        }
        self.last_at = read.last_at;
        self.entries = read.entries;
        let is_marker = |entry: &Result<_, EntryFault>| *entry == Err(EntryFault::Conflict);
        self.conflict = self.entries.iter().position(is_marker).map(|n| n + 1);
        if let Some(Ok(head)) = self.entries.last() {
            self.head_hash_at = find(&read.last_line, &head.hash).map(|at| read.last_at + at);
        }
        Ok(())
    }

    /// Reads the beginning of a file of this length; what follows it is no text.
    fn read_full(&mut self, bytes: &[u8]) {
        let parse = |bytes: &[u8]| {
            let text = std::str::from_utf8(bytes)
                .map_err(|e| format!("not UTF-8 at byte {}", e.valid_up_to()))?;
            full::parse(text).map_err(|e| e.to_string())
        };
        let mut parsed = parse(bytes);
        let ends_well = |read: &full::Read| read.entries.last().is_none_or(Result::is_ok);
        let is_sound = parsed.as_ref().is_ok_and(ends_well);
        if !is_sound {
            self.conflict = torn::conflict(bytes);
        }
        if !is_sound && self.conflict.is_none() {
            // The last entry was cut short, or a power cut left something else in its place.
            let whole = torn::ends_before_torn(bytes, false)
                .filter_map(|end| Some((end, parse(&bytes[..end]).ok()?)))
                .find(|(_, read)| ends_well(read));
            if let Some((end, read)) = whole {
                self.torn = usize::try_from(self.length).unwrap_or(usize::MAX) - end;
                parsed = Ok(read);
            }
        }
        self.lacks_newline = !bytes.is_empty() && !bytes.ends_with(b"\n");
        let read = match parsed {
            Ok(read) => Some(read),
            Err(why) => {
                self.unreadable = Some(match torn::doubled(bytes) {
                    Some(line) => {
                        format!("line {line} ends an entry for the second time, {}", torn::UNION)
                    }
                    None => why,
                });
                // What stands before rubbish is read all the same, but not relied on.
                let whole = torn::end_of_last_entry(bytes).and_then(|end| {
                    Some(full::Read { last_at: end, ..parse(&bytes[..end]).ok()? })
                });
                whole.filter(|_| self.conflict.is_none())
            }
        };
        if let Some(read) = read {
            self.entries = read.entries;
            self.appendable = read.appendable;
            self.last_at = read.last_at as u64;
            self.respelled = read.respelled;
        }
        if let Some(Ok(head)) = self.entries.last() {
            let hash = head.hash.to_string();
            let at = bytes.windows(hash.len()).rposition(|window| window == hash.as_bytes());
            self.head_hash_at = at.map(|at| at as u64);
        }
    }

    /// Takes a last entry that is none, or what cannot be read after the last whole entry, for torn, if `is_end` knows the
    /// checkpoints before it, the first and the last of them, to be everything that was acknowledged:
    /// a power cut may leave any bytes after that.
    pub(crate) fn excuse_end(
        &mut self,
        is_end: impl FnOnce(u64, Option<(&Checkpoint, &Checkpoint)>) -> bool,
    ) {
        if self.conflict.is_some() {
            return;
        }
        let before = match &self.entries[..] {
            // Nothing of it can be read, or what follows the last whole entry cannot.
            all if self.unreadable.is_some() => all,
            [before @ .., Err(_)] => before,
            _ => return,
        };
        let ends = match (before.first(), before.last()) {
            (None, _) | (_, None) => None,
            (Some(Ok(first)), Some(Ok(last))) => Some((first, last)),
            _ => return,
        };
        let whole = before.len();
        if is_end(whole as u64, ends) {
            self.entries.truncate(whole);
            self.unreadable = None;
            self.torn = usize::try_from(self.length - self.last_at).unwrap_or(usize::MAX);
        }
    }

    /// Whether two files are whole and hold the same checkpoints.
    fn says_the_same(&self, other: &Self) -> bool {
        let is_whole = |log: &Self| log.torn == 0 && log.sound().is_ok();
        is_whole(self) && is_whole(other) && self.entries == other.entries
    }

    /// Refuses an empty or absent log in a vault that has histories: it is not a new vault.
    ///
    /// # Errors
    /// [`LogError::Missing`].
    pub fn check_against_histories(&self, vault: &Vault) -> Result<(), LogError> {
        let has_history =
            |dir: &String| vault.files().exists(&format!("{dir}/{}", layout::HISTORY));
        if self.is_blank() && vault.history_folders().iter().any(has_history) {
            return Err(LogError::Missing { path: self.path() });
        }
        Ok(())
    }

    /// Whether it is a log in which nothing is recorded.
    pub fn is_blank(&self) -> bool {
        self.entries.is_empty() && self.unreadable.is_none() && !self.both_forms
    }

    /// Path of the log file.
    pub fn path(&self) -> &'static str {
        path_of(self.form)
    }

    /// The log as a sequence without fault: every entry readable, numbered 1, 2, 3. A torn tail
    /// is not part of it. Hashes are not recomputed here.
    ///
    /// # Errors
    /// The first reason why it cannot be relied on.
    pub fn sound(&self) -> Result<Chronicle<'_>, LogError> {
        let path = self.path();
        if self.both_forms {
            return Err(LogError::BothForms);
        }
        if let Some(line) = self.conflict {
            return Err(LogError::Conflict { path, line });
        }
        if let Some(why) = &self.unreadable {
            return Err(LogError::Unreadable { path, why: why.clone() });
        }
        let mut checkpoints = Vec::with_capacity(self.entries.len());
        for (n, entry) in self.entries.iter().enumerate() {
            let checkpoint = entry.as_ref().map_err(|fault| LogError::Entry {
                path,
                entry: n + 1,
                fault: fault.clone(),
            })?;
            if checkpoint.number != n as u64 + 1 {
                return Err(LogError::Gap { path, entry: n + 1, found: checkpoint.number });
            }
            checkpoints.push(checkpoint);
        }
        Ok(Chronicle { log: self, checkpoints })
    }
}

/// Reads text up to its first NUL, and says whether there is one. No text has it, and a file with holes
/// is as long as somebody likes without a byte on the disk.
fn until_nul(mut file: impl io::Read) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    loop {
        let from = bytes.len();
        if file.by_ref().take(PIECE).read_to_end(&mut bytes)? == 0 {
            return Ok((bytes, false));
        }
        if let Some(at) = memchr::memchr(0, &bytes[from..]) {
            bytes.truncate(from + at + 1);
            return Ok((bytes, true));
        }
    }
}

/// Where the spelling of a hash begins in a line; it is early in it.
fn find(line: &[u8], hash: &Digest) -> Option<u64> {
    let hash = hash.to_string();
    line.windows(hash.len()).position(|window| window == hash.as_bytes()).map(|at| at as u64)
}

/// Path of the log in one of its forms.
pub(crate) fn path_of(form: LogForm) -> &'static str {
    match form {
        LogForm::Delta => layout::DELTA_LOG,
        LogForm::Full => layout::FULL_LOG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str =
        include_str!("../../fixtures/interop/procurement/.versions/context_history.yaml");

    fn full(more: &str) -> Log {
        Log::parse(LogForm::Full, format!("{FULL}{more}").as_bytes())
    }

    fn delta(more: &str) -> Log {
        let mut bytes = full("").sound().unwrap().export(LogForm::Delta);
        bytes.extend_from_slice(more.as_bytes());
        Log::parse(LogForm::Delta, &bytes)
    }

    #[test]
    fn the_hash_of_the_head_stands_where_the_log_says() {
        let delta_bytes = full("").sound().unwrap().export(LogForm::Delta);
        for (log, bytes) in [(full(""), FULL.as_bytes()), (delta(""), &delta_bytes)] {
            let hash = log.sound().unwrap().head().unwrap().hash.to_string();
            let at = usize::try_from(log.head_hash_at.unwrap()).unwrap();
            assert_eq!(&bytes[at..at + hash.len()], hash.as_bytes());
            assert!(at > bytes.len() - 400 || log.form == LogForm::Delta);
        }
    }

    #[test]
    fn an_end_that_was_cut_short_is_no_part_of_the_log() {
        let torn = "  - 'check";
        for (log, whole) in [(full(torn), full("")), (delta("{\"at\":"), delta(""))] {
            assert_eq!(log.entries, whole.entries);
            assert_eq!(log.length, whole.length + log.torn as u64);
            assert!(log.torn > 0 && !log.says_the_same(&whole) && !whole.says_the_same(&log));
        }
        assert_eq!(full(torn).torn, torn.len());
        assert!(full("").says_the_same(&delta("")) && delta("").says_the_same(&full("")));
        let mut shorter = delta("");
        shorter.entries.pop();
        assert!(!shorter.says_the_same(&full("")));
    }

    /// The ids of CKPT-11, which the two forms of a log write in different orders.
    #[test]
    fn both_forms_hold_the_same_checkpoints_whatever_the_order_of_their_ids() {
        let ids = ["nodes/\u{fb01}", "nodes/\u{1f600}", "nodes/a"];
        let mark = |id: &str| Mark::new(1, Digest::of(id.as_bytes()));
        let set = ids.map(|id| (id.parse().unwrap(), mark(id))).to_vec();
        let empty = Log::of(LogForm::Delta, Vec::new());
        let at: Timestamp = "2026-11-21T20:06:06.689Z".parse().unwrap();
        let trigger = ids[1].parse().unwrap();
        let chronicle = empty.sound().unwrap();
        let (first, _) = chronicle.next(&mut State::default(), at, trigger, set, Vec::new());
        let log = Log::of(LogForm::Delta, vec![first]);
        let [delta, full] = [LogForm::Delta, LogForm::Full]
            .map(|form| Log::parse(form, &log.sound().unwrap().export(form)));
        assert_eq!(delta.entries, log.entries);
        assert_eq!(full.entries, log.entries);
        assert!(delta.says_the_same(&full));
    }

    #[test]
    fn what_is_no_checkpoint_is_named_by_its_place() {
        let place = |log: &Log| match log.sound() {
            Err(LogError::Entry { entry, .. }) => entry,
            other => panic!("{other:?}"),
        };
        let count = delta("").entries.len();
        assert_eq!(place(&delta("rubbish\n")), count + 1);
        assert_eq!(place(&Log::parse(LogForm::Delta, b"rubbish\nrubbish\n")), 1);
    }

    #[test]
    fn a_hole_is_not_read() {
        let read = |bytes: &[u8]| until_nul(bytes).unwrap();
        assert_eq!(read(b"text"), (b"text".to_vec(), false));
        assert_eq!(read(b"text\0\0\0"), (b"text\0".to_vec(), true));
        let long = vec![b'x'; usize::try_from(2 * PIECE).unwrap() + 1];
        assert_eq!(read(&long), (long.clone(), false));
        let holed = [&long[..], b"\0more"].concat();
        assert_eq!(read(&holed), (holed[..=long.len()].to_vec(), true));
    }

    #[test]
    fn the_marks_of_a_merge_are_named_by_their_place() {
        let lines = FULL.lines().count();
        let merged = full("<<<<<<< HEAD\n=======\n>>>>>>> other\n");
        assert_eq!((merged.conflict, merged.torn), (Some(lines + 1), 0));
        let entries = delta("").entries.len();
        let merged = delta("<<<<<<< HEAD\n");
        assert_eq!(merged.conflict, Some(entries + 1));
        assert!(
            merged.sound().is_err_and(|why| why.to_string().contains(&format!("{}", entries + 1)))
        );
    }

    #[test]
    fn an_end_is_excused_where_what_is_before_it_was_acknowledged() {
        let whole = delta("");
        let count = whole.entries.len();
        let ends = |log: &Log| -> Option<(u64, u64)> {
            let mut seen = None;
            let mut log = log.clone();
            log.excuse_end(|n, ends| {
                let ends = ends.map(|(first, last)| (first.number, last.number));
                assert_eq!(ends, (n > 0).then_some((1, n)));
                seen = Some(n);
                true
            });
            seen.map(|n| (n, log.torn as u64))
        };
        assert_eq!(ends(&whole), None, "there is nothing to excuse");
        assert_eq!(ends(&delta("rubbish\n")), Some((count as u64, 8)));
        assert_eq!(ends(&delta("rubbish\nrubbish\n")), None, "damage is before the end");
        assert_eq!(ends(&delta("<<<<<<< HEAD\n")), None, "a merge is no torn end");
        assert_eq!(ends(&Log::parse(LogForm::Delta, b"rubbish\n")), Some((0, 8)));
        assert_eq!(ends(&Log::parse(LogForm::Full, b"rubbish\n")), Some((0, 8)));
        assert_eq!(ends(&Log::parse(LogForm::Full, b"<<<<<<< HEAD\n")), None);
        let mut refused = delta("rubbish\n");
        refused.excuse_end(|_, _| false);
        assert!(refused.torn == 0 && refused.sound().is_err());
    }

    #[test]
    fn so_many_lines_may_be_no_checkpoints_and_no_more() {
        let rubbish = |n| Log::parse(LogForm::Delta, "x\n".repeat(n).as_bytes());
        let most = rubbish(MAX_FAULTY);
        assert_eq!((most.entries.len(), most.unreadable), (MAX_FAULTY, None));
        let more = rubbish(MAX_FAULTY + 1);
        assert!(more.unreadable.is_some() && more.entries.is_empty());
    }
}
