//! The checkpoint log as one type for both of its encodings.
//!
//! Reading collects faults instead of stopping. Callers that rely on the log use [`Log::sound`].
//! The log is read from the vault, and never from live files.

use std::collections::BTreeMap;

use super::chronicle::Chronicle;
use super::codec::{self, Decoded, End, form_of, path_of};
use super::event::Checkpoint;
use super::fault::{Diagnosis, Duplicate, EntryFault, LogError};
use super::foreign::Foreign;
use super::merge::Lines;
use crate::files::vault::Vault;
use crate::files::vault::config::LogForm;
use crate::files::vault::files::{FileError, Stamp};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{self, limit};
use crate::values::model::number::CheckpointNumber;

/// A checkpoint log.
#[derive(Clone, Debug)]
pub struct Log {
    /// The form of the file.
    pub form: LogForm,
    /// True if a log file exists.
    pub exists: bool,
    /// The entries in file order; an entry that cannot be read is its fault.
    pub entries: Vec<Result<Checkpoint, EntryFault>>,
    /// Faults other than those of single entries.
    pub diagnosis: Diagnosis,
    /// The file's stamp before it was read.
    pub(super) stamp: Option<Stamp>,
    pub(super) end: End,
    /// The foreign part; empty if the histories are not known.
    pub(crate) foreign: Foreign,
}

/// Maximum number of times that a log is read again because it changed while it was read.
const MAX_LOOKS: usize = 10;

impl Log {
    /// Reads the log of a vault.
    ///
    /// # Errors
    /// Fails if the file exists but cannot be read at all. Faults of its contents are in the value.
    pub fn read(vault: &Vault) -> Result<Self, FileError> {
        let mut log = Self::read_as_it_is(vault)?;
        // Another process may convert or extend the log while its two files are read.
        for _ in 0..MAX_LOOKS {
            let is_settled = log.exists && log.diagnosis.duplicate != Some(Duplicate::Different);
            if is_settled || log.is_still(vault) {
                break;
            }
            log = Self::read_as_it_is(vault)?;
        }
        log.foreign = Foreign::of(&log.entries, log.form, vault.files());
        Ok(log)
    }

    /// Returns true if the file is still the one that was read.
    fn is_still(&self, vault: &Vault) -> bool {
        vault.files().stamp(self.path()).ok() == self.stamp
            && self.exists == vault.files().exists(path_of(form_of(vault)))
    }

    fn read_as_it_is(vault: &Vault) -> Result<Self, FileError> {
        let mut log = Self::read_form(vault, form_of(vault))?;
        let other = log.form.other();
        if log.exists && vault.files().exists(path_of(other)) {
            match Self::read_form(vault, other)? {
                gone if !gone.exists => {}
                second if second.says_the_same(&log) => {
                    log.diagnosis.duplicate = Some(Duplicate::Same);
                }
                second => {
                    let readable = |log: &Self| log.entries.iter().flatten().count();
                    if readable(&second) > readable(&log) {
                        log = second;
                    }
                    log.diagnosis.duplicate = Some(Duplicate::Different);
                }
            }
        }
        Ok(log)
    }

    fn read_form(vault: &Vault, form: LogForm) -> Result<Self, FileError> {
        let path = path_of(form);
        let stamp = vault.files().stamp(path).ok();
        let Some(file) = vault.files().open_optional(path, limit::LOG)? else {
            return Ok(Self { exists: false, stamp, ..Self::of(form, Vec::new()) });
        };
        let decoded = codec::read(form, file, stamp.map(|stamp| stamp.length));
        Ok(Self::decoded(form, stamp, decoded.map_err(FileError::io("read", path))?))
    }

    /// Decodes the bytes of a log, from any source.
    pub fn parse(form: LogForm, bytes: &[u8]) -> Self {
        // Reading from memory does not fail.
        let length = Some(bytes.len() as u64);
        Self::decoded(form, None, codec::read(form, bytes, length).unwrap_or_default())
    }

    /// Returns a log of these checkpoints that is not in a file yet.
    pub(crate) fn of(form: LogForm, checkpoints: Vec<Checkpoint>) -> Self {
        let entries = checkpoints.into_iter().map(Ok).collect();
        Self::decoded(form, None, Decoded { entries, ..Decoded::default() })
    }

