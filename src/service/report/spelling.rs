//! Spelling of calls in hints as shell commands.

use crate::values::model::hint::{Argument, Call};
use crate::values::text_util::argument;

/// Returns a call as a shell command, without quotes around it.
pub(crate) fn command_line(call: &Call) -> String {
    let mut line = format!("ctx {}", call.verb.as_str());
    let is_option = |part: &Argument| matches!(part, Argument::Word(word) if word.starts_with('-'));
    let after_options = call.arguments.iter().rposition(is_option).map_or(0, |last| last + 1);
    let is_dashed =
        |part: &Argument| matches!(part, Argument::Value(value) if value.starts_with('-'));
    let dashed = call.arguments.iter().position(is_dashed).filter(|n| *n >= after_options);
    for (n, part) in call.arguments.iter().enumerate() {
        line.push_str(if dashed == Some(n) { " -- " } else { " " });
        match part {
            Argument::Value(value) => line.push_str(&argument(value)),
            Argument::Word(word) => line.push_str(word),
        }
    }
    if let Some(path) = &call.patches {
        line.push_str(&format!(" | patch {}", argument(path)));
    }
    line
}
