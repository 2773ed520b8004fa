//! The versions of one history in order, and the submission that awaits a decision after them.

use std::collections::{BTreeSet, HashMap};

use super::content::Content;
use super::judge::Fault;
use crate::files::vault::files::Files;
use crate::record::chain::diff;
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{Entry, EntryState, Forget, History, TextStorage};
use crate::record::chain::vouched;
use crate::record::chain::walk::{Step, Walk};
use crate::text::document::Document;
use crate::text::document::edit::Edit;
use crate::text::document::review::{Action, ReviewEdit, ReviewFields, ReviewState};
use crate::text::document::text::split;
use crate::values::codes::words;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::principal::PrincipalKey;
use crate::values::model::timestamp::Timestamp;

/// The reviews of one artifact, up to a version.
#[derive(Clone, Debug)]
pub struct Track {
    id: DocumentId,
    /// The published version; `None` before the first publication and after a retirement.
    pub published: Option<Published>,
    /// The version that was published last, if it was retired: its scope still decides (REV-11).
    pub former: Option<Published>,
    /// The submission that awaits a decision.
    pub pending: Option<Pending>,
    /// The emergency retirement that awaits ratification.
    pub emergency: Option<EmergencyRetirement>,
    /// The steps at the end of the history.
    pub tail: Tail,
    /// The principals who submitted since the last publication, rejection or withdrawal.
    pub(super) submitters: Vec<PrincipalKey>,
    /// The state after the last publication with a valid approval, if events without one follow it.
    pub(super) distrusted: Option<Distrusted>,
    /// The value of `distrusted` before the last event, whose approval is not judged yet.
    before_event: Distrusted,
    /// The texts submitted so far, by the hashes of their bodies without white space.
    pub(super) texts: HashMap<Digest, Vec<Written>>,
    /// Number of bytes of these texts that are kept.
    kept: usize,
    /// Submitters of versions that the history has lost; only change logs record them.
    pub(super) lost: Vec<PrincipalKey>,
    /// Submitters of lost versions of artifacts that a move links with this one.
    pub(super) lost_elsewhere: Vec<PrincipalKey>,
    /// The documents that versions with a review name first in `derived_from`.
    origins: BTreeSet<DocumentId>,
    /// The latest time of a version so far.
    pub(super) latest: Timestamp,
}

/// Maximum number of bytes of submitted texts that are kept; further ones are hashed at once.
const KEPT: usize = 1 << 20;

/// A text that was submitted.
///
/// Its content is hashed only on demand: hashing is slow, and few callers need it.
#[derive(Clone, Debug)]
pub(super) struct Written {
    /// The submitter.
    pub(super) by: PrincipalKey,
    /// Hash of the body.
    pub(super) body: Digest,
    text: Result<String, Content>,
}

impl Written {
    pub(super) fn of(
        by: PrincipalKey,
        body: Bodies,
        (id, text): (&DocumentId, &str),
        is_kept: bool,
    ) -> Self {
        let text = if is_kept { Ok(text.to_owned()) } else { Err(Content::of(id, text)) };
        Self { by, body: body.exact, text }
    }

    /// Returns the content that its submitter wrote.
    pub(super) fn content(&self, id: &DocumentId) -> Content {
        self.text.as_ref().map_or_else(|content| *content, |text| Content::of(id, text))
    }
}

/// The steps at the end of a history: the last submission since the last event, and all after it.
///
/// The validity of each of them depends on all of them.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    /// Name of the set that contains the submission.
    pub change: Option<String>,
    /// The versions of the steps, with their chain hashes.
    pub steps: Vec<(Version, Digest)>,
    /// Each part of a set that was rejected or withdrawn since the last event, with the time.
    pub refused: Vec<(String, Timestamp)>,
    /// The end of a part of a set by the emergency retirement that is the last event.
    pub left: Option<Left>,
}

/// The end of a part of a set by an emergency retirement (REV-8).
#[derive(Clone, Debug)]
pub struct Left {
    /// Name of the set.
    pub change: String,
    /// The version that retired the document.
    pub version: Version,
    /// Time of the retirement.
    pub at: Timestamp,
}

/// The version that is published.
#[derive(Clone, Debug)]
pub struct Published {
    /// Number of the version.
    pub version: Version,
    /// Text of the version.
    pub text: String,
    /// False if a governed vault published it without a valid approval.
    ///
    /// Such a text is published, but bars its authors like any other (REV-12).
    pub is_approved: bool,
}