    fn decoded(form: LogForm, stamp: Option<Stamp>, decoded: Decoded) -> Self {
        let Decoded { entries, diagnosis, end } = decoded;
        let foreign = Foreign::default();
        let mut log = Self { form, exists: true, entries, diagnosis, stamp, end, foreign };
        log.follow_merges();
        log
    }

    /// Derives what each merge carries, or records why the lines of the log cannot be followed.
    fn follow_merges(&mut self) {
        // The log that a merge binds may be missing.
        let is_merge = |entry: &Result<Checkpoint, _>| {
            let is_merge = |one: &Checkpoint| one.merged.is_some() || one.is_merge();
            entry.as_ref().is_ok_and(is_merge)
        };
        if !self.entries.iter().any(is_merge) {
            return;
        }
        let Ok(chronicle) = self.sound() else { return };
        match Lines::of(chronicle.checkpoints()).map(|lines| lines.carried_by_main()) {
            Ok(carried) => {
                let mut carried: BTreeMap<_, _> = carried.into_iter().collect();
                for checkpoint in self.entries.iter_mut().flatten() {
                    if let Some(merged) = &mut checkpoint.merged {
                        merged.carried = carried.remove(&checkpoint.number).unwrap_or_default();
                    }
                }
            }
            Err((number, why)) => self.diagnosis.merge = Some((number, why.to_string())),
        }
    }

    /// Treats the end of the log as torn: a last entry that cannot be parsed, or an unreadable part
    /// after the last whole entry. `is_end` receives the number of checkpoints before it, with the
    /// first and the last, and returns true if these are everything that was acknowledged. A power
    /// cut may leave any bytes after that.
    pub(crate) fn excuse_end(
        &mut self,
        is_end: impl FnOnce(CheckpointNumber, Option<(&Checkpoint, &Checkpoint)>) -> bool,
    ) {
        if self.diagnosis.conflict.is_some() {
            return;
        }
        let before = match &self.entries[..] {
            // The whole file is unreadable, or its part after the last whole entry is.
            all if self.diagnosis.unreadable.is_some() => all,
            [before @ .., Err(_)] => before,
            _ => return,
        };
        let ends = match (before.first(), before.last()) {
            (None, _) | (_, None) => None,
            (Some(Ok(first)), Some(Ok(last))) => Some((first, last)),
            _ => return,
        };
        let whole = before.len();
        if is_end(CheckpointNumber::of_count(whole), ends) {
            self.entries.truncate(whole);
            self.diagnosis.unreadable = None;
            self.diagnosis.torn =
                usize::try_from(self.end.length - self.end.last_at).unwrap_or(usize::MAX);
        }
    }

    /// Returns true if two files are whole and have the same checkpoints.
    fn says_the_same(&self, other: &Self) -> bool {
        let is_whole = |log: &Self| log.diagnosis.torn == 0 && log.sound().is_ok();
        is_whole(self) && is_whole(other) && self.entries == other.entries
    }

    /// Returns true if a checkpoint of the log seals a version of an artifact.
    pub(crate) fn records(&self, id: &DocumentId) -> bool {
        let mut sealed = self.entries.iter().flatten().flat_map(|checkpoint| &checkpoint.set);
        sealed.any(|(set, _)| set == id)
    }

    /// Refuses a missing log that git does not check out.
    ///
    /// # Errors
    /// Fails with [`LogError::LeftOut`].
    pub(crate) fn check_left_out(&self, vault: &Vault) -> Result<(), LogError> {
        if !self.is_blank() {
            return Ok(());
        }
        let is_gone = |path: &&str| vault.gone().has(path);
        match codec::FORMS.map(path_of).into_iter().find(is_gone) {
            Some(path) => Err(LogError::LeftOut { path: path.to_owned() }),
            None => Ok(()),
        }
    }

    /// Refuses an empty or missing log in a vault that has histories, because that is not a
    /// new vault.
    ///
    /// # Errors
    /// Fails with [`LogError::LeftOut`] or [`LogError::Missing`].
    pub fn check_against_histories(&self, vault: &Vault) -> Result<(), LogError> {
        let has_history =
            |dir: &String| vault.files().exists(&format!("{dir}/{}", layout::HISTORY));
        if !self.is_blank() {
            return Ok(());
        }
        self.check_left_out(vault)?;
        match vault.history_folders().iter().any(has_history) {
            true => Err(LogError::Missing { path: self.path() }),
            false => Ok(()),
        }
    }

