//! Spells the calls of hints as commands.

use crate::service::report::spelling::command_line;
use crate::values::model::hint::{Argument, Call, Verb};

/// Returns a call as a command to type.
pub(super) fn command(call: &Call) -> String {
    format!("`{}`", command_line(call))
}

/// Returns a call as a command for a governed vault, where texts are submitted and a reviewer
/// publishes them.
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
