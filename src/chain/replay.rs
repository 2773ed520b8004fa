//! Reconstruction: the text of a version, from its keyframe forward, every hash recomputed.

use std::borrow::Cow;

use super::diff;
use super::history::{ChainGap, Entry, Fault, History, HistoryError, Stored};
use super::preimage::chain_hash;
use crate::document::edit::Edit;
use crate::document::frontmatter::Status;
use crate::document::text::{is_normal, normalise, normalised, split};
use crate::document::{Document, Unreadable};
use crate::model::digest::Digest;
use crate::model::id::{Id, IdError};
use crate::model::layout::limit;
use crate::model::timestamp::Timestamp;
use crate::vault::files::{FileError, Files};

/// Why a version cannot be vouched for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// There is no history.
    #[error("it has no history")]
    HistoryMissing,
    /// The file is no history.
    #[error("the history cannot be read: {0}")]
    HistoryUnreadable(#[from] HistoryError),
    /// A file could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The history lacks this version.
    #[error("the history has no version {0}")]
    VersionMissing(u64),
    /// An entry is malformed.
    #[error("the entry on line {0} of the history is malformed")]
    Malformed(usize, Vec<Fault>),
    /// No full text to start from.
    #[error("no keyframe comes before it")]
    NoKeyframe,
    /// `v<N>.md` is not there.
    #[error("the keyframe `{0}` is missing")]
    KeyframeMissing(String),
    /// `v<N>.diff` is not there.
    #[error("the diff `{0}` is missing")]
    DiffMissing(String),
    /// The stored text or diff is not the one that was hashed.
    #[error("the stored text has hash {found}, but the history records {expected}")]
    ContentHash {
        /// As recorded.
        expected: Digest,
        /// As computed.
        found: Digest,
    },
    /// The entry is not bound to those before it.
    #[error("the entry has chain hash {found}, but the history records {expected}")]
    ChainHash {
        /// As recorded.
        expected: Digest,
        /// As computed.
        found: Digest,
    },
    /// The checkpoint log binds another version.
    #[error("the history records chain hash {found}, but the checkpoint log {expected}")]
    CrossChain {
        /// In the log.
        expected: Digest,
        /// In the history.
        found: Digest,
    },
    /// The diff does not apply.
    #[error("the diff does not apply: {0}")]
    Patch(#[from] diff::PatchError),
    /// No document can have the id.
    #[error(transparent)]
    Unfit(IdError),
    /// The text is no document.
    #[error("the text is {0}")]
    Text(Unreadable),
    /// The text grows beyond 16 MiB.
    #[error("the text is larger than 16 MiB")]
    TooLarge,
    /// Too much text was rebuilt since the last keyframe.
    #[error(
        "more than 2 GiB of text, or 24 MiB of frontmatter, would be rebuilt since the last full text"
    )]
    TooFarFromKeyframe,
    /// The text before it cannot be had.
    #[error("the version before it cannot be reconstructed")]
    NoBase,
    /// The text says that it is another version, or has another status, than the entry.
    #[error("the text describes itself as {found}, but the entry is {expected}")]
    SelfMismatch {
        /// What the entry says.
        expected: String,
        /// What the text says.
        found: String,
    },
    /// The recorded time of publication is not one that text and log allow.
    #[error("it is recorded as published at {recorded}, but {bound}")]
    PublicationTime {
        /// As recorded.
        recorded: Timestamp,
        /// What contradicts it.
        bound: String,
    },
    /// The history says that it was retired before the checkpoint that seals it.
    #[error("version {version} was retired at {at}")]
    Retired {
        /// The version.
        version: u64,
        /// When.
        at: Timestamp,
    },
    /// A retirement that changed more than a retirement changes.
    #[error("its retiring text changes more than status, version and updated_at")]
    RetiredOtherwise,
    /// A governance file's full text could be a diff from the version before, with the same hash.
    #[error("what is stored as its full text reads as a diff from the version before")]
    PatchAsKeyframe,
    /// A governance file's diff begins otherwise than writers begin diffs: it could be a full text.
    #[error("what is stored as its diff does not begin as a diff from the version before")]
    KeyframeAsPatch,
    /// What the log records of it cannot be had.
    #[error("what the checkpoint log records cannot be had: {0}")]
    Log(Box<dyn std::error::Error + Send + Sync>),
    /// The log has the document in one of its two maps only.
    #[error("the checkpoint log has it in one of its two maps only")]
    HalfSealed,
    /// The log seals a version that was never published.
    #[error("version {0} was never published")]
    Unpublished(u64),
}

