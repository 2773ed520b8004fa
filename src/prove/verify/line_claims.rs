//! Checks claims in lines of change logs other than versions and checkpoints: the head at which
//! they were written, the ids of an event, and the accesses that a pruning may delete (AUDIT-37).

use std::collections::HashMap;

use super::finding::{Code, Finding};
use crate::record::audit::{Change, Event, HeadRef, Line, MAX_DOCUMENTS, VersionRef};
use crate::record::checkpoint::merge::Held;
use crate::values::model::layout::AUDIT_DIR;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;

const DAY: i64 = 24 * 60 * 60 * 1000;

/// Ids that each checkpoint set or removed, if its lines are compared.
pub(super) type Changed<'r> = HashMap<CheckpointNumber, Vec<&'r str>>;

/// Data that the lines are compared with.
#[derive(Clone, Debug, Default)]
pub struct Compared<'r> {
    /// Ids of events.
    pub changed: Changed<'r>,
    /// Time of the clock; `None` if times are not compared.
    pub now: Option<Timestamp>,
    /// Fewest days for which a sealed configuration kept accesses.
    pub retention: Option<u64>,
}

/// State of the lines read so far.
#[derive(Debug)]
pub(super) struct Told<'r> {
    held: &'r Held,
    with: Compared<'r>,
    /// Event whose lines are being read.
    event: Option<EventLines>,
    /// Last line of each writer that names a head: its number, and the place and the number of the
    /// head.
    heads: HashMap<String, (u64, u64, u64)>,
    wrong: Vec<Wrong>,
    /// First line of each writer that is later than the clock.
    ahead: HashMap<String, Finding>,
}

/// Lines of one event.
#[derive(Debug)]
struct EventLines {
    trace: String,
    at: String,
    number: CheckpointNumber,
    hash: String,
    ids: Vec<String>,
    /// True if each line has the maximum number of ids.
    is_full: bool,
}

/// A line that contradicts the log.
#[derive(Debug)]
struct Wrong {
    at: String,
    /// True if a later line that declares the log valid excuses it.
    may_be_replaced: bool,
    number: Option<CheckpointNumber>,
    message: String,
}

/// Returns the findings about lines that record a pruning.
pub(super) fn false_prunings(
    lines: &[Line],
    now: Option<Timestamp>,
    retention: Option<u64>,
) -> Vec<Finding> {
    let held = Held::default();
    let mut told = Told::new(&held, Compared { changed: Changed::new(), now, retention });
    for line in lines {
        if let Event::Change(Change::Prune { before, .. }) = &line.event {
            told.pruning(line, before);
        }
    }
    told.findings(|_| None)
}

impl<'r> Told<'r> {
    pub(super) fn new(held: &'r Held, with: Compared<'r>) -> Self {
        let (event, heads, wrong, ahead) = Default::default();
        Self { held, with, event, heads, wrong, ahead }
    }

    /// Returns true if a line is so far ahead of the clock that no honest writer wrote it.
    pub(super) fn is_far_ahead(&self, line: &Line) -> bool {
        let at = line.at.parse::<Timestamp>().ok();
        at.zip(self.with.now).is_some_and(|(at, now)| at.is_far_ahead_of(now))
    }

    pub(super) fn take(&mut self, line: &Line, change: &Change) {
        self.note_ahead(line);
        self.event(line, change);
        self.head(line, change);
        if let Change::Prune { before, .. } = change {
            self.pruning(line, before);
        }
    }

    /// Ends the current event, and compares its ids.
    pub(super) fn end(&mut self) {
        let Some(event) = self.event.take() else { return };
        let of_side = self.held.changed_by_side(event.number, &event.hash);
        let of_side = of_side.map(|ids| ids.iter().map(String::as_str).collect());
        let of_main = || self.with.changed.get(&event.number).cloned();
        let Some(mut changed): Option<Vec<&str>> = of_side.or_else(of_main) else { return };
        changed.sort_unstable();
        changed.dedup();
        // A power cut may lose the last lines of an event with more ids than fit into one line.
        let is_cut = event.is_full && changed.len() > event.ids.len();
        let first = if is_cut { &changed[..event.ids.len()] } else { &changed };
        if event.ids.iter().map(String::as_str).ne(first.iter().copied()) {
            let (trace, number) = (&event.trace, event.number);
            let message =
                format!("line {trace} names other ids than checkpoint {number} set or removed");
            self.wrong.push(Wrong {
                at: event.at,
                may_be_replaced: false,
                number: Some(number),
                message,
            });
        }
    }

    fn event(&mut self, line: &Line, change: &Change) {
        let Change::Event { sealed, ids, .. } = change else { return };
        let number = CheckpointNumber(sealed.checkpoint);
        if let Some(event) = &mut self.event
            && line.cause.as_ref() == Some(&event.trace)
            && (event.number, &event.hash) == (number, &sealed.hash)
        {
            event.is_full &= ids.len() == MAX_DOCUMENTS;
            event.ids.extend(ids.iter().cloned());
            return;
        }
        self.end();
        self.event = self.holds(sealed).then(|| EventLines {
            trace: line.trace().to_string(),
            at: line.at.clone(),
            number,
            hash: sealed.hash.clone(),
            ids: ids.clone(),
            is_full: ids.len() == MAX_DOCUMENTS,
        });
    }

    fn holds(&self, head: &HeadRef) -> bool {
        self.place_of(head).is_some()
    }

    fn place_of(&self, head: &HeadRef) -> Option<u64> {
        self.held.place_of(CheckpointNumber(head.checkpoint), &head.hash)
    }

