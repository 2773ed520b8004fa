//! Failures of writing commands: publication, review, conversion, recovery and expectations.

use super::super::failure::{Code, Compared, Failure};
use super::super::recover::recorded_by;
use super::again::{reject, submitted_again};
use super::{dry_run, verify_all};
use crate::exchange::convert::ConvertError;
use crate::exchange::merge::MergeError;
use crate::files::process::configured::ConfiguredError;
use crate::files::vault::git_past::NOT_SPARSE;
use crate::policy::rules::Barred;
use crate::prove::recover::{RebuildError, RecoverError, Refused, Unreliable};
use crate::prove::verify::Finding;
use crate::read::search::{QueryError, SearchError};
use crate::record::chain::error::ChainError;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::number::Version;
use crate::values::text_util::count;
use crate::write::commit::UncommittedFile;
use crate::write::commit::expect::{ExpectError, Mismatch, Moved};
use crate::write::publish::review::ReviewError;
use crate::write::publish::{PublishError, RestoreError};

/// Maximum number of lines of a list in a failure.
const MOST: usize = 20;

/// Returns the first lines of a list, and a line with the number of further ones.
pub(super) fn first(most: usize, mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(most);
    lines.truncate(most);
    if more > 0 {
        lines.push(format!("… {more} more"));
    }
    lines
}

impl From<PublishError> for Failure {
    fn from(why: PublishError) -> Self {
        let message = why.to_string();
        match why {
            PublishError::Refused(refused) => {
                let failure = Self { refused, ..Self::new(Code::Refused, message) };
                failure.hint("nothing was written; fix the documents, or leave them out")
            }
            PublishError::Governed => Self::new(Code::Governed, message).hint(Hint::calls(
                "run {}; a reviewer publishes the text with {}",
                [Call::new(Verb::Submit).word("ID"), Verb::Approve.into()],
            )),
            PublishError::GovernedLive => Self::new(Code::Governed, message)
                .hint(Hint::call("{} publishes it with the stewards", Verb::GovernOn))
                .hint("or remove the line from .context/config.yaml"),
            PublishError::Ungoverned => Self::new(Code::NotGoverned, message).hint(Hint::calls(
                "{} {publishes} a text; {} turns on mandatory review",
                [Call::new(Verb::Publish).word("ID"), Verb::GovernOn.into()],
            )),
            PublishError::Review(why) => why.into(),
            PublishError::UnknownId { id, near } => Self::unknown_id(id.as_str(), near.as_deref()),
            PublishError::ClockEnded { .. } => Self::new(Code::ClockEnded, message).hint(
                "set the clock, restore `.versions` from before that checkpoint, and publish again",
            ),
            PublishError::ClockBehind { .. } => Self::new(Code::ClockBehind, message)
                .hint("set the clock: a checkpoint cannot be older than the one before it")
                .hint("if the clock of the last publication was wrong and its checkpoint is not in use yet, restore `.versions` from before it and publish again"),
            PublishError::Exists(place) => {
                let id = place.strip_suffix(layout::ENDING).unwrap_or(&place);
                let publish = Call::new(Verb::Publish).value(id);
                let hint = "{} {publishes} the file as it is; or edit it first, or choose another id";
                Self::new(Code::Exists, message).hint(Hint::call(hint, publish))
            }
            PublishError::Unread { .. } => Self::new(Code::UnpublishedChanges, message)
                .hint("pass the hash of the file from the last answer about your draft")
                .hint("changes of another principal are not overwritten: submit the text instead"),
            PublishError::Misplaced { .. } => Self::new(Code::Misplaced, message).hint(
                "documents belong in `nodes/` or `sources/`; see `layout` and `exclude` in .context/config.yaml",
            ),
            PublishError::Ignored { .. } => Self::new(Code::Misplaced, message)
                .hint("change the rule, or choose another id"),
            PublishError::SharedUntouched => Self::new(Code::ConfigInvalid, message)
                .hint("remove the line from .context/config.yaml")
                .hint(Hint::call(
                    "or remove it, convert the log to the delta form with {}, and set it again",
                    Call::new(Verb::CheckpointConvert).word("--to").word("delta"),
                )),
            PublishError::Withheld(withheld) => withheld.into(),
            PublishError::Policy { .. } => {
                Self::new(Code::Withheld, message).hint(verify_all())
            }
            PublishError::Unbound(_) => Self::new(Code::Io, message)
                .hint("nothing was published: with `audit.bind: true` the change log has to be written first"),
            PublishError::Comment(_) => Self::new(Code::Io, message).hint(Hint::call(
                "if {} does not have the comment, record it again",
                Call::new(Verb::ReviewShow).word("ID"),
            )),
            PublishError::Expected(why) => why.into(),
            PublishError::Log(why) => why.into(),
            PublishError::Head(why) => why.into(),
            PublishError::Lock(why) => why.into(),
            PublishError::Config(why) => why.into(),
            PublishError::File(why) => why.into(),
        }
    }
}

