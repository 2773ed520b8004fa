//! Causes and remedies of each finding: the text of `help CODE`, and of the rules of a
//! SARIF report.

use super::finding::Code;
use crate::values::model::hint::{Call, Hint, Verb};

impl Code {
    /// Returns the possible causes of the finding, by accident and by intent.
    pub fn cause(self) -> &'static str {
        match self {
            Self::ContentHashMismatch => {
                "A stored text or diff was edited after publication: by hand, by a formatter (prettier, markdownlint, a hook of pre-commit) that does not ignore `.versions`, or by a failing disk."
            }
            Self::ChainHashMismatch => {
                "Author, time, number or content hash of an entry was edited, or an entry before it was removed or inserted."
            }
            Self::VersionUnreconstructable => {
                "A diff does not apply exactly to the text before it, a stored file is a link, a folder or not UTF-8, or an earlier version is lost."
            }
            Self::VersionSelfMismatch => {
                "The text of another version or document was put in its place, a diff was stored as a full text or a full text as a diff, or a retirement changes more than the status."
            }
            Self::KeyframeMissing | Self::DiffMissing => {
                "A file in a `.versions` folder was deleted or renamed, or an incomplete copy was made."
            }
            Self::EntryMalformed | Self::FieldMalformed | Self::TimestampMalformed => {
                "A record was edited by hand or by another program, or an attacker wants two readers to read it differently."
            }
            Self::UnknownHashAlgorithm => {
                "A hash names another algorithm than SHA-256, for example a weaker one."
            }
            Self::VersionGap | Self::VersionOrder | Self::VersionDuplicate => {
                "Entries of a history were removed, duplicated or reordered."
            }
            Self::TimestampOrder => {
                "A time was edited, or the clock of the publishing machine went backwards."
            }
            Self::HistoryMissing | Self::HistoryUnreadable | Self::HistoryEmpty => {
                "A `.versions` folder was deleted, an incomplete copy was made, a merge left conflict markers or the lines of both sides, or another file was put in its place. A folder of documents that was moved or renamed without `ctx mv` takes its histories with it: move it back."
            }
            Self::CheckpointLogMissing => {
                "The log was deleted, or an incomplete copy was made, as when `.gitignore` hides `*.jsonl` or `*.yaml`."
            }
            Self::CheckpointLogUnreadable => {
                "A line of the log was edited, a merge left conflict markers, or a line is not in canonical form."
            }
            Self::CheckpointHashMismatch => {
                "Time, trigger, maps or hash of a checkpoint were edited, or the checkpoint before it was replaced."
            }
            Self::CheckpointGap => "Checkpoints were removed, duplicated, renumbered or reordered.",
            Self::CrossChainMismatch => {
                "Either the history or the log was rewritten, with hashes that are consistent in themselves."
            }
            Self::CheckpointVersionUnknown => {
                "The history was truncated, or an attacker wrote a checkpoint for a version that never existed."
            }
            Self::CheckpointVersionUnpublished => {
                "`published_at` was removed from an entry, or an attacker wrote a checkpoint for an unpublished version."
            }
            Self::CheckpointTriggerUnknown | Self::CheckpointTriggerMismatch => {
                "Another program than ctx wrote a checkpoint, with consistent hashes."
            }
            Self::VersionRegression => {
                "A checkpoint was written that goes back to an older or a retired version."
            }
            Self::PublicationTimeMismatch => {
                "`published_at` or `retired_at` was edited, or checkpoints were merged, split or re-dated with consistent hashes."
            }
            Self::IdCollision => {
                "A second history exists under a name that some file systems do not distinguish, or under a reserved name."
            }
            Self::TooLarge => "A file is larger than any file that ctx writes.",
            Self::HeadRollback => {
                "The vault was reset to an older state: from a backup, by git (a reset, a stash, a branch that was left before its publications were committed), or by an attacker who wants to hide the last checkpoints."
            }
            Self::HeadFork => {
                "The log was rewritten, another vault was made in the same folder, or another branch of the same name was checked out."
            }
            Self::MergeMismatch => {
                "Side lines of the log were edited, removed, added or reordered, or a merge was written with values that neither log has."
            }
            Self::AuditMalformed | Self::AuditChainMismatch | Self::AuditGap => {
                "Lines of a change log were edited, removed, inserted or reordered, or a merge left conflict markers."
            }
            Self::AuditRollback => {
                "The vault was reset to an older state, or an attacker wants to hide who published what."
            }
            Self::ApprovalMissing => {
                "A version was published past the review: by a program that does not support governed vaults, by hand with consistent hashes, or a part of a change was published without the others."
            }
            Self::ApprovalSelf => {
                "An author approved their own text, with hashes written by another program than ctx, or under another spelling of their name."
            }
            Self::ApprovalUnauthorised => {
                "The approval was written by another program than ctx, or stewards were changed so that the author could choose who approves."
            }
            Self::ApprovalAltered => {
                "The text was changed between submission and approval, or the fields of the review name other approvers or another base than were recorded."
            }
            Self::AuditContradicts => {
                "The log or a history was truncated or replaced after the line was written, two branches that both published were merged, or the line was invented."
            }
            Self::AuditMissing => {
                "A command was interrupted after its checkpoint and before its line, a change log was not committed to git, or an attacker removed a whole change log."
            }
            Self::StagedMalformed | Self::StagedChainMismatch => {
                "Lines of a staging chain were edited, removed, inserted or reordered, only a part of `.context/staging` was committed to git, or a merge left conflict markers."
            }
            Self::StagedContentMismatch => {
                "The file of a staged result was edited, or git or another program converted it."
            }
            Self::StagedMissing => {
                "The file of a staged result was deleted or not committed to git, or an attacker wants to hide what an agent consumed."
            }
            Self::StagedContradicts => {
                "Another program wrote the line, the clock of its writer was wrong, or a merge gave up the history of the document."
            }
            Self::StagedUnauthorised => {
                "Another program wrote the line, to remove evidence or to keep what is to be removed."
            }
            Self::StagedUnproved => {
                "The stewards changed about the time of the act, the act was done in a clone before the change arrived there, a merge kept the checkpoint log of another clone, or another program wrote the line or the field `promoted_from`."
            }
            Self::StagedRollback => {
                "The vault was reset to an older state, or an attacker wants to hide what an agent consumed."
            }
            Self::StagedTorn => "A command or the machine stopped in the middle of an append.",
            Self::StagedUnclaimed => {
                "A command stopped between two steps, or a merge brought back what was collected."
            }
            Self::StagedElsewhere => {
                "Two clones staged the same content, and the entry of one of them was collected, discarded or erased before the merge."
            }
            Self::AuditTorn => "A command or the machine stopped in the middle of an append.",
            Self::AuditElsewhere => {
                "The branch was not merged into this one, or was deleted; or an attacker who can write to `.git` wants to hide what was read or changed there."
            }
            Self::AuditAcknowledged => {
                "The writer of the event could no longer add its line, and another user declared that."
            }
            Self::AuditReplaced => {
                "A log was reset or replaced on purpose, and a user declared with `head trust` that it is valid."
            }
            Self::PublishedUnsealed => {
                "A publication was interrupted before its checkpoint, the log lost a checkpoint, or an attacker wrote a version without one."
            }
            Self::UnrecordedRemoval => {
                "A document was removed from a checkpoint's maps without being retired."
            }
            Self::CheckpointHashMissing => {
                "The reference implementation was interrupted, or one of the two maps was edited."
            }
            Self::VersionUnsealed => "Another program than ctx wrote an entry.",
            Self::ForeignLog => {
                "The reference implementation ran in a vault of ctx, a merge brought both logs, or an attacker added a log of the form that has fewer rules."
            }
            Self::FileUnreadable | Self::FolderUnreadable => {
                "You lack permission, a path is longer than the system allows, or the disk fails."
            }
            Self::TornTail => {
                "A command or the machine stopped in the middle of an append, or the end of the file was edited."
            }
            Self::LeftOut => {
                "The repository has a sparse checkout. Git's index marks the files (skip-worktree), and the commit that is checked out has them."
            }
            Self::Drift => "The file was edited after publication.",
            Self::PublishedWithoutHistory => {
                "A file that says it is published was copied, by a sync program or a person, restored after it was retired, or planted."
            }
            Self::DocumentMissing => {
                "The live file was deleted or renamed without retiring or moving the document."
            }
            Self::PolicyDrift => {
                "CONTEXT.md, the configuration, stewards.yaml or a pack was edited and is not published yet."
            }
            Self::HeadMerged => {
                "A branch with publications of this machine was merged into another one."
            }
            Self::HeadElsewhere => {
                "A branch was checked out for the first time that lacks publications of another branch, or an attacker reset the vault and changed which branch git reports."
            }
            Self::Unfinished => "A command was interrupted, or a file was added by hand.",
            Self::Interrupted => {
                "A command stopped after its commit, or could not write a file. The event was published; this machine's intent record names its checkpoint."
            }
            Self::ForeignRecord => {
                "The reference implementation deleted a document with its history, made it again, changed its status, or recorded a document before its first version. An attacker can write the same."
            }
            Self::VersionForgotten => {
                "`forget` of the reference implementation erased the texts of a document and kept their hashes. An attacker can write the same."
            }
            Self::ForgottenPresent => {
                "An erasure was interrupted, or a file was restored from a backup after it."
            }
            Self::VersionUnpublished => {
                "The reference implementation keeps submissions that were never approved."
            }
            Self::VaultNested => {
                "A folder has a `.context` folder or a log of its own: a vault was copied into another one, or planted so that people who work in that folder use it instead."
            }
            Self::PolicyUnsealed => {
                "The file was never published, or the reference implementation, which ignores such files, published last."
            }
            Self::DerivedDiffers => {
                "The file was edited or forged, another program wrote it, or a merge kept that of another branch."
            }
            Self::ChecksumMismatch => {
                "The reference implementation computes the `checksum` field by another rule."
            }
            Self::TimestampFuture => "The clock of this machine is behind that of the publisher.",
            Self::HistoryRespelled | Self::LogRespelled => {
                "Another program rewrote the file, line ends were converted, or comments were added."
            }
            Self::KeyUnknown => {
                "Another program, or a later version of ctx, wrote a key that this version does not use."
            }
            Self::KeyframeInterval => {
                "The interval was edited. It decides where later full texts are stored, and changes no text."
            }
            Self::FileIgnored => {
                "A link or a special file was added to a folder of documents or versions."
            }
            Self::CheckpointTriggerUnchanged => {
                "The reference implementation names a document that did not change."
            }
        }
    }

    /// Returns what the user should do about the finding.
    pub fn remedy(self) -> Hint {
        match self {
            Self::CheckpointLogUnreadable
            | Self::CheckpointGap
            | Self::HistoryUnreadable
            | Self::VersionDuplicate => restore_merged(),
            Self::CheckpointLogMissing
            | Self::CheckpointHashMismatch
            | Self::CheckpointTriggerUnknown
            | Self::CheckpointTriggerMismatch
            | Self::VersionRegression => {
                "Restore the log from git or from a backup that verifies. Until then nothing is served or published. Keep the histories: they record what was published.".into()
            }
            Self::CrossChainMismatch | Self::PublicationTimeMismatch => {
                "Compare the history and the log with a copy that verifies, and restore the one that differs.".into()
            }
            Self::AuditContradicts => Hint::call(
                "Restore the checkpoint log, the histories and `.context/audit` together from git or a backup. If the vault was reset on purpose, or two branches published and the publications of one were made again after the merge, run {}: it is recorded, too.",
                Verb::HeadTrust,
            ),
            Self::ApprovalMissing
            | Self::ApprovalSelf
            | Self::ApprovalUnauthorised
            | Self::ApprovalAltered => Hint::calls(
                "Find out who wrote it: {} shows the versions. Restore the checkpoint log, the histories and `.context/audit` together from git or a backup in which the finding is absent. Until then, {} hides the document from agents.",
                [
                    Call::new(Verb::History).word("ID"),
                    Call::new(Verb::Retire).word("ID").word("--emergency").word("--reason").word("TEXT"),
                ],
            ),
            Self::AuditRollback => Hint::call(
                "Restore the checkpoint log, the histories and `.context/audit` together from git or a backup. If the vault was reset on purpose, run {}: it is recorded, too. A line of a revision cannot be given up: compare with a later one.",
                Verb::HeadTrust,
            ),
            Self::StagedMalformed
            | Self::StagedChainMismatch
            | Self::StagedContentMismatch
            | Self::StagedMissing => {
                "Restore `.context/staging` from git or from a backup in which the finding is absent. Until then the entries are not evidence.".into()
            }
            Self::StagedContradicts | Self::StagedUnauthorised => {
                "Find out with `git log -p .context/staging` who wrote the line; it is not valid, and the entry stays as it was. Restore `.context/staging` from git or from a backup in which the finding is absent, and the content with it if it went.".into()
            }
            Self::StagedUnproved => "Ask the principal. The line is valid, but no content is removed because of it: a reviewer who agrees erases the entry. Remove `promoted_from` from a document that was not made by a promotion.".into(),
            Self::StagedRollback => Hint::call(
                "Restore `.context/staging` from git or a backup. If the vault was reset on purpose, run {}: it is recorded, too. A line that a checkpoint binds or a revision has cannot be given up.",
                Verb::HeadTrust,
            ),
            Self::StagedTorn => "The next result of the same source and user removes it; nothing else is needed.".into(),
            Self::StagedUnclaimed => {
                Hint::call("{} removes it.", Call::new(Verb::StageGc).word("--unclaimed"))
            }
            Self::StagedElsewhere => "Nothing to do.".into(),
            Self::AuditMissing => Hint::calls(
                "Add `.context/audit` to git where it was left out. The next writing command of the user whose command was interrupted writes the line ({} is enough). Otherwise restore the change log from git or a backup. If it is lost, check who published what, and run {}: the event stays a note.",
                [
                    Verb::Recover.into(),
                    Call::new(Verb::AuditAcknowledge).word("CHECKPOINT").word("--reason").word("TEXT"),
                ],
            ),
            Self::MergeMismatch => "Restore the log from git or a backup. If the commit of the merge has it so, find out who made that commit, and restore the log of one of its parents.".into(),
            Self::HeadRollback | Self::HeadFork => Hint::call(
                "Look for the missing checkpoints on other branches and in `git stash list`, or restore the log and the histories from git or a backup. If the vault was reset on purpose, run {}, or pass another hash or revision to --expect-head or --since.",
                Verb::HeadTrust,
            ),
            Self::IdCollision => "If only the case of a folder was changed, rename it back. Otherwise find out which of the two is right, and move the other away.".into(),
            Self::UnrecordedRemoval | Self::CheckpointHashMissing => {
                "Find out who wrote it before you publish again, because later the files do not show it. Restore a copy that verifies. After an interrupted command, keep the files and ask the person who ran it.".into()
            }
            Self::PublishedUnsealed | Self::VersionUnsealed => Hint::calls(
                "Find out who wrote it before you publish again, because later the files do not show it. After an interrupted command, {} lists what no checkpoint seals, with author and time. If the log was truncated, restore it, or see with {} which checkpoints the histories produce.",
                [dry_run(Verb::Recover), dry_run(Verb::CheckpointRebuild)],
            ),
            Self::ForeignLog => {
                "Find out which log is right with `git log -- .versions`, and move the other away.".into()
            }
            Self::FileUnreadable | Self::FolderUnreadable => {
                "Grant yourself permission to read it, and run the command again.".into()
            }
            Self::ForeignRecord | Self::VersionForgotten => Hint::call(
                "{} lists all of it. After the log is adopted, the same is damage.",
                Call::new(Verb::CheckpointAdopt).word("--dry-run"),
            ),
            Self::DerivedDiffers => Hint::call(
                "{} writes it again. No command of ctx reads it, but other programs do.",
                Verb::Index,
            ),
            Self::ForgottenPresent => {
                "The text is never served. Delete the stored file if it was to be erased.".into()
            }
            Self::TornTail => Hint::call(
                "After an interrupted command, see with {} what it left; none of that was committed. Otherwise restore the file from git or a backup.",
                dry_run(Verb::Recover),
            ),
            Self::LeftOut => Hint::call(
                "Nothing is lost. To verify the whole vault, run `git sparse-checkout disable`, or add the folders with `git sparse-checkout add FOLDER`, and run {} again.",
                Verb::Verify,
            ),
            Self::Drift => Hint::calls(
                "{} shows the change, {} {publishes} it; for a file of an older version, or one that says that it is not for use, {} says what to do. {} undoes the change: it is lost.",
                [
                    Call::new(Verb::Diff).word("ID"),
                    Call::new(Verb::Publish).word("--changed"),
                    Verb::Status.into(),
                    Call::new(Verb::Restore).word("--force").word("ID"),
                ],
            ),
            Self::PublishedWithoutHistory => Hint::call(
                "If it is a copy of another file, merge the two and delete it. Otherwise run {}, or set `status: draft` in the file, or delete it.",
                Call::new(Verb::Publish).word("ID"),
            ),
            Self::DocumentMissing => Hint::calls(
                "If git leaves the file out, `git sparse-checkout disable` brings it back. Otherwise restore it with {}, or withdraw the document with {}.",
                [Call::new(Verb::Restore).word("ID"), Call::new(Verb::Retire).word("ID")],
            ),
            Self::PolicyDrift => Hint::calls(
                "{} shows the change, {} {publishes} it (and retires a deleted file). {} undoes it: the change is lost.",
                [
                    Call::new(Verb::Diff).word("FILE"),
                    Call::new(Verb::Publish).word("FILE"),
                    Call::new(Verb::Restore).word("--force").word("FILE"),
                ],
            ),
            Self::HeadMerged => Hint::call(
                "Nothing to do: the end of the main line becomes the trusted head. {} lists what was merged.",
                Call::new(Verb::CheckpointList).word("--merged"),
            ),
            Self::HeadElsewhere => Hint::calls(
                "Check with `git branch` and {} that the branch is one of yours. {} deletes the trusted heads of deleted branches.",
                [Verb::HeadList.into(), Call::new(Verb::HeadForget).word("FOLDER")],
            ),
            Self::Unfinished => Hint::call(
                "Nothing of it was committed, and it is never served. If an intent record names the interrupted command, the next writing command moves it to `.context/local/recovered/`; otherwise {} does.",
                Call::new(Verb::Recover).word("--force"),
            ),
            Self::Interrupted => Hint::calls(
                "The next writing command of the same user completes the event ({} is enough; {} shows what it does).",
                [Verb::Recover.into(), dry_run(Verb::Recover)],
            ),
            Self::PolicyUnsealed => Hint::call(
                "Check the file; {} {publishes} it.",
                Call::new(Verb::Publish).word("--changed"),
            ),
            Self::AuditTorn => "The next writing command of the same user removes it; nothing else is needed.".into(),
            Self::AuditElsewhere => Hint::call(
                "If the branch is to be merged, nothing is needed. If its lines were lost, restore the file from git or a backup; if they were given up with the branch, {} removes missing files from the list.",
                Verb::HeadTrust,
            ),
            Self::VersionUnpublished
            | Self::AuditAcknowledged
            | Self::AuditReplaced
            | Self::ChecksumMismatch
            | Self::CheckpointTriggerUnchanged => "Nothing to do.".into(),
            Self::VaultNested => Hint::call(
                "Verify the inner vault with {}. Remove it if it was not put there on purpose.",
                Call::new(Verb::Verify).word("--vault").word("FOLDER"),
            ),
            Self::TimestampFuture => "Set the clock.".into(),
            Self::HistoryRespelled | Self::LogRespelled => {
                "No recorded value changed. `git diff` shows what did; restore the file if you cannot explain it, and check `.gitattributes`.".into()
            }
            Self::KeyUnknown => "Do not rely on the key: no hash covers it.".into(),
            Self::KeyframeInterval => "Restore the file if you cannot explain the change.".into(),
            Self::FileIgnored => "Replace it by a copy of its target, or remove it.".into(),
            _ => RESTORE.into(),
        }
    }
}

const RESTORE: &str = "Restore the file from git or from a backup that verifies; `git log -- FILE` shows who changed it. Do not repair it by hand: the hashes cannot be made to match.";

fn restore_merged() -> Hint {
    "Restore the file from git or from a backup that verifies. While git merges two branches, `ctx merge` joins their records. After a merge that was committed with conflict markers or the lines of both sides, undo that commit, merge again, and run `ctx merge`. If git converted line ends, add the line `**/.versions/** -text -whitespace -ident -filter -working-tree-encoding` to `.gitattributes` and let git write the files again (`find . -path '*/.versions/*' -exec touch {} +`, then `git restore -- ':(glob)**/.versions/**'`). Until then nothing in the file is served or published.".into()
}

fn dry_run(verb: Verb) -> Call {
    Call::new(verb).word("--dry-run")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All other codes have a remedy of their own.
    #[test]
    fn these_findings_and_no_others_ask_to_restore_the_file() {
        let restored = Code::ALL.iter().filter(|code| code.remedy() == Hint::from(RESTORE));
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
        audit-malformed
        audit-chain-mismatch
        audit-gap
        ");
    }
}
