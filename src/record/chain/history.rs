//! `history.yaml`: the versions of one artifact. Histories are read leniently, and are only
//! appended to (`spec/history.md`).
//!
//! Reading collects the faults of each entry instead of stopping, because a verifier reports all of
//! them. [`History::chain_to`] is the strict view for callers that need sound versions. `spelling`
//! writes entries, and reads exactly this spelling; `read` reads any other equivalent YAML.

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
    /// Number of versions from one regular keyframe to the next.
    pub keyframe_interval: Option<u64>,
    /// The entries in file order.
    pub slots: Vec<Slot>,
    /// Number of bytes of the entries and of everything before them.
    pub length: u64,
    /// Number of bytes after the last whole entry, from an incomplete append.
    pub torn: u64,
    /// True if the file equals the bytes that [`History::append`] writes from the first entry on.
    /// An equivalent spelling is also read, but ctx did not write it.
    pub canonical: bool,
    /// Unknown keys, which are ignored and which no hash covers.
    pub unknown: UnknownKeys,
    /// Position and indentation for a new entry; `None` if the spelling of the file does not allow
    /// an append.
    tail: Option<Tail>,
}

/// Unknown keys of a history or of its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownKeys {
    /// Number of unknown keys.
    pub count: u64,
    /// The first few of them.
    pub first: Vec<UnknownKey>,
}

/// An unknown key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// The name of the key, or the beginning of a long one.
    pub name: String,
    /// The number of its line, from 1.
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
    /// The number of its first line, from 1.
    pub line: usize,
    /// The number of bytes before that line.
    pub at: u64,
    /// The version number, if it is valid.
    pub version: Option<Version>,
    /// The entry, or its faults.
    pub entry: Result<Entry, Vec<Fault>>,
}

/// Place where the text of a version is stored.
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

/// Event that an entry records for its version, decided when the entry is read (HIST-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// The version was published at this time (`published_at`).
    Published(Timestamp),
    /// The version retired the artifact at this time (`retired_at`).
    Retired(Timestamp),
    /// The version was never published.
    Unpublished,
}

serialize_as_words!(EntryState, TextStorage);

impl EntryState {
    /// Returns the state for the two fields of an entry; `None` if both are present.
    fn of(published_at: Option<Timestamp>, retired_at: Option<Timestamp>) -> Option<Self> {
        match (published_at, retired_at) {
            (Some(at), None) => Some(Self::Published(at)),
            (None, Some(at)) => Some(Self::Retired(at)),
            (None, None) => Some(Self::Unpublished),
            (Some(_), Some(_)) => None,
        }
    }

    /// Returns the value in reports: `published`, `retired` or `unpublished`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Published(_) => "published",
            Self::Retired(_) => "retired",
            Self::Unpublished => "unpublished",
        }
    }
}

/// The record of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The number of the version.
    pub version: Version,
    /// Place where its text is stored.
    pub stored: TextStorage,
    /// The principal who made the version.
    pub edited_by: String,
    /// The time when the version was made.
    pub edited_at: Timestamp,
    /// Event of the version, with its time.
    pub state: EntryState,
    /// A note that no hash covers.
    pub note: Option<String>,
    /// Mark of the reference implementation for texts that were erased. No hash covers it.
    pub forget: Forget,
    /// The hash of the keyframe or diff.
    pub content_hash: Digest,
    /// The hash that binds this entry to all before it.
    pub chain_hash: Digest,
}

/// Mark of the reference implementation for an erased text (HIST-40).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forget {
    /// The entry is not marked, like all entries of ctx.
    #[default]
    None,
    /// The text is to be forgotten, and is never read.
    Erased,
    /// The entry is the empty version that follows erased ones.
    Stub,
}

impl Entry {
    /// Returns the time of the event that published or retired the version.
    pub fn event_at(&self) -> Option<Timestamp> {
        self.published_at().or(self.retired_at())
    }

    /// Returns the time when the version was published.
    pub fn published_at(&self) -> Option<Timestamp> {
        if let EntryState::Published(at) = self.state { Some(at) } else { None }
    }

    /// Returns the time when the version retired its artifact.
    pub fn retired_at(&self) -> Option<Timestamp> {
        if let EntryState::Retired(at) = self.state { Some(at) } else { None }
    }

    /// Returns true if the version was published.
    pub fn is_published(&self) -> bool {
        matches!(self.state, EntryState::Published(_))
    }

    /// Returns true if the version retired its artifact.
    pub fn is_retirement(&self) -> bool {
        matches!(self.state, EntryState::Retired(_))
    }

    /// Returns the path of the file with the full text, or with the diff; `None` if the history
    /// itself contains the diff.
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
    /// The rule.
    pub kind: FaultKind,
    /// The name of the field.
    pub field: &'static str,
    /// The value that was found.
    pub found: String,
    /// The number of the line, from 1.
    pub line: usize,
}

