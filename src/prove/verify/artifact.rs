//! Check of one artifact: its history entry by entry, its seals in the log, and its live file.

use std::collections::BTreeSet;

use super::Known;
use super::capped::{Gathered, OF_ARTIFACT};
use super::finding::{Code, Finding};
use super::log::View;
use super::reformatted::{self, FORMATTER};
use super::reviewed::{ChangePart, Reviews};
use super::rules::Rules;
use super::sealed::SealIndex;
use super::staged::PromotedText;
use crate::files::vault::Vault;
use crate::files::vault::config::LogForm;
use crate::files::vault::files::FileError;
use crate::policy::in_force::{Decided, Moves};
use crate::policy::rules::is_act;
use crate::record::chain::aside::Aside;
use crate::record::chain::described::Described;
use crate::record::chain::error::ChainError;
use crate::record::chain::form::{self, Form, Sizes};
use crate::record::chain::history::{Entry, FaultKind, Forget, History, HistoryError, TextStorage};
use crate::record::chain::replay;
use crate::record::chain::vouched;
use crate::record::chain::walk::{Recomputed, Walk};
use crate::record::checkpoint::record::Record;
use crate::record::checkpoint::state::Mark;
use crate::record::torn_tail;
use crate::text::document::Document;
use crate::text::document::text::checksum;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::number::Version;
use crate::values::model::principal::Principal;
use crate::values::model::timestamp::Timestamp;
use crate::values::text_util::count;
use crate::write::commit::{self, Beyond};

/// Findings about one artifact, and counts of what was checked.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) findings: Gathered,
    pub(super) versions: u64,
    pub(super) published: bool,
    /// True if texts of versions exist without a history.
    pub(super) orphaned: bool,
    pub(super) notes: u64,
    pub(super) retirements: u64,
    /// Number of edited live files that are drafts or submitted.
    pub(super) drafts: u64,
    /// Submissions that belonged to sets.
    pub(super) parts: Vec<ChangePart>,
    /// Events of a governed vault that published or retired the artifact.
    pub(super) decided: Vec<Decided>,
    /// Published texts that name a staged entry as their origin.
    pub(super) promoted: Vec<PromotedText>,
}

impl Checked {
    /// Makes an empty result that keeps up to `most` findings of each kind.
    pub(super) fn new(most: usize) -> Self {
        let findings = Gathered::new(most);
        Self {
            findings,
            versions: 0,
            published: false,
            orphaned: false,
            notes: 0,
            retirements: 0,
            drafts: 0,
            parts: Vec::new(),
            decided: Vec::new(),
            promoted: Vec::new(),
        }
    }

    /// Adds the result of another artifact.
    pub(super) fn take(&mut self, other: Self) {
        self.findings.take(other.findings);
        self.versions += other.versions;
        self.published |= other.published;
        self.orphaned |= other.orphaned;
        self.notes += other.notes;
        self.retirements += other.retirements;
        self.drafts += other.drafts;
        self.parts.extend(other.parts);
        self.decided.extend(other.decided);
        self.promoted.extend(other.promoted);
    }
}