impl From<ReviewError> for Failure {
    fn from(why: ReviewError) -> Self {
        let message = why.to_string();
        let new = |code| Self::new(code, message.clone());
        let of = |verb, id: &DocumentId| Call::new(verb).value(id.as_str());
        let compared = |id: &DocumentId, from: Version, to: Version| {
            let (id, from) = (id.clone(), Some(from));
            let compared = vec![Compared { id, from, to, is_published: false }];
            Self { compared, ..new(Code::SubmissionChanged) }
        };
        let another_decides = |id: &DocumentId| {
            new(Code::OwnSubmission).hint(Hint::call(
                "another reviewer must decide; {} shows who may",
                of(Verb::StewardWho, id),
            ))
        };
        match why {
            ReviewError::NotSubmitted { others, .. } if !others.is_empty() => {
                let text = "{} shows a submission that is part of a change with this name, or that moves a document to this id";
                let hint = |id| Hint::call(text, of(Verb::ReviewShow, id));
                others.iter().take(MOST).map(hint).fold(new(Code::NotSubmitted), Failure::hint)
            }
            ReviewError::NotSubmitted { id, .. } => new(Code::NotSubmitted)
                .hint(Hint::call("{} lists the submissions that await a decision", Verb::Review))
                .hint(Hint::call("{} shows the decisions and their reasons", of(Verb::History, &id))),
            ReviewError::NoSubmission { id, .. } => new(Code::NotSubmitted)
                .hint(Hint::call("{} lists its versions", of(Verb::History, &id))),
            ReviewError::NoChange { alike, .. } => {
                let alike = alike.map(|name| {
                    format!("`{name}` awaits a decision; names of changes are compared exactly")
                });
                let failure = alike.into_iter().fold(new(Code::NotSubmitted), Self::hint);
                failure.hint(Hint::call("{} lists the submissions that await a decision", Verb::Review))
            }
            ReviewError::Unfit(why) => new(Code::NotASteward)
                .hint(Hint::call("{} shows who may", of(Verb::StewardWho, &why.id))),
            ReviewError::Unrecorded { id, .. } => new(Code::Unexplained)
                .hint("if its writer was interrupted, that writer's next command completes or undoes the step")
                .hint("if a change log has lost the line, restore `.context/audit` from git or a backup")
                .hint(Hint::calls(
                    "an editor can replace it: {} submits the live text, {} the published text",
                    in_its_place(&id),
                )),
            ReviewError::Decided { id, .. } => new(Code::Unexplained)
                .hint(Hint::call("{} reports the missing parts of histories: restore them", Verb::Verify))
                .hint(Hint::calls(
                    "an editor can replace it: {} submits the live text, {} the published text",
                    in_its_place(&id),
                )),
            ReviewError::WaitsForOthers { id, is_shown, .. } => {
                let text = match is_shown {
                    true => "{} lists the other parts",
                    false => "{} lists the other parts that you may read, and the number of further ones",
                };
                new(Code::ApprovedAlready).hint(Hint::call(text, of(Verb::ReviewShow, &id)))
            }
            ReviewError::NoEditor { id, version, .. } => new(Code::NotASteward).hint(Hint::calls(
                "an editor submits the text with {}, or a reviewer rejects this with {}",
                [of(Verb::Submit, &id).word("--supersede"), reject(&id, version)],
            )),
            ReviewError::Split { id, proposal, .. } => {
                new(Code::SubmissionChanged).hint(submitted_again(&id, &proposal, None))
            }
            ReviewError::InChange { id, .. } => {
                new(Code::SubmissionPending).hint(Hint::call(
                    "the parts of a change are published together: {} withdraws the change",
                    of(Verb::Withdraw, &id),
                ))
            }
            ReviewError::Own { id, why: Barred::Lost | Barred::LostElsewhere, .. } => {
                let dismiss = of(Verb::AuditDismiss, &id).word("--reason").word("TEXT");
                another_decides(&id).hint(Hint::call(
                    "your submission was lost in a merge; after {} by another reviewer of the vault, \
                     you may approve again",
                    dismiss,
                ))
            }
            ReviewError::Own { id, .. } | ReviewError::OwnEmergency { id, .. } => {
                another_decides(&id)
            }
            ReviewError::Twice { id, .. } => new(Code::ApprovedAlready)
                .hint(Hint::call("{} shows who may", of(Verb::StewardWho, &id))),
            ReviewError::TwoAwait { id, submission, emergency } => {
                let approve = |version: Version| {
                    of(Verb::Approve, &id).word("--version").value(version.to_string())
                };
                new(Code::SubmissionPending)
                    .hint(Hint::calls(
                        "decide the submission first: {} publishes its text, {} leaves the document retired",
                        [approve(submission), reject(&id, submission)],
                    ))
                    .hint(Hint::call(
                        "if the document stays retired, {} ratifies the retirement",
                        approve(emergency),
                    ))
            }
            ReviewError::NotTheSubmitter { id, version, .. } => new(Code::NotTheSubmitter)
                .hint(Hint::call("a reviewer can reject it with {}", reject(&id, version))),
            ReviewError::Pending { id, is_text: false, .. } => new(Code::SubmissionPending).hint(
                Hint::call("{} shows it; it must be decided or withdrawn first", of(Verb::ReviewShow, &id)),
            ),
            ReviewError::Pending { id, .. } => new(Code::SubmissionPending).hint(Hint::calls(
                "{} shows it; {} withdraws it and submits your text",
                [of(Verb::ReviewShow, &id), of(Verb::Submit, &id).word("--supersede")],
            )),
            ReviewError::OthersChange { .. } => {
                new(Code::SubmissionPending).hint("choose another name for your change")
            }
            ReviewError::ChangeSpelling { other, .. } => {
                new(Code::SubmissionPending).hint(match other {
                    Some(_) => "use that name to add to the change, or choose another one",
                    None => "choose another name for your change",
                })
            }
            ReviewError::Changed { id, expected, found } => compared(&id, expected, found)
                .hint(Hint::call("{} shows the current submission", of(Verb::ReviewShow, &id))),
            ReviewError::Lapsed { id, version, proposal, .. } => {
                new(Code::ApprovalLapsed).hint(submitted_again(&id, &proposal, Some(version)))
            }
            ReviewError::Altered { id, version, proposal, published, .. } => {
                let failure = match published {
                    Some(published) => compared(&id, published, version),
                    None => new(Code::SubmissionChanged),
                };
                failure.hint(submitted_again(&id, &proposal, None))
            }
            ReviewError::HiddenPart(why) => Self::new(Self::from(*why).code, message)
                .hint("a steward who may read every part of the change can see the reason"),
            ReviewError::HiddenFiles(_) => new(Code::Refused)
                .hint("a steward who may read every part of the change can see the reason"),
            ReviewError::Text { .. } => new(Code::Usage),
            ReviewError::TooFewReviewers { needed, .. } => {
                let failure = new(Code::TooFewReviewers).hint(Hint::call(
                    "run {} for each of them",
                    Call::new(Verb::StewardAssign)
                        .word("PRINCIPAL")
                        .word("reviewer")
                        .word("--whole-vault"),
                ));
                match needed {
                    // Only `govern on` requires two reviewers.
                    2 => failure.hint(
                        "with `--alone` one is enough, together with an editor who submits texts",
                    ),
                    _ => failure,
                }
            }
            ReviewError::Locked(stuck) => {
                let assign = Call::new(Verb::StewardAssign).word("PRINCIPAL");
                let has_enough = stuck.reviewers as u64 >= u64::from(stuck.required);
                let role = if has_enough { "editor" } else { "reviewer" };
                let assign = assign.word(role).word("--whole-vault");
                let text = match has_enough {
                    true => "run {}: the reviewers approve the texts that an editor submits",
                    false => "run {} for each missing reviewer",
                };
                let failure = new(Code::TooFewReviewers).hint(Hint::call(text, assign));
                match stuck.required {
                    1 => failure,
                    _ => failure.hint("or lower `required` for the vault under `review` in stewards.yaml"),
                }
            }
            ReviewError::ReviewsPending(_) => new(Code::ReviewsPending)
                .hint(Hint::call("{} lists the submissions that await a decision", Verb::Review)),
        }
    }
}

