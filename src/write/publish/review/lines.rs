//! The steps in the change logs. The line of a step is written when all of its versions are
//! durable, so a step with a line is complete. A step without a line may be incomplete: its writer
//! was interrupted, and only that writer's intent record explains it (REV-10).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::candidates::Maps;
use super::lost::{Dismissed, Submitted};
use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::policy::rules::Track;
use crate::record::audit::{Change, Event, HeadRef, Line, Logs};
use crate::record::chain::error::ChainError;
use crate::record::chain::replay;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::AUDIT_DIR;
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;

/// The steps in the change logs, by artifact.
#[derive(Debug, Default)]
pub(super) struct StepLines {
    of: BTreeMap<String, OfArtifact>,
    /// True if every line could be read.
    is_sound: bool,
    /// The ids that submissions of moves link, in both directions.
    ///
    /// Moves of a branch that a merge gave up are included.
    pub(super) moves: BTreeMap<DocumentId, BTreeSet<DocumentId>>,
    /// The artifacts by the spellings that they claim, computed on first use.
    claimed: OnceLock<BTreeMap<String, Vec<DocumentId>>>,
    /// The submissions that reviewers dismissed, read on first use.
    pub(super) dismissed: OnceLock<Dismissed>,
}

/// The lines about one artifact.
#[derive(Debug, Default)]
pub(super) struct OfArtifact {
    /// The last version that awaits a decision.
    pub(super) begun: u64,
    /// The last version that ends a submission.
    pub(super) ended: u64,
    /// Time of the last line of each of the two: a history that was replaced by an older one counts
    /// its versions from there.
    begun_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    /// The head of the log before the last version that awaits a decision.
    pub(super) head: Option<HeadRef>,
    /// The last version that retired the artifact in an emergency.
    ///
    /// Only another reviewer, or a later publication, ends it; a submission based on it does not.
    pub(super) emergency: u64,
    /// The last version that ratified an emergency retirement.
    pub(super) ratified: u64,
    /// The versions after the published one, with their chain hashes.
    named: BTreeSet<(u64, String)>,
    /// Every submission.
    pub(super) submitted: Vec<Submitted>,
    /// The sets of the submissions after the published version.
    sets: BTreeSet<String>,
    /// Version and set of the last submission.
    last_set: Option<(u64, Option<String>)>,
}

impl OfArtifact {
    /// Returns true if a submission follows the last line that ends one.
    pub(super) fn is_begun_again(&self) -> bool {
        self.ended_at.is_some() && self.begun_at > self.ended_at
    }
}

impl StepLines {
    /// Reads the change logs.
    ///
    /// # Errors
    /// The change logs cannot be read.
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
        let at = line.at.parse::<Timestamp>().ok();
        for version in &step.versions {
            let Ok(id) = version.id.parse::<DocumentId>() else { continue };
            let found = self.of.entry(version.id.clone()).or_default();
            match change {
                Change::Emergency(_) => found.emergency = found.emergency.max(version.version),
                Change::Ratify(_) => found.ratified = found.ratified.max(version.version),
                Change::Reject(_) | Change::Withdraw(_) => {
                    found.ended = found.ended.max(version.version);
                    found.ended_at = found.ended_at.max(at);
                }
                _ => {
                    found.begun_at = found.begun_at.max(at);
                    if version.version >= found.begun {
                        found.begun = version.version;
                        found.head.clone_from(&line.request.head);
                    }
                }
            }
            if matches!(change, Change::Submit(_)) {
                found.submitted.extend(Submitted::of(line, version));
                let target = version.target.as_ref();
                if let Some(target) = target.and_then(|id| id.parse::<DocumentId>().ok()) {
                    self.moves.entry(id.clone()).or_default().insert(target.clone());
                    self.moves.entry(target).or_default().insert(id.clone());
                }
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

    /// Returns true if every line could be read.
    pub(super) fn is_sound(&self) -> bool {
        self.is_sound
    }

    /// Returns the lines about an artifact.
    pub(super) fn of(&self, id: &DocumentId) -> Option<&OfArtifact> {
        self.of.get(id.as_str())
    }

    /// Returns the artifacts in lines whose ids collide with this one (VAULT-14).
    pub(super) fn alike(&self, id: &DocumentId) -> impl Iterator<Item = &DocumentId> {
        let claimed = self.claimed.get_or_init(|| {
            let mut claimed: BTreeMap<String, Vec<DocumentId>> = BTreeMap::new();
            for id in self.of.keys().filter_map(|id| id.parse::<DocumentId>().ok()) {
                for claim in id.claims() {
                    claimed.entry(claim).or_default().push(id.clone());
                }
            }
            claimed
        });
        id.claims().filter_map(|claim| claimed.get(&claim)).flatten()
    }

    /// Returns the lines about each artifact, in byte order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &OfArtifact)> {
        self.of.iter()
    }

    /// Returns true if a line names a version after the published one, with this chain hash.
    pub(super) fn names(&self, id: &DocumentId, version: Version, chain_hash: &Digest) -> bool {
        self.of(id).is_some_and(|found| found.named.contains(&(version.0, chain_hash.to_string())))
    }

    /// Returns the first of the steps at the end of a history without a line.
    pub(super) fn first_unnamed(&self, track: &Track) -> Option<Version> {
        let mut steps = track.tail.steps.iter();
        let unnamed = steps.find(|(version, hash)| !self.names(track.id(), *version, hash));
        unnamed.map(|step| step.0)
    }

    /// Returns true if a line decides a submission or emergency that is pending by its history.
    ///
    /// Then the history has lost its end, for instance because older files replaced it. A
    /// submission in a line after the decision is a new one, and is not decided.
    pub(super) fn has_decided(&self, track: &Track) -> bool {
        let Some(found) = self.of(track.id()) else { return false };
        match (&track.pending, &track.emergency) {
            (Some(pending), _) => {
                let own = track.tail.steps.first().map(|(version, hash)| (version.0, *hash));
                let is_later =
                    |one: &Submitted| Some(one.named()) == own && Some(one.at) > found.ended_at;
                found.ended >= pending.last.0.0 && !found.submitted.iter().any(is_later)
            }
            (None, Some(emergency)) => found.ratified >= emergency.version.0,
            (None, None) => false,
        }
    }

    /// Returns the reviews of an artifact; `None` if its history is missing.
    ///
    /// A merge of two branches keeps the lines of both, but the histories of one (REV-28).
    ///
    /// # Errors
    /// The chain does not vouch for a version.
    pub(super) fn track_of(
        &self,
        vault: &Vault,
        maps: &Maps<'_>,
        id: &DocumentId,
    ) -> Result<Option<Track>, ChainError> {
        let history = match replay::load(vault.files(), id) {
            Err(ChainError::HistoryMissing) if !replay::has_files(vault.files(), id) => {
                return Ok(None);
            }
            history => history?,
        };
        let mut track = maps.track(vault, id, &history)?;
        self.bar_lost((vault, maps), Some(&history), &mut track);
        Ok(Some(track))
    }

    /// Returns the set of the last submission of an artifact, by its line.
    pub(super) fn set_of(&self, id: &DocumentId) -> Option<&str> {
        self.of(id)?.last_set.as_ref()?.1.as_deref()
    }

    /// Returns the artifacts with a submission in this set after their published version.
    pub(super) fn since_published_in(&self, set: &str) -> impl Iterator<Item = DocumentId> {
        let is_in = |(_, found): &(&String, &OfArtifact)| found.sets.contains(set);
        self.of.iter().filter(is_in).filter_map(|(id, _)| id.parse().ok())
    }
}