/// The state that events without a valid approval do not change (REV-11, REV-12).
#[derive(Clone, Debug, Default)]
pub(super) struct Distrusted {
    /// The last text that was published by a valid approval, or needed none.
    pub(super) approved: Option<Published>,
    /// The principals who recorded these events; they are authors of submissions based on them.
    pub(super) editors: Vec<PrincipalKey>,
    /// The principals who had submitted before these events.
    submitters: Vec<PrincipalKey>,
}

/// A submission that is not decided.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Number of the version that submits.
    pub version: Version,
    /// The submitter.
    pub by: String,
    /// Time of the submission.
    pub at: Timestamp,
    /// The version that was published at that time, as the submission records it; 0 if none was.
    pub base: Option<Version>,
    /// The action of an approval; `None` if the fields name no action.
    pub action: Option<Action>,
    /// Name of the set that contains it.
    pub change: Option<String>,
    /// The submitted text.
    pub text: String,
    /// Hashes of the body of the text.
    pub(super) body: Bodies,
    /// The approvals so far, in order.
    pub approvals: Vec<Approval>,
    /// Number and text of the last approval, or of the submission if there is none.
    pub last: (Version, String),
    /// The first approval that changed more of the text than an approval may.
    pub altered: Option<Version>,
    /// The fault of its first version that is dated before an earlier version of the history.
    pub(super) backdated: Option<Fault>,
}

/// An approval in part.
#[derive(Clone, Debug)]
pub struct Approval {
    /// The reviewer.
    pub by: String,
    /// Time of the approval.
    pub at: Timestamp,
}

/// A retirement by one reviewer, which awaits ratification.
#[derive(Clone, Debug)]
pub struct EmergencyRetirement {
    /// Number of the version that retires.
    pub version: Version,
    /// The reviewer.
    pub by: String,
    /// Time of the retirement.
    pub at: Timestamp,
    /// The reason that the reviewer stated.
    pub reason: String,
    /// Text of the version.
    pub text: String,
}

words! {
    /// The kind of a version in the reviews of its artifact.
    pub enum StepKind {
        /// A publication or retirement.
        Event = "event",
        /// A submission.
        Submitted = "submitted",
        /// An approval in part of a submission.
        ApprovedInPart = "approved in part",
        /// A rejection of a submission.
        Rejected = "rejected",
        /// A withdrawal of a submission.
        Withdrawn = "withdrawn",
        /// A ratification of an emergency retirement.
        Ratified = "ratified",
        /// A version that is not a step of a review.
        Other = "unpublished",
    }
}

impl Track {
    /// Creates the track of an artifact before its first version.
    pub fn new(id: &DocumentId) -> Self {
        Self {
            id: id.clone(),
            published: None,
            former: None,
            pending: None,
            emergency: None,
            tail: Tail::default(),
            submitters: Vec::new(),
            distrusted: None,
            before_event: Distrusted::default(),
            texts: HashMap::new(),
            kept: 0,
            lost: Vec::new(),
            lost_elsewhere: Vec::new(),
            origins: BTreeSet::new(),
            latest: Timestamp::MIN,
        }
    }

    /// Makes a principal an author of the pending submission.
    ///
    /// A version that the principal submitted is lost, and may have had the same text. `of` is its
    /// artifact: this one, or one that a move links with it.
    pub(crate) fn bar(&mut self, of: &DocumentId, submitter: PrincipalKey) {
        match *of == self.id {
            true => self.lost.push(submitter),
            false => self.lost_elsewhere.push(submitter),
        }
    }

    /// Returns true if the pending submission has authors because of lost versions.
    pub(crate) fn has_lost(&self) -> bool {
        self.pending.is_some() && !(self.lost.is_empty() && self.lost_elsewhere.is_empty())
    }

    /// Returns the documents that versions with a review name in `derived_from`.
    ///
    /// The source of a move is one of them.
    pub(crate) fn origins(&self) -> &BTreeSet<DocumentId> {
        &self.origins
    }

    /// Returns the track after every version of a history, each recomputed.
    ///
    /// # Errors
    /// The first version that the chain does not vouch for.
    pub fn of(files: &Files, id: &DocumentId, history: &History) -> Result<Self, ChainError> {
        let mut track = Self::new(id);
        let mut walk = Walk::new(files, id, history);
        while let Some(step) = walk.next() {
            track.take_vouched(step)?;
        }
        Ok(track)
    }

