//! The accesses and hydrations before an output, which the chain binds to it (AUDIT-12).

use std::io;

use serde::Serialize;

use super::chain::Logs;
use super::event::Event;
use super::fault::Fault;
use super::filter::Filter;
use super::line::Line;
use crate::values::model::timestamp::Timestamp;

/// An access or a hydration before an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prior {
    /// The line.
    pub trace: String,
    /// When.
    pub at: String,
    /// `access` or `hydration`.
    pub event: &'static str,
    /// How many texts it handed out.
    pub texts: u64,
    /// The source that was hydrated, and the hash of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<PriorResult>,
    /// Whether it is in the chain of the output's writer, so that its place before the output cannot
    /// be changed. Others are before it by their time only.
    pub is_bound: bool,
}

/// What a hydration before an output gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PriorResult {
    /// The URI or id of the source.
    pub source: String,
    /// The SHA-256 of the result.
    pub result_hash: String,
}

impl Prior {
    /// A line as one before an output; none where an output is made of nothing that it records.
    fn of(line: &Line, output: &Line) -> Option<Self> {
        let (texts, result) = match &line.event {
            Event::Access(access) => (access.documents.len() as u64, None),
            Event::Hydration(hydration) => {
                let (source, result_hash) =
                    (hydration.name().to_owned(), hydration.result_hash.clone());
                (0, Some(PriorResult { source, result_hash }))
            }
            _ => return None,
        };
        Some(Self {
            trace: line.trace().to_string(),
            at: line.at.clone(),
            event: line.event.kind().as_str(),
            texts,
            result,
            is_bound: line.writer == output.writer,
        })
    }
}

/// The accesses and hydrations of a session before an output, and the faults of the log.
pub type Priors = (Vec<Prior>, Vec<Fault>);

/// The accesses and hydrations of the session of an output before it: those of its writer by their place, and
/// those of other writers by their time. None where the session was not named.
///
/// # Errors
/// A file of the log cannot be read.
pub fn before(logs: &Logs, output: &Line) -> io::Result<Priors> {
    let mut priors = Vec::new();
    let Some(session) = session_of(output) else { return Ok((priors, Vec::new())) };
    let filter = Filter { session: Some(session.to_owned()), ..Filter::default() };
    let faults = logs.matching(&filter, &Some, &mut |line: Line| {
        if is_before(&line, output) {
            priors.extend(Prior::of(&line, output));
        }
    })?;
    Ok((priors, faults))
}

/// The session of a line, if it was named.
pub(crate) fn session_of(line: &Line) -> Option<&str> {
    let labels = &line.request.labels;
    labels.session.as_deref().filter(|_| !labels.session_implicit)
}

/// Whether a line is before an output.
pub(crate) fn is_before(line: &Line, output: &Line) -> bool {
    if line.writer == output.writer {
        return line.seq < output.seq;
    }
    let at = |line: &Line| line.at.parse::<Timestamp>().ok();
    matches!((at(line), at(output)), (Some(first), Some(second)) if first <= second)
}
