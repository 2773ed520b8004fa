//! A failed command: a stable code, a message, the place, and hints (`spec/errors.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::problem::FileProblems;
use super::{Report, Spell};
use crate::read::working::gathered::REPEATED;
use crate::text::document::validate::Severity;
use crate::values::codes::codes;
use crate::values::model::hint::Hint;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::visible::shown;
use crate::write::publish::Refusal;

codes! {
    /// A kind of failure.
    exit: u8,
    /// The exit code of the process.
    UnknownId "unknown-id" 1, "No document has this id at this checkpoint.";
    UnknownVersion "unknown-version" 1, "The history has no such version.";
    UnknownAnchor "unknown-anchor" 1, "The document has no section with this anchor.";
    UnknownPack "unknown-pack" 1, "No pack with this id is sealed at this checkpoint.";
    PackInvalid "pack-invalid" 1, "A pack file is invalid, or two have one id.";
    ForeignVault "foreign-vault" 1, "The URI names another vault, which this version cannot resolve.";
    UnknownCheckpoint "unknown-checkpoint" 1, "No checkpoint has this number.";
    BundleInvalid "bundle-invalid" 1, "The file is not an evidence bundle, or its container or manifest was changed.";
    AnswerTooLarge "answer-too-large" 1, "The answer of a tool is larger than the token budget of the call.";
    UnknownToken "unknown-token" 1, "The file of tokens has no token with this id.";
    UnknownTrace "unknown-trace" 1, "The access log has no such line.";
    UnknownHold "unknown-hold" 1, "No hold with this name is in force.";
    UnknownStaged "unknown-staged" 1, "No chain has this staged entry, or the principal may not see it.";
    StagedEnded "staged-ended" 1, "The staged entry was discarded, collected or erased, so its content is gone.";
    StagedPromoted "staged-promoted" 1, "The staged entry was promoted, so a document contains its content.";
    Retained "retained" 1, "The retention keeps these accesses, so they cannot be pruned.";
    NotMissing "not-missing" 1, "Every event of this checkpoint has its line in the change log or an acknowledgement.";
    NotLost "not-lost" 1, "No lost submission of this document can be dismissed.";
    NotBegun "not-begun" 1, "The command needs a change log, and the vault does not record changes.";
    SearchPast "search-past" 1, "A search can only answer for the last checkpoint.";
    Refused "refused" 1, "A text is invalid or cannot be read, so nothing was written.";
    Withheld "withheld" 1, "A text is not served: its history does not verify, or no review published it.";
    NotMerging "not-merging" 1, "Git is not in the middle of a merge, a rebase or a cherry-pick.";
    MergeConflict "merge-conflict" 1, "Both branches changed an artifact, or a branch lacks publications that the merge needs.";
    TwoVaults "two-vaults" 1, "The logs of the two branches begin with different checkpoints.";
    LogBroken "log-broken" 1, "The checkpoint log is empty, damaged, incomplete or merged, or cannot be converted.";
    ClockBehind "clock-behind" 1, "The last checkpoint is more than 24 hours ahead of the clock.";
    ClockEnded "clock-ended" 1, "The last checkpoint has the latest time that can be recorded.";
    NotSubmitted "not-submitted" 1, "No submission of this document awaits a decision.";
    NotASource "not-a-source" 1, "The document is not a source.";
    NotGoverned "not-governed" 1, "The vault is not governed, so there are no reviews.";
    Exists "exists" 1, "The file or folder exists already, or is in a vault.";
    Usage "usage" 2, "The arguments are invalid or contradict each other.";
    NoVault "no-vault" 2, "No vault was found.";
    NoPrincipal "no-principal" 2, "No valid principal is configured.";
    NotConfigured "not-configured" 2, "The user's configuration names no program for this.";
    ConfigInvalid "config-invalid" 2, "The configuration cannot be read, or has a setting that this vault cannot have.";
    TokensInvalid "tokens-invalid" 2, "The file of tokens cannot be read, is in a vault, or may be read or changed by others.";
    IdInvalid "id-invalid" 2, "The text is not a valid id.";
    Misplaced "misplaced" 2, "No document can have this path: the layout, a rule of git or another vault leaves it out.";
    SelectorInvalid "selector-invalid" 2, "The selector is invalid.";
    UriInvalid "uri-invalid" 2, "The URI is invalid, or names something that is not served.";
    QueryInvalid "query-invalid" 2, "The search query is invalid.";
    Governed "governed" 3, "The vault is governed; publication needs a review.";
    NotASteward "not-a-steward" 3, "The principal does not have the role that the operation needs.";
    OwnSubmission "own-submission" 3, "An author of a submission may not approve it.";
    ApprovalLapsed "approval-lapsed" 3, "A reviewer who approved the submission may no longer approve it, so it must be submitted again.";
    ApprovedAlready "approved-already" 3, "The principal approved the submission already; it waits for another reviewer, or for other parts of its change.";
    NotTheSubmitter "not-the-submitter" 3, "Only the submitter of a text can withdraw it.";
    ConsentUnavailable "consent-unavailable" 3, "The call needs the consent of a human, and the client cannot ask for it.";
    ConsentDeclined "consent-declined" 3, "The human who was asked did not agree, so nothing was changed.";
    TooFewReviewers "too-few-reviewers" 3, "A governed vault needs reviewers for the whole vault.";
    ReviewsPending "reviews-pending" 3, "Submissions await a decision, so the mode cannot change.";
    VaultNotAllowed "vault-not-allowed" 3, "The URI names a vault that the configuration does not allow.";
    Busy "busy" 4, "The server has reached its limit of concurrent calls; nothing was done.";
    Locked "locked" 4, "Another process is writing to the vault, or to the file that the command writes.";
    Changed "changed" 4, "Another process changed a file during the command.";
    NotAsExpected "not-as-expected" 4, "The published version is not the one that the caller expects.";
    SubmissionPending "submission-pending" 4, "Another principal's submission of the document awaits a decision, or two decisions about it are pending.";
    SubmissionChanged "submission-changed" 4, "The submission is not the one that the reviewer names, or is not based on the published version.";
    UnpublishedChanges "unpublished-changes" 4, "The live file has changes that no version contains.";
    Unexplained "unexplained" 4, "No intent record or trusted head explains these bytes or checkpoints.";
    HeadRollback "head-rollback" 4, "The log ends before the trusted head, or is missing.";
    HeadFork "head-fork" 4, "The log has another checkpoint in place of the trusted head.";
    TimedOut "timed-out" 5, "The call exceeded the time limit of the server.";
    Io "io" 5, "Reading or writing failed.";
    SearchFailed "search-failed" 5, "The search back-end failed.";
    SourceFailed "source-failed" 5, "The program for a source failed; the attempt is recorded.";
}

