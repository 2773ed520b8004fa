//! Rebuilds the text of a version from its keyframe, and recomputes every hash.

use std::borrow::Cow;

use super::diff;
use super::diff::change::Changes;
use super::error::ChainError;
use super::history::{Entry, Forget, History, TextStorage};
use super::preimage::chain_hash;
use crate::files::vault::files::{FileError, Files};
use crate::text::document::Unreadable;
use crate::text::document::text::{is_normal, normalise, normalised, split};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;

/// A source of histories and of the texts that they name: a vault, or a bundle.
pub(crate) trait Histories: std::fmt::Debug + Sync {
    /// Returns the history of an artifact.
    ///
    /// # Errors
    /// Fails with [`ChainError::HistoryMissing`], or if the history cannot be read.
    fn history(&self, id: &DocumentId) -> Result<History, ChainError>;

    /// Returns the bytes of a keyframe or of a diff; `None` if the file is missing.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is too long.
    fn stored(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>, FileError>;
}

impl Histories for Files {
    fn history(&self, id: &DocumentId) -> Result<History, ChainError> {
        load(self, id)
    }

    fn stored(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
        self.read_optional(path, limit)
    }
}

/// Returns true if the vault has the history of an artifact, readable or not. For a chain that
/// checkpoints bind, its own file is checked.
pub(crate) fn has_history(files: &Files, id: &DocumentId) -> bool {
    match id.is_chain() {
        true => files.exists(id.as_str()),
        false => files.exists(&id.history_path()),
    }
}

/// Returns true if the folder for the history of an artifact has a file. A command that was
/// interrupted may leave an empty folder.
pub(crate) fn has_files(files: &Files, id: &DocumentId) -> bool {
    let names = files.names(&id.history_dir());
    names.map_or_else(|why| !why.is_absent(), |names| !names.is_empty())
}

/// Reads the history of an artifact.
///
/// # Errors
/// Fails with [`ChainError::HistoryMissing`], or if the history cannot be read.
pub fn load(files: &Files, id: &DocumentId) -> Result<History, ChainError> {
    load_beyond(files, id, Version::NONE)
}

/// Reads the history of an artifact whose version `sealed` is sealed. An incomplete end must be
/// beyond that version, or the history is damaged.
pub(crate) fn load_beyond(
    files: &Files,
    id: &DocumentId,
    sealed: Version,
) -> Result<History, ChainError> {
    match files.read_optional(&id.history_path(), limit::HISTORY)? {
        Some(bytes) => Ok(History::read(&bytes, sealed)?),
        None => Err(ChainError::HistoryMissing),
    }
}

/// Steps through the entries of one history and keeps the text of the last one.
#[derive(Debug)]
pub struct Replay<'v> {
    stored: Stored<'v>,
    id: &'v DocumentId,
    previous: Option<Digest>,
    /// True if the entry before could not be read: the link to it is then not checked.
    lost: bool,
    text: Option<String>,
    as_written: bool,
    /// Number of bytes of the texts that were rebuilt since the last keyframe.
    rebuilt: u64,
    /// Number of bytes of their frontmatters.
    rebuilt_frontmatter: u64,
    /// The changes of the last entry's diff, if lines are followed; `None` for a keyframe.
    changes: Option<Changes>,
    follows_lines: bool,
}