impl From<ChainGap> for ChainError {
    fn from(gap: ChainGap) -> Self {
        match gap {
            ChainGap::Missing(version) => Self::VersionMissing(version),
            ChainGap::Faulty(line, faults) => Self::Malformed(line, faults),
            ChainGap::NoKeyframe => Self::NoKeyframe,
        }
    }
}

/// Whether the vault holds the history of an artifact, readable or not.
pub(crate) fn has_history(files: &Files, id: &Id) -> bool {
    files.exists(&id.history_path())
}

/// Reads the history of an artifact.
///
/// # Errors
/// [`ChainError::HistoryMissing`], or why it cannot be read.
pub fn load(files: &Files, id: &Id) -> Result<History, ChainError> {
    load_beyond(files, id, 0)
}

/// The same for who knows that a version is sealed: an end that is cut short lies beyond it, or else
/// the history is broken.
pub(crate) fn load_beyond(files: &Files, id: &Id, sealed: u64) -> Result<History, ChainError> {
    match files.read_optional(&id.history_path(), limit::HISTORY)? {
        Some(bytes) => Ok(History::read(&bytes, sealed)?),
        None => Err(ChainError::HistoryMissing),
    }
}

/// Steps through the entries of one history and keeps the text of the last one.
#[derive(Debug)]
pub struct Replay<'v> {
    files: &'v Files,
    id: &'v Id,
    previous: Option<Digest>,
    /// Whether the entry before could not be read, so that the next is bound to nothing known.
    lost: bool,
    text: Option<String>,
    as_written: bool,
    /// Bytes of the texts that were rebuilt since the last keyframe.
    rebuilt: u64,
    /// Bytes of the frontmatters among them.
    rebuilt_frontmatter: u64,
}

impl<'v> Replay<'v> {
    /// Starts after the entry with chain hash `previous`, before a keyframe.
    pub fn new(files: &'v Files, id: &'v Id, previous: Option<Digest>) -> Self {
        Self {
            files,
            id,
            previous,
            lost: false,
            text: None,
            as_written: true,
            rebuilt: 0,
            rebuilt_frontmatter: 0,
        }
    }

    /// Whether the text of the last entry is stored where and how a writer of ours stores it: in
    /// normal form, a diff within the history.
    pub fn is_as_written(&self) -> bool {
        self.as_written
    }

    /// The text of the last entry, in normal form.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The text of the last entry, in normal form, for whoever steps no further.
    pub fn into_text(self) -> Option<String> {
        self.text
    }

    /// Passes over an entry that could not be read: the next one's link to it is not checked, and
    /// no text is known before the next keyframe.
    pub fn lose(&mut self) {
        self.lost = true;
        self.text = None;
    }

