//! Report of all roles, and of the last change of each principal.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Report;
use super::stewards::{ScopeKey, ScopeReport};
use crate::policy::stewards::Role;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::principal::PrincipalKey;
use crate::write::publish::review::access::{Access, Lapsed};

/// The answer of `owners --access-review`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct AccessReport<'a> {
    /// Every principal in `stewards.yaml` or in the change log, by name.
    pub principals: Vec<PrincipalReport<'a>>,
    /// Approvals of pending submissions whose reviewers have lost the role.
    pub lapsed_approvals: Vec<LapsedReport<'a>>,
}

/// A principal.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PrincipalReport<'a> {
    /// Name of the principal.
    pub principal: &'a str,
    /// Role at each scope that assigns one.
    pub roles: Vec<RoleReport>,
    /// Time of the principal's last recorded change, in UTC; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<&'a str>,
    /// Action of that change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_action: Option<&'static str>,
}

/// A role at a scope.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct RoleReport {
    /// Scope of the role.
    #[serde(flatten)]
    pub scope: ScopeReport,
    /// `viewer`, `editor` or `reviewer`.
    pub role: Role,
}

/// An approval that is no longer valid.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct LapsedReport<'a> {
    /// Id of the artifact.
    pub id: &'a DocumentId,
    /// Version of the submission.
    pub version: Version,
    /// Reviewer who approved it.
    pub by: &'a str,
    /// Reason why the approval is not valid, as a sentence.
    pub why: &'a str,
}

impl Report for AccessReport<'_> {
    const SCHEMA: &'static str = "owners.access";
}

impl AccessReport<'_> {
    /// Removes rows that a reader without access to `stewards.yaml` may not see (REV-25).
    ///
    /// Roles at the reader's own scopes and the reader's own last change remain.
    pub(crate) fn keep(&mut self, own: &BTreeSet<ScopeKey>, who: &PrincipalKey) {
        for one in &mut self.principals {
            one.roles.retain(|role| own.contains(&role.scope.key()));
            if PrincipalKey::of(one.principal) != *who {
                (one.last_at, one.last_action) = (None, None);
            }
        }
        self.principals
            .retain(|one| !one.roles.is_empty() || PrincipalKey::of(one.principal) == *who);
    }
}

impl<'a> AccessReport<'a> {
    pub(crate) fn new(all: &'a [Access], lapsed: &'a [Lapsed]) -> Self {
        let principal = |one: &'a Access| PrincipalReport {
            principal: &one.principal,
            roles: one
                .roles
                .iter()
                .map(|(scope, role)| RoleReport { scope: scope.into(), role: *role })
                .collect(),
            last_at: one.last.as_ref().map(|(at, _)| at.as_str()),
            last_action: one.last.as_ref().map(|(_, action)| *action),
        };
        let lapse = |one: &'a Lapsed| {
            let Lapsed { id, version, by, why } = one;
            LapsedReport { id, version: *version, by, why }
        };
        Self {
            principals: all.iter().map(principal).collect(),
            lapsed_approvals: lapsed.iter().map(lapse).collect(),
        }
    }
}
