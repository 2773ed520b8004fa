//! Guesses the command that a person meant by a command line that ctx cannot read: words of git and
//! of other programs, options under another name, and missing arguments.

mod words;

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use self::words::{BESIDE, FORMS, NAMES, OPTIONS, PAIRS, PARTS, SHORT, WORDS};
use super::help_groups;
use crate::values::text_util::{argument, nearest};

/// The advice about a command line that cannot be read.
#[derive(Debug, Default)]
pub(super) struct Meant {
    /// The message that replaces the parser's own, which names other options or uses words of Rust.
    pub(super) message: Option<String>,
    pub(super) hints: Vec<String>,
}

/// Returns the message for an unknown command, part, option or a wrong value, and what was meant.
pub(super) fn meant(why: &clap::Error, words: &[String]) -> Meant {
    let mut root = help_groups::command();
    root.build();
    let text = |kind| match why.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(" "),
        _ => String::new(),
    };
    let is_option = why.kind() == ErrorKind::UnknownArgument;
    let word =
        text(if is_option { ContextKind::InvalidArg } else { ContextKind::InvalidSubcommand });
    let line = Line::read(&root, words, is_option.then_some(word.as_str()));
    let value = text(ContextKind::InvalidValue);
    match why.kind() {
        ErrorKind::InvalidSubcommand if line.path.is_empty() => {
            let next = line.rest.get(1).map(String::as_str);
            unknown_command(&root, &word, next)
        }
        ErrorKind::InvalidSubcommand => Meant {
            message: Some(format!("unknown command `{} {word}`", line.verb())),
            hints: part(line.command, &line.verb(), &word),
        },
        ErrorKind::MissingSubcommand if line.path.is_empty() => Meant {
            message: Some("no command is named".to_owned()),
            hints: vec!["`ctx --help` lists the commands".to_owned()],
        },
        ErrorKind::MissingSubcommand => Meant {
            message: Some(format!("`ctx {}` needs one of its parts", line.verb())),
            hints: vec![parts_of(line.command, &line.verb())],
        },
        ErrorKind::UnknownArgument if word.starts_with('-') => Meant {
            message: Some(match line.path.is_empty() {
                true => format!("unknown option `{word}`"),
                false => format!("`ctx {}` has no option `{word}`", line.verb()),
            }),
            hints: option(&line, words, &word).into_iter().chain(line.help()).collect(),
        },
        ErrorKind::UnknownArgument => Meant {
            message: Some(format!("`ctx {}` does not take the value `{word}`", line.verb())),
            hints: beside(&line, &word).into_iter().chain(line.help()).collect(),
        },
        ErrorKind::MissingRequiredArgument => Meant {
            message: None,
            hints: match swapped(&line, None) {
                Some(hint) => vec![hint],
                None => missing(&line).into_iter().chain(example(line.command)).collect(),
            },
        },
        ErrorKind::InvalidValue => {
            Meant { message: None, hints: swapped(&line, Some(&value)).into_iter().collect() }
        }
        ErrorKind::ValueValidation => {
            let name = text(ContextKind::InvalidArg);
            Meant {
                message: form(why, &name)
                    .map(|form| format!("invalid value `{value}` for `{name}`: expected {form}")),
                hints: of_value(&name, &value).or_else(|| missing(&line)).into_iter().collect(),
            }
        }
        _ => Meant::default(),
    }
}

/// Returns the message of `ctx help` for words that are not a command.
pub(super) fn of_help(words: &[String]) -> Meant {
    let mut root = help_groups::command();
    root.build();
    let line = Line::read(&root, words, None);
    match (line.path.is_empty(), line.rest) {
        // An option is neither a command nor a code.
        (_, []) => Meant {
            message: Some(format!("unknown command `{}`", words.join(" "))),
            hints: vec![
                "`ctx help` lists all commands, `ctx help CODE` explains a code".to_owned(),
            ],
        },
        (true, [word, rest @ ..]) => unknown_command(&root, word, rest.first().map(String::as_str)),
        (false, [word, ..]) => Meant {
            message: Some(format!("unknown command `{} {word}`", line.verb())),
            hints: part(line.command, &line.verb(), word),
        },
    }
}

