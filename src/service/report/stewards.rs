//! Reports of stewards: the assignments, and the stewards of an artifact.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Report;
use super::event::EventReport;
use crate::policy::stewards::basis::StewardsAt;
use crate::policy::stewards::codeowners::{Imported, Mapped, Skipped};
use crate::policy::stewards::{
    Assignment, Basis, Holder, PassedOver, Resolution, ReviewSettings, Role, Scope, ScopeKind,
    StewardsProblem, Stewardship, Who, Why,
};
use crate::values::codes::words;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::principal::Principal;
use crate::values::model::tag::Tag;

/// A scope: its kind, and its folder, tag or id.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ScopeReport {
    /// `document`, `folder`, `tag` or `vault`.
    pub scope: ScopeKind,
    /// Id, folder with a final `/`, or tag; absent for the vault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Key that identifies a scope: its kind and name.
pub(crate) type ScopeKey = (ScopeKind, Option<String>);

impl From<&Scope> for ScopeReport {
    fn from(scope: &Scope) -> Self {
        Self { scope: scope.kind(), name: scope.name() }
    }
}

/// Source of the stewards.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct BasisReport<'s> {
    /// `sealed`, `never`, `retired`, `invalid` or `unreadable`.
    pub state: &'s Basis,
    /// Version of `stewards.yaml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// First checkpoint at which the version is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<CheckpointNumber>,
    /// Problems of `stewards.yaml`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<PlacedProblem>,
    /// Reason why `stewards.yaml` cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// True if the live file differs; for the last checkpoint only.
    live_differs: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct PlacedProblem {
    /// Stable code.
    code: &'static str,
    /// Number of the line in the file, from 1.
    line: usize,
    /// Number of the column, from 1.
    column: usize,
    /// Description of the problem.
    message: String,
}

impl<'s> BasisReport<'s> {
    fn new(state: &'s Basis, live_differs: bool) -> Self {
        let (mut version, mut since, mut problems, mut reason) = (None, None, Vec::new(), None);
        let problem = |problem: &StewardsProblem| PlacedProblem {
            code: problem.code(),
            line: problem.line,
            column: problem.column,
            message: problem.kind.to_string(),
        };
        match state {
            Basis::Never | Basis::Retired => {}
            Basis::Sealed { version: of, since: from } => {
                (version, since) = (Some(*of), Some(*from));
            }
            Basis::Invalid { version: of, problems: found } => {
                version = Some(*of);
                problems.extend(found.iter().map(problem));
            }
            Basis::Unreadable(why) => reason = Some(why.to_string()),
        }
        Self { state, version, since, problems, reason, live_differs }
    }
}

/// The answer of `steward list`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct StewardsReport<'s> {
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Source of the stewards.
    basis: BasisReport<'s>,
    /// Assignments in the order of the scopes: documents, folders, tags, the vault.
    pub assignments: Vec<AssignmentReport<'s>>,
    /// Groups by name.
    pub groups: Vec<GroupReport<'s>>,
    /// Entries of `review`, in the order of the scopes.
    pub review: Vec<ReviewEntryReport>,
}

impl StewardsReport<'_> {
    /// Removes other scopes, and groups without a role at the remaining scopes.
    ///
    /// Returns the number of removed scopes.
    pub(crate) fn keep(&mut self, own: &BTreeSet<ScopeKey>) -> usize {
        let key = ScopeReport::key;
        let assigned = self.assignments.iter().map(|one| key(&one.scope));
        let all: BTreeSet<_> =
            assigned.chain(self.review.iter().map(|one| key(&one.scope))).collect();
        self.assignments.retain(|one| own.contains(&key(&one.scope)));
        self.review.retain(|one| own.contains(&key(&one.scope)));
        let groups: BTreeSet<&str> = self.assignments.iter().filter_map(|one| one.group).collect();
        self.groups.retain(|group| groups.contains(group.name));
        all.difference(own).count()
    }
}

/// Returns the key of a scope.
pub(crate) fn scope_key(scope: &Scope) -> ScopeKey {
    ScopeReport::from(scope).key()
}

