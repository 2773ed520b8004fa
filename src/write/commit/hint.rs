//! A word about what a writer is about to touch, for the one that comes after it if it dies. It
//! only says where to look: a process that may write to the vault may write it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::files::vault::files::{FileError, Files};
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::timestamp::Timestamp;

/// The ids of some 200,000 documents. A longer one says only that a writer was interrupted.
const LIMIT: u64 = 8 << 20;

/// The hint as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredHint<'i> {
    at: String,
    #[serde(borrow)]
    ids: Vec<Cow<'i, str>>,
}

/// Writes which artifacts the event of an instant is about to touch. Without it no writer would
/// bring live files up to date that the event could not.
///
/// # Errors
/// It could not be written.
pub(crate) fn write<'i>(
    files: &Files,
    at: Timestamp,
    ids: impl IntoIterator<Item = &'i DocumentId>,
) -> Result<(), FileError> {
    let ids = ids.into_iter().map(|id| Cow::from(id.as_str())).collect();
    let stored = StoredHint { at: at.to_string(), ids };
    let text = serde_json::to_string(&stored).unwrap_or_default() + "\n";
    // What is there has been dealt with, whether or not it could be taken back.
    remove(files);
    files.create_new(layout::HINT, text.as_bytes())
}

/// Whether an interrupted writer left an intent record.
pub(crate) fn is_left(files: &Files) -> bool {
    files.exists(layout::HINT)
}

/// What the event of an instant was about to touch; none where its writer left no word, or another
/// one did since, or it cannot be read.
pub(crate) fn read(files: &Files, at: Timestamp) -> Option<BTreeSet<DocumentId>> {
    let bytes = files.read(layout::HINT, LIMIT).ok()?;
    let stored: StoredHint<'_> = serde_json::from_slice(&bytes).ok()?;
    let is_of_it = stored.at.parse() == Ok(at);
    is_of_it.then(|| stored.ids.iter().filter_map(|name| name.parse().ok()).collect())
}

/// Takes the word back.
pub(crate) fn remove(files: &Files) {
    files.discard(layout::HINT);
}
