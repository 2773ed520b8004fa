//! What the log says of one artifact against what its history says, in both directions: versions,
//! times, removals.

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

/// What a log says of one artifact, to be asked for versions and times.
pub(super) struct SealIndex<'r> {
    pub(super) record: &'r Record,
    /// Where the seals of the history begin.
    begin: usize,
    /// The first seal of each version.
    first: BTreeMap<Version, &'r Seal>,
    /// The first removal at each time.
    removed: BTreeMap<Timestamp, CheckpointNumber>,
}

impl<'r> SealIndex<'r> {
    pub(super) fn new(record: &'r Record) -> Self {
        Self::of(record, 0, &Foreign::default())
    }

    /// The same for a history that has the seals from the place `begin` on. A foreign checkpoint
    /// seals nothing that it has in one of its maps only.
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

    /// The first checkpoint that seals a version.
    pub(super) fn first_seal(&self, version: Version) -> Option<CheckpointNumber> {
        self.first.get(&version).map(|seal| seal.checkpoint)
    }

    /// The first checkpoint of this time that removes the artifact.
    pub(super) fn removal_at(&self, at: Timestamp) -> Option<CheckpointNumber> {
        self.removed.get(&at).copied()
    }

    /// The last version that any checkpoint seals; 0 where there is none.
    pub(super) fn last_version(&self) -> Version {
        self.first.keys().next_back().copied().unwrap_or(Version::NONE)
    }
}

impl Pass<'_> {
    /// The checkpoint that seals the artifact first, in a record that only ctx can have made.
    pub(super) fn began_strictly(&self) -> Option<CheckpointNumber> {
        let began = self.sealed.record.seals.first().map(|seal| seal.checkpoint);
        began.filter(|checkpoint| self.rules.is_strict(*checkpoint))
    }

    /// Whether only ctx can have recorded a version: it, or what came next, was sealed so.
    pub(super) fn is_strictly_ours(&self, version: Version) -> bool {
        // The reference implementation does not know governance files.
        if !self.id.is_document() {
            return true;
        }
        let first = &self.sealed.first;
        let seal = first.range(version..).next().or_else(|| first.iter().next_back());
        seal.is_some_and(|(_, seal)| self.rules.is_strict(seal.checkpoint))
    }

    /// Whether the reference implementation, which does not know governance files, may have dropped
    /// this from the maps of the log.
    pub(super) fn may_be_dropped(&self) -> bool {
        !self.id.is_document() && self.view.form.is_some_and(LogForm::is_shared)
    }

    /// Whether an entry is one of a document in the foreign part of the log: no strict checkpoint
    /// seals the version or a later one.
    pub(super) fn is_foreign(&self, entry: &Entry) -> bool {
        let later = self.sealed.first.range(entry.version..).next();
        let is_taken_over = later.is_some_and(|(_, seal)| self.rules.is_strict(seal.checkpoint));
        self.id.is_document() && !is_taken_over && self.rules.foreign.covers_time(entry.edited_at)
    }

    /// Whether a removal is foreign, or is that of a document without a history by the first strict
    /// checkpoint.
    fn is_foreign_removal(&self, checkpoint: CheckpointNumber) -> bool {
        let foreign = &self.rules.foreign;
        let is_present = |seal: &Seal| seal.checkpoint < checkpoint && seal.mark.sealed().is_some();
        let present = &self.sealed.record.seals[self.sealed.begin..];
        foreign.covers(checkpoint)
            || foreign.covers_removal(checkpoint) && !present.iter().any(is_present)
    }

    /// Publication and retirement times stand in no pre-image; the text bounds them from below
    /// and the checkpoint from above. `updated` is the field of a document's text.
    pub(super) fn event_time(&mut self, entry: &Entry, updated: Option<Option<&str>>) {
        let Some(event) = entry.event_at() else {
            return;
        };
        let seal = self.sealed.first.get(&entry.version).copied();
        let seal = seal.filter(|_| entry.is_published());
        // Only ctx retires, and in a log of its own it does everything at one instant.
        let exact =
            entry.is_retirement() || seal.is_some_and(|seal| self.rules.is_strict(seal.checkpoint));
        let bound = |time: Timestamp| if exact { time == event } else { time <= event };
        let updated = updated.map(|field| field.and_then(|text| text.parse::<Timestamp>().ok()));
        let message = match updated {
            Some(None) => "the text has no `updated_at` that binds its time".to_owned(),
            Some(Some(updated)) if !bound(updated) => {
                format!("recorded for {event}, but the text is from {updated}")
            }
            // The reference implementation records an edit after it published it. A governance file
            // has no field of ours: it is published when it is recorded.
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

    /// Every version that the log seals must be the one that the history has.
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
        // The last retirement before the seal that is looked at: its version and its checkpoint.
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
                // A malformed entry of this version has been reported as such.
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

    /// Everything that was published or retired must be in the log, and the other way round.
    pub(super) fn unsealed(&mut self, history: &History) {
        // Without a readable log this would only repeat that there is none.
        if !self.view.complete {
            return;
        }
        let last_sealed = self.sealed.last_version();
        // Only what is published can be retired, and only once.
        let mut is_published = false;
        for entry in history.entries() {
            let version = entry.version;
            let event = || format!(" ({})", EventKey::of(entry));
            let is_tail = version > last_sealed;
            let is_stub = entry.forget == Forget::Stub && self.is_erased(entry);
            if entry.is_published() && !is_stub && !self.sealed.first.contains_key(&version) {
                let message = format!(
                    "the history records it as published{}, but no checkpoint holds it",
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