    /// Recomputes one entry; gives back all that is wrong with it. The next entry is checked
    /// against the recorded chain hash, so that one altered entry is one finding.
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
        match self.next_text(entry, &mut wrong) {
            Ok(text) => self.text = Some(text),
            Err(error) => {
                self.text = None;
                wrong.push(error);
            }
        }
        wrong
    }

    /// What is hashed is the normal form of what is stored, so nothing else is built upon: another
    /// spelling of the same bytes must not give another text.
    fn next_text(
        &mut self,
        entry: &Entry,
        wrong: &mut Vec<ChainError>,
    ) -> Result<String, ChainError> {
        let mut check = |normal: &str| {
            let found = Digest::of(normal.as_bytes());
            if found != entry.content_hash {
                wrong.push(ChainError::ContentHash { expected: entry.content_hash, found });
            }
        };
        let diff = match &entry.stored {
            Stored::Keyframe => {
                let path = self.id.keyframe_path(entry.version);
                let Some(bytes) = self.files.read_optional(&path, limit::DOCUMENT)? else {
                    return Err(ChainError::KeyframeMissing(path));
                };
                let stored = owned_utf8(bytes)?;
                self.as_written = is_normal(&stored);
                let text = normalised(stored);
                check(&text);
                // A document says which version it is; a governance file could be its own diff.
                if !self.id.is_document()
                    && diff::could_be_one(&text, entry.version, self.text.as_deref())
                {
                    return Err(ChainError::PatchAsKeyframe);
                }
                (self.rebuilt, self.rebuilt_frontmatter) = (0, 0);
                return Ok(text);
            }
            Stored::Diff(diff) => Cow::Borrowed(diff),
            Stored::DiffFile => {
                let path = self.id.diff_path(entry.version);
                let Some(bytes) = self.files.read_optional(&path, limit::HISTORY)? else {
                    return Err(ChainError::DiffMissing(path));
                };
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
        // Thousands of tiny diffs of a large text would keep a reader busy for hours.
        let frontmatter = self.rebuilt_frontmatter > limit::REBUILT_FRONTMATTER;
        if self.rebuilt > limit::REBUILT || frontmatter {
            return Err(ChainError::TooFarFromKeyframe);
        }
        let text = diff::apply(base, &diff)?;
        self.rebuilt += text.len() as u64;
        if self.id.is_document() {
            let block = split(&text).ok().and_then(|parts| parts.frontmatter);
            self.rebuilt_frontmatter += block.map_or(0, |block| block.len() as u64);
        }
        if text.len() as u64 > limit::DOCUMENT { Err(ChainError::TooLarge) } else { Ok(text) }
    }
}

/// Bytes as text, without a copy.
fn owned_utf8(bytes: Vec<u8>) -> Result<String, ChainError> {
    String::from_utf8(bytes)
        .map_err(|e| ChainError::Text(Unreadable::NotUtf8 { offset: e.utf8_error().valid_up_to() }))
}

/// The text of a version in normal form; every entry from its keyframe on recomputed.
///
/// # Errors
/// The first reason why the text cannot be vouched for.
pub fn reconstruct(
    files: &Files,
    id: &Id,
    history: &History,
    version: u64,
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

/// A version that the chain vouches for, with what the log says of it.
#[derive(Clone, Debug)]
pub struct Sealed {
    /// Its record.
    pub entry: Entry,
    /// Its text in normal form.
    pub text: String,
    /// The parts of that text; none of a governance file.
    pub document: Option<Document>,
}

/// The version that a checkpoint seals: reconstructed, recomputed, bound to the log's hash, and
/// describing itself as what the log takes it for (`spec/resolve.md`, section 2).
///
/// # Errors
/// The first reason why it may not be served.
pub fn sealed(
    files: &Files,
    id: &Id,
    history: &History,
    version: u64,
    chain_hash: &Digest,
) -> Result<Sealed, ChainError> {
    if let Some(why) = id.unfit() {
        return Err(ChainError::Unfit(why));
    }
    let text = reconstruct(files, id, history, version)?;
    let entry = history.entry(version).ok_or(ChainError::VersionMissing(version))?.clone();
    if entry.chain_hash != *chain_hash {
        return Err(ChainError::CrossChain { expected: *chain_hash, found: entry.chain_hash });
    }
    if entry.published_at.is_none() {
        return Err(ChainError::Unpublished(version));
    }
    let document = self_described(id, &entry, &text)?;
    if let Some(document) = &document {
        let updated = document.frontmatter.updated_at.as_deref().and_then(|t| t.parse().ok());
        if let (Some(updated), Some(recorded)) = (updated, entry.published_at)
            && recorded < updated
        {
            let bound = format!("its text is of {updated}");
            return Err(ChainError::PublicationTime { recorded, bound });
        }
    }
    Ok(Sealed { entry, text, document })
}

/// The document that a text is. Governance files are stored verbatim and say nothing of themselves.
pub(crate) fn document_of(id: &Id, text: &str) -> Result<Option<Document>, ChainError> {
    if !id.is_document() {
        return Ok(None);
    }
    Document::parse(text).map(Some).map_err(ChainError::Text)
}

/// The document that a text is, if it says of itself what its entry says.
pub(crate) fn self_described(
    id: &Id,
    entry: &Entry,
    text: &str,
) -> Result<Option<Document>, ChainError> {
    let document = document_of(id, text)?;
    if let Some(document) = &document {
        let fields = &document.frontmatter;
        describes_itself(fields.version, &fields.status, entry)?;
    }
    Ok(document)
}

/// Whether a retiring text is what retiring makes of the text that was published last. No map holds
/// the hash of a retirement, so this is what binds it.
pub(crate) fn check_retirement(
    id: &Id,
    entry: &Entry,
    published: &str,
    text: &str,
) -> Result<(), ChainError> {
    let Some(at) = entry.retired_at else {
        return Ok(());
    };
    let expected = if id.is_document() {
        Edit::retirement(entry.version, at).apply(published).unwrap_or_default()
    } else {
        String::new()
    };
    if expected == text { Ok(()) } else { Err(ChainError::RetiredOtherwise) }
}

/// The text of a version that its entry, and what it follows, allow: it describes itself, and if it
/// is a retirement it changes what a retirement changes.
///
/// # Errors
/// The first reason why the text cannot be vouched for.
pub fn vouched(
    files: &Files,
    id: &Id,
    history: &History,
    version: u64,
) -> Result<String, ChainError> {
    let text = reconstruct(files, id, history, version)?;
    let entry = history.entry(version).ok_or(ChainError::VersionMissing(version))?;
    self_described(id, entry, &text)?;
    if entry.retired_at.is_some() {
        let published =
            history.entries().rfind(|e| e.version < version && e.published_at.is_some());
        if let Some(published) = published {
            let before = reconstruct(files, id, history, published.version)?;
            check_retirement(id, entry, &before, &text)?;
        }
    }
    Ok(text)
}

/// Whether a document carries the version and status of its entry.
pub(crate) fn describes_itself(
    version: Option<u64>,
    status: &Status,
    entry: &Entry,
) -> Result<(), ChainError> {
    let published = *status == Status::Published;
    let word = |published: bool| {
        if published { "published" } else { "not published" }
    };
    let says = |version: Option<u64>, published: bool| {
        let number = version.map_or_else(|| "no version".to_owned(), |n| format!("version {n}"));
        format!("{number}, {}", word(published))
    };
    let expected = (Some(entry.version), entry.published_at.is_some());
    let found = (version, published);
    if expected == found {
        return Ok(());
    }
    Err(ChainError::SelfMismatch {
        expected: says(expected.0, expected.1),
        found: says(found.0, found.1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_rebuilds_no_more_text_than_its_limit() {
        let place = tempfile::tempdir().unwrap();
        let files = Files::open(place.path()).unwrap();
        let id: Id = "nodes/a".parse().unwrap();
        let diff = diff::print("a\n", "b\n", 1, 2);
        let entry = Entry {
            version: 2,
            content_hash: Digest::of(diff.as_bytes()),
            stored: Stored::Diff(diff),
            edited_by: "ana".to_owned(),
            edited_at: Timestamp::MIN,
            published_at: None,
            retired_at: None,
            note: None,
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
        assert_eq!(step(texts, heads).0, 1, "the chain hash is none");
        let too_far = ChainError::TooFarFromKeyframe.to_string();
        assert_eq!(step(texts + 1, 0), (2, too_far.clone()));
        assert_eq!(step(0, heads + 1), (2, too_far));
    }
}