    /// Takes the next version of a history; returns its entry, its text and its kind.
    ///
    /// # Errors
    /// The chain does not vouch for it.
    pub(super) fn take_vouched<'w>(
        &mut self,
        step: Step<'w, 'w>,
    ) -> Result<Option<(&'w Entry, &'w str, StepKind)>, ChainError> {
        let Some((entry, text, fields)) = step.vouched()? else { return Ok(None) };
        Ok(Some((entry, text, self.take(entry, text, fields.as_deref()))))
    }

    /// Returns the kind of the last version of a history.
    ///
    /// # Errors
    /// The chain does not vouch for its text.
    pub fn last_kind(
        files: &Files,
        id: &DocumentId,
        history: &History,
    ) -> Result<StepKind, ChainError> {
        let last = history.entries().next_back().ok_or(ChainError::HistoryMissing)?;
        let text = vouched::vouched(files, id, history, last.version)?;
        Ok(Self::new(id).kind_of(last, &text))
    }

    /// Returns the text that was published last, even if it was retired since.
    pub fn last_published(&self) -> Option<&Published> {
        self.published.as_ref().or(self.former.as_ref())
    }

    /// Returns the text that was published last by a valid approval or needed none, even if it was
    /// retired since.
    pub fn last_approved(&self) -> Option<&Published> {
        match &self.distrusted {
            Some(distrusted) => distrusted.approved.as_ref(),
            None => self.last_published(),
        }
    }

    /// Returns the published text, if it was approved or needed no approval.
    pub(super) fn approved(&self) -> Option<&Published> {
        self.published.as_ref().filter(|published| published.is_approved)
    }

    /// Returns the id of the artifact.
    pub fn id(&self) -> &DocumentId {
        &self.id
    }

    /// Returns the kind of the next version.
    pub fn kind_of(&self, entry: &Entry, text: &str) -> StepKind {
        self.kind_by(entry, self.fields_that_count(entry, text).as_ref())
    }

    /// Returns the kind of a version whose text has these review fields.
    pub(crate) fn kind_by(&self, entry: &Entry, fields: Option<&ReviewFields>) -> StepKind {
        if entry.state != EntryState::Unpublished {
            return StepKind::Event;
        }
        match self.id.is_document() {
            true => kind_of_document(fields),
            false => kind_of_governance_file(entry),
        }
    }

    /// Returns the review fields of a version, if its kind may depend on them.
    fn fields_that_count(&self, entry: &Entry, text: &str) -> Option<ReviewFields> {
        let count = self.id.is_document() && !entry.is_published();
        count.then(|| fields_of(text)).flatten()
    }

    /// Returns the review fields of a text of the artifact; `None` for a governance file.
    pub fn review_fields(&self, text: &str) -> Option<ReviewFields> {
        self.id.is_document().then(|| fields_of(text)).flatten()
    }

    /// Takes the next version; returns its kind.
    pub fn step(&mut self, entry: &Entry, text: &str) -> StepKind {
        let fields = self.fields_that_count(entry, text);
        self.take(entry, text, fields.as_ref())
    }

    /// Returns the track after a principal submits a text as the next version, which is not
    /// written yet.
    #[must_use]
    pub(crate) fn submitting(
        &self,
        (version, text): (Version, &str),
        (by, at): (&str, Timestamp),
    ) -> Self {
        let hash = Digest::of(text.as_bytes());
        let entry = Entry {
            version,
            stored: TextStorage::Keyframe,
            edited_by: by.to_owned(),
            edited_at: at,
            state: EntryState::Unpublished,
            note: None,
            forget: Forget::None,
            content_hash: hash,
            chain_hash: hash,
        };
        let mut track = self.clone();
        track.step(&entry, text);
        track
    }

    /// Takes the next version, whose text has these review fields; returns its kind.
    pub(crate) fn take(
        &mut self,
        entry: &Entry,
        text: &str,
        fields: Option<&ReviewFields>,
    ) -> StepKind {
        let kind = self.kind_by(entry, fields);
        self.follow(kind, entry);
        let origin = fields.and_then(|fields| fields.origin.clone());
        self.origins.extend(origin.filter(|origin| *origin != self.id));
        let backdated = self.backdated(entry);
        self.latest = self.latest.max(entry.edited_at);
        match kind {
            StepKind::Event => self.event(entry, text, fields),
            StepKind::Submitted => self.submitted(entry, text, fields),
            StepKind::ApprovedInPart => self.approved_in_part(entry, text),
            StepKind::Rejected | StepKind::Withdrawn => {
                self.pending = None;
                self.submitters.clear();
            }
            StepKind::Ratified => self.emergency = None,
            // An approval after a version that is not a step does not apply to an
            // earlier submission.
            StepKind::Other => self.pending = None,
        }
        if let (Some(pending), Some(fault)) = (&mut self.pending, backdated) {
            pending.backdated.get_or_insert(fault);
        }
        kind
    }

    /// Takes the next version into the tail.
    fn follow(&mut self, kind: StepKind, entry: &Entry) {
        let tail = &mut self.tail;
        match kind {
            StepKind::Event => *tail = Tail::default(),
            // A later decision never applies to a step before a submission, or before a version
            // that is not a step.
            StepKind::Submitted | StepKind::Other => tail.steps.clear(),
            StepKind::Rejected | StepKind::Withdrawn => {
                let change = self.pending.as_ref().and_then(|pending| pending.change.clone());
                tail.refused.extend(change.map(|change| (change, entry.edited_at)));
            }
            StepKind::ApprovedInPart | StepKind::Ratified => {}
        }
        if !matches!(kind, StepKind::Event | StepKind::Other) {
            tail.steps.push((entry.version, entry.chain_hash));
        }
    }

    /// Takes a version whose text is lost; `entry` is `None` if that cannot be read, too.
    pub fn lose(&mut self, entry: Option<&Entry>) {
        (self.published, self.pending) = (None, None);
        self.latest = self.latest.max(entry.map_or(Timestamp::MIN, |entry| entry.edited_at));
    }

    /// Marks the event that was taken last as one without a valid approval.
    ///
    /// Such an event ends nothing: earlier submitters stay authors, and the text before it still
    /// decides about roles. If the event is more than an approval, `by` is its entry, whose editor
    /// is an author of what follows.
    pub(crate) fn disown(&mut self, by: Option<&Entry>) {
        if let Some(published) = &mut self.published {
            published.is_approved = false;
        }
        let mut distrusted = std::mem::take(&mut self.before_event);
        self.submitters = std::mem::take(&mut distrusted.submitters);
        distrusted.editors.extend(by.map(|entry| PrincipalKey::of(&entry.edited_by)));
        self.distrusted = Some(distrusted);
    }

    fn event(&mut self, entry: &Entry, text: &str, fields: Option<&ReviewFields>) {
        let ended = self.pending.take();
        self.emergency = None;
        let last = self.published.take().or(self.former.take());
        let last = match entry.state {
            EntryState::Published(_) => {
                let (version, text) = (entry.version, text.to_owned());
                self.published = Some(Published { version, text, is_approved: true });
                last
            }
            EntryState::Retired(_) | EntryState::Unpublished => {
                self.former = last;
                self.former.clone()
            }
        };
        // Without distrusted events, the text before this one was approved.
        let before = self.distrusted.take();
        // A retirement approves no text.
        self.distrusted = before.clone().filter(|_| !entry.is_published());
        let before = before.unwrap_or_else(|| Distrusted { approved: last, ..Default::default() });
        let submitters = std::mem::take(&mut self.submitters);
        self.before_event = Distrusted { submitters, ..before };
        if let EntryState::Retired(at) = entry.state {
            let fields = fields.filter(|fields| fields.state == ReviewState::Emergency);
            self.emergency = fields.map(|fields| EmergencyRetirement {
                version: entry.version,
                by: entry.edited_by.clone(),
                at,
                reason: fields.reason.clone().unwrap_or_default(),
                text: text.to_owned(),
            });
            let change = ended.and_then(|ended| ended.change).filter(|_| self.emergency.is_some());
            self.tail.left = change.map(|change| Left { change, version: entry.version, at });
        }
    }

    fn submitted(&mut self, entry: &Entry, text: &str, fields: Option<&ReviewFields>) {
        let by = PrincipalKey::of(&entry.edited_by);
        let (base, action, change) = match fields.filter(|_| self.id.is_document()) {
            Some(fields) => (fields.base, fields.action.clone(), fields.change.clone()),
            None => {
                let base = self.published.as_ref().map_or(Version::NONE, |last| last.version);
                let action = if text.is_empty() { Action::Retire } else { Action::Publish };
                (Some(base), Some(action), None)
            }
        };
        let body = Bodies::of_submission(&self.id, text);
        // A submitter is an author only of a new text.
        if action == Some(Action::Publish) {
            self.kept += text.len();
            let is_kept = self.kept <= KEPT;
            let written = Written::of(by.clone(), body, (&self.id, text), is_kept);
            self.texts.entry(body.unspaced).or_default().push(written);
        }
        if !self.submitters.contains(&by) {
            self.submitters.push(by);
        }
        self.tail.change.clone_from(&change);
        self.pending = Some(Pending {
            version: entry.version,
            by: entry.edited_by.clone(),
            at: entry.edited_at,
            base,
            action,
            change,
            text: text.to_owned(),
            body,
            approvals: Vec::new(),
            last: (entry.version, text.to_owned()),
            altered: None,
            backdated: None,
        });
    }

    fn approved_in_part(&mut self, entry: &Entry, text: &str) {
        let is_document = self.id.is_document();
        let Some(pending) = &mut self.pending else { return };
        pending.approvals.push(Approval { by: entry.edited_by.clone(), at: entry.edited_at });
        let by = pending.approvers();
        let (before, at) = (&pending.last.1, entry.edited_at);
        let step = ReviewEdit::ApproveInPart { by: &by, at };
        let edit = Edit::step(entry.version, &at.to_string(), "draft", &step);
        let expected = is_document.then(|| edit.apply(before).ok());
        let is_exact = expected.unwrap_or_else(|| Some(before.clone())).as_deref() == Some(text);
        if !is_exact || entry.version != pending.last.0.next() {
            pending.altered.get_or_insert(entry.version);
        }
        pending.last = (entry.version, text.to_owned());
    }
}