/// Returns the calls that submit the live text, or the published one, in place of a submission.
fn in_its_place(id: &DocumentId) -> [Call; 2] {
    let submit = Call::new(Verb::Submit).value(id.as_str());
    [submit.clone().word("--supersede"), submit.word("--renew").word("--supersede")]
}

impl From<RestoreError> for Failure {
    fn from(why: RestoreError) -> Self {
        let message = why.to_string();
        let history = |id: &DocumentId| Call::new(Verb::History).value(id.as_str());
        match why {
            RestoreError::NeverPublished(id) => Self::never_published(&id),
            RestoreError::UnknownVersion { id, .. } => Self::new(Code::UnknownVersion, message)
                .hint(Hint::call("{} lists its versions", history(&id))),
            RestoreError::Unsealed { id, version } => {
                let show = Call::new(Verb::ReviewShow).value(id.as_str());
                let show = show.word("--version").value(version.to_string());
                Self::new(Code::Withheld, message)
                    .hint(Hint::call("{} lists its versions with their checkpoints", history(&id)))
                    .hint(Hint::call("{} prints a text that was submitted", show))
            }
            RestoreError::History { why: ChainError::LeftOut, .. } => {
                Self::new(Code::Withheld, message).hint(NOT_SPARSE)
            }
            RestoreError::Withheld { .. } | RestoreError::History { .. } => {
                Self::new(Code::Withheld, message).hint(verify_all())
            }
            RestoreError::Edited(ids) => Self::edited(message, &ids),
            RestoreError::Spelling { id, version, why } => {
                let show = Call::new(Verb::Show).value(id.as_str()).value(version.to_string());
                Self::new(Code::Refused, message)
                    .hint(why.hint())
                    .hint(Hint::call("{} prints the text: put it into the file by hand", show))
            }
            RestoreError::Log(why) => why.into(),
            RestoreError::Head(why) => why.into(),
            RestoreError::Lock(why) => why.into(),
            RestoreError::File(why) => why.into(),
        }
    }
}

