//! The verbs in groups of what people want to do, and the help of all of them.

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _};

use super::Cli;
use crate::record::audit::DRAFT;

/// The verbs of each group, in the order in which `ctx --help` lists them.
const GROUPS: [(&str, &[&str]); 9] = [
    ("Start", &["init", "demo", "add"]),
    ("Publish", &["status", "validate", "diff", "publish", "retire", "restore", "mv"]),
    ("Review", &["submit", "review", "approve", "reject", "withdraw", "comment"]),
    (
        "Read",
        &["list", "read", "resolve", "search", "context", "pack", "neighbors", "graph", "source"],
    ),
    (
        "Verify and look back",
        &[
            "verify",
            "head",
            "history",
            "blame",
            "check",
            "show",
            "checkpoint",
            "checkout",
            "audit",
            "trace",
            "impact",
            "replay",
            "evidence",
        ],
    ),
    ("Govern", &["govern", "steward", "owners", "stage"]),
    ("Serve", SERVING),
    ("Maintain", &["recover", "index"]),
    ("Help", &["help"]),
];

/// The verbs for agents and other programs.
const SERVING: &[&str] = if cfg!(feature = "mcp") { &["mcp", "skill"] } else { &["skill"] };

/// Options that some verbs have no use for.
const UNUSED: [(&str, &[&str]); 2] = [("demo", &["vault"]), ("help", &["vault"])];

/// The verb whose labels are those of each request, so that it takes none.
const UNLABELLED: &str = "mcp";

/// Options and the help of each.
type Helps = &'static [(&'static str, &'static str)];

/// What the options of labels mean where they choose among what was recorded: the path of a verb, and
/// the help of each option.
const CHOOSING: [(&[&str], Helps); 7] = [
    (&["trace", "list"], &BY_LABEL),
    (&["trace", "grep"], &BY_LABEL),
    (&["trace", "follow"], &BY_LABEL),
    (&["impact"], &BY_LABEL),
    (
        &["replay"],
        &[
            ("agent", "Of the session, only accesses by this agent"),
            ("session", "Make the texts of every access of this session again"),
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

/// Where each label chooses.
const BY_LABEL: [(&str, &str); 5] = [
    ("agent", "Only accesses by this agent"),
    ("session", "Only accesses of this session"),
    ("thread", "Only accesses of this thread"),
    ("task", "Only accesses of this task"),
    ("node", "Only accesses by this node of a graph of agents"),
];

/// Gives a verb these options of its own; its place among the others stays.
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

/// Whether some line of a log may have these words as its command: those of a verb with or without
/// a part of it, or of a tool that no verb stands for.
pub(super) fn is_recorded(words: &str) -> bool {
    let command = Cli::command();
    let mut path = words.split(' ');
    let found = path.try_fold(&command, |command, word| command.find_subcommand(word));
    found.is_some() && !words.is_empty() || words == DRAFT
}

/// The command with its groups.
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
        // They are refused with a reason. Taken out and put back, the verb keeps its place.
        let hidden = |(name, _)| clap::Arg::new(name).long(name).hide(true);
        *verb = std::mem::take(verb).args(BY_LABEL.map(hidden));
    }
    let mut groups = String::new();
    for (group, verbs) in GROUPS.into_iter().filter(|(_, verbs)| !verbs.is_empty()) {
        groups.push_str(&format!("{group}:\n"));
        for verb in verbs {
            let about = command.find_subcommand(verb).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            groups.push_str(&format!("  {verb:<12}{about}\n"));
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

/// The help texts of all verbs, as Markdown: the contents of `docs/cli.md`.
pub fn reference() -> String {
    let mut out = String::from(
        "# Command reference\n\nGenerated from `ctx --help`; a test holds them equal.\n",
    );
    let mut section = |name: &str, command: &mut clap::Command| {
        let help = command.render_long_help().to_string();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        out.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()));
    };
    let mut root = command().term_width(90);
    root.build();
    section("ctx", &mut root.clone());
    for verb in root.get_subcommands() {
        section(&format!("ctx {}", verb.get_name()), &mut verb.clone());
        for part in verb.get_subcommands().filter(|c| c.get_name() != "help") {
            section(&format!("ctx {} {}", verb.get_name(), part.get_name()), &mut part.clone());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_verb_is_in_one_group() {
        let listed: Vec<&str> =
            GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        let command = Cli::command();
        let verbs: BTreeSet<&str> =
            command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(listed.len(), verbs.len());
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), verbs);
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
