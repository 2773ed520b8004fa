//! The documents that approved moves made from the documents that they retired.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::approvals::{Approvals, Around};
use super::timeline::InForce;
use crate::policy::rules::{Fault, FaultKind, MovedText, Reviewed, Rules, Track, fields_of};
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{Entry, History};
use crate::record::chain::replay::Histories;
use crate::record::chain::walk::Walk;
use crate::record::checkpoint::record::{Brought, Records, Removals, Seal};
use crate::text::document::review::ReviewState;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// The targets of moves, for each event that may publish one.
///
/// The history of each source is read once.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    removed: OnceLock<Removals>,
    found: Mutex<HashMap<Brought, Once>>,
}

/// The moves of one event, read once.
type Once = Arc<OnceLock<Made>>;

/// The targets that the moves of one event publish, if their sources can be read.
#[derive(Debug, Default)]
struct Made {
    /// The targets, by their ids.
    moved: HashMap<DocumentId, Moved>,
    /// The sources that the event removes and that cannot be read, with the reason.
    unread: HashMap<DocumentId, String>,
}

/// The first version of the target of a move.
#[derive(Clone, Debug)]
struct Moved {
    made: MovedText,
    /// The faults of the approval of the move.
    faults: Vec<Fault>,
}

impl Moves {
    /// Returns the targets that the approved moves of an event publish.
    fn of(&self, event: Brought, judge: &Judge<'_>) -> Once {
        // A source may be the target of an earlier move. Moves are judged from the oldest on, so
        // that a judgement waits for at most one other.
        let mut waiting = vec![event];
        while let Some(last) = waiting.last().copied() {
            match self.earlier(last, judge) {
                Some(earlier) => waiting.push(earlier),
                None => {
                    self.once(last).get_or_init(|| self.read(last, judge));
                    waiting.pop();
                }
            }
        }
        self.once(event)
    }

    fn once(&self, event: Brought) -> Once {
        // Entries are inserted whole, so the map is usable even if a thread panicked.
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(found.entry(event).or_default())
    }

    fn removed(&self, event: Brought, judge: &Judge<'_>) -> &[(DocumentId, CheckpointNumber)] {
        let removed = self.removed.get_or_init(|| judge.records.removals());
        removed.get(&event).map_or(&[], Vec::as_slice)
    }

    /// Returns an earlier event whose moves must be judged before those of this one.
    fn earlier(&self, event: Brought, judge: &Judge<'_>) -> Option<Brought> {
        if self.once(event).get().is_some() {
            return None;
        }
        let began = self.removed(event, judge).iter().filter_map(|(source, _)| {
            let record = judge.records.record(source);
            let first = record.seals.first()?;
            let is_first = first.mark.version == Some(Version::FIRST);
            is_first.then_some((first.checkpoint, first.at))
        });
        let mut moved = began.filter(|began| {
            *began < event
                && judge.rules_before(*began).is_some()
                && !self.removed(*began, judge).is_empty()
                && self.once(*began).get().is_none()
        });
        moved.next()
    }

    fn read(&self, event: Brought, judge: &Judge<'_>) -> Made {
        let mut made = Made::default();
        for (source, head) in self.removed(event, judge) {
            match judge.moved_away(source, event, *head) {
                Ok(None) => {}
                Ok(Some(moved)) => _ = made.moved.insert(moved.made.target.clone(), moved),
                Err(why) => _ = made.unread.insert(source.clone(), why),
            }
        }
        made
    }
}

/// The data of a vault that judges any of its histories.
#[derive(Clone, Copy)]
pub(crate) struct Judge<'j> {
    /// The files of a vault or of a bundle.
    pub(crate) files: &'j dyn Histories,
    /// The rules in force.
    pub(crate) in_force: &'j InForce,
    /// The records of the log about each artifact.
    pub(crate) records: &'j dyn Records,
    /// The moves read so far.
    pub(crate) moves: &'j Moves,
}

