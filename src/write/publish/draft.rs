//! Drafts: live files with `status: draft`, which a program writes for a principal without an
//! editor (`spec/mcp.md`, MCP-18). No version has their text, and a verifier does not report them
//! as drift.

use super::governance_files::Includes;
use super::transaction::Transaction;
use super::{Author, Event, Gate, Mode, Outcome, PublishError, Refusal, check_place, event};
use crate::files::vault::Vault;
use crate::files::vault::replace::Fingerprint;
use crate::files::vault::write::Written;
use crate::policy::stewards::Role;
use crate::read::working;
use crate::text::document::edit::EditError;
use crate::text::document::live_form::LiveForm;
use crate::text::document::text::normalise;
use crate::text::document::validate::problems;
use crate::text::document::{Document, utf8};
use crate::values::model::digest::Digest;
use crate::values::model::hint::Hint;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;
use crate::values::model::principal::PrincipalKey;
use crate::write::commit::Live;

/// The live file that a draft replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upon {
    /// None: the document is new.
    Nothing,
    /// The live file with this hash; without a hash, a live file whose text a version has.
    Live(Option<Digest>),
}

/// A request to write a draft.
#[derive(Clone, Copy, Debug)]
pub struct DraftRequest<'d> {
    /// The principal and the time.
    pub author: &'d Author,
    /// The document.
    pub id: &'d DocumentId,
    /// The live file that the draft replaces.
    pub upon: Upon,
    /// The mode of the event.
    pub mode: Mode,
}

/// A draft that was written.
#[derive(Debug)]
pub struct Draft {
    /// Path of the live file.
    pub path: String,
    /// Hash of the bytes of the file.
    pub hash: Digest,
    /// The published version that the draft edits.
    pub based_on: Option<Version>,
    /// True if the file has the published text, and so is not a draft.
    pub is_published: bool,
    /// The outcome of the event, with the cleanup after an interrupted command.
    pub outcome: Outcome,
}

/// Writes a draft.
///
/// `compose` makes its text from the text that it edits: that of the live file that the caller
/// named, or else the published one; `None` for a new document.
///
/// # Errors
/// Nothing was written: the principal is not an editor, the live file has changes that the caller
/// did not name, or the text would not be a draft.
pub fn draft(
    vault: &Vault,
    request: &DraftRequest<'_>,
    compose: impl Fn(Option<&str>) -> Result<String, EditError>,
) -> Result<Draft, PublishError> {
    let DraftRequest { author, id, upon, mode } = *request;
    let subjects = [id];
    let (includes, gate) = (Includes::Only(&[]), Gate::Live);
    let what = Event { author, mode, subjects: &subjects, includes, gate };
    let written = std::cell::RefCell::new(None);
    let mut outcome = event(vault, &what, |transaction, outcome| {
        transaction.check_editable(std::slice::from_ref(id), None)?;
        let file = transaction.drafted(id, upon, &compose).map_err(|why| match why {
            // A principal who may not write a draft must not learn that another draft exists.
            PublishError::Unread { .. } | PublishError::UnknownId { .. } => {
                transaction.unfit(id, &compose).unwrap_or(why)
            }
            why => why,
        })?;
        outcome.behind.extend(file.live.clone().map(|live| (id.clone(), live)));
        *written.borrow_mut() = Some(file);
        Ok(())
    })?;
    // Another process wrote to the file meanwhile, or it cannot be written.
    let left_alone = outcome.committed.as_mut().and_then(|committed| committed.left_alone.pop());
    if let Some((_, why)) = left_alone {
        return Err(why.into());
    }
    let path = id.live_path();
    if !mode.dry_run {
        vault.files().sync(&[Written::Named(&path)])?;
    }
    let file = written
        .into_inner()
        .ok_or_else(|| PublishError::UnknownId { id: id.clone(), near: None })?;
    let Drafted { hash, based_on, is_published, .. } = file;
    Ok(Draft { path, hash, based_on, is_published, outcome })
}

/// A draft before it is written.
struct Drafted {
    /// The change of the file; `None` if it already has the text.
    live: Option<Live>,
    hash: Digest,
    based_on: Option<Version>,
    is_published: bool,
}

