//! Submissions without a history: a merge of two branches keeps the histories of one, but the
//! change logs of both. The submitter of one may be an author of the pending text, until another
//! reviewer of the vault dismisses the submission (REV-28).

use std::collections::{BTreeMap, BTreeSet};

use super::candidates::Maps;
use super::lines::StepLines;
use crate::files::vault::Vault;
use crate::policy::in_force::InForce;
use crate::policy::rules::{Rules, Track};
use crate::record::audit::{Change, Event, Line, Logs, VersionRef};
use crate::record::chain::history::History;
use crate::record::chain::replay;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::trusted_head;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::principal::PrincipalKey;
use crate::values::model::timestamp::Timestamp;
use crate::write::publish::PublishError;
use crate::write::publish::before_event::{RulesUpon, head_named};

/// A submission in a line.
#[derive(Debug)]
pub(super) struct Submitted {
    version: u64,
    chain_hash: Digest,
    /// The principal, as the line spells the name.
    by: String,
    pub(super) at: Timestamp,
    /// True if it is a move, which writes no text.
    is_move: bool,
}

impl Submitted {
    pub(super) fn of(line: &Line, version: &VersionRef) -> Option<Self> {
        Some(Self {
            version: version.version,
            chain_hash: version.chain_hash.parse().ok()?,
            by: line.request.principal.clone()?,
            at: line.at.parse().ok()?,
            is_move: version.target.is_some(),
        })
    }

    /// Returns its version and chain hash.
    pub(super) fn named(&self) -> (u64, Digest) {
        (self.version, self.chain_hash)
    }

    /// Returns true if a history lacks the version, or has another one in its place.
    fn is_lost(&self, history: Option<&History>) -> bool {
        let entry = history.and_then(|history| history.entry(Version(self.version)));
        entry.is_none_or(|entry| entry.chain_hash != self.chain_hash)
    }
}

/// The submissions that were dismissed, each with the reviewers who did.
#[derive(Debug, Default)]
pub(super) struct Dismissed(BTreeMap<(String, u64, Digest), BTreeSet<PrincipalKey>>);

impl Dismissed {
    /// Reads the dismissals in the change logs.
    ///
    /// A dismissal is valid if its principal was a reviewer of the whole vault by the rules at
    /// the head that its line names, and is one now: a principal who lost the role could backdate
    /// a line.
    fn read(vault: &Vault, chronicle: &Chronicle<'_>) -> Self {
        let mut found = Self::default();
        let mut known: BTreeMap<CheckpointNumber, Option<Rules>> = BTreeMap::new();
        let (last, mut in_force) = (chronicle.head_number(), None);
        let logs = Logs::of_changes(vault);
        // If the lines cannot be read, nothing is dismissed.
        let _ = logs.and_then(|logs| {
            logs.dismissals(&mut |line| {
                let Some(number) = head_named(chronicle, &line) else { return };
                let Some(who) = line.request.principal.as_deref() else { return };
                let mut is_reviewer = |number| {
                    let rules = known.entry(number).or_insert_with(|| {
                        let in_force =
                            in_force.get_or_insert_with(|| InForce::of(vault.files(), chronicle));
                        RulesUpon::of(in_force, number).map(|upon| upon.rules)
                    });
                    rules.as_ref().is_some_and(|rules| rules.is_reviewer_of_vault(who))
                };
                if is_reviewer(number) && is_reviewer(last) {
                    found.take(&line, who);
                }
            })
        });
        found
    }

    fn take(&mut self, line: &Line, who: &str) {
        let Event::Change(Change::Dismiss { dismissed, .. }) = &line.event else { return };
        for version in dismissed {
            let Ok(hash) = version.chain_hash.parse() else { continue };
            let who = PrincipalKey::of(who);
            self.0.entry((version.id.clone(), version.version, hash)).or_default().insert(who);
        }
    }

    /// Returns true if another principal than its submitter dismissed a submission.
    fn has(&self, id: &DocumentId, one: &Submitted) -> bool {
        let found = self.0.get(&(id.to_string(), one.version, one.chain_hash));
        let by = PrincipalKey::of(&one.by);
        found.is_some_and(|principals| principals.iter().any(|who| *who != by))
    }
}

