//! The verbs in groups by task, and the help of all of them.

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _};

use super::Cli;
use crate::values::model::verb::Verb;

/// Options that are useless for some verbs.
const UNUSED: [(&str, &[&str]); 3] =
    [("demo", &["vault"]), ("help", &["vault"]), ("textconv", &["vault"])];

/// The verb whose labels come from each request, so that it has no such options.
const UNLABELLED: &str = "mcp";

/// Options and the help of each.
type Helps = &'static [(&'static str, &'static str)];

/// Help of the label options where they select recorded lines: the path of a verb, and the help of
/// each option.
const CHOOSING: [(&[&str], Helps); 7] = [
    (&["trace", "list"], &BY_LABEL),
    (&["trace", "grep"], &BY_LABEL),
    (&["trace", "follow"], &BY_LABEL),
    (&["impact"], &BY_LABEL),
    (
        &["replay"],
        &[
            ("agent", "Of the session, only accesses by this agent"),
            ("session", "Reproduce the texts of every access of this session"),
            ("thread", "Of the session, only accesses of this thread"),
            ("task", "Of the session, only accesses of this task"),
            ("node", "Of the session, only accesses by this node of a graph of agents"),
        ],
    ),
    (&["evidence", "export"], &[("session", "Every line of this session")]),
    (
        &["trace", "hold", "place"],
        &[("agent", "Hold accesses by this agent"), ("session", "Hold accesses of this session")],
    ),
];

/// The help of each label that selects lines.
const BY_LABEL: [(&str, &str); 5] = [
    ("agent", "Only accesses by this agent"),
    ("session", "Only accesses of this session"),
    ("thread", "Only accesses of this thread"),
    ("task", "Only accesses of this task"),
    ("node", "Only accesses by this node of a graph of agents"),
];

/// Replaces these options of a verb; its place among the others stays.
fn choosing(command: &mut clap::Command, path: &[&str], labels: Helps) {
    let Some((verb, rest)) = path.split_first() else {
        let label = |(name, help): &(&'static str, &'static str)| {
            clap::Arg::new(*name).long(*name).value_name("ID").help(*help)
        };
        *command = std::mem::take(command).args(labels.iter().map(label));
        return;
    };
    if let Some(part) = command.find_subcommand_mut(verb) {
        choosing(part, rest, labels);
    }
}

/// Returns true if a line of a log may have these words as its command: those of a verb with or
/// without a part of it, or of a tool without a verb.
pub(super) fn is_recorded(words: &str) -> bool {
    let is_of = |verb: Verb| verb.as_str().strip_prefix(words).is_some_and(is_end);
    !words.is_empty() && Verb::all().any(is_of)
}

/// Returns true if a word ends before this rest of a text.
fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}

/// Returns the groups of the help, each with the first words of its verbs.
fn grouped() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for verb in Verb::all().filter(|verb| !verb.group().is_empty()) {
        let word = verb.as_str().split(' ').next().unwrap_or_default();
        match groups.last_mut().filter(|(group, _)| *group == verb.group()) {
            Some((_, words)) if words.last() == Some(&word) => {}
            Some((_, words)) => words.push(word),
            None => groups.push((verb.group(), vec![word])),
        }
    }
    groups
}

/// Returns the command with its groups.
pub(super) fn command() -> clap::Command {
    let mut command = Cli::command();
    for (verb, options) in UNUSED {
        for option in options {
            command = command.mut_subcommand(verb, |verb| {
                let hidden = clap::Arg::new(*option).long(*option).hide(true);
                verb.arg(hidden.value_parser(clap::value_parser!(std::path::PathBuf)))
            });
        }
    }
    for (path, labels) in CHOOSING {
        choosing(&mut command, path, labels);
    }
    if let Some(verb) = command.find_subcommand_mut(UNLABELLED) {
        // They are refused with a reason. Removed and added again, the verb keeps its place.
        let hidden = |(name, _)| clap::Arg::new(name).long(name).hide(true);
        *verb = std::mem::take(verb).args(BY_LABEL.map(hidden));
    }
    let mut groups = String::new();
    for (group, verbs) in grouped() {
        groups.push_str(&format!("{group}:\n"));
        // A build without servers lacks one.
        let found =
            verbs.into_iter().filter_map(|verb| Some((verb, command.find_subcommand(verb)?)));
        for (verb, found) in found {
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            groups.push_str(&format!("  {verb:<11} {about}\n"));
        }
        groups.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{{options}}{{after-help}}"
    );
    command.help_template(template)
}