/// Place of the texts that are not in the history itself.
#[derive(Clone, Copy, Debug)]
enum Stored<'v> {
    /// Files next to the histories.
    Beside(&'v dyn Histories),
    /// The bytes of the only keyframe.
    Keyframe(&'v [u8]),
}

impl<'v> Replay<'v> {
    /// Begins after the entry with chain hash `previous`, before a keyframe.
    pub fn new(files: &'v Files, id: &'v DocumentId, previous: Option<Digest>) -> Self {
        Self::within(files, id, previous)
    }

    /// Begins like [`Replay::new`], with histories of any source.
    pub(crate) fn within(
        histories: &'v dyn Histories,
        id: &'v DocumentId,
        previous: Option<Digest>,
    ) -> Self {
        Self::of(Stored::Beside(histories), id, previous)
    }

    /// Begins without a vault: the first entry is a keyframe with these bytes, and each further
    /// entry contains its diff.
    pub(crate) fn of_keyframe(
        bytes: &'v [u8],
        id: &'v DocumentId,
        previous: Option<Digest>,
    ) -> Self {
        Self::of(Stored::Keyframe(bytes), id, previous)
    }

    fn of(stored: Stored<'v>, id: &'v DocumentId, previous: Option<Digest>) -> Self {
        Self {
            stored,
            id,
            previous,
            lost: false,
            text: None,
            as_written: true,
            rebuilt: 0,
            rebuilt_frontmatter: 0,
            changes: None,
            follows_lines: false,
        }
    }

    /// Returns the replay with the changes of each diff recorded.
    pub fn following_lines(self) -> Self {
        Self { follows_lines: true, ..self }
    }

    /// Returns the changes of the last entry's diff, if lines are followed; `None` for a keyframe.
    pub fn changes(&self) -> Option<&Changes> {
        self.changes.as_ref()
    }

    /// Returns true if the last entry is stored as ctx stores it: in normal form, and a diff in the
    /// history itself.
    pub fn is_as_written(&self) -> bool {
        self.as_written
    }

    /// Returns the text of the last entry, in normal form.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Returns the text of the last entry, in normal form, and ends the replay.
    pub fn into_text(self) -> Option<String> {
        self.text
    }

    /// Skips an entry that could not be read. The link of the next entry to it is not checked, and
    /// no text is known before the next keyframe.
    pub fn lose(&mut self) {
        self.lost = true;
        self.text = None;
    }

    /// Recomputes one entry, and returns all of its faults. The next entry is checked against the
    /// recorded chain hash, so that one altered entry is one finding.
    pub fn step(&mut self, entry: &Entry) -> Vec<ChainError> {
        let mut wrong = Vec::new();
        let found = chain_hash(
            self.previous.as_ref(),
            &entry.content_hash,
            entry.version,
            &entry.edited_by,
            entry.edited_at,
        );
        if found != entry.chain_hash && !self.lost {
            wrong.push(ChainError::ChainHash { expected: entry.chain_hash, found });
        }
        self.previous = Some(entry.chain_hash);
        self.lost = false;
        self.as_written = true;
        self.changes = None;
        match self.next_text(entry, &mut wrong) {
            Ok(text) => self.text = Some(text),
            Err(error) => {
                self.text = None;
                wrong.push(error);
            }
        }
        wrong
    }

    /// Returns the text of the next version. The normal form of the stored text is hashed, so only
    /// this form is used: another spelling of the same bytes must not have another result.
    fn next_text(
        &mut self,
        entry: &Entry,
        wrong: &mut Vec<ChainError>,
    ) -> Result<String, ChainError> {
        // Any text that is stored in its place is never read.
        if entry.forget == Forget::Erased {
            return Err(ChainError::Forgotten);
        }
        let mut check = |normal: &str| {
            let found = Digest::of(normal.as_bytes());
            if found != entry.content_hash {
                wrong.push(ChainError::ContentHash { expected: entry.content_hash, found });
            }
        };
        let diff = match &entry.stored {
            TextStorage::Keyframe => {
                let path = self.id.keyframe_path(entry.version);
                let bytes = match self.stored {
                    Stored::Beside(histories) => histories.stored(&path, limit::DOCUMENT)?,
                    Stored::Keyframe(bytes) => Some(bytes.to_vec()),
                };
                let Some(bytes) = bytes else { return Err(ChainError::KeyframeMissing(path)) };
                let stored = owned_utf8(bytes)?;
                self.as_written = is_normal(&stored);
                let text = normalised(stored);
                check(&text);
                // A document contains its version number; a governance file could be its own diff.
                if !self.id.is_document()
                    && diff::could_be_one(&text, entry.version, self.text.as_deref())
                {
                    return Err(ChainError::PatchAsKeyframe);
                }
                (self.rebuilt, self.rebuilt_frontmatter) = (0, 0);
                return Ok(text);
            }
            TextStorage::Diff(diff) => Cow::Borrowed(diff),
            TextStorage::DiffFile => {
                let path = self.id.diff_path(entry.version);
                let bytes = match self.stored {
                    Stored::Beside(histories) => histories.stored(&path, limit::HISTORY)?,
                    Stored::Keyframe(_) => None,
                };
                let Some(bytes) = bytes else { return Err(ChainError::DiffMissing(path)) };
                self.as_written = false;
                Cow::Owned(owned_utf8(bytes)?)
            }
        };
        let stored = diff;
        let diff = normalise(&stored);
        self.as_written &= is_normal(&stored);
        check(&diff);
        if !self.id.is_document() && !diff::is_of_version(&diff, entry.version) {
            return Err(ChainError::KeyframeAsPatch);
        }
        let base = self.text.as_deref().ok_or(ChainError::NoBase)?;
        // Thousands of tiny diffs of a large text would occupy a reader for hours.
        let frontmatter = self.rebuilt_frontmatter > limit::REBUILT_FRONTMATTER;
        if self.rebuilt > limit::REBUILT || frontmatter {
            return Err(ChainError::TooFarFromKeyframe);
        }
        let text = if self.follows_lines {
            let (text, changes) = Changes::of_patch(base, &diff)?;
            self.changes = Some(changes);
            text
        } else {
            diff::apply(base, &diff)?
        };
        self.rebuilt += text.len() as u64;
        if self.id.is_document() {
            let block = split(&text).ok().and_then(|parts| parts.frontmatter);
            self.rebuilt_frontmatter += block.map_or(0, |block| block.len() as u64);
        }
        if text.len() as u64 > limit::DOCUMENT { Err(ChainError::TooLarge) } else { Ok(text) }
    }
}

/// Converts bytes to text, without a copy.
fn owned_utf8(bytes: Vec<u8>) -> Result<String, ChainError> {
    String::from_utf8(bytes)
        .map_err(|e| ChainError::Text(Unreadable::NotUtf8 { offset: e.utf8_error().valid_up_to() }))
}

/// Returns the text of a version in normal form, with every entry from its keyframe on recomputed.
///
/// # Errors
/// Fails with the first reason why the chain does not vouch for the text.
pub fn reconstruct(
    files: &Files,
    id: &DocumentId,
    history: &History,
    version: Version,
) -> Result<String, ChainError> {
    let (previous, entries) = history.chain_to(version)?;
    let mut replay = Replay::new(files, id, previous);
    for entry in entries {
        if let Some(error) = replay.step(entry).into_iter().next() {
            return Err(error);
        }
    }
    Ok(replay.into_text().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::chain::history::EntryState;
    use crate::values::model::timestamp::Timestamp;

    #[test]
    fn replay_limits_the_text_that_it_rebuilds() {
        let place = tempfile::tempdir().unwrap();
        let files = Files::open(place.path()).unwrap();
        let id: DocumentId = "nodes/a".parse().unwrap();
        let diff = diff::print("a\n", "b\n", Version(1), Version(2));
        let entry = Entry {
            version: Version(2),
            content_hash: Digest::of(diff.as_bytes()),
            stored: TextStorage::Diff(diff),
            edited_by: "ana".to_owned(),
            edited_at: Timestamp::MIN,
            state: EntryState::Unpublished,
            note: None,
            forget: Forget::None,
            chain_hash: Digest::of(b""),
        };
        let step = |rebuilt: u64, rebuilt_frontmatter: u64| {
            let mut replay = Replay::new(&files, &id, None);
            (replay.text, replay.rebuilt) = (Some("a\n".to_owned()), rebuilt);
            replay.rebuilt_frontmatter = rebuilt_frontmatter;
            let wrong: Vec<String> = replay.step(&entry).iter().map(ToString::to_string).collect();
            (wrong.len(), wrong.last().cloned().unwrap_or_default())
        };
        let (texts, heads) = (limit::REBUILT, limit::REBUILT_FRONTMATTER);
        assert_eq!(step(texts, heads).0, 1, "only the chain hash is wrong");
        let too_far = ChainError::TooFarFromKeyframe.to_string();
        assert_eq!(step(texts + 1, 0), (2, too_far.clone()));
        assert_eq!(step(0, heads + 1), (2, too_far));
    }
}
