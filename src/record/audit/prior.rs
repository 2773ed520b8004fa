//! The accesses and hydrations before an output, and whether the chain proves their
//! order (AUDIT-12).

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
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct Prior {
    /// The trace of the line.
    pub trace: String,
    /// The time of the line.
    pub at: String,
    /// `access` or `hydration`.
    pub event: &'static str,
    /// Number of texts that were handed out.
    pub texts: u64,
    /// The source that was hydrated, and the hash of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<PriorResult>,
    /// True if the line is in the chain of the output's writer: its place before the output then
    /// cannot be changed. Other lines are before the output by their time only.
    pub is_bound: bool,
}

/// The result of a hydration before an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct PriorResult {
    /// The URI or id of the source.
    pub source: String,
    /// The SHA-256 of the result.
    pub result_hash: String,
}

impl Prior {
    /// Returns an access or a hydration as a prior of the output; `None` for other lines.
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

/// Returns the accesses and hydrations of an output's session that are before the output: those of
/// its writer by their number, and those of other writers by their time. Empty if the session was
/// not named.
///
/// # Errors
/// Fails if a file of the log cannot be read.
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

/// Returns the session of a line, if it was named.
pub(crate) fn session_of(line: &Line) -> Option<&str> {
    let labels = &line.request.labels;
    labels.session.as_deref().filter(|_| !labels.session_implicit)
}

/// Returns true if a line is before an output.
pub(crate) fn is_before(line: &Line, output: &Line) -> bool {
    if line.writer == output.writer {
        return line.seq < output.seq;
    }
    let at = |line: &Line| line.at.parse::<Timestamp>().ok();
    matches!((at(line), at(output)), (Some(first), Some(second)) if first <= second)
}