/// The readable part of a command line.
struct Line<'c> {
    /// The command that the words lead to.
    command: &'c clap::Command,
    /// The names of the command.
    path: Vec<&'c str>,
    /// The words from the first one that names no command.
    rest: &'c [String],
}

impl<'c> Line<'c> {
    /// Reads words up to one that no command has.
    fn read(root: &'c clap::Command, words: &'c [String], unknown: Option<&str>) -> Self {
        let mut line = Self { command: root, path: Vec::new(), rest: words };
        while let [word, after @ ..] = line.rest {
            let is_unknown = unknown.is_some_and(|unknown| is_option(word, unknown));
            if word == "--" || is_unknown && !line.path.is_empty() {
                break;
            }
            if word.starts_with('-') {
                let takes_value = !word.contains('=') && takes_value(line.command, word);
                line.rest = after.get(usize::from(takes_value)..).unwrap_or_default();
                continue;
            }
            let Some(part) = line.command.find_subcommand(word) else { break };
            line.command = part;
            line.path.push(part.get_name());
            line.rest = after;
        }
        line
    }

    fn verb(&self) -> String {
        self.path.join(" ")
    }

    /// Returns the values among the words, without those of options.
    fn values(&self) -> Vec<&'c str> {
        let (mut values, mut rest) = (Vec::new(), self.rest);
        while let [word, after @ ..] = rest {
            rest = after;
            if !word.starts_with('-') {
                values.push(word.as_str());
            } else if !word.contains('=') && takes_value(self.command, word) {
                rest = after.get(1..).unwrap_or_default();
            }
        }
        values
    }

    /// Fills a hint for this line: `{verb}` is its command, `{id}` its first value, `{value}`
    /// this word.
    fn fill(&self, hint: &str, value: Option<&str>) -> String {
        let values = self.values();
        let id = values.iter().find(|word| word.contains('/')).or(values.first());
        let id = id.filter(|id| Some(**id) != value).map_or("ID".into(), |id| argument(id));
        let word = value.unwrap_or("N");
        let is_number = word.bytes().all(|b| b.is_ascii_digit());
        let port = if value.is_some() && is_number { word } else { "8080" };
        let plain = word.trim_start_matches('#');
        hint.replace("{verb}", &self.verb())
            .replace("{#value}", &argument(&format!("#{plain}")))
            .replace("{type:value}", &argument(&format!("type:{word}")))
            .replace("{value/}", &argument(&format!("{}/", word.trim_end_matches('/'))))
            .replace("{port}", port)
            .replace("{value}", &argument(word))
            .replace("{id}", &id)
    }

    fn help(&self) -> Option<String> {
        (!self.path.is_empty()).then(|| format!("`ctx help {}` lists its options", self.verb()))
    }
}

/// Returns true if a word is this option, alone or with its value.
fn is_option(word: &str, option: &str) -> bool {
    let rest = word.strip_prefix(option);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('=') || !option.starts_with("--"))
}

/// Returns true if the word after an option is its value.
fn takes_value(command: &clap::Command, word: &str) -> bool {
    let found = command.get_arguments().find(|arg| match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| word[1..].chars().eq([short])),
    });
    found.is_some_and(|arg| arg.get_action().takes_values())
}

/// Returns the message and the hints for a word that is not a command, and the next word if they
/// form a pair, as in `pr list`.
fn unknown_command(root: &clap::Command, word: &str, next: Option<&str>) -> Meant {
    let is_part =
        |name: &str| root.get_subcommands().any(|verb| verb.find_subcommand(name).is_some());
    let next = next.filter(|next| {
        root.find_subcommand(next).is_some()
            || is_part(next)
            || NAMES.iter().any(|names| names.contains(next))
            || PAIRS.iter().any(|(_, actions, _)| actions.contains(next))
    });
    let words = [Some(word), next].into_iter().flatten().collect::<Vec<_>>().join(" ");
    Meant { message: Some(format!("unknown command `{words}`")), hints: verb(root, word, next) }
}

