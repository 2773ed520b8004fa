//! What the change logs say of steps. A line of a step is written when all of its versions are
//! durable, so a step that some line names is whole. What no line names may be a part of a step whose
//! writer was interrupted, which only that writer's intent record explains (REV-10).

use std::collections::{BTreeMap, BTreeSet};

use super::candidates::Maps;
use crate::audit::{Change, Event, HeadRef, Line, Logs};
use crate::model::digest::Digest;
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
    /// Whether every line could be read.
    is_sound: bool,
}

/// What lines say of an artifact.
#[derive(Debug, Default)]
pub(super) struct OfArtifact {
    /// The last version that awaits a decision.
    pub(super) begun: u64,
    /// The last one that ends what awaits.
    pub(super) ended: u64,
    /// The end of the log before the last version that awaits.
    pub(super) head: Option<HeadRef>,
    /// The last version that retired the artifact in an emergency. What is submitted upon it, and
    /// ends, does not end it: only another reviewer does, or what is published later.
    pub(super) emergency: u64,
    /// The last one that ratified such a version.
    pub(super) ratified: u64,
    /// The versions after the published one, with their chain hashes.
    named: BTreeSet<(u64, String)>,
    /// The sets that submissions after the published version belonged to.
    sets: BTreeSet<String>,
    /// That of the last submission.
    last_set: Option<(u64, Option<String>)>,
}

impl StepLines {
    /// Reads the change logs.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) fn read(vault: &Vault, maps: &Maps<'_>) -> Result<Self, FileError> {
        let mut lines = Self::default();
        let logs = Logs::of_changes(vault);
        let read = logs.and_then(|logs| logs.steps(&mut |line| lines.take(&line, maps)));
        let faults = read.map_err(FileError::io("read", AUDIT_DIR))?;
        lines.is_sound = faults.is_empty();
        Ok(lines)
    }

    fn take(&mut self, line: &Line, maps: &Maps<'_>) {
        let Event::Change(change) = &line.event else { return };
        let Some(step) = change.step() else { return };
        for version in &step.versions {
            let Ok(id) = version.id.parse::<DocumentId>() else { continue };
            let found = self.of.entry(version.id.clone()).or_default();
            match change {
                Change::Emergency(_) => found.emergency = found.emergency.max(version.version),
                Change::Ratify(_) => found.ratified = found.ratified.max(version.version),
                Change::Reject(_) | Change::Withdraw(_) => {
                    found.ended = found.ended.max(version.version);
                }
                _ if version.version >= found.begun => {
                    found.begun = version.version;
                    found.head.clone_from(&line.request.head);
                }
                _ => {}
            }
            if version.version > maps.version(&id).map_or(0, |version| version.0) {
                if matches!(change, Change::Submit(_)) {
                    found.sets.extend(step.change.clone());
                }
                found.named.insert((version.version, version.chain_hash.clone()));
            }
            let is_last = found.last_set.as_ref().is_none_or(|(last, _)| *last < version.version);
            if matches!(change, Change::Submit(_)) && is_last {
                found.last_set = Some((version.version, step.change.clone()));
            }
        }
    }

    /// Whether every line could be read.
    pub(super) fn is_sound(&self) -> bool {
        self.is_sound
    }

    /// What lines say of each artifact, in byte order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &OfArtifact)> {
        self.of.iter()
    }

    /// Whether a line names a version after the published one, with this chain hash.
    pub(super) fn names(&self, id: &DocumentId, version: Version, chain_hash: &Digest) -> bool {
        let found = self.of.get(id.as_str());
        found.is_some_and(|found| found.named.contains(&(version.0, chain_hash.to_string())))
    }

    /// The first of the steps at the end of a history that no line names.
    pub(super) fn first_unnamed(&self, track: &Track) -> Option<Version> {
        let mut steps = track.tail.steps.iter();
        let unnamed = steps.find(|(version, hash)| !self.names(track.id(), *version, hash));
        unnamed.map(|step| step.0)
    }

    /// Whether a line says that what awaits a decision by its history was rejected, withdrawn or
    /// ratified: then the history has lost its end, as older files in its place leave it.
    pub(super) fn has_decided(&self, track: &Track) -> bool {
        let Some(found) = self.of.get(track.id().as_str()) else { return false };
        match (&track.pending, &track.emergency) {
            (Some(pending), _) => found.ended >= pending.last.0.0,
            (None, Some(emergency)) => found.ratified >= emergency.version.0,
            (None, None) => false,
        }
    }

    /// The set that the last submission of an artifact belonged to, as its line says.
    pub(super) fn set_of(&self, id: &DocumentId) -> Option<&str> {
        self.of.get(id.as_str())?.last_set.as_ref()?.1.as_deref()
    }

    /// The artifacts of which a submission after the published version belonged to a set.
    pub(super) fn since_published_in(&self, set: &str) -> impl Iterator<Item = DocumentId> {
        let is_in = |(_, found): &(&String, &OfArtifact)| found.sets.contains(set);
        self.of.iter().filter(is_in).filter_map(|(id, _)| id.parse().ok())
    }
}
