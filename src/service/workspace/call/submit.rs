//! Submits and decides: the artifacts that arguments name, and a text that is handed in.

use super::Call;
use crate::files::vault::Vault;
use crate::read::working;
use crate::service::report::event::Acted;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::Workspace;
use crate::service::workspace::name::is_uri;
use crate::values::model::hint::{Call as Words, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::write::publish::review::{Decision, Refusing};
use crate::write::publish::{Author, Mode, NewDocument, Outcome, PublishError, Which, review};

/// A decision on submissions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deciding<'d> {
    /// Approve them.
    Approve,
    /// Reject them, for this reason.
    Reject(&'d str),
    /// Withdraw them as their submitter.
    Withdraw(Option<&'d str>),
}

/// The submissions to decide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decided<'d> {
    /// Ids or files of artifacts.
    pub(crate) ids: &'d [String],
    /// Every submission of this change.
    pub(crate) change: Option<&'d str>,
    /// The version that the submission must have, if there is only one.
    pub(crate) version: Option<Version>,
    /// A note to store with each version.
    pub(crate) note: Option<&'d str>,
    /// Options of the event.
    pub(crate) mode: Mode,
}

impl Workspace<'_> {
    /// Returns the documents and folders that arguments name. Names of nothing are passed on to the
    /// event, which refuses them.
    ///
    /// # Errors
    /// An argument is not a name.
    pub(crate) fn artifacts(&self, vault: &Vault, texts: &[String]) -> Result<Which, Failure> {
        let (mut ids, mut folders) = (Vec::new(), Vec::new());
        for text in texts {
            match self.folder_of(vault, text) {
                Some(folder) => folders.push(folder),
                None => ids.push(self.named(vault, text)?),
            }
        }
        Ok(match folders.is_empty() {
            true => Which::Ids(ids),
            false => Which::Within { ids, folders },
        })
    }

    /// Returns the artifacts to submit, and the text that is handed in for one of them.
    ///
    /// # Errors
    /// A text is handed in for more or less than one document, or it is empty.
    pub(crate) fn to_submit(
        &self,
        vault: &Vault,
        (which, texts): (Which, &[String]),
        from: Option<String>,
    ) -> Result<(Which, Option<NewDocument>), Failure> {
        let which = match (which, texts, &from) {
            (Which::Ids(ids), [text], Some(_)) => {
                Which::Ids(vec![self.handed_in(vault, &ids[0], text)?])
            }
            (which, ..) => which,
        };
        match (from, &which) {
            (None, _) => Ok((which, None)),
            (Some(text), _) if text.trim_start_matches('\u{feff}').trim().is_empty() => {
                let retire = Words::new(Verb::Retire).word("ID");
                Err(Failure::new(Code::Usage, "the text to submit is empty")
                    .hint(Hint::call("{} retires a document", retire)))
            }
            (Some(text), Which::Ids(ids)) if ids.len() == 1 => {
                let new = NewDocument { id: ids[0].clone(), text };
                Ok((which, Some(new)))
            }
            (Some(_), _) => Err(Failure::new(Code::Usage, "`--from` needs the id of one document")),
        }
    }

    /// Returns the id of a text that is handed in. If nothing has this id yet, a path names the
    /// file to make, as for other commands that make a document.
    fn handed_in(&self, vault: &Vault, id: &DocumentId, text: &str) -> Result<DocumentId, Failure> {
        match id.is_document() && !working::is_known(vault, id) {
            true if is_uri(text) => Ok(DocumentId::of_new(id.as_str())?),
            true => self.new_id(vault, text),
            false => Ok(id.clone()),
        }
    }
}

impl Call<'_> {
    /// Decides submissions, and notifies the program of the user's configuration.
    ///
    /// # Errors
    /// Nothing was decided.
    pub(crate) fn decide(
        &mut self,
        vault: &Vault,
        about: &Decided<'_>,
        deciding: Deciding<'_>,
    ) -> Result<Acted, Failure> {
        let Decided { ids, change, version, note, mode } = *about;
        let author: Author = self.workspace.author(vault, note, None)?;
        let ids = ids.iter().map(|text| self.workspace.named(vault, text));
        let ids: Vec<DocumentId> = ids.collect::<Result<_, _>>()?;
        ids.iter().try_for_each(|id| self.workspace.check_told(vault, id))?;
        if version.is_some() && ids.len() != 1 {
            return Err(Failure::new(Code::Usage, "`--version` needs the id of one document"));
        }
        let decision = Decision { author: &author, ids: &ids, change, version, mode };
        let outcome: Result<Outcome, PublishError> = match deciding {
            Deciding::Approve => review::approve(vault, &decision),
            Deciding::Reject(reason) => review::reject(vault, &decision, reason),
            Deciding::Withdraw(reason) => {
                review::withdraw(vault, &decision, Refusing::Withdraw(reason))
            }
        };
        Ok(self.acted(vault, outcome?))
    }
}
