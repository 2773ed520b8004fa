//! Judges if a version that was published or retired in a governed vault was approved as the rules
//! require. The writer judges a version before it is written, the verifier one that is recorded.

use super::author::Barred;
use super::ruleset::{Rules, Unfit};
use super::track::{Pending, StepKind, Track, decision, fields_of};
use crate::policy::stewards::Role;
use crate::record::chain::history::Entry;
use crate::text::document::edit::Edit;
use crate::text::document::review::{Action, ReviewEdit, ReviewFields, ReviewState};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::principal::PrincipalKey;
use crate::values::model::timestamp::Timestamp;

/// A fault of an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule that is broken.
    pub kind: FaultKind,
    /// One sentence for people.
    pub message: String,
    /// The file that cannot be read, so that the approval cannot be judged.
    pub lost: Option<DocumentId>,
}

/// The rule that an approval breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Approvals are missing: at least one that is required is not recorded.
    Missing,
    /// An author approved.
    SelfApproval,
    /// A principal approved who was not a reviewer.
    Unauthorised,
    /// The text is not the submitted one, or the submission is based on another version than the
    /// published one.
    Altered,
}

impl FaultKind {
    /// Returns the code of the finding that a verifier reports.
    pub fn code(self) -> &'static str {
        match self {
            Self::Missing => "approval-missing",
            Self::SelfApproval => "approval-self",
            Self::Unauthorised => "approval-unauthorised",
            Self::Altered => "approval-altered",
        }
    }
}

/// Message for a retirement of `CONTEXT.md`, `stewards.yaml` or the configuration (REV-3).
const KEPT: &str = "a governed vault cannot retire this file";

impl Fault {
    pub(crate) fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), lost: None }
    }

    fn unfit(why: &Unfit) -> Self {
        Self { lost: why.lost.clone(), ..Self::new(FaultKind::Unauthorised, why.to_string()) }
    }

    fn barred(who: &str, why: Barred) -> Self {
        Self::new(FaultKind::SelfApproval, format!("`{who}` approved it, but {}", why.reason()))
    }
}

