//! Checks the checkpoint log: form, numbers, times, and every hash from its maps.

use crate::record::checkpoint::fault::Duplicate;
use crate::values::model::number::{CheckpointNumber, Version};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use super::bound_chains::BoundChains;
use super::capped::{Gathered, OF_VAULT};
use super::changes::Binding;
use super::finding::{Code, Finding};
use super::rules::Rules;
use crate::files::vault::config::LogForm;
use crate::files::vault::files::Files;
use crate::record::chain::replay;
use crate::record::checkpoint::codec::path_of;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::fault::{EntryFault, LogError};
use crate::record::checkpoint::log::Log;
use crate::record::checkpoint::maps::{self, Compared};
use crate::record::checkpoint::merge::{Held, Lines, MergeFault};
use crate::record::checkpoint::record::Record;
use crate::record::checkpoint::state::{Mark, PublishedSet};
use crate::record::torn_tail;
use crate::record::trusted_head::{EventKey, Hashes, Head};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::timestamp::Timestamp;

/// Content of the log, as far as it can be read.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) records: HashMap<DocumentId, Record>,
    pub(super) head: PublishedSet,
    pub(super) head_number: CheckpointNumber,
    /// The checkpoints, with their recorded hashes.
    pub(super) held: Held,
    /// The versions that side lines seal, each with the checkpoint that merged them.
    pub(super) side_marks: HashMap<DocumentId, Vec<(CheckpointNumber, Mark)>>,
    /// The times of the side lines' checkpoints that remove an artifact.
    pub(super) side_removals: HashMap<DocumentId, BTreeSet<Timestamp>>,
    /// The checkpoints that are merges.
    pub(super) merges: BTreeSet<CheckpointNumber>,
    /// True if checkpoint 1 seals a governance file, which the reference implementation never does.
    pub(super) begun_by_ctx: bool,
    /// True if every entry was read, so that everything absent from the log is missing.
    pub(super) complete: bool,
    pub(super) form: Option<LogForm>,
    /// Time of the clock, to compare with recorded times.
    pub(super) now: Option<Timestamp>,
    /// Event that a writer began at the end of this log and did not complete. Its records were
    /// never acknowledged.
    pub(super) interrupted: Option<EventKey>,
    /// `interrupted`, if it is a step of a review with missing entries. A power cut may have taken
    /// their texts.
    pub(super) undone: Option<EventKey>,
    /// Lines of change logs that checkpoints bind, in the order of the checkpoints.
    pub(super) bindings: Vec<Binding>,
    /// Staging chains that checkpoints bind.
    pub(super) chains: BoundChains,
}

impl View {
    /// Returns the recorded hash of a checkpoint.
    pub(super) fn hash_of(&self, checkpoint: CheckpointNumber) -> Option<Digest> {
        self.held.main(checkpoint).copied()
    }

    /// Returns the checkpoint with a hash.
    pub(super) fn number_of(&self, hash: &Digest) -> Option<CheckpointNumber> {
        self.held.of_main_line().find(|(_, found)| found == hash).map(|(number, _)| number)
    }

    /// Returns the checkpoints that set or remove an artifact which is not among these, in order.
    pub(super) fn incomplete(&self, ids: &[DocumentId]) -> BTreeSet<CheckpointNumber> {
        let others = self.records.iter().filter(|(id, _)| ids.binary_search(id).is_err());
        let of = |record: &Record| {
            let seals = record.seals.iter().map(|seal| seal.checkpoint);
            let removals = record.removals.iter().map(|removal| removal.checkpoint);
            seals.chain(removals).collect::<Vec<_>>()
        };
        others.flat_map(|(_, record)| of(record)).collect()
    }

    /// Returns the head of the log.
    pub(super) fn end(&self) -> Head {
        let hashes = self.hash_of(CheckpointNumber::FIRST).zip(self.hash_of(self.head_number));
        let hashes = hashes.map(|(genesis, last)| Hashes { genesis, last });
        Head { checkpoint: self.head_number, hashes }
    }
}

