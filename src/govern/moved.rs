//! Moving: one event that retires the old id and publishes the new one, which names its origin.

use std::collections::BTreeSet;

use super::artifact::{self, Base};
use super::governance::Includes;
use super::transaction::Transaction;
use super::{
    Author, Event, Mode, Outcome, PublishError, Refusal, check_layout, check_place, event,
};
use crate::document::live_form::LiveForm;
use crate::document::text::normalise;
use crate::document::validate::problems;
use crate::document::{Document, utf8};
use crate::live;
use crate::live::inbound::{FixedLinks, Through};
use crate::model::hint::{Call, Hint, Verb};
use crate::model::id::DocumentId;
use crate::model::layout::limit;
use crate::model::number::Version;
use crate::txn::{Change, Item, Live};
use crate::uri::Uri;
use crate::vault::Vault;
use crate::vault::replace::Fingerprint;

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
        let is_moved = is_moved(transaction.vault, old, new);
        if !is_moved {
            check_place(transaction.vault, new)?;
        }
        match transaction.moved(old, new, is_moved) {
            Ok(items) => {
                outcome.items.extend(items);
                transaction.follow_links(old, new, outcome, mode)?;
            }
            Err(refusal) => outcome.refused.push(refusal),
        }
        Ok(())
    })
}

/// Whether the file is at its new place already: nothing is at the old one.
fn is_moved(vault: &Vault, old: &DocumentId, new: &DocumentId) -> bool {
    let files = vault.files();
    let (from, to) = (old.live_path(), new.live_path());
    !files.exists(&from) && files.exists(&to) && check_layout(vault, new).is_ok()
}

impl Transaction<'_> {
    /// Lists the links that a move concerns, and changes them in live files if that is asked for.
    fn follow_links(
        &self,
        old: &DocumentId,
        new: &DocumentId,
        outcome: &mut Outcome,
        mode: Mode,
    ) -> Result<(), PublishError> {
        let ids = BTreeSet::from([old]);
        let links = self.links_to((&ids, Some(new)), Through::FileNames);
        outcome.links = links.all();
        if mode.fix_links {
            outcome.fixed = links.retargeted(&outcome.links.inbound, new)?;
        }
        let Some(item) = outcome.items.iter_mut().find(|item| item.id == *new) else {
            return Ok(());
        };
        let text = match &item.live {
            Live::Create(bytes) => bytes.clone(),
            Live::Replace { new, .. } => new.as_bytes().to_vec(),
            Live::Keep | Live::Remove(_) => {
                self.vault.files().read(&new.live_path(), limit::DOCUMENT)?
            }
        };
        let own = links.own(utf8(&text).unwrap_or_default(), old, new);
        let found = &mut outcome.links;
        found.inbound.extend(own.inbound);
        found.inbound.sort();
        found.inbound.dedup();
        found.captured.extend(own.captured);
        found.captured.sort();
        outcome.relative = own.relative;
        let has_changes = !own.fixed.changed.is_empty();
        if !mode.fix_links || (!has_changes && own.fixed.left.is_empty()) {
            return Ok(());
        }
        if has_changes {
            let fixed = own.fixed.text.as_str();
            item.live = match &item.live {
                Live::Create(_) => Live::Create(fixed.as_bytes().to_vec()),
                Live::Replace { old, .. } => Live::Replace { old: *old, new: fixed.into() },
                Live::Keep | Live::Remove(_) => {
                    Live::Replace { old: Fingerprint::of(&text), new: fixed.into() }
                }
            };
        }
        outcome.fixed.push(FixedLinks { id: new.clone(), old: text, new: own.fixed });
        outcome.fixed.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(())
    }

    /// The two versions of a move: the old id retired, the new one published.
    fn moved(
        &self,
        old: &DocumentId,
        new: &DocumentId,
        is_moved: bool,
    ) -> Result<[Item; 2], Refusal> {
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
        let path = if is_moved { new.live_path() } else { old.live_path() };
        let read = self.vault.files().read_optional(&path, limit::DOCUMENT);
        let bytes = match read {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                let hint = artifact::restore_or_retire(old);
                return refuse("document-missing", "the live file is missing", hint);
            }
            Err(why) => return Err(artifact::refused_file(&path, &why)),
        };
        let last_sealed = self.last_sealed([old]).get(old).copied();
        let base = self.base(old, last_sealed)?;
        let live = utf8(&bytes).unwrap_or_default();
        let document = artifact::parsed(&path, live);
        let mut warnings = Vec::new();
        let sealed = base.sealed.as_deref().unwrap_or_default();
        if !LiveForm::of(sealed).is_of(live) {
            let edited = document.as_ref().ok();
            let Some(edited) = edited.filter(|d| is_moved && has_body_of(sealed, live, d)) else {
                return Err(changed(old, new, is_moved));
            };
            let found = problems(live, edited, live::criteria(self.vault, &path, edited, true));
            warnings = Refusal::unless_valid(&path, found)?;
        }
        let origin = Uri::pinned(old.clone(), self.chronicle.head_number());
        let origin = origin.within(&self.vault.config().authorities);
        let origin = origin.map(|origin| origin.to_string());
        let stamp = self.stamp(Version::FIRST, self.at);
        let mode = self.vault.config().frontmatter;
        let next = stamp.next(new, live, &document?, origin.as_deref(), mode);
        let next = next.map_err(|why| Refusal::spelling(&path, &why))?;
        let mut published = self.next_version(new, &Base::nothing(), &next.sealed, Change::New)?;
        published.warnings = warnings;
        let mut retired = self.retirement(old, &base)?;
        (retired.live, published.live) = match (is_moved, next.live) {
            (true, None) => (Live::Keep, Live::Keep),
            (true, Some(new)) => (Live::Keep, Live::Replace { old: Fingerprint::of(&bytes), new }),
            (false, new) => {
                let new = new.map_or_else(|| bytes.clone(), |new| new.as_bytes().to_vec());
                (Live::Remove(bytes), Live::Create(new))
            }
        };
        Ok([retired, published])
    }
}

/// Whether a live document has the body of a published text, and any.
fn has_body_of(sealed: &str, live: &str, document: &Document) -> bool {
    let body = normalise(&live[document.parts.body..]);
    let published = Document::parse(sealed).ok();
    let published = published.map(|published| &sealed[published.parts.body..]);
    published == Some(&*body) && !body.trim().is_empty()
}

fn changed(old: &DocumentId, new: &DocumentId, is_moved: bool) -> Refusal {
    let call = |verb, id: &DocumentId| Call::new(verb).value(id.as_str());
    let (path, message, hint) = match is_moved {
        false => (
            old.live_path(),
            "its live file was changed".to_owned(),
            "publish the change first, or undo it".into(),
        ),
        true => (
            new.live_path(),
            format!("it has another body than `{old}`, whose file is gone"),
            Hint::calls(
                "undo the change and publish it after the move; or run {} and {}",
                [call(Verb::Retire, old), call(Verb::Publish, new)],
            ),
        ),
    };
    Refusal::new(path, "unpublished-changes", message, hint)
}
