//! What a verifier can find: stable codes, each with a class (`spec/verify.md`, section 2).

use std::fmt;

use crate::document::id::Id;

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

macro_rules! codes {
    ($($variant:ident $code:literal $class:ident $meaning:literal;)*) => {
        /// A kind of finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The stable word.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// How grave it is.
            pub fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)* }
            }

            /// What it means, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

codes! {
    ContentHashMismatch "content-hash-mismatch" Damage "The stored text or diff is not the one that was hashed.";
    ChainHashMismatch "chain-hash-mismatch" Damage "An entry is not bound to those before it.";
    VersionUnreconstructable "version-unreconstructable" Damage "The text of a version cannot be had from what is stored.";
    VersionSelfMismatch "version-self-mismatch" Damage "A text says that it is another version, or has another status, than its entry.";
    KeyframeMissing "keyframe-missing" Damage "A full text is not there.";
    DiffMissing "diff-missing" Damage "A diff is not there.";
    EntryMalformed "entry-malformed" Damage "An entry lacks a field, or contradicts itself.";
    VersionGap "version-gap" Damage "A version between two others is not there.";
    VersionDuplicate "version-duplicate" Damage "A version is recorded twice.";
    VersionOrder "version-order" Damage "Versions do not rise.";
    FieldMalformed "field-malformed" Damage "A field has not its one form.";
    TimestampMalformed "timestamp-malformed" Damage "A timestamp has not its one form.";
    TimestampOrder "timestamp-order" Damage "Time runs backwards in a record.";
    UnknownHashAlgorithm "unknown-hash-algorithm" Damage "A hash is not a SHA-256 hash.";
    HistoryMissing "history-missing" Damage "The log seals a version whose history is not there.";
    HistoryUnreadable "history-unreadable" Damage "A history cannot be read.";
    HistoryEmpty "history-empty" Damage "A history holds no version.";
    CheckpointLogMissing "checkpoint-log-missing" Damage "Versions are published, but there is no checkpoint log.";
    CheckpointLogUnreadable "checkpoint-log-unreadable" Damage "The checkpoint log, or an entry of it, cannot be read.";
    CheckpointHashMismatch "checkpoint-hash-mismatch" Damage "The hash of a checkpoint does not follow from its maps and the checkpoint before.";
    CheckpointGap "checkpoint-gap" Damage "Checkpoints are not numbered 1, 2, 3.";
    CrossChainMismatch "cross-chain-mismatch" Damage "A history records another chain hash than the checkpoint log.";
    CheckpointVersionUnknown "checkpoint-version-unknown" Damage "The log seals a version that the history does not have.";
    CheckpointVersionUnpublished "checkpoint-version-unpublished" Damage "The log seals a version that was never published.";
    CheckpointTriggerUnknown "checkpoint-trigger-unknown" Damage "A checkpoint was triggered by a document that it does not know.";
    VersionRegression "version-regression" Damage "A checkpoint goes back to an older version.";
    PublicationTimeMismatch "publication-time-mismatch" Damage "The recorded publication time is not the one that the text and the log bind.";
    IdCollision "id-collision" Damage "Two ids cannot be told apart by every system, or an id is reserved.";
    TooLarge "too-large" Damage "A file is larger than what is read of its kind.";
    PublishedUnsealed "published-unsealed" Unsettled "A history says published or retired, but no checkpoint records it.";
    UnrecordedRemoval "unrecorded-removal" Unsettled "A document left the checkpoint's map, but its history does not say that it was retired.";
    CheckpointHashMissing "checkpoint-hash-missing" Unsettled "A checkpoint has an id in one of its two maps only.";
    ForeignLog "foreign-log" Unsettled "Two checkpoint logs exist, so neither is the authority.";
    TornTail "torn-tail" Unsettled "The checkpoint log ends in a line that is cut short.";
    Drift "drift" WorkingCopy "A live file says published, but differs from the published text.";
    PublishedWithoutHistory "published-without-history" WorkingCopy "A live file says published, but no checkpoint holds it.";
    DocumentMissing "document-missing" WorkingCopy "A published document has no live file.";
    PolicyDrift "policy-drift" WorkingCopy "A governance file differs from the one that the last checkpoint holds.";
    Unfinished "unfinished" Note "Files of a version that no history records are left over.";
    PolicyUnsealed "policy-unsealed" Note "A governance file is in no checkpoint, so nothing vouches for it.";
    ChecksumMismatch "checksum-mismatch" Note "A version's own checksum field is not that of its body.";
    TimestampFuture "timestamp-future" Note "A record is of a later time than the clock.";
    CheckpointTriggerUnchanged "checkpoint-trigger-unchanged" Note "A checkpoint was triggered by a document that it does not change.";
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
