//! The pass over one artifact: its history entry by entry, what the log says of it, and its live
//! file.

use std::collections::BTreeSet;

use super::finding::{Code, Finding};
use super::log::{Record, View};
use crate::chain::history::{Entry, FaultKind, History, HistoryError, Stored};
use crate::chain::replay::{self, ChainError, Replay};
use crate::document::frontmatter::Status;
use crate::document::id::Id;
use crate::document::text::{checksum, normalise};
use crate::document::{Document, utf8};
use crate::vault::Vault;
use crate::vault::clock::Timestamp;
use crate::vault::config::LogForm;
use crate::vault::files::FileError;
use crate::vault::layout::{self, limit};

/// What was found of one artifact, and how much was checked.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) findings: Vec<Finding>,
    pub(super) versions: u64,
    pub(super) published: bool,
    pub(super) notes: u64,
    pub(super) retirements: u64,
}

/// Checks everything that concerns one artifact.
pub(super) fn check(vault: &Vault, id: &Id, view: &View) -> Checked {
    let nothing = Record::default();
    let record = view.records.get(id).unwrap_or(&nothing);
    let mut pass = Pass { vault, id, view, record, checked: Checked::default() };
    let head = view.head.get(id.as_str()).and_then(|mark| mark.version);
    let head_text = match replay::load(vault.files(), id) {
        Ok(history) => {
            pass.leftovers(&history);
            let text = pass.history(&history, head);
            pass.sealed(&history);
            pass.unsealed(&history);
            text
        }
        Err(why) => {
            pass.no_history(&why);
            None
        }
    };
    if head.is_some() {
        pass.live(head_text.as_deref());
    }
    pass.checked
}

struct Pass<'p> {
    vault: &'p Vault,
    id: &'p Id,
    view: &'p View,
    record: &'p Record,
    checked: Checked,
}