impl Track {
    /// Returns the texts that decide who the reviewers of a submission are.
    ///
    /// These are the submitted text and the last one published by a valid approval; for a move,
    /// each of them also under the target.
    pub fn subjects<'t>(&'t self, pending: &'t Pending) -> Vec<(&'t DocumentId, &'t str)> {
        self.texts_of(&pending.text, pending.action.as_ref())
    }

    /// Returns the texts that decide about a text that is submitted with an action.
    pub(crate) fn texts_of<'t>(
        &'t self,
        submitted: &'t str,
        action: Option<&'t Action>,
    ) -> Vec<(&'t DocumentId, &'t str)> {
        // A proposed deletion has an empty text, which decides nothing.
        let submitted = Some(submitted).filter(|text| !text.is_empty());
        let approved = self.last_approved().map(|last| last.text.as_str());
        let texts: Vec<&str> = submitted.into_iter().chain(approved).collect();
        let mut subjects: Vec<_> = texts.iter().map(|text| (self.id(), *text)).collect();
        if let Some(Action::Move(target)) = action {
            subjects.extend(texts.iter().map(|text| (target, *text)));
        }
        if subjects.is_empty() {
            subjects.push((self.id(), ""));
        }
        subjects
    }

    /// Returns the text that decides who the reviewers of an emergency retirement are.
    ///
    /// This is the last approved text, or the retired one if none was approved.
    pub fn retired<'t>(&'t self, text: &'t str) -> [(&'t DocumentId, &'t str); 1] {
        let approved = self.last_approved().map(|last| last.text.as_str());
        [(self.id(), approved.unwrap_or(text))]
    }

    /// Returns the texts that decide about the pending submission, or about the emergency
    /// retirement that awaits ratification.
    pub fn awaited(&self) -> Vec<(&DocumentId, &str)> {
        match (&self.pending, &self.emergency) {
            (Some(pending), _) => self.subjects(pending),
            (None, Some(emergency)) => self.retired(&emergency.text).to_vec(),
            (None, None) => Vec::new(),
        }
    }

    /// Returns the version that is decided first: the pending submission, or the emergency
    /// retirement.
    pub fn awaited_version(&self) -> Option<Version> {
        let of_pending = self.pending.as_ref().map(|pending| pending.version);
        of_pending.or_else(|| Some(self.emergency.as_ref()?.version))
    }

    /// Judges one approver of a submission; `before` are the principals who approved it already.
    pub fn approver(
        &self,
        pending: &Pending,
        (who, before): (&str, &[String]),
        rules: &Rules,
    ) -> Vec<Fault> {
        let key = PrincipalKey::of(who);
        let mut faults = Vec::new();
        if before.iter().any(|other| PrincipalKey::of(other) == key) {
            let message = format!("`{who}` approved it twice");
            faults.push(Fault::new(FaultKind::Missing, message));
        }
        faults.extend(self.bars(pending, &key, rules).map(|why| Fault::barred(who, why)));
        let fit = rules.require(who, Role::Reviewer, self.subjects(pending));
        faults.extend(fit.err().map(|why| Fault::unfit(&why)));
        faults
    }

    /// Returns each approver whose approval so far is not valid, with the first reason (REV-13).
    ///
    /// Such an approver has lost the role, or is an author.
    pub fn lapses(&self, pending: &Pending, rules: &Rules) -> Vec<(String, Fault)> {
        let by = pending.approvers();
        let lapse = |(n, who): (usize, &String)| {
            let faults = self.approver(pending, (who, &by[..n]), rules);
            faults.into_iter().next().map(|fault| (who.clone(), fault))
        };
        by.iter().enumerate().filter_map(lapse).collect()
    }

    /// Returns the first of the faults of [`Track::lapses`].
    pub fn lapsed(&self, pending: &Pending, rules: &Rules) -> Option<Fault> {
        self.lapses(pending, rules).into_iter().next().map(|(_, fault)| fault)
    }

    /// Returns the fault of a submission that is not based on what is published.
    pub fn submission(&self, pending: &Pending) -> Option<Fault> {
        let altered = |message: &str| Some(Fault::new(FaultKind::Altered, message));
        let published = self.published.as_ref();
        let base = published.map_or(Version::NONE, |last| last.version);
        if pending.backdated.is_some() {
            return pending.backdated.clone();
        }
        if pending.base != Some(base) {
            return altered("its `review_base` is not the version that was published");
        }
        if let Some(version) = pending.altered {
            let message = format!(
                "the approval in part, version {version}, changes more than an approval may"
            );
            return altered(&message);
        }
        let Some(action) = &pending.action else {
            return altered("its review fields name no action");
        };
        if action.is_retirement() && self.id().is_kept() {
            return altered(KEPT);
        }
        if !action.is_retirement() || !self.id().is_document() {
            return None;
        }
        match self.is_published_text((pending.version, pending.at), &pending.text) {
            true => None,
            false => altered("the text to be retired is not the published text"),
        }
    }

    /// Returns true if a submission of this version and time renews the published text as it is.
    ///
    /// Then no principal is an author of it because of earlier submissions (REV-12).
    pub(crate) fn renews(&self, at: (Version, Timestamp), text: &str) -> bool {
        let Some(published) = self.approved() else { return false };
        if !self.id().is_document() {
            return published.text == text;
        }
        let action = fields_of(text).and_then(|fields| fields.action);
        // The step is compared byte for byte. Otherwise comments and values in the lines that it
        // sets could contain text that no other principal has seen.
        action == Some(Action::Publish) && self.is_published_text(at, text)
    }

    /// Returns true if a text is the step that submits the published one, of this version and time.
    fn is_published_text(&self, (version, at): (Version, Timestamp), text: &str) -> bool {
        let Some(published) = &self.published else { return false };
        let Some(fields) = fields_of(text) else { return false };
        let Some(action) = &fields.action else { return false };
        let (base, change) = (published.version, fields.change.as_deref());
        let submit = ReviewEdit::Submit { base, action, change };
        let edit = Edit::step(version, &at.to_string(), "draft", &submit);
        edit.apply(&published.text).as_deref() == Ok(text)
    }

    /// Returns the fault of a version whose time is before that of an earlier version (REV-31).
    ///
    /// Then its roles are unknown. Must be called before the track takes the version.
    pub(super) fn backdated(&self, entry: &Entry) -> Option<Fault> {
        let Entry { version, edited_at: at, .. } = entry;
        let message = || {
            format!(
                "version {version} is from {at}, earlier than a version before it, so no role is known"
            )
        };
        (*at < self.latest).then(|| Fault::new(FaultKind::Unauthorised, message()))
    }

    /// Judges a version that is published or retired by this entry and text with these
    /// review fields.
    ///
    /// Must be called before the track takes the version.
    pub fn judge(
        &self,
        entry: &Entry,
        (text, fields): (&str, Option<&ReviewFields>),
        rules: &Rules,
    ) -> Vec<Fault> {
        let mut faults = self.judge_event(entry, (text, fields), rules);
        faults.extend(self.backdated(entry));
        faults
    }

    fn judge_event(
        &self,
        entry: &Entry,
        (text, fields): (&str, Option<&ReviewFields>),
        rules: &Rules,
    ) -> Vec<Fault> {
        let state = fields.map(|fields| fields.state);
        if entry.is_retirement() && state == Some(ReviewState::Emergency) {
            return self.emergency_retirement(entry, rules);
        }
        if entry.is_retirement() && self.id().is_kept() {
            return vec![Fault::new(FaultKind::Altered, KEPT)];
        }
        let pending =
            self.pending.as_ref().filter(|pending| pending.last.0.next() == entry.version);
        let Some(pending) = pending else {
            let what = if entry.is_retirement() { "retired" } else { "published" };
            let message = format!("it was {what} in a governed vault without a submission");
            return vec![Fault::new(FaultKind::Missing, message)];
        };
        let mut faults: Vec<Fault> = self.submission(pending).into_iter().collect();
        let approvers = match self.approvers(pending, entry, (text, fields)) {
            Ok(approvers) => approvers,
            Err(fault) => {
                faults.push(fault);
                return faults;
            }
        };
        for (n, who) in approvers.iter().enumerate() {
            faults.extend(self.approver(pending, (who, &approvers[..n]), rules));
        }
        let required = rules.required(self.subjects(pending)).required;
        let found = u32::try_from(approvers.len()).unwrap_or(u32::MAX);
        if found < required {
            let message = format!("{found} of {required} required approvals are recorded");
            faults.push(Fault::new(FaultKind::Missing, message));
        }
        faults
    }

    /// Returns true if a version is byte for byte an approval of the pending submission, by anyone.
    ///
    /// Then its editor wrote nothing.
    pub(crate) fn is_exact_approval(
        &self,
        entry: &Entry,
        (text, fields): (&str, Option<&ReviewFields>),
    ) -> bool {
        let pending = self.pending.as_ref().filter(|one| one.last.0.next() == entry.version);
        pending.is_some_and(|pending| self.approvers(pending, entry, (text, fields)).is_ok())
    }

    /// Judges a submission or a ratification by the rules in force at its time.
    ///
    /// Approvals in part are judged with the version that they publish; rejections and withdrawals
    /// publish nothing. Must be called before the track takes the version.
    pub fn judge_step(
        &self,
        entry: &Entry,
        (text, fields): (&str, Option<&ReviewFields>),
        rules: &Rules,
    ) -> Vec<Fault> {
        match self.kind_by(entry, fields) {
            StepKind::Submitted => {
                self.submitter(entry, (text, fields), rules).into_iter().collect()
            }
            StepKind::Ratified => self.ratification(entry, text, rules),
            _ => Vec::new(),
        }
    }

    fn submitter(
        &self,
        entry: &Entry,
        (text, fields): (&str, Option<&ReviewFields>),
        rules: &Rules,
    ) -> Option<Fault> {
        let action = fields.and_then(|fields| fields.action.as_ref());
        editor(&entry.edited_by, self.texts_of(text, action), rules)
    }

    /// Returns the fault of a pending submission whose submitter was not an editor.
    ///
    /// `rules` are those in force at the time of the submission.
    pub fn submitted_by_editor(&self, pending: &Pending, rules: &Rules) -> Option<Fault> {
        editor(&pending.by, self.subjects(pending), rules)
    }

    fn ratification(&self, entry: &Entry, text: &str, rules: &Rules) -> Vec<Fault> {
        let Some(emergency) = &self.emergency else {
            let message = "it ratifies an emergency retirement, but none awaits ratification";
            return vec![Fault::new(FaultKind::Missing, message)];
        };
        let who = &entry.edited_by;
        let mut faults: Vec<Fault> = self.backdated(entry).into_iter().collect();
        if PrincipalKey::of(who) == PrincipalKey::of(&emergency.by) {
            let message = format!("`{who}` ratified the retirement, but made it");
            faults.push(Fault::new(FaultKind::SelfApproval, message));
        }
        let fit = rules.require(who, Role::Reviewer, self.retired(&emergency.text));
        faults.extend(fit.err().map(|why| Fault::unfit(&why)));
        let (by, at) = (std::slice::from_ref(who), entry.edited_at);
        let step = ReviewEdit::Ratify { by, at };
        let expected = Edit::step(entry.version, &at.to_string(), "draft", &step);
        if expected.apply(&emergency.text).as_deref() != Ok(text) {
            let message = "its text is not the one that was retired";
            faults.push(Fault::new(FaultKind::Altered, message));
        }
        faults
    }

    /// Judges an emergency retirement, which a reviewer of the scope may make alone.
    fn emergency_retirement(&self, entry: &Entry, rules: &Rules) -> Vec<Fault> {
        let published = self.published.as_ref().map_or("", |last| last.text.as_str());
        let fit = rules.require(&entry.edited_by, Role::Reviewer, self.retired(published));
        fit.err().map(|why| Fault::unfit(&why)).into_iter().collect()
    }

    /// Returns the approvers that the text of a version must name.
    ///
    /// These are the approvers in part, and the principal who recorded the version. The latter is
    /// left out if the version was recorded by the approval of another part of its set, or needed
    /// no more approvals (REV-8).
    fn approvers(
        &self,
        pending: &Pending,
        entry: &Entry,
        (text, fields): (&str, Option<&ReviewFields>),
    ) -> Result<Vec<String>, Fault> {
        let partial = pending.approvers();
        let key = PrincipalKey::of(&entry.edited_by);
        // If fewer approvals are required than before, one of the earlier approvers publishes.
        let is_approver = partial.iter().any(|by| PrincipalKey::of(by) == key);
        let with_last = || partial.iter().cloned().chain([entry.edited_by.clone()]).collect();
        let altered = |message: &str| Err(Fault::new(FaultKind::Altered, message));
        let action = pending.action.as_ref();
        if action.is_some_and(|action| action.is_retirement() != entry.is_retirement()) {
            return altered("the recorded decision does not match the submitted action");
        }
        if !self.id().is_document() {
            return match decision(entry) {
                Some(Ok("approved")) if text == pending.last.1 && is_approver => Ok(partial),
                Some(Ok("approved")) if text == pending.last.1 => Ok(with_last()),
                _ => altered("it is not an approval of the submitted text"),
            };
        }
        let Some(fields) = fields.filter(|fields| fields.state == ReviewState::Approved) else {
            let message = "it was published or retired in a governed vault without an approval";
            return Err(Fault::new(FaultKind::Missing, message));
        };
        let named = &fields.approved_by;
        let with_last: Vec<String> = with_last();
        let is_completed = *named == partial && (pending.change.is_some() || is_approver);
        if *named != with_last && !is_completed {
            return altered("its `approved_by` does not name those who approved it");
        }
        let at = entry.event_at().unwrap_or(entry.edited_at);
        let status = if entry.is_retirement() { "draft" } else { "published" };
        let step = ReviewEdit::Approve { by: named, at };
        let expected = Edit::step(entry.version, &at.to_string(), status, &step);
        match expected.apply(&pending.last.1).as_deref() == Ok(text) {
            true => Ok(named.clone()),
            false => altered("its text is not the submitted one"),
        }
    }
}

/// Returns the fault of a submitter who is not an editor.
fn editor<'t>(
    by: &str,
    subjects: impl IntoIterator<Item = (&'t DocumentId, &'t str)>,
    rules: &Rules,
) -> Option<Fault> {
    rules.require(by, Role::Editor, subjects).err().map(|why| Fault::unfit(&why))
}
