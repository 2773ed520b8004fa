//! A part of a history that proves versions: the entries from a keyframe on, with exactly the
//! fields that their chain hashes cover (EVID-14).

use serde::{Deserialize, Serialize};

use crate::record::chain::history::{Entry, EntryState, Forget, TextStorage};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// Entries from a keyframe on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Segment {
    /// Id of the document or governance file.
    pub(crate) id: String,
    /// Chain hash of the entry before; `None` for the first entry of a history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<String>,
    /// The keyframe, whose text is in a separate file, then versions with their diffs.
    pub(crate) entries: Vec<SegmentEntry>,
}

/// One version, with the fields that a hash covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SegmentEntry {
    pub(crate) version: u64,
    /// Diff from the version before, in normal form; `None` for the keyframe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diff: Option<String>,
    pub(crate) edited_by: String,
    pub(crate) edited_at: String,
    pub(crate) content_hash: String,
    pub(crate) chain_hash: String,
}

impl SegmentEntry {
    /// Makes a segment entry of an entry of a history; `diff` is its diff in normal form.
    pub(crate) fn of(entry: &Entry, diff: Option<String>) -> Self {
        Self {
            version: entry.version.0,
            diff,
            edited_by: entry.edited_by.clone(),
            edited_at: entry.edited_at.to_string(),
            content_hash: entry.content_hash.to_string(),
            chain_hash: entry.chain_hash.to_string(),
        }
    }

    /// Converts the entry to a published one; `None` if a field is not in canonical form.
    fn entry(&self, is_first: bool) -> Option<Entry> {
        let is_name = !self.edited_by.is_empty() && !self.edited_by.chars().any(char::is_control);
        let edited_at = self.edited_at.parse().ok()?;
        let stored = match (&self.diff, is_first) {
            (None, true) => TextStorage::Keyframe,
            (Some(diff), false) => TextStorage::Diff(diff.clone()),
            _ => return None,
        };
        is_name.then_some(Entry {
            version: Version::recordable(self.version)?,
            stored,
            edited_by: self.edited_by.clone(),
            edited_at,
            state: EntryState::Published(edited_at),
            note: None,
            forget: Forget::None,
            content_hash: self.content_hash.parse().ok()?,
            chain_hash: self.chain_hash.parse().ok()?,
        })
    }
}

impl Segment {
    /// Spells the segment in JCS form.
    ///
    /// # Errors
    /// Fails if JSON cannot represent a number. Numbers of this program never cause it.
    pub(crate) fn spell(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_jcs::to_vec(self)
    }

    /// Parses the bytes of a segment; `None` if they are malformed or not in JCS form.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let segment: Self = serde_json::from_slice(bytes).ok()?;
        (segment.spell().ok()? == bytes).then_some(segment)
    }

    /// Returns the id, the chain hash before the segment, and the entries. Returns `None` if one is
    /// malformed or the version numbers are not consecutive.
    pub(crate) fn entries(&self) -> Option<(DocumentId, Option<Digest>, Vec<Entry>)> {
        let id = self.id.parse().ok()?;
        let previous = match &self.previous {
            Some(previous) => Some(previous.parse().ok()?),
            None => None,
        };
        let entries = self.entries.iter().enumerate();
        let entries = entries.map(|(n, entry)| entry.entry(n == 0));
        let entries: Vec<Entry> = entries.collect::<Option<_>>()?;
        let follows = |pair: &[Entry]| pair[0].version.next() == pair[1].version;
        (!entries.is_empty() && entries.windows(2).all(follows)).then_some((id, previous, entries))
    }
}
