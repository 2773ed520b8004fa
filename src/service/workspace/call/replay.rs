//! The texts of recorded accesses, made again and compared with the log (AUDIT-9).

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

/// Which accesses are made again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Replayed<'r> {
    /// The one with this name.
    Trace(&'r TraceId),
    /// Those of a session.
    Session(&'r Filter),
}

/// What of an access is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// Its texts.
    Texts,
    /// Its whole output.
    Output,
}

/// The lines of a question, and what is wrong with the logs that they are from. Of one access there
/// are none of the latter: what its writer lost, the caller knows.
///
/// # Errors
/// There is no such line, or it handed out no text.
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
            // That all is the same says that no line of the session was replaced.
            let take = &mut |line| found.push(line);
            let faults = of_log(logs.matching_verified(filter, &keep, take))?;
            match found.is_empty() {
                true => Err(unknown_access(logs)),
                false => Ok((found, faults)),
            }
        }
    }
}

/// That a line is a change, which no access log has.
fn is_change(vault: &Vault, logs: &Logs, name: &TraceId) -> Option<Failure> {
    let changes = Logs::of_changes(vault).ok()?.seen_by(logs.sight().clone());
    let found = changes.find(name).ok()?;
    found.first().map(|line| no_texts(name, line.event.kind().as_str()))
}

/// That a line says of no text that it was handed out.
fn no_texts(name: &TraceId, event: &str) -> Failure {
    let message = format!("`{name}` is no access, but a line `{event}`: it handed out no text");
    let show = Command::new(Verb::TraceShow).value(name.to_string());
    Failure::new(Code::Usage, message).hint(Hint::call("{} prints it", show))
}

impl Call<'_> {
    /// Makes the texts of lines again. Whose session it is sees its staged entries.
    ///
    /// # Errors
    /// The labels of the call are none.
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
