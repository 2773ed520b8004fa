//! Moving: one event that retires the old id and publishes the new one, which names its origin.

use super::artifact::Base;
use super::governance::Includes;
use super::transaction::Transaction;
use super::{Author, Event, Mode, Outcome, PublishError, Refusal, check_place, event};
use crate::document::text::normalise;
use crate::document::{Document, utf8};
use crate::model::hint::Hint;
use crate::model::id::DocumentId;
use crate::model::layout::limit;
use crate::model::number::Version;
use crate::txn::{Change, Item, Live};
use crate::uri::Uri;
use crate::vault::Vault;

/// Gives a published document another id, as one event.
///
/// # Errors
/// Nothing was moved; see [`PublishError`].
pub fn move_document(
    vault: &Vault,
    old: &DocumentId,
    new: &DocumentId,
    author: &Author,
    mode: Mode,
) -> Result<Outcome, PublishError> {
    let includes = Includes::Only(&[]);
    event(vault, &Event { author, mode, subjects: &[old], includes }, |transaction, outcome| {
        if transaction.state.get(old.as_str()).is_none() && !vault.files().exists(&old.live_path())
        {
            return Err(transaction.unknown(old));
        }
        check_place(transaction.vault, new)?;
        match transaction.moved(old, new) {
            Ok(items) => outcome.items.extend(items),
            Err(refusal) => outcome.refused.push(refusal),
        }
        Ok(())
    })
}

impl Transaction<'_> {
    /// The two versions of a move: the old id retired, the new one published.
    fn moved(&self, old: &DocumentId, new: &DocumentId) -> Result<[Item; 2], Refusal> {
        let refuse = |code, message: &str, hint: Hint| {
            Err(Refusal::new(old.live_path(), code, message.to_owned(), hint))
        };
        if !old.is_document() {
            return refuse(
                "not-a-document",
                "a governance file keeps its name",
                "edit it in place".into(),
            );
        }
        if self.state.get(old.as_str()).is_none() {
            let hint = match self.vault.files().exists(&old.history_path()) {
                true => "it was retired: rename the file, and publish it under its new name",
                false => "rename the file; nothing is recorded about it",
            };
            return refuse("not-published", "it is not published", hint.into());
        }
        if self.vault.files().exists(&new.history_dir()) {
            let message = format!("`{new}` has a history already");
            return refuse("id-taken", &message, "choose an id that was never used".into());
        }
        let path = old.live_path();
        let read = self.vault.files().read_optional(&path, limit::DOCUMENT);
        let bytes = match read {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                let hint = super::artifact::restore_or_retire(old);
                return refuse("document-missing", "the live file is missing", hint);
            }
            Err(why) => return Err(super::artifact::refused_file(&path, &why)),
        };
        let last_sealed = self.last_sealed([old]).get(old).copied();
        let base = self.base(old, last_sealed)?;
        let live = utf8(&bytes).unwrap_or_default();
        if base.sealed.as_deref() != Some(&*normalise(live)) {
            let hint = "publish the change first, or undo it";
            return refuse("unpublished-changes", "its live file was changed", hint.into());
        }
        let document = Document::parse(live)
            .map_err(|why| Refusal::new(&path, why.code(), why.to_string(), why.hint()))?;
        let mut edit = self.stamp(Version::FIRST, self.at).edit(new, live, &document);
        let origin = Uri::pinned(old.clone(), self.chronicle.head_number());
        if let Some(origin) = origin.within(&self.vault.config().authorities) {
            edit = edit.derived_from(&origin.to_string());
        }
        let text = edit.apply(live).map_err(|why| {
            Refusal::new(&path, "frontmatter-spelling", why.to_string(), why.hint())
        })?;
        let mut published =
            self.next_version(new, &Base::nothing(), &normalise(&text), Change::New)?;
        published.live = Live::Create(text.into_bytes());
        let mut retired = self.retirement(old, &base)?;
        retired.live = Live::Remove(bytes);
        Ok([retired, published])
    }
}