/// Checks everything about one artifact. `names` are the files in the folder of its history, if
/// they are known.
pub(super) fn check(
    vault: &Vault,
    id: &DocumentId,
    names: Option<&[String]>,
    known: &Known<'_>,
) -> Checked {
    let Known { view, rules, steps, moves } = *known;
    let nothing = Record::default();
    let record = view.records.get(id).unwrap_or(&nothing);
    let sealed = SealIndex::new(record);
    let checked = Checked::new(OF_ARTIFACT);
    let reviews = rules.in_force.was_governed().then(|| Reviews::new(id));
    let is_erased = false;
    let mut pass =
        Pass { vault, id, names, view, rules, moves, sealed, checked, is_erased, reviews };
    let mut head = view.head.get(id.as_str()).copied();
    // The version after the last sealed one retired an id that is no longer in the maps.
    let last = pass.sealed.last_version();
    let sealed = if head.is_none() && last > Version::NONE { last.next() } else { last };
    let head_text = match replay::load_beyond(vault.files(), id, sealed) {
        Ok(mut history) => {
            let is_aside = |version, hash: &str| has_aside(vault, id, names, version, hash);
            let contradicted = steps.contradicted(id, Some(&history), is_aside);
            contradicted.into_iter().for_each(|found| pass.push(found));
            let seals = record.seals.iter().map(|seal| (seal.checkpoint, seal.mark));
            let begin = match id.is_document() {
                true => rules.foreign.begin_of_history(seals, &record.removed_by(), Some(&history)),
                false => 0,
            };
            pass.sealed = SealIndex::of(record, begin, &rules.foreign);
            pass.is_erased = pass.may_be_erased(&history);
            if !pass.is_begun(&mut history) {
                return pass.checked;
            }
            pass.uncommitted(&history);
            pass.uncovered(&history);
            head = head.or_else(|| pass.dropped_mark(&history));
            let text = pass.history(&history, head.and_then(|mark| mark.sealed()));
            pass.name_formatters(&history);
            pass.review_end(&history, steps);
            pass.sealed(&history);
            pass.unsealed(&history);
            pass.aside(Some(&history));
            text
        }
        Err(why) => {
            let is_aside = |version, hash: &str| has_aside(vault, id, names, version, hash);
            let contradicted = steps.contradicted(id, None, is_aside);
            contradicted.into_iter().for_each(|found| pass.push(found));
            pass.no_history(&why);
            pass.aside(None);
            None
        }
    };
    if head.is_some_and(|mark| mark.version.is_some()) {
        pass.live(head_text.as_deref());
    }
    pass.checked
}

/// Returns true if a history aside has a version with a chain hash.
fn has_aside(
    vault: &Vault,
    id: &DocumentId,
    names: Option<&[String]>,
    version: Version,
    chain_hash: &str,
) -> bool {
    let may_exist = names.is_none_or(|names| names.iter().any(|name| name == layout::ASIDE));
    let has = |aside: &Aside<'_>| {
        let history = aside.load().ok();
        let entry = history.as_ref().and_then(|history| history.entry(version));
        entry.is_some_and(|entry| entry.chain_hash.to_string() == chain_hash)
    };
    may_exist && Aside::all(vault.files(), id).iter().any(has)
}

/// State of the check of one artifact.
pub(super) struct Pass<'p> {
    pub(super) vault: &'p Vault,
    pub(super) id: &'p DocumentId,
    pub(super) names: Option<&'p [String]>,
    pub(super) view: &'p View,
    pub(super) rules: &'p Rules,
    pub(super) moves: &'p Moves,
    pub(super) sealed: SealIndex<'p>,
    pub(super) checked: Checked,
    /// True if the reference implementation may have erased the texts.
    is_erased: bool,
    /// Reviews of the history; `None` in a vault that was never governed.
    pub(super) reviews: Option<Reviews>,
}

