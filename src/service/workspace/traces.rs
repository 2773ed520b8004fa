//! Finds the log lines that questions name, and explains why a line is missing.

use crate::record::audit::{Fault, Logs, TraceId};
use crate::service::report::failure::{Code, Failure};
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::visible::shown;

/// Parses the name of an access.
pub(crate) fn trace_id(text: &str) -> Result<TraceId, Failure> {
    text.parse().map_err(|why| {
        let failure =
            Failure::new(Code::Usage, format!("`{text}` is not the name of an access: {why}"));
        // A document may have many accesses, so its id is not a name of one.
        let list = Call::new(Verb::TraceList).word("--document").value(text);
        match text.contains('/') {
            true => failure.hint(Hint::call("{} lists the accesses to a document", list)),
            false => failure.hint(Hint::call("{} lists them", Verb::TraceList)),
        }
    })
}

/// Returns the failure for an access that is not in the log. An altered line is treated as missing.
pub(crate) fn unknown_access(logs: &Logs) -> Failure {
    if let Some(failure) = unlisted(std::slice::from_ref(logs)) {
        return failure;
    }
    let message = match logs.sight().is_limited() {
        true => "no such access is recorded that you may read",
        false => "no such access is recorded",
    };
    Failure::new(Code::UnknownTrace, message).hint(listed())
}

/// Returns the hint with the commands that list accesses.
fn listed() -> Hint {
    let calls = [Verb::TraceList.into(), Verb::TraceVerify.into()];
    Hint::calls("{} lists accesses; {} names lines that were altered", calls)
}

/// Adds the faults of the logs to a failure, because the missing line may be one that they lost.
pub(crate) fn naming(mut failure: Failure, lost: &[Fault]) -> Failure {
    let name = |fault: &Fault| {
        format!("{}: {}: {}", fault.kind.as_str(), shown(&fault.file), shown(&fault.why))
    };
    failure.details.extend(lost.iter().take(MOST_NAMED).map(name));
    failure
}

/// Maximum number of faults that are added to a failure.
const MOST_NAMED: usize = 20;

/// Returns the faults in the files of the writer that a trace names.
pub(crate) fn of_writer<'f>(
    faults: &'f [Fault],
    name: &'f TraceId,
) -> impl Iterator<Item = &'f Fault> {
    let is_of = |fault: &&Fault| {
        fault.file.rsplit('/').next().is_some_and(|file| file.starts_with(&name.writer))
    };
    faults.iter().filter(is_of)
}

/// Returns a failure if a folder could not be listed, because a missing line may be there.
fn unlisted(all: &[Logs]) -> Option<Failure> {
    let fault = all.iter().flat_map(Logs::unlisted).next()?;
    let Fault { file, why, .. } = fault;
    Some(Failure::new(Code::Io, format!("the access log `{}`: {why}", shown(file))))
}

/// Returns the failure for a name that no line has; if the line was pruned, it says so.
pub(crate) fn unknown_trace(all: &[Logs], name: &TraceId) -> Failure {
    match all.iter().find_map(|logs| logs.cuts().covers(name)) {
        Some(cut) => {
            let message = format!("the access `{name}` was pruned");
            let show = Call::new(Verb::TraceShow).value(shown(&cut.by));
            Failure::new(Code::UnknownTrace, message)
                .hint(Hint::call("{} shows who pruned it", show))
        }
        None => {
            if let Some(failure) = unlisted(all) {
                return failure;
            }
            let is_limited = all.iter().any(|logs| logs.sight().is_limited());
            let which = if is_limited { " that you may read" } else { "" };
            let message = format!("no access `{name}` is recorded{which}");
            Failure::new(Code::UnknownTrace, message).hint(listed())
        }
    }
}
