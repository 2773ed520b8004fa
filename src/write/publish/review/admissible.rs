//! Checks which prepared submissions this principal may make, and which of them replace
//! pending ones.

use std::collections::HashSet;

use super::super::transaction::Transaction;
use super::super::{NewDocument, Outcome, PublishError, Refusal, Unapprovable};
use super::publication::check_reviewers;
use super::queue::{Waits, reviewers};
use super::{Refusing, ReviewError};
use crate::files::vault::left_out::{LeftOut, Reason};
use crate::policy::rules::{Pending, Rules, Track};
use crate::policy::stewards::Role;
use crate::record::chain::history::History;
use crate::text::document::live_form::LiveForm;
use crate::text::document::review::{Action, ReviewFields};
use crate::text::document::stamp::is_submitted;
use crate::text::document::{Document, utf8};
use crate::values::model::governance_file::GovernanceFile;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::principal::PrincipalKey;
use crate::write::commit::Item;

/// The comparison of submissions with pending ones.
pub(super) struct Checks<'c> {
    /// True if pending submissions of other principals are replaced.
    pub(super) supersede: bool,
    /// True if texts that the principal may not submit are left out, unless nothing else is left.
    pub(super) leaves_out: bool,
    /// Texts without a live file.
    pub(super) new: &'c [NewDocument],
    pub(super) waits: &'c Waits,
}

impl<'c> Checks<'c> {
    /// Creates the checks of a command that replaces no submission of another principal.
    pub(super) fn plain(waits: &'c Waits) -> Self {
        Self { supersede: false, leaves_out: false, new: &[], waits }
    }
}

