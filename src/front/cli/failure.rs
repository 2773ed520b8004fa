//! Spells the calls of hints as commands.

use crate::service::report::spelling::command_line;
use crate::values::model::hint::Call;

/// Returns a call as a command to type.
pub(super) fn command(call: &Call) -> String {
    format!("`{}`", command_line(call))
}