impl Failure {
    /// Reports live files that a command would have overwritten.
    fn edited(message: String, ids: &[DocumentId]) -> Self {
        let mut failure = Self::new(Code::UnpublishedChanges, message);
        if let [id] = ids {
            let call = |verb| Call::new(verb).value(id.as_str());
            failure = failure.hint(Hint::calls(
                "nothing was written; {} shows the changes, {} makes a version of them",
                [call(Verb::Diff), call(Verb::Publish)],
            ));
        } else {
            failure.details = first(MOST, ids.iter().map(DocumentId::live_path).collect());
            failure =
                failure.hint("nothing was written; make versions of the changes, or undo them");
        }
        failure.hint("`--force` overwrites the changes, which are then lost")
    }
}

impl From<ExpectError> for Failure {
    fn from(why: ExpectError) -> Self {
        let message = why.to_string();
        match why {
            ExpectError::Log(why) => why.into(),
            ExpectError::NotOne => Self::new(Code::Usage, message)
                .hint("name one document, or expect the head of the log with `--expect-hash`"),
            ExpectError::Mismatch(mismatch) => Self::not_as_expected(message, &mismatch),
        }
    }
}

impl Failure {
    /// Reports the versions that were published since the expected one.
    fn not_as_expected(message: String, mismatch: &Mismatch) -> Self {
        let compared = |moved: &Moved| Compared {
            id: moved.id.clone(),
            from: moved.from,
            to: moved.to,
            is_published: true,
        };
        let compared = mismatch.moved.iter().map(compared).collect();
        Self { compared, ..Self::new(Code::NotAsExpected, message) }
            .hint("nothing was written; merge the published version, then expect it")
    }
}

impl From<ConvertError> for Failure {
    fn from(why: ConvertError) -> Self {
        let message = why.to_string();
        match why {
            ConvertError::Publish(why @ PublishError::Governed) => {
                Self::new(Code::Governed, why.to_string()).hint(Hint::call(
                    "set `checkpoint_log` under `versions` in .context/config.yaml, run {}, and convert the log once that is approved",
                    Call::new(Verb::Submit).value(layout::CONFIG),
                ))
            }
            ConvertError::Publish(why) => why.into(),
            ConvertError::Halfway { checkpoint, why } => Self::from(*why).hint(format!(
                "checkpoint {checkpoint} was published with the new setting; the log keeps its old form until you run the command again"
            )),
            ConvertError::Empty => Self::new(Code::LogBroken, message).hint(
                "set `versions: {checkpoint_log: full}` in .context/config.yaml before the first publication",
            ),
            ConvertError::Unsound(finding) => {
                let message = format!("the vault would not verify: `{}`: {message}", finding.path);
                Self::new(Code::LogBroken, message)
                    .hint(Hint::call(
                        "the log was not converted; {} lists all findings",
                        Verb::Verify,
                    ))
                    .hint(finding.code.remedy())
            }
            ConvertError::Inexpressible(_) => Self::new(Code::LogBroken, message).hint(Hint::call(
                "the log was not converted; {} lists all findings",
                Verb::Verify,
            )),
        }
    }
}