impl Pending {
    /// Returns true if its approval publishes or deletes the submitted text itself; false if it
    /// retires or moves the published text of a document.
    pub fn writes_text(&self, id: &DocumentId) -> bool {
        !id.is_document() || self.action.as_ref().is_some_and(|action| !action.is_retirement())
    }

    /// Returns the approvers so far, in order.
    pub fn approvers(&self) -> Vec<String> {
        self.approvals.iter().map(|approval| approval.by.clone()).collect()
    }
}

fn kind_of_document(fields: Option<&ReviewFields>) -> StepKind {
    let Some(fields) = fields else { return StepKind::Other };
    match fields.state {
        ReviewState::Submitted if fields.is_partial() => StepKind::ApprovedInPart,
        ReviewState::Submitted => StepKind::Submitted,
        ReviewState::Rejected => StepKind::Rejected,
        ReviewState::Withdrawn => StepKind::Withdrawn,
        ReviewState::Ratified => StepKind::Ratified,
        ReviewState::Approved | ReviewState::Emergency => StepKind::Other,
    }
}

/// Returns the kind of a version of a governance file.
///
/// Governance files are without review fields: a version is an act if its diff has the mark of one,
/// and a submission otherwise.
fn kind_of_governance_file(entry: &Entry) -> StepKind {
    match decision(entry) {
        None => StepKind::Submitted,
        Some(Ok("partial")) => StepKind::ApprovedInPart,
        Some(Ok("rejected")) => StepKind::Rejected,
        Some(Ok("withdrawn")) => StepKind::Withdrawn,
        Some(_) => StepKind::Other,
    }
}