/// Parses a command line; returns the words of its verb too, as in `stage list`.
pub(super) fn parse(args: Vec<OsString>) -> Result<(Cli, String), clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(args)?;
    let parts = std::iter::successors(matches.subcommand(), |(_, part)| part.subcommand());
    let verb = parts.map(|(word, _)| word).collect::<Vec<_>>().join(" ");
    let cli = Cli::from_arg_matches(&matches).map_err(|why| why.format(&mut command))?;
    Ok((cli, verb))
}

/// Returns the help texts of all verbs, as Markdown: the contents of `docs/cli.md`.
pub fn reference() -> String {
    let mut out = String::from(
        "# Command reference\n\nGenerated from `ctx --help`; a test compares them. Each command also takes \
         the [global options](#global-options).\n",
    );
    let mut section = |name: &str, command: &clap::Command| {
        let help = command.clone().render_long_help().to_string();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        out.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()));
    };
    let mut root = command().term_width(90);
    root.build();
    let without_globals = |command: &clap::Command| {
        command.clone().mut_args(|arg| {
            let is_global = arg.is_global_set();
            arg.hide(is_global)
        })
    };
    section("ctx", &without_globals(&root));
    let globals = root.get_arguments().filter(|arg| arg.is_global_set()).cloned();
    let of_globals = clap::Command::new("ctx").term_width(90).disable_help_flag(true).args(globals);
    section("Global options", &of_globals.help_template("{options}"));
    for verb in root.get_subcommands() {
        section(&format!("ctx {}", verb.get_name()), &without_globals(verb));
        for part in verb.get_subcommands().filter(|c| c.get_name() != "help") {
            let name = format!("ctx {} {}", verb.get_name(), part.get_name());
            section(&name, &without_globals(part));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::values::model::verb::Effect;

    /// Returns the words of each command that can be run, and the command.
    fn leaves<'c>(command: &'c clap::Command, above: &str) -> Vec<(String, &'c clap::Command)> {
        let words = [above, command.get_name()].join(" ");
        let parts: Vec<_> = command.get_subcommands().filter(|p| p.get_name() != "help").collect();
        let itself = (!command.is_subcommand_required_set() || parts.is_empty())
            .then(|| (words.trim_start().to_owned(), command));
        itself.into_iter().chain(parts.into_iter().flat_map(|part| leaves(part, &words))).collect()
    }

    #[test]
    fn every_command_has_one_row_and_every_row_a_command() {
        let root = Cli::command();
        let all = root.get_subcommands().flat_map(|verb| leaves(verb, ""));
        let commands: BTreeSet<String> = all.map(|(words, _)| words).collect();
        let of_build = |verb: &Verb| cfg!(feature = "mcp") || verb.group() != "Serve";
        let rows = Verb::all().filter(|verb| !verb.group().is_empty());
        let missing: Vec<&str> = rows
            .filter(of_build)
            .map(Verb::as_str)
            .filter(|words| !commands.contains(*words))
            .collect();
        assert_eq!(missing, [""; 0], "rows without a command");
        let missing: Vec<&String> =
            commands.iter().filter(|words| Verb::of_words(words).is_none()).collect();
        assert_eq!(missing, [""; 0], "commands without a row");
    }

    #[test]
    fn a_command_that_takes_the_lock_has_an_effect_in_its_row() {
        let root = Cli::command();
        let all = root.get_subcommands().flat_map(|verb| leaves(verb, ""));
        let locks = |command: &clap::Command| {
            command.get_arguments().any(|arg| arg.get_id() == "lock_timeout")
        };
        let reads = |words: &str| Verb::of_words(words).unwrap().effect() == Effect::Reads;
        let found: Vec<String> =
            all.filter(|(words, of)| locks(of) && reads(words)).map(|(words, _)| words).collect();
        // The list has the option because `review show` has it; it does not take the lock.
        assert_eq!(found, ["review", "review show"]);
    }

    #[test]
    fn each_verb_is_listed_once_in_the_help() {
        let listed: Vec<&str> = grouped().into_iter().flat_map(|(_, verbs)| verbs).collect();
        assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len());
    }

    #[test]
    fn the_first_line_of_each_help_is_short_and_begins_with_a_verb() {
        fn check(command: &clap::Command) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let name = command.get_name();
            assert!(about.chars().count() <= 72, "{name}: {about}");
            assert!(about.starts_with(char::is_uppercase) && !about.ends_with('.'), "{name}");
            command.get_subcommands().filter(|part| part.get_name() != "help").for_each(check);
        }
        Cli::command().get_subcommands().for_each(check);
    }
}