impl From<MergeError> for Failure {
    fn from(why: MergeError) -> Self {
        let message = why.to_string();
        match why {
            MergeError::TwoVaults { .. } => Self::new(Code::TwoVaults, message)
                .hint("keep the vault of one branch, and publish the documents of the other in it"),
            MergeError::Empty(_) => Self::new(Code::LogBroken, message)
                .hint("nothing has to be merged: take the log of the other branch"),
            MergeError::FullForm(_) => Self::new(Code::LogBroken, message).hint(Hint::call(
                "abort the merge, run {} on both branches, and merge again",
                Call::new(Verb::CheckpointConvert).word("--to").word("delta"),
            )),
            MergeError::Log { .. } | MergeError::Lines { .. } => {
                Self::new(Code::LogBroken, message)
                    .hint(Hint::call("abort the merge, and run {} on that branch", Verb::Verify))
            }
            MergeError::Damaged(findings) => {
                let line = |finding: &Finding| format!("{}: {}", finding.path, finding.message);
                let lines = findings.iter().map(line).collect();
                let mut failure = Self::new(Code::LogBroken, message).hint(Hint::call(
                    "nothing was written; abort the merge, and run {} on both branches",
                    Verb::Verify,
                ));
                failure.details = first(MOST, lines);
                failure
            }
            MergeError::NoTrunk => Self::new(Code::MergeConflict, message)
                .hint("name it: `git config contextnest.trunk BRANCH`, then run `ctx merge` again"),
            MergeError::ClockBehind { .. } => {
                Self::new(Code::ClockBehind, message).hint("set the clock of this machine")
            }
            MergeError::ClockEnded(_) => Self::new(Code::ClockEnded, message),
            MergeError::Head(why) => why.into(),
            MergeError::Trust(why) => why.into(),
            MergeError::Publish(why) => why.into(),
            MergeError::Lock(why) => why.into(),
            MergeError::Open(why) => why.into(),
            MergeError::File(why) => why.into(),
        }
    }
}

impl From<RecoverError> for Failure {
    fn from(why: RecoverError) -> Self {
        match why {
            RecoverError::Unexplained(uncommitted) => Self::unexplained(&uncommitted),
            RecoverError::Moved(moves) => Self::moved_with_folder(&moves),
            RecoverError::Expected(why) => why.into(),
            RecoverError::Lock(why) => why.into(),
            RecoverError::File(why) => why.into(),
        }
    }
}

impl Failure {
    fn moved_with_folder(moves: &[(DocumentId, DocumentId)]) -> Self {
        let all = count(moves.len(), "document");
        let message = format!("the folder of {all} was moved together with the histories");
        let line = |(old, new): &(DocumentId, DocumentId)| {
            format!("{}: was {}", new.live_path(), old.live_path())
        };
        let mut failure = Self::new(Code::Unexplained, message)
            .hint("move the folder back: the histories in it must stay where they are");
        if let Some((old, new)) = moves.iter().find(|(old, new)| old.collision_with(new).is_none())
        {
            let mv = Call::new(Verb::Mv).value(old.as_str()).value(new.as_str());
            failure = failure.hint(Hint::call("then {} moves a document, for example", mv));
        }
        failure.details = first(MOST, moves.iter().map(line).collect());
        failure
    }

    fn unexplained(uncommitted: &[UncommittedFile]) -> Self {
        let all = count(uncommitted.len(), "uncommitted file");
        let message = format!("no intent record on this machine explains {all}");
        let line = |left: &UncommittedFile| {
            let mut line = format!("{}: {}, {} bytes", left.path, left.remains, left.bytes);
            if let Some(key) = recorded_by(left).into_iter().next() {
                line.push_str(&format!(", {key}"));
            }
            line
        };
        let mut failure = Self::new(Code::Unexplained, message)
            .hint("either a command was interrupted, or the log was truncated: check the files")
            .hint(Hint::call(
                "after an interrupted command, {} moves them to .context/local/recovered/",
                Call::new(Verb::Recover).word("--force"),
            ))
            .hint(Hint::call(
                "after a truncation, restore the log, or see what {} reports about them",
                dry_run(Verb::CheckpointRebuild),
            ));
        failure.details = first(MOST, uncommitted.iter().map(line).collect());
        failure
    }
}

