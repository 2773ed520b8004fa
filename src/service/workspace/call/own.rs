//! Unpublished texts of a principal: the draft in a live file, if the change log names this
//! principal as its writer, or a submission (MCP-18). No other principal gets them.

use super::Call;
use crate::files::vault::Vault;
use crate::record::audit::{Part, Text, Traced, changes};
use crate::service::report::draft::{DraftState, DraftTextReport};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::Workspace;
use crate::service::workspace::version::{any_text_of, recorded};
use crate::text::uri::Class;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;
use crate::values::model::principal::PrincipalKey;
use crate::write::publish::review;

/// An unpublished text of a principal.
pub(crate) struct OwnText {
    id: DocumentId,
    state: DraftState,
    text: String,
    version: Option<Version>,
    hash: Digest,
}

impl OwnText {
    pub(crate) fn report(&self) -> DraftTextReport<'_> {
        DraftTextReport {
            id: &self.id,
            path: self.id.live_path(),
            state: self.state,
            version: self.version,
            live_hash: (self.state == DraftState::Draft).then(|| self.hash.to_string()),
            text: &self.text,
        }
    }

    /// Returns the text between two lines that identify it.
    pub(crate) fn block(&self) -> String {
        let facts = [("state", self.state.as_str())];
        crate::read::snapshot::portion::own_block(
            (self.id.as_str(), &facts),
            &self.hash,
            &self.text,
        )
    }
}

impl Workspace<'_> {
    /// Returns the hash of a live file that the principal wrote as a draft, or that they name by
    /// its hash. This way, principals only submit and publish texts that they have read.
    ///
    /// # Errors
    /// Neither is the case. The error does not reveal if the file exists, who wrote it, or if a
    /// guessed hash is right.
    pub(crate) fn own_file(
        &self,
        vault: &Vault,
        id: &DocumentId,
        named: Option<Digest>,
    ) -> Result<Digest, Failure> {
        let path = id.live_path();
        if let Some((_, hash)) = self.own_draft(vault, id)?
            && named.is_none_or(|named| named == hash)
        {
            return Ok(hash);
        }
        if let Some(named) = named
            && let Some(bytes) = vault.files().read_optional(&path, limit::DOCUMENT)?
            && Digest::of(&bytes) == named
            && self.is_editor_of(vault, id, &[&String::from_utf8_lossy(&bytes)])?
        {
            return Ok(named);
        }
        let message = format!("`{path}` is not your draft, or has changed since you read it");
        let failure = Failure::new(Code::UnpublishedChanges, message);
        Err(failure.hint("your draft is the text that you wrote last; to use another text, pass the hash of the file that you read"))
    }
}

impl Call<'_> {
    /// Returns the principal's unpublished text of a document: the draft in its live file, or else
    /// their submission that awaits a decision.
    ///
    /// # Errors
    /// There is neither, or it belongs to another principal.
    pub(crate) fn own_text(&mut self, vault: &Vault, id: &str) -> Result<OwnText, Failure> {
        let named = self.workspace.named(vault, id)?;
        self.recording.class = Some(Class::Direct);
        self.recording.query = Some(id.to_owned());
        match self.workspace.check_writable(vault, &named) {
            Err(why) if why.code == Code::UnknownId => return Err(none_of_yours(vault, &named)),
            checked => checked?,
        }
        if let Some((bytes, hash)) = self.workspace.own_draft(vault, &named)? {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            self.recording.listed = Some(1);
            return Ok(OwnText { id: named, state: DraftState::Draft, text, version: None, hash });
        }
        self.own_submission(vault, &named)?.ok_or_else(|| none_of_yours(vault, &named))
    }

    fn own_submission(
        &mut self,
        vault: &Vault,
        id: &DocumentId,
    ) -> Result<Option<OwnText>, Failure> {
        let (me, _) = self.workspace.principal(vault.root(), None)?;
        let Ok(about) = review::about(vault, id, &me) else { return Ok(None) };
        let pending = about.waiting.track.pending;
        let Some(pending) = pending.filter(|one| PrincipalKey::of(&one.by) == me.key()) else {
            return Ok(None);
        };
        let log = self.log(vault)?;
        let chronicle = log.sound()?;
        let (text, history) = any_text_of(vault, &chronicle, id, pending.version)?;
        let ground = (vault.files(), &chronicle);
        let found = recorded(ground, id, (pending.version, &history), (&text, &text));
        let found = found.map(|text| Text { part: Some(Part::Submission), ..text });
        let text = self.release(Traced::new(text, found.into_iter().collect()));
        let hash = Digest::of(text.as_bytes());
        let (state, version) = (DraftState::Submitted, Some(pending.version));
        Ok(Some(OwnText { id: id.clone(), state, text, version, hash }))
    }
}

fn none_of_yours(vault: &Vault, id: &DocumentId) -> Failure {
    if !changes::is_begun(vault) {
        let message = "this vault does not have a change log, so the writer of a draft is unknown";
        return Failure::new(Code::NotBegun, message);
    }
    Failure::new(Code::NotSubmitted, format!("you do not have a draft or submission of `{id}`"))
        .hint("a draft is yours until another program changes its file")
}
