//! How each finding comes about, by accident and by intent, and what to do: the text of
//! `ctx help CODE`, and of the rules of a SARIF report.

use super::finding::Code;

const RESTORE: &str = "Bring the file back from git or a backup that verifies; `git log -- FILE` shows who touched it. Do not repair it by hand: what is hashed cannot be made to fit.";
const RESTORE_LOG: &str = "Bring the log back from git or a backup that verifies. Nothing is served or published meanwhile. Keep the histories: they say what was published.";
const RESTORE_MERGED: &str = "Bring the file back from git or a backup that verifies. If a merge left its marks in it, or the lines of both sides, keep the record of one side (`git restore --source=HEAD --staged --worktree -- ':(glob)**/.versions/**'` in the vault's folder) and publish again what the other side published. If git converted its line ends, put the line `**/.versions/** -text -whitespace` into `.gitattributes` and let git write the files anew (`find . -path '*/.versions/*' -exec touch {} +`, then `git restore -- ':(glob)**/.versions/**'`). Meanwhile nothing that it records is served or published.";
const LOOK: &str = "Find out who wrote it before you publish: with an append-only log nobody could tell afterwards. Restore a copy that verifies, or, if it is a command that was interrupted, keep the files and ask whoever ran it.";
const LOOK_BEYOND: &str = "Find out who wrote it before you publish: with an append-only log nobody could tell afterwards. If a command was interrupted, ask whoever ran it: `ctx recover --dry-run` lists what no checkpoint seals, by whom and when. If the log was cut, restore it, or look with `ctx checkpoint rebuild --dry-run` at the checkpoints that the histories would give back.";

