//! Calls of hints as lines of a shell.

use crate::model::hint::{Argument, Call};
use crate::words::argument;

/// A call as a command to type, without quotes around it.
pub(crate) fn command_line(call: &Call) -> String {
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
    line
}