impl Pass<'_> {
    fn push(&mut self, finding: Finding) {
        self.checked.findings.push(finding.id(self.id));
    }

    fn find(&mut self, code: Code, version: u64, message: impl Into<String>) {
        let path = self.id.history_path();
        self.push(Finding::new(code, path, message).version(version));
    }

    fn no_history(&mut self, why: &ChainError) {
        let path = self.id.history_path();
        let code = match why {
            ChainError::HistoryMissing if self.record.seals.is_empty() => {
                // A folder that holds nothing, or what an interrupted command left.
                if has_files(self.vault, &self.id.history_dir()) {
                    let message = "its folder holds files, but no history";
                    self.push(Finding::new(Code::Unfinished, path, message));
                }
                return;
            }
            ChainError::HistoryMissing => Code::HistoryMissing,
            ChainError::HistoryUnreadable(HistoryError::Empty) => Code::HistoryEmpty,
            ChainError::HistoryUnreadable(HistoryError::LineTooLong(_))
            | ChainError::File(FileError::TooLarge { .. }) => Code::TooLarge,
            _ => Code::HistoryUnreadable,
        };
        let message = match self.record.seals.len() {
            0 => why.to_string(),
            n => format!("{why}, but the log seals {n} of its versions"),
        };
        self.push(Finding::new(code, path, message));
    }

    /// Files beside the history that belong to none of its entries.
    fn leftovers(&mut self, history: &History) {
        let dir = self.id.history_dir();
        let listed = std::fs::read_dir(self.vault.root().join(&dir));
        for name in listed.into_iter().flatten().flatten().map(|entry| entry.file_name()) {
            let name = name.to_string_lossy();
            let stored = |version: u64| history.entry(version).map(|entry| &entry.stored);
            let version = |suffix| {
                let digits = name.strip_prefix('v')?.strip_suffix(suffix)?;
                crate::yaml::canonical_number(digits)
            };
            let belongs = *name == *layout::HISTORY
                || version(".md").and_then(stored) == Some(&Stored::Keyframe)
                || version(".diff").and_then(stored) == Some(&Stored::DiffFile);
            // A faulty entry may own any file; it is reported as such.
            if !belongs && history.slots.iter().all(|slot| slot.entry.is_ok()) {
                let message = "no entry of the history has this file";
                self.push(Finding::new(Code::Unfinished, format!("{dir}/{name}"), message));
            }
        }
    }

    /// Recomputes every entry; gives back the text of version `head`.
    fn history(&mut self, history: &History, head: Option<u64>) -> Option<String> {
        let mut replay = Replay::new(self.vault.files(), self.id, None);
        let mut seen = BTreeSet::new();
        let mut before: Option<(u64, Timestamp)> = None;
        let mut head_text = None;
        let mut published_text: Option<String> = None;
        let mut previous_failed = false;
        for slot in &history.slots {
            self.checked.versions += 1;
            if let Some(version) = slot.version {
                self.number(version, before.map(|(v, _)| v), &mut seen);
            }
            let entry = match &slot.entry {
                Ok(entry) => entry,
                Err(faults) => {
                    for fault in faults {
                        let (line, field) = (fault.line, fault.field);
                        let message = match fault.found.as_str() {
                            "nothing" => format!("line {line}: `{field}` is missing"),
                            found => {
                                format!("line {line}: `{field}` is `{}`", found.escape_debug())
                            }
                        };
                        let finding =
                            Finding::new(code_of(fault.kind), self.id.history_path(), message);
                        self.push(Finding { version: slot.version, ..finding });
                    }
                    replay.lose();
                    previous_failed = true;
                    before = slot.version.map(|v| (v, before.map_or(EPOCH, |(_, at)| at)));
                    continue;
                }
            };
            self.checked.published |= entry.published_at.is_some();
            self.checked.notes += u64::from(entry.note.is_some());
            if let Some((_, at)) = before
                && entry.edited_at < at
            {
                let message = format!("it is of {}, the one before of {at}", entry.edited_at);
                self.find(Code::TimestampOrder, entry.version, message);
            }
            if self.view.now.is_some_and(|now| entry.edited_at > now) {
                let message = format!("it is of {}, later than the clock", entry.edited_at);
                self.find(Code::TimestampFuture, entry.version, message);
            }
            before = Some((entry.version, entry.edited_at));
            let wrong = replay.step(entry);
            for why in &wrong {
                // What builds on a text that was just reported as lost says nothing new.
                if !(previous_failed && matches!(why, ChainError::NoBase)) {
                    self.chain_error(entry, why);
                }
            }
            previous_failed = replay.text().is_none();
            if let Some(text) = replay.text() {
                let text = normalise(text).into_owned();
                self.text(entry, &text);
                if let Some(published) = &published_text
                    && let Err(why) = replay::check_retirement(self.id, entry, published, &text)
                {
                    self.chain_error(entry, &why);
                }
                if entry.published_at.is_some() {
                    published_text = Some(text.clone());
                }
                if head == Some(entry.version) {
                    head_text = Some(text);
                }
            }
        }
        head_text
    }

    fn number(&mut self, version: u64, before: Option<u64>, seen: &mut BTreeSet<u64>) {
        if !seen.insert(version) {
            self.find(Code::VersionDuplicate, version, "it is recorded twice");
            return;
        }
        let Some(before) = before else { return };
        if version < before {
            self.find(Code::VersionOrder, version, format!("it follows version {before}"));
        } else if version > before.saturating_add(1) {
            let message = format!("it follows version {before}; what lies between is gone");
            self.find(Code::VersionGap, version, message);
        }
    }

    fn chain_error(&mut self, entry: &Entry, why: &ChainError) {
        let (version, stored) = (entry.version, &entry.stored);
        let code = match why {
            ChainError::ContentHash { .. } => Code::ContentHashMismatch,
            ChainError::ChainHash { .. } => Code::ChainHashMismatch,
            ChainError::KeyframeMissing(_) => Code::KeyframeMissing,
            ChainError::DiffMissing(_) => Code::DiffMissing,
            ChainError::TooLarge | ChainError::File(FileError::TooLarge { .. }) => Code::TooLarge,
            ChainError::SelfMismatch { .. } | ChainError::RetiredOtherwise => {
                Code::VersionSelfMismatch
            }
            ChainError::CrossChain { .. } => Code::CrossChainMismatch,
            _ => Code::VersionUnreconstructable,
        };
        let finding = Finding::new(code, self.place(stored, version, why), told(why));
        let finding = finding.version(version);
        self.push(match why {
            ChainError::ContentHash { expected, found }
            | ChainError::ChainHash { expected, found }
            | ChainError::CrossChain { expected, found } => finding.values(expected, found),
            ChainError::SelfMismatch { expected, found } => finding.values(expected, found),
            _ => finding,
        });
    }

    /// The file in which a fault of a version lies.
    fn place(&self, stored: &Stored, version: u64, why: &ChainError) -> String {
        let in_text = !matches!(why, ChainError::ChainHash { .. } | ChainError::NoBase);
        match stored {
            Stored::Keyframe if in_text => self.id.keyframe_path(version),
            Stored::DiffFile if in_text => self.id.diff_path(version),
            _ => self.id.history_path(),
        }
    }

    /// What a reconstructed document says of itself.
    fn text(&mut self, entry: &Entry, text: &str) {
        let version = entry.version;
        let document = match replay::document_of(self.id, text) {
            Ok(Some(document)) => document,
            Ok(None) => return self.event_time(entry, None),
            Err(why) => return self.chain_error(entry, &why),
        };
        if let Err(why) = replay::describes_itself(&document, entry) {
            self.chain_error(entry, &why);
        }
        let fields = &document.frontmatter;
        let actual = checksum(&text[document.parts.rest.clone()]).to_string();
        if let Some(recorded) = fields.checksum.as_ref().filter(|c| **c != actual) {
            let message = "its `checksum` field is not that of its body";
            let finding = Finding::new(Code::ChecksumMismatch, self.id.history_path(), message);
            self.push(finding.version(version).values(&actual, recorded));
        }
        self.event_time(entry, Some(fields.updated_at.as_deref()));
    }

    /// Publication and retirement times stand in no pre-image; the text bounds them from below
    /// and the checkpoint from above. `updated` is the field of a document's text.
    fn event_time(&mut self, entry: &Entry, updated: Option<Option<&str>>) {
        let Some(event) = entry.published_at.or(entry.retired_at) else {
            return;
        };
        let mismatch = |pass: &mut Self, message: String| {
            pass.find(Code::PublicationTimeMismatch, entry.version, message);
        };
        match updated.map(|field| field.and_then(|text| text.parse::<Timestamp>().ok())) {
            Some(None) => {
                mismatch(self, "the text has no `updated_at` that binds its time".to_owned());
            }
            // A governance file has no field of ours; it is published when it is recorded.
            None if event < entry.edited_at => {
                let message = format!("recorded for {event}, but made at {}", entry.edited_at);
                mismatch(self, message);
            }
            Some(Some(updated)) if updated > event => {
                let message = format!("recorded for {event}, but the text is of {updated}");
                mismatch(self, message);
            }
            _ => {}
        }
        let seals = self.record.seals.iter();
        let first = seals
            .filter(|seal| entry.published_at.is_some() && seal.mark.version == Some(entry.version))
            .map(|seal| (seal.checkpoint, seal.at))
            .next();
        if let Some((checkpoint, at)) = first
            && event > at
        {
            let message = format!("recorded for {event}, but checkpoint {checkpoint} is of {at}");
            mismatch(self, message);
        }
    }

    /// Every version that the log seals must be the one that the history has.
    fn sealed(&mut self, history: &History) {
        let retired: Vec<(u64, u64)> = history
            .entries()
            .filter_map(|entry| {
                let at = entry.retired_at?;
                let removal = self.record.removals.iter().find(|removal| removal.at == at)?;
                Some((removal.checkpoint, entry.version))
            })
            .collect();
        for seal in &self.record.seals {
            let Some(version) = seal.mark.version else {
                continue;
            };
            let at = |code, message: String| {
                Finding::new(code, self.id.history_path(), message)
                    .version(version)
                    .checkpoint(seal.checkpoint)
            };
            let back = |(checkpoint, number): &&(u64, u64)| {
                *checkpoint < seal.checkpoint && version <= *number
            };
            if let Some((checkpoint, _)) = retired.iter().find(back) {
                let message = format!("version {version} was retired at checkpoint {checkpoint}");
                self.push(at(Code::VersionRegression, message));
            }
            let Some(entry) = history.entry(version) else {
                // A malformed entry of this version has been reported as such.
                if !history.slots.iter().any(|slot| slot.version == Some(version)) {
                    let message = format!("the history has no version {version}");
                    self.push(at(Code::CheckpointVersionUnknown, message));
                }
                continue;
            };
            if let Some(expected) = seal.mark.chain_hash.filter(|hash| *hash != entry.chain_hash) {
                let message = "the history records another version than the log".to_owned();
                let finding = at(Code::CrossChainMismatch, message);
                self.push(finding.values(&expected, &entry.chain_hash));
            } else if entry.published_at.is_none() {
                let message = "the history does not say that it was published".to_owned();
                self.push(at(Code::CheckpointVersionUnpublished, message));
            }
        }
    }

    /// Everything that was published or retired must be in the log, and the other way round.
    fn unsealed(&mut self, history: &History) {
        // Without a readable log this would only repeat that there is none.
        if !self.view.complete {
            return;
        }
        let entries: Vec<&Entry> = history.entries().collect();
        for entry in &entries {
            let version = entry.version;
            let is_sealed = self.record.seals.iter().any(|s| s.mark.version == Some(version));
            if entry.published_at.is_some() && !is_sealed {
                let message = "the history says published, but no checkpoint holds it";
                self.find(Code::PublishedUnsealed, version, message);
            }
            if let Some(retired) = entry.retired_at
                && !self.record.removals.iter().any(|removal| removal.at == retired)
            {
                let message = "the history says retired, but no checkpoint of that time does";
                self.find(Code::PublishedUnsealed, version, message);
            }
        }
        let last_sealed = self.record.seals.iter().filter_map(|s| s.mark.version).max();
        for entry in &entries {
            let is_tail = entry.version > last_sealed.unwrap_or(0);
            if !is_tail || entry.published_at.is_some() {
                continue;
            }
            if entry.retired_at.is_some() {
                self.checked.retirements += 1;
                continue;
            }
            let (code, message) = match self.view.form {
                Some(LogForm::Full) => (Code::VersionUnpublished, "it was never published"),
                _ => (Code::VersionUnsealed, "it was never published, and nothing seals it"),
            };
            self.find(code, entry.version, message);
        }
        for removal in &self.record.removals {
            if entries.iter().any(|entry| entry.retired_at == Some(removal.at)) {
                continue;
            }
            // The other tool does not know governance files and drops them from its maps.
            let dropped = !self.id.is_document() && self.view.form == Some(LogForm::Full);
            let (code, message) = if dropped {
                (Code::PolicyUnsealed, "the other tool dropped it from the log")
            } else {
                (Code::UnrecordedRemoval, "it left the log, but its history does not say retired")
            };
            let finding = Finding::new(code, self.id.history_path(), message);
            self.push(finding.checkpoint(removal.checkpoint));
        }
    }

    /// Compares the live file of a published artifact with the sealed text.
    fn live(&mut self, sealed: Option<&str>) {
        let path = self.id.live_path();
        let drift = if self.id.is_document() { Code::Drift } else { Code::PolicyDrift };
        let bytes = match self.vault.files().read_optional(&path, limit::DOCUMENT) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                let code = if self.id.is_document() { Code::DocumentMissing } else { drift };
                self.push(Finding::new(code, path, "the file is not there"));
                return;
            }
            Err(why) => {
                self.push(Finding::new(drift, path, why.to_string()));
                return;
            }
        };
        // Where the sealed text cannot be had, that has been reported, and nothing is left to
        // compare with.
        let Some(sealed) = sealed else { return };
        let live = match utf8(&bytes) {
            Ok(live) => normalise(live),
            Err(why) => {
                self.push(Finding::new(drift, path, format!("the file is {why}")));
                return;
            }
        };
        if *live == *sealed {
            return;
        }
        let is_draft = self.id.is_document()
            && Document::parse(&live).is_ok_and(|d| d.frontmatter.status == Status::Draft);
        if !is_draft {
            let message = first_difference(sealed, &live);
            self.push(Finding::new(drift, path, message));
        }
    }
}

