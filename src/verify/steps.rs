//! What change logs say of the steps of reviews: each names versions, and the histories must have
//! them (AUDIT-22). No map seals a step that awaits a decision, so that nothing else would miss it.

use std::collections::BTreeMap;

use super::finding::{Code, Finding};
use crate::audit::Line;
use crate::chain::history::History;
use crate::model::digest::Digest;
use crate::model::id::DocumentId;
use crate::model::layout::AUDIT_DIR;
use crate::model::number::Version;

/// The versions that lines of change logs name, by artifact.
#[derive(Debug, Default)]
pub struct Steps {
    named: BTreeMap<String, Vec<Named>>,
    /// Whether there are lines.
    is_begun: bool,
}

/// A version that a line names.
#[derive(Debug)]
struct Named {
    version: Version,
    chain_hash: String,
    trace: String,
    at: String,
    /// The later line that declares that the log counts as it is.
    replaced: Option<String>,
}

impl Steps {
    /// Takes that there is a line, whatever it says.
    pub(super) fn begin(&mut self) {
        self.is_begun = true;
    }

    /// Whether changes are recorded, so that each step has a line.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Whether a line names a version, with this chain hash.
    pub(super) fn names(&self, id: &DocumentId, version: Version, chain_hash: &Digest) -> bool {
        let mut named = self.named.get(id.as_str()).into_iter().flatten();
        named.any(|one| one.version == version && one.chain_hash == chain_hash.to_string())
    }

    /// Takes the versions that a line names.
    pub(super) fn take(&mut self, line: &Line, versions: &[crate::audit::VersionRef]) {
        for version in versions {
            self.named.entry(version.id.clone()).or_default().push(Named {
                version: Version(version.version),
                chain_hash: version.chain_hash.clone(),
                trace: line.trace().to_string(),
                at: line.at.clone(),
                replaced: None,
            });
        }
    }

    /// Takes when, and by which line, the log was declared to count as it is.
    pub(super) fn excuse(&mut self, declared: &[(String, String)]) {
        for named in self.named.values_mut().flatten() {
            // Times are written in one form, so that they compare as texts.
            let by = declared.iter().find(|(when, _)| *when >= named.at);
            named.replaced = by.map(|(_, by)| by.clone());
        }
    }

    /// The artifacts that lines name, and what is to be found of names that are no ids.
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

    /// The versions of an artifact that lines name and its history lacks, or has otherwise.
    pub(super) fn contradicted(&self, id: &DocumentId, history: Option<&History>) -> Vec<Finding> {
        self.contradictions(id, |version| Some(history?.entry(version)?.chain_hash))
    }

    /// The same, of a history with these chain hashes.
    pub fn contradictions(
        &self,
        id: &DocumentId,
        chain_hash: impl Fn(Version) -> Option<Digest>,
    ) -> Vec<Finding> {
        let named = self.named.get(id.as_str()).into_iter().flatten();
        let found = named.filter_map(|named| {
            let found = chain_hash(named.version).map(|hash| hash.to_string());
            let is_held = found.as_ref() == Some(&named.chain_hash);
            (!is_held).then(|| named.finding(id.as_str(), found.is_some()).id(id))
        });
        found.collect()
    }
}

impl Named {
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
