//! Governance files: the ones that an event includes, the configuration under which it runs, edits
//! by a program, and the versions of their texts.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::artifact::{readable, refused_file};
use super::transaction::Transaction;
use super::{Author, Event, Gate, Mode, Outcome, PublishError, Refusal, event};
use crate::files::vault::config::Config;
use crate::files::vault::copies::copied;
use crate::files::vault::left_out::{LeftOut, Reason};
use crate::files::vault::replace::Fingerprint;
use crate::files::vault::{OpenError, Vault};
use crate::policy::in_force::{self, File, TextInForce};
use crate::read::working;
use crate::record::chain::diff;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::state::Mark;
use crate::text::document::text::{BOM, normalise};
use crate::text::document::utf8;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{AUDIT_DIR, limit};
use crate::values::model::number::Version;
use crate::write::commit::{Change, Item, Live, Step};

/// The result of preparing a governance file.
pub(super) enum Governed {
    Version(Box<Item>),
    Reseal(Mark),
    Unchanged,
    Refused(Refusal),
}

/// The changed governance files that an event includes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Includes<'e> {
    /// All of them.
    Changed,
    /// The named ones; in the first event of a vault, all of them.
    Only(&'e [&'e DocumentId]),
}

impl Includes<'_> {
    pub(super) fn all(self, chronicle: &Chronicle<'_>) -> bool {
        matches!(self, Self::Changed) || chronicle.head().is_none()
    }
}

/// Returns true if the last event had to be recorded in a change log.
///
/// That is so if there is one, or if the sealed configuration asks for one.
pub(super) fn was_recorded(vault: &Vault, chronicle: &Chronicle<'_>) -> bool {
    let asks = || {
        let sealed = sealed_config(vault, chronicle);
        sealed.is_ok_and(|config| config.is_some_and(|config| config.audit.is_some()))
    };
    vault.files().exists(AUDIT_DIR) || vault.config().audit.is_some() && asks()
}

/// Returns the configuration that a checkpoint sealed last, even if the head no longer has it.
///
/// `None` if none was ever sealed; the defaults if it was retired.
///
/// # Errors
/// [`PublishError::Policy`] if it cannot be read.
pub(crate) fn sealed_config(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
) -> Result<Option<Config>, PublishError> {
    config_in_force(vault, chronicle, &in_force::InForce::of(vault.files(), chronicle))
}

/// Returns the sealed configuration by the rules in force at each checkpoint.
///
/// # Errors
/// As [`sealed_config`].
pub(super) fn config_in_force(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    in_force: &in_force::InForce,
) -> Result<Option<Config>, PublishError> {
    let (id, head) = (DocumentId::config(), chronicle.head_number());
    if let Some(config) = in_force.config_at(head).and_then(File::read) {
        return Ok(Some(config.clone()));
    }
    let found = in_force.text(vault.files(), head, &id);
    let text = match found.map_err(|why| PublishError::Policy { id, why })? {
        TextInForce::Never => return Ok(None),
        TextInForce::Retired { .. } => return Ok(Some(Config::default())),
        TextInForce::Sealed { text } => text,
    };
    // An unreadable configuration may have been governed.
    Ok(Some(Config::parse(&text).map_err(OpenError::Config)?))
}

/// Edits a governance file and publishes it, as one event.
///
/// `edit` returns the new text, or a message if it cannot make the edit. If the file is unchanged
/// and published, nothing is recorded.
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
    set(vault, id, (author, mode, Gate::Ungoverned), edit)
}

/// Edits the configuration for the first strict checkpoint of a log that the reference
/// implementation began.
///
/// The checkpoint also removes from the maps the documents without a history.
///
/// # Errors
/// Nothing was changed; see [`PublishError`].
pub(crate) fn adopt(
    vault: &Vault,
    author: &Author,
    mode: Mode,
    edit: impl Fn(&str) -> Result<String, String>,
) -> Result<Outcome, PublishError> {
    let id = DocumentId::config();
    let includes = Includes::Only(&[&id]);
    let what = Event { author, mode, subjects: &[], includes, gate: Gate::Ungoverned };
    event(vault, &what, |transaction, outcome| {
        transaction.prepare_edit(&id, &edit, outcome);
        if !outcome.items.is_empty() {
            transaction.drop_without_history();
        }
        Ok(())
    })
}

