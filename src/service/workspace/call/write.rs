//! Writes new and changed texts as drafts or submissions, for principals without a text editor.

use super::Call;
use super::draft::Fields;
use crate::files::vault::Vault;
use crate::policy::stewards::Role;
use crate::read::snapshot::Snapshot;
use crate::record::audit::Traced;
use crate::record::chain::history::History;
use crate::service::report::event::Acted;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::governance_mode::is_governed;
use crate::service::workspace::version::{published, recorded, text_of};
use crate::text::document::edit::EditError;
use crate::text::document::live_form::LiveForm;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::write::commit::expect::Expect;
use crate::write::publish::review::{self, ReviewError, Submission};
use crate::write::publish::{
    Draft, Mode, NewDocument, PublishError, Refusal, Request, Upon, Which,
};

/// A text to write.
#[derive(Debug)]
pub(crate) struct Writing<'w> {
    /// The id of the document.
    pub(crate) id: &'w str,
    /// Fields to set in the frontmatter.
    pub(crate) fields: &'w Fields,
    /// The body; `None` keeps the existing one.
    pub(crate) body: Option<&'w str>,
    /// The hash of the live file that the writer has read.
    pub(crate) live: Option<Digest>,
    /// The published version that the writer has read.
    pub(crate) expect: Option<Version>,
    /// A note to store with a version.
    pub(crate) note: Option<&'w str>,
}

/// Options of a submission.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Submitting<'s> {
    /// The set of submissions.
    pub(crate) change: Option<&'s str>,
    /// True if a pending submission of another principal is withdrawn for it.
    pub(crate) supersede: bool,
    /// True if the published texts are submitted unchanged.
    pub(crate) renew: bool,
}

impl Writing<'_> {
    fn mode(&self) -> Mode {
        let expect = Expect { version: self.expect, hash: None };
        Mode { expect, ..Mode::default() }
    }
}