/// A failed command.
#[derive(Debug)]
pub struct Failure {
    /// Kind of the failure.
    pub code: Code,
    /// Code of the rule of selectors or URIs that was broken.
    pub reason: Option<&'static str>,
    /// Message in lower case, without a full stop.
    pub message: String,
    /// Place of the failure and further facts, one in each line.
    pub details: Vec<String>,
    /// Advice on how to fix it.
    pub hints: Vec<Hint>,
    /// Documents that were refused.
    pub refused: Vec<Refusal>,
    /// Versions whose differences explain the failure.
    ///
    /// A failure does not contain texts of documents. A front end requests the texts, so that the
    /// access is recorded.
    pub(crate) compared: Vec<Compared>,
}

/// Two versions of one artifact whose difference explains a failure.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    /// Id of the artifact.
    pub(crate) id: DocumentId,
    /// Version that the caller has read; `None` if it is not known.
    pub(crate) from: Option<Version>,
    /// Version to compare with.
    pub(crate) to: Version,
    /// True if `to` is the published version; the versions since `from` are then listed, too.
    pub(crate) is_published: bool,
}

/// Writes the message without code and hints.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Failure {
    /// Creates a failure without details and hints.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: None,
            message: message.into(),
            details: Vec::new(),
            hints: Vec::new(),
            refused: Vec::new(),
            compared: Vec::new(),
        }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the failure in serialisable form, with hints as a front end spells them.
    pub fn report(&self, spell: Spell) -> FailureReport<'_> {
        let refused = self.refused.iter();
        FailureReport {
            code: self.code,
            reason: self.reason,
            message: &self.message,
            details: &self.details,
            hints: self.hints.iter().map(|hint| hint.render(spell)).collect(),
            documents: refused.map(|one| FileProblems::of_refusal(one, spell)).collect(),
        }
    }
}

/// The failure of a command, in serialisable form.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct FailureReport<'f> {
    /// Stable code.
    pub code: Code,
    /// Reason, as a stable word.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// Message in lower case, without a full stop.
    pub message: &'f str,
    /// Place of the failure and further facts.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub details: &'f [String],
    /// Advice on how to fix it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// Problems of single documents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<FileProblems>,
}

/// Writes the failure for people and agents, with control characters of foreign text made visible.
impl fmt::Display for FailureReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.code.as_str(), shown(self.message))?;
        for detail in self.details {
            write!(f, "\n  {}", shown(detail))?;
        }
        let all = self.documents.iter().flat_map(|document| &document.problems);
        let warnings = all.filter(|problem| problem.severity == Severity::Warning);
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        warnings.for_each(|problem| *counts.entry(problem.pattern()).or_default() += 1);
        let mut seen = BTreeSet::new();
        for document in &self.documents {
            write!(f, "\n  {}", shown(&document.path))?;
            for problem in &document.problems {
                let is_warning =
                    |n: &&usize| problem.severity == Severity::Warning && **n > REPEATED;
                let times = match counts.get(&problem.pattern()).filter(is_warning) {
                    Some(_) if !seen.insert(problem.pattern()) => continue,
                    Some(n) => format!(" (and {} more of this warning)", n - 1),
                    None => String::new(),
                };
                let line = problem.line.map_or_else(String::new, |n| format!("line {n}: "));
                let (message, hint) = (shown(&problem.message), shown(&problem.hint));
                let (severity, code) = (problem.severity.as_str(), problem.code);
                write!(f, "\n    {severity}[{code}]: {line}{message} ({hint}){times}")?;
            }
        }
        for hint in &self.hints {
            write!(f, "\nhint: {}", shown(hint))?;
        }
        Ok(())
    }
}

impl Report for FailureReport<'_> {
    const SCHEMA: &'static str = "error";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_ordered_by_exit_code() {
        let words: BTreeSet<&str> = Code::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(words.len(), Code::ALL.len());
        assert!(Code::ALL.is_sorted_by_key(|c| c.exit()));
    }
}
