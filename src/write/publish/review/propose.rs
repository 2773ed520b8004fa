//! Submissions that keep the text of a published document: it is retired, moved, or approved again.

use std::collections::BTreeSet;

use super::super::transaction::Transaction;
use super::super::{Outcome, PublishError, Refusal, check_place};
use super::ReviewError;
use super::admissible::Checks;
use crate::policy::stewards::Role;
use crate::read::working;
use crate::record::chain::replay;
use crate::text::document::edit::Edit;
use crate::text::document::live_form::LiveForm;
use crate::text::document::review::{Action, ReviewEdit};
use crate::text::document::text::normalise;
use crate::text::document::utf8;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::write::commit::{Change, Step};

impl Transaction<'_> {
    /// Proposes to retire documents: those that are named, each once.
    pub(in super::super) fn propose_retirement(
        &mut self,
        (named, ids): (&[DocumentId], &BTreeSet<&DocumentId>),
        change: Option<&str>,
        outcome: &mut Outcome,
    ) -> Result<(), PublishError> {
        self.check_readable(named)?;
        let waits = self.begin_change(change, outcome)?;
        for id in ids {
            self.propose(id, &Action::Retire, outcome)?;
        }
        self.check_submitted(outcome, &Checks::plain(&waits))
    }

    /// Proposes to give a document another id.
    pub(in super::super) fn propose_move(
        &mut self,
        (old, new): (&DocumentId, &DocumentId),
        outcome: &mut Outcome,
    ) -> Result<(), PublishError> {
        self.check_readable(std::slice::from_ref(old))?;
        let waits = self.begin_change(None, outcome)?;
        self.check_move(old, new)?;
        self.propose(old, &Action::Move(new.clone()), outcome)?;
        self.check_submitted(outcome, &Checks::plain(&waits))
    }

    /// Proposes to approve a published text again, as it is (REV-27).
    pub(super) fn renewed(
        &self,
        id: &DocumentId,
        outcome: &mut Outcome,
    ) -> Result<(), PublishError> {
        self.propose(id, &Action::Publish, outcome)
    }

    /// Proposes what becomes of a published document with its text as it is: it is retired, moved, or
    /// approved again.
    fn propose(
        &self,
        id: &DocumentId,
        action: &Action,
        outcome: &mut Outcome,
    ) -> Result<(), PublishError> {
        let Some(mark) = self.state.get(id.as_str()) else {
            if !working::is_known(self.vault, id) {
                return Err(self.unknown(id));
            }
            let message = "it is not published".to_owned();
            let hint = "leave it as a draft, or delete the file";
            outcome.refused.push(Refusal::new(id.live_path(), "not-published", message, hint));
            return Ok(());
        };
        if !id.is_document() && *action == Action::Publish {
            let message = "only approvals of documents become due".to_owned();
            let hint = "the next change of the file is approved in any case";
            outcome.refused.push(Refusal::new(id.live_path(), "not-a-document", message, hint));
            return Ok(());
        }
        if !id.is_document() {
            let submit = Call::new(Verb::Submit).value(id.as_str());
            let (message, hint) = match id.is_pack() {
                true => {
                    let hint = Hint::call("delete the file, and run {}", submit);
                    ("a pack is retired by deleting it".to_owned(), hint)
                }
                false => {
                    let hint = Hint::call("edit the file, and run {}", submit);
                    ("a governed vault keeps this file: it cannot be retired".to_owned(), hint)
                }
            };
            outcome.refused.push(Refusal::new(id.live_path(), "not-a-document", message, hint));
            return Ok(());
        }
        let base = mark.version.unwrap_or_default();
        let reviewed = self.reviewed(id)?;
        let change = self.submits.as_ref().and_then(|submits| submits.set_of(id));
        let step = ReviewEdit::Submit { base, action, change: change.as_deref() };
        let edit = Edit::step(reviewed.base.next(), &self.at.to_string(), "draft", &step);
        let sealed = reviewed.base.sealed.as_deref().unwrap_or_default();
        let made = edit.apply(sealed).map_err(|why| Refusal::of_spelling(&id.live_path(), &why));
        let made = made.and_then(|text| {
            self.next_version(id, &reviewed.base, &text.into(), Change::Step(Step::Submit))
        });
        match made {
            Ok(mut item) => {
                item.warnings.extend(action.target().and_then(working::instructions));
                outcome.items.push(item);
            }
            Err(refusal) => outcome.refused.push(refusal),
        }
        Ok(())
    }

    /// Refuses a move that could not be made.
    fn check_move(&self, old: &DocumentId, new: &DocumentId) -> Result<(), PublishError> {
        let refuse = |code, message: String, hint: Hint| {
            Err(PublishError::Refused(vec![Refusal::new(old.live_path(), code, message, hint)]))
        };
        if self.state.get(old.as_str()).is_none() {
            return match working::is_known(self.vault, old) {
                false => Err(self.unknown(old)),
                true => {
                    let hint = "rename the file; nothing is recorded about it".into();
                    refuse("not-published", "it is not published".to_owned(), hint)
                }
            };
        }
        // Only an editor of the new id may learn that it is taken.
        let reviewed = self.reviewed(old)?;
        let sealed = reviewed.base.sealed.clone().unwrap_or_default();
        let action = Action::Move(new.clone());
        let subjects = reviewed.track.texts_of(&sealed, Some(&action));
        let me = self.author.principal.as_str();
        self.rules().require(me, Role::Editor, subjects).map_err(ReviewError::from)?;
        if replay::has_files(self.vault.files(), new) {
            let hint = "choose an id that was never used, because histories stay".into();
            return refuse("id-taken", format!("`{new}` has a history already"), hint);
        }
        let found = self.collisions_of(&[new]);
        if !found.is_empty() {
            return Err(PublishError::Refused(found));
        }
        let files = self.vault.files();
        let is_moved = !files.exists(&old.live_path()) && files.exists(&new.live_path());
        if !is_moved {
            check_place(self.vault, new)?;
        }
        let path = if is_moved { new.live_path() } else { old.live_path() };
        let live = files.read_optional(&path, limit::DOCUMENT)?.unwrap_or_default();
        let live = utf8(&live).unwrap_or_default();
        let form = LiveForm::of(&sealed);
        if form.text() != &*normalise(live) {
            let hint = "submit the change first, or undo it".into();
            return refuse("unpublished-changes", "its live file was changed".to_owned(), hint);
        }
        // If no approval could write the text, the move is refused now.
        let by = [self.author.principal.to_string()];
        let refused = |why| vec![Refusal::of_spelling(&old.live_path(), &why)];
        let made = self.moved_text((old, new), &form, &by).map_err(refused);
        made.map(|_| ()).map_err(PublishError::Refused)
    }
}
