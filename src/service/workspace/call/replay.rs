//! Rebuilds the texts of recorded accesses, and compares them with the log (AUDIT-9).

use super::{Call, Places};
use crate::files::vault::Vault;
use crate::prove::evidence::replay::replay;
use crate::prove::evidence::staged::StagedTexts;
use crate::record::audit::{Event, Fault, Filter, Line, Logs, TraceId};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::trace::ReplayReport;
use crate::service::workspace::recording::of_log;
use crate::service::workspace::traces::{unknown_access, unknown_trace};
use crate::values::model::hint::{Call as Command, Hint, Verb};
use crate::values::model::id::DocumentId;

/// The accesses to rebuild.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Replayed<'r> {
    /// The access with this name.
    Trace(&'r TraceId),
    /// The accesses of a session.
    Session(&'r Filter),
}

/// The part of an access to rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// The texts.
    Texts,
    /// The whole output.
    Output,
}

/// Returns the lines to rebuild, and the faults of the logs that they are from. The faults are
/// empty for a single access; the caller finds those of its writer.
///
/// # Errors
/// The line does not exist, or contains no text.
pub(crate) fn lines(
    vault: &Vault,
    logs: &Logs,
    (which, made): (Replayed<'_>, Made),
) -> Result<(Vec<Line>, Vec<Fault>), Failure> {
    let has_texts = |line: &Line| match &line.event {
        Event::Access(_) => true,
        Event::Hydration(result) => made == Made::Texts && result.error.is_none(),
        Event::Listing(_) => made == Made::Output,
        _ => false,
    };
    match which {
        Replayed::Trace(name) => {
            let lines = of_log(logs.find(name))?;
            let Some(first) = lines.first() else {
                return Err(is_change(vault, logs, name)
                    .unwrap_or_else(|| unknown_trace(std::slice::from_ref(logs), name)));
            };
            if made == Made::Texts && !lines.iter().any(has_texts) {
                return Err(no_texts(name, first.event.kind().as_str()));
            }
            Ok((lines, Vec::new()))
        }
        Replayed::Session(filter) => {
            let mut found: Vec<Line> = Vec::new();
            let keep = |line: Line| has_texts(&line).then_some(line);
            // Other lines are verified too, so that no line of the session can be replaced.
            let take = &mut |line| found.push(line);
            let faults = of_log(logs.matching_verified(filter, &keep, take))?;
            match found.is_empty() {
                true => Err(unknown_access(logs)),
                false => Ok((found, faults)),
            }
        }
    }
}

/// Returns the failure if the name is that of a change, which no access log contains.
fn is_change(vault: &Vault, logs: &Logs, name: &TraceId) -> Option<Failure> {
    let changes = Logs::of_changes(vault).ok()?.seen_by(logs.sight().clone());
    let found = changes.find(name).ok()?;
    found.first().map(|line| no_texts(name, line.event.kind().as_str()))
}

/// Returns the failure for a line that contains no text.
fn no_texts(name: &TraceId, event: &str) -> Failure {
    let message = format!("`{name}` is not an access but a line `{event}` without texts");
    let show = Command::new(Verb::TraceShow).value(name.to_string());
    Failure::new(Code::Usage, message).hint(Hint::call("{} prints it", show))
}

impl Call<'_> {
    /// Rebuilds the texts of lines. The principal of a session sees its staged entries.
    ///
    /// # Errors
    /// The labels of the call are invalid.
    pub(crate) fn replay(
        &mut self,
        (vault, source): Places<'_>,
        lines: &[Line],
    ) -> Result<ReplayReport, Failure> {
        let (workspace, labels) = (&self.workspace, self.workspace.labels()?);
        let staged_of = |id: &DocumentId| workspace.visible_staged(vault, &labels, id);
        let staged = StagedTexts::new(&staged_of);
        let of_line = |line: &Line| {
            let trace = line.trace().to_string();
            let made = replay((vault, source), &staged, line).into_iter();
            made.map(move |replayed| (trace.clone(), replayed))
        };
        Ok(ReplayReport::new(lines.iter().flat_map(of_line).collect()))
    }
}