impl Pass<'_> {
    pub(super) fn push(&mut self, finding: Finding) {
        self.checked.findings.push(finding.id(self.id));
    }

    pub(super) fn find(&mut self, code: Code, version: Version, message: impl Into<String>) {
        let path = self.id.history_path();
        self.push(Finding::new(code, path, message).version(version));
    }

    /// Returns true if the history has entries other than those of an interrupted event at its end.
    /// Such entries were never acknowledged: they are reported once and not checked any further.
    fn is_begun(&mut self, history: &mut History) -> bool {
        let path = self.id.history_path();
        let last_sealed = self.sealed.last_version();
        let is_published = self.view.head.get(self.id.as_str()).is_some();
        let form = self.view.form.unwrap_or(LogForm::Delta);
        let beyond = Beyond::in_log(form, self.rules.in_force.was_governed());
        let beyond = beyond.but_for(self.view.undone.clone());
        let next = beyond.first_unsealed(self.id, history, last_sealed, is_published);
        let is_left = |event| commit::are_of(event, &commit::events_from(history, next));
        if !self.view.interrupted.as_ref().is_some_and(is_left) {
            if history.torn > 0 {
                let message = format!("{} bytes follow its last whole entry", history.torn);
                self.push(Finding::new(Code::TornTail, path, message));
            }
            return true;
        }
        // Missing sealed versions are reported elsewhere.
        let is_missing = next == 0 && last_sealed > Version::NONE;
        let left = history.slots.len() - next;
        if is_missing || left == 0 && history.torn == 0 {
            return true;
        }
        let mut parts = Vec::new();
        if left > 0 {
            parts.push(count(left, "entry"));
        }
        if history.torn > 0 {
            parts.push(count(usize::try_from(history.torn).unwrap_or(usize::MAX), "byte"));
        }
        let message = format!("it ends in {} that no checkpoint seals", parts.join(" and "));
        self.push(Finding::new(Code::Unfinished, path, message));
        history.slots.truncate(next);
        next > 0
    }

    fn no_history(&mut self, why: &ChainError) {
        let path = self.id.history_path();
        let code = match why {
            ChainError::HistoryMissing if self.sealed.record.seals.is_empty() => {
                // An empty folder, or uncommitted files of an interrupted command.
                let mut names =
                    self.vault.files().names(&self.id.history_dir()).unwrap_or_default();
                names.retain(|name| name != layout::ASIDE);
                self.checked.orphaned = names.iter().any(|name| layout::is_version_file(name));
                if !names.is_empty() {
                    let message = "its folder has files, but no history";
                    self.push(Finding::new(Code::Unfinished, path, message));
                }
                return;
            }
            ChainError::HistoryMissing if self.is_deleted() => Code::ForeignRecord,
            ChainError::HistoryMissing => Code::HistoryMissing,
            // None of its entries was ever acknowledged.
            ChainError::HistoryUnreadable(_)
                if self.view.interrupted.is_some() && self.sealed.record.seals.is_empty() =>
            {
                Code::Unfinished
            }
            ChainError::HistoryUnreadable(HistoryError::Empty) => Code::HistoryEmpty,
            ChainError::File(FileError::Io { .. }) => Code::FileUnreadable,
            ChainError::HistoryUnreadable(HistoryError::LineTooLong(_))
            | ChainError::File(FileError::TooLarge { .. }) => Code::TooLarge,
            _ => Code::HistoryUnreadable,
        };
        let message = match self.sealed.record.seals.len() {
            0 => why.to_string(),
            n if code == Code::ForeignRecord => {
                format!("{why}, but the log seals {n} of its versions: the document was deleted")
            }
            n => format!("{why}, but the log seals {n} of its versions"),
        };
        self.push(Finding::new(code, path, message));
    }

    /// Returns true if the reference implementation may have deleted the document with its history.
    /// Only foreign checkpoints seal it then. If the head still contains it, its live file is
    /// missing. A document that never had a version keeps its live file.
    fn is_deleted(&self) -> bool {
        let foreign = &self.rules.foreign;
        let is_gone = match self.view.head.get(self.id.as_str()) {
            None => true,
            Some(mark) => {
                let is_kept = self.vault.files().exists(&self.id.live_path());
                foreign.covers(self.view.head_number) && (mark.chain_hash.is_none() || !is_kept)
            }
        };
        let record = self.sealed.record;
        let is_deleted = record
            .seals
            .last()
            .is_none_or(|last| foreign.is_deleted(last.checkpoint, None, &record.removed_by()));
        is_gone && self.id.is_document() && is_deleted
    }

    /// Returns true if the reference implementation may have erased all texts of a history. The
    /// head does not contain the document then.
    fn may_be_erased(&self, history: &History) -> bool {
        self.id.is_document()
            && self.view.head.get(self.id.as_str()).is_none()
            && history.is_erased()
    }

    /// Returns true if the entry can be the result of an erasure.
    pub(super) fn is_erased(&self, entry: &Entry) -> bool {
        self.is_erased && self.is_foreign(entry)
    }

    /// Reports files next to the history that none of its entries uses.
    fn uncommitted(&mut self, history: &History) {
        let dir = self.id.history_dir();
        let listed;
        let names = match self.names {
            Some(names) => names,
            None => {
                listed = self.vault.files().names(&dir).unwrap_or_default();
                &listed
            }
        };
        // A faulty entry, which is reported itself, may own any file.
        if history.slots.iter().any(|slot| slot.entry.is_err()) {
            return;
        }
        let stored = history.entries().filter_map(|entry| entry.text_path(self.id));
        let stored: BTreeSet<String> = stored.chain([self.id.history_path()]).collect();
        let names = names.iter().filter(|name| *name != layout::ASIDE);
        for path in names.map(|name| format!("{dir}/{name}")) {
            if !stored.contains(&path) {
                let message = "no entry of the history uses this file";
                self.push(Finding::new(Code::Unfinished, path, message));
            }
        }
    }

    /// Adds to each finding about a changed text that a formatter may explain it.
    fn name_formatters(&mut self, history: &History) {
        let found = &mut self.checked.findings.findings;
        let lost = |finding: &&mut Finding| finding.code == Code::ContentHashMismatch;
        let altered: BTreeSet<Version> =
            found.iter_mut().filter(lost).filter_map(|finding| finding.version).collect();
        if altered.is_empty() {
            return;
        }
        let mut left = altered;
        for (ignored, words) in reformatted::KINDS {
            let respaced =
                reformatted::respaced((self.vault.files(), self.id), history, &left, ignored);
            let is_respaced =
                |found: &&mut Finding| found.version.is_some_and(|v| respaced.contains(&v));
            for finding in found.iter_mut().filter(lost).filter(is_respaced) {
                let verb = if words.contains(',') { "are" } else { "is" };
                finding.message.push_str(&format!(
                    ", but its history fits if {words} {verb} ignored: {FORMATTER} may have rewritten \
                     it (a change of lines that all later versions keep looks the same)"
                ));
            }
            left.retain(|version| !respaced.contains(version));
        }
    }

    /// Reports the parts of a history that no hash covers: other spellings, unknown keys, and the
    /// interval. A history of ctx has the interval that was configured when it began.
    fn uncovered(&mut self, history: &History) {
        let path = self.id.history_path();
        for key in &history.unknown.first {
            let message = format!("line {}: unknown key `{}`", key.line, key.name.escape_debug());
            self.push(Finding::new(Code::KeyUnknown, path.clone(), message).line(key.line));
        }
        let more = history.unknown.count.saturating_sub(history.unknown.first.len() as u64);
        if more > 0 {
            let message = format!("{more} more unknown keys");
            self.push(Finding::new(Code::KeyUnknown, path.clone(), message));
        }
        let Some(began) = self.began_strictly() else {
            return;
        };
        if !history.canonical {
            let message = "it does not have the bytes that ctx writes";
            self.push(Finding::new(Code::HistoryRespelled, path, message));
        }
        let expected = self.rules.interval_at(began);
        if history.keyframe_interval != Some(expected) {
            let found =
                history.keyframe_interval.map_or_else(|| "none".to_owned(), |n| n.to_string());
            let message =
                "its `keyframe_interval` is not the one that was configured when it began";
            let finding = Finding::new(Code::KeyframeInterval, self.id.history_path(), message);
            self.push(finding.values(&expected, &found));
        }
    }

    /// Recomputes every entry. Returns the text of the version that the head seals, if everything
    /// up to it verifies.
    fn history(&mut self, history: &History, head: Option<(Version, Digest)>) -> Option<String> {
        let mut walk = Walk::new(self.vault.files(), self.id, history);
        let mut seen = BTreeSet::new();
        let mut before: Option<(Version, Timestamp)> = None;
        let mut head_text = None;
        let interval = self.interval_of(history);
        while let Some(step) = walk.next() {
            self.checked.versions += 1;
            let slot = step.slot;
            if let Some(version) = slot.version {
                self.number(version, before.map(|(v, _)| v), &mut seen);
            }
            let mut recomputed = match step.version {
                Ok(recomputed) => recomputed,
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
                        self.push(Finding { version: slot.version, ..finding.line(line) });
                    }
                    before = slot.version.map(|v| (v, before.map_or(EPOCH, |(_, at)| at)));
                    self.lose_review(None);
                    continue;
                }
            };
            let entry = recomputed.entry;
            self.checked.published |= entry.is_published();
            self.checked.notes += u64::from(entry.note.is_some());
            if let Some(why) = unrecorded(&entry.edited_by)
                && self.is_strictly_ours(entry.version)
            {
                self.find(Code::FieldMalformed, entry.version, why);
            }
            if let Some((_, at)) = before
                && entry.edited_at < at
            {
                let message = format!("it is from {}, the entry before from {at}", entry.edited_at);
                self.find(Code::TimestampOrder, entry.version, message);
            }
            if self.view.now.is_some_and(|now| entry.edited_at > now) {
                let message = format!("it is from {}, later than the clock", entry.edited_at);
                self.find(Code::TimestampFuture, entry.version, message);
            }
            before = Some((entry.version, entry.edited_at));
            for why in &recomputed.wrong {
                // Entries based on a text that was just reported as lost add nothing new.
                match why {
                    ChainError::NoBase if recomputed.is_base_lost => {}
                    ChainError::Forgotten => self.forgotten(entry),
                    _ => self.chain_error(entry, why),
                }
            }
            if !recomputed.is_as_written && self.began_strictly().is_some() {
                let message = "its text is not stored as ctx stores texts";
                let path = self.place_of_text(entry);
                let finding = Finding::new(Code::HistoryRespelled, path, message);
                self.push(finding.version(entry.version));
            }
            let Some(text) = recomputed.text else {
                self.lose_review(Some(entry));
                continue;
            };
            self.review(entry, text);
            self.text(&mut recomputed, text);
            if let Some(before) = recomputed.bytes_before {
                let sizes = Sizes::of(before, text, recomputed.diffs_before);
                self.form(entry, form::prescribed(entry.version, interval, Some(sizes)));
            }
            if let Err(why) = recomputed.check_retirement() {
                self.chain_error(entry, &why);
            }
            if recomputed.is_sound && head == Some((entry.version, entry.chain_hash)) {
                head_text = Some(text.to_owned());
            }
        }
        head_text
    }

    /// Reports an entry whose text is not read because it is marked as forgotten.
    fn forgotten(&mut self, entry: &Entry) {
        if !self.is_erased(entry) {
            let message = "it is marked as forgotten, which ctx never does";
            self.find(Code::EntryMalformed, entry.version, message);
            return;
        }
        let paths = [self.id.keyframe_path(entry.version), self.id.diff_path(entry.version)];
        let kept = paths.into_iter().find(|path| self.vault.files().exists(path));
        let is_inside = matches!(entry.stored, TextStorage::Diff(_));
        match kept.or_else(|| is_inside.then(|| self.id.history_path())) {
            Some(path) => {
                let message = "its text is still stored, although it is marked as forgotten";
                let finding = Finding::new(Code::ForgottenPresent, path, message);
                self.push(finding.version(entry.version));
            }
            None => {
                let message = "its text was erased on purpose; its hashes match";
                self.find(Code::VersionForgotten, entry.version, message);
            }
        }
    }

    /// Returns the keyframe interval that the writers of a history followed.
    fn interval_of(&self, history: &History) -> u64 {
        let began =
            self.sealed.record.seals.first().map(|seal| seal.checkpoint).unwrap_or_default();
        history.keyframe_interval.unwrap_or_else(|| self.rules.interval_at(began))
    }

    /// Compares the form in which ctx must have stored a version with the actual form (VER-18).
    fn form(&mut self, entry: &Entry, prescribed: Form) {
        let is_ours = !self.id.is_document() || self.began_strictly().is_some();
        let is_act = !self.id.is_document() && self.reviews.is_some() && is_act(entry);
        if !is_ours || is_act || !self.is_strictly_ours(entry.version) {
            return;
        }
        let message = match (prescribed, &entry.stored) {
            (Form::Keyframe, TextStorage::Diff(_) | TextStorage::DiffFile) => {
                "it is stored as a diff, but ctx stores this version in full"
            }
            (Form::Diff, TextStorage::Keyframe) => {
                "it is stored in full, but ctx stores this version as a diff"
            }
            _ => return,
        };
        let path = self.place_of_text(entry);
        let finding = Finding::new(Code::VersionSelfMismatch, path, message);
        self.push(finding.version(entry.version));
    }

    fn number(&mut self, version: Version, before: Option<Version>, seen: &mut BTreeSet<Version>) {
        if !seen.insert(version) {
            let message = format!("it is recorded twice, {}", torn_tail::UNION);
            self.find(Code::VersionDuplicate, version, message);
            return;
        }
        let Some(before) = before else {
            // A history of ctx begins at 1.
            if version > Version::FIRST && self.began_strictly().is_some() {
                let message = format!("the history begins at version {version}");
                self.find(Code::VersionGap, version, message);
            }
            return;
        };
        if version < before {
            self.find(Code::VersionOrder, version, format!("it follows version {before}"));
        } else if version > before.next() {
            let message = format!("it follows version {before}; the versions between are missing");
            self.find(Code::VersionGap, version, message);
        }
    }

    fn chain_error(&mut self, entry: &Entry, why: &ChainError) {
        let finding = self.chain_fault(entry, why);
        self.push(finding);
    }

    /// Returns the finding for a fault of an entry.
    pub(super) fn chain_fault(&self, entry: &Entry, why: &ChainError) -> Finding {
        let version = entry.version;
        let code = match why {
            ChainError::ContentHash { .. } => Code::ContentHashMismatch,
            ChainError::ChainHash { .. } => Code::ChainHashMismatch,
            ChainError::KeyframeMissing(_) => Code::KeyframeMissing,
            ChainError::DiffMissing(_) => Code::DiffMissing,
            ChainError::TooLarge
            | ChainError::TooFarFromKeyframe
            | ChainError::File(FileError::TooLarge { .. }) => Code::TooLarge,
            ChainError::File(FileError::Io { .. }) => Code::FileUnreadable,
            ChainError::SelfMismatch { .. }
            | ChainError::RetiredOtherwise
            | ChainError::PatchAsKeyframe
            | ChainError::KeyframeAsPatch => Code::VersionSelfMismatch,
            _ => Code::VersionUnreconstructable,
        };
        let path = match why {
            ChainError::ChainHash { .. } | ChainError::NoBase => self.id.history_path(),
            _ => self.place_of_text(entry),
        };
        let finding = Finding::new(code, path, shown_text(why));
        let finding = finding.version(version);
        match why {
            ChainError::ContentHash { expected, found }
            | ChainError::ChainHash { expected, found } => finding.values(expected, found),
            ChainError::SelfMismatch { expected, found } => finding.values(expected, found),
            _ => finding,
        }
    }

    /// Returns the path of the file that contains the text or the diff of a version.
    fn place_of_text(&self, entry: &Entry) -> String {
        entry.text_path(self.id).unwrap_or_else(|| self.id.history_path())
    }

    /// Returns the last mark of a governance file that the reference implementation dropped
    /// from the log. It does not know such files, but the live file is still compared with the
    /// sealed text.
    fn dropped_mark(&self, history: &History) -> Option<Mark> {
        let mark = self.sealed.record.seals.last()?.mark;
        let is_retired = history
            .entries()
            .any(|entry| entry.is_retirement() && Some(entry.version) > mark.version);
        (self.may_be_dropped() && !is_retired).then_some(mark)
    }

    /// Checks the fields of a rebuilt document.
    fn text(&mut self, recomputed: &mut Recomputed<'_, '_>, text: &str) {
        let (entry, version) = (recomputed.entry, recomputed.entry.version);
        let described = match recomputed.describe() {
            Ok(Some(described)) => described,
            Ok(None) => return self.event_time(entry, None),
            Err(why) => return self.chain_error(entry, &why),
        };
        let Described { fields, rest } = described;
        let is_stub = entry.forget == Forget::Stub && text[rest.clone()].trim().is_empty();
        if is_stub && self.is_erased(entry) {
            let message = "it is the empty version that followed the erasure";
            self.find(Code::VersionForgotten, version, message);
        } else if let Err(why) = vouched::describes_itself(fields.version, &fields.status, entry) {
            self.chain_error(entry, &why);
        }
        let actual = checksum(&text[rest]).to_string();
        if let Some(recorded) = fields.checksum.as_ref().filter(|c| **c != actual) {
            let message = "its `checksum` field does not match its body";
            let finding = Finding::new(Code::ChecksumMismatch, self.id.history_path(), message);
            self.push(finding.version(version).values(&actual, recorded));
        }
        self.event_time(entry, Some(fields.updated_at.as_deref()));
        self.promotion(version, text);
    }

    /// Records the promotion that the published text names, unless the document was moved since.
    fn promotion(&mut self, version: Version, text: &str) {
        let head = self.view.head.get(self.id.as_str()).and_then(|mark| mark.version);
        if head != Some(version) || !text.contains(PROMOTED_FROM) {
            return;
        }
        let Ok(document) = Document::parse(text) else { return };
        let entry = document.frontmatter.promoted_from().map(str::to_owned);
        let root = document.frontmatter.root.as_ref();
        let is_moved = root.is_some_and(|root| root.get(DERIVED_FROM).is_some());
        if let Some(entry) = entry.filter(|_| !is_moved) {
            self.checked.promoted.push(PromotedText { id: self.id.clone(), version, entry });
        }
    }
}

