//! `history.yaml`: the versions of one artifact, read leniently and only ever appended to
//! (`spec/history.md`).
//!
//! Reading gathers the faults of each entry instead of stopping, because a verifier wants them
//! all; [`History::chain_to`] is the strict view for those who need versions to be sound.
//! `spelling` is how an entry is written, and a reader of exactly that; `read` takes whatever else
//! says the same.

mod read;
mod spelling;

use crate::record::torn_tail;
use crate::values::codes::serialize_as_words;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;
use crate::values::yaml;
use spelling::spell;

/// A history as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Every how many versions a full text is stored.
    pub keyframe_interval: Option<u64>,
    /// The entries in file order.
    pub slots: Vec<Slot>,
    /// Bytes of the entries and what stands before them.
    pub length: u64,
    /// Bytes of the file after the last whole entry: an append that was cut short.
    pub torn: u64,
    /// Whether the file is, byte for byte, what [`History::append`] writes from the first entry on.
    /// Any other spelling says the same and is read too, but a writer of ours did not make it.
    pub canonical: bool,
    /// Keys that no rule names. They are ignored, and no hash covers them.
    pub unknown: UnknownKeys,
    /// What has to come before a new entry, and its indentation; none where the file is spelled
    /// so that nothing can be appended.
    tail: Option<Tail>,
}

/// Keys of a history or of its entries that mean nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownKeys {
    /// How many there are.
    pub count: u64,
    /// The first few.
    pub first: Vec<UnknownKey>,
}

/// A key that means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// Its name, or the beginning of a long one.
    pub name: String,
    /// The line where it stands.
    pub line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tail {
    newline: bool,
    indent: usize,
}

/// One item of `versions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The line where it begins.
    pub line: usize,
    /// Bytes of the file before that line.
    pub at: u64,
    /// Its version number, if it has one.
    pub version: Option<Version>,
    /// The entry, or what is wrong with it.
    pub entry: Result<Entry, Vec<Fault>>,
}

/// How a version's text is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextStorage {
    /// In full, in `v<N>.md`.
    Keyframe,
    /// As the diff from the version before, in the entry.
    Diff(String),
    /// As the diff from the version before, in `v<N>.diff`.
    DiffFile,
}

impl TextStorage {
    /// Returns the word in reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Keyframe => "keyframe",
            Self::Diff(_) | Self::DiffFile => "diff",
        }
    }
}

/// What an entry records of its version. It is decided once, when the entry is read (HIST-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// `published_at`: the version was published at this instant.
    Published(Timestamp),
    /// `retired_at`: the version retired the artifact at this instant.
    Retired(Timestamp),
    /// Neither: the version was never published.
    Unpublished,
}

serialize_as_words!(EntryState, TextStorage);

impl EntryState {
    /// The state that the two fields of an entry give; none if both are there.
    fn of(published_at: Option<Timestamp>, retired_at: Option<Timestamp>) -> Option<Self> {
        match (published_at, retired_at) {
            (Some(at), None) => Some(Self::Published(at)),
            (None, Some(at)) => Some(Self::Retired(at)),
            (None, None) => Some(Self::Unpublished),
            (Some(_), Some(_)) => None,
        }
    }

    /// The name in reports: `published`, `retired` or `unpublished`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Published(_) => "published",
            Self::Retired(_) => "retired",
            Self::Unpublished => "unpublished",
        }
    }
}

/// One version's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub version: Version,
    /// Where its text is.
    pub stored: TextStorage,
    /// Who made it.
    pub edited_by: String,
    /// When it was made.
    pub edited_at: Timestamp,
    /// Whether it was published or retired, and when.
    pub state: EntryState,
    /// A remark that no hash covers.
    pub note: Option<String>,
    /// True if the reference implementation erased texts on purpose. No hash covers it.
    pub forget: Forget,
    /// Hash of the keyframe or diff.
    pub content_hash: Digest,
    /// Hash that binds this entry to all before it.
    pub chain_hash: Digest,
}

/// What an entry says of the `forget` of the reference implementation (HIST-41).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forget {
    /// Nothing: each entry of ours.
    #[default]
    None,
    /// Its text is to be forgotten, and is never read.
    Erased,
    /// It is the empty version that follows those whose texts were erased.
    Stub,
}

impl Entry {
    /// The instant of the event that published or retired the version.
    pub fn event_at(&self) -> Option<Timestamp> {
        self.published_at().or(self.retired_at())
    }

    /// When the version was published.
    pub fn published_at(&self) -> Option<Timestamp> {
        if let EntryState::Published(at) = self.state { Some(at) } else { None }
    }

