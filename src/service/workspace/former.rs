//! The ids of moved documents, before and after the move.

use crate::files::vault::Vault;
use crate::read::status::{DocumentState, Status};
use crate::record::chain::history::History;
use crate::record::chain::{replay, vouched};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::text::document::Document;
use crate::text::document::review::origin;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// Returns the id that a document was moved from; `None` if it was not moved.
///
/// The first version names that id as its origin, and the same event retired the document there.
pub(crate) fn former_id(vault: &Vault, id: &DocumentId, history: &History) -> Option<DocumentId> {
    let files = vault.files();
    let text = vouched::vouched(files, id, history, Version::FIRST).ok()?;
    let former = origin(&Document::parse(&text).ok()?.frontmatter)?;
    let at = history.entry(Version::FIRST)?.published_at()?;
    let source = replay::load(files, &former).ok()?;
    let is_moved = source.entries().any(|entry| entry.retired_at() == Some(at));
    is_moved.then_some(former)
}

/// Adds to the rows of retired documents the ids that they were moved to. A move leaves the old
/// live file in place if it had other changes.
pub(crate) fn name_moves(vault: &Vault, chronicle: &Chronicle<'_>, status: &mut Status) {
    let rows = status.documents.iter_mut();
    for row in rows.filter(|row| row.state == DocumentState::Retired && row.moved.is_none()) {
        row.moved = row.id.as_ref().and_then(|id| later_id(vault, chronicle, id));
    }
}

/// Returns the id that a document was moved to by the event that retired it last.
fn later_id(vault: &Vault, chronicle: &Chronicle<'_>, id: &DocumentId) -> Option<DocumentId> {
    let mut events = chronicle.checkpoints().iter().rev().flat_map(|one| one.events());
    let event = events.find(|event| event.removed.contains(id))?;
    let first = event.set.iter().filter(|(_, mark)| mark.version == Some(Version::FIRST));
    let mut first = first.map(|(id, _)| id).filter(|id| id.is_document());
    let later = first.find(|later| {
        let history = replay::load(vault.files(), later).ok();
        history.and_then(|history| former_id(vault, later, &history)).as_ref() == Some(id)
    });
    later.cloned()
}