impl ScopeReport {
    /// Returns the key of the scope.
    pub(super) fn key(&self) -> ScopeKey {
        (self.scope, self.name.clone())
    }
}

/// One assignment.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct AssignmentReport<'s> {
    /// Scope of the assignment.
    #[serde(flatten)]
    pub scope: ScopeReport,
    /// Assigned role.
    pub role: Role,
    /// Name of the principal, if the assignment is to a principal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<&'s str>,
    /// Name of the group, if the assignment is to a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'s str>,
    /// Number of the line in `stewards.yaml`.
    line: usize,
}

/// A group.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct GroupReport<'s> {
    /// Name of the group.
    pub name: &'s str,
    /// Members in the order of the file.
    pub members: Vec<&'s str>,
}

/// An entry of `review`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ReviewEntryReport {
    /// Scope of the entry.
    #[serde(flatten)]
    pub scope: ScopeReport,
    /// Number of reviewers who must approve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<u32>,
    /// Number of days after which an approval must be renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age_days: Option<u64>,
}

impl Report for StewardsReport<'_> {
    const SCHEMA: &'static str = "steward.list";
}

impl<'s> StewardsReport<'s> {
    /// Reports the stewards of a checkpoint.
    pub(crate) fn new(found: &'s StewardsAt) -> Self {
        let stewards = &found.in_force.stewards;
        let of = |at: &'s Stewardship| {
            let mut all: Vec<&Assignment> = at.assignments.iter().collect();
            all.sort_by_cached_key(|one| (std::cmp::Reverse(one.role), one.who.to_string()));
            all.into_iter().map(|one| AssignmentReport::new(&at.scope, one))
        };
        let group = |(name, group): (&'s str, &'s crate::policy::stewards::Group)| GroupReport {
            name,
            members: group.members.iter().map(Principal::as_str).collect(),
        };
        let entry =
            |(scope, entry): &(Scope, crate::policy::stewards::ReviewEntry)| ReviewEntryReport {
                scope: scope.into(),
                required: entry.required,
                max_age_days: entry.max_age,
            };
        Self {
            checkpoint: found.checkpoint,
            basis: BasisReport::new(&found.in_force.basis, found.is_edited),
            assignments: stewards.scopes().flat_map(of).collect(),
            groups: stewards.groups().map(group).collect(),
            review: stewards.review_entries().map(entry).collect(),
        }
    }
}

impl<'s> AssignmentReport<'s> {
    fn new(scope: &Scope, one: &'s Assignment) -> Self {
        let (principal, group) = match &one.who {
            Who::Principal(principal) => (Some(principal.as_str()), None),
            Who::Group(name) => (None, Some(name.as_str())),
        };
        let (role, line) = (one.role, one.line);
        Self { scope: scope.into(), role, principal, group, line }
    }
}

words! {
    /// The text whose tags select the stewards.
    enum TextBasis {
        /// Text of the live file.
        Live = "live",
        /// Published text.
        Published = "published",
    }
}

/// The answer of `steward who`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct WhoReport<'s> {
    /// Id of the artifact.
    id: &'s DocumentId,
    /// Number of the checkpoint; 0 is the empty vault.
    checkpoint: CheckpointNumber,
    /// Source of the stewards.
    basis: BasisReport<'s>,
    /// Text whose tags select the stewards: `live` or `published`.
    text: TextBasis,
    /// Tags that select the stewards.
    tags: &'s [Tag],
    /// Scope that decides; null if no scope matches, not even that of the vault.
    matched: Option<ScopeReport>,
    /// Stewards at the scope that decides.
    stewards: Vec<HolderReport<'s>>,
    /// Other scopes that match.
    passed_over: Vec<PassedOverReport>,
    /// Settings of reviews at the scope.
    review: ReviewReport,
    /// Scope that the tags of the published text select, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<ScopeReport>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct HolderReport<'s> {
    /// Name of the principal.
    principal: &'s str,
    /// `viewer`, `editor` or `reviewer`.
    role: Role,
    /// Group that gives the principal the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'s str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct PassedOverReport {
    #[serde(flatten)]
    scope: ScopeReport,
    /// Reason: `unassigned`, `later` or `vault-only`.
    reason: Why,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct ReviewReport {
    /// Number of reviewers who must approve.
    required: u32,
    /// Number of days after which an approval must be renewed; null without a limit.
    max_age_days: Option<u64>,
}