/// Returns hints for a verb of other programs: by its words, or as a part of a verb of ctx.
fn verb(root: &clap::Command, word: &str, next: Option<&str>) -> Vec<String> {
    let lower = word.to_ascii_lowercase();
    let pair = PAIRS.iter().find(|(nouns, actions, _)| {
        nouns.contains(&lower.as_str()) && next.is_some_and(|next| actions.contains(&next))
    });
    let word_alone = || WORDS.iter().find(|(words, _)| words.contains(&lower.as_str()));
    if let Some(hint) = pair.map(|(_, _, hint)| hint).or_else(|| word_alone().map(|(_, hint)| hint))
    {
        return vec![(*hint).to_owned()];
    }
    // `steward-add` and `publish-all` are a command with a part or an option.
    if let Some((first, rest)) = lower.split_once(['-', '_', ':'])
        && let Some(command) = root.find_subcommand(first)
    {
        let has = |name: &str| {
            let mut own = command.get_arguments().filter(|arg| !arg.is_global_set());
            own.any(|arg| arg.get_long() == Some(name))
        };
        return match rest {
            _ if command.has_subcommands() => part(command, first, rest),
            _ if has(rest) => vec![format!("did you mean `ctx {first} --{rest}`?")],
            _ => vec![format!("did you mean `ctx {first}`?")],
        };
    }
    let names = || root.get_subcommands().map(clap::Command::get_name);
    let has = |verb: &&clap::Command| verb.find_subcommand(&lower).is_some();
    let of = root.get_subcommands().filter(|verb| verb.get_name() != "help" && has(verb));
    let mut near: Vec<String> = of.map(|verb| format!("{} {lower}", verb.get_name())).collect();
    near.extend(
        names().filter(|name| lower.len() > 1 && name.starts_with(&lower)).map(str::to_owned),
    );
    if near.is_empty() {
        near.extend(nearest(&lower, names()).map(str::to_owned));
    }
    if near.is_empty() {
        near.extend(next.filter(|next| root.find_subcommand(next).is_some()).map(str::to_owned));
    }
    let mut hints: Vec<String> =
        near.iter().map(|near| format!("did you mean `ctx {near}`?")).collect();
    hints.push("`ctx --help` lists the commands".to_owned());
    hints
}

fn part_names(command: &clap::Command) -> Vec<&str> {
    let names = command.get_subcommands().map(clap::Command::get_name);
    names.filter(|name| *name != "help").collect()
}

fn parts_of(command: &clap::Command, verb: &str) -> String {
    format!("`ctx {verb}` has the parts {}", part_names(command).join(", "))
}

/// Returns hints for a part of a verb.
fn part(command: &clap::Command, verb: &str, word: &str) -> Vec<String> {
    let names = part_names(command);
    let word_is_id = word.contains('/') || word.contains('.');
    if word_is_id && names.contains(&"show") {
        return vec![format!("did you mean `ctx {verb} show {}`?", argument(word))];
    }
    let known = PARTS.iter().find(|(of, words, _)| *of == verb && words.contains(&word));
    if let Some((_, _, hint)) = known {
        return vec![(*hint).to_owned()];
    }
    let found = synonym(word, |name| names.contains(&name));
    let near = found.or_else(|| nearest(word, names.iter().copied()));
    let mut hints: Vec<String> =
        near.map(|name| format!("did you mean `ctx {verb} {name}`?")).into_iter().collect();
    hints.push(parts_of(command, verb));
    hints
}