    /// When the version retired its artifact.
    pub fn retired_at(&self) -> Option<Timestamp> {
        if let EntryState::Retired(at) = self.state { Some(at) } else { None }
    }

    /// Whether the version was published.
    pub fn is_published(&self) -> bool {
        matches!(self.state, EntryState::Published(_))
    }

    /// Whether the version retired its artifact.
    pub fn is_retirement(&self) -> bool {
        matches!(self.state, EntryState::Retired(_))
    }

    /// The file with the version's full text, or with its diff where that is a file; none where the
    /// history itself has the diff.
    pub fn text_path(&self, id: &DocumentId) -> Option<String> {
        match self.stored {
            TextStorage::Keyframe => Some(id.keyframe_path(self.version)),
            TextStorage::DiffFile => Some(id.diff_path(self.version)),
            TextStorage::Diff(_) => None,
        }
    }
}

/// A fault of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which rule.
    pub kind: FaultKind,
    /// The field.
    pub field: &'static str,
    /// What stands there.
    pub found: String,
    /// The line.
    pub line: usize,
}

/// The rule that an entry breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The entry is no mapping, lacks a field, or has both or neither of keyframe and diff.
    EntryMalformed,
    /// A field has not its one form.
    FieldMalformed,
    /// A timestamp has not its one form.
    TimestampMalformed,
    /// A hash names another algorithm.
    UnknownHashAlgorithm,
}

/// Why a file is no history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// Bytes that are no text.
    #[error("not UTF-8 at byte {0}")]
    NotUtf8(usize),
    /// A line of more than 16 MiB.
    #[error("line {0} is longer than 16 MiB")]
    LineTooLong(usize),
    /// Not YAML that we read, or not of this shape.
    #[error("{0}")]
    Yaml(#[from] yaml::Error),
    /// There is no version in it.
    #[error("it holds no version")]
    Empty,
    /// A merge of git left its marks.
    #[error("line {0} is a conflict marker of git")]
    Conflict(usize),
    /// A merge of git left the lines of both sides.
    #[error("line {0} ends an entry for the second time, {UNION}", UNION = torn_tail::UNION)]
    Doubled(usize),
}

impl History {
    /// A history with nothing in it.
    pub fn new() -> Self {
        Self {
            keyframe_interval: None,
            slots: Vec::new(),
            length: 0,
            torn: 0,
            canonical: true,
            unknown: UnknownKeys::default(),
            tail: None,
        }
    }

    /// The history of these entries, which come from no file.
    pub(crate) fn of(entries: impl IntoIterator<Item = Entry>) -> Self {
        let slot =
            |entry: Entry| Slot { line: 0, at: 0, version: Some(entry.version), entry: Ok(entry) };
        Self { slots: entries.into_iter().map(slot).collect(), ..Self::new() }
    }

    /// Reads a history: one in our own spelling at the speed of a scan, any other by the reader of
    /// all YAML. Both give the same value.
    ///
    /// # Errors
    /// The file as a whole is not a history. Faults of single entries are in their slots.
    pub fn parse(bytes: &[u8]) -> Result<Self, HistoryError> {
        let text =
            std::str::from_utf8(bytes).map_err(|e| HistoryError::NotUtf8(e.valid_up_to()))?;
        let is_long = |line: &str| line.len() > limit::LINE;
        if let Some(n) = is_long(text).then(|| text.split('\n').position(is_long)).flatten() {
            return Err(HistoryError::LineTooLong(n + 1));
        }
        match spelling::read(text) {
            Some(history) => Ok(history),
            None => read::history(text),
        }
    }

    /// Reads a history whose end may be missing: an entry that was cut short while it was appended,
    /// and whatever a power cut left in its place, is no part of it (HIST-39). What is missing has
    /// to lie beyond version `sealed`.
    ///
    /// # Errors
    /// As [`History::parse`], where no such beginning of the file is a history.
    pub fn read(bytes: &[u8], sealed: Version) -> Result<Self, HistoryError> {
        let whole = Self::parse(bytes);
        let ends_well = |history: &Self| {
            let last = history.slots.last();
            last.is_some_and(|slot| slot.entry.is_ok() && slot.version >= Some(sealed))
        };
        let is_sound = |history: &Self| history.slots.last().is_some_and(|s| s.entry.is_ok());
        if whole.as_ref().is_ok_and(is_sound) {
            return whole;
        }
        if let Some(line) = torn_tail::conflict(bytes) {
            return Err(HistoryError::Conflict(line));
        }
        for end in torn_tail::ends_before_torn(bytes, whole.is_ok()) {
            if let Ok(mut history) = Self::parse(&bytes[..end])
                && ends_well(&history)
            {
                history.torn = (bytes.len() - end) as u64;
                return Ok(history);
            }
        }
        // What a power cut left may look like that too, and is a torn tail.
        match (whole, torn_tail::doubled(bytes)) {
            (Err(HistoryError::Yaml(_)), Some(line)) => Err(HistoryError::Doubled(line)),
            (whole, _) => whole,
        }
    }

