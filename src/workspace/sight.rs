//! What a reader may see of the change logs, of accesses in the vault, and of copies of both
//! (`spec/review.md`, REV-26).

use super::Workspace;
use crate::audit::{Change, Event, Sight, VersionRef};
use crate::chain::{replay, vouched};
use crate::checkpoint::fault::LogError;
use crate::model::id::DocumentId;
use crate::model::number::Version;
use crate::model::principal::PrincipalKey;
use crate::report::failure::Failure;
use crate::resolve::readers::{Told, is_limited_at_last};
use crate::resolve::{CheckpointSource, Need, Snapshot};
use crate::vault::Vault;
use crate::vault::files::Files;

impl Workspace<'_> {
    /// What may be seen of the logs of a vault. Of changes a reader who may not read everything sees
    /// those that name only what this reader may read, without the words of their commands; of
    /// accesses outside of the user's own folder those of the same principal.
    ///
    /// # Errors
    /// Only stewards read the vault, and no principal is configured.
    pub(crate) fn sight(&self, vault: &Vault) -> Result<Sight, Failure> {
        let told = CheckpointSource::open(vault, Need::Versions, &mut |_, _| ())
            .and_then(|source| Snapshot::of(vault, &source, None)?.told());
        let told = match told {
            Ok(None) => return Ok(Sight::default()),
            Ok(Some(told)) => Some(told),
            Err(why @ LogError::NoReader) => return Err(why.into()),
            // Nothing says who may read what.
            Err(_) if is_limited_at_last(vault) => None,
            Err(_) => return Ok(Sight::default()),
        };
        let own = self.user_folder(vault).ok().flatten();
        let reader = vault.reader().principal().map(|(reader, _)| reader.key());
        let files = vault.files().clone();
        Ok(Sight::limited(move |line, folder| match (&line.event, &told) {
            // One command may change more than the line of one of its changes names.
            (Event::Change(change), Some(told)) => {
                is_readable(change, told, &files).then(|| line.without_words())
            }
            (Event::Change(_), None) => None,
            _ => {
                let who = line.request.principal.as_deref().map(PrincipalKey::of);
                let is_own = !folder.is_shared() && own.as_ref() == Some(&folder.shown());
                (is_own || who.is_some() && who == reader).then_some(line)
            }
        }))
    }
}

/// Whether a reader may read everything that a change names.
fn is_readable(change: &Change, told: &Told, files: &Files) -> bool {
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
            !versions.is_empty() && versions.iter().all(|one| is_version_readable(one, told, files))
        }
        // Paths of files, and what a user wrote about accesses or events.
        Change::Recover { .. }
        | Change::Hold { .. }
        | Change::Lift { .. }
        | Change::Acknowledge { .. } => false,
        // Who may see a staged entry does not follow from who may read (STAGE-13).
        Change::Pin(_)
        | Change::Unpin(_)
        | Change::Promote(_)
        | Change::Discard(_)
        | Change::Collect(_)
        | Change::Erase(_) => false,
        Change::Bind { .. }
        | Change::ReplaceLog { .. }
        | Change::HeadTrust { .. }
        | Change::HeadForget { .. }
        | Change::Prune { .. } => true,
    }
}

fn is_version_readable(named: &VersionRef, told: &Told, files: &Files) -> bool {
    let Ok(id) = named.id.parse::<DocumentId>() else { return false };
    told.may_name_version(&id, || {
        let history = replay::load(files, &id).ok()?;
        vouched::vouched(files, &id, &history, Version(named.version)).ok()
    })
}