/// Checks the log, and collects its records of each artifact. `files` are the files of the vault,
/// with its histories.
pub(super) fn check(log: &Log, now: Timestamp, files: &Files) -> (View, Gathered) {
    let mut pass = Pass {
        path: log.path(),
        now,
        files,
        findings: Gathered::new(OF_VAULT),
        view: View {
            form: Some(log.form),
            complete: log.exists,
            now: Some(now),
            ..View::default()
        },
        previous: None,
        skipped: 0,
        highest: HashMap::new(),
        line: None,
    };
    pass.file(log);
    let Compared { faults, end } = compared(log, files);
    let mut faults = faults.into_iter().peekable();
    let mut read = 0;
    for (index, entry) in log.entries.iter().enumerate() {
        // Each line of a delta log is one entry.
        pass.line = (log.form == LogForm::Delta).then_some(index + 1);
        match entry {
            Ok(checkpoint) => {
                let fault = faults.next_if(|(n, _)| *n == read);
                pass.entry(checkpoint, log.form, fault.map(|(_, found)| found));
                if end == Some(read) {
                    pass.not_compared(checkpoint.number);
                }
                read += 1;
            }
            Err(fault) => {
                let place = index + 1;
                let after = log.entries.len() - place;
                pass.fault(CheckpointNumber::of_count(place), fault, after);
            }
        }
    }
    if let Some((number, why)) = &log.diagnosis.merge {
        pass.line = None;
        pass.find(Code::MergeMismatch, *number, why.clone());
    }
    if !pass.view.merges.is_empty()
        && let Ok(chronicle) = log.sound()
        && let Ok(lines) = Lines::of(chronicle.checkpoints())
    {
        pass.side_lines(&lines);
        pass.view.held.add_sides(&lines);
    }
    (pass.view, pass.findings)
}

/// Compares all entries that can be read. After an unreadable entry, the maps of a delta log
/// are unknown.
fn compared(log: &Log, files: &Files) -> Compared {
    let readable = log.entries.iter();
    let readable: Vec<&Checkpoint> = match log.form {
        LogForm::Delta => readable.map_while(|entry| entry.as_ref().ok()).collect(),
        LogForm::Full => readable.flatten().collect(),
    };
    maps::compare(&readable, &|id| replay::has_history(files, id))
}

struct Pass<'h> {
    path: &'static str,
    now: Timestamp,
    files: &'h Files,
    findings: Gathered,
    view: View,
    /// Number, time and hash of the previous entry.
    previous: Option<(CheckpointNumber, Timestamp, Digest)>,
    /// Number of unreadable entries since the previous one.
    skipped: u64,
    /// Highest version of each artifact so far.
    highest: HashMap<DocumentId, Version>,
    /// Line of the current entry, if it is known.
    line: Option<usize>,
}

