//! The reasons of steps of governance files, which only the change log has (REV-9).

use std::collections::HashMap;

use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::policy::rules::SubmissionEnd;
use crate::record::audit::{Event, Logs};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::AUDIT_DIR;

/// Returns the reasons of the steps of a governance file, by the chain hashes of their versions.
///
/// # Errors
/// The change logs cannot be read.
pub(crate) fn reasons(
    vault: &Vault,
    id: &DocumentId,
) -> Result<HashMap<String, String>, FileError> {
    let mut found = HashMap::new();
    let logs = Logs::of_changes(vault);
    let read = logs.and_then(|logs| {
        logs.steps(&mut |line| {
            let Event::Change(change) = &line.event else { return };
            let Some((step, reason)) = change.step().and_then(|s| Some((s, s.reason.as_ref()?)))
            else {
                return;
            };
            let own = step.versions.iter().filter(|version| version.id == id.as_str());
            found.extend(own.map(|version| (version.chain_hash.clone(), reason.clone())));
        })
    });
    read.map_err(FileError::io("read", AUDIT_DIR))?;
    Ok(found)
}

/// Adds the reason of the end of a submission, if the artifact is a governance file.
///
/// # Errors
/// The change logs cannot be read.
pub(super) fn add_reason(
    vault: &Vault,
    id: &DocumentId,
    end: &mut SubmissionEnd,
) -> Result<(), FileError> {
    if !id.is_document() {
        end.reason = reasons(vault, id)?.remove(&end.chain_hash.to_string());
    }
    Ok(())
}
