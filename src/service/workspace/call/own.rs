//! What a principal wrote that is not published: the draft in a live file, as the change log says who
//! wrote it, or a submission (MCP-18). It is handed to this principal only.

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

/// A text of a principal that is not published.
pub(crate) struct OwnText {
    id: DocumentId,
    state: DraftState,
    text: String,
    version: Option<Version>,
    hash: Digest,
}

impl OwnText {
    /// The report.
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

    /// The text between two lines that say what it is.
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
    /// The hash of a live file that the principal wrote as a draft, or names by its hash: what they
    /// have not read they do not submit or publish.
    ///
    /// # Errors
    /// It is neither. Whether there is a file, whose it is, and whether a guess of its hash was right,
    /// is not told.
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
        let message = format!("`{path}` is no draft of yours, or is not as you read it");
        let failure = Failure::new(Code::UnpublishedChanges, message);
        Err(failure.hint("a draft of yours is the one that you wrote last; otherwise name the hash of the file that you have read"))
    }
}

impl Call<'_> {
    /// What this principal wrote of a document that is not published: the draft in its live file, else
    /// their submission that awaits a decision.
    ///
    /// # Errors
    /// There is neither, or it is another principal's.
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
        let message = "this vault records no changes, so that it is not known who wrote a draft";
        return Failure::new(Code::NotBegun, message);
    }
    Failure::new(Code::NotSubmitted, format!("you have no draft or submission of `{id}`"))
        .hint("a draft is yours while its file is as you wrote it")
}