/// A submission without a history, which bars its submitter.
#[derive(Clone, Debug)]
pub struct Lost {
    /// The artifact: the given one, or one that moves link with it.
    pub id: DocumentId,
    /// The version in its line.
    pub version: Version,
    /// The chain hash in its line.
    pub chain_hash: Digest,
    /// The submitter.
    pub by: String,
    /// Time of the line.
    pub at: Timestamp,
}

/// Returns the lost submissions whose submitters may not approve texts of an artifact.
///
/// # Errors
/// The change logs cannot be read.
pub fn lost(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    id: &DocumentId,
) -> Result<Vec<Lost>, PublishError> {
    let state = &chronicle.state_at(chronicle.head_number())?;
    let in_force = &InForce::of(vault.files(), chronicle);
    let maps = Maps::Log { chronicle, state, in_force };
    let lines = StepLines::read(vault, &maps)?;
    let history = replay::load(vault.files(), id).ok();
    let track = history.as_ref().map(|history| Track::of(vault.files(), id, history));
    let track = track.and_then(Result::ok).unwrap_or_else(|| Track::new(id));
    let found = lines.lost((vault, &maps), history.as_ref(), &track);
    let named = found.into_iter().map(|(id, one)| Lost {
        id,
        version: Version(one.version),
        chain_hash: one.chain_hash,
        by: one.by.clone(),
        at: one.at,
    });
    Ok(named.collect())
}

impl StepLines {
    /// Adds the submitters of lost versions to a review: the pending text may be one of theirs.
    pub(super) fn bar_lost(
        &self,
        at: (&Vault, &Maps<'_>),
        history: Option<&History>,
        track: &mut Track,
    ) {
        for (id, one) in self.lost(at, history, track) {
            track.bar(&id, PrincipalKey::of(&one.by));
        }
    }

    /// Returns the lost submissions of an artifact that are not dismissed, by id.
    ///
    /// `history` is that of the artifact, if any; those of ids that it had or may have had
    /// are read.
    fn lost(
        &self,
        (vault, maps): (&Vault, &Maps<'_>),
        history: Option<&History>,
        track: &Track,
    ) -> Vec<(DocumentId, &Submitted)> {
        let mut lost = Vec::new();
        for id in self.linked(track) {
            let Some(found) = self.of(&id).filter(|found| !found.submitted.is_empty()) else {
                continue;
            };
            let loaded = (id != *track.id()).then(|| replay::load(vault.files(), &id).ok());
            let history = loaded.as_ref().map_or(history, Option::as_ref);
            let found = found.submitted.iter().filter(|one| !one.is_move && one.is_lost(history));
            lost.extend(found.map(|one| (id.clone(), one)));
        }
        if !lost.is_empty() {
            let dismissed = self.dismissed(vault, maps);
            lost.retain(|(id, one)| !dismissed.has(id, one));
        }
        lost
    }

    /// Returns the ids under which a text of an artifact may have been submitted.
    ///
    /// These are its own, those in the field `derived_from` of its texts, and all that moves link
    /// with them.
    fn linked(&self, track: &Track) -> BTreeSet<DocumentId> {
        let mut open: Vec<&DocumentId> = track.origins().iter().collect();
        open.push(track.id());
        let mut found = BTreeSet::new();
        while let Some(id) = open.pop() {
            if found.insert(id.clone()) {
                open.extend(self.moves.get(id).into_iter().flatten());
                // If two ids collide, the file of one may have been that of the other.
                open.extend(self.alike(id));
            }
        }
        found
    }

    fn dismissed(&self, vault: &Vault, maps: &Maps<'_>) -> &Dismissed {
        self.dismissed.get_or_init(|| match maps {
            Maps::Log { chronicle, .. } => Dismissed::read(vault, chronicle),
            // An index contains only the last checkpoint, but lost submissions are rare.
            Maps::Index { .. } => {
                let log = trusted_head::read_log(vault).ok();
                let chronicle = log.as_ref().and_then(|log| log.sound().ok());
                chronicle.map(|chronicle| Dismissed::read(vault, &chronicle)).unwrap_or_default()
            }
        })
    }
}
