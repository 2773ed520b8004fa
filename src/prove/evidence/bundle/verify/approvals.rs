//! Checks that a valid approval published each version of a bundle. The rules of the vault judge it
//! from the histories and checkpoints of the bundle (EVID-31).

use std::collections::{BTreeMap, BTreeSet};

use super::super::judged::{events, never_governed};
use super::super::manifest::Manifest;
use super::histories::Histories;
use super::log::Log;
use super::versions::Versions;
use super::{Files, Item, Kind, Verdict, not_proved};
use crate::policy::in_force::{InForce, Sealings};
use crate::record::checkpoint::record::Searched;
use crate::record::checkpoint::state::Mark;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};

/// Approvals of the versions of a bundle.
pub(super) struct Approvals<'b> {
    pub(super) items: Vec<Item>,
    sealings: Sealings<'b>,
    histories: Histories<'b>,
    /// True if the vault was governed; an error if approvals cannot be judged.
    state: Result<bool, String>,
    /// Numbers of the versions without a valid approval, from 1.
    unapproved: BTreeSet<usize>,
}

/// A version that a proved checkpoint seals, with its number in the bundle.
struct Sealed {
    place: usize,
    id: DocumentId,
    mark: Mark,
}

impl<'b> Approvals<'b> {
    pub(super) fn read(
        manifest: &Manifest,
        files: &Files<'b>,
        log: &'b Log,
        versions: &Versions,
    ) -> Self {
        let sealings = Sealings::new(Searched::new(log.proved().collect())).comparing_events();
        let histories = Histories::of(files, versions.parts(), &sealings);
        let (items, unapproved) = Default::default();
        let state = state(log, &histories, &sealings);
        let mut approvals = Self { items, sealings, histories, state, unapproved };
        approvals.judge_all(manifest, versions);
        approvals
    }

    fn judge_all(&mut self, manifest: &Manifest, versions: &Versions) {
        let mut found: BTreeMap<usize, Result<(), Why>> = BTreeMap::new();
        let mut by_id: BTreeMap<DocumentId, Vec<Sealed>> = BTreeMap::new();
        for sealed in sealed(manifest, versions) {
            match &self.state {
                Ok(false) => {}
                Ok(true) => by_id.entry(sealed.id.clone()).or_default().push(sealed),
                Err(why) => _ = found.insert(sealed.place, Err(Why::Unjudged(why.clone()))),
            }
        }
        let mut lacks = Lacks { approvals: self, events: BTreeMap::new(), moves: BTreeMap::new() };
        for (id, of_id) in &by_id {
            lacks.judge(id, of_id, &mut found);
        }
        for (place, judged) in found {
            let version = &manifest.versions[place - 1];
            if let Err(Why::Unapproved(_)) = judged {
                self.unapproved.insert(place);
            }
            let name = format!("{} v{}", version.id, version.version);
            let judged = judged.map_err(|why| (Verdict::NotProved, why.to_string()));
            self.items.push(Item::new(Kind::Approval, name, judged));
        }
    }

    /// Returns true if the version with this number was published without a valid approval.
    pub(super) fn is_unapproved(&self, place: usize) -> bool {
        self.unapproved.contains(&place)
    }

    /// Returns the rules in force at each checkpoint; `None` if the vault was never governed.
    ///
    /// # Errors
    /// Fails if the bundle does not prove the rules.
    pub(super) fn in_force(&self) -> Result<Option<&InForce>, (Verdict, String)> {
        match &self.state {
            Ok(true) => Ok(Some(self.sealings.in_force(&self.histories))),
            Ok(false) => Ok(None),
            Err(why) => not_proved(why),
        }
    }
}

/// Reason why an approval is not proved.
#[derive(Clone, Debug, thiserror::Error)]
enum Why {
    /// The approval is not valid.
    #[error("{0}")]
    Unapproved(String),
    /// The approval cannot be judged.
    #[error("approval not checked: {0}")]
    Unjudged(String),
}

