//! Finds versions that histories of a governed vault record as published or retired, but that no
//! approval vouches for. A log derived from the histories must not publish them
//! (`spec/transactions.md`, TXN-33).

use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::prove::verify::{self, Code, Finding};
use crate::record::checkpoint::log::Log;
use crate::record::checkpoint::rebuild::Recorded;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;

/// A version that no approval vouches for, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unapproved {
    pub(crate) id: DocumentId,
    pub(crate) version: Version,
    pub(crate) why: String,
}

/// Returns the records that a log publishes or retires without an approval, by the rules in force
/// before each of its checkpoints. If the rules themselves were changed in this way, returns only
/// the first version, because the others must be judged again without it.
///
/// # Errors
/// Fails if a file cannot be read.
pub(super) fn unapproved(
    vault: &Vault,
    log: &Log,
    records: &[Recorded],
    now: Timestamp,
) -> Result<Vec<Unapproved>, FileError> {
    // A vault that was governed has sealed its stewards.
    let mut set = log.entries.iter().flatten().flat_map(|checkpoint| &checkpoint.set);
    if records.is_empty() || !set.any(|(id, _)| *id == DocumentId::stewards()) {
        return Ok(Vec::new());
    }
    let report = verify::verify_as(vault, &verify::Request::whole(now), log.clone())?;
    let faults = report.findings.into_iter().filter(|finding| is_of_review(finding.code));
    let mut found: Vec<(Timestamp, Unapproved)> =
        faults.filter_map(|finding| of_record(finding, records)).collect();
    found.sort_by(|(a, one), (b, other)| {
        (a, &one.id, one.version).cmp(&(b, &other.id, other.version))
    });
    found.dedup_by(|(_, one), (_, other)| (&one.id, one.version) == (&other.id, other.version));
    if found.iter().any(|(_, one)| one.id.is_rule()) {
        found.truncate(1);
    }
    Ok(found.into_iter().map(|(_, one)| one).collect())
}

/// Returns the message of a line of a change log that contradicts a new log. The line names a
/// checkpoint that this log lacks, or records with another hash, and no line acknowledges that.
///
/// # Errors
/// Fails if a file cannot be read.
pub(super) fn contradicted(
    vault: &Vault,
    log: &Log,
    now: Timestamp,
) -> Result<Option<String>, FileError> {
    let report = verify::verify_as(vault, &verify::Request::whole(now), log.clone())?;
    let is_it =
        |finding: &Finding| finding.code == Code::AuditContradicts && finding.checkpoint.is_some();
    Ok(report.findings.into_iter().find(is_it).map(|finding| finding.message))
}

fn is_of_review(code: Code) -> bool {
    matches!(
        code,
        Code::ApprovalMissing
            | Code::ApprovalSelf
            | Code::ApprovalUnauthorised
            | Code::ApprovalAltered
    )
}

/// Returns the version that a finding keeps from being published: its own, or the version that an
/// approval made from the submission.
fn of_record(finding: Finding, records: &[Recorded]) -> Option<(Timestamp, Unapproved)> {
    let (id, version) = (finding.id?, finding.version?);
    let of_artifact = records.iter().filter(|record| record.id == id && record.version >= version);
    let record = of_artifact.min_by_key(|record| record.version)?;
    Some((record.at, Unapproved { id, version: record.version, why: finding.message }))
}
