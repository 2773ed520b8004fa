//! Findings of a verifier: stable codes, each with a class (`spec/verify.md`, section 2).

use std::fmt;

use crate::values::codes::codes;
use crate::values::codes::words;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};

words! {
    /// The severity of a finding.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Class {
        /// Recorded data was altered or is missing.
        Damage = "damage",
        /// Incomplete or unreadable records; the files alone cannot show why.
        Unsettled = "unsettled",
        /// A live file differs from its published version.
        WorkingCopy = "working copy",
        /// Information only; nothing is wrong.
        Note = "note",
    }
}

codes! {
    /// A kind of finding.
    class: Class,
    /// Severity of the finding.
    ContentHashMismatch "content-hash-mismatch" Class::Damage, "A stored text or diff does not have its recorded hash.";
    ChainHashMismatch "chain-hash-mismatch" Class::Damage, "The chain hash of an entry does not follow from its fields and the entry before.";
    VersionUnreconstructable "version-unreconstructable" Class::Damage, "The text of a version cannot be rebuilt.";
    VersionSelfMismatch "version-self-mismatch" Class::Damage, "A text states another version or status than its entry, or is stored in the wrong form.";
    KeyframeMissing "keyframe-missing" Class::Damage, "The file of a keyframe is missing.";
    DiffMissing "diff-missing" Class::Damage, "The file of a diff is missing.";
    EntryMalformed "entry-malformed" Class::Damage, "An entry lacks a field, or its fields contradict each other.";
    VersionGap "version-gap" Class::Damage, "A history skips a version number.";
    VersionDuplicate "version-duplicate" Class::Damage, "A history has a version number twice.";
    VersionOrder "version-order" Class::Damage, "Version numbers do not increase.";
    FieldMalformed "field-malformed" Class::Damage, "The value of a field is invalid.";
    TimestampMalformed "timestamp-malformed" Class::Damage, "A timestamp is invalid.";
    TimestampOrder "timestamp-order" Class::Damage, "A record is older than the one before it.";
    UnknownHashAlgorithm "unknown-hash-algorithm" Class::Damage, "A hash names another algorithm than SHA-256.";
    HistoryMissing "history-missing" Class::Damage, "The log seals a version, but its history is missing.";
    HistoryUnreadable "history-unreadable" Class::Damage, "A history cannot be read.";
    HistoryEmpty "history-empty" Class::Damage, "A history is empty.";
    CheckpointLogMissing "checkpoint-log-missing" Class::Damage, "Versions were published, but the checkpoint log is missing.";
    CheckpointLogUnreadable "checkpoint-log-unreadable" Class::Damage, "The checkpoint log or an entry of it cannot be read.";
    CheckpointHashMismatch "checkpoint-hash-mismatch" Class::Damage, "The hash of a checkpoint does not follow from its maps and the checkpoint before.";
    CheckpointGap "checkpoint-gap" Class::Damage, "The numbers of the checkpoints are not 1, 2, 3 and so on.";
    CrossChainMismatch "cross-chain-mismatch" Class::Damage, "The history and the checkpoint log record different chain hashes.";
    CheckpointVersionUnknown "checkpoint-version-unknown" Class::Damage, "The log seals a version that the history lacks.";
    CheckpointVersionUnpublished "checkpoint-version-unpublished" Class::Damage, "The log seals a version that the history does not record as published.";
    CheckpointTriggerUnknown "checkpoint-trigger-unknown" Class::Damage, "The trigger of a checkpoint has neither a history nor an entry in the log.";
    VersionRegression "version-regression" Class::Damage, "A checkpoint seals an older version than the checkpoint before.";
    PublicationTimeMismatch "publication-time-mismatch" Class::Damage, "The recorded publication time contradicts the text or the log.";
    IdCollision "id-collision" Class::Damage, "Some file systems do not distinguish two ids, or an id is reserved.";
    TooLarge "too-large" Class::Damage, "A file exceeds the limit for its kind, in size or in work.";
    CheckpointTriggerMismatch "checkpoint-trigger-mismatch" Class::Damage, "The trigger of a checkpoint of ctx is not the greatest id of the event.";
    HeadRollback "head-rollback" Class::Damage, "The log ends before an anchor.";
    MergeMismatch "merge-mismatch" Class::Damage, "A checkpoint says that it merged another log, but does not follow from both logs.";
    HeadFork "head-fork" Class::Damage, "The log has another checkpoint in the place of an anchor.";
    AuditMalformed "audit-malformed" Class::Damage, "A line of an audit log in the vault cannot be read, is not in canonical form, or has a value that no writer records.";
    AuditChainMismatch "audit-chain-mismatch" Class::Damage, "A line of an audit log in the vault does not match its hash, or does not follow the line before it.";
    AuditGap "audit-gap" Class::Damage, "An audit log in the vault lacks lines at its beginning or between two lines.";
    AuditRollback "audit-rollback" Class::Damage, "An audit log in the vault lacks the last line that this user wrote to it, or a line that a checkpoint binds or a revision has.";
    AuditContradicts "audit-contradicts" Class::Damage, "A change log names a checkpoint, or a version of a review, that is missing or has another hash, or contradicts the log or the histories.";
    StagedMalformed "staged-malformed" Class::Damage, "A line of a staging chain cannot be read, is not in canonical form, or has a value that no writer records.";
    StagedChainMismatch "staged-chain-mismatch" Class::Damage, "A line of a staging chain does not match its hash, does not follow the line before it, or names an entry that no chain contains.";
    StagedContentMismatch "staged-content-mismatch" Class::Damage, "The content of a staged entry is not what was received.";
    StagedMissing "staged-missing" Class::Damage, "The content of a staged entry is missing, and no act ended the entry.";
    StagedContradicts "staged-contradicts" Class::Damage, "A staged entry is older than its checkpoint, was collected before its retention ended, or was promoted to a document that does not name it.";
    StagedUnauthorised "staged-unauthorised" Class::Damage, "A principal acted on a staged entry without the required role.";
    StagedRollback "staged-rollback" Class::Damage, "A staging chain lacks the last line that this user wrote to it, or a line that a checkpoint binds or a revision has.";
    ApprovalMissing "approval-missing" Class::Damage, "A version was published or retired in a governed vault without the approvals that its scope requires.";
    ApprovalSelf "approval-self" Class::Damage, "An author of a submission approved it.";
    ApprovalUnauthorised "approval-unauthorised" Class::Damage, "A principal submitted, approved or completed a change without the role that this needs, or a step of it is dated before an earlier version.";
    ApprovalAltered "approval-altered" Class::Damage, "The published or retired version differs from what was submitted and approved.";
    PublishedUnsealed "published-unsealed" Class::Unsettled, "A history records a publication or retirement that no checkpoint contains.";
    UnrecordedRemoval "unrecorded-removal" Class::Unsettled, "A checkpoint removes a document that its history does not record as retired.";
    CheckpointHashMissing "checkpoint-hash-missing" Class::Unsettled, "A checkpoint has an id in only one of its two maps.";
    ForgottenPresent "forgotten-present" Class::Unsettled, "The text of a version is stored although the version is marked as forgotten.";
    VersionUnsealed "version-unsealed" Class::Unsettled, "A history has a version that was never published; ctx does not write such versions.";
    ForeignLog "foreign-log" Class::Unsettled, "Two different checkpoint logs exist, or the log has a form that the configuration never asked for.";
    FileUnreadable "file-unreadable" Class::Unsettled, "A file cannot be read, so its content is unknown.";
    FolderUnreadable "folder-unreadable" Class::Unsettled, "A folder cannot be listed, so its content is unknown.";
    TornTail "torn-tail" Class::Unsettled, "The checkpoint log or a history ends in an incomplete entry.";
    AuditMissing "audit-missing" Class::Unsettled, "Changes are recorded since an earlier checkpoint, but no change log records the event of this one.";
    LeftOut "left-out" Class::Unsettled, "Git leaves files of the vault out of the working copy, so their records were not checked.";
    Drift "drift" Class::WorkingCopy, "A live file differs from the published text and is not a draft.";
    PublishedWithoutHistory "published-without-history" Class::WorkingCopy, "A live file has the status published, but no checkpoint contains the document.";
    DocumentMissing "document-missing" Class::WorkingCopy, "The live file of a published document is missing.";
    PolicyDrift "policy-drift" Class::WorkingCopy, "A live governance file differs from its published version.";
    HeadMerged "head-merged" Class::Note, "The trusted head is on a side line, and a merge of this user or a commit says how it came there.";
    HeadElsewhere "head-elsewhere" Class::Note, "On another branch or commit, this machine saw a checkpoint that this log lacks.";
    Unfinished "unfinished" Class::Note, "A file or an entry is uncommitted, as an interrupted command leaves it.";
    Interrupted "interrupted" Class::Note, "A command of this user was interrupted after its commit, and the next one completes the event.";
    AuditTorn "audit-torn" Class::Note, "The last line of an audit log in the vault is incomplete, or was lost in a power cut.";
    AuditElsewhere "audit-elsewhere" Class::Note, "On another branch or commit, this machine wrote lines of an audit log or a staging chain that the vault lacks here.";
    AuditAcknowledged "audit-acknowledged" Class::Note, "No change log records the event of a checkpoint, and a user acknowledged that.";
    StagedTorn "staged-torn" Class::Note, "The last line of a staging chain is incomplete.";
    StagedUnclaimed "staged-unclaimed" Class::Note, "The content of staged entries exists, but no live entry names it.";
    StagedUnproved "staged-unproved" Class::Note, "The record does not prove that an act on a staged entry was allowed, or that an entry or a promotion is genuine.";
    StagedElsewhere "staged-elsewhere" Class::Note, "The content of a staged entry was removed with an equal one that ended in another clone.";
    AuditReplaced "audit-replaced" Class::Note, "A change log names a checkpoint of a log that was given up by `head trust` or replaced.";
    ForeignRecord "foreign-record" Class::Note, "Before ctx took over the log, the reference implementation recorded this differently from ctx.";
    VersionForgotten "version-forgotten" Class::Note, "The reference implementation erased the text of a version on purpose.";
    VersionUnpublished "version-unpublished" Class::Note, "A history has an unpublished version, as the reference implementation writes it.";
    VaultNested "vault-nested" Class::Note, "The vault contains another vault or is inside one; neither reads the other's files.";
    PolicyUnsealed "policy-unsealed" Class::Note, "No checkpoint seals a governance file.";
    DerivedDiffers "derived-differs" Class::Note, "`context.yaml` or INDEX.md does not match the last checkpoint.";
    ChecksumMismatch "checksum-mismatch" Class::Note, "The `checksum` field of a version does not match its body.";
    TimestampFuture "timestamp-future" Class::Note, "A record has a later time than the clock.";
    HistoryRespelled "history-respelled" Class::Note, "A history has unchanged values, but not the bytes that ctx writes for them.";
    LogRespelled "log-respelled" Class::Note, "A log in full form has unchanged values, but not the bytes that ctx writes for them.";
    KeyUnknown "key-unknown" Class::Note, "A history has an unknown key, covered by no hash.";
    KeyframeInterval "keyframe-interval" Class::Note, "The keyframe interval of a history is not the one that was configured when it began.";
    FileIgnored "file-ignored" Class::Note, "A link, a special file, a name that is not UTF-8, or an unusable `.gitignore` is ignored.";
    CheckpointTriggerUnchanged "checkpoint-trigger-unchanged" Class::Note, "The trigger of a checkpoint is a document that the checkpoint does not change.";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One finding of a verifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Kind of the finding.
    pub code: Code,
    /// Path of the file with the fault.
    pub path: String,
    /// Line of the file, from 1, if it is known.
    pub line: Option<usize>,
    /// Artifact, if the finding is about one.
    pub id: Option<DocumentId>,
    /// Version, if the finding is about one.
    pub version: Option<Version>,
    /// Checkpoint, if the finding is about one.
    pub checkpoint: Option<CheckpointNumber>,
    /// Expected value.
    pub expected: Option<String>,
    /// Actual value.
    pub found: Option<String>,
    /// Message in one sentence without full stop.
    pub message: String,
}

impl Finding {
    /// Makes a finding in a file.
    pub fn new(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            path: path.into(),
            line: None,
            id: None,
            version: None,
            checkpoint: None,
            expected: None,
            found: None,
            message: message.into(),
        }
    }

    pub(super) fn line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    pub(super) fn id(mut self, id: &DocumentId) -> Self {
        self.id = Some(id.clone());
        self
    }

    pub(super) fn version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    pub(super) fn checkpoint(mut self, checkpoint: CheckpointNumber) -> Self {
        self.checkpoint = Some(checkpoint);
        self
    }

    pub(super) fn values(mut self, expected: &dyn fmt::Display, found: &dyn fmt::Display) -> Self {
        self.expected = Some(expected.to_string());
        self.found = Some(found.to_string());
        self
    }

    /// Returns the sort key of reports: worst first, then by place.
    pub(super) fn rank(&self) -> impl Ord + '_ {
        (
            self.code.class(),
            self.checkpoint,
            &self.id,
            self.version,
            self.code,
            &self.path,
            &self.message,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_kebab_case() {
        let words: std::collections::BTreeSet<&str> =
            Code::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(words.len(), Code::ALL.len());
        for word in words {
            assert!(word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{word}");
        }
    }
}