/// The rule that an entry breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The entry is not a mapping, lacks a field, or has both or neither of keyframe and diff.
    EntryMalformed,
    /// A field is not in its canonical form.
    FieldMalformed,
    /// A timestamp is not in its canonical form.
    TimestampMalformed,
    /// A hash names another algorithm.
    UnknownHashAlgorithm,
}

/// Reason why a file is not a history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The bytes are not UTF-8.
    #[error("not UTF-8 at byte {0}")]
    NotUtf8(usize),
    /// A line is longer than 16 MiB.
    #[error("line {0} is longer than 16 MiB")]
    LineTooLong(usize),
    /// The file is not valid YAML of the supported kind, or not of this shape.
    #[error("{0}")]
    Yaml(#[from] yaml::Error),
    /// The history contains no version.
    #[error("it contains no version")]
    Empty,
    /// A merge of git left a conflict marker.
    #[error("line {0} is a conflict marker of git")]
    Conflict(usize),
    /// A merge of git left the lines of both sides.
    #[error("line {0} repeats the end of an entry, {UNION}", UNION = torn_tail::UNION)]
    Doubled(usize),
}

impl History {
    /// Returns a history without entries.
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

    /// Returns a history of these entries, which are not from a file.
    pub(crate) fn of(entries: impl IntoIterator<Item = Entry>) -> Self {
        let slot =
            |entry: Entry| Slot { line: 0, at: 0, version: Some(entry.version), entry: Ok(entry) };
        Self { slots: entries.into_iter().map(slot).collect(), ..Self::new() }
    }

    /// Parses a history: the spelling of ctx by a fast scan, any other by a YAML reader. Both
    /// return the same value.
    ///
    /// # Errors
    /// Fails if the file as a whole is not a history. Faults of single entries are in their slots.
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

    /// Parses a history whose end may be incomplete (HIST-39). An entry whose append was
    /// interrupted is ignored, with anything that a power cut left in its place. The incomplete
    /// part must be beyond version `sealed`.
    ///
    /// # Errors
    /// Fails like [`History::parse`] if no such beginning of the file is a history.
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
        // The remains of a power cut may look like that, too, and are then a torn end.
        match (whole, torn_tail::doubled(bytes)) {
            (Err(HistoryError::Yaml(_)), Some(line)) => Err(HistoryError::Doubled(line)),
            (whole, _) => whole,
        }
    }

    /// Returns the last entry's version; 0 for an empty history, `None` if it is not readable.
    pub fn last_version(&self) -> Option<Version> {
        self.slots.last().map_or(Some(Version::NONE), |slot| slot.version)
    }

    /// Returns the entries that a version is built from, beginning with its keyframe, and the chain
    /// hash before them.
    ///
    /// # Errors
    /// Fails if an entry of the chain is faulty, missing or out of order.
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

    /// Returns the version whose full text `version` is built from; `None` if one of the diffs is
    /// in a separate file.
    pub(crate) fn keyframe_of(&self, version: Version) -> Option<Version> {
        let (_, chain) = self.chain_to(version).ok()?;
        let (keyframe, diffs) = chain.split_first()?;
        let inside = |entry: &&Entry| matches!(entry.stored, TextStorage::Diff(_));
        diffs.iter().all(inside).then_some(keyframe.version)
    }

    /// Iterates over the sound entries, in file order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.slots.iter().filter_map(|slot| slot.entry.as_ref().ok())
    }

    /// Returns true if the reference implementation marked all of its texts as erased.
    pub(crate) fn is_erased(&self) -> bool {
        self.entries().any(|entry| entry.forget == Forget::Stub)
            && self.entries().all(|entry| entry.forget != Forget::None)
    }

    /// Returns the sound entry of a version.
    pub fn entry(&self, version: Version) -> Option<&Entry> {
        self.entries().find(|entry| entry.version == version)
    }

    /// Returns the number of diffs after the last full text.
    pub fn diffs_at_end(&self) -> usize {
        self.entries().rev().take_while(|entry| entry.stored != TextStorage::Keyframe).count()
    }

    /// Returns true if an entry can be appended, because the entries are a block list at the end of
    /// the file.
    pub fn is_appendable(&self) -> bool {
        self.tail.is_some()
    }

    /// Returns the bytes to append for a new entry; for a new history, those of the whole file.
    ///
    /// # Errors
    /// Fails if the spelling of the file does not allow an append, or if the file would exceed
    /// its limit.
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

/// Reason why an entry cannot be appended to a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The key `versions` is not the last one, or not in block form.
    #[error("its `versions` are not a block list at the end of the file")]
    Spelling,
    /// The file would be longer than 256 MiB.
    #[error("it would grow beyond 256 MiB")]
    TooLarge,
}

/// Reason why the strict view of a history does not contain a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainGap {
    /// This version is missing, or out of order.
    Missing(Version),
    /// An entry of the chain is faulty; contains its line and its faults.
    Faulty(usize, Vec<Fault>),
    /// No keyframe precedes the version.
    NoKeyframe,
}

#[cfg(test)]
mod tests;
