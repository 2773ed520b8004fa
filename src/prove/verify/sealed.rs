//! Compares the log with the history of one artifact, in both directions: versions, times
//! and removals.

use std::collections::{BTreeMap, HashSet};

use super::artifact::Pass;
use super::finding::{Code, Finding};
use crate::files::vault::config::LogForm;
use crate::record::chain::history::{Entry, EntryState, Forget, History};
use crate::record::checkpoint::foreign::Foreign;
use crate::record::checkpoint::record::{Record, Seal};
use crate::record::trusted_head::EventKey;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;
use crate::values::text_util::count;

/// Index over the seals and removals of one artifact by version and time.
pub(super) struct SealIndex<'r> {
    pub(super) record: &'r Record,
    /// Position of the first seal of this history.
    begin: usize,
    /// First seal of each version.
    first: BTreeMap<Version, &'r Seal>,
    /// First removal at each time.
    removed: BTreeMap<Timestamp, CheckpointNumber>,
}

impl<'r> SealIndex<'r> {
    pub(super) fn new(record: &'r Record) -> Self {
        Self::of(record, 0, &Foreign::default())
    }

    /// Makes an index for a history whose seals begin at position `begin`. A foreign checkpoint
    /// does not seal an artifact that is in only one of its maps.
    pub(super) fn of(record: &'r Record, begin: usize, foreign: &Foreign) -> Self {
        let mut first = BTreeMap::new();
        for seal in &record.seals[begin..] {
            let is_half = seal.mark.chain_hash.is_none() && foreign.covers(seal.checkpoint);
            if let Some(version) = seal.mark.version.filter(|_| !is_half) {
                first.entry(version).or_insert(seal);
            }
        }
        let mut removed = BTreeMap::new();
        for removal in &record.removals {
            removed.entry(removal.at).or_insert(removal.checkpoint);
        }
        Self { record, begin, first, removed }
    }

    /// Returns the first checkpoint that seals a version.
    pub(super) fn first_seal(&self, version: Version) -> Option<CheckpointNumber> {
        self.first.get(&version).map(|seal| seal.checkpoint)
    }

    /// Returns the first checkpoint at exactly this time that removes the artifact.
    pub(super) fn removal_at(&self, at: Timestamp) -> Option<CheckpointNumber> {
        self.removed.get(&at).copied()
    }

    /// Returns the last version that any checkpoint seals; 0 if none is sealed.
    pub(super) fn last_version(&self) -> Version {
        self.first.keys().next_back().copied().unwrap_or(Version::NONE)
    }
}

