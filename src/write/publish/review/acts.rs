//! The versions of decisions that do not publish: approvals in part, ratifications, and the ends of
//! submissions; also checks who may end one.

use std::sync::Arc;

use super::super::transaction::Transaction;
use super::super::{PublishError, Refusal};
use super::decide::Refusing;
use super::publication::unapproved;
use super::{ReviewError, Reviewed};
use crate::policy::rules::{Pending, Rules, Track};
use crate::policy::stewards::Role;
use crate::text::document::edit::Edit;
use crate::text::document::review::{Action, ReviewEdit};
use crate::values::model::principal::PrincipalKey;
use crate::write::commit::{Change, Item, Step};

impl Transaction<'_> {
    /// Returns the version that ratifies an emergency retirement.
    pub(super) fn ratified(&self, reviewed: &Reviewed) -> Result<Item, PublishError> {
        let by = [self.author.principal.to_string()];
        let step = ReviewEdit::Ratify { by: &by, at: self.at };
        let text = reviewed.track.emergency.as_ref().map(|emergency| emergency.text.as_str());
        self.stepped(reviewed, text.unwrap_or_default(), Step::Ratify, &step)
    }

    /// Returns the version that approves a submission in part.
    pub(super) fn approved_in_part(
        &self,
        reviewed: &Reviewed,
        by: &[String],
    ) -> Result<Item, PublishError> {
        let step = ReviewEdit::ApproveInPart { by, at: self.at };
        let pending = reviewed.pending()?;
        let mut item = self.stepped(reviewed, &pending.last.1, Step::ApproveInPart, &step)?;
        item.warnings.extend(unapproved(&reviewed.track, pending));
        Ok(item)
    }

    /// Returns the version that ends a submission.
    pub(super) fn ended(
        &self,
        reviewed: &Reviewed,
        how: Refusing<'_>,
    ) -> Result<Item, PublishError> {
        let me = self.author.principal.as_str();
        let (kind, step) = match how {
            Refusing::Reject(reason) => (Step::Reject, ReviewEdit::Reject { by: me, reason }),
            Refusing::Withdraw(reason) => (Step::Withdraw, ReviewEdit::Withdraw { reason }),
            Refusing::Supersede(reason) => {
                (Step::Withdraw, ReviewEdit::Withdraw { reason: Some(reason) })
            }
        };
        let text = &reviewed.pending()?.last.1;
        self.stepped(reviewed, text, kind, &step)
    }

    /// Refuses a principal who may not end a submission.
    pub(super) fn may_end(
        &self,
        track: &Track,
        pending: &Pending,
        how: Refusing<'_>,
        rules: &Rules,
    ) -> Result<(), ReviewError> {
        let (id, who) = (track.id(), self.author.principal.as_str());
        let needed = match how {
            Refusing::Withdraw(_)
                if PrincipalKey::of(&pending.by) == self.author.principal.key() =>
            {
                return Ok(());
            }
            Refusing::Withdraw(_) => {
                return Err(ReviewError::NotTheSubmitter {
                    id: id.clone(),
                    version: pending.version,
                    by: pending.by.clone(),
                });
            }
            Refusing::Reject(_) => Role::Reviewer,
            Refusing::Supersede(_) => Role::Editor,
        };
        // The role for one of the texts is enough, because nothing is published. Otherwise new tags
        // alone could keep others from ending the submission.
        Ok(rules.require_any(who, needed, track.subjects(pending))?)
    }

    /// Returns the version that a step makes of a text.
    fn stepped(
        &self,
        reviewed: &Reviewed,
        text: &str,
        kind: Step,
        step: &ReviewEdit<'_>,
    ) -> Result<Item, PublishError> {
        let (base, id) = (&reviewed.base, reviewed.track.id());
        let refused = |refusal: Refusal| PublishError::Refused(vec![refusal]);
        let text = match id.is_document() {
            true => {
                let edit = Edit::step(base.next(), &self.at.to_string(), "draft", step);
                let text = edit.apply(text);
                text.map_err(|why| refused(Refusal::of_spelling(&id.live_path(), &why)))?
            }
            false => text.to_owned(),
        };
        let (change, text) = (Change::Step(kind), Arc::from(text));
        let item = self.decided_version(id, base, &text, change, kind.decision());
        let pending = reviewed.track.pending.as_ref();
        let is_text = pending.is_some_and(|pending| pending.action == Some(Action::Publish));
        let approved = (kind == Step::ApproveInPart && is_text).then_some(text);
        let set = pending.and_then(|pending| pending.change.clone());
        Ok(Item { set, approved, ..item.map_err(refused)? })
    }
}