/// A chain error as a sentence; values that a finding has fields for are not repeated.
fn told(why: &ChainError) -> String {
    match why {
        ChainError::ContentHash { .. } => "what is stored is not what was hashed".to_owned(),
        ChainError::ChainHash { .. } => {
            "the entry is not the one that was chained to those before it".to_owned()
        }
        ChainError::SelfMismatch { .. } => {
            "the text says of itself something else than its entry".to_owned()
        }
        other => other.to_string(),
    }
}

const EPOCH: Timestamp = Timestamp::MIN;

fn code_of(kind: FaultKind) -> Code {
    match kind {
        FaultKind::EntryMalformed => Code::EntryMalformed,
        FaultKind::FieldMalformed => Code::FieldMalformed,
        FaultKind::TimestampMalformed => Code::TimestampMalformed,
        FaultKind::UnknownHashAlgorithm => Code::UnknownHashAlgorithm,
    }
}

/// Says on which line two texts begin to differ.
fn first_difference(sealed: &str, live: &str) -> String {
    let same = sealed.split('\n').zip(live.split('\n')).take_while(|(a, b)| a == b).count();
    format!("the live file differs from the published text from line {} on", same + 1)
}

fn has_files(vault: &Vault, dir: &str) -> bool {
    let dir = vault.root().join(dir);
    std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some())
}
