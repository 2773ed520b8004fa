//! Changing a governance file by a program: the live file and its version, as one event.

use super::artifact::{Governed, refused_file};
use super::transaction::Transaction;
use super::{Author, Event, Mode, Outcome, PublishError, Refusal, event};
use crate::document::utf8;
use crate::model::id::DocumentId;
use crate::model::layout::limit;
use crate::txn::Live;
use crate::vault::Vault;

/// Edits a governance file and publishes it, as one event. `edit` gives the new text, or says what
/// keeps it from that. A file that is as wanted, and published, makes no event.
///
/// # Errors
/// Nothing was changed; see [`PublishError`].
pub fn set_governance_file(
    vault: &Vault,
    id: &DocumentId,
    author: &Author,
    mode: Mode,
    edit: impl Fn(&str) -> Result<String, String>,
) -> Result<Outcome, PublishError> {
    event(vault, &Event { author, mode, subjects: &[] }, |transaction, outcome| {
        match transaction.edited(id, &edit) {
            Ok(Governed::Version(item)) => outcome.items.push(*item),
            Ok(_) => outcome.unchanged.push(id.clone()),
            Err(refusal) => outcome.refused.push(refusal),
        }
        Ok(false)
    })
}

impl Transaction<'_> {
    fn edited(
        &self,
        id: &DocumentId,
        edit: &impl Fn(&str) -> Result<String, String>,
    ) -> Result<Governed, Refusal> {
        let path = id.live_path();
        let read = self.vault.files().read_optional(&path, limit::DOCUMENT);
        let old = read.map_err(|why| refused_file(&path, &why))?;
        let text = utf8(old.as_deref().unwrap_or_default())
            .map_err(|why| Refusal::new(&path, why.code(), why.to_string(), why.hint()))?;
        let new = edit(text).map_err(|why| {
            Refusal::new(&path, "config-spelling", why, "make the change by hand, and publish it")
        })?;
        let last_sealed = self.last_sealed([id]).get(id).copied();
        let mut governed = self.governance_of(id, last_sealed, Some(new.as_bytes()))?;
        if let (Governed::Version(item), true) = (&mut governed, new != text) {
            item.live = match old {
                Some(old) => Live::Replace { old, new: new.into_bytes() },
                None => Live::Create(new.into_bytes()),
            };
        }
        Ok(governed)
    }
}