impl Transaction<'_> {
    fn drafted(
        &self,
        id: &DocumentId,
        upon: Upon,
        compose: &impl Fn(Option<&str>) -> Result<String, EditError>,
    ) -> Result<Drafted, PublishError> {
        let path = id.live_path();
        let refused = |refusal: Refusal| PublishError::Refused(vec![refusal]);
        let last_sealed = self.last_sealed([id]).get(id).copied();
        let base = self.base(id, last_sealed).map_err(refused)?;
        let form = base.sealed.as_deref().map(LiveForm::of);
        let bytes = self.vault.files().read_optional(&path, limit::DOCUMENT)?;
        if upon == Upon::Nothing {
            let text = compose(None).map_err(|why| refused(Refusal::of_spelling(&path, &why)))?;
            // A principal who may not create documents must not learn which ids are taken.
            self.check_draft(id, &text, None)?;
            check_place(self.vault, id)?;
            if base.last.is_some() {
                return Err(PublishError::Exists(id.to_string()));
            }
        }
        let live = match &bytes {
            Some(bytes) => Some(utf8(bytes).map_err(|why| {
                refused(Refusal::new(&path, why.code(), why.to_string(), why.hint()))
            })?),
            None => None,
        };
        // A pending submission is handed only to its submitter.
        let last = match base.retired {
            true => base.last.as_ref().map(|(.., text)| text.clone()),
            false if base.sealed.is_none() && base.last.is_some() => self.own_submission(id)?,
            false => None,
        };
        let last = last.as_deref();
        if upon != Upon::Nothing && bytes.is_none() && form.is_none() && last.is_none() {
            return Err(self.unknown(id));
        }
        let is_held = |live: &str| {
            form.as_ref().is_some_and(|form| form.is_of(live))
                || last.is_some_and(|last| form.is_none() && *normalise(live) == *last)
        };
        let found = bytes.as_deref().map(Digest::of);
        let edited = match (upon, live) {
            (Upon::Live(Some(named)), _) if found != Some(named) => {
                return Err(PublishError::Unread { path, found: found.is_some() });
            }
            (Upon::Live(Some(_)), live) => live,
            (Upon::Live(None), Some(live)) if !is_held(live) => {
                return Err(PublishError::Unread { path, found: true });
            }
            _ => None,
        };
        let published = form.as_ref().map(LiveForm::text);
        let text = compose(edited.or(published).or(last).map(normalise).as_deref());
        let text = text.map_err(|why| refused(Refusal::of_spelling(&path, &why)))?;
        if text.len() as u64 > limit::DOCUMENT {
            let message = "the text is larger than 16 MiB".to_owned();
            let hint = "split the document";
            return Err(refused(Refusal::new(path, "too-large", message, hint)));
        }
        let is_published = form.as_ref().is_some_and(|form| form.is_of(&text));
        self.check_draft(id, &text, form.as_ref().filter(|_| !is_published))?;
        if !is_published {
            self.check_publishable(id, &text, base.last.is_none())
                .map_err(PublishError::Refused)?;
        }
        let live = match &bytes {
            Some(old) if old == text.as_bytes() => None,
            Some(old) => {
                Some(Live::Replace { old: Fingerprint::of(old), new: text.as_str().into() })
            }
            None => Some(Live::Create(text.clone().into_bytes())),
        };
        let based_on = self.state.get(id.as_str()).and_then(|mark| mark.version);
        Ok(Drafted { live, hash: Digest::of(text.as_bytes()), based_on, is_published })
    }

    /// Refuses a text that could not be published, with the same problems.
    ///
    /// A person who reads the draft later may be unable to fix it.
    fn check_publishable(
        &self,
        id: &DocumentId,
        text: &str,
        is_new: bool,
    ) -> Result<(), Vec<Refusal>> {
        let path = id.live_path();
        self.refuse_instructions(id).map_err(|refusal| vec![refusal])?;
        let document = Document::of_live(text)
            .map_err(|why| vec![Refusal::new(&path, why.code(), why.to_string(), why.hint())])?;
        let criteria = working::criteria(self.vault, &path, &document, is_new);
        Refusal::unless_valid(&path, problems(text, &document, criteria))
            .map_err(|refusal| vec![refusal])?;
        let new = self.state.get(id.as_str()).is_none();
        let collisions = if new { self.collisions_of(&[id]) } else { Vec::new() };
        if collisions.is_empty() { Ok(()) } else { Err(collisions) }
    }

    /// Returns the reason for which the principal may not write a draft of a document.
    ///
    /// This is decided by the published text, or else by the draft of a new document; `None` if
    /// they may.
    fn unfit(
        &self,
        id: &DocumentId,
        compose: &impl Fn(Option<&str>) -> Result<String, EditError>,
    ) -> Option<PublishError> {
        let last_sealed = self.last_sealed([id]).get(id).copied();
        let sealed = self.base(id, last_sealed).ok().and_then(|base| base.sealed);
        let text = match sealed {
            Some(sealed) => LiveForm::of(&sealed).into_text(),
            None => compose(None).ok()?,
        };
        let unfit = self.check_draft(id, &text, None).err()?;
        matches!(unfit, PublishError::Review(_)).then_some(unfit)
    }

    /// Returns the text of the pending submission, if the principal submitted it.
    fn own_submission(&self, id: &DocumentId) -> Result<Option<String>, PublishError> {
        let pending = self.reviewed(id)?.track.pending;
        let me = self.author.principal.key();
        Ok(pending.filter(|one| PrincipalKey::of(&one.by) == me).map(|one| one.text))
    }

    /// Refuses a text that a verifier would report as an edit of the published one, and a principal
    /// who is not an editor of it.
    fn check_draft(
        &self,
        id: &DocumentId,
        text: &str,
        form: Option<&LiveForm<'_>>,
    ) -> Result<(), PublishError> {
        let path = id.live_path();
        let refused = |refusal: Refusal| PublishError::Refused(vec![refusal]);
        let document = Document::of_live(text)
            .map_err(|why| refused(Refusal::new(&path, why.code(), why.to_string(), why.hint())))?;
        let mode = self.vault.config().frontmatter;
        if form.is_some_and(|form| !form.is_draft(&document, mode)) {
            let message = "its frontmatter cannot mark it as a draft".to_owned();
            let hint = Hint::from("submit the text instead, which leaves the file as it is");
            return Err(refused(Refusal::new(path, "frontmatter-spelling", message, hint)));
        }
        if self.in_force.is_governed {
            self.in_force.check_rules(self.vault, self.chronicle)?;
            let me = self.author.principal.as_str();
            let published = form.map(|form| (id, form.text()));
            let texts = published.into_iter().chain([(id, text)]);
            let fit = self.rules().require(me, Role::Editor, texts);
            fit.map_err(super::review::ReviewError::from)?;
        }
        Ok(())
    }
}