impl Transaction<'_> {
    /// Leaves out texts that were submitted already, and refuses submissions that are not allowed.
    ///
    /// These are texts that the principal may not submit, or that another principal
    /// submitted before.
    pub(super) fn check_submitted(
        &self,
        outcome: &mut Outcome,
        how: &Checks<'_>,
    ) -> Result<(), PublishError> {
        let rules = self.rules();
        let mut unfit = None;
        for mut item in std::mem::take(&mut outcome.items) {
            let reviewed = match self.vault.files().exists(&item.id.history_path()) {
                true => Some(self.reviewed(&item.id)?),
                false => None,
            };
            let track = reviewed.as_ref().map(|reviewed| &reviewed.track);
            item.set = self.submits.as_ref().and_then(|submits| submits.set_of(&item.id));
            let target = match self.check_roles(&item, track, &rules) {
                Err(why @ PublishError::Review(ReviewError::Unfit(_))) if how.leaves_out => {
                    outcome.left_out.push(LeftOut::artifact(&item.id, Reason::NotEditor));
                    unfit = unfit.or(Some(why));
                    continue;
                }
                target => target?,
            };
            check_fields(&item.id, track, how.new)?;
            let history = reviewed.as_ref().map(|reviewed| &*reviewed.base.history);
            let (reviewers, unapprovable) =
                self.reviewers_of(&item, (track, history), how.waits, &rules);
            outcome.unapprovable.extend(unapprovable);
            self.check_targets(&item.id, target.as_ref(), how.waits)?;
            let text = item.submitted.as_deref().unwrap_or_default();
            outcome.stuck.extend(check_reviewers(&item.id, text)?);
            if item.id.governance() == Some(GovernanceFile::Config) {
                self.check_mode_change(&item.id, text, how.waits.others(&item.id))?;
            }
            match self.is_replaced(&item, track, how)? {
                true => {
                    let pending = track.and_then(|track| track.pending.as_ref());
                    let me = self.author.principal.key();
                    let is_of_other = |by: &str| PrincipalKey::of(by) != me;
                    if pending.is_some_and(|pending| is_of_other(&pending.by))
                        && !reviewers.is_empty()
                    {
                        outcome.superseding.push((item.id.clone(), reviewers));
                    }
                    outcome.items.push(item);
                }
                false => {
                    let pending = track.and_then(|track| track.pending.as_ref());
                    let named = |p: &Pending| (item.id.clone(), p.version, p.by.clone());
                    outcome.awaiting.extend(pending.map(named));
                    outcome.unchanged.push(item.id.clone());
                }
            }
        }
        check_awaiting(outcome, how.waits)?;
        match unfit.filter(|_| outcome.items.is_empty() && outcome.awaiting.is_empty()) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// Refuses a principal who is not an editor of a text; returns the target of a move.
    fn check_roles(
        &self,
        item: &Item,
        track: Option<&Track>,
        rules: &Rules,
    ) -> Result<Option<DocumentId>, PublishError> {
        let text = item.submitted.as_deref().unwrap_or_default();
        let action = track.and_then(|_| action_of(&item.id, text));
        let new = Track::new(&item.id);
        let subjects = track.unwrap_or(&new).texts_of(text, action.as_ref());
        let me = self.author.principal.as_str();
        rules.require(me, Role::Editor, subjects).map_err(ReviewError::from)?;
        Ok(match action {
            Some(Action::Move(target)) => Some(target),
            _ => None,
        })
    }

    /// Returns the stewards who could approve a submission once it is made.
    ///
    /// Its submitter, the submitters that it replaces and further authors may not. If no steward
    /// may, the reason is returned, too.
    fn reviewers_of(
        &self,
        item: &Item,
        (track, history): (Option<&Track>, Option<&History>),
        waits: &Waits,
        rules: &Rules,
    ) -> (Vec<String>, Option<Unapprovable>) {
        let text = item.submitted.as_deref().unwrap_or_default();
        let new = Track::new(&item.id);
        let by = (self.author.principal.as_str(), self.at);
        let submitted = || track.unwrap_or(&new).submitting((item.version, text), by);
        let mut track = submitted();
        waits.lines.bar_lost((self.vault, &self.maps()), history, &mut track);
        let found = reviewers(&track, rules);
        let unapprovable = found.is_empty().then(|| Unapprovable {
            id: item.id.clone(),
            is_by_loss: !reviewers(&submitted(), rules).is_empty(),
        });
        (found, unapprovable)
    }

    /// Refuses an id that the approval of a pending move would use.
    fn check_targets(
        &self,
        id: &DocumentId,
        target: Option<&DocumentId>,
        waits: &Waits,
    ) -> Result<(), PublishError> {
        for track in waits.tracks().filter(|track| track.id() != id) {
            let action = track.pending.as_ref().and_then(|pending| pending.action.as_ref());
            let Some(taken) = action.and_then(Action::target) else { continue };
            let is_met = |id: &DocumentId| id == taken || id.collision_with(taken).is_some();
            if !is_met(id) && !target.is_some_and(is_met) {
                continue;
            }
            let message = match self.may_name(track.id()) {
                true => format!("a move of `{}` to `{taken}` awaits a decision", track.id()),
                false => "a move to this id, or to one that collides with it, awaits a decision"
                    .to_owned(),
            };
            let hint = "choose another id, or wait for that decision";
            let met = if is_met(id) { id } else { target.unwrap_or(id) };
            let refusal = Refusal::new(met.live_path(), "id-taken", message, hint);
            return Err(PublishError::Refused(vec![refusal]));
        }
        Ok(())
    }

    /// Returns true if a submission is new or replaces the pending one, and false if it is
    /// the same.
    ///
    /// Refuses to replace a submission of another principal.
    fn is_replaced(
        &self,
        item: &Item,
        track: Option<&Track>,
        how: &Checks<'_>,
    ) -> Result<bool, PublishError> {
        let Some(track) = track else { return Ok(true) };
        let Some(pending) = &track.pending else { return Ok(true) };
        let text = item.submitted.as_deref().unwrap_or_default();
        let fresh = how.new.iter().find(|new| new.id == item.id);
        let is_mine = PrincipalKey::of(&pending.by) == self.author.principal.key();
        let replaces = how.supersede && !is_mine;
        // A pending submission without a line in a change log may be undone, so it is
        // submitted again.
        let doubt = how.waits.unrecorded(track);
        let is_known = doubt.is_none();
        let is_same_set = pending.change == item.set;
        if is_same_set && !replaces && is_known && self.is_same(item, track, fresh) {
            return Ok(false);
        }
        if !is_mine && !how.supersede {
            let (id, version) = (item.id.clone(), pending.version);
            let is_text = action_of(&item.id, text).is_none_or(|action| !action.is_retirement());
            let by = pending.by.clone();
            return Err(ReviewError::Pending { id, version, by, is_text }.into());
        }
        if !is_mine {
            let rules = self.rules();
            let reason = Refusing::Supersede("");
            self.may_end(track, pending, reason, &rules)?;
        }
        // A part leaves its set with the whole set only. If the pending submission was decided
        // already, the set has ended.
        let stays = is_mine && !matches!(doubt, Some(ReviewError::Decided { .. }));
        match pending.change.as_ref().filter(|change| stays && Some(*change) != item.set.as_ref()) {
            Some(change) => {
                let (id, change) = (item.id.clone(), change.clone());
                Err(ReviewError::InChange { id, change }.into())
            }
            None => Ok(true),
        }
    }

    /// Returns true if a submission is the same as the pending one.
    fn is_same(&self, item: &Item, track: &Track, fresh: Option<&NewDocument>) -> bool {
        let Some(pending) = &track.pending else { return false };
        let (id, version) = (&item.id, item.version);
        let text = item.submitted.as_deref().unwrap_or_default();
        let action = if id.is_document() { action_of(id, text) } else { Some(Action::Publish) };
        if !id.is_document() {
            return pending.text == text;
        }
        if action != pending.action {
            return false;
        }
        if action.is_some_and(|action| action.is_retirement()) {
            return true;
        }
        // A renewal submits the published text, not the file.
        if track.renews((version, self.at), text) {
            return track.renews((pending.version, pending.at), &pending.text);
        }
        let read = || self.vault.files().read_optional(&id.live_path(), limit::DOCUMENT).ok()?;
        let bytes = match fresh {
            Some(new) => Some(new.text.clone().into_bytes()),
            None => read(),
        };
        let Some(live) = bytes.as_deref().and_then(|bytes| utf8(bytes).ok()) else { return false };
        let Ok(document) = Document::of_live(live) else { return false };
        let published = track.published.as_ref().filter(|_| fresh.is_some());
        let kept = published.and_then(|of| LiveForm::of(&of.text).with_body_of(live, &document));
        match kept {
            Some(live) => Document::of_live(&live)
                .is_ok_and(|document| is_submitted(id, &live, &document, &pending.text)),
            None => is_submitted(id, live, &document, &pending.text),
        }
    }
}

