//! The versions of one history in order, and what awaits a decision after them.

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
    /// What is published; none before the first publication, and after a retirement.
    pub published: Option<Published>,
    /// What was published last, where that was retired: its scope still decides (REV-11).
    pub former: Option<Published>,
    /// What awaits a decision.
    pub pending: Option<Pending>,
    /// The retirement by one reviewer that awaits another one.
    pub emergency: Option<EmergencyRetirement>,
    /// The steps at the end of the history.
    pub tail: Tail,
    /// Who submitted since the last publication, rejection or withdrawal.
    pub(super) submitters: Vec<PrincipalKey>,
    /// What the last valid approval left, if events without one follow it.
    pub(super) distrusted: Option<Distrusted>,
    /// What it was right before the last event, whose approval is not judged yet.
    before_event: Distrusted,
    /// The texts that were submitted so far, by the hashes of their bodies.
    pub(super) texts: HashMap<Digest, Vec<Written>>,
    /// How many bytes of them are kept.
    kept: usize,
    /// Who submitted a version that the history has lost; only change logs say that.
    pub(super) lost: Vec<PrincipalKey>,
    /// Who submitted such a version of an artifact that this one was, or is linked with by a move.
    pub(super) lost_elsewhere: Vec<PrincipalKey>,
    /// The document that each version with a review names first as what it was derived from.
    origins: BTreeSet<DocumentId>,
    /// The latest time of a version so far.
    pub(super) latest: Timestamp,
}

/// So many bytes of submitted texts are kept; of further ones the hashes are taken at once.
const KEPT: usize = 1 << 20;

/// A text that was submitted. What its submitter wrote of it is compared by hashes that cost much to
/// take, and that hardly any question needs.
#[derive(Clone, Debug)]
pub(super) struct Written {
    /// Who submitted it.
    pub(super) by: PrincipalKey,
    text: Result<String, Content>,
}

impl Written {
    pub(super) fn of(by: PrincipalKey, (id, text): (&DocumentId, &str), is_kept: bool) -> Self {
        let text = if is_kept { Ok(text.to_owned()) } else { Err(Content::of(id, text)) };
        Self { by, text }
    }

    /// What its submitter wrote of it.
    pub(super) fn content(&self, id: &DocumentId) -> Content {
        self.text.as_ref().map_or_else(|content| *content, |text| Content::of(id, text))
    }
}

/// The steps at the end of a history: the last submission since the last event, and what follows it.
/// Whether they count depends on all of them.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    /// The set that the submission belongs to.
    pub change: Option<String>,
    /// The versions, with their chain hashes.
    pub steps: Vec<(Version, Digest)>,
    /// Each part of a set that was rejected or withdrawn since the last event, and when.
    pub refused: Vec<(String, Timestamp)>,
}

/// The version that is published.
#[derive(Clone, Debug)]
pub struct Published {
    /// Its number.
    pub version: Version,
    /// Its text.
    pub text: String,
    /// False if a governed vault published it without a valid approval: then it is only a text that
    /// is there, and bars its authors like any other (REV-12).
    pub is_approved: bool,
}

/// What events without a valid approval leave as it was (REV-11, REV-12).
#[derive(Clone, Debug, Default)]
pub(super) struct Distrusted {
    /// The text that was published last by a valid approval, or needed none.
    pub(super) approved: Option<Published>,
    /// Who recorded these events: they are authors of what is submitted upon them.
    pub(super) editors: Vec<PrincipalKey>,
    /// Who had submitted before them.
    submitters: Vec<PrincipalKey>,
}

/// A submission that is not decided.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Its version.
    pub version: Version,
    /// Who submitted it.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// The version that was published then, as it says, or 0.
    pub base: Option<Version>,
    /// What approving it does; none where its fields name no action.
    pub action: Option<Action>,
    /// The set that it belongs to.
    pub change: Option<String>,
    /// Its text.
    pub text: String,
    /// The hash of the body of that.
    pub(super) body: Digest,
    /// Who approved it so far, in order.
    pub approvals: Vec<Approval>,
    /// The version of the last of these, or its own, and the text of that.
    pub last: (Version, String),
    /// The first approval that changed more of the text than an approval changes.
    pub altered: Option<Version>,
    /// Its first version that is dated before an earlier version of the history.
    pub(super) backdated: Option<Fault>,
}

/// An approval of a submission that did not publish it.
#[derive(Clone, Debug)]
pub struct Approval {
    /// The reviewer.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// A retirement by one reviewer.
#[derive(Clone, Debug)]
pub struct EmergencyRetirement {
    /// Its version.
    pub version: Version,
    /// The reviewer.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
    /// Its text.
    pub text: String,
}

words! {
    /// What a version is to the reviews of its artifact.
    pub enum StepKind {
        /// It is published or retired.
        Event = "event",
        /// It is submitted.
        Submitted = "submitted",
        /// A submission is approved, and waits for more approvals.
        ApprovedInPart = "approved in part",
        /// A submission is rejected.
        Rejected = "rejected",
        /// A submission is withdrawn.
        Withdrawn = "withdrawn",
        /// An emergency retirement is ratified.
        Ratified = "ratified",
        /// It is no step of a review.
        Other = "unpublished",
    }
}

impl Track {
    /// Before the first version of an artifact.
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

    /// Takes a principal for an author of what awaits a decision: what they submitted of an artifact,
    /// this one or one that is linked with it by a move, is lost, and may be the same text.
    pub(crate) fn bar(&mut self, of: &DocumentId, submitter: PrincipalKey) {
        match *of == self.id {
            true => self.lost.push(submitter),
            false => self.lost_elsewhere.push(submitter),
        }
    }

