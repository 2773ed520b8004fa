//! The versions that an approval makes: the one that publishes or retires, that of the target of a
//! move, and the changes of live files.

use std::sync::Arc;

use super::super::artifact::{Base, refused_file};
use super::super::transaction::Transaction;
use super::super::{Outcome, PublishError, Refusal};
use super::mode::check_stewards;
use super::{ReviewError, Reviewed};
use crate::files::vault::config::Config;
use crate::files::vault::replace::Fingerprint;
use crate::policy::rules::{ApprovedMove, Pending, Rules, Track};
use crate::policy::stewards::{self, Stewards, Stuck};
use crate::read::working;
use crate::record::chain::history::Entry;
use crate::record::chain::replay;
use crate::text::document::edit::{Edit, EditError};
use crate::text::document::live_form::LiveForm;
use crate::text::document::review::{Action, ReviewEdit};
use crate::text::document::stamp::{NextText, retired_live, submitted_live};
use crate::text::document::text::normalise;
use crate::text::document::validate::{Problem, Severity};
use crate::text::document::{Document, utf8};
use crate::values::model::governance_file::GovernanceFile;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;
use crate::write::commit::{Change, Item, Live, stale};

impl Transaction<'_> {
    /// Adds the versions that publish or retire an approved submission; `by` are the approvers.
    pub(super) fn approved(
        &self,
        reviewed: &Reviewed,
        by: &[String],
        outcome: &mut Outcome,
    ) -> Result<(), PublishError> {
        let (base, id) = (&reviewed.base, reviewed.track.id());
        let pending = reviewed.pending()?;
        let refused = |refusal: Refusal| PublishError::Refused(vec![refusal]);
        let action = pending.action.clone().unwrap_or_default();
        let version = base.next();
        let text: Arc<str> = match id.is_document() {
            true => {
                let status = if action.is_retirement() { "draft" } else { "published" };
                let step = ReviewEdit::Approve { by, at: self.at };
                let edit = Edit::step(version, &self.at.to_string(), status, &step);
                let text = edit.apply(&pending.last.1);
                text.map_err(|why| refused(Refusal::of_spelling(&id.live_path(), &why)))?.into()
            }
            false => {
                outcome.stuck.extend(self.check_governance(id, &pending.text)?);
                pending.text.as_str().into()
            }
        };
        let change = match (&action, &base.sealed) {
            (Action::Retire | Action::Move(_), _) => Change::Retired,
            (Action::Publish, Some(_)) => Change::Changed,
            (Action::Publish, None) if base.history.entries().any(Entry::is_retirement) => {
                Change::Restored
            }
            (Action::Publish, None) => Change::New,
        };
        let item = self.decided_version(id, base, &text, change, Some("approved"));
        let mut item = item.map_err(refused)?;
        item.approved = (action == Action::Publish).then(|| Arc::clone(&text));
        item.live = match &action {
            Action::Publish => self.followed_live(id, base, pending, by, &text),
            Action::Retire => self.retired_live(id, base),
            Action::Move(target) => {
                let (old, moved) = self.moved_target(id, target, base, by).map_err(refused)?;
                outcome.items.push(moved);
                old
            }
        };
        item.set.clone_from(&pending.change);
        item.warnings.extend(unapproved(&reviewed.track, pending));
        outcome.items.push(item);
        Ok(())
    }

    /// Refuses a governance file that has become invalid since it was submitted, or that would lock
    /// the vault.
    ///
    /// Returns the scopes at which nothing could be approved any more.
    fn check_governance(&self, id: &DocumentId, text: &str) -> Result<Vec<Stuck>, PublishError> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let found = working::governance_problems(self.vault, id, text);
        Refusal::unless_valid(&id.live_path(), found)
            .map_err(|refusal| PublishError::Refused(vec![refusal]))?;
        Ok(check_reviewers(id, text)?)
    }

    /// Returns the change of the live file of a text that is published.
    ///
    /// The file is updated if it has the submitted or the previously published text.
    fn followed_live(
        &self,
        id: &DocumentId,
        base: &Base,
        pending: &Pending,
        by: &[String],
        text: &str,
    ) -> Live {
        let path = id.live_path();
        let Ok(bytes) = self.vault.files().read_optional(&path, limit::DOCUMENT) else {
            return Live::Keep;
        };
        let form = LiveForm::of(text);
        let Some(bytes) = bytes else {
            return match base.sealed {
                Some(_) => Live::Keep,
                None => Live::Create(form.text().as_bytes().to_vec()),
            };
        };
        let Ok(live) = utf8(&bytes) else { return Live::Keep };
        let replace = |new: &str| match new == live {
            true => Live::Keep,
            false => Live::Replace { old: Fingerprint::of(&bytes), new: new.into() },
        };
        let was = base.sealed.as_deref().map(LiveForm::of);
        if was.is_some_and(|was| was.is_of(live)) {
            return match id.is_document() {
                // The file has the published text, so it gets the next one.
                true => replace(form.text()),
                false => replace(text),
            };
        }
        if !id.is_document() || form.is_untouched() {
            return Live::Keep;
        }
        let Ok(document) = Document::of_live(live) else { return Live::Keep };
        let by_hand = base.sealed.as_deref().and_then(|sealed| {
            let place = (self.vault.files(), id);
            stale::changed_by_hand(place, &document.frontmatter, (sealed, &base.history))
        });
        if by_hand.is_some() {
            return Live::Keep;
        }
        let step = ReviewEdit::Approve { by, at: self.at };
        let edit = Edit::step(base.next(), &self.at.to_string(), "published", &step);
        let submitted = submitted_live(id, live, &document, &pending.text);
        submitted.and_then(|made| edit.apply(&made).ok()).map_or(Live::Keep, |new| replace(&new))
    }

    /// Returns the change of the live file of a document that is retired.
    pub(super) fn retired_live(&self, id: &DocumentId, base: &Base) -> Live {
        let path = id.live_path();
        let Ok(Some(bytes)) = self.vault.files().read_optional(&path, limit::DOCUMENT) else {
            return Live::Keep;
        };
        let sealed = base.sealed.as_deref().unwrap_or_default();
        let Ok(live) = utf8(&bytes) else { return Live::Keep };
        if !id.is_document() {
            return match *normalise(live) == *sealed {
                true => Live::Remove(bytes),
                false => Live::Keep,
            };
        }
        let edit = Edit::retirement(base.next(), self.at);
        let new = retired_live(live, sealed, edit, self.vault.config().frontmatter);
        new.map_or(Live::Keep, |new| Live::Replace {
            old: Fingerprint::of(&bytes),
            new: new.into(),
        })
    }

    /// Returns the change of the live file of a moved document, and the first version of
    /// its target.
    ///
    /// The target has the published text under its new id.
    fn moved_target(
        &self,
        old: &DocumentId,
        new: &DocumentId,
        base: &Base,
        by: &[String],
    ) -> Result<(Live, Item), Refusal> {
        let path = new.live_path();
        if replay::has_files(self.vault.files(), new) {
            let message = format!("`{new}` has a history already");
            let hint = "reject the move, and submit one to an id that was never used";
            return Err(Refusal::new(path, "id-taken", message, hint));
        }
        let form = LiveForm::of(base.sealed.as_deref().unwrap_or_default());
        let next = self.moved_text((old, new), &form, by);
        let next = next.map_err(|why| Refusal::of_spelling(&path, &why))?;
        let mut item = self.next_version(new, &Base::nothing(), &next.sealed, Change::New)?;
        let read = |id: &DocumentId| {
            let read = self.vault.files().read_optional(&id.live_path(), limit::DOCUMENT);
            read.map_err(|why| refused_file(&id.live_path(), &why))
        };
        let wanted = LiveForm::of(&next.sealed).into_text();
        let mut left = Live::Keep;
        item.live = match (read(old)?, read(new)?) {
            // The file was moved already.
            (None, Some(bytes)) if utf8(&bytes).is_ok_and(|text| form.is_of(text)) => {
                Live::Replace { old: Fingerprint::of(&bytes), new: wanted.into() }
            }
            (_, Some(_)) => Live::Keep,
            (Some(bytes), None) if utf8(&bytes).is_ok_and(|text| form.is_of(text)) => {
                left = Live::Remove(bytes);
                Live::Create(wanted.into_bytes())
            }
            (_, None) => Live::Create(wanted.into_bytes()),
        };
        Ok((left, item))
    }

    /// Returns the first version of the target of a move, made from the live form of the
    /// published text.
    pub(super) fn moved_text(
        &self,
        ids: (&DocumentId, &DocumentId),
        form: &LiveForm<'_>,
        by: &[String],
    ) -> Result<NextText, EditError> {
        let head = self.chronicle.head_number();
        let (approved_by, by) = (by, self.author.principal.as_str());
        let made = ApprovedMove { ids, by, approved_by, at: self.at, head };
        made.first(form, &Rules::of(self.vault.config(), Stewards::default()))
    }

    /// Refuses to make the vault ungoverned while other submissions await a decision.
    pub(super) fn check_mode_change(
        &self,
        id: &DocumentId,
        text: &str,
        pending: usize,
    ) -> Result<(), PublishError> {
        let ends = || Config::parse(text).is_ok_and(|config| !config.is_governed());
        match id.governance() == Some(GovernanceFile::Config) && pending > 0 && ends() {
            true => {
                let what = crate::values::text_util::count(pending, "submission");
                Err(ReviewError::ReviewsPending(format!("decide or withdraw {what}")).into())
            }
            false => Ok(()),
        }
    }
}

