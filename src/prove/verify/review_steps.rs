//! Steps of reviews that lines of change logs name: the histories must contain these versions
//! (AUDIT-22). No map seals a pending step, so nothing else would detect its loss.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Code, Finding};
use crate::policy::rules::StepKind;
use crate::record::audit::past::PastLogs;
use crate::record::audit::{Change, Line, VersionRef};
use crate::record::chain::history::History;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::AUDIT_DIR;
use crate::values::model::number::Version;

/// Versions that lines of change logs name, by artifact.
#[derive(Debug, Default)]
pub struct Steps {
    named: BTreeMap<String, Vec<Named>>,
    /// Artifacts of each set of submissions, by its name.
    sets: BTreeMap<String, BTreeSet<String>>,
    /// True if at least one line was read.
    is_begun: bool,
    /// Times at which the log was declared to be valid, each with the line.
    declared: Vec<(String, String)>,
}

/// Kind of version that a line of a change log names (AUDIT-37).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedKind {
    /// A step of a review.
    Step(StepKind),
    /// An emergency retirement.
    Emergency,
}

impl NamedKind {
    /// Returns the kind of the versions that a change names.
    fn by(change: &Change) -> Self {
        Self::Step(match change {
            Change::ApproveInPart(_) => StepKind::ApprovedInPart,
            Change::Reject(_) => StepKind::Rejected,
            Change::Withdraw(_) => StepKind::Withdrawn,
            Change::Ratify(_) => StepKind::Ratified,
            Change::Emergency(_) => return Self::Emergency,
            _ => StepKind::Submitted,
        })
    }

    /// Returns the word of the kind in messages.
    fn as_str(self) -> &'static str {
        match self {
            Self::Step(kind) => kind.as_str(),
            Self::Emergency => "retired in an emergency",
        }
    }
}

/// A version that a line names.
#[derive(Debug)]
struct Named {
    /// Kind of step that the line claims.
    said: NamedKind,
    version: Version,
    chain_hash: String,
    /// Writer and number of the line.
    line: (String, u64),
    trace: String,
    at: String,
    /// Later line that declares the log valid.
    replaced: Option<String>,
}

impl Steps {
    /// Records that a line exists, whatever it contains.
    pub(super) fn begin(&mut self) {
        self.is_begun = true;
    }

    /// Returns true if changes are recorded, so that each step must have a line.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Returns true if a line names a version with this chain hash.
    pub(super) fn names(&self, id: &DocumentId, version: Version, chain_hash: &Digest) -> bool {
        let mut named = self.named.get(id.as_str()).into_iter().flatten();
        named.any(|one| one.version == version && one.chain_hash == chain_hash.to_string())
    }

    /// Records the versions that a line names.
    pub(super) fn take(&mut self, line: &Line, change: &Change) {
        if let Some(set) = change.step().and_then(|step| step.change.as_ref()) {
            let ids = change.versions().iter().map(|version| version.id.clone());
            self.sets.entry(set.clone()).or_default().extend(ids);
        }
        for version in change.versions() {
            self.named.entry(version.id.clone()).or_default().push(Named {
                said: NamedKind::by(change),
                version: Version(version.version),
                chain_hash: version.chain_hash.clone(),
                line: (line.writer.clone(), line.seq),
                trace: line.trace().to_string(),
                at: line.at.clone(),
                replaced: None,
            });
        }
    }

    /// Records the times at which the log was declared to be valid, each with the line.
    pub(super) fn excuse(&mut self, declared: Vec<(String, String)>) {
        self.declared = declared;
        for named in self.named.values_mut().flatten() {
            named.replaced = excuse(&self.declared, &named.at).map(str::to_owned);
        }
    }

    /// Returns true if nothing would show that the log was replaced after a time: changes are
    /// recorded, and no line declares the log valid after that time.
    pub(super) fn bind_at(&self, at: &str) -> bool {
        self.is_begun && excuse(&self.declared, at).is_none()
    }

    /// Returns the line that declares the log valid at or after a time.
    pub(super) fn declared_at(&self, at: &str) -> Option<&str> {
        excuse(&self.declared, at)
    }

    /// Returns true if a line `submit` names a version.
    pub(super) fn submit(&self, version: &VersionRef) -> bool {
        let mut named = self.named.get(&version.id).into_iter().flatten();
        named.any(|one| {
            one.said == NamedKind::Step(StepKind::Submitted)
                && one.version.0 == version.version
                && one.chain_hash == version.chain_hash
        })
    }