impl Judge<'_> {
    /// Returns the reviews of a history, with every hash recomputed and every event judged.
    ///
    /// # Errors
    /// The first version that the chain does not vouch for.
    pub(crate) fn track(&self, id: &DocumentId, history: &History) -> Result<Track, ChainError> {
        let record = self.records.record(id);
        let mut approvals = Approvals::new(id);
        let mut walk = Walk::new(self.files, id, history);
        while let Some(step) = walk.next() {
            let Some((entry, text, fields)) = step.vouched()? else { continue };
            let fields = Some(fields.as_deref());
            approvals.take_described((entry, text, fields), record.event_of(entry), self);
        }
        Ok(approvals.track)
    }

    /// Returns the target that the retirement of a document by an event publishes. The event follows
    /// the checkpoint `head`.
    ///
    /// # Errors
    /// The reason for which the source cannot be read.
    fn moved_away(
        &self,
        source: &DocumentId,
        (checkpoint, at): Brought,
        head: CheckpointNumber,
    ) -> Result<Option<Moved>, String> {
        let Some(rules) = self.rules_before((checkpoint, at)) else { return Ok(None) };
        let history = self.files.history(source);
        let history = history.map_err(|why| format!("`{source}` cannot be read: {why}"))?;
        let record = self.records.record(source);
        let mut approvals = Approvals::new(source);
        let mut walk = Walk::new(self.files, source, &history);
        while let Some(step) = walk.next() {
            let slot = step.slot;
            let vouched = step.vouched().map_err(|why| match slot.version {
                Some(version) => format!("version {version} of `{source}` cannot be read: {why}"),
                None => format!("`{source}` cannot be read: {why}"),
            });
            let Some((entry, text, fields)) = vouched? else { return Ok(None) };
            let event = record.event_of(entry);
            if entry.retired_at() != Some(at) {
                // Versions before the retirement were sealed before it.
                let is_before = |number| (number, entry.event_at()) < (checkpoint, Some(at));
                if event.is_some_and(|number| !is_before(number)) {
                    return Ok(None);
                }
                approvals.take_described((entry, text, Some(fields.as_deref())), event, self);
                continue;
            }
            let made = approvals.track.moved((entry, text), rules, head);
            let Some(made) = made else { return Ok(None) };
            let is_approved = approvals.track.published.as_ref().is_some_and(|p| p.is_approved);
            let taken = approvals.take((entry, text), event, self);
            let mut faults: Vec<Fault> = taken.faults.into_iter().map(|(_, fault)| fault).collect();
            for fault in &mut faults {
                fault.message = format!("its move from `{source}`: {}", fault.message);
            }
            if !is_approved {
                let message = "the text that was moved was published without a valid approval";
                faults.push(Fault::new(FaultKind::Missing, message));
            }
            return Ok(Some(Moved { made, faults }));
        }
        Err(format!("the history of `{source}` does not record the retirement"))
    }
}

impl Around for Judge<'_> {
    fn rules_before(&self, event: Brought) -> Option<&Rules> {
        self.in_force.rules_before_event(event)
    }

    fn rules_at(&self, at: Timestamp) -> Option<&Rules> {
        self.in_force.rules_at(at)
    }

    /// A target must equal, byte for byte, the text that an approved move of its event publishes.
    fn moved_here(
        &self,
        id: &DocumentId,
        entry: &Entry,
        text: &str,
        checkpoint: CheckpointNumber,
    ) -> Option<Vec<Fault>> {
        let fields = fields_of(text).filter(|fields| fields.state == ReviewState::Approved)?;
        let moves = self.moves.of((checkpoint, entry.published_at()?), self);
        let made = moves.get()?;
        if let Some(source) = Reviewed::moved_from(entry, &fields)
            && let Some(why) = made.unread.get(source)
        {
            let message = format!("its move cannot be judged, because {why}");
            let lost = Some(source.clone());
            return Some(vec![Fault { lost, ..Fault::new(FaultKind::Missing, message) }]);
        }
        let moved = made.moved.get(id)?;
        let is_it = moved.made.text == text && moved.made.by == entry.edited_by;
        is_it.then(|| moved.faults.clone())
    }

    fn begins(&self, id: &DocumentId, event: Brought) -> bool {
        let record = self.records.record(id);
        let is_first = |seal: &&Seal| seal.mark.version == Some(Version::FIRST);
        record.seals.iter().filter(is_first).any(|seal| (seal.checkpoint, seal.at) == event)
    }
}