impl Pass<'_> {
    /// Returns the first checkpoint that seals the artifact, if only ctx can have made that record.
    pub(super) fn began_strictly(&self) -> Option<CheckpointNumber> {
        let began = self.sealed.record.seals.first().map(|seal| seal.checkpoint);
        began.filter(|checkpoint| self.rules.is_strict(*checkpoint))
    }

    /// Returns true if only ctx can have recorded a version: a strict checkpoint seals it or the
    /// next sealed one.
    pub(super) fn is_strictly_ours(&self, version: Version) -> bool {
        // The reference implementation does not know governance files.
        if !self.id.is_document() {
            return true;
        }
        let first = &self.sealed.first;
        let seal = first.range(version..).next().or_else(|| first.iter().next_back());
        seal.is_some_and(|(_, seal)| self.rules.is_strict(seal.checkpoint))
    }

    /// Returns true if the reference implementation may have dropped the artifact from the maps of
    /// the log, because it does not know governance files.
    pub(super) fn may_be_dropped(&self) -> bool {
        !self.id.is_document() && self.view.form.is_some_and(LogForm::is_shared)
    }

    /// Returns true if the entry belongs to a document in the foreign part of the log: no strict
    /// checkpoint seals the version or a later one.
    pub(super) fn is_foreign(&self, entry: &Entry) -> bool {
        let later = self.sealed.first.range(entry.version..).next();
        let is_taken_over = later.is_some_and(|(_, seal)| self.rules.is_strict(seal.checkpoint));
        self.id.is_document() && !is_taken_over && self.rules.foreign.covers_time(entry.edited_at)
    }

    /// Returns true if a removal is foreign, or if the first strict checkpoint removes a document
    /// without a history.
    fn is_foreign_removal(&self, checkpoint: CheckpointNumber) -> bool {
        let foreign = &self.rules.foreign;
        let is_present = |seal: &Seal| seal.checkpoint < checkpoint && seal.mark.sealed().is_some();
        let present = &self.sealed.record.seals[self.sealed.begin..];
        foreign.covers(checkpoint)
            || foreign.covers_removal(checkpoint) && !present.iter().any(is_present)
    }

    /// Checks the time of a publication or retirement. No pre-image contains it, but the text is
    /// not newer and the checkpoint not older. `updated` is the field of a document's text.
    pub(super) fn event_time(&mut self, entry: &Entry, updated: Option<Option<&str>>) {
        let Some(event) = entry.event_at() else {
            return;
        };
        let seal = self.sealed.first.get(&entry.version).copied();
        let seal = seal.filter(|_| entry.is_published());
        // Only ctx retires, and in its own log all times of an event are equal.
        let exact =
            entry.is_retirement() || seal.is_some_and(|seal| self.rules.is_strict(seal.checkpoint));
        let bound = |time: Timestamp| if exact { time == event } else { time <= event };
        let updated = updated.map(|field| field.and_then(|text| text.parse::<Timestamp>().ok()));
        let message = match updated {
            Some(None) => "the text has no `updated_at` that binds its time".to_owned(),
            Some(Some(updated)) if !bound(updated) => {
                format!("recorded for {event}, but the text is from {updated}")
            }
            // The reference implementation records the edit after the publication. The text of a
            // governance file has no such field: its edit time is that of the publication.
            _ if (exact || updated.is_none()) && !bound(entry.edited_at) => {
                format!("recorded for {event}, but edited at {}", entry.edited_at)
            }
            _ => match seal {
                Some(Seal { checkpoint, at, .. }) if event > *at || exact && event != *at => {
                    format!("recorded for {event}, but checkpoint {checkpoint} is from {at}")
                }
                _ => return,
            },
        };
        self.find(Code::PublicationTimeMismatch, entry.version, message);
    }

    /// Checks that the history contains every version that the log seals.
    pub(super) fn sealed(&mut self, history: &History) {
        let entries: BTreeMap<Version, &Entry> =
            history.entries().rev().map(|entry| (entry.version, entry)).collect();
        let slots: HashSet<Version> =
            history.slots.iter().filter_map(|slot| slot.version).collect();
        let mut retirements: Vec<(CheckpointNumber, Version)> = entries
            .values()
            .filter_map(|entry| {
                let checkpoint = self.sealed.removed.get(&entry.retired_at()?)?;
                Some((*checkpoint, entry.version))
            })
            .collect();
        retirements.sort_unstable();
        let mut retired = retirements.into_iter().peekable();
        // Version and checkpoint of the last retirement before the current seal.
        let mut last: Option<(Version, CheckpointNumber)> = None;
        let record = self.sealed.record;
        if let Some(last) = self.sealed.begin.checked_sub(1).map(|last| &record.seals[last]) {
            let versions = count(self.sealed.begin, "sealed version");
            let message =
                format!("the history lacks {versions}: the document was deleted and made again");
            let finding = Finding::new(Code::ForeignRecord, self.id.history_path(), message);
            self.push(finding.checkpoint(last.checkpoint));
        }
        for seal in &record.seals[self.sealed.begin..] {
            let Some(version) = seal.mark.version else {
                continue;
            };
            if seal.mark.sealed().is_none() && self.rules.foreign.covers(seal.checkpoint) {
                continue;
            }
            let at = |code, message: String| {
                Finding::new(code, self.id.history_path(), message)
                    .version(version)
                    .checkpoint(seal.checkpoint)
            };
            while let Some((checkpoint, number)) = retired.next_if(|(c, _)| *c < seal.checkpoint) {
                last = last.max(Some((number, checkpoint)));
            }
            if let Some((_, checkpoint)) = last.filter(|(number, _)| version <= *number) {
                let message = format!("version {version} was retired at checkpoint {checkpoint}");
                let finding = at(Code::VersionRegression, message);
                self.push(finding);
            }
            let Some(entry) = entries.get(&version) else {
                // A malformed entry of this version has been reported.
                if !slots.contains(&version) {
                    let message = format!("the history has no version {version}");
                    let finding = at(Code::CheckpointVersionUnknown, message);
                    self.push(finding);
                }
                continue;
            };
            if let Some(expected) = seal.mark.chain_hash.filter(|hash| *hash != entry.chain_hash) {
                let message = "the history and the log record different chain hashes".to_owned();
                let finding = at(Code::CrossChainMismatch, message);
                self.push(finding.values(&expected, &entry.chain_hash));
            } else if !entry.is_published() {
                let message = "the history does not record it as published".to_owned();
                let finding = at(Code::CheckpointVersionUnpublished, message);
                self.push(finding);
            }
        }
    }

    /// Checks that the log contains everything that was published or retired, and that the history
    /// records every removal.
    pub(super) fn unsealed(&mut self, history: &History) {
        // Without a readable log, this would only repeat that it is missing.
        if !self.view.complete {
            return;
        }
        let last_sealed = self.sealed.last_version();
        // Only a published artifact can be retired, and only once.
        let mut is_published = false;
        for entry in history.entries() {
            let version = entry.version;
            let event = || format!(" ({})", EventKey::of(entry));
            let is_tail = version > last_sealed;
            let is_stub = entry.forget == Forget::Stub && self.is_erased(entry);
            if entry.is_published() && !is_stub && !self.sealed.first.contains_key(&version) {
                let message = format!(
                    "the history records it as published{}, but no checkpoint contains it",
                    event()
                );
                self.find(Code::PublishedUnsealed, version, message);
            }
            if let Some(retired) = entry.retired_at()
                && !self.sealed.removed.contains_key(&retired)
            {
                let message = format!(
                    "the history records it as retired{}, but no checkpoint of that time removes it",
                    event()
                );
                self.find(Code::PublishedUnsealed, version, message);
            } else if entry.is_retirement() && !is_published {
                let message =
                    "the history records a retirement, but the document was not published";
                self.find(Code::PublishedUnsealed, version, message);
            }
            is_published = match entry.state {
                EntryState::Published(_) => true,
                EntryState::Retired(_) => false,
                EntryState::Unpublished => is_published,
            };
            if entry.is_retirement() {
                self.checked.retirements += u64::from(is_tail);
            }
            let is_event = entry.event_at().is_some();
            let is_step = self.reviews.as_ref().is_some_and(|r| r.steps.contains(&version));
            if is_event || is_step || !is_tail && !self.is_strictly_ours(version) {
                continue;
            }
            let (code, message) = match self.view.form.is_some_and(LogForm::is_shared) {
                true if self.id.is_document() => {
                    (Code::VersionUnpublished, "it was never published")
                }
                _ => (Code::VersionUnsealed, "it was never published, and no checkpoint seals it"),
            };
            self.find(code, version, message);
        }
        let mut retired: Vec<Timestamp> = history.entries().filter_map(Entry::retired_at).collect();
        retired.sort_unstable();
        for removal in &self.sealed.record.removals {
            if retired.binary_search(&removal.at).is_ok() {
                continue;
            }
            let is_governed = self.rules.in_force.rules_before(removal.checkpoint).is_some();
            let (code, message) = if self.may_be_dropped() && !is_governed {
                (Code::PolicyUnsealed, "the reference implementation removed it from the log")
            } else if self.id.is_document() && self.is_foreign_removal(removal.checkpoint) {
                let why =
                    "the checkpoint removes it: its live file was gone, or had another status";
                (Code::ForeignRecord, why)
            } else {
                (
                    Code::UnrecordedRemoval,
                    "the checkpoint removes it, but its history does not record a retirement",
                )
            };
            let finding = Finding::new(code, self.id.history_path(), message);
            self.push(finding.checkpoint(removal.checkpoint));
        }
    }
}
