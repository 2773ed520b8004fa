//! What the versions of one event say together of who made it (`spec/review.md`, REV-17): one principal
//! did, who approved a part of each set that it completed.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::finding::{Code, Finding};
use crate::chain::history::Entry;
use crate::document::review::ReviewState;
use crate::model::id::DocumentId;
use crate::model::number::{CheckpointNumber, Version};
use crate::model::principal::PrincipalKey;
use crate::review::{Track, fields_of};

/// A version that an event of a governed vault published or retired.
#[derive(Clone, Debug)]
pub(super) struct Decided {
    checkpoint: CheckpointNumber,
    id: DocumentId,
    version: Version,
    by: String,
    /// The set that it is part of, and whether its editor approved this part.
    set: Option<(String, bool)>,
}

impl Decided {
    /// What an entry says, before the track takes it.
    pub(super) fn of(
        track: &Track,
        (entry, text): (&Entry, &str),
        checkpoint: CheckpointNumber,
    ) -> Self {
        let change = track.pending.as_ref().and_then(|pending| pending.change.clone());
        let key = PrincipalKey::of(&entry.edited_by);
        let set = change.and_then(|change| {
            // A retirement in an emergency completes no set.
            let fields = fields_of(text).filter(|f| f.state == ReviewState::Approved)?;
            Some((change, fields.approved_by.iter().any(|name| PrincipalKey::of(name) == key)))
        });
        Self {
            checkpoint,
            id: track.id().clone(),
            version: entry.version,
            by: entry.edited_by.clone(),
            set,
        }
    }

    fn finding(&self, message: String) -> Finding {
        let found = Finding::new(Code::ApprovalUnauthorised, self.id.history_path(), message);
        found.id(&self.id).version(self.version).checkpoint(self.checkpoint)
    }
}

/// Reports versions whose event names another editor in other versions, and sets that were completed by
/// a principal who approved no part of them.
pub(super) fn contradictions(decided: &[Decided]) -> Vec<Finding> {
    let mut events: BTreeMap<CheckpointNumber, Vec<&Decided>> = BTreeMap::new();
    for one in decided {
        events.entry(one.checkpoint).or_default().push(one);
    }
    events.into_values().flat_map(|event| of_event(&event)).collect()
}

fn of_event(event: &[&Decided]) -> Vec<Finding> {
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
            "`{}` recorded it, and `{}` recorded `{}` by the same event",
            one.by, most.by, most.id
        );
        one.finding(message)
    });
    others.chain(completions(&same)).collect()
}

/// Reports the parts of sets of which the editor of an event approved no part.
fn completions(event: &[&Decided]) -> Vec<Finding> {
    let parts = || event.iter().filter_map(|one| Some((one, one.set.as_ref()?)));
    let approved = parts().filter(|(_, (_, approves))| *approves);
    let approved: HashSet<&str> = approved.map(|(_, (change, _))| change.as_str()).collect();
    let without = parts().filter(|(_, (change, _))| !approved.contains(change.as_str()));
    let found = without.map(|(one, (change, _))| {
        let message =
            format!("`{}` completed the set `{change}`, but approved no part of it", one.by);
        one.finding(message)
    });
    found.collect()
}