    /// The last entry's version, if that can be read.
    pub fn last_version(&self) -> Option<Version> {
        self.slots.last().map_or(Some(Version::NONE), |slot| slot.version)
    }

    /// The entries from the keyframe that `version` is built from up to `version`, and the chain
    /// hash before them.
    ///
    /// # Errors
    /// Some slot on the way is faulty, missing or out of order.
    pub fn chain_to(&self, version: Version) -> Result<(Option<Digest>, Vec<&Entry>), ChainGap> {
        let end = self
            .slots
            .iter()
            .position(|s| s.version == Some(version))
            .ok_or(ChainGap::Missing(version))?;
        let mut chain = Vec::new();
        for (index, slot) in self.slots[..=end].iter().enumerate().rev() {
            let entry = slot
                .entry
                .as_ref()
                .map_err(|faults| ChainGap::Faulty(slot.line, faults.clone()))?;
            let between = (end - index) as u64;
            if entry.version.0 + between != version.0 {
                return Err(ChainGap::Missing(Version(version.0 - between)));
            }
            chain.push(entry);
            if entry.stored == TextStorage::Keyframe {
                chain.reverse();
                let previous = match index.checked_sub(1).map(|i| &self.slots[i].entry) {
                    None => None,
                    Some(Ok(before)) => Some(before.chain_hash),
                    Some(Err(faults)) => {
                        return Err(ChainGap::Faulty(self.slots[index - 1].line, faults.clone()));
                    }
                };
                return Ok((previous, chain));
            }
        }
        Err(ChainGap::NoKeyframe)
    }

    /// The version whose full text `version` is built from; `None` where a diff on the way is in a
    /// file of its own.
    pub(crate) fn keyframe_of(&self, version: Version) -> Option<Version> {
        let (_, chain) = self.chain_to(version).ok()?;
        let (keyframe, diffs) = chain.split_first()?;
        let inside = |entry: &&Entry| matches!(entry.stored, TextStorage::Diff(_));
        diffs.iter().all(inside).then_some(keyframe.version)
    }

    /// The entries that are sound, in file order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.slots.iter().filter_map(|slot| slot.entry.as_ref().ok())
    }

    /// Returns true if the reference implementation marked all of its texts as erased on purpose.
    pub(crate) fn is_erased(&self) -> bool {
        self.entries().any(|entry| entry.forget == Forget::Stub)
            && self.entries().all(|entry| entry.forget != Forget::None)
    }

    /// The entry of a version, if there is a sound one.
    pub fn entry(&self, version: Version) -> Option<&Entry> {
        self.entries().find(|entry| entry.version == version)
    }

    /// How many diffs follow the last full text.
    pub fn diffs_at_end(&self) -> usize {
        self.entries().rev().take_while(|entry| entry.stored != TextStorage::Keyframe).count()
    }

    /// Whether its entries are a block list at the end of the file, to which one can be appended.
    pub fn is_appendable(&self) -> bool {
        self.tail.is_some()
    }

    /// The bytes to append for a new entry; for a new history, the whole file.
    ///
    /// # Errors
    /// The file is spelled so that nothing can be appended, or would grow beyond its limit.
    pub fn append(&self, entry: &Entry, keyframe_interval: u64) -> Result<String, AppendError> {
        let text = match (self.slots.is_empty(), self.tail) {
            (true, _) => spelling::head(keyframe_interval) + &spell(entry, spelling::INDENT),
            (false, Some(tail)) => {
                let newline = if tail.newline { "" } else { "\n" };
                format!("{newline}{}", spell(entry, tail.indent))
            }
            (false, None) => return Err(AppendError::Spelling),
        };
        if self.length + text.len() as u64 > limit::HISTORY {
            return Err(AppendError::TooLarge);
        }
        Ok(text)
    }
}

impl Default for History {
    fn default() -> Self {
        Self::new()
    }
}

/// Why an entry cannot be appended to a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// `versions` is not the last key, or not in block form.
    #[error("its `versions` are not a block list at the end of the file")]
    Spelling,
    /// More than 256 MiB.
    #[error("it would grow beyond 256 MiB")]
    TooLarge,
}

/// Why the strict view of a history has no version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainGap {
    /// This version is not where it should be.
    Missing(Version),
    /// An entry on the way is faulty; its line.
    Faulty(usize, Vec<Fault>),
    /// No keyframe before the version.
    NoKeyframe,
}

#[cfg(test)]
mod tests;
