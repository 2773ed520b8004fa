//! Spells the calls in hints as tools; calls without a tool are spelled as commands for a person.

use serde_json::{Value, json};

use super::offer::Profile;
use super::tools::ALL;
use crate::service::report::Spell;
use crate::service::report::spelling::command_line;
use crate::service::workspace::source::ALL as ALL_SOURCES;
use crate::values::model::hint::{Argument, Call, Mode, Verb};

/// Returns the spelling of calls for a user of the tools of a profile.
pub(super) fn of(profile: Profile) -> Spell {
    // A tool says what it does in either mode.
    let words: fn(&Call) -> String = match profile {
        Profile::Reader => |call| spell(call, Profile::Reader),
        Profile::Author => |call| spell(call, Profile::Author),
        Profile::Reviewer => |call| spell(call, Profile::Reviewer),
    };
    Spell::new(words, Mode::Publishes)
}

/// Returns true if the first argument of a call is an option.
fn is_option(call: &Call) -> bool {
    matches!(call.arguments.first(), Some(Argument::Word(word)) if word.starts_with('-'))
}

/// Spells a call as a tool with its argument, or as a command if no tool of the profile makes it.
fn spell(call: &Call, profile: Profile) -> String {
    let tool = call.verb.tool().filter(|tool| tool.profile <= profile);
    let tool = tool.map(|tool| (tool.name, tool.argument));
    let of_person = || format!("`{}` (a command for a person)", command_line(call));
    let with = |tool: &str, name: &str, value: Value| format!("`{tool}` with `{name}`: {value}");
    match (tool, call.arguments.as_slice()) {
        (None, []) if call.verb == Verb::SourceList => {
            with("context_overview", "selector", json!(ALL_SOURCES))
        }
        (Some((tool, _)), []) => format!("`{tool}`"),
        (Some((tool, "ids")), [Argument::Value(value)]) => with(tool, "ids", json!([value])),
        (Some((tool, name)), [Argument::Value(value), rest @ ..]) if !name.is_empty() => {
            match options(tool, rest) {
                Some(options) => with(tool, name, json!(value)) + &options,
                None => of_person(),
            }
        }
        // A placeholder, which the reader replaces.
        (Some((tool, name)), [Argument::Word(_)]) if !name.is_empty() && !is_option(call) => {
            format!("`{tool}` with `{name}`")
        }
        _ => of_person(),
    }
}

/// Spells options of a command as arguments of a tool: one with a value, or one that is `true`.
/// `None` if the tool lacks one of them.
fn options(tool: &str, options: &[Argument]) -> Option<String> {
    let schema = ALL.iter().find(|one| one.name == tool)?.schemas().0;
    let (mut out, mut rest) = (String::new(), options);
    while let [Argument::Word(word), after @ ..] = rest {
        let name = word.strip_prefix("--")?.replace('-', "_");
        let kind = schema["properties"].get(&name)?["type"].as_str();
        let (value, after) = match after {
            _ if kind == Some("boolean") => ("true".to_owned(), after),
            [Argument::Value(value), after @ ..] if kind == Some("integer") => {
                (value.clone(), after)
            }
            [Argument::Value(value), after @ ..] => (json!(value).to_string(), after),
            _ => return None,
        };
        out.push_str(&format!(" and `{name}`: {value}"));
        rest = after;
    }
    rest.is_empty().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_a_tool_or_a_command_for_a_person() {
        let spell = |call: &Call| spell(call, Profile::Reader);
        assert_eq!(spell(&Verb::Verify.into()), "`context_verify`");
        let read = Call::new(Verb::Read).value("nodes/a \"b\"");
        assert_eq!(spell(&read), "`context_read` with `id`: \"nodes/a \\\"b\\\"\"");
        assert_eq!(spell(&Call::new(Verb::Read).word("ID")), "`context_read` with `id`");
        let outline = Call::new(Verb::Read).value("nodes/a").word("--outline");
        let read = "`context_read` with `id`: \"nodes/a\" and `outline`: true";
        assert_eq!(spell(&outline), read);
        let lacking = Call::new(Verb::Read).value("nodes/a").word("--snippets");
        assert_eq!(spell(&lacking), "`ctx read nodes/a --snippets` (a command for a person)");
        let all = Call::new(Verb::Verify).word("--evidence");
        assert_eq!(spell(&all), "`ctx verify --evidence` (a command for a person)");
        let recover = Call::new(Verb::Recover).word("--dry-run");
        assert_eq!(spell(&recover), "`ctx recover --dry-run` (a command for a person)");
    }

    #[test]
    fn a_hint_names_no_tool_that_the_profile_lacks() {
        let submit = Call::new(Verb::Submit).value("nodes/a");
        assert_eq!(of(Profile::Author).call(&submit), "`context_submit` with `ids`: [\"nodes/a\"]");
        let show = Call::new(Verb::ReviewShow).value("nodes/a").word("--version").value("3");
        let tool = "`context_review` with `id`: \"nodes/a\" and `version`: 3";
        assert_eq!(of(Profile::Reviewer).call(&show), tool);
        let command = "`ctx review show nodes/a --version 3` (a command for a person)";
        assert_eq!(of(Profile::Author).call(&show), command);
        let reader = of(Profile::Reader).call(&submit);
        assert_eq!(reader, "`ctx submit nodes/a` (a command for a person)");
    }
}