/// Returns true if the vault was governed at some checkpoint. Fails if the bundle
/// does not prove that.
fn state(log: &Log, histories: &Histories<'_>, sealings: &Sealings<'_>) -> Result<bool, String> {
    let Some(first) = log.proved().next() else { return Ok(false) };
    let lacks = |id: &DocumentId| {
        let events = events(&sealings.record(id));
        !events.into_iter().all(|event| histories.has(id, event))
    };
    let config = DocumentId::config();
    if first.number > CheckpointNumber::FIRST {
        // Then only a configuration that was never governed proves that the vault was not governed.
        let is_ungoverned = first.mark_of(&config).is_some()
            && !lacks(&config)
            && histories.get(&config).is_some_and(|history| never_governed(histories, history));
        return match is_ungoverned {
            true => Ok(false),
            false => Err("the checkpoints of the bundle do not begin with the first".to_owned()),
        };
    }
    for id in DocumentId::rules() {
        if lacks(&id) {
            return Err(format!("the bundle does not have the whole history of {id}"));
        }
    }
    Ok(sealings.in_force(histories).was_governed())
}

/// Returns the versions of a bundle that a proved checkpoint seals.
fn sealed(manifest: &Manifest, versions: &Versions) -> Vec<Sealed> {
    let sealed = manifest.versions.iter().zip(1..).filter_map(|(version, place)| {
        let is_sealed = |at: &u64| versions.sealed(place, *at) == Some(Verdict::Proved);
        version.checkpoints.iter().any(is_sealed).then_some(())?;
        let (entry, id) = (versions.entry(place)?, version.id.parse().ok()?);
        Some(Sealed { place, id, mark: Mark::new(entry.version, entry.chain_hash) })
    });
    sealed.collect()
}

/// Cache of the histories that a bundle lacks for judging approvals.
struct Lacks<'a, 'b> {
    approvals: &'a Approvals<'b>,
    events: BTreeMap<CheckpointNumber, Option<DocumentId>>,
    moves: BTreeMap<CheckpointNumber, Option<DocumentId>>,
}

impl Lacks<'_, '_> {
    /// Judges the versions of an artifact that need an approval.
    fn judge(
        &mut self,
        id: &DocumentId,
        of_id: &[Sealed],
        found: &mut BTreeMap<usize, Result<(), Why>>,
    ) {
        let Approvals { sealings, histories, .. } = self.approvals;
        let mut places: BTreeMap<Version, Vec<&Sealed>> = BTreeMap::new();
        for sealed in of_id {
            let seal = sealings.approved_by(histories, id, sealed.mark);
            let Some(seal) = seal else { continue };
            match self.lacking(id, seal.checkpoint) {
                Some(lacking) => {
                    let why = format!("the bundle does not have the whole history of {lacking}");
                    found.insert(sealed.place, Err(Why::Unjudged(why)));
                }
                None => {
                    let version = sealed.mark.version.unwrap_or_default();
                    places.entry(version).or_default().push(sealed);
                }
            }
        }
        let Some(history) = histories.get(id) else { return };
        let marks = places.iter().map(|(version, of)| (*version, of[0].mark)).collect();
        let faults = sealings.versions(histories, (id, history), &marks);
        for (version, sealed) in places {
            let judged = match faults.get(&version) {
                None => Ok(()),
                Some(fault) => Err(match fault.unapproved() {
                    Some(found) => Why::Unapproved(format!("{}: {fault}", found.code)),
                    None => Why::Unjudged(fault.to_string()),
                }),
            };
            found.extend(sealed.iter().map(|sealed| (sealed.place, judged.clone())));
        }
    }

    /// Returns the first artifact whose history is missing and needed to judge what an event
    /// publishes of `id`.
    fn lacking(&mut self, id: &DocumentId, event: CheckpointNumber) -> Option<DocumentId> {
        let Approvals { sealings, histories, .. } = self.approvals;
        let of_event = self.events.entry(event).or_insert_with(|| {
            let changed = sealings.changed_by(event).into_iter();
            changed.filter(|id| !histories.has(id, event)).min()
        });
        if of_event.is_some() {
            return of_event.clone();
        }
        let moved = sealings.moved_by(histories, id)?;
        let of_moves = self.moves.entry(moved).or_insert_with(|| {
            let sources = sealings.sources(histories, moved).into_iter();
            let lacking = sources.filter(|(id, event)| !histories.has(id, *event));
            lacking.map(|(id, _)| id).min()
        });
        of_moves.clone()
    }
}
