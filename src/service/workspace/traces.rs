//! The lines of logs that questions name, and why there is none.

use crate::record::audit::{Fault, Logs, TraceId};
use crate::service::report::failure::{Code, Failure};
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::visible::shown;

/// The name of an access as an argument.
pub(crate) fn trace_id(text: &str) -> Result<TraceId, Failure> {
    text.parse().map_err(|why| {
        let failure =
            Failure::new(Code::Usage, format!("`{text}` is not the name of an access: {why}"));
        // The id of a document names none: it may have many.
        let list = Call::new(Verb::TraceList).word("--document").value(text);
        match text.contains('/') {
            true => failure.hint(Hint::call("{} lists the accesses to a document", list)),
            false => failure.hint(Hint::call("{} lists them", Verb::TraceList)),
        }
    })
}

/// That the log has no line that was asked for; one that was altered is none.
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

/// What lists the accesses.
fn listed() -> Hint {
    let calls = [Verb::TraceList.into(), Verb::TraceVerify.into()];
    Hint::calls("{} lists them; {} names lines that were altered", calls)
}

/// The same failure with what is wrong with the logs: a line that is asked for may be one that they
/// lack.
pub(crate) fn naming(mut failure: Failure, lost: &[Fault]) -> Failure {
    let name = |fault: &Fault| {
        format!("{}: {}: {}", fault.kind.as_str(), shown(&fault.file), shown(&fault.why))
    };
    failure.details.extend(lost.iter().take(MOST_NAMED).map(name));
    failure
}

/// So many faults are named with a failure.
const MOST_NAMED: usize = 20;

/// Of some faults, those of the writer whose line a trace names.
pub(crate) fn of_writer<'f>(
    faults: &'f [Fault],
    name: &'f TraceId,
) -> impl Iterator<Item = &'f Fault> {
    let is_of = |fault: &&Fault| {
        fault.file.rsplit('/').next().is_some_and(|file| file.starts_with(&name.writer))
    };
    faults.iter().filter(is_of)
}

/// That a line which was not found may be in a folder that could not be listed.
fn unlisted(all: &[Logs]) -> Option<Failure> {
    let fault = all.iter().flat_map(Logs::unlisted).next()?;
    let Fault { file, why, .. } = fault;
    Some(Failure::new(Code::Io, format!("the access log `{}`: {why}", shown(file))))
}

/// That no line has a name; a line that was pruned had it.
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
