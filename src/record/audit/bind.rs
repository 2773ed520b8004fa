//! Parts of the state that lines of change logs let checkpoints bind: the logs themselves, and ends
//! of staging chains (AUDIT-25, STAGE-21).

use std::collections::BTreeMap;

use super::change::{Change, StagedEnd};
use super::event::Event;
use super::line::Line;
use crate::record::checkpoint::state::Mark;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::AUDIT_DIR;
use crate::values::model::number::Version;

/// The lines `bind` of one event: the first, and those that name it as their cause. Several lines
/// exist because one line has a limited number of chains.
#[derive(Clone, Debug)]
pub struct BindLines {
    writer: String,
    /// The trace of the first line.
    first: String,
    /// The time at which the lines were written.
    pub(super) at: String,
    /// The time of the event.
    pub event_at: String,
    /// The number and the hash of the last of the lines, which the checkpoint binds.
    pub(super) last: (u64, Option<Digest>),
    /// The ends of staging chains.
    pub staged: Vec<StagedEnd>,
}

impl BindLines {
    /// Begins with the first line of an event; `None` if the line is not a `bind`.
    pub fn begin(line: &Line) -> Option<Self> {
        let (event_at, staged) = parts_of(line)?;
        Some(Self {
            writer: line.writer.clone(),
            first: line.trace().to_string(),
            at: line.at.clone(),
            event_at: event_at.to_owned(),
            last: (line.seq, line.hash),
            staged: staged.to_vec(),
        })
    }

    /// Adds a further line of the same event; returns false if the line is not one.
    pub fn go_on(&mut self, line: &Line) -> bool {
        let is_further = line.cause.as_ref() == Some(&self.first) && line.writer == self.writer;
        let parts = parts_of(line).filter(|(event_at, _)| is_further && *event_at == self.event_at);
        if let Some((_, staged)) = parts {
            self.last = (line.seq, line.hash);
            self.staged.extend_from_slice(staged);
        }
        parts.is_some()
    }

    /// Returns the marks to bind: the change log, and the staging chains, in the order of their
    /// ids. Ends without a valid chain id are left out.
    pub(super) fn marks(&self) -> Option<Vec<(DocumentId, Mark)>> {
        let (seq, hash) = self.last;
        let log = format!("{AUDIT_DIR}/{}.jsonl", self.writer).parse().ok()?;
        let staged = self.staged.iter().filter_map(StagedEnd::mark);
        let mut marks: BTreeMap<DocumentId, Mark> = staged.collect();
        marks.insert(log, Mark::new(Version(seq), hash?));
        Some(marks.into_iter().collect())
    }
}

fn parts_of(line: &Line) -> Option<(&str, &[StagedEnd])> {
    match &line.event {
        Event::Change(Change::Bind { event_at, staged }) => Some((event_at, staged)),
        _ => None,
    }
}

impl StagedEnd {
    /// Returns the end of a chain in the form of a line.
    pub(super) fn of(chain: &DocumentId, mark: &Mark) -> Option<Self> {
        let (seq, hash) = mark.sealed()?;
        Some(Self { chain: chain.to_string(), seq: seq.0, hash: hash.to_string() })
    }

    /// Returns the number and the hash of the line; `None` if the hash is invalid.
    pub(crate) fn line(&self) -> Option<(u64, Digest)> {
        Some((self.seq, self.hash.parse().ok()?))
    }

    /// Returns the mark for the maps of a checkpoint; `None` if the chain id or hash is invalid.
    fn mark(&self) -> Option<(DocumentId, Mark)> {
        let chain = self.chain.parse::<DocumentId>().ok().filter(DocumentId::is_staging_chain)?;
        let (seq, hash) = self.line()?;
        Some((chain, Mark::new(Version(seq), hash)))
    }
}