impl Pass<'_> {
    fn find(&mut self, code: Code, checkpoint: CheckpointNumber, message: impl Into<String>) {
        let finding = Finding::new(code, self.path, message).checkpoint(checkpoint);
        self.findings.push(Finding { line: self.line, ..finding });
    }

    fn file(&mut self, log: &Log) {
        if log.diagnosis.duplicate == Some(Duplicate::Different) {
            // An artifact that is absent from both logs may still not be missing.
            self.view.complete = false;
            let message = format!("`{}` exists too", layout::DELTA_LOG);
            self.findings.push(Finding::new(Code::ForeignLog, layout::FULL_LOG, message));
        }
        if let Some(line) = log.diagnosis.respelled {
            let message = format!("from line {line} on it does not have the bytes that ctx writes");
            self.findings.push(Finding::new(Code::LogRespelled, self.path, message).line(line));
        }
        if log.diagnosis.duplicate == Some(Duplicate::Same) {
            let message =
                "it contains the same checkpoints as the log: a conversion was interrupted";
            self.findings.push(Finding::new(Code::Unfinished, path_of(log.form.other()), message));
        }
        if let Some(why) = &log.diagnosis.unreadable {
            self.view.complete = false;
            self.findings.push(Finding::new(Code::CheckpointLogUnreadable, self.path, why));
        }
        if log.diagnosis.torn > 0 {
            let message = format!("{} bytes follow the last whole line", log.diagnosis.torn);
            self.findings.push(Finding::new(Code::TornTail, self.path, message));
        }
    }

    fn fault(&mut self, number: CheckpointNumber, fault: &EntryFault, after: usize) {
        let code = match fault {
            EntryFault::Unreadable(_) => Code::CheckpointLogUnreadable,
            EntryFault::Field(..) => Code::FieldMalformed,
            EntryFault::Timestamp(_) => Code::TimestampMalformed,
            EntryFault::UnknownHashAlgorithm(..) => Code::UnknownHashAlgorithm,
            EntryFault::Conflict => Code::CheckpointLogUnreadable,
        };
        let mut message = format!("entry {number}: {fault}");
        if after > 0 && self.view.complete {
            message.push_str(&format!("; the {after} entries after it cannot be verified either"));
        }
        self.find(code, number, message);
        self.skipped += 1;
        self.view.complete = false;
    }

    fn not_compared(&mut self, number: CheckpointNumber) {
        let why = LogError::NotCompared { from: number };
        self.find(Code::TooLarge, number, why.to_string());
    }

    /// Checks an entry. `follows` is the hash computed from its record, if it differs from the
    /// recorded one.
    fn entry(&mut self, checkpoint: &Checkpoint, form: LogForm, follows: Option<Digest>) {
        let number = checkpoint.number;
        self.order(checkpoint);
        if form == LogForm::Delta {
            self.delta(checkpoint);
        }
        for (id, at, mark) in checkpoint.changes() {
            if let Some(mark) = mark {
                self.mark(number, id, mark);
            }
            self.view.records.entry(id.clone()).or_default().add(checkpoint, (id, at, mark));
        }
        for (id, mark) in &checkpoint.bound {
            self.binding(checkpoint, id, *mark, form);
        }
        checkpoint.apply(&mut self.view.head);
        self.trigger(checkpoint);
        // The entry after an unreadable one follows an unknown entry.
        if let Some(found) = follows.filter(|_| self.skipped == 0) {
            let message = "its hash does not follow from its fields and the checkpoint before";
            let finding = Finding::new(Code::CheckpointHashMismatch, self.path, message);
            let finding = Finding { line: self.line, ..finding };
            self.findings.push(finding.checkpoint(number).values(&checkpoint.hash, &found));
        }
        self.previous = Some((number, checkpoint.at, checkpoint.hash));
        self.skipped = 0;
        self.view.head_number = number;
        self.view.held.add_main(number, checkpoint.hash);
        if checkpoint.is_merge() {
            self.view.merges.insert(number);
        }
        if number == CheckpointNumber::FIRST {
            self.view.begun_by_ctx |= checkpoint.seals_governance();
        }
    }

    /// Checks the checkpoints of side lines by the rules of every checkpoint, each on its own line
    /// (MERGE-27).
    fn side_lines(&mut self, lines: &Lines<'_>) {
        let now = self.now;
        let (mut side_marks, mut side_removals) = (HashMap::new(), HashMap::new());
        for (side, before) in lines.sides() {
            let merge = lines.merged_by(side).unwrap_or_default();
            self.line = usize::try_from(merge.0).ok();
            let number = side.number;
            let mut find = |code, message: String| {
                self.find(code, merge, format!("checkpoint {number} of a side line: {message}"));
            };
            if side.at <= before.at {
                let message = format!("it is dated {}, like or before the one it follows", side.at);
                find(Code::TimestampOrder, message);
            }
            if side.at > now {
                let message = format!("it is dated {}, later than the clock", side.at);
                find(Code::TimestampFuture, message);
            }
            let is_wrong = match side.is_merge() {
                true => lines.trigger_of(side) != Some(&side.triggered_by),
                false => side.greatest() != Some(&side.triggered_by),
            };
            if is_wrong {
                let message =
                    format!("it says `{}`, which is not the greatest id", side.triggered_by);
                let code = match side.is_merge() {
                    true => Code::MergeMismatch,
                    false => Code::CheckpointTriggerMismatch,
                };
                find(code, message);
            }
            for id in &side.removed {
                side_removals.entry(id.clone()).or_insert_with(BTreeSet::new).insert(side.at);
                if lines.before(side, id).0.is_none() {
                    find(
                        Code::FieldMalformed,
                        format!("it removes `{id}`, which was not published"),
                    );
                }
            }
            for (id, mark) in &side.set {
                let marks = side_marks.entry(id.clone()).or_insert_with(Vec::new);
                marks.push((merge, *mark));
                let (value, last) = lines.before(side, id);
                if value == Some(*mark) {
                    find(Code::FieldMalformed, format!("it sets `{id}` without changing it"));
                }
                if mark.sealed().is_none() {
                    find(
                        Code::CheckpointHashMissing,
                        format!("`{id}` is in one of the two maps only"),
                    );
                }
                if let (Some(version), Some(last)) = (mark.version, last)
                    && version < last
                {
                    let message = format!("`{id}` goes back from version {last} to {version}");
                    find(Code::VersionRegression, message);
                }
                if let Some(why) = id.unfit() {
                    find(Code::IdCollision, why.to_string());
                }
            }
        }
        (self.view.side_marks, self.view.side_removals) = (side_marks, side_removals);
        for (side, found) in lines.hash_faults() {
            let merge = lines.merged_by(side).unwrap_or_default();
            let message = format!(
                "the hash of checkpoint {} of a side line does not follow from its fields and the \
                 checkpoint before",
                side.number
            );
            let finding = Finding::new(Code::CheckpointHashMismatch, self.path, message);
            self.findings.push(finding.checkpoint(merge).values(&side.hash, &found));
        }
    }

    fn order(&mut self, checkpoint: &Checkpoint) {
        let number = checkpoint.number;
        let before = self.previous.map_or(CheckpointNumber::NONE, |(before, ..)| before);
        let expected = CheckpointNumber(before.0.saturating_add(self.skipped)).next();
        if number != expected {
            let mut message = format!("expected checkpoint {expected}, but found {number}");
            if number < expected {
                let _ = write!(message, " again, {}", torn_tail::UNION);
            }
            self.find(Code::CheckpointGap, number, message);
        }
        if let Some((before, at, _)) = self.previous
            && checkpoint.at < at
        {
            let message =
                format!("it is dated {}, but checkpoint {before} is dated {at}", checkpoint.at);
            self.find(Code::TimestampOrder, number, message);
        }
        if checkpoint.at > self.now {
            let message = format!("it is dated {}, but the clock says {}", checkpoint.at, self.now);
            self.find(Code::TimestampFuture, number, message);
        }
    }

    /// Checks that a line of a delta log records only changes, so that one state has one sequence
    /// of lines.
    fn delta(&mut self, checkpoint: &Checkpoint) {
        let number = checkpoint.number;
        for id in &checkpoint.removed {
            if self.view.head.get(id.as_str()).is_none() {
                let message = format!("it removes `{id}`, which was not published");
                self.find(Code::FieldMalformed, number, message);
            }
        }
        for (id, mark) in &checkpoint.set {
            if self.view.head.get(id.as_str()) == Some(mark) {
                let message = format!("it sets `{id}` without changing it");
                self.find(Code::FieldMalformed, number, message);
            }
        }
    }

    fn mark(&mut self, number: CheckpointNumber, id: &DocumentId, mark: Mark) {
        if let Some(why) = id.unfit() {
            let finding = Finding::new(Code::IdCollision, self.path, why.to_string());
            self.findings.push(finding.id(id).checkpoint(number));
        }
        if mark.sealed().is_none() {
            let message = "it is in one of the two maps only";
            let finding = Finding::new(Code::CheckpointHashMissing, self.path, message);
            self.findings.push(finding.id(id).checkpoint(number));
        }
        if let Some(version) = mark.version {
            let highest = self.highest.entry(id.clone()).or_insert(version);
            if version < *highest {
                let finding = Finding::new(
                    Code::VersionRegression,
                    self.path,
                    format!("it goes back from version {highest} to {version}"),
                );
                self.findings.push(finding.id(id).version(version).checkpoint(number));
            }
            *highest = version.max(*highest);
        }
    }

    /// Checks a bound chain whose entry in the maps changed.
    fn binding(
        &mut self,
        checkpoint: &Checkpoint,
        id: &DocumentId,
        mark: Option<Mark>,
        form: LogForm,
    ) {
        // The lines of the log are checked as a whole.
        if id.is_log() {
            return;
        }
        let number = checkpoint.number;
        let before = self.view.head.bound().get(id).copied();
        let Some(mark) = mark else {
            // The reference implementation drops unknown entries from its events.
            if form == LogForm::Delta {
                let message = format!("it removes `{id}`, but ctx never does");
                self.find(Code::FieldMalformed, number, message);
            }
            if id.is_staging_chain() {
                self.view.chains.change(id.clone(), number, None);
            }
            return;
        };
        if form == LogForm::Delta && before == Some(mark) {
            let message = format!("it sets `{id}` without changing it");
            self.find(Code::FieldMalformed, number, message);
        }
        let Some((version, hash)) = mark.sealed() else {
            let finding = Finding::new(
                Code::CheckpointHashMissing,
                self.path,
                "it is in one of the two maps only",
            );
            self.findings.push(finding.id(id).checkpoint(number));
            return;
        };
        let last = before.and_then(|mark| mark.version).filter(|last| version < *last);
        if let Some(last) = last {
            let message = format!("it goes back from line {last} to {version}");
            let finding = Finding::new(Code::VersionRegression, self.path, message);
            self.findings.push(finding.id(id).checkpoint(number));
        }
        let (id, seq) = (id.clone(), version.0);
        if id.is_staging_chain() {
            self.view.chains.change(id, number, Some((seq, hash)));
            return;
        }
        let at = checkpoint.bound_at(&id, mark);
        self.view.bindings.push(Binding { checkpoint: number, at, id, seq, hash });
    }

    fn trigger(&mut self, checkpoint: &Checkpoint) {
        let trigger = &checkpoint.triggered_by;
        // That of a merge is compared with all that it merged.
        if checkpoint.is_merge() {
            return;
        }
        let is_changed = checkpoint.set.iter().any(|(id, _)| id == trigger)
            || checkpoint.removed.contains(trigger);
        if is_changed {
            return;
        }
        let is_known =
            self.view.records.contains_key(trigger) || replay::has_history(self.files, trigger);
        let (code, message) = match is_known {
            true => (
                Code::CheckpointTriggerUnchanged,
                "it does not change the document that triggered it",
            ),
            false => (
                Code::CheckpointTriggerUnknown,
                "neither the log nor a history contains the document that triggered it",
            ),
        };
        let finding = Finding::new(code, self.path, message);
        self.findings.push(finding.id(trigger).checkpoint(checkpoint.number));
    }
}