/// Refuses stewards who could never approve a change of `stewards.yaml`.
///
/// Returns the scopes at which nothing could be approved.
pub(super) fn check_reviewers(id: &DocumentId, text: &str) -> Result<Vec<Stuck>, ReviewError> {
    match id.governance() {
        Some(GovernanceFile::Stewards) => {
            check_stewards(&stewards::read(text).stewards.unwrap_or_default())
        }
        _ => Ok(Vec::new()),
    }
}

/// Returns a warning if the published text that a submission is based on, or that it retires or
/// moves, was not validly approved.
///
/// A submitted text is compared with the last approved version instead.
pub(crate) fn unapproved(track: &Track, pending: &Pending) -> Option<Problem> {
    let base = track.last_approved().map_or(Version::NONE, |last| last.version);
    let published = track.last_published().filter(|last| last.version != base)?.version;
    let (what, hint) = match &pending.action {
        Some(Action::Move(_)) => (
            "whose text it moves",
            "submit the text first: a move does not approve it, so it stays withheld",
        ),
        Some(Action::Retire) if track.id().is_document() => (
            "which it retires",
            "a retirement does not approve its text: a later submission is compared with the last approved version",
        ),
        _ => (
            "which it is based on",
            "read all of the changes: an approval also approves those of that version",
        ),
    };
    let compared = match base {
        _ if !pending.writes_text(track.id()) => String::new(),
        Version::NONE => "; all of it is shown as new".to_owned(),
        base => format!("; the submission is compared with version {base}"),
    };
    Some(Problem {
        code: "base-unapproved",
        severity: Severity::Warning,
        line: None,
        message: format!("version {published}, {what}, lacks a valid approval{compared}"),
        hint: hint.into(),
    })
}