impl Call<'_> {
    /// Writes a new document as a draft.
    ///
    /// # Errors
    /// Nothing was written.
    pub(crate) fn create_draft(
        &mut self,
        vault: &Vault,
        writing: &Writing<'_>,
    ) -> Result<(DocumentId, Draft), Failure> {
        let id = self.workspace.new_id(vault, writing.id)?;
        let (fields, body) = (writing.fields, writing.body.unwrap_or_default());
        let about = (writing.note, writing.mode());
        let (me, _) = self.workspace.principal(vault.root(), None)?;
        let text = fields.of_new(body, me.as_str()).map_err(|why| spelling(&id, &why))?;
        self.workspace.check_new(vault, &id, &text)?;
        let compose = |_: Option<&str>, author: &str| fields.of_new(body, author);
        let draft = self.write_draft(vault, (&id, Upon::Nothing), about, compose)?;
        Ok((id, draft))
    }

    /// Submits a new document. No live file is made.
    ///
    /// # Errors
    /// Nothing was submitted.
    pub(crate) fn create_submission(
        &mut self,
        vault: &Vault,
        writing: &Writing<'_>,
        how: Submitting<'_>,
    ) -> Result<Acted, Failure> {
        let id = self.workspace.new_id(vault, writing.id)?;
        let (me, _) = self.workspace.principal(vault.root(), None)?;
        let text = writing.fields.of_new(writing.body.unwrap_or_default(), me.as_str());
        let text = text.map_err(|why| spelling(&id, &why))?;
        self.workspace.check_new(vault, &id, &text)?;
        let log = self.log(vault)?;
        let rules = review::rules_in_force(vault, &log.sound()?)?;
        let rules = rules.ok_or(PublishError::Ungoverned)?;
        // A principal who cannot make documents does not learn which ids are taken.
        let fit = rules.require(me.as_str(), Role::Editor, [(&id, text.as_str())]);
        fit.map_err(|why| Failure::from(ReviewError::from(why)))?;
        crate::write::publish::check_place(vault, &id)?;
        let which = Which::Ids(vec![id.clone()]);
        let from = Some(NewDocument { id, text });
        self.submit(vault, (which, from), (writing.note, writing.mode()), how)
    }

    /// Writes a changed text of a document as a draft.
    ///
    /// # Errors
    /// Nothing was written.
    pub(crate) fn update_draft(
        &mut self,
        vault: &Vault,
        writing: &Writing<'_>,
    ) -> Result<(DocumentId, Draft), Failure> {
        let id = self.workspace.named(vault, writing.id)?;
        check_document(&id)?;
        let (fields, body) = (writing.fields, writing.body);
        let about = (writing.note, writing.mode());
        let compose = |base: Option<&str>, author: &str| match base {
            Some(base) => fields.of_edited(base, body),
            None => fields.of_new(body.unwrap_or_default(), author),
        };
        let draft = self.write_draft(vault, (&id, Upon::Live(writing.live)), about, compose);
        let draft = draft.or_else(|why| {
            // The error does not reveal if another principal has a draft.
            if [Code::UnpublishedChanges, Code::UnknownId].contains(&why.code) {
                self.workspace.check_draft_told(vault, &id)?;
            }
            Err(why)
        })?;
        Ok((id, draft))
    }

    /// Submits a changed text of a document.
    ///
    /// If the principal names their draft by its hash, the text is first written to the draft, so
    /// that no older draft remains. Without a draft, no live file changes.
    ///
    /// # Errors
    /// Nothing was submitted. The draft may have been written, as a whole.
    pub(crate) fn update_submission(
        &mut self,
        vault: &Vault,
        writing: &Writing<'_>,
        how: Submitting<'_>,
    ) -> Result<Acted, Failure> {
        if !is_governed(vault)? {
            return Err(PublishError::Ungoverned.into());
        }
        let id = self.workspace.named(vault, writing.id)?;
        check_document(&id)?;
        let (note, mode) = (writing.note, writing.mode());
        let which = Which::Ids(vec![id.clone()]);
        if writing.live.is_some() {
            self.update_draft(vault, writing)?;
            return self.submit(vault, (which, None), (note, mode), how).map_err(|why| {
                let kept = "the text is kept as your draft; `draft: true` reads it".to_owned();
                Failure { details: [why.details, vec![kept]].concat(), ..why }
            });
        }
        if self.workspace.own_draft(vault, &id)?.is_some() {
            let message = format!("this submission would not replace your draft of `{id}`");
            return Err(Failure::new(Code::UnpublishedChanges, message)
                .hint("pass the hash of the file from the last answer about your draft"));
        }
        let base = self.base_text(vault, &id)?;
        let text = writing.fields.of_edited(&base, writing.body);
        let text = text.map_err(|why| spelling(&id, &why))?;
        self.submit(vault, (which, Some(NewDocument { id, text })), (note, mode), how)
    }

    /// Submits live files as their principal wrote them.
    ///
    /// # Errors
    /// Nothing was submitted.
    pub(crate) fn submit_own(
        &mut self,
        vault: &Vault,
        (ids, live): (&[String], Option<Digest>),
        about: (Option<&str>, Mode),
        how: Submitting<'_>,
    ) -> Result<Acted, Failure> {
        let ids = ids.iter().map(|text| self.workspace.named(vault, text));
        let ids: Vec<DocumentId> = ids.collect::<Result<_, _>>()?;
        if live.is_some() && ids.len() != 1 {
            let message = "one hash can only name the file of one document";
            return Err(Failure::new(Code::Usage, message).hint("submit one at a time"));
        }
        let is_governed = is_governed(vault)?;
        if how.renew && is_governed {
            ids.iter().try_for_each(|id| self.workspace.check_draft_told(vault, id))?;
        }
        if how.renew || !is_governed {
            return self.submit(vault, (Which::Ids(ids), None), about, how);
        }
        let read = |id: DocumentId| Ok((id.clone(), self.workspace.own_file(vault, &id, live)?));
        let read = ids.into_iter().map(read).collect::<Result<_, Failure>>()?;
        self.submit(vault, (Which::Read(read), None), about, how)
    }

    /// Publishes the live file of a document in an ungoverned vault, as its principal wrote it.
    ///
    /// # Errors
    /// Nothing was published.
    pub(crate) fn publish_own(
        &mut self,
        vault: &Vault,
        (id, live): (&str, Option<Digest>),
        (note, mode): (Option<&str>, Mode),
    ) -> Result<Acted, Failure> {
        let id = self.workspace.named(vault, id)?;
        let hash = self.workspace.own_file(vault, &id, live)?;
        let author = self.workspace.author(vault, note, None)?;
        let request = Request { author, which: Which::Read(vec![(id, hash)]), mode };
        let outcome = crate::write::publish::publish(vault, &request)?;
        Ok(self.acted(vault, outcome))
    }

    /// Submits artifacts, and notifies the program of the user's configuration.
    ///
    /// # Errors
    /// Nothing was submitted.
    pub(crate) fn submit(
        &mut self,
        vault: &Vault,
        (which, from): (Which, Option<NewDocument>),
        (note, mode): (Option<&str>, Mode),
        Submitting { change, supersede, renew }: Submitting<'_>,
    ) -> Result<Acted, Failure> {
        let author = self.workspace.author(vault, note, None)?;
        let submission =
            Submission { author: &author, which, from, change, supersede, renew, mode };
        let outcome = review::submit(vault, &submission)?;
        Ok(self.acted(vault, outcome))
    }

    /// Writes the text of a version into the live file: the published text unchanged, or another
    /// version's as a draft.
    ///
    /// # Errors
    /// Nothing was written.
    pub(crate) fn restore_draft(
        &mut self,
        vault: &Vault,
        writing: &Writing<'_>,
        version: Option<Version>,
    ) -> Result<(DocumentId, Draft), Failure> {
        let id = self.workspace.readable_id(vault, writing.id)?;
        check_document(&id)?;
        let log = self.log(vault)?;
        let chronicle = log.sound()?;
        let head = Snapshot::at(vault, &chronicle, None)?;
        let now = match head.get(&id) {
            Some(served) => Some(served?),
            None => None,
        };
        let wanted = version.filter(|n| now.as_ref().is_none_or(|now| now.entry.version != *n));
        let as_live = |text: &str| LiveForm::of(text).into_text();
        let base = now.as_ref().map(|now| as_live(&now.text));
        let (text, handed_out) = match (wanted, &base) {
            (None, Some(text)) => {
                // The published text is handed out, so it is recorded.
                let served = published(vault, &head, &id)?;
                (text.clone(), Some(served.origin().text(&served.text)))
            }
            (None, None) => {
                let message = format!("`{id}` does not have a published version");
                return Err(Failure::new(Code::Usage, message).hint("name a version"));
            }
            (Some(version), base) => {
                let (sealed, history): (String, History) =
                    text_of(vault, &head, &chronicle, &id, version)?;
                let ground = (vault.files(), &chronicle);
                let found = recorded(ground, &id, (version, &history), (&sealed, &sealed));
                let text = as_live(&sealed);
                let base = base.as_deref().unwrap_or(&text);
                let edited = Fields::default().of_edited(base, Some(&text));
                (edited.map_err(|why| spelling(&id, &why))?, found)
            }
        };
        let about = (writing.note, writing.mode());
        let upon = Upon::Live(writing.live);
        let draft = self.write_draft(vault, (&id, upon), about, |_, _| Ok(text.clone()))?;
        self.release(Traced::new((), handed_out.into_iter().collect()));
        Ok((id, draft))
    }

    /// Returns the base of a changed text: the published text, or else the principal's
    /// own submission.
    fn base_text(&mut self, vault: &Vault, id: &DocumentId) -> Result<String, Failure> {
        let log = self.log(vault)?;
        let chronicle = log.sound()?;
        let head = Snapshot::at(vault, &chronicle, None)?;
        match published(vault, &head, id) {
            Ok(served) => Ok(LiveForm::of(&served.text).into_text()),
            Err(why) => {
                let (me, _) = self.workspace.principal(vault.root(), None)?;
                let about = review::about(vault, id, &me).ok();
                let pending = about.and_then(|about| about.waiting.track.pending);
                let is_mine =
                    |by: &str| crate::values::model::principal::PrincipalKey::of(by) == me.key();
                pending.filter(|one| is_mine(&one.by)).map(|one| one.text).ok_or(why)
            }
        }
    }
}

/// Refuses governance files, which cannot be drafts.
fn check_document(id: &DocumentId) -> Result<(), Failure> {
    match id.is_document() {
        true => Ok(()),
        false => Err(Failure::new(Code::Usage, format!("`{id}` is a governance file")).hint(
            "only documents can be written here; edit the file, then submit it by a command",
        )),
    }
}

fn spelling(id: &DocumentId, why: &EditError) -> Failure {
    PublishError::Refused(vec![Refusal::of_spelling(&id.live_path(), why)]).into()
}