/// Returns the equivalent of an option that a command does not have.
fn option(line: &Line<'_>, words: &[String], word: &str) -> Option<String> {
    let at = words.iter().position(|found| is_option(found, word));
    let value = at.and_then(|at| match words[at].split_once('=') {
        Some((_, value)) => Some(value),
        None => words.get(at + 1).map(String::as_str).filter(|next| !next.starts_with('-')),
    });
    let verb = line.verb();
    let known = |of_all: bool| {
        let found = OPTIONS.iter().find(|(verbs, options, _)| {
            verbs.is_empty() == of_all
                && (of_all || verbs.contains(&verb.as_str()))
                && options.contains(&word)
        });
        found.map(|(_, _, hint)| line.fill(hint, value))
    };
    let long: Vec<&str> = line.command.get_arguments().filter_map(clap::Arg::get_long).collect();
    let has = |name: &str| long.contains(&name);
    let name = match word.strip_prefix("--") {
        // An option of the command itself is preferred to one of every command.
        Some(name) => {
            let own = |name: &str| {
                let mut all = line.command.get_arguments();
                all.any(|arg| arg.get_long() == Some(name) && !arg.is_global_set())
            };
            synonym(name, own).or_else(|| synonym(name, has))
        }
        None if value == Some("json") => Some("json"),
        None => SHORT.iter().find(|(short, _)| word == *short).map(|(_, name)| *name),
    };
    let number = word[1..].parse::<u32>().ok().filter(|_| has("limit"));
    let part = word.strip_prefix("--").and_then(|name| line.command.find_subcommand(name));
    known(false)
        .or_else(|| Some(format!("did you mean `ctx {verb} {}`?", part?.get_name())))
        .or_else(|| number.map(|number| format!("did you mean `-n {number}`?")))
        .or_else(|| name.filter(|name| has(name)).map(|name| format!("did you mean `--{name}`?")))
        .or_else(|| known(true))
        .or_else(|| {
            let near = nearest(word.strip_prefix("--")?, long.iter().copied())?;
            Some(format!("did you mean `--{near}`?"))
        })
}

/// Returns the first synonym of a word that a command has.
fn synonym(word: &str, has: impl Fn(&str) -> bool) -> Option<&'static str> {
    let sets = NAMES.iter().filter(|names| names.contains(&word));
    sets.flat_map(|names| names.iter().copied()).find(|name| *name != word && has(name))
}

/// Returns what a surplus value was meant for.
fn beside(line: &Line<'_>, word: &str) -> Option<String> {
    let version = word.trim_start_matches(['v', '@']);
    let is_number = !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit());
    let value = if is_number { version } else { word };
    let verb = line.verb();
    let mut known = BESIDE.iter().filter(|(verbs, ..)| verbs.contains(&verb.as_str()));
    let hint = known.find(|(_, of_number, _)| is_number || !of_number)?;
    Some(line.fill(hint.2, Some(value)))
}

/// Returns the hint for a command with missing arguments.
fn missing(line: &Line<'_>) -> Option<String> {
    let values = line.values();
    let first = values.first().map(|value| argument(value));
    let first = first.as_deref().unwrap_or("PRINCIPAL");
    match line.path.as_slice() {
        ["show"] => {
            let (id, number) = values.first()?.split_once('@').unwrap_or((values.first()?, "N"));
            let id = argument(id);
            Some(match number {
                "N" => format!("`ctx read {id}` prints the published text, `ctx history {id}` lists the versions"),
                number => format!("did you mean version {number}, `ctx show {id} {number}`, or checkpoint {number}, `ctx read {id}@{number}`?"),
            })
        }
        ["checkout"] => Some("`ctx checkpoint list` lists the numbers; to write an earlier text into a file, use `ctx restore ID --version N`".to_owned()),
        ["checkpoint", ..] => Some("`ctx checkpoint list` lists the numbers".to_owned()),
        ["steward", "remove"] => Some(format!("`ctx steward list` shows the scopes of {first}; `ctx steward remove {first} --whole-vault` ends a role in the whole vault")),
        ["steward", "assign"] => Some(format!("name a role and a scope, as in `ctx steward assign {first} reviewer --whole-vault`")),
        _ => None,
    }
}

/// Returns the hint for a role before its principal.
fn swapped(line: &Line<'_>, value: Option<&str>) -> Option<String> {
    let values = line.values();
    let [role, principal, ..] = values.as_slice() else { return None };
    let is_role = ["viewer", "editor", "reviewer"].contains(role);
    let is_wrong = value.is_none_or(|value| value == *principal);
    (line.path == ["steward", "assign"] && is_role && is_wrong).then(|| {
        format!("did you mean `ctx steward assign {} {role} --whole-vault`?", argument(principal))
    })
}