/// Refuses a text without fields if it would keep those of a text without a valid approval (REV-5).
fn check_fields(
    id: &DocumentId,
    track: Option<&Track>,
    new: &[NewDocument],
) -> Result<(), PublishError> {
    let published = track.and_then(|track| track.published.as_ref());
    let Some(published) = published.filter(|published| !published.is_approved) else {
        return Ok(());
    };
    let lacks_fields = |new: &NewDocument| {
        Document::of_live(&new.text).is_ok_and(|document| document.lacks_frontmatter())
    };
    if !new.iter().any(|new| new.id == *id && lacks_fields(new)) {
        return Ok(());
    }
    let message = format!(
        "a text without frontmatter keeps the fields of version {}, which lacks a valid approval",
        published.version
    );
    let hint = "begin the text with its own frontmatter";
    let refusal = Refusal::new(id.live_path(), "base-unapproved", message, hint);
    Err(PublishError::Refused(vec![refusal]))
}

/// Returns the action that the text of a submission proposes.
fn action_of(id: &DocumentId, text: &str) -> Option<Action> {
    let document = id.is_document().then(|| Document::parse(text).ok()).flatten()?;
    ReviewFields::of(&document.frontmatter)?.action
}

/// Refuses submissions if the pending texts would exceed the limit of bytes for a list of them.
fn check_awaiting(outcome: &Outcome, waits: &Waits) -> Result<(), PublishError> {
    let new: HashSet<&DocumentId> = outcome.items.iter().map(|item| &item.id).collect();
    let others = waits.tracks().filter(|track| !new.contains(track.id()));
    let awaiting = others.filter_map(|track| Some(track.pending.as_ref()?.text.len()));
    let submitted = outcome.items.iter().filter_map(|item| Some(item.submitted.as_ref()?.len()));
    let bytes: usize = awaiting.chain(submitted).sum();
    let Some(first) = outcome.items.first().filter(|_| bytes > limit::AWAITING) else {
        return Ok(());
    };
    let most = limit::AWAITING >> 20;
    let message = format!(
        "the texts that await a decision would have {} MiB together, but at most {most} are allowed",
        bytes.div_ceil(1 << 20)
    );
    let hint = "decide or withdraw pending submissions first, or submit fewer documents";
    let refusal = Refusal::new(first.id.live_path(), "too-large", message, hint);
    Err(PublishError::Refused(vec![refusal]))
}