    /// Compares the head of a line with the log, and with the line before it.
    fn head(&mut self, line: &Line, change: &Change) {
        let head = line.request.head.as_ref();
        let trace = line.trace();
        match change {
            // The log may be another one before and after such a line.
            Change::HeadTrust { .. } | Change::HeadForget { .. } | Change::ReplaceLog { .. } => {
                self.heads.remove(&line.writer);
                return;
            }
            // An acknowledgement with such a head is not valid (AUDIT-31).
            Change::Acknowledge { .. } => return,
            Change::Event { sealed, .. } => {
                if !self.holds(sealed) {
                    return;
                }
                let number = sealed.checkpoint.saturating_sub(1);
                let before = self.held.before(CheckpointNumber(sealed.checkpoint), &sealed.hash);
                let is_before = match (head, before) {
                    // A gap in the log is reported as a gap.
                    (Some(head), None) => head.checkpoint == number,
                    (Some(head), Some(before)) => {
                        head.checkpoint == number && head.hash == before.to_string()
                    }
                    (None, _) => number == 0,
                };
                if !is_before {
                    let number = sealed.checkpoint;
                    let message = format!(
                        "line {trace} records checkpoint {number}, but its head is not the one before"
                    );
                    self.wrong(line, Some(number), message, false);
                    return;
                }
            }
            _ => {
                let Some(head) = head else {
                    if !change.versions().is_empty() {
                        let message = format!("line {trace} names versions, but no head");
                        self.wrong(line, None, message, true);
                    }
                    return;
                };
                if !self.holds(head) {
                    let number = head.checkpoint;
                    let has = match self.held.main(CheckpointNumber(number)).is_some() {
                        true => "has with another hash",
                        false => "lacks",
                    };
                    let message =
                        format!("line {trace} has the head {number}, which the log {has}");
                    self.wrong(line, Some(number), message, true);
                    return;
                }
            }
        }
        // A line that was added later has the head of its own event.
        let Some(head) = head.filter(|_| !change.is_recovered()) else { return };
        let Some(place) = self.place_of(head) else { return };
        let (number, line_before) = (head.checkpoint, (line.seq, place, head.checkpoint));
        let last = self.heads.insert(line.writer.clone(), line_before);
        // Lines in the wrong order are reported as such.
        let last = last.filter(|(seq, last, _)| *seq < line.seq && *last > place);
        if let Some((_, _, last)) = last {
            let message =
                format!("line {trace} has the head {number}, but the line before it has {last}");
            self.wrong(line, Some(number), message, true);
        }
    }

    /// Records that a line dismisses a version that no line submits (REV-28).
    pub(super) fn undismissed(&mut self, version: &VersionRef, (trace, at): &(String, String)) {
        let (id, version) = (version.id.escape_debug(), version.version);
        let message =
            format!("line {trace} dismisses version {version} of `{id}`, which no line submits");
        self.wrong.push(Wrong { at: at.clone(), may_be_replaced: true, number: None, message });
    }

    /// Checks a pruning. A writer must not delete accesses before their retention ended, nor record
    /// a time in the future.
    fn pruning(&mut self, line: &Line, before: &str) {
        let (Ok(at), Ok(before)) = (line.at.parse::<Timestamp>(), before.parse::<Timestamp>())
        else {
            return;
        };
        let trace = line.trace();
        if let Some(now) = self.with.now.filter(|_| self.is_far_ahead(line)) {
            let message = format!("line {trace} prunes accesses at {at}, but the clock says {now}");
            self.wrong(line, None, message, false);
        }
        let days = self.with.retention.unwrap_or(0);
        let kept = i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(DAY);
        let until = Timestamp::from_millis(before.millis().saturating_add(kept));
        if until.is_far_ahead_of(at) {
            let message = format!(
                "line {trace} of {at} prunes accesses before {before}, which are kept for {days} days"
            );
            self.wrong(line, None, message, false);
        }
    }

    fn note_ahead(&mut self, line: &Line) {
        if let Some(now) = self.with.now.filter(|_| self.is_far_ahead(line)) {
            let (trace, at) = (line.trace(), &line.at);
            let message = format!("line {trace} is dated {at}, but the clock says {now}");
            let finding = || Finding::new(Code::TimestampFuture, AUDIT_DIR, message);
            self.ahead.entry(line.writer.clone()).or_insert_with(finding);
        }
    }

    fn wrong(&mut self, line: &Line, number: Option<u64>, message: String, may_be_replaced: bool) {
        let number = number.map(CheckpointNumber);
        self.wrong.push(Wrong { at: line.at.clone(), may_be_replaced, number, message });
    }

    /// Returns the findings. `declared` returns the line that declares the log valid at or after
    /// a time.
    pub(super) fn findings(self, declared: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
        let wrong = self.wrong.into_iter().map(|wrong| {
            let by = declared(&wrong.at).filter(|_| wrong.may_be_replaced);
            let (code, message) = match by {
                Some(by) => {
                    let message = format!("{}; line {by} trusts the log as it is", wrong.message);
                    (Code::AuditReplaced, message)
                }
                None => (Code::AuditContradicts, wrong.message),
            };
            let finding = Finding::new(code, AUDIT_DIR, message);
            wrong.number.into_iter().fold(finding, Finding::checkpoint)
        });
        let mut ahead: Vec<(String, Finding)> = self.ahead.into_iter().collect();
        ahead.sort_by(|(a, _), (b, _)| a.cmp(b));
        wrong.chain(ahead.into_iter().map(|(_, finding)| finding)).collect()
    }
}
