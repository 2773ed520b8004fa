//! Refusals about parts of a set that the principal may not read (REV-25). They reveal that there
//! is such a part, but not its name.

use std::cell::OnceCell;

use super::super::transaction::Transaction;
use super::super::{PublishError, Refusal};
use super::ReviewError;
use super::queue::is_readable;
use crate::files::vault::Vault;
use crate::policy::viewer::Viewer;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::values::model::id::DocumentId;

/// Returns a function that returns true if the principal may read an artifact, and so its name.
///
/// If the viewer cannot be determined, no artifact may be read.
pub(crate) fn may_name<'v>(
    vault: &'v Vault,
    chronicle: &'v Chronicle<'v>,
) -> impl Fn(&DocumentId) -> bool + 'v {
    let viewer = OnceCell::new();
    move |id| {
        let viewer = viewer.get_or_init(|| Viewer::of_log(vault, chronicle));
        is_told(vault, viewer.as_ref().map(Option::as_ref), id)
    }
}

/// Returns true if a viewer may learn the name of an artifact; false if the viewer is unknown.
pub(super) fn is_told<E>(
    vault: &Vault,
    viewer: Result<Option<&Viewer>, E>,
    id: &DocumentId,
) -> bool {
    viewer.is_ok_and(|viewer| viewer.is_none_or(|viewer| is_readable(vault, viewer, id)))
}

impl Transaction<'_> {
    /// Removes from a refusal the names that its principal may not read.
    ///
    /// The names that the command itself contains stay.
    pub(super) fn told(&self, why: PublishError, named: &[DocumentId]) -> PublishError {
        let is_hidden = |id: &DocumentId| !named.contains(id) && !self.may_name(id);
        match why {
            PublishError::Review(why) if why.artifacts().into_iter().any(is_hidden) => {
                ReviewError::HiddenPart(Box::new(why)).into()
            }
            PublishError::Refused(refused) => {
                let is_shown =
                    |refusal: &Refusal| artifact_of(&refusal.path).is_none_or(|id| !is_hidden(&id));
                let (shown, hidden): (Vec<_>, Vec<_>) = refused.into_iter().partition(is_shown);
                match shown.is_empty() && !hidden.is_empty() {
                    true => ReviewError::HiddenFiles(hidden.len()).into(),
                    false => PublishError::Refused(shown),
                }
            }
            why => why,
        }
    }
}

/// Returns the document that a path belongs to: that of its file, or of the folder of its history.
///
/// Only documents are parts of sets.
fn artifact_of(path: &str) -> Option<DocumentId> {
    let of_history = || DocumentId::of_history_dir(path.rsplit_once('/')?.0).ok();
    DocumentId::of_document_file(path).ok().or_else(of_history)
}