impl Code {
    /// How the finding comes about.
    pub fn cause(self) -> &'static str {
        match self {
            Self::ContentHashMismatch => {
                "A full text or a diff among the versions was edited after it was published, or a disk or an editor changed it."
            }
            Self::ChainHashMismatch => {
                "Author, time, number or content hash of an entry was edited, or an entry before it was taken out or put in."
            }
            Self::VersionUnreconstructable => {
                "A diff does not apply exactly to the text before it, a stored file is a link, a folder or no UTF-8, or an earlier version on the way is lost."
            }
            Self::VersionSelfMismatch => {
                "The text of another version or of another document was put in its place, a diff was stored as a full text or a full text as a diff, or a retirement changes more than a retirement does."
            }
            Self::KeyframeMissing | Self::DiffMissing => {
                "A file among the versions was deleted or renamed, or never came along in a copy."
            }
            Self::EntryMalformed | Self::FieldMalformed | Self::TimestampMalformed => {
                "A record was edited by hand or by another program, or somebody tries to be read in two ways."
            }
            Self::UnknownHashAlgorithm => {
                "A hash names another algorithm than SHA-256, for example a weaker one."
            }
            Self::VersionGap | Self::VersionOrder | Self::VersionDuplicate => {
                "Entries of a history were taken out, doubled or put in another order."
            }
            Self::TimestampOrder => {
                "A time was edited, or the clock of the machine that published went backwards."
            }
            Self::HistoryMissing | Self::HistoryUnreadable | Self::HistoryEmpty => {
                "A folder among the versions was deleted, did not come along in a copy, was merged with conflict markers or with `merge=union`, or was replaced by something that only looks like it."
            }
            Self::CheckpointLogMissing => "The log was deleted or did not come along in a copy.",
            Self::CheckpointLogUnreadable => {
                "A line of the log was edited, merged with conflict markers, or is not in its one spelling."
            }
            Self::CheckpointHashMismatch => {
                "Time, trigger, maps or hash of a checkpoint were edited, or the one before it is another."
            }
            Self::CheckpointGap => {
                "Checkpoints were taken out, doubled, renumbered or put in another order."
            }
            Self::CrossChainMismatch => {
                "The history was rewritten with hashes that fit, but the log still has what was published; or the log was."
            }
            Self::CheckpointVersionUnknown => {
                "The end of a history was cut off, or somebody wrote a checkpoint for a version that never was."
            }
            Self::CheckpointVersionUnpublished => {
                "`published_at` was taken out of an entry, or somebody wrote a checkpoint for a submission."
            }
            Self::CheckpointTriggerUnknown | Self::CheckpointTriggerMismatch => {
                "A checkpoint was written by something else than ctx, with hashes that fit."
            }
            Self::VersionRegression => {
                "A checkpoint was written that goes back to an older version, or to one that was retired."
            }
            Self::PublicationTimeMismatch => {
                "`published_at` or `retired_at` was edited, or checkpoints were merged, split or re-dated with hashes that fit."
            }
            Self::IdCollision => {
                "A second history lies under a name that some disks take for the same, or under a name that is reserved."
            }
            Self::TooLarge => "A file grew beyond every honest size.",
            Self::HeadRollback => {
                "The vault was put back to an older state: from a backup, by git (a reset, a stash, a branch that was left before its publications were committed to it), or by somebody who wants the last checkpoints forgotten."
            }
            Self::HeadFork => {
                "Another history of checkpoints lies here: a rewritten one, another vault that was made in the same place, or a branch of the same name with another log."
            }
            Self::PublishedUnsealed => {
                "A publication was interrupted before its checkpoint, the log lost one, or somebody wrote a version and could not seal it."
            }
            Self::UnrecordedRemoval => {
                "A document was taken out of a checkpoint's maps without being retired."
            }
            Self::CheckpointHashMissing => {
                "The other tool was interrupted, or somebody edited one of the two maps."
            }
            Self::VersionUnsealed => "Somebody wrote an entry by another program than ctx.",
            Self::ForeignLog => {
                "The other tool ran in a vault of ours, a merge brought both logs, or somebody gave the vault a log of the form with fewer rules."
            }
            Self::FileUnreadable | Self::FolderUnreadable => {
                "Permissions keep you out, a path is longer than the system allows, or the disk fails."
            }
            Self::TornTail => {
                "A command or the machine stopped in the middle of an append, or somebody wrote to the end of the file."
            }
            Self::Drift => {
                "The file was edited after it was published, by you or by somebody else."
            }
            Self::PublishedWithoutHistory => {
                "A file was copied in, restored after it was retired, or planted, and claims what nobody published."
            }
            Self::DocumentMissing => {
                "The live file was deleted or moved by other means than `ctx retire` and `ctx mv`."
            }
            Self::PolicyDrift => {
                "CONTEXT.md, the configuration, stewards or a pack was edited and not yet published."
            }
            Self::HeadElsewhere => {
                "A branch was checked out for the first time, which does not have what was published on another one; or somebody put the vault back and made git say that another branch is checked out."
            }
            Self::Unfinished => "A command was interrupted, or somebody put a file there.",
            Self::VersionUnpublished => {
                "The other tool keeps submissions that were never approved."
            }
            Self::VaultNested => {
                "A folder has a `.context` folder or a log of its own: a vault was copied into another one, or somebody planted it there, so that who works in that folder sees it instead."
            }
            Self::PolicyUnsealed => {
                "Nobody published the file yet, or the other tool, which does not know such files, published last."
            }
            Self::ChecksumMismatch => {
                "The other tool computes a version's own `checksum` by another rule."
            }
            Self::TimestampFuture => "The clock here is behind the one that published.",
            Self::HistoryRespelled | Self::LogRespelled => {
                "Another program wrote the file anew, line ends were converted, or somebody put in comments."
            }
            Self::KeyUnknown => {
                "Another program, or a later version of ctx, wrote a key that this one does not know."
            }
            Self::KeyframeInterval => {
                "The interval was edited; it decides where later full texts lie, and no text."
            }
            Self::FileIgnored => {
                "A link or a special file was put among the documents or the versions."
            }
            Self::CheckpointTriggerUnchanged => {
                "The other tool names a document that did not change."
            }
        }
    }

    /// What to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::CheckpointLogUnreadable
            | Self::CheckpointGap
            | Self::HistoryUnreadable
            | Self::VersionDuplicate => RESTORE_MERGED,
            Self::CheckpointLogMissing
            | Self::CheckpointHashMismatch
            | Self::CheckpointTriggerUnknown
            | Self::CheckpointTriggerMismatch
            | Self::VersionRegression => RESTORE_LOG,
            Self::CrossChainMismatch | Self::PublicationTimeMismatch => {
                "Compare history and log with a copy that verifies; restore the one that is another."
            }
            Self::HeadRollback | Self::HeadFork => {
                "What is missing here was published once. Look for it on other branches and in `git stash list`; else bring the log and the histories back from git or a backup. If it is remembered here, and the vault was put back on purpose, say so with `ctx head trust`; to --expect-head and --since say another hash or revision."
            }
            Self::IdCollision => "Find out which of the two is yours, and move the other away.",
            Self::UnrecordedRemoval | Self::CheckpointHashMissing => LOOK,
            Self::PublishedUnsealed | Self::VersionUnsealed => LOOK_BEYOND,
            Self::ForeignLog => {
                "Find out which log is yours (`git log -- .versions`), and move the other away."
            }
            Self::FileUnreadable | Self::FolderUnreadable => {
                "Give yourself permission to read it, and run it again."
            }
            Self::TornTail => {
                "If a command was interrupted, what it wrote was never acknowledged: look with `ctx recover --dry-run`. Else bring the file back from git or a backup."
            }
            Self::Drift => {
                "`ctx diff ID` shows the change, `ctx publish --changed` publishes it. To take it back, move the file (or the link or folder that is there) away, then `ctx read ID > FILE`."
            }
            Self::PublishedWithoutHistory => {
                "`ctx publish ID` publishes it, `status: draft` makes it a draft, or delete it."
            }
            Self::DocumentMissing => {
                "`ctx read ID > FILE` brings it back, `ctx retire ID` retires it."
            }
            Self::PolicyDrift => {
                "`ctx diff FILE` shows the change, `ctx publish FILE` publishes it (a file that is gone is retired). To take it back, move the file away if there is one, then `ctx read FILE > FILE`."
            }
            Self::HeadElsewhere => {
                "Make sure that the branch is one of yours (`git branch`, `ctx head list`). `ctx head forget FOLDER` forgets what is remembered of branches that are gone."
            }
            Self::Unfinished => {
                "Nothing of it was acknowledged, and nobody is served it. Where it is remembered that a command was interrupted, the next one that writes moves it to `.context/local/recovered/`; else `ctx recover --force` does."
            }
            Self::PolicyUnsealed => "The next publication takes it along; look at it before.",
            Self::VersionUnpublished
            | Self::ChecksumMismatch
            | Self::CheckpointTriggerUnchanged => "Nothing.",
            Self::VaultNested => {
                "Verify the other one by itself: `ctx verify --vault FOLDER`. If nobody put it there on purpose, remove it."
            }
            Self::TimestampFuture => "Set the clock.",
            Self::HistoryRespelled | Self::LogRespelled => {
                "Nothing that was recorded is touched. `git diff` shows what was; restore the file if you do not know why, and check `.gitattributes`."
            }
            Self::KeyUnknown => "Do not rely on it: anybody may have written it.",
            Self::KeyframeInterval => "Restore the file if you do not know why.",
            Self::FileIgnored => "Replace it by what it points to, or remove it.",
            _ => RESTORE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything else has an answer of its own.
    #[test]
    fn a_file_is_brought_back_for_these_and_no_others() {
        let restored = Code::ALL.iter().filter(|code| code.remedy() == RESTORE);
        let restored: Vec<&str> = restored.map(|code| code.as_str()).collect();
        insta::assert_snapshot!(restored.join("\n"), @"
        content-hash-mismatch
        chain-hash-mismatch
        version-unreconstructable
        version-self-mismatch
        keyframe-missing
        diff-missing
        entry-malformed
        version-gap
        version-order
        field-malformed
        timestamp-malformed
        timestamp-order
        unknown-hash-algorithm
        history-missing
        history-empty
        checkpoint-version-unknown
        checkpoint-version-unpublished
        too-large
        ");
    }
}
