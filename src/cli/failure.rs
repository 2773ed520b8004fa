//! Failures and hints as text for a terminal.

use super::ui::shown;
use crate::model::hint::{Argument, Call, Verb};
use crate::report::failure::FailureReport;
use crate::words::argument;

/// A call as a command to type.
pub(super) fn command(call: &Call) -> String {
    let mut line = format!("ctx {}", call.verb.as_str());
    for part in &call.arguments {
        line.push(' ');
        match part {
            Argument::Value(value) => line.push_str(&argument(value)),
            Argument::Word(word) => line.push_str(word),
        }
    }
    if let Some(path) = &call.patches {
        line.push_str(&format!(" | patch {}", argument(path)));
    }
    format!("`{line}`")
}

/// The same in a governed vault, where texts are submitted and a reviewer publishes them.
pub(super) fn governed_command(call: &Call) -> String {
    if call.verb != Verb::Publish {
        return command(call);
    }
    let mut submit = Call { verb: Verb::Submit, ..call.clone() };
    for argument in &mut submit.arguments {
        if *argument == Argument::Word("--all") {
            *argument = Argument::Word("--changed");
        }
    }
    command(&submit)
}

/// A failure as text for people.
pub(super) fn text(failure: &FailureReport<'_>) -> String {
    let mut out = format!("error[{}]: {}", failure.code, shown(failure.message));
    for detail in failure.details {
        out.push_str(&format!("\n  {}", shown(detail)));
    }
    for document in &failure.documents {
        out.push_str(&format!("\n  {}", shown(&document.path)));
        for problem in &document.problems {
            let line = problem.line.map_or_else(String::new, |n| format!("line {n}: "));
            let (message, hint) = (shown(&problem.message), shown(&problem.hint));
            let (severity, code) = (problem.severity, problem.code);
            out.push_str(&format!("\n    {severity}[{code}]: {line}{message} ({hint})"));
        }
    }
    for hint in &failure.hints {
        out.push_str(&format!("\nhint: {}", shown(hint)));
    }
    out
}
