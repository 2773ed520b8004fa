//! What a verifier can find: stable codes, each with a class (`spec/verify.md`, section 2).

use std::fmt;

use crate::codes::codes;
use crate::model::id::Id;

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// What was recorded was altered, or is gone.
    Damage,
    /// Something is recorded by halves; the files alone cannot say why.
    Unsettled,
    /// A live file differs from what is published.
    WorkingCopy,
    /// Worth knowing; nothing is wrong.
    Note,
}

impl Class {
    /// The word in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Damage => "damage",
            Self::Unsettled => "unsettled",
            Self::WorkingCopy => "working copy",
            Self::Note => "note",
        }
    }
}

codes! {
    /// A kind of finding.
    class: Class,
    /// How grave it is.
    ContentHashMismatch "content-hash-mismatch" Class::Damage, "The stored text or diff is not the one that was hashed.";
    ChainHashMismatch "chain-hash-mismatch" Class::Damage, "An entry is not bound to those before it.";
    VersionUnreconstructable "version-unreconstructable" Class::Damage, "The text of a version cannot be had from what is stored.";
    VersionSelfMismatch "version-self-mismatch" Class::Damage, "A text says that it is another version, or has another status, than its entry, or it is stored in another form than it must be.";
    KeyframeMissing "keyframe-missing" Class::Damage, "A full text is not there.";
    DiffMissing "diff-missing" Class::Damage, "A diff is not there.";
    EntryMalformed "entry-malformed" Class::Damage, "An entry lacks a field, or contradicts itself.";
    VersionGap "version-gap" Class::Damage, "A version between two others is not there.";
    VersionDuplicate "version-duplicate" Class::Damage, "A version is recorded twice.";
    VersionOrder "version-order" Class::Damage, "Versions do not rise.";
    FieldMalformed "field-malformed" Class::Damage, "A field has not its one form.";
    TimestampMalformed "timestamp-malformed" Class::Damage, "A timestamp has not its one form.";
    TimestampOrder "timestamp-order" Class::Damage, "Time runs backwards in a record.";
    UnknownHashAlgorithm "unknown-hash-algorithm" Class::Damage, "A hash is not a SHA-256 hash.";
    HistoryMissing "history-missing" Class::Damage, "The log seals a version whose history is not there.";
    HistoryUnreadable "history-unreadable" Class::Damage, "A history cannot be read.";
    HistoryEmpty "history-empty" Class::Damage, "A history holds no version.";
    CheckpointLogMissing "checkpoint-log-missing" Class::Damage, "Versions are published, but there is no checkpoint log.";
    CheckpointLogUnreadable "checkpoint-log-unreadable" Class::Damage, "The checkpoint log, or an entry of it, cannot be read.";
    CheckpointHashMismatch "checkpoint-hash-mismatch" Class::Damage, "The hash of a checkpoint does not follow from its maps and the checkpoint before.";
    CheckpointGap "checkpoint-gap" Class::Damage, "Checkpoints are not numbered 1, 2, 3.";
    CrossChainMismatch "cross-chain-mismatch" Class::Damage, "A history records another chain hash than the checkpoint log.";
    CheckpointVersionUnknown "checkpoint-version-unknown" Class::Damage, "The log seals a version that the history does not have.";
    CheckpointVersionUnpublished "checkpoint-version-unpublished" Class::Damage, "The log seals a version that was never published.";
    CheckpointTriggerUnknown "checkpoint-trigger-unknown" Class::Damage, "A checkpoint was triggered by a document that neither the log nor a history has.";
    VersionRegression "version-regression" Class::Damage, "A checkpoint goes back to an older version.";
    PublicationTimeMismatch "publication-time-mismatch" Class::Damage, "The recorded publication time is not the one that the text and the log bind.";
    IdCollision "id-collision" Class::Damage, "Two ids cannot be told apart by every system, or an id is reserved.";
    TooLarge "too-large" Class::Damage, "A file is larger, or costs more work, than what is read of its kind.";
    CheckpointTriggerMismatch "checkpoint-trigger-mismatch" Class::Damage, "A checkpoint of ctx was not triggered by the greatest id of its event.";
    HeadRollback "head-rollback" Class::Damage, "The log no longer has a checkpoint that is known from elsewhere.";
    HeadFork "head-fork" Class::Damage, "The log has another checkpoint in the place of one that is known from elsewhere.";
    PublishedUnsealed "published-unsealed" Class::Unsettled, "A history says published or retired, but no checkpoint records it.";
    UnrecordedRemoval "unrecorded-removal" Class::Unsettled, "A document left the checkpoint's map, but its history does not say that it was retired.";
    CheckpointHashMissing "checkpoint-hash-missing" Class::Unsettled, "A checkpoint has an id in one of its two maps only.";
    VersionUnsealed "version-unsealed" Class::Unsettled, "A history ends in a version that was never published, which nothing seals and ctx does not write.";
    ForeignLog "foreign-log" Class::Unsettled, "Two checkpoint logs exist that do not say the same, or one of the form that this vault does not have.";
    FileUnreadable "file-unreadable" Class::Unsettled, "A file cannot be read, so nobody knows what it holds.";
    FolderUnreadable "folder-unreadable" Class::Unsettled, "A folder cannot be listed, so nobody knows what it holds.";
    TornTail "torn-tail" Class::Unsettled, "The checkpoint log, or a history, ends in an entry that is cut short.";
    Drift "drift" Class::WorkingCopy, "A live file is no draft, but differs from the published text.";
    PublishedWithoutHistory "published-without-history" Class::WorkingCopy, "A live file says published, but no checkpoint holds it.";
    DocumentMissing "document-missing" Class::WorkingCopy, "A published document has no live file.";
    PolicyDrift "policy-drift" Class::WorkingCopy, "A governance file differs from the one that the last checkpoint holds.";
    HeadElsewhere "head-elsewhere" Class::Note, "With another branch or commit checked out, a checkpoint was seen here that this log does not have.";
    Unfinished "unfinished" Class::Note, "What an interrupted command leaves: a file or an entry that nothing records, and nobody serves.";
    VersionUnpublished "version-unpublished" Class::Note, "A history ends in a version that was never published, a habit of the other tool.";
    VaultNested "vault-nested" Class::Note, "A folder of the vault is a vault of its own, or it is one itself; neither reads the other's files.";
    PolicyUnsealed "policy-unsealed" Class::Note, "A governance file is in no checkpoint, so nothing vouches for it.";
    ChecksumMismatch "checksum-mismatch" Class::Note, "A version's own checksum field is not that of its body.";
    TimestampFuture "timestamp-future" Class::Note, "A record is of a later time than the clock.";
    HistoryRespelled "history-respelled" Class::Note, "A history says what it said, but is not spelled as ctx spells it.";
    LogRespelled "log-respelled" Class::Note, "A log of whole maps that ctx began or extended says what it said, but is not spelled as ctx spells it.";
    KeyUnknown "key-unknown" Class::Note, "A history has a key that no rule knows and no hash covers.";
    KeyframeInterval "keyframe-interval" Class::Note, "A history has another keyframe interval than the configuration had when it began.";
    FileIgnored "file-ignored" Class::Note, "A link, a special file or a name that is no text has a document's place; nobody reads it.";
    CheckpointTriggerUnchanged "checkpoint-trigger-unchanged" Class::Note, "A checkpoint was triggered by a document that it does not change.";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that a verifier found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub code: Code,
    /// The file it was found in.
    pub path: String,
    /// The artifact.
    pub id: Option<Id>,
    /// The version.
    pub version: Option<u64>,
    /// The checkpoint.
    pub checkpoint: Option<u64>,
    /// What should be there.
    pub expected: Option<String>,
    /// What is there.
    pub found: Option<String>,
    /// What was found, in one sentence without full stop.
    pub message: String,
}

impl Finding {
    /// A finding in a file.
    pub fn new(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            path: path.into(),
            id: None,
            version: None,
            checkpoint: None,
            expected: None,
            found: None,
            message: message.into(),
        }
    }

    pub(super) fn id(mut self, id: &Id) -> Self {
        self.id = Some(id.clone());
        self
    }

    pub(super) fn version(mut self, version: u64) -> Self {
        self.version = Some(version);
        self
    }

    pub(super) fn checkpoint(mut self, checkpoint: u64) -> Self {
        self.checkpoint = Some(checkpoint);
        self
    }

    pub(super) fn values(mut self, expected: &dyn fmt::Display, found: &dyn fmt::Display) -> Self {
        self.expected = Some(expected.to_string());
        self.found = Some(found.to_string());
        self
    }

    /// The order of reports: worst first, then by place.
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
