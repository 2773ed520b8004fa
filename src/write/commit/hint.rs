//! A file that names the artifacts that a writer is about to change, for the next writer if this
//! one is interrupted. It only says where to look: any process that can write to the vault can
//! write it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::files::vault::files::{FileError, Files};
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::timestamp::Timestamp;

/// Maximum size in bytes, enough for the ids of 200,000 documents.
///
/// A longer hint says only that a writer was interrupted.
const LIMIT: u64 = 8 << 20;

/// The hint as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredHint<'i> {
    at: String,
    #[serde(borrow)]
    ids: Vec<Cow<'i, str>>,
}

/// Writes the artifacts that the event at this time is about to change.
///
/// Without it no writer would bring live files up to date that the event could not.
///
/// # Errors
/// The file could not be written.
pub(crate) fn write<'i>(
    files: &Files,
    at: Timestamp,
    ids: impl IntoIterator<Item = &'i DocumentId>,
) -> Result<(), FileError> {
    let ids = ids.into_iter().map(|id| Cow::from(id.as_str())).collect();
    let stored = StoredHint { at: at.to_string(), ids };
    let text = serde_json::to_string(&stored).unwrap_or_default() + "\n";
    // A hint that is still there was dealt with, even if it could not be removed.
    remove(files);
    files.create_new(layout::HINT, text.as_bytes())
}

/// Returns true if there is a hint, which an interrupted writer left.
pub(crate) fn is_left(files: &Files) -> bool {
    files.exists(layout::HINT)
}

/// Returns the artifacts that the event at this time was about to change.
///
/// `None` if the hint is missing, is of another event, or cannot be read.
pub(crate) fn read(files: &Files, at: Timestamp) -> Option<BTreeSet<DocumentId>> {
    let bytes = files.read(layout::HINT, LIMIT).ok()?;
    let stored: StoredHint<'_> = serde_json::from_slice(&bytes).ok()?;
    let is_of_it = stored.at.parse() == Ok(at);
    is_of_it.then(|| stored.ids.iter().filter_map(|name| name.parse().ok()).collect())
}

/// Removes the hint.
pub(crate) fn remove(files: &Files) {
    files.discard(layout::HINT);
}
