//! Limits what a reader may see of the change logs, of accesses in the vault, and of copies of both
//! (`spec/review.md`, REV-26).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::Workspace;
use super::name::of_uri;
use crate::files::vault::Vault;
use crate::files::vault::federation::Authorities;
use crate::files::vault::files::Files;
use crate::policy::viewer::{Nameable, is_limited_at_last};
use crate::read::snapshot::{CheckpointSource, Need, Snapshot};
use crate::record::audit::{Change, Event, Line, Sight, Text};
use crate::record::chain::{replay, vouched};
use crate::record::checkpoint::fault::LogError;
use crate::service::report::failure::Failure;
use crate::text::uri::is_staged;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::principal::PrincipalKey;

/// Maximum number of versions for which readability is cached. A log may name any number.
const MOST_KEPT: usize = 100_000;

impl Workspace<'_> {
    /// Refuses a question if damage to the log, or to a file of the rules, would empty its answer
    /// (REV-21, REV-26).
    ///
    /// # Errors
    /// The first damaged file.
    pub(crate) fn check_rules(&self, vault: &Vault) -> Result<(), Failure> {
        let checked = CheckpointSource::open(vault, Need::Versions, &mut |_, _| ())
            .and_then(|source| Ok(Snapshot::of(vault, &source, None)?.check_rules()));
        match checked {
            Ok(checked) => Ok(checked?),
            Err(why) if is_limited_at_last(vault) => Err(why.into()),
            // Without limits on reading, the answer is not emptied.
            Err(_) => Ok(()),
        }
    }

    /// Returns the limits on what a reader sees of the logs of a vault.
    ///
    /// A reader who may not read everything sees a change if it names only readable artifacts,
    /// without the words of its command. Outside of the user's own folder, such a reader sees
    /// accesses of the same principal. With a role at the vault, they also see those of others that
    /// handed out only readable texts.
    ///
    /// # Errors
    /// Only stewards may read the vault, and no principal is configured.
    pub(crate) fn sight(&self, vault: &Vault) -> Result<Sight, Failure> {
        let told = CheckpointSource::open(vault, Need::Versions, &mut |_, _| ())
            .and_then(|source| Snapshot::of(vault, &source, None)?.told());
        let told = match told {
            Ok(None) => return Ok(Sight::default()),
            Ok(Some(told)) => Some(told),
            Err(why @ LogError::NoReader) => return Err(why.into()),
            // The rules on reading are unknown.
            Err(_) if is_limited_at_last(vault) => None,
            Err(_) => return Ok(Sight::default()),
        };
        let own = self.audit_homes(vault);
        let reader = vault.reader().principal().map(|(reader, _)| reader.key());
        let files = vault.files().clone();
        let handed_out = told.is_some().then(|| HandedOut::of(vault));
        Ok(Sight::limited(move |line, folder| match (&line.event, &told) {
            // One command may change more than the one change that its line names.
            (Event::Change(change), Some(told)) => {
                is_readable(change, told, &files).then(|| line.without_words())
            }
            (Event::Change(_), None) => None,
            _ => {
                let who = line.request.principal.as_deref().map(PrincipalKey::of);
                let dir = folder.shown();
                let is_own = dir.parent().is_some_and(|home| own.iter().any(|own| own == home));
                let is_own = is_own && !folder.is_shared();
                if is_own || who.is_some() && who == reader {
                    return Some(line);
                }
                let (told, handed_out) = (told.as_ref()?, handed_out.as_ref()?);
                let is_there = told.has_role_at_vault() && handed_out.is_readable(&line, told);
                is_there.then(|| line.without_words())
            }
        }))
    }
}

/// Decides which accesses of other principals a reader may see, by the texts that they handed out.
struct HandedOut {
    files: Files,
    authorities: Authorities,
    /// Caches if versions may be read, by document and version.
    known: Mutex<HashMap<(String, u64), bool>>,
}

