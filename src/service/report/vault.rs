//! Reports of a whole vault: creation, live files, derived files and copies.

use std::path::PathBuf;

use serde::Serialize;

use super::problem::ProblemReport;
use super::review::QueuedReport;
use super::submission::RefusedReport;
use super::{Report, Spell};
use crate::files::vault::config::Layout;
use crate::files::vault::left_out::{LeftOut, Reason};
use crate::policy::stewards::Stuck;
use crate::read::derived::{Derived, Outcome};
use crate::read::status::{DocumentState, GovernanceState, Row, Status};
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;
use crate::write::publish::review::awaiting::Awaiting;

/// The answer of `init`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct InitReport {
    /// Folder of the vault.
    pub folder: String,
    /// Name of the vault.
    pub name: String,
    /// `structured` or `obsidian`.
    pub layout: Layout,
    /// Paths of the files that were written.
    pub created: Vec<String>,
    /// Number of documents that can be published.
    pub documents: usize,
    /// Formatters of the repository that would rewrite histories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub formatters: Vec<FormatterReport>,
}

/// A formatter of the repository, and the lines that exclude histories from it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct FormatterReport {
    /// Name of the formatter.
    pub name: &'static str,
    /// File to which the lines must be added.
    pub file: String,
    /// Lines to add.
    pub lines: Vec<String>,
    /// Existing key of the file that must be extended by the lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    /// True if the lines were added to the file.
    pub written: bool,
    /// True if the lines can be appended to the file.
    #[serde(skip)]
    pub can_write: bool,
    /// Path of the file.
    #[serde(skip)]
    pub path: PathBuf,
}

impl Report for InitReport {
    const SCHEMA: &'static str = "init";
}

/// The answer of `status`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StatusReport<'s> {
    /// Number of the last checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Live files and published documents.
    documents: Vec<RowReport<'s>>,
    /// Governance files.
    governance: Vec<GovernanceReport<'s>>,
    /// Markdown files that are not documents, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    ignored: Option<Vec<LeftOutReport<'s>>>,
    /// Submissions that await a decision, in a governed vault.
    #[serde(skip_serializing_if = "Option::is_none")]
    submissions: Option<Vec<QueuedReport<'s>>>,
    /// Scopes with only one reviewer, in a governed vault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    single_reviewers: Vec<SingleReviewerReport<'s>>,
    /// Scopes at which nothing can be approved, in a governed vault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stuck_scopes: Vec<StuckReport>,
    /// Documents whose approval is too old, in a governed vault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    due: Vec<DueReport<'s>>,
    /// Submissions that were rejected, or ended by an emergency retirement, whose live files still
    /// differ from what is published.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<RefusedReport<'s>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct DueReport<'s> {
    /// Id of the document or governance file.
    id: &'s DocumentId,
    /// Time of the approval, in UTC.
    approved_at: String,
    /// True if it was published without a review at that time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    never_approved: bool,
    /// Number of days after which an approval must be renewed.
    max_age_days: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct SingleReviewerReport<'s> {
    /// Scope, as messages name it.
    scope: String,
    /// Name of the reviewer.
    principal: &'s str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct StuckReport {
    /// Scope, as messages name it.
    scope: String,
    /// Scope whose stewards decide, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<String>,
    /// Number of approvals that are required.
    required: u32,
    /// Number of reviewers.
    reviewers: usize,
    /// Number of editors, including the reviewers.
    editors: usize,
}

