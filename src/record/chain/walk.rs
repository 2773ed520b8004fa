//! Walks over the versions of one history: each entry in file order, recomputed, with its text.
//!
//! Every reader, verifier and repair of more than one version uses it, so that a vouched version
//! means the same to all of them.

use std::collections::BTreeSet;
use std::iter::Enumerate;
use std::slice;

use super::described::{self, Described};
use super::diff::change::Changes;
use super::error::ChainError;
use super::history::{Entry, Fault, History, Slot, TextStorage};
use super::replay::{Histories, Replay};
use super::vouched::{check_retirement, describes_itself};
use crate::text::document::review::ReviewFields;
use crate::values::model::id::DocumentId;

/// Walks over the entries of a history.
#[derive(Debug)]
pub(crate) struct Walk<'v> {
    id: &'v DocumentId,
    slots: Enumerate<slice::Iter<'v, Slot>>,
    replay: Replay<'v>,
    described: described::Reader,
    /// The entries whose texts a retirement is compared with.
    compared: BTreeSet<usize>,
    /// The last of their texts; `None` if it is lost.
    published: Option<String>,
    /// True if the text of the last entry is one of them.
    is_compared: bool,
    /// The text before a retirement.
    before: Option<String>,
    is_sound: bool,
    is_base_lost: bool,
    /// Number of diffs after the last keyframe.
    diffs: usize,
}

/// An entry without faults, its text, and the review fields of the text.
pub(crate) type Vouched<'w, 'v> = (&'v Entry, &'w str, Option<Box<ReviewFields>>);

/// One step of the walk.
pub(crate) struct Step<'w, 'v> {
    /// The place in the history.
    pub(crate) slot: &'v Slot,
    /// The version, or the faults of its entry.
    pub(crate) version: Result<Recomputed<'w, 'v>, &'v [Fault]>,
}

/// One version with the results of its recomputation.
pub(crate) struct Recomputed<'w, 'v> {
    pub(crate) entry: &'v Entry,
    /// Faults of its hashes and of its stored text.
    pub(crate) wrong: Vec<ChainError>,
    /// The text in normal form, if it can be rebuilt.
    pub(crate) text: Option<&'w str>,
    /// The changes of its diff, if the walk follows lines; `None` for a keyframe.
    pub(crate) changes: Option<&'w Changes>,
    /// Number of bytes of the text before it, if that could be rebuilt.
    pub(crate) bytes_before: Option<usize>,
    /// Number of diffs between the last keyframe and this version.
    pub(crate) diffs_before: usize,
    /// True if no entry from the keyframe up to here has a fault.
    pub(crate) is_sound: bool,
    /// True if the text of the version before is lost, which was reported there.
    pub(crate) is_base_lost: bool,
    /// True if the version is stored as ctx stores it.
    pub(crate) is_as_written: bool,
    id: &'v DocumentId,
    published: Option<&'w str>,
    before: Option<&'w str>,
    described: &'w mut described::Reader,
}

impl<'v> Walk<'v> {
    /// Begins before the first entry.
    pub(crate) fn new(
        histories: &'v dyn Histories,
        id: &'v DocumentId,
        history: &'v History,
    ) -> Self {
        Self {
            id,
            slots: history.slots.iter().enumerate(),
            replay: Replay::within(histories, id, None),
            described: described::Reader::default(),
            compared: compared(history),
            published: None,
            is_compared: false,
            before: None,
            is_sound: true,
            is_base_lost: false,
            diffs: 0,
        }
    }

    /// Returns the walk with the changes of each diff recorded.
    pub(crate) fn following_lines(self) -> Self {
        Self { replay: self.replay.following_lines(), ..self }
    }

