//! The calls that hints name, as tools; what no tool does is named as the command that a person
//! types.

use crate::model::hint::{Argument, Call, Verb};
use crate::report::spelling::command_line;

/// A call as the tool to call, with its argument; one that no tool makes as a command.
pub(super) fn spell(call: &Call) -> String {
    let tool = match call.verb {
        Verb::Diff => Some(("context_diff", "id")),
        Verb::History => Some(("context_history", "id")),
        Verb::List => Some(("context_overview", "selector")),
        Verb::PackList => Some(("context_init", "")),
        Verb::Read => Some(("context_read", "id")),
        Verb::Resolve => Some(("context_resolve", "selector")),
        Verb::Verify => Some(("context_verify", "")),
        _ => None,
    };
    match (tool, call.arguments.as_slice()) {
        (Some((tool, _)), []) => format!("`{tool}`"),
        (Some((tool, name)), [Argument::Value(value)]) if !name.is_empty() => {
            format!("`{tool}` with `{name}`: {}", serde_json::Value::from(value.as_str()))
        }
        _ => format!("`{}` (a command for a person)", command_line(call)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_a_tool_or_a_command_for_a_person() {
        assert_eq!(spell(&Verb::Verify.into()), "`context_verify`");
        let read = Call::new(Verb::Read).value("nodes/a \"b\"");
        assert_eq!(spell(&read), "`context_read` with `id`: \"nodes/a \\\"b\\\"\"");
        let recover = Call::new(Verb::Recover).word("--dry-run");
        assert_eq!(spell(&recover), "`ctx recover --dry-run` (a command for a person)");
    }
}