impl From<ReviewSettings> for ReviewReport {
    fn from(settings: ReviewSettings) -> Self {
        Self { required: settings.required, max_age_days: settings.max_age }
    }
}

impl Report for WhoReport<'_> {
    const SCHEMA: &'static str = "steward.who";
}

/// An artifact whose stewards `steward who` reports.
#[derive(Clone, Copy)]
pub struct Asked<'s> {
    /// Id of the artifact.
    pub id: &'s DocumentId,
    /// Stewards of the checkpoint.
    pub(crate) found: &'s StewardsAt,
    /// Tags that select the stewards.
    pub tags: &'s [Tag],
    /// True if the tags are those of the live file.
    pub is_live: bool,
}

impl<'s> WhoReport<'s> {
    /// Reports the stewards of an artifact.
    ///
    /// `published` is the scope that the published tags select, if it is another one.
    pub fn new(asked: Asked<'s>, found: &Resolution<'s>, published: Option<&Scope>) -> Self {
        let holder = |holder: Holder<'s>| HolderReport {
            principal: holder.principal.as_str(),
            role: holder.role,
            group: holder.group,
        };
        let passed_over = |passed: &PassedOver| PassedOverReport {
            scope: (&passed.scope).into(),
            reason: passed.why,
        };
        Self {
            id: asked.id,
            checkpoint: asked.found.checkpoint,
            basis: BasisReport::new(&asked.found.in_force.basis, asked.found.is_edited),
            text: if asked.is_live { TextBasis::Live } else { TextBasis::Published },
            tags: asked.tags,
            matched: found.matched.map(|matched| (&matched.scope).into()),
            stewards: found.holders().into_iter().map(holder).collect(),
            passed_over: found.passed_over.iter().map(passed_over).collect(),
            review: found.review.into(),
            published: published.map(Into::into),
        }
    }
}

/// The answer of `steward import`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ImportReport<'i> {
    /// Lines that became scopes.
    mapped: Vec<MappedReport<'i>>,
    /// Lines that did not become scopes.
    skipped: Vec<SkippedReport<'i>>,
    #[serde(flatten)]
    event: EventReport<'i>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct MappedReport<'i> {
    /// Number of the line in the file, from 1.
    line: usize,
    #[serde(flatten)]
    scope: ScopeReport,
    /// Reviewers of the scope.
    reviewers: Vec<&'i str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct SkippedReport<'i> {
    /// Number of the line in the file, from 1.
    line: usize,
    /// Text of the line.
    text: &'i str,
    /// Reason why the line was skipped, as a sentence.
    reason: &'i str,
}

impl Report for ImportReport<'_> {
    const SCHEMA: &'static str = "steward.import";
}

impl<'i> ImportReport<'i> {
    /// Reports the mapped and skipped lines, and the event.
    pub(crate) fn new(imported: &'i Imported, event: EventReport<'i>) -> Self {
        let mapped = |one: &'i Mapped| MappedReport {
            line: one.line,
            scope: (&one.scope).into(),
            reviewers: one.reviewers.iter().map(Principal::as_str).collect(),
        };
        let skipped =
            |one: &'i Skipped| SkippedReport { line: one.line, text: &one.text, reason: &one.why };
        Self {
            mapped: imported.mapped.iter().map(mapped).collect(),
            skipped: imported.skipped.iter().map(skipped).collect(),
            event,
        }
    }
}

/// The answer of `steward export`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct ExportReport<'e> {
    /// Checkpoint of the stewards.
    pub checkpoint: CheckpointNumber,
    /// Text of the file.
    pub codeowners: &'e str,
}

impl Report for ExportReport<'_> {
    const SCHEMA: &'static str = "steward.export";
}