impl From<Unreliable> for Failure {
    fn from(why: Unreliable) -> Self {
        match why {
            Unreliable::Log(why) => why.into(),
            Unreliable::Head(why) => why.into(),
        }
    }
}

impl From<RebuildError> for Failure {
    fn from(why: RebuildError) -> Self {
        match why {
            RebuildError::Refused(why) => why.into(),
            RebuildError::Merged(_) => Self::new(Code::LogBroken, why.to_string()).hint(
                "restore the log from git: `git log -p -- .versions/checkpoints.jsonl` lists its commits",
            ),
            RebuildError::Log(why) => why.into(),
            RebuildError::Expected(why) => why.into(),
            RebuildError::Trust(why) => why.into(),
            RebuildError::Lock(why) => why.into(),
            RebuildError::File(why) => why.into(),
        }
    }
}

impl From<Refused> for Failure {
    fn from(why: Refused) -> Self {
        let message = why.to_string();
        let forced =
            "`--force` makes checkpoints for everything that the histories record as published";
        match why {
            Refused::Head(why) => why.into(),
            Refused::Unsound(versions) => {
                let lines = versions.into_iter().map(|(version, why)| format!("{version}: {why}"));
                let mut failure = Self::new(Code::LogBroken, message).hint(
                    "nothing was written; restore the histories first, or leave these versions out with `--force`",
                );
                failure.details = first(MOST, lines.collect());
                failure
            }
            Refused::Unapproved(versions) => {
                let lines = versions.into_iter().map(|(version, why)| format!("{version}: {why}"));
                let mut failure = Self::new(Code::Governed, message).hint(
                    "nothing was written; restore these histories from git or a backup, or leave these versions and all later ones of the same documents out with `--force`",
                );
                failure.details = first(MOST, lines.collect());
                failure
            }
            Refused::Forgotten(_) => Self::new(Code::Governed, message)
                .hint(
                    "nothing was written; restore the histories of `stewards.yaml` and of the configuration first, from git or a backup",
                )
                .hint("`--force` makes a log that publishes documents without a review"),
            Refused::Contradicted(_) => Self::new(Code::LogBroken, message)
                .hint(
                    "nothing was written; the histories may be forged or incomplete: restore them and the log from git or a backup",
                )
                .hint(forced),
            Refused::Beyond(_) => Self::new(Code::Unexplained, message)
                .hint(Hint::call(
                    "nothing was written; check with {} what they contain: an interrupted command or an attacker may have left them",
                    dry_run(Verb::CheckpointRebuild),
                ))
                .hint(forced),
            Refused::Whole => Self::new(Code::LogBroken, message)
                .hint(Hint::call(
                    "nothing was written; {} cleans up after an interrupted command",
                    Verb::Recover,
                ))
                .hint(forced),
            Refused::NewFirst { .. } => Self::new(Code::LogBroken, message)
                .hint(Hint::call(
                    "nothing was written; {} names the damaged histories: restore them first",
                    Verb::Verify,
                ))
                .hint("`--force --new-first-checkpoint` replaces it; heads that were stored elsewhere (in CI, on other machines, in evidence) will not match this log"),
        }
    }
}

impl From<QueryError> for Failure {
    fn from(why: QueryError) -> Self {
        let failure = Self::new(Code::QueryInvalid, why.to_string());
        match why {
            QueryError::Empty => failure.hint("a search word must contain letters or digits"),
            _ => failure.hint("search for fewer words"),
        }
    }
}

impl From<SearchError> for Failure {
    fn from(why: SearchError) -> Self {
        let failure = Self::new(Code::SearchFailed, why.to_string());
        match why {
            SearchError::Log(why) => why.into(),
            SearchError::Command { said, .. } => Self { details: said, ..failure }.hint(
                "spec/search.md defines what a search program reads and prints; without CTX_SEARCH_COMMAND and a program in your configuration the built-in index is used",
            ),
            SearchError::NotBuilt => {
                failure.hint("name a search program with CTX_SEARCH_COMMAND, or use a full build")
            }
            SearchError::Index(_) => failure.hint("run it again; if it fails again, report it"),
        }
    }
}

impl From<ConfiguredError> for Failure {
    fn from(why: ConfiguredError) -> Self {
        Self::new(Code::ConfigInvalid, why.to_string())
            .hint("a program is a file outside of the vault, named by its absolute path")
    }
}
