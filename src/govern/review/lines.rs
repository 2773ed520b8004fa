//! What the change logs say of steps. A line of a step is written when all of its versions are
//! durable, so a step that some line names is whole. What no line names may be a part of a step whose
//! writer was interrupted, which only that writer's intent record explains (REV-10).

use std::collections::{BTreeMap, BTreeSet};

use crate::audit::{Change, Event, Logs};
use crate::checkpoint::state::PublishedSet;
use crate::model::id::DocumentId;
use crate::model::layout::AUDIT_DIR;
use crate::model::number::Version;
use crate::review::Track;
use crate::vault::Vault;
use crate::vault::files::FileError;

/// The lines of steps, by artifact.
#[derive(Debug, Default)]
pub(super) struct StepLines {
    of: BTreeMap<String, OfArtifact>,
    /// What events named and the maps lack: a retirement may be one in an emergency whose own line
    /// was not written.
    gone: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct OfArtifact {
    /// The last version that awaits, and the last that ends what awaits.
    begun: u64,
    ended: u64,
    /// The versions after the published one, with their chain hashes.
    named: BTreeSet<(u64, String)>,
    /// The sets that submissions belonged to.
    sets: BTreeSet<String>,
    /// That of the last submission.
    last_set: Option<(u64, Option<String>)>,
}

impl StepLines {
    /// Reads the change logs.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) fn read(vault: &Vault, state: &PublishedSet) -> Result<Self, FileError> {
        let mut lines = Self::default();
        let read = Logs::of_changes(vault)?.each(&mut |line| {
            if let Event::Change(change) = &line.event {
                lines.take(change, state);
            }
        });
        read.map_err(|source| FileError::Io {
            path: AUDIT_DIR.to_owned(),
            action: "read",
            source,
        })?;
        Ok(lines)
    }

    fn take(&mut self, change: &Change, state: &PublishedSet) {
        if let Change::Event { ids, .. } = change {
            self.gone.extend(ids.iter().filter(|id| state.get(id).is_none()).cloned());
        }
        let is_end = matches!(change, Change::Reject(_) | Change::Withdraw(_) | Change::Ratify(_));
        let Some(step) = change.step() else { return };
        for version in &step.versions {
            let published = state.get(&version.id).and_then(|mark| mark.version);
            let found = self.of.entry(version.id.clone()).or_default();
            let last = if is_end { &mut found.ended } else { &mut found.begun };
            *last = (*last).max(version.version);
            if version.version > published.map_or(0, |version| version.0) {
                found.named.insert((version.version, version.chain_hash.clone()));
            }
            if matches!(change, Change::Submit(_)) {
                found.sets.extend(step.change.clone());
                if found.last_set.as_ref().is_none_or(|(last, _)| *last < version.version) {
                    found.last_set = Some((version.version, step.change.clone()));
                }
            }
        }
    }

    /// The artifacts whose last submission no line names as decided, and no checkpoint holds as
    /// published; and those that were retired.
    pub(super) fn candidates(&self, state: &PublishedSet) -> Vec<DocumentId> {
        let is_open = |(id, found): &(&String, &OfArtifact)| {
            let published = state.get(id).and_then(|mark| mark.version).unwrap_or(Version::NONE);
            found.begun > found.ended && found.begun > published.0
        };
        let open = self.of.iter().filter(is_open).map(|(id, _)| id);
        let ids: BTreeSet<&String> = open.chain(&self.gone).collect();
        ids.into_iter().filter_map(|id| id.parse().ok()).collect()
    }

    /// The first of the steps at the end of a history that no line names.
    pub(super) fn first_unnamed(&self, track: &Track) -> Option<Version> {
        let found = self.of.get(track.id().as_str());
        let is_named = |version: Version, hash: String| {
            found.is_some_and(|found| found.named.contains(&(version.0, hash)))
        };
        let mut steps = track.tail.steps.iter();
        steps.find(|(version, hash)| !is_named(*version, hash.to_string())).map(|step| step.0)
    }

    /// The set that the last submission of an artifact belonged to, as its line says.
    pub(super) fn set_of(&self, id: &DocumentId) -> Option<&str> {
        self.of.get(id.as_str())?.last_set.as_ref()?.1.as_deref()
    }

    /// The artifacts of which some submission belonged to a set.
    pub(super) fn ever_in(&self, set: &str) -> impl Iterator<Item = DocumentId> {
        let is_in = |(_, found): &(&String, &OfArtifact)| found.sets.contains(set);
        self.of.iter().filter(is_in).filter_map(|(id, _)| id.parse().ok())
    }
}
