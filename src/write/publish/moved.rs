//! Moving: one event that retires the old id and publishes the new one, which names its origin.

use std::collections::BTreeSet;

use super::artifact::{self, Base};
use super::governance_files::Includes;
use super::outcome::Recased;
use super::transaction::Transaction;
use super::{
    Author, Event, Gate, Mode, Outcome, PublishError, Refusal, check_layout, check_place, event,
};
use crate::files::vault::Vault;
use crate::files::vault::left_out::{LeftOut, Reason};
use crate::files::vault::replace::Fingerprint;
use crate::read::working;
use crate::read::working::inbound::{Becomes, FixedLinks, Leaving};
use crate::record::chain::replay;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::state::Mark;
use crate::text::document::links::Retargeted;
use crate::text::document::live_form::LiveForm;
use crate::text::document::text::normalise;
use crate::text::document::validate::problems;
use crate::text::document::{Document, utf8};
use crate::text::uri::Uri;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;
use crate::write::commit::{Change, Item, Live};

/// Gives a published document another id as one event, or submits that if the vault is governed.
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
    if let Some(recased) = Recased::of(vault, old, new)? {
        // Nothing that is published changes, so that no review is needed.
        let what = Event { author, mode, subjects: &[old], includes, gate: Gate::Live };
        return event(vault, &what, |transaction, outcome| {
            if !transaction.may_name(old) {
                return Err(transaction.unknown(old));
            }
            if !mode.dry_run && recased.from != recased.to {
                vault.files().change_case(&recased.from, &recased.to)?;
            }
            outcome.recased = Some(recased.clone());
            Ok(())
        });
    }
    // The links of a move that was approved are changed by repeating it.
    let gate = if mode.fix_links { Gate::Live } else { Gate::Either };
    let what = Event { author, mode, subjects: &[old], includes, gate };
    event(vault, &what, |transaction, outcome| {
        let is_governed = transaction.in_force.is_governed;
        if is_governed && !mode.fix_links {
            return transaction.propose_move((old, new), outcome);
        }
        let unpublished_links = vault.config().links != transaction.vault.config().links;
        if transaction.is_recorded(old, new) {
            outcome.unpublished_links = unpublished_links;
            return match mode.fix_links {
                true => transaction.follow_recorded(old, new, outcome),
                false => {
                    outcome.refused.push(recorded(old, new));
                    Ok(())
                }
            };
        }
        if transaction.is_moved_away(old, new) {
            outcome.refused.push(edited_since(old, new));
            return Ok(());
        }
        if is_governed {
            transaction.in_force.check_rules(vault, transaction.chronicle)?;
            return transaction.propose_move((old, new), outcome);
        }
        outcome.unpublished_links = unpublished_links;
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

impl Recased {
    /// Returns the files of a move that changes only the case of the last name; `None` for other
    /// moves.
    fn of(vault: &Vault, old: &DocumentId, new: &DocumentId) -> Result<Option<Self>, PublishError> {
        let files = vault.files();
        let (recorded, to) = (old.live_path(), new.live_path());
        let is_recased = vault.recorded_in_other_case(new).as_ref() == Some(old)
            || (old == new && files.spelled(&to) != to);
        if !is_recased || !files.exists(&recorded) {
            return Ok(None);
        }
        check_layout(vault, new)?;
        let from = files.spelled(&recorded).into_owned();
        Ok(Some(Self { id: old.clone(), from, to }))
    }
}

/// Returns true if the file is at its new place already, and not at the old one.
fn is_moved(vault: &Vault, old: &DocumentId, new: &DocumentId) -> bool {
    let files = vault.files();
    let (from, to) = (old.live_path(), new.live_path());
    !files.exists(&from) && files.exists(&to) && check_layout(vault, new).is_ok()
}

impl Transaction<'_> {
    /// Returns true if an earlier event moved a document, and no file is left under its old id.
    fn is_recorded(&self, old: &DocumentId, new: &DocumentId) -> bool {
        self.is_moved_away(old, new) && !self.vault.files().exists(&old.live_path())
    }

    /// Returns true if an earlier event moved a document.
    fn is_moved_away(&self, old: &DocumentId, new: &DocumentId) -> bool {
        let is_left =
            self.state.get(old.as_str()).is_none() && self.state.get(new.as_str()).is_some();
        let is_move = |checkpoint: &&Checkpoint| {
            let is_first =
                |(id, mark): &(DocumentId, Mark)| id == new && mark.version == Some(Version::FIRST);
            checkpoint.removed.contains(old) && checkpoint.set.iter().any(is_first)
        };
        let mut events = self.chronicle.checkpoints().iter().flat_map(|one| one.events());
        is_left && events.any(|event| is_move(&event))
    }

    /// Changes the links that a recorded move concerns in live files. The own links of the document
    /// are among them only while its file has the text that was moved.
    fn follow_recorded(
        &self,
        old: &DocumentId,
        new: &DocumentId,
        outcome: &mut Outcome,
    ) -> Result<(), PublishError> {
        outcome.left_out.push(LeftOut::artifact(old, Reason::MovedBefore));
        let last = self.state.get(new.as_str()).and_then(|mark| mark.version);
        let bytes = self.vault.files().read_optional(&new.live_path(), limit::DOCUMENT)?;
        let live = bytes.as_deref().and_then(|bytes| utf8(bytes).ok());
        let base = self.base(new, last).ok().filter(|_| last == Some(Version::FIRST));
        let sealed = base.and_then(|base| base.sealed);
        let text = live.filter(|live| {
            sealed.as_deref().is_some_and(|sealed| LiveForm::of(sealed).is_of(live))
        });
        let becomes = Becomes { new, text, is_recorded: true };
        if let Some(own) = self.links_of_move(old, becomes, outcome, true)? {
            let old = text.unwrap_or_default().as_bytes().to_vec();
            outcome.fixed.push(FixedLinks { id: new.clone(), old, new: own });
            outcome.fixed.sort_by(|a, b| a.id.cmp(&b.id));
        }
        Ok(())
    }

    /// Lists the links that a move concerns, and changes them in live files if that is asked for.
    fn follow_links(
        &self,
        old: &DocumentId,
        new: &DocumentId,
        outcome: &mut Outcome,
        mode: Mode,
    ) -> Result<(), PublishError> {
        let live = outcome.items.iter().find(|item| item.id == *new).map(|item| &item.live);
        let bytes = match live {
            Some(Live::Create(bytes)) => bytes.clone(),
            Some(Live::Replace { new, .. }) => new.as_bytes().to_vec(),
            Some(Live::Keep | Live::Remove(_)) | None => {
                self.vault.files().read(&new.live_path(), limit::DOCUMENT)?
            }
        };
        let becomes = Becomes { new, text: utf8(&bytes).ok(), is_recorded: false };
        let Some(own) = self.links_of_move(old, becomes, outcome, mode.fix_links)? else {
            return Ok(());
        };
        let item = outcome.items.iter_mut().find(|item| item.id == *new);
        if let Some(item) = item.filter(|_| !own.changed.is_empty()) {
            let fixed = own.text.as_str();
            item.live = match &item.live {
                Live::Create(_) => Live::Create(fixed.as_bytes().to_vec()),
                Live::Replace { old, .. } => Live::Replace { old: *old, new: fixed.into() },
                Live::Keep | Live::Remove(_) => {
                    Live::Replace { old: Fingerprint::of(&bytes), new: fixed.into() }
                }
            };
        }
        outcome.fixed.push(FixedLinks { id: new.clone(), old: bytes, new: own });
        outcome.fixed.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(())
    }

    /// Fills in the links that a move concerns, with those that are to be changed if `fix` is set;
    /// gives the changed text of the document itself, if its links are among these.
    fn links_of_move(
        &self,
        old: &DocumentId,
        becomes: Becomes<'_>,
        outcome: &mut Outcome,
        fix: bool,
    ) -> Result<Option<Retargeted>, PublishError> {
        let ids = BTreeSet::from([old]);
        let links = self.links_to(Leaving { ids: &ids, becomes: Some(becomes) });
        outcome.links = links.all();
        if fix {
            outcome.fixed = links.retargeted(&outcome.links.inbound)?;
        }
        let own = becomes.text.map(|text| links.own(text, old, becomes.new));
        let found = &mut outcome.links;
        let mut fixed = None;
        if let Some(own) = own {
            found.inbound.extend(own.inbound);
            found.inbound.sort();
            found.inbound.dedup();
            // Those that are to be changed are changed, or quoted.
            found.captured.extend(own.captured.into_iter().filter(|_| !fix));
            found.captured.sort();
            found.captured.dedup();
            outcome.relative = own.relative;
            let concerns = !own.fixed.changed.is_empty() || !own.fixed.left.is_empty();
            fixed = Some(own.fixed).filter(|_| fix && concerns);
        }
        found.captured.retain(|link| !fix || link.was != *old);
        Ok(fixed)
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
        if replay::has_files(self.vault.files(), new) {
            let message = format!("`{new}` has a history already");
            let hint = "choose an id that was never used, because histories stay";
            return refuse("id-taken", &message, hint.into());
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
            let found = problems(live, edited, working::criteria(self.vault, &path, edited, true));
            warnings = Refusal::unless_valid(&path, found)?;
        }
        let origin = Uri::pinned(old.clone(), self.chronicle.head_number());
        let origin = origin.within(&self.vault.config().authorities);
        let origin = origin.map(|origin| origin.to_string());
        let stamp = self.stamp(Version::FIRST, self.at);
        let mode = self.vault.config().frontmatter;
        let next = stamp.next(new, live, &document?, origin.as_deref(), mode);
        let next = next.map_err(|why| Refusal::of_spelling(&path, &why))?;
        let mut published = self.next_version(new, &Base::nothing(), &next.sealed, Change::New)?;
        warnings.extend(working::instructions(new));
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

/// Returns true if a live document has the body of a published text, and it is not empty.
fn has_body_of(sealed: &str, live: &str, document: &Document) -> bool {
    let body = normalise(&live[document.parts.body..]);
    let published = Document::parse(sealed).ok();
    let published = published.map(|published| &sealed[published.parts.body..]);
    published == Some(&*body) && !body.trim().is_empty()
}

/// Returns the refusal of a move that a checkpoint records already.
fn recorded(old: &DocumentId, new: &DocumentId) -> Refusal {
    let again = Call::new(Verb::Mv).value(old.as_str()).value(new.as_str()).word("--fix-links");
    let hint = Hint::call("{} changes the links that still lead to the old id", again);
    let message = format!("it was moved to `{new}` already");
    Refusal::new(old.live_path(), "not-published", message, hint)
}

/// Refuses a move that is recorded, after which the file of the old id was left, because it had
/// other changes.
fn edited_since(old: &DocumentId, new: &DocumentId) -> Refusal {
    let again = Call::new(Verb::Mv).value(old.as_str()).value(new.as_str()).word("--fix-links");
    let (path, target) = (old.live_path(), new.live_path());
    let hint = Hint::call(
        "copy its changes into the file of the new id, delete it, and run {} for the links",
        again,
    );
    let message = format!(
        "it was moved to `{new}` already, and this file was edited since; the document is in `{target}`"
    );
    Refusal::new(path, "unpublished-changes", message, hint)
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
            format!("its body differs from that of `{old}`, whose file is missing"),
            Hint::calls(
                "undo the change and publish it after the move; or run {} and {}",
                [call(Verb::Retire, old), call(Verb::Publish, new)],
            ),
        ),
    };
    Refusal::new(path, "unpublished-changes", message, hint)
}
