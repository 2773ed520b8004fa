//! Compares the versions of one event (`spec/review.md`, REV-32): one principal made all of them,
//! and approved a part of each set that the event completed.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::policy::rules::{Fault, FaultKind, Track};
use crate::record::chain::history::Entry;
use crate::record::checkpoint::record::Brought;
use crate::text::document::review::{ReviewFields, ReviewState};
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::principal::PrincipalKey;
use crate::values::model::timestamp::Timestamp;

/// A version that an event of a governed vault published or retired.
#[derive(Clone, Debug)]
pub(crate) struct Decided {
    checkpoint: CheckpointNumber,
    /// Time of the event: a merge brings several events.
    at: Timestamp,
    id: DocumentId,
    version: Version,
    by: String,
    /// True if its editor approved it, or retired it in an emergency.
    is_own: bool,
    /// Name of the set that contains it.
    set: Option<String>,
}

/// The fault of a version that other versions of its event contradict.
#[derive(Clone, Debug)]
pub(crate) struct Contradiction {
    pub(crate) checkpoint: CheckpointNumber,
    pub(crate) id: DocumentId,
    pub(crate) version: Version,
    pub(crate) fault: Fault,
}

impl Contradiction {
    /// Returns true if this is about a version.
    pub(super) fn is_of(&self, decided: &Decided) -> bool {
        self.id == decided.id && self.version == decided.version
    }
}

impl Decided {
    /// Returns the checkpoint of the event.
    pub(crate) fn checkpoint(&self) -> CheckpointNumber {
        self.checkpoint
    }

    /// Returns true if its editor approved it, so that the other versions of its event
    /// are irrelevant.
    pub(super) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Returns the decision of an entry by an event, with the checkpoint that brought it to the main
    /// line. Must be called before the track takes the entry.
    pub(crate) fn of(
        track: &Track,
        (entry, fields): (&Entry, Option<&ReviewFields>),
        (checkpoint, at): Brought,
    ) -> Self {
        let change = track.pending.as_ref().and_then(|pending| pending.change.clone());
        let key = PrincipalKey::of(&entry.edited_by);
        let state = fields.map(|fields| fields.state);
        let is_own = fields.is_none_or(|fields| {
            fields.state == ReviewState::Emergency
                || fields.approved_by.iter().any(|name| PrincipalKey::of(name) == key)
        });
        // An emergency retirement completes no set.
        let set = change.filter(|_| state == Some(ReviewState::Approved));
        Self {
            checkpoint,
            at,
            id: track.id().clone(),
            version: entry.version,
            by: entry.edited_by.clone(),
            is_own,
            set,
        }
    }

    fn contradicted(&self, message: String) -> Contradiction {
        let fault = Fault::new(FaultKind::Unauthorised, message);
        let Self { checkpoint, id, version, .. } = self.clone();
        Contradiction { checkpoint, id, version, fault }
    }
}

/// Reports contradictions between the versions of each event.
///
/// These are versions with another editor than most versions of the event, and sets that were
/// completed by a principal who approved no part of them.
pub(crate) fn contradictions(decided: &[Decided]) -> Vec<Contradiction> {
    let mut events: BTreeMap<_, Vec<&Decided>> = BTreeMap::new();
    for one in decided {
        events.entry((one.checkpoint, one.at)).or_default().push(one);
    }
    events.into_values().flat_map(|event| of_event(&event)).collect()
}

fn of_event(event: &[&Decided]) -> Vec<Contradiction> {
    let mut named: HashMap<&str, usize> = HashMap::new();
    for one in event {
        *named.entry(one.by.as_str()).or_default() += 1;
    }
    let most = event.iter().max_by_key(|one| (named[one.by.as_str()], &one.by));
    let Some(most) = most else { return Vec::new() };
    let (same, others): (Vec<&Decided>, Vec<&Decided>) =
        event.iter().copied().partition(|one| one.by == most.by);
    let others = others.into_iter().map(|one| {
        let message = format!(
            "`{}` recorded it, and `{}` recorded `{}` in the same event",
            one.by, most.by, most.id
        );
        one.contradicted(message)
    });
    others.chain(completions(&same)).collect()
}

/// Reports the parts of each set in which the editor of the event approved no part.
fn completions(event: &[&Decided]) -> Vec<Contradiction> {
    let parts = || event.iter().filter_map(|one| Some((one, one.set.as_deref()?)));
    let approved: HashSet<&str> =
        parts().filter(|(one, _)| one.is_own).map(|(_, change)| change).collect();
    let without = parts().filter(|(_, change)| !approved.contains(change));
    let found = without.map(|(one, change)| {
        let message =
            format!("`{}` completed the set `{change}`, but approved no part of it", one.by);
        one.contradicted(message)
    });
    found.collect()
}
