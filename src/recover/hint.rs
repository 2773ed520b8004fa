//! A word about what a writer is about to touch, for the one that comes after it if it dies. It only
//! says where to look: whoever may write to the vault may write it.

use std::collections::BTreeSet;

use crate::document::id::Id;
use crate::vault::files::{FileError, Files};
use crate::vault::layout;

/// The ids of some 200,000 documents. A longer one says only that somebody died.
const LIMIT: u64 = 8 << 20;

/// Writes which artifacts an event is about to touch. Without it nobody would bring live files up to
/// date that the event could not.
///
/// # Errors
/// It could not be written.
pub(crate) fn write<'i>(
    files: &Files,
    ids: impl IntoIterator<Item = &'i Id>,
) -> Result<(), FileError> {
    let ids: Vec<&str> = ids.into_iter().map(Id::as_str).collect();
    let text = serde_json::to_string(&ids).unwrap_or_default() + "\n";
    // What is there has been dealt with, whether or not it could be taken back.
    remove(files);
    files.create_new(layout::HINT, text.as_bytes())
}

/// Whether somebody left word and died.
pub(crate) fn is_left(files: &Files) -> bool {
    files.exists(layout::HINT)
}

/// What a writer that died was about to touch; none where none left word, or the word cannot be read.
pub(crate) fn read(files: &Files) -> Option<BTreeSet<Id>> {
    let bytes = files.read(layout::HINT, LIMIT).ok()?;
    let names: Vec<String> = serde_json::from_slice(&bytes).ok()?;
    Some(names.iter().filter_map(|name| name.parse().ok()).collect())
}

/// Takes the word back.
pub(crate) fn remove(files: &Files) {
    files.discard(layout::HINT);
}
