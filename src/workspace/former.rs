//! The id that a document had before it was moved.

use crate::chain::history::History;
use crate::chain::{replay, vouched};
use crate::document::Document;
use crate::document::review::origin;
use crate::model::id::DocumentId;
use crate::model::number::Version;
use crate::vault::Vault;

/// The id that a document with this history was moved from: its first version names that one as its
/// origin, which was retired by the same event.
pub(crate) fn former_id(vault: &Vault, id: &DocumentId, history: &History) -> Option<DocumentId> {
    let files = vault.files();
    let text = vouched::vouched(files, id, history, Version::FIRST).ok()?;
    let former = origin(&Document::parse(&text).ok()?.frontmatter)?;
    let at = history.entry(Version::FIRST)?.published_at()?;
    let source = replay::load(files, &former).ok()?;
    let is_moved = source.entries().any(|entry| entry.retired_at() == Some(at));
    is_moved.then_some(former)
}