/// Returns the form of a value that the parser describes in Rust's words: a number, or an address.
fn form(why: &clap::Error, name: &str) -> Option<&'static str> {
    let source = why.source()?;
    let is_rust = source.is::<std::num::ParseIntError>() || source.is::<std::net::AddrParseError>();
    let is_form = |names: &[&str]| names.iter().any(|form| name.contains(form));
    FORMS.iter().find(|(names, _)| is_rust && is_form(names)).map(|(_, form)| *form)
}

/// Returns what was meant by a wrong value.
fn of_value(name: &str, value: &str) -> Option<String> {
    let (option, _) = name.split_once(" <ADDRESS:PORT>")?;
    let port = value.rsplit(':').next().filter(|port| port.parse::<u16>().is_ok())?;
    Some(format!("did you mean `{option} 127.0.0.1:{port}`?"))
}

/// Returns the first example of a command.
fn example(command: &clap::Command) -> Option<String> {
    let help = command.get_after_help()?.to_string();
    let line = help.lines().map(str::trim).find(|line| line.starts_with("ctx "))?;
    Some(format!("for example `{line}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that every command in a hint exists, with its options.
    fn check(hint: &str) {
        let mut root = help_groups::command();
        root.build();
        for code in hint.split('`').skip(1).step_by(2).filter(|code| code.starts_with("ctx ")) {
            let mut command = &root;
            for word in code.split(' ').skip(1) {
                if let Some(option) = word.strip_prefix("--") {
                    let mut options = command.get_arguments().filter_map(clap::Arg::get_long);
                    assert!(option == "version" || options.any(|long| long == option), "{code}");
                } else if let Some(part) = command.find_subcommand(word) {
                    command = part;
                }
            }
            assert!(command.get_name() != "ctx" || code == "ctx --version", "{code}");
        }
    }

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn hints_name_commands_that_exist() {
        let mut root = help_groups::command();
        root.build();
        let of_words = WORDS.iter().map(|(_, hint)| *hint);
        let of_pairs = PAIRS.iter().map(|(_, _, hint)| *hint);
        let of_parts = PARTS.iter().map(|(_, _, hint)| *hint);
        of_words.chain(of_pairs).chain(of_parts).for_each(check);
        let by_verb = OPTIONS.iter().map(|(verbs, _, hint)| (verbs, hint));
        for (verbs, hint) in by_verb.chain(BESIDE.iter().map(|(verbs, _, hint)| (verbs, hint))) {
            for verb in verbs.iter().chain(verbs.is_empty().then_some(&"list")) {
                let words = words(&format!("{verb} nodes/a"));
                let line = Line::read(&root, &words, None);
                assert_eq!(line.verb(), *verb);
                let hint = line.fill(hint, Some("2"));
                assert!(!hint.contains(['{', '}']), "{hint}");
                check(&hint);
            }
        }
        for line in ["show a@2", "checkout x", "steward remove a", "steward assign a"] {
            let words = words(line);
            missing(&Line::read(&root, &words, None)).iter().for_each(|hint| check(hint));
        }
    }

    #[test]
    fn an_option_that_a_hint_replaces_does_not_exist() {
        let mut root = help_groups::command();
        root.build();
        for (verbs, options, _) in OPTIONS {
            for verb in *verbs {
                let words = words(verb);
                let command = Line::read(&root, &words, None).command;
                for option in *options {
                    let exists = command.get_arguments().any(|arg| {
                        arg.get_long().is_some_and(|long| *option == format!("--{long}"))
                            || arg.get_short().is_some_and(|short| *option == format!("-{short}"))
                    });
                    assert!(!exists, "{verb} {option}");
                }
            }
        }
    }

    #[test]
    fn words_of_other_programs_are_no_commands() {
        let mut words: Vec<&str> =
            WORDS.iter().flat_map(|(words, _)| words.iter().copied()).collect();
        assert!(words.iter().all(|word| !help_groups::is_recorded(word)));
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }
}
