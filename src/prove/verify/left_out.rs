//! Files that git leaves out of the working copy, as in a sparse checkout. A file that is missing
//! for that reason is not damage. It was not checked either, so the verdict does not cover the
//! whole vault.

use super::finding::{Code, Finding};
use crate::files::vault::Vault;
use crate::files::vault::git_past::{Gone, NOT_SPARSE};
use crate::record::checkpoint::codec::{FORMS, path_of};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::AUDIT_DIR;
use crate::values::text_util::count;

/// Replaces the findings about files that git leaves out by one finding. A verification of the
/// whole vault reports left-out files even without such findings, because a change log may be one
/// of them. Git is asked only if a file is missing or the checkout is sparse.
pub(super) fn explain(vault: &Vault, whole: bool, findings: &mut Vec<Finding>) {
    let mut codes = findings.iter().map(|finding| finding.code);
    let is_asked = codes.any(is_of_missing_file) || (whole && vault.history().is_sparse());
    if !is_asked {
        return;
    }
    let gone = vault.gone();
    if gone.count() == 0 {
        return;
    }
    for finding in findings.iter_mut().filter(|found| found.code == Code::DocumentMissing) {
        if gone.has(&finding.path) {
            finding.message =
                format!("git leaves the live file out here (a sparse checkout): {NOT_SPARSE}");
        }
    }
    let explained: Vec<Finding> = findings.extract_if(.., |found| explains(gone, found)).collect();
    let first = match gone.first_of_record() {
        Some(path) if whole || !explained.is_empty() => Some(path.to_owned()),
        _ => explained.into_iter().map(|found| found.path).min(),
    };
    if let Some(first) = first {
        let files = count(gone.count(), "file");
        let message = format!("git leaves {files} of the vault out here (a sparse checkout)");
        findings.push(Finding::new(Code::LeftOut, first, message));
    }
}

fn is_of_missing_file(code: Code) -> bool {
    matches!(
        code,
        Code::HistoryMissing
            | Code::KeyframeMissing
            | Code::DiffMissing
            | Code::CheckpointLogMissing
            | Code::AuditMissing
            | Code::AuditRollback
            | Code::StagedMissing
            | Code::StagedRollback
            | Code::DocumentMissing
            | Code::PolicyDrift
            | Code::AuditContradicts
            | Code::PublishedUnsealed
            | Code::PublishedWithoutHistory
    )
}

/// Returns true if the only reason of a finding is a file that git leaves out.
fn explains(gone: &Gone, finding: &Finding) -> bool {
    let id = finding.id.as_ref();
    let of_id = |is_gone: &dyn Fn(&DocumentId) -> bool| id.is_some_and(is_gone);
    let log = || FORMS.iter().any(|form| gone.has(path_of(*form)));
    match finding.code {
        Code::HistoryMissing
        | Code::KeyframeMissing
        | Code::DiffMissing
        | Code::AuditRollback
        | Code::StagedMissing
        | Code::StagedRollback
        | Code::PolicyDrift => gone.has(&finding.path),
        // An earlier version of the text is missing.
        Code::VersionUnreconstructable => of_id(&|id| gone.has_within(&id.history_dir())),
        // Lines of the change log name checkpoints.
        Code::AuditContradicts if id.is_none() => log(),
        // Steps of reviews are in the history.
        Code::AuditContradicts | Code::DocumentMissing => of_id(&|id| gone.has(&id.history_path())),
        Code::AuditMissing => gone.has_within(AUDIT_DIR),
        Code::CheckpointLogMissing
        | Code::HeadRollback
        | Code::PublishedUnsealed
        | Code::PublishedWithoutHistory => log(),
        _ => false,
    }
}