    /// Recomputes the next entry.
    pub(crate) fn next(&mut self) -> Option<Step<'_, 'v>> {
        let (index, slot) = self.slots.next()?;
        if self.is_compared {
            self.published = self.replay.text().map(str::to_owned);
        }
        self.is_compared = self.compared.contains(&index);
        let retires = slot.entry.as_ref().is_ok_and(Entry::is_retirement);
        self.before = self.replay.text().filter(|_| retires).map(str::to_owned);
        let entry = match &slot.entry {
            Ok(entry) => entry,
            Err(faults) => {
                self.replay.lose();
                (self.is_sound, self.is_base_lost) = (false, true);
                return Some(Step { slot, version: Err(faults) });
            }
        };
        let bytes_before = self.replay.text().map(str::len);
        let wrong = self.replay.step(entry);
        let is_keyframe = entry.stored == TextStorage::Keyframe;
        self.is_sound = wrong.is_empty() && (self.is_sound || is_keyframe);
        let text = self.replay.text();
        let (is_base_lost, diffs_before) = (self.is_base_lost, self.diffs);
        self.is_base_lost = text.is_none();
        if text.is_some() {
            self.diffs = if is_keyframe { 0 } else { self.diffs + 1 };
        }
        let version = Ok(Recomputed {
            entry,
            wrong,
            text,
            changes: self.replay.changes(),
            bytes_before,
            diffs_before,
            is_sound: self.is_sound,
            is_base_lost,
            is_as_written: self.replay.is_as_written(),
            id: self.id,
            published: self.published.as_deref(),
            before: self.before.as_deref(),
            described: &mut self.described,
        });
        Some(Step { slot, version })
    }
}

impl<'w, 'v> Step<'w, 'v> {
    /// Returns the entry with its text and review fields, if neither has a fault; `None` for a
    /// version without text.
    ///
    /// # Errors
    /// Fails if the chain does not vouch for the version.
    pub(crate) fn vouched(self) -> Result<Option<Vouched<'w, 'v>>, ChainError> {
        let mut version = match self.version {
            Ok(version) => version,
            Err(faults) => return Err(ChainError::Malformed(self.slot.line, faults.to_vec())),
        };
        if !version.wrong.is_empty() {
            return Err(version.wrong.remove(0));
        }
        version.check_text()?;
        let fields = version.describe()?.and_then(|described| described.fields.review);
        Ok(version.text.map(|text| (version.entry, text, fields)))
    }
}

impl Recomputed<'_, '_> {
    /// Returns the fields of the text; `None` without a text, and for a governance file.
    ///
    /// # Errors
    /// Fails with [`ChainError::Text`].
    pub(crate) fn describe(&mut self) -> Result<Option<Described>, ChainError> {
        self.text.map_or(Ok(None), |text| self.described.read(self.id, text))
    }

    /// Refuses a text whose version or status differs from the entry.
    ///
    /// # Errors
    /// Fails with [`ChainError::Text`] or [`ChainError::SelfMismatch`].
    pub(crate) fn check_text(&mut self) -> Result<(), ChainError> {
        let described = self.describe()?;
        described.map_or(Ok(()), |Described { fields, .. }| {
            describes_itself(fields.version, &fields.status, self.entry)
        })
    }

    /// Refuses a retirement that changes more than a retirement may change of the text that was
    /// published last, or of the submission that was approved.
    ///
    /// # Errors
    /// Fails with [`ChainError::RetiredOtherwise`].
    pub(crate) fn check_retirement(&self) -> Result<(), ChainError> {
        match (self.published, self.text) {
            (Some(published), Some(text)) => {
                check_retirement(self.id, self.entry, (published, self.before), text)
            }
            _ => Ok(()),
        }
    }
}

/// Returns the slots whose texts retirements are compared with: for each, the last published one
/// before it.
fn compared(history: &History) -> BTreeSet<usize> {
    let mut last = None;
    let mut found = BTreeSet::new();
    for (index, slot) in history.slots.iter().enumerate() {
        match &slot.entry {
            Ok(entry) if entry.is_published() => last = Some(index),
            Ok(entry) if entry.is_retirement() => found.extend(last),
            _ => {}
        }
    }
    found
}
