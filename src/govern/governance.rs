//! Governance files: which of them an event includes, under whose configuration it runs, and their
//! change by a program.

use std::collections::{BTreeSet, HashSet};

use super::artifact::{Governed, refused_file};
use super::transaction::Transaction;
use super::{Author, Event, Gate, Mode, Outcome, PublishError, Refusal, event};
use crate::audit::Recorder;
use crate::checkpoint::chronicle::Chronicle;
use crate::checkpoint::in_force::{TextInForce, text_in_force};
use crate::checkpoint::state::Mark;
use crate::document::utf8;
use crate::live;
use crate::model::id::DocumentId;
use crate::model::layout::{AUDIT_DIR, limit};
use crate::txn::Live;
use crate::vault::config::Config;
use crate::vault::replace::Fingerprint;
use crate::vault::{OpenError, Vault};

/// Which changed governance files an event includes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Includes<'e> {
    /// Each.
    Changed,
    /// Those that are named; each in the first event of a vault.
    Only(&'e [&'e DocumentId]),
}

/// Why a changed governance file is no part of an event.
pub(super) const LEFT_OUT: &str = "it was not named; `--changed`, `--all` and its name publish it";

impl Includes<'_> {
    pub(super) fn all(self, chronicle: &Chronicle<'_>) -> bool {
        matches!(self, Self::Changed) || chronicle.head().is_none()
    }
}

/// Whether the last event had to be recorded in a change log: there is one, or the configuration that
/// was sealed by then asks for one.
pub(super) fn was_recorded(vault: &Vault, chronicle: &Chronicle<'_>) -> bool {
    let asks = || {
        let sealed = sealed_config(vault, chronicle);
        sealed.is_ok_and(|config| config.is_some_and(|config| config.audit.is_some()))
    };
    vault.files().exists(AUDIT_DIR) || vault.config().audit.is_some() && asks()
}

/// How the change log says who acts, under the configuration in force.
pub(super) fn recorder_of(vault: &Vault, chronicle: &Chronicle<'_>, author: &Author) -> Recorder {
    let sealed = sealed_config(vault, chronicle);
    author.recorder.under(sealed.as_ref().ok().map(Option::as_ref))
}

/// The configuration that a checkpoint sealed last, whether or not the head still has it; none
/// where there never was one, and the defaults where it was retired.
///
/// # Errors
/// [`PublishError::Policy`] where it cannot be read.
pub(crate) fn sealed_config(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
) -> Result<Option<Config>, PublishError> {
    let id = DocumentId::config();
    let found = text_in_force(vault.files(), chronicle, chronicle.head_number(), &id);
    let text = match found.map_err(|why| PublishError::Policy { id, why })? {
        TextInForce::Never => return Ok(None),
        TextInForce::Retired { .. } => return Ok(Some(Config::default())),
        TextInForce::Sealed { text, .. } => text,
    };
    // What cannot be read may have said governed.
    Ok(Some(Config::parse(&text).map_err(OpenError::Config)?))
}

/// Edits a governance file and publishes it, as one event. `edit` gives the new text, or says what
/// keeps it from that. A file that is as wanted, and published, makes no event.
///
/// # Errors
/// Nothing was changed; see [`PublishError`].
pub fn set_governance_file(
    vault: &Vault,
    id: &DocumentId,
    author: &Author,
    mode: Mode,
    edit: impl Fn(&str) -> Result<String, String>,
) -> Result<Outcome, PublishError> {
    let includes = Includes::Only(&[id]);
    let gate = Gate::Ungoverned;
    let what = Event { author, mode, subjects: &[], includes, gate };
    event(vault, &what, |transaction, outcome| {
        match transaction.edited(id, &edit) {
            Ok(Governed::Version(item)) => outcome.items.push(*item),
            Ok(_) => outcome.unchanged.push(id.clone()),
            Err(refusal) => outcome.refused.push(refusal),
        }
        Ok(())
    })
}

/// The same where a governed vault gets a submission: the live file is edited, and what it says then
/// is submitted.
///
/// # Errors
/// Nothing was changed; see [`PublishError`].
pub fn propose_governance_file(
    vault: &Vault,
    id: &DocumentId,
    author: &Author,
    mode: Mode,
    edit: impl Fn(&str) -> Result<String, String>,
) -> Result<Outcome, PublishError> {
    match set_governance_file(vault, id, author, mode, &edit) {
        Err(PublishError::Governed) => super::review::submit_edit(vault, id, author, mode, edit),
        done => done,
    }
}

impl Transaction<'_> {
    pub(super) fn edited(
        &self,
        id: &DocumentId,
        edit: &impl Fn(&str) -> Result<String, String>,
    ) -> Result<Governed, Refusal> {
        let path = id.live_path();
        let read = self.vault.files().read_optional(&path, limit::DOCUMENT);
        let old = read.map_err(|why| refused_file(&path, &why))?;
        let text = utf8(old.as_deref().unwrap_or_default())
            .map_err(|why| Refusal::new(&path, why.code(), why.to_string(), why.hint()))?;
        let new = edit(text).map_err(|why| {
            Refusal::new(&path, "config-spelling", why, "make the change by hand in the file")
        })?;
        let last_sealed = self.last_sealed([id]).get(id).copied();
        let mut governed = self.governance_of(id, last_sealed, Some(new.as_bytes()))?;
        if let (Governed::Version(item), true) = (&mut governed, new != text) {
            item.live = match old {
                Some(old) => Live::Replace { old: Fingerprint::of(&old), new: new.into() },
                None => Live::Create(new.into_bytes()),
            };
        }
        Ok(governed)
    }

    /// Adds the governance files that changed since the last checkpoint, or names them where the event
    /// does not include them, and gives those back that did not change but that the last checkpoint
    /// has lost (the reference implementation drops them).
    pub(super) fn include_governance_files(
        &self,
        outcome: &mut Outcome,
        all: bool,
    ) -> Vec<(DocumentId, Mark)> {
        // A file whose name makes no id is left as it is, and keeps no other from being published.
        let live = live::governance_ids(self.vault);
        let sealed = self.state.iter().map(|(id, _)| id).filter(|id| !id.is_document()).cloned();
        let mut ids: BTreeSet<DocumentId> = sealed.chain(live).collect();
        for item in &outcome.items {
            ids.remove(&item.id);
        }
        let last_sealed = self.last_sealed(&ids);
        let refused: HashSet<String> = outcome.refused.iter().map(|r| r.path.clone()).collect();
        let mut resealed = Vec::new();
        for id in &ids {
            match self.prepare_governance(id, last_sealed.get(id).copied()) {
                Governed::Version(item) if all => outcome.items.push(*item),
                Governed::Version(_) => outcome.left_out.push((id.clone(), LEFT_OUT)),
                Governed::Reseal(mark) => resealed.push((id.clone(), mark)),
                Governed::Unchanged => {}
                Governed::Refused(_) if !all => outcome.left_out.push((id.clone(), LEFT_OUT)),
                Governed::Refused(refusal) => {
                    if !refused.contains(&refusal.path) {
                        outcome.refused.push(refusal);
                    }
                }
            }
        }
        resealed
    }
}