    /// Returns true if only single entries can be faulty: there is one file, readable to its end.
    pub fn is_whole(&self) -> bool {
        let Diagnosis { unreadable, torn, duplicate, .. } = &self.diagnosis;
        unreadable.is_none() && *torn == 0 && duplicate.is_none()
    }

    /// Returns true if the log holds a checkpoint with a hash, on any line.
    pub(crate) fn holds(&self, hash: &Digest) -> bool {
        let all = self.entries.iter().flatten();
        let mut sides = all.clone().flat_map(Checkpoint::sides);
        let is_side = sides.any(|side| side.checkpoint.hash == *hash);
        is_side || all.clone().any(|checkpoint| checkpoint.hash == *hash)
    }

    /// Returns true if nothing is recorded in the log.
    pub fn is_blank(&self) -> bool {
        self.entries.is_empty()
            && self.diagnosis.unreadable.is_none()
            && self.diagnosis.duplicate != Some(Duplicate::Different)
    }

    /// Returns the path of the log file.
    pub fn path(&self) -> &'static str {
        path_of(self.form)
    }

    /// Returns the log as a sequence without faults: every entry is readable, and the numbers are
    /// consecutive from 1. A torn end is not part of it. Hashes are not recomputed here.
    ///
    /// # Errors
    /// Fails with the first reason why the log cannot be relied on.
    pub fn sound(&self) -> Result<Chronicle<'_>, LogError> {
        let path = self.path();
        if self.diagnosis.duplicate == Some(Duplicate::Different) {
            return Err(LogError::BothForms);
        }
        if let Some(line) = self.diagnosis.conflict {
            return Err(LogError::Conflict { path, line });
        }
        if let Some(why) = &self.diagnosis.unreadable {
            return Err(LogError::Unreadable { path, why: why.clone() });
        }
        if let Some((number, why)) = &self.diagnosis.merge {
            return Err(LogError::Merge { number: *number, why: why.clone() });
        }
        let mut checkpoints = Vec::with_capacity(self.entries.len());
        for (n, entry) in self.entries.iter().enumerate() {
            let checkpoint = entry.as_ref().map_err(|fault| LogError::Entry {
                path,
                entry: n + 1,
                fault: fault.clone(),
            })?;
            if checkpoint.number != CheckpointNumber::of_count(n + 1) {
                return Err(LogError::Gap { path, entry: n + 1, found: checkpoint.number });
            }
            checkpoints.push(checkpoint);
        }
        Ok(Chronicle { log: self, checkpoints })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::checkpoint::codec::MAX_FAULTY;
    use crate::record::checkpoint::state::{Mark, PublishedSet};
    use crate::values::model::digest::Digest;
    use crate::values::model::number::Version;
    use crate::values::model::timestamp::Timestamp;

    const FULL: &str =
        include_str!("../../../fixtures/interop/procurement/.versions/context_history.yaml");

    fn full(more: &str) -> Log {
        Log::parse(LogForm::Full, format!("{FULL}{more}").as_bytes())
    }

    fn delta(more: &str) -> Log {
        let mut bytes = full("").sound().unwrap().export(LogForm::Delta);
        bytes.extend_from_slice(more.as_bytes());
        Log::parse(LogForm::Delta, &bytes)
    }

    #[test]
    fn log_records_the_offset_of_the_head_hash() {
        let delta_bytes = full("").sound().unwrap().export(LogForm::Delta);
        for (log, bytes) in [(full(""), FULL.as_bytes()), (delta(""), &delta_bytes)] {
            let hash = log.sound().unwrap().head().unwrap().hash.to_string();
            let at = usize::try_from(log.end.head_hash_at.unwrap()).unwrap();
            assert_eq!(&bytes[at..at + hash.len()], hash.as_bytes());
            assert!(at > bytes.len() - 400 || log.form == LogForm::Delta);
        }
    }

    #[test]
    fn log_ignores_a_torn_end() {
        let torn = "  - 'check";
        for (log, whole) in [(full(torn), full("")), (delta("{\"at\":"), delta(""))] {
            assert_eq!(log.entries, whole.entries);
            assert_eq!(log.end.length, whole.end.length + log.diagnosis.torn as u64);
            assert!(
                log.diagnosis.torn > 0 && !log.says_the_same(&whole) && !whole.says_the_same(&log)
            );
        }
        assert_eq!(full(torn).diagnosis.torn, torn.len());
        assert!(full("").says_the_same(&delta("")) && delta("").says_the_same(&full("")));
        let mut shorter = delta("");
        shorter.entries.pop();
        assert!(!shorter.says_the_same(&full("")));
    }

    /// The ids are those of CKPT-11, which the two forms of a log write in different orders.
    #[test]
    fn log_forms_have_equal_checkpoints_in_any_order_of_ids() {
        let ids = ["nodes/\u{fb01}", "nodes/\u{1f600}", "nodes/a"];
        let mark = |id: &str| Mark::new(Version(1), Digest::of(id.as_bytes()));
        let set = ids.map(|id| (id.parse().unwrap(), mark(id))).to_vec();
        let empty = Log::of(LogForm::Delta, Vec::new());
        let at: Timestamp = "2026-11-21T20:06:06.689Z".parse().unwrap();
        let trigger = ids[1].parse().unwrap();
        let chronicle = empty.sound().unwrap();
        let (first, _) = chronicle.next(
            &mut PublishedSet::default(),
            at,
            trigger,
            (set, Vec::new()),
            Vec::new(),
        );
        let log = Log::of(LogForm::Delta, vec![first]);
        let [delta, full] = [LogForm::Delta, LogForm::Full]
            .map(|form| Log::parse(form, &log.sound().unwrap().export(form)));
        assert_eq!(delta.entries, log.entries);
        assert_eq!(full.entries, log.entries);
        assert!(delta.says_the_same(&full));
    }

    #[test]
    fn log_names_the_place_of_an_invalid_entry() {
        let place = |log: &Log| match log.sound() {
            Err(LogError::Entry { entry, .. }) => entry,
            other => panic!("{other:?}"),
        };
        let count = delta("").entries.len();
        assert_eq!(place(&delta("rubbish\n")), count + 1);
        assert_eq!(place(&Log::parse(LogForm::Delta, b"rubbish\nrubbish\n")), 1);
    }

    #[test]
    fn log_names_the_place_of_conflict_markers() {
        let lines = FULL.lines().count();
        let merged = full("<<<<<<< HEAD\n=======\n>>>>>>> other\n");
        assert_eq!((merged.diagnosis.conflict, merged.diagnosis.torn), (Some(lines + 1), 0));
        let entries = delta("").entries.len();
        let merged = delta("<<<<<<< HEAD\n");
        assert_eq!(merged.diagnosis.conflict, Some(entries + 1));
        assert!(
            merged.sound().is_err_and(|why| why.to_string().contains(&format!("{}", entries + 1)))
        );
    }

    #[test]
    fn log_excuses_an_end_after_acknowledged_checkpoints() {
        let whole = delta("");
        let count = whole.entries.len();
        let ends = |log: &Log| -> Option<(u64, usize)> {
            let mut seen = None;
            let mut log = log.clone();
            log.excuse_end(|n, ends| {
                let ends = ends.map(|(first, last)| (first.number, last.number));
                assert_eq!(ends, (n > CheckpointNumber::NONE).then_some((CheckpointNumber(1), n)));
                seen = Some(n);
                true
            });
            seen.map(|n| (n.0, log.diagnosis.torn))
        };
        assert_eq!(ends(&whole), None, "there is nothing to excuse");
        assert_eq!(ends(&delta("rubbish\n")), Some((count as u64, 8)));
        assert_eq!(ends(&delta("rubbish\nrubbish\n")), None, "damage is before the end");
        assert_eq!(ends(&delta("<<<<<<< HEAD\n")), None, "a merge is not a torn end");
        assert_eq!(ends(&Log::parse(LogForm::Delta, b"rubbish\n")), Some((0, 8)));
        assert_eq!(ends(&Log::parse(LogForm::Full, b"rubbish\n")), Some((0, 8)));
        assert_eq!(ends(&Log::parse(LogForm::Full, b"<<<<<<< HEAD\n")), None);
        let mut refused = delta("rubbish\n");
        refused.excuse_end(|_, _| false);
        assert!(refused.diagnosis.torn == 0 && refused.sound().is_err());
    }

    #[test]
    fn log_limits_the_number_of_invalid_lines() {
        let rubbish = |n| Log::parse(LogForm::Delta, "x\n".repeat(n).as_bytes());
        let most = rubbish(MAX_FAULTY);
        assert_eq!((most.entries.len(), most.diagnosis.unreadable), (MAX_FAULTY, None));
        let more = rubbish(MAX_FAULTY + 1);
        assert!(more.diagnosis.unreadable.is_some() && more.entries.is_empty());
    }
}