    /// Returns the artifacts that lines name which earlier logs lack.
    pub(super) fn named_after(&self, logs: &PastLogs) -> BTreeSet<&str> {
        let is_new = |(_, named): &(&String, &Vec<Named>)| {
            named.iter().any(|one| !logs.has_line(&one.line.0, one.line.1))
        };
        self.named.iter().filter(is_new).map(|(id, _)| id.as_str()).collect()
    }

    /// Returns the artifacts of all sets of submissions that contain one of these artifacts.
    pub(super) fn in_changes_with(&self, ids: &BTreeSet<DocumentId>) -> BTreeSet<&str> {
        let is_met = |set: &&BTreeSet<String>| ids.iter().any(|id| set.contains(id.as_str()));
        self.sets.values().filter(is_met).flatten().map(String::as_str).collect()
    }

    /// Reports the versions of an artifact that are not of the kind that lines claim. `kind`
    /// returns `None` for an unknown version.
    pub fn mistaken(
        &self,
        id: &DocumentId,
        kind: impl Fn(Version, &str) -> Option<NamedKind>,
    ) -> Vec<Finding> {
        let named = self.named.get(id.as_str()).into_iter().flatten();
        let found = named.filter_map(|named| {
            let found =
                kind(named.version, &named.chain_hash).filter(|found| *found != named.said)?;
            Some(named.mistaken(id, found))
        });
        found.collect()
    }

    /// Returns the artifacts that lines name, and the findings about names that are not ids.
    pub fn ids(&self) -> (Vec<DocumentId>, Vec<Finding>) {
        let (mut ids, mut findings) = (Vec::new(), Vec::new());
        for (name, named) in &self.named {
            match name.parse() {
                Ok(id) => ids.push(id),
                Err(_) => findings.extend(named.iter().map(|named| named.finding(name, false))),
            }
        }
        (ids, findings)
    }

    /// Reports the versions of an artifact that lines name and its history lacks or records with
    /// another hash. A version that is aside counts (MERGE-19).
    pub(super) fn contradicted(
        &self,
        id: &DocumentId,
        history: Option<&History>,
        is_aside: impl Fn(Version, &str) -> bool,
    ) -> Vec<Finding> {
        let chain_hash = |version| Some(history?.entry(version)?.chain_hash);
        self.contradictions(id, chain_hash, is_aside)
    }

    /// Reports such versions, given the chain hashes of the history.
    pub fn contradictions(
        &self,
        id: &DocumentId,
        chain_hash: impl Fn(Version) -> Option<Digest>,
        is_aside: impl Fn(Version, &str) -> bool,
    ) -> Vec<Finding> {
        let named = self.named.get(id.as_str()).into_iter().flatten();
        let found = named.filter_map(|named| {
            let found = chain_hash(named.version).map(|hash| hash.to_string());
            let is_held = found.as_ref() == Some(&named.chain_hash)
                || is_aside(named.version, &named.chain_hash);
            (!is_held).then(|| named.finding(id.as_str(), found.is_some()).id(id))
        });
        found.collect()
    }
}

/// Returns the line that declares the log valid at or after a time.
fn excuse<'d>(declared: &'d [(String, String)], at: &str) -> Option<&'d str> {
    // Times are written in one form, so they compare as texts.
    declared.iter().find(|(when, _)| when.as_str() >= at).map(|(_, by)| by.as_str())
}

impl Named {
    fn mistaken(&self, id: &DocumentId, found: NamedKind) -> Finding {
        let Self { said, version, trace, .. } = self;
        let message = format!(
            "line {trace} says that version {version} of `{id}` is {}, but it is {}",
            said.as_str(),
            found.as_str()
        );
        Finding::new(Code::AuditContradicts, AUDIT_DIR, message).version(*version).id(id)
    }

    fn finding(&self, id: &str, is_there: bool) -> Finding {
        let Self { version, trace, .. } = self;
        let has = if is_there { "has another in its place" } else { "lacks it" };
        let id = id.escape_debug();
        let message =
            format!("line {trace} names version {version} of `{id}`, whose history {has}");
        let (code, message) = match &self.replaced {
            Some(by) => {
                let message = format!("{message}; line {by} trusts the log as it is");
                (Code::AuditReplaced, message)
            }
            None => (Code::AuditContradicts, message),
        };
        Finding::new(code, AUDIT_DIR, message).version(*version)
    }
}
