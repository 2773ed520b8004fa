//! Stewards: what is assigned, and who decides about an artifact.

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
pub struct ScopeReport {
    /// `document`, `folder`, `tag` or `vault`.
    pub scope: ScopeKind,
    /// The id, the folder with a final `/`, or the tag; absent of the vault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A scope as it is compared: its kind and its name.
pub(crate) type ScopeKey = (ScopeKind, Option<String>);

impl From<&Scope> for ScopeReport {
    fn from(scope: &Scope) -> Self {
        Self { scope: scope.kind(), name: scope.name() }
    }
}

/// What stewards are read from.
#[derive(Debug, Serialize)]
pub struct BasisReport<'s> {
    /// `sealed`, `never`, `retired`, `invalid` or `unreadable`.
    pub state: &'s Basis,
    /// The version of `stewards.yaml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The first checkpoint from which on it is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<CheckpointNumber>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<PlacedProblem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Whether the live file says something else; of the last checkpoint.
    live_differs: bool,
}

#[derive(Debug, Serialize)]
struct PlacedProblem {
    code: &'static str,
    line: usize,
    column: usize,
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
pub struct StewardsReport<'s> {
    checkpoint: CheckpointNumber,
    basis: BasisReport<'s>,
    /// In the order of the scopes: documents, folders, tags, the vault.
    pub assignments: Vec<AssignmentReport<'s>>,
    /// The groups by name.
    pub groups: Vec<GroupReport<'s>>,
    /// What `review` says, in the order of the scopes.
    pub review: Vec<ReviewEntryReport>,
}

impl StewardsReport<'_> {
    /// Leaves only scopes of these, and the groups that have a role there; gives how many scopes are
    /// left out.
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

/// A scope by its kind and name.
pub(crate) fn scope_key(scope: &Scope) -> ScopeKey {
    ScopeReport::from(scope).key()
}

impl ScopeReport {
    /// Its kind and name.
    pub(super) fn key(&self) -> ScopeKey {
        (self.scope, self.name.clone())
    }
}

/// One assignment.
#[derive(Debug, Serialize)]
pub struct AssignmentReport<'s> {
    /// Its scope.
    #[serde(flatten)]
    pub scope: ScopeReport,
    /// The role.
    pub role: Role,
    /// Of an assignment to a principal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<&'s str>,
    /// Of an assignment to a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'s str>,
    line: usize,
}

/// A group.
#[derive(Debug, Serialize)]
pub struct GroupReport<'s> {
    /// Its name.
    pub name: &'s str,
    /// Its members in the order of the file.
    pub members: Vec<&'s str>,
}

/// An entry of `review`.
#[derive(Debug, Serialize)]
pub struct ReviewEntryReport {
    /// Its scope.
    #[serde(flatten)]
    pub scope: ScopeReport,
    /// How many reviewers have to approve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<u32>,
    /// After how many days an approval is due again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age_days: Option<u64>,
}

impl Report for StewardsReport<'_> {
    const SCHEMA: &'static str = "steward.list";
}

impl<'s> StewardsReport<'s> {
    /// The stewards of a checkpoint.
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
    /// The text whose tags count.
    enum TextBasis {
        /// That of the live file.
        Live = "live",
        /// The published one.
        Published = "published",
    }
}

/// The answer of `steward who`.
#[derive(Debug, Serialize)]
pub struct WhoReport<'s> {
    id: &'s DocumentId,
    checkpoint: CheckpointNumber,
    basis: BasisReport<'s>,
    /// `live` or `published`: the text whose tags count.
    text: TextBasis,
    tags: &'s [Tag],
    /// Null where not even the vault has a steward.
    matched: Option<ScopeReport>,
    stewards: Vec<HolderReport<'s>>,
    passed_over: Vec<PassedOverReport>,
    review: ReviewReport,
    /// The scope that the tags of the published text select, where it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<ScopeReport>,
}

#[derive(Debug, Serialize)]
struct HolderReport<'s> {
    principal: &'s str,
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'s str>,
}

#[derive(Debug, Serialize)]
struct PassedOverReport {
    #[serde(flatten)]
    scope: ScopeReport,
    reason: Why,
}

#[derive(Debug, Serialize)]
struct ReviewReport {
    required: u32,
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

/// What `steward who` answers about.
#[derive(Clone, Copy)]
pub struct Asked<'s> {
    /// The artifact.
    pub id: &'s DocumentId,
    /// The stewards.
    pub(crate) found: &'s StewardsAt,
    /// The tags that count.
    pub tags: &'s [Tag],
    /// Whether they are of the live file.
    pub is_live: bool,
}

impl<'s> WhoReport<'s> {
    /// Who decides about an artifact; `published` is the scope that its published tags select, where
    /// it is another one.
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
pub struct ImportReport<'i> {
    mapped: Vec<MappedReport<'i>>,
    skipped: Vec<SkippedReport<'i>>,
    #[serde(flatten)]
    event: EventReport<'i>,
}

#[derive(Debug, Serialize)]
struct MappedReport<'i> {
    line: usize,
    #[serde(flatten)]
    scope: ScopeReport,
    reviewers: Vec<&'i str>,
}

#[derive(Debug, Serialize)]
struct SkippedReport<'i> {
    line: usize,
    text: &'i str,
    reason: &'i str,
}

impl Report for ImportReport<'_> {
    const SCHEMA: &'static str = "steward.import";
}

impl<'i> ImportReport<'i> {
    /// What was mapped and skipped, and the event.
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
pub struct ExportReport<'e> {
    /// The checkpoint whose stewards these are.
    pub checkpoint: CheckpointNumber,
    /// The text of the file.
    pub codeowners: &'e str,
}

impl Report for ExportReport<'_> {
    const SCHEMA: &'static str = "steward.export";
}