impl HandedOut {
    fn of(vault: &Vault) -> Self {
        let authorities = vault.config().authorities.clone();
        Self { files: vault.files().clone(), authorities, known: Mutex::default() }
    }

    /// Returns true if a line names everything that it was made from, and the reader may read all
    /// of it.
    fn is_readable(&self, line: &Line, told: &Nameable) -> bool {
        match &line.event {
            Event::Access(access) => {
                let mut texts = access.documents.iter();
                !access.documents.is_empty() && texts.all(|text| self.is_text_readable(text, told))
            }
            Event::Hydration(of) => {
                is_version_readable(&of.source, of.source_version, told, &self.files)
            }
            // A listing, a refusal and an output do not name documents.
            Event::Listing(_) | Event::Refused(_) | Event::Output(_) | Event::Change(_) => false,
        }
    }

    fn is_text_readable(&self, text: &Text, told: &Nameable) -> bool {
        let key = (text.document().to_owned(), text.version);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(is_readable) = known().get(&key) {
            return *is_readable;
        }
        let is_readable = self.judged(text, told);
        let mut known = known();
        if known.len() < MOST_KEPT {
            known.insert(key, is_readable);
        }
        is_readable
    }

    fn judged(&self, text: &Text, told: &Nameable) -> bool {
        let id = match &text.uri {
            // Permission to see a staged entry does not follow from permission to read (STAGE-13).
            Some(uri) if is_staged(uri) => return false,
            Some(uri) => of_uri(uri, &self.authorities).ok().map(|named| named.id.to_string()),
            None => text.id.clone(),
        };
        let Some(id) = id else { return false };
        // If the vault had another name, the same URI named another document.
        let may_be_hidden = told.hidden().any(|hidden| text.is_of(hidden.as_str()));
        !may_be_hidden && is_version_readable(&id, text.version, told, &self.files)
    }
}

/// Returns true if a reader may read everything that a change names.
fn is_readable(change: &Change, told: &Nameable, files: &Files) -> bool {
    let may_name = |id: &DocumentId| told.may_name(id);
    match change {
        Change::Event { ids, .. } => {
            ids.iter().all(|id| id.parse().is_ok_and(|id: DocumentId| may_name(&id)))
        }
        Change::Submit(_)
        | Change::ApproveInPart(_)
        | Change::Reject(_)
        | Change::Withdraw(_)
        | Change::Ratify(_)
        | Change::Emergency(_)
        | Change::Comment { .. } => {
            let versions = change.versions();
            let may_target =
                |target: &String| target.parse().is_ok_and(|id: DocumentId| may_name(&id));
            !versions.is_empty()
                && versions.iter().all(|one| {
                    one.target.as_ref().is_none_or(may_target)
                        && is_version_readable(&one.id, one.version, told, files)
                })
        }
        // These name paths of files, live files without a version, versions without a history, and
        // texts of users about accesses or events.
        Change::Recover { .. }
        | Change::Draft { .. }
        | Change::Hold { .. }
        | Change::Lift { .. }
        | Change::Dismiss { .. }
        | Change::Acknowledge { .. } => false,
        // Permission to see a staged entry does not follow from permission to read (STAGE-13).
        Change::Pin(_)
        | Change::Unpin(_)
        | Change::Promote(_)
        | Change::Discard(_)
        | Change::Collect(_)
        | Change::Erase(_) => false,
        // A chain reveals its source, and that a result of it was staged.
        Change::Bind { staged, .. } => staged.is_empty(),
        Change::ReplaceLog { .. }
        | Change::HeadTrust { .. }
        | Change::HeadForget { .. }
        | Change::Prune { .. } => true,
    }
}

fn is_version_readable(id: &str, version: u64, told: &Nameable, files: &Files) -> bool {
    let Ok(id) = id.parse::<DocumentId>() else { return false };
    told.may_name_version(&id, || {
        let history = replay::load(files, &id).ok()?;
        vouched::vouched(files, &id, &history, Version(version)).ok()
    })
}