/// Edits a governance file, and publishes it, or submits it if the vault is governed.
///
/// # Errors
/// Nothing was changed; see [`PublishError`].
pub fn change_governance_file(
    vault: &Vault,
    id: &DocumentId,
    author: &Author,
    mode: Mode,
    edit: impl Fn(&str) -> Result<String, String>,
) -> Result<Outcome, PublishError> {
    set(vault, id, (author, mode, Gate::Either), edit)
}

fn set(
    vault: &Vault,
    id: &DocumentId,
    (author, mode, gate): (&Author, Mode, Gate),
    edit: impl Fn(&str) -> Result<String, String>,
) -> Result<Outcome, PublishError> {
    let includes = Includes::Only(&[id]);
    let what = Event { author, mode, subjects: &[], includes, gate };
    event(vault, &what, |transaction, outcome| {
        if gate == Gate::Either && transaction.in_force.is_governed {
            transaction.begin_after(std::slice::from_ref(id));
            return transaction.submit_edit(id, &edit, outcome);
        }
        transaction.prepare_edit(id, &edit, outcome);
        Ok(())
    })
}

impl Transaction<'_> {
    /// Prepares a governance file, which is stored as it is; a missing file is retired.
    pub(super) fn prepare_governance(
        &self,
        id: &DocumentId,
        last_sealed: Option<Version>,
    ) -> Governed {
        self.governance(id, last_sealed).unwrap_or_else(Governed::Refused)
    }

    /// Prepares the text of a governance file that is handed in, whatever its live file contains.
    ///
    /// Such a text does not name the version that it was edited from, so the caller does (REV-15).
    pub(super) fn handed_in(
        &self,
        id: &DocumentId,
        text: &str,
        last_sealed: Option<Version>,
    ) -> Result<Governed, Refusal> {
        let published = self.state.get(id.as_str()).and_then(|mark| mark.version);
        let (Some(version), false) = (published, self.expect.is_said()) else {
            return self.governance_of(id, last_sealed, Some(text.as_bytes()));
        };
        let message = format!(
            "the text does not say which version it was edited from; version {version} is published"
        );
        let submit = Call::new(Verb::Submit).value(id.as_str()).word("--from").word("FILE");
        let hint = Hint::calls(
            "merge what {} prints, and run {}",
            [
                Call::new(Verb::Read).value(id.as_str()),
                submit.word("--expect-version").value(version.to_string()),
            ],
        );
        Err(Refusal::new(id.live_path(), "stale", message, hint))
    }

    fn governance(
        &self,
        id: &DocumentId,
        last_sealed: Option<Version>,
    ) -> Result<Governed, Refusal> {
        let path = id.live_path();
        let bytes = self
            .vault
            .files()
            .read_optional(&path, limit::DOCUMENT)
            .map_err(|why| refused_file(&path, &why))?;
        self.governance_of(id, last_sealed, bytes.as_deref())
    }

    /// Prepares a governance file with these bytes; `None` if the file is missing.
    pub(super) fn governance_of(
        &self,
        id: &DocumentId,
        last_sealed: Option<Version>,
        bytes: Option<&[u8]>,
    ) -> Result<Governed, Refusal> {
        let path = id.live_path();
        let base = self.base(id, last_sealed)?;
        let Some(bytes) = bytes else {
            return Ok(match base.sealed {
                None => Governed::Unchanged,
                Some(_) if self.submits.is_some() && id.is_kept() => {
                    return Err(kept(id, "deleted"));
                }
                Some(_) => {
                    let change = self.governance_change(Change::Retired);
                    let text = Arc::from("");
                    Governed::Version(Box::new(self.next_version(id, &base, &text, change)?))
                }
            });
        };
        let text = normalise(readable(&path, bytes)?);
        if text.starts_with(BOM) {
            let message = "the text starts with two byte order marks (U+FEFF)";
            let hint = "remove both";
            return Err(Refusal::new(path, "two-marks", message.to_owned(), hint));
        }
        if base.sealed.as_deref() == Some(&*text) {
            return Ok(Governed::Unchanged);
        }
        // An empty text proposes a deletion (REV-9).
        if text.is_empty() && self.submits.is_some() && id.is_kept() {
            return Err(kept(id, "emptied"));
        }
        let before = base.last.as_ref().map(|(.., before)| before.as_str());
        if diff::could_be_one(&text, base.next(), before) {
            let message = "it reads as a diff from its previous version";
            let hint = "begin it with another line, because a hash does not distinguish a text from a diff";
            return Err(Refusal::new(path, "looks-like-diff", message.to_owned(), hint));
        }
        if let (Some((version, chain, last)), None, false) =
            (&base.last, &base.sealed, base.retired)
            && *last == *text
            && last_sealed == Some(*version)
        {
            return Ok(Governed::Reseal(Mark::new(*version, *chain)));
        }
        let found = working::governance_problems(self.vault, id, &text);
        let warnings = Refusal::unless_valid(&path, found)?;
        let change = self.governance_change(base.change());
        let mut item = self.next_version(id, &base, &Arc::from(text), change)?;
        item.warnings = warnings;
        Ok(Governed::Version(Box::new(item)))
    }

    /// Returns the change of a version of a governance file: a submission, if it needs a review.
    fn governance_change(&self, change: Change) -> Change {
        if self.submits.is_some() { Change::Step(Step::Submit) } else { change }
    }

    /// Prepares a version of a governance file as a program edits it, and adds it to the outcome.
    pub(super) fn prepare_edit(
        &self,
        id: &DocumentId,
        edit: &impl Fn(&str) -> Result<String, String>,
        outcome: &mut Outcome,
    ) {
        match self.edited(id, edit) {
            Ok(Governed::Version(item)) => outcome.items.push(*item),
            Ok(_) => outcome.unchanged.push(id.clone()),
            Err(refusal) => outcome.refused.push(refusal),
        }
    }

    fn edited(
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

    /// Adds the governance files that changed since the last checkpoint, or reports them as
    /// left out.
    ///
    /// Returns unchanged files that the last checkpoint has lost, because the reference
    /// implementation drops them.
    pub(super) fn include_governance_files(
        &self,
        outcome: &mut Outcome,
        all: bool,
    ) -> Vec<(DocumentId, Mark)> {
        // A file whose name is not an id is ignored, and does not prevent other files from
        // being published.
        let live = working::governance_ids(self.vault);
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
                Governed::Version(_)
                    if id.is_pack()
                        && !last_sealed.contains_key(id)
                        && let Some(copied) = copied(self.vault, id.as_str()) =>
                {
                    outcome.left_out.push(LeftOut::artifact(id, Reason::Copy(copied)));
                }
                Governed::Version(item) if all => outcome.items.push(*item),
                Governed::Version(_) => {
                    outcome.left_out.push(LeftOut::artifact(id, Reason::NotNamed));
                }
                Governed::Reseal(mark) => resealed.push((id.clone(), mark)),
                Governed::Unchanged => {}
                Governed::Refused(_) if !all => {
                    outcome.left_out.push(LeftOut::artifact(id, Reason::NotNamed));
                }
                // The link was never a governance file here.
                Governed::Refused(refusal)
                    if !last_sealed.contains_key(id)
                        && refusal.problems.iter().all(|p| p.code == "symbolic-link") =>
                {
                    outcome.left_out.push(LeftOut::file(id.live_path(), Reason::Link));
                }
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

/// Refuses to remove a governance file from a governed vault (REV-3).
fn kept(id: &DocumentId, what: &str) -> Refusal {
    let message = format!("a governed vault keeps this file: it cannot be {what}");
    let restore = Call::new(Verb::Restore).value(id.as_str());
    let hint = Hint::call("{} writes the published text into the file again", restore);
    Refusal::new(id.live_path(), "document-missing", message, hint)
}