/// Returns the reason why ctx never records this name in `edited_by`.
fn unrecorded(name: &str) -> Option<String> {
    let rule = "`edited_by` is not a principal that ctx records";
    match name.parse::<Principal>() {
        Ok(principal) if principal.as_str() == name => None,
        Ok(_) => Some(rule.to_owned()),
        Err(why) => Some(format!("{rule}: {why}")),
    }
}

/// Returns the message of a chain error, without values for which a finding has fields.
fn shown_text(why: &ChainError) -> String {
    match why {
        ChainError::ContentHash { .. } => {
            "the stored text or diff does not have the recorded hash".to_owned()
        }
        ChainError::ChainHash { .. } => {
            "the chain hash does not follow from the entry and the one before".to_owned()
        }
        ChainError::SelfMismatch { .. } => {
            "the text states another version or status than its entry".to_owned()
        }
        other => other.to_string(),
    }
}

/// Field of a document that was promoted from a staged entry (STAGE-16).
const PROMOTED_FROM: &str = "promoted_from";
/// Field of a document that was moved.
const DERIVED_FROM: &str = "derived_from";

const EPOCH: Timestamp = Timestamp::MIN;

pub(super) fn code_of(kind: FaultKind) -> Code {
    match kind {
        FaultKind::EntryMalformed => Code::EntryMalformed,
        FaultKind::FieldMalformed => Code::FieldMalformed,
        FaultKind::TimestampMalformed => Code::TimestampMalformed,
        FaultKind::UnknownHashAlgorithm => Code::UnknownHashAlgorithm,
    }
}