impl From<&Stuck> for StuckReport {
    fn from(stuck: &Stuck) -> Self {
        let Stuck { scope, decides, required, reviewers, editors } = stuck;
        let decided_by = decides.as_ref().map(ToString::to_string);
        let (required, reviewers, editors) = (*required, *reviewers, *editors);
        Self { scope: scope.to_string(), decided_by, required, reviewers, editors }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct LeftOutReport<'s> {
    /// Path in the vault.
    path: &'s str,
    /// Reason, as a stable word.
    reason: &'s Reason,
    /// Rule of a file that git ignores.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<RuleReport<'s>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct RuleReport<'s> {
    /// File with the rule.
    file: &'s str,
    /// Pattern of the rule.
    pattern: &'s str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct RowReport<'s> {
    /// Path of the live file.
    path: &'s str,
    /// Id of the document; null if the file name is not a valid id.
    id: Option<&'s str>,
    /// State of the live file compared with the published version; `stale` if publication would
    /// refuse it, `not-checked-out` if git leaves it or its history out of the working copy,
    /// `retired-elsewhere` if it is the file of a retirement that this log does not record.
    state: DocumentState,
    /// Published version; null if there is none.
    version: Option<Version>,
    /// True if the end of validity of the published text has passed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    expired: bool,
    /// Reason why an event that does not name the document leaves out the live file.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason_code: Option<&'s Reason>,
    /// Problems of the live file.
    problems: Vec<ProblemReport>,
    /// Reason why the published text is not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    withheld: Option<String>,
    /// New id of the text of a missing document, or of a retired document whose file still exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_to: Option<&'s DocumentId>,
    /// Missing document whose text a new file has.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<&'s DocumentId>,
    /// Advice on how to proceed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct GovernanceReport<'s> {
    /// Id of the governance file.
    id: &'s str,
    /// `new`, `changed`, `submitted`, `copy`, `not-checked-out`, `deleted` or `unreadable`.
    state: GovernanceState,
    /// Advice on how to proceed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<String>,
}

impl Report for StatusReport<'_> {
    const SCHEMA: &'static str = "status";
}

impl<'s> StatusReport<'s> {
    /// Reports how live files differ from a checkpoint.
    pub(crate) fn new(
        status: &'s Status,
        (checkpoint, now): (CheckpointNumber, Timestamp),
        spell: Spell,
    ) -> Self {
        let is_old = |row: &Row| row.is_gone || row.state == DocumentState::Retired;
        let row = |row: &'s Row| RowReport {
            path: &row.path,
            id: row.id.as_ref().map(DocumentId::as_str),
            state: row.state,
            version: row.version,
            expired: row.is_expired(now),
            reason_code: row.left_out.as_ref(),
            problems: ProblemReport::all(&row.problems, spell),
            withheld: row.withheld.as_ref().map(|withheld| withheld.why.to_string()),
            moved_to: row.moved.as_ref().filter(|_| is_old(row)),
            moved_from: row.moved.as_ref().filter(|_| !is_old(row)),
            hints: row.hints().iter().map(|hint| hint.render(spell)).collect(),
        };
        let governance = |(id, state): &'s (DocumentId, GovernanceState)| GovernanceReport {
            id: id.as_str(),
            state: *state,
            hints: state.hints(id).iter().map(|hint| hint.render(spell)).collect(),
        };
        Self {
            checkpoint,
            documents: status.documents.iter().map(row).collect(),
            governance: status.governance.iter().map(governance).collect(),
            ignored: None,
            submissions: None,
            single_reviewers: Vec::new(),
            stuck_scopes: Vec::new(),
            due: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Adds the submissions that await a decision.
    #[must_use]
    pub(crate) fn with_awaiting(mut self, awaiting: &'s Awaiting) -> Self {
        self.submissions =
            Some(awaiting.queue.waiting.iter().flat_map(QueuedReport::rows).collect());
        let single = awaiting
            .alone
            .iter()
            .map(|(scope, principal)| SingleReviewerReport { scope: scope.to_string(), principal });
        self.single_reviewers = single.collect();
        self.stuck_scopes = awaiting.stuck.iter().map(StuckReport::from).collect();
        let due = awaiting.due.iter().map(|due| DueReport {
            id: &due.id,
            approved_at: due.approved_at.to_string(),
            never_approved: !due.is_approved,
            max_age_days: due.max_age,
        });
        self.due = due.collect();
        self.refused = awaiting.refused.iter().filter_map(RefusedReport::of).collect();
        self
    }

    /// Adds the files that are not documents.
    #[must_use]
    pub(crate) fn with_ignored(mut self, files: &'s [LeftOut]) -> Self {
        let rule = |why: &'s Reason| match why {
            Reason::GitIgnored(rule) => {
                Some(RuleReport { file: &rule.file, pattern: &rule.pattern })
            }
            _ => None,
        };
        let file = |file: &'s LeftOut| LeftOutReport {
            path: &file.path,
            reason: &file.why,
            rule: rule(&file.why),
        };
        self.ignored = Some(files.iter().map(file).collect());
        self
    }
}

/// The answer of `index`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct IndexReport<'i> {
    /// Derived files.
    files: Vec<DerivedReport<'i>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct DerivedReport<'i> {
    /// Path in the vault.
    path: &'i str,
    /// `unchanged`, `created`, `replaced`, `foreign`, `no folder` or `failed`.
    outcome: &'i Outcome,
    /// Reason why the file was not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Report for IndexReport<'_> {
    const SCHEMA: &'static str = "index";
}

impl<'i> IndexReport<'i> {
    /// Reports the outcome, or the planned outcome, for each derived file.
    pub(crate) fn new(files: &'i [Derived], outcomes: &'i [Outcome]) -> Self {
        let file = |(file, outcome): (&'i Derived, &'i Outcome)| DerivedReport {
            path: &file.path,
            outcome,
            reason: outcome.reason(),
        };
        Self { files: files.iter().zip(outcomes).map(file).collect() }
    }
}

/// The answer of `checkout`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CheckoutReport {
    /// Number of the checkpoint.
    pub checkpoint: CheckpointNumber,
    /// Folder with the copy.
    pub folder: String,
    /// Number of files.
    pub artifacts: usize,
}

impl Report for CheckoutReport {
    const SCHEMA: &'static str = "checkout";
}

/// The answer of `demo`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct DemoReport {
    /// Folder of the vault.
    pub folder: String,
    /// Folder of the copy with one altered byte; absent in the tour of a review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub altered_copy: Option<String>,
    /// Commands with their outputs.
    pub steps: Vec<DemoStep>,
}

/// One command of the demo.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct DemoStep {
    /// Command as a user types it.
    pub command: String,
    /// Exit code.
    pub exit: u8,
    /// Output of the command.
    pub output: String,
}

impl Report for DemoReport {
    const SCHEMA: &'static str = "demo";
}

/// The answer of `help`: about a verb, about a code, or about all of them.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct HelpReport {
    /// The verb and its parts; every verb if none was named.
    pub verbs: Vec<VerbReport>,
    /// One entry for each kind of thing that has the code; every code if none was named.
    pub codes: Vec<CodeReport>,
}

/// Description of a verb.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct VerbReport {
    /// Verb with its parts, as in `checkpoint show`.
    pub verb: String,
    /// Summary in one line.
    pub about: String,
    /// Help text, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// Meaning of a code.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct CodeReport {
    /// Code that is explained.
    pub code: String,
    /// Kind of thing that has the code.
    pub is: String,
    /// Paragraphs: the meaning, and for a finding its causes and remedy.
    pub text: Vec<String>,
}

impl Report for HelpReport {
    const SCHEMA: &'static str = "help";
}