/// Checks a log that must follow from the histories. Its checkpoints must satisfy further rules,
/// because `ctx` writes nothing else (`spec/checkpoint.md`, CKPT-3, 4, 6).
pub(super) fn check_strictly(log: &Log, rules: &Rules) -> Gathered {
    let path = log.path();
    let mut findings = Gathered::new(OF_VAULT);
    let mut find = |code, checkpoint, message: String| {
        findings.push(Finding::new(code, path, message).checkpoint(checkpoint));
    };
    let mut before: Option<(CheckpointNumber, Timestamp)> = None;
    for checkpoint in log.entries.iter().flatten() {
        let number = checkpoint.number;
        if rules.is_strict(number) {
            if let Some((earlier, at)) = before.filter(|(_, at)| checkpoint.at == *at) {
                let message = format!("it is dated {at}, like checkpoint {earlier}");
                find(Code::TimestampOrder, number, message);
            }
            match checkpoint.greatest() {
                None => find(Code::FieldMalformed, number, "it changes nothing".to_owned()),
                Some(greatest) if *greatest != checkpoint.triggered_by => {
                    let message = format!(
                        "it says `{}`, but the greatest id of the event is `{greatest}`",
                        checkpoint.triggered_by
                    );
                    let code = match checkpoint.is_merge() {
                        true => Code::MergeMismatch,
                        false => Code::CheckpointTriggerMismatch,
                    };
                    find(code, number, message);
                }
                Some(_) => {}
            }
        }
        before = Some((number, checkpoint.at));
    }
    findings
}

/// Checks the values that the merges of a log took from each side (MERGE-8, MERGE-9).
pub(super) fn check_merges(log: &Log, rules: &Rules) -> Vec<Finding> {
    let Ok(chronicle) = log.sound() else { return Vec::new() };
    if !chronicle.checkpoints().iter().any(|checkpoint| checkpoint.is_merge()) {
        return Vec::new();
    }
    let Ok(lines) = Lines::of(chronicle.checkpoints()) else { return Vec::new() };
    let is_governed =
        |trunk: &Checkpoint| rules.in_force.rules_before(trunk.number.next()).is_some();
    let finding = |(merge, why): (&Checkpoint, MergeFault)| {
        let number = lines.merged_by(merge).unwrap_or(merge.number);
        Finding::new(Code::MergeMismatch, log.path(), why.to_string()).checkpoint(number)
    };
    lines.faults(&is_governed).into_iter().map(finding).collect()
}