/// Returns true if an entry of a governance file is an act.
pub fn is_act(entry: &Entry) -> bool {
    decision(entry).is_some()
}

/// Returns the decision of an act on a governance file; `None` if the entry is not an act.
pub(super) fn decision(entry: &Entry) -> Option<Result<&str, ()>> {
    match &entry.stored {
        TextStorage::Diff(diff) => diff::act(diff, entry.version),
        TextStorage::Keyframe | TextStorage::DiffFile => None,
    }
}

/// Returns the review fields of a document's text.
pub(crate) fn fields_of(text: &str) -> Option<ReviewFields> {
    ReviewFields::of(&Document::parse(text).ok()?.frontmatter)
}

/// Hashes of the body of a document, or of the text of a governance file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bodies {
    /// Hash of the body as it is.
    pub(super) exact: Digest,
    /// Hash of the body without white space (REV-12).
    pub(super) unspaced: Digest,
}

impl Bodies {
    /// Returns the hashes of a text.
    ///
    /// A document whose frontmatter cannot be read is hashed whole, so that its body equals no
    /// other one.
    pub(super) fn of(id: &DocumentId, text: &str) -> Self {
        let document = id.is_document().then(|| Document::parse(text).ok()).flatten();
        Self::of_body(document.map_or(text, |document| &text[document.parts.body..]))
    }

    /// Returns the hashes of a text that has review fields, so that its frontmatter is readable.
    fn of_submission(id: &DocumentId, text: &str) -> Self {
        let parts = id.is_document().then(|| split(text).ok()).flatten();
        Self::of_body(parts.map_or(text, |parts| &text[parts.body..]))
    }

    fn of_body(body: &str) -> Self {
        let unspaced: String = body.split([' ', '\t', '\n', '\r']).collect();
        Self { exact: Digest::of(body.as_bytes()), unspaced: Digest::of(unspaced.as_bytes()) }
    }
}