    /// Whether what awaits a decision has authors by what is lost.
    pub(crate) fn has_lost(&self) -> bool {
        self.pending.is_some() && !(self.lost.is_empty() && self.lost_elsewhere.is_empty())
    }

    /// The documents that versions with a review name as what they were derived from: the source of a
    /// move is one of them.
    pub(crate) fn origins(&self) -> &BTreeSet<DocumentId> {
        &self.origins
    }

    /// After every version of a history, each recomputed.
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

    /// Takes the next version of a history; gives its entry, with its text and what it is.
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

    /// What the last version of a history is to its reviews.
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

    /// The text that was published last, also where it was retired since.
    pub fn last_published(&self) -> Option<&Published> {
        self.published.as_ref().or(self.former.as_ref())
    }

    /// The text that was published last by a valid approval, or needed none; also if it was retired
    /// since.
    pub fn last_approved(&self) -> Option<&Published> {
        match &self.distrusted {
            Some(distrusted) => distrusted.approved.as_ref(),
            None => self.last_published(),
        }
    }

    /// The text that is published, if it was approved or needed no approval.
    pub(super) fn approved(&self) -> Option<&Published> {
        self.published.as_ref().filter(|published| published.is_approved)
    }

    /// The artifact.
    pub fn id(&self) -> &DocumentId {
        &self.id
    }

    /// What the next version is to the reviews.
    pub fn kind_of(&self, entry: &Entry, text: &str) -> StepKind {
        self.kind_by(entry, self.fields_that_count(entry, text).as_ref())
    }

    /// The same of a version whose text has these review fields.
    pub(crate) fn kind_by(&self, entry: &Entry, fields: Option<&ReviewFields>) -> StepKind {
        if entry.state != EntryState::Unpublished {
            return StepKind::Event;
        }
        match self.id.is_document() {
            true => kind_of_document(fields),
            false => kind_of_governance_file(entry),
        }
    }

    /// The review fields of a version, where what it is may depend on them.
    fn fields_that_count(&self, entry: &Entry, text: &str) -> Option<ReviewFields> {
        let count = self.id.is_document() && !entry.is_published();
        count.then(|| fields_of(text)).flatten()
    }

    /// The review fields of a text of the artifact; `None` of a governance file, which has none.
    pub fn review_fields(&self, text: &str) -> Option<ReviewFields> {
        self.id.is_document().then(|| fields_of(text)).flatten()
    }

    /// Takes the next version.
    pub fn step(&mut self, entry: &Entry, text: &str) -> StepKind {
        let fields = self.fields_that_count(entry, text);
        self.take(entry, text, fields.as_ref())
    }

    /// The same once a principal submits a text as the next version, which is not written yet.
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

    /// Takes the next version, whose text has these review fields.
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
            // Nothing is approved across a version that is no step.
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
            // Nothing that comes before a submission, or before no step, is decided any more.
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

    /// Takes a version whose text is lost; without an entry if that cannot be read.
    pub fn lose(&mut self, entry: Option<&Entry>) {
        (self.published, self.pending) = (None, None);
        self.latest = self.latest.max(entry.map_or(Timestamp::MIN, |entry| entry.edited_at));
    }

    /// Marks the event that was taken last as one without a valid approval. It ends nothing: who
    /// submitted before it stays an author, and the text before it still decides about roles. Of an
    /// event that is not just an approval, `by` is its entry, whose editor is an author of what follows.
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
        self.pending = None;
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
        // Without distrusted events the text before this one was approved.
        let before = self.distrusted.take();
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
        let body = body_of_submission(&self.id, text);
        // Only of a text that is new the submitter is an author.
        if action == Some(Action::Publish) {
            self.kept += text.len();
            let is_kept = self.kept <= KEPT;
            let written = Written::of(by.clone(), (&self.id, text), is_kept);
            self.texts.entry(body).or_default().push(written);
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
    /// Who approved it so far, in order.
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

/// A governance file has no field that could say it: a version is an act if its diff has the mark
/// of one, and else a submission.
fn kind_of_governance_file(entry: &Entry) -> StepKind {
    match decision(entry) {
        None => StepKind::Submitted,
        Some(Ok("partial")) => StepKind::ApprovedInPart,
        Some(Ok("rejected")) => StepKind::Rejected,
        Some(Ok("withdrawn")) => StepKind::Withdrawn,
        Some(_) => StepKind::Other,
    }
}

/// Whether an entry of a governance file is an act.
pub fn is_act(entry: &Entry) -> bool {
    decision(entry).is_some()
}

/// What an act on a governance file decides.
pub(super) fn decision(entry: &Entry) -> Option<Result<&str, ()>> {
    match &entry.stored {
        TextStorage::Diff(diff) => diff::act(diff, entry.version),
        TextStorage::Keyframe | TextStorage::DiffFile => None,
    }
}

/// The review fields of a document's text.
pub(crate) fn fields_of(text: &str) -> Option<ReviewFields> {
    ReviewFields::of(&Document::parse(text).ok()?.frontmatter)
}

/// The same as [`body_hash`] of a text that has review fields, so that its frontmatter is readable.
fn body_of_submission(id: &DocumentId, text: &str) -> Digest {
    let parts = id.is_document().then(|| split(text).ok()).flatten();
    let body = parts.map_or(text, |parts| &text[parts.body..]);
    Digest::of(body.as_bytes())
}

/// The hash of what follows the frontmatter of a document, or of a governance file. A document whose
/// frontmatter cannot be read is hashed whole: it has the body of no other one.
pub(super) fn body_hash(id: &DocumentId, text: &str) -> Digest {
    let document = id.is_document().then(|| Document::parse(text).ok()).flatten();
    let body = document.map_or(text, |document| &text[document.parts.body..]);
    Digest::of(body.as_bytes())
}
