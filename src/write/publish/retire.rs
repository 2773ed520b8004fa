//! Retirement: a version with `status: draft`, which removes a document from the maps. No file is
//! deleted.

use std::collections::BTreeSet;

use super::artifact::Base;
use super::governance_files::Includes;
use super::transaction::Transaction;
use super::{Author, Event, Gate, Mode, Outcome, PublishError, Refusal, event};
use crate::files::vault::Vault;
use crate::files::vault::left_out::{LeftOut, Reason};
use crate::files::vault::replace::Fingerprint;
use crate::read::working::inbound::Leaving;
use crate::text::document::edit::Edit;
use crate::text::document::stamp::retired_live;
use crate::text::document::utf8;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::write::commit::{Change, Item, Live};

/// Retires documents as one event, or submits that if the vault is governed, then as parts of
/// `change`. Their files may be gone.
///
/// # Errors
/// Nothing was retired; see [`PublishError`].
pub fn retire(
    vault: &Vault,
    ids: &[DocumentId],
    (author, mode): (&Author, Mode),
    change: Option<&str>,
) -> Result<Outcome, PublishError> {
    let named = ids;
    let ids: BTreeSet<&DocumentId> = ids.iter().collect();
    let subjects: Vec<&DocumentId> = ids.iter().copied().collect();
    let includes = Includes::Only(&subjects);
    let what = Event { author, mode, subjects: &subjects, includes, gate: Gate::Either };
    event(vault, &what, |transaction, outcome| {
        if transaction.in_force.is_governed {
            return transaction.propose_retirement((named, &ids), change, outcome);
        }
        let last_sealed = transaction.last_sealed(ids.iter().copied());
        for id in ids.iter().copied() {
            let known = last_sealed.get(id).copied();
            if !id.is_document() && vault.files().exists(&id.live_path()) {
                // The next publication of it would undo this.
                let message = "a governance file is retired by deleting it".to_owned();
                let hint = "delete the file first, then retire it";
                let refusal = Refusal::new(id.live_path(), "not-a-document", message, hint);
                outcome.refused.push(refusal);
            } else if transaction.state.get(id.as_str()).is_some() {
                match transaction.base(id, known).and_then(|base| transaction.retirement(id, &base))
                {
                    Ok(item) => outcome.items.push(item),
                    Err(refusal) => outcome.refused.push(refusal),
                }
            } else if known.is_some() {
                outcome.left_out.push(LeftOut::artifact(id, Reason::RetiredBefore));
            } else if vault.files().exists(&id.live_path()) {
                let message = "it was never published".to_owned();
                let hint = "leave it as a draft, or delete the file";
                let refusal = Refusal::new(id.live_path(), "not-published", message, hint);
                outcome.refused.push(refusal);
            } else {
                return Err(transaction.unknown(id));
            }
        }
        let retired = outcome.items.iter().map(|item| &item.id).filter(|id| id.is_document());
        let retired: BTreeSet<&DocumentId> = retired.collect();
        if !retired.is_empty() {
            let leaving = Leaving { ids: &retired, becomes: None };
            outcome.links = transaction.links_to(leaving).all();
            outcome.unpublished_links = vault.config().links != transaction.vault.config().links;
        }
        Ok(())
    })
}

impl Transaction<'_> {
    /// The version with which a published document leaves the map.
    pub(super) fn retirement(&self, id: &DocumentId, base: &Base) -> Result<Item, Refusal> {
        let sealed = base.sealed.as_deref().unwrap_or_default();
        let version = base.next();
        let edit = Edit::retirement(version, self.at);
        let text = if id.is_document() {
            edit.apply(sealed).map_err(|why| Refusal::of_spelling(&id.live_path(), &why))?
        } else {
            String::new()
        };
        let mut item = self.next_version(id, base, &text.into(), Change::Retired)?;
        let path = id.live_path();
        let mode = self.vault.config().frontmatter;
        if let (true, Ok(Some(bytes))) =
            (id.is_document(), self.vault.files().read_optional(&path, limit::DOCUMENT))
            && let Ok(live) = utf8(&bytes)
            && let Some(new) = retired_live(live, sealed, edit, mode)
        {
            item.live = Live::Replace { old: Fingerprint::of(&bytes), new: new.into() };
        }
        Ok(item)
    }
}
