//! The command that a person meant by a command line that ctx cannot read: words of git and of other
//! programs, options under another name, and what is missing.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::groups;
use crate::words::argument;

/// Words of other programs, and what ctx has for each.
#[rustfmt::skip]
const WORDS: &[(&[&str], &str)] = &[
    (&["log", "reflog", "versions", "revisions"], "`ctx history ID` lists the versions of a document, `ctx checkpoint list` the checkpoints"),
    (&["logs", "access", "accesses", "reads"], "`ctx trace list` lists what was read, `ctx trace follow` prints it as it happens"),
    (&["tail", "watch"], "`ctx trace follow` prints accesses as they happen"),
    (&["commit", "ci", "save", "release"], "`ctx publish --changed -m \"why\"` publishes every change, `ctx publish ID` one document"),
    (&["push", "pull", "fetch", "clone", "remote", "sync"], "a vault is plain files: git carries it, as `git push` and `git clone` do"),
    (&["branch", "merge", "rebase", "stash", "switch", "cherry-pick"], "a vault is plain files: use git for branches, and `ctx verify` after a merge"),
    (&["tag", "tags", "label"], "tags are a field of a document; `ctx list \"#TAG\"` lists the documents with one"),
    (&["rm", "remove", "delete", "del", "unpublish", "archive", "deprecate"], "`ctx retire ID` withdraws a published document; its history stays"),
    (&["revert", "reset", "undo", "rollback"], "`ctx restore ID --version N` writes an earlier text into the file, `ctx publish ID` publishes it"),
    (&["ls", "dir", "documents", "docs"], "`ctx list` lists the published documents"),
    (&["cat", "view", "get", "open", "print", "less", "type"], "`ctx read ID` prints the published text of a document"),
    (&["new", "create", "write", "touch"], "`ctx add ID --body TEXT` makes a document"),
    (&["edit", "update", "modify", "change"], "edit the file itself, then run `ctx publish ID`"),
    (&["rename", "move"], "`ctx mv OLD NEW` gives a document another id"),
    (&["grep", "find", "lookup"], "`ctx search WORDS` finds sections by words"),
    (&["query", "select", "filter"], "`ctx resolve SELECTOR` selects documents, as in `ctx resolve \"#policy\"`"),
    (&["export", "archive-export", "dump"], "`ctx checkout NUMBER DIR` writes the files of a checkpoint, `ctx evidence export` a proof of accesses"),
    (&["import", "load", "ingest"], "`ctx init` makes a folder of Markdown a vault, then `ctx publish --all` publishes it"),
    (&["serve", "server", "start", "run"], "`ctx mcp` serves the vault to agents"),
    (&["install", "setup"], "`ctx mcp config CLIENT` connects a client, `ctx skill install` teaches agents"),
    (&["lint"], "`ctx validate` reports what is wrong with live files"),
    (&["test", "fsck", "doctor", "integrity"], "`ctx verify` recomputes every hash"),
    (&["gc", "clean", "cleanup", "repair", "fix", "unlock"], "`ctx recover --dry-run` shows what an interrupted command left, `ctx recover` cleans it up"),
    (&["rebuild"], "`ctx checkpoint rebuild` makes the log again, `ctx index` the derived files"),
    (&["backup"], "copy the folder, or push it with git; `ctx head` prints the hash to keep elsewhere"),
    (&["annotate", "praise"], "`ctx blame ID` says who made each line"),
    (&["compare"], "`ctx diff ID V1 V2` compares versions, `ctx checkpoint diff` checkpoints"),
    (&["snapshot", "snapshots", "checkpoints"], "`ctx checkpoint list` lists the checkpoints; `ctx publish` makes one"),
    (&["stats", "info", "state"], "`ctx status` shows how files differ from their published versions"),
    (&["tree", "map", "toc", "overview"], "`ctx context` prints a map of what is published"),
    (&["links", "backlinks", "refs", "references"], "`ctx neighbors ID` lists what a document refers to and what refers to it"),
    (&["users", "roles", "permissions", "acl", "reviewers", "editors"], "`ctx steward list` lists who has which role, `ctx owners` who governs what"),
    (&["whoami", "login", "auth", "user"], "ctx takes the principal from `--as NAME`, `CTX_PRINCIPAL` or git's `user.email`"),
    (&["config", "settings", "configure"], "the configuration is `.context/config.yaml`; `ctx validate .context/config.yaml` checks it"),
    (&["version"], "`ctx --version` prints the version of the program"),
    (&["hash", "sha"], "`ctx head` prints the hash of the last checkpoint"),
    (&["pr", "propose", "request"], "`ctx submit ID` submits a text for review"),
    (&["accept", "lgtm", "merge-request"], "`ctx approve ID` approves a submission"),
    (&["deny", "decline", "refuse"], "`ctx reject ID --reason TEXT` rejects a submission"),
    (&["queue", "pending", "inbox", "reviews", "submissions"], "`ctx review` lists what awaits a decision"),
    (&["prove", "proof"], "`ctx evidence export` writes a proof of accesses"),
];

/// Names of one thing: of parts of verbs, and of options. The first one that a command has was meant.
const NAMES: &[&[&str]] = &[
    &["list", "ls", "log", "all", "show"],
    &["show", "view", "cat", "get", "who", "list"],
    &["assign", "add", "grant", "set", "new", "create"],
    &["remove", "rm", "delete", "del", "unassign", "revoke", "forget"],
    &["on", "enable", "start", "begin"],
    &["off", "disable", "stop", "end"],
    &["export", "create", "make", "save"],
    &["verify", "check", "validate", "test", "fsck"],
    &["config", "install", "setup", "configure", "init"],
    &["trust", "set", "accept", "update", "reset"],
    &["message", "note", "comment", "msg", "reason", "description", "why"],
    &["from", "since", "after", "begin", "start"],
    &["to", "until", "before", "end"],
    &["limit", "max", "count", "number", "top", "head"],
    &["json", "format", "output", "porcelain"],
    &["as", "user", "principal", "author", "by", "who", "actor"],
    &["vault", "dir", "root", "path", "repo", "cwd"],
    &["dry-run", "check", "preview", "plan", "no-act", "simulate"],
    &["version", "rev", "revision"],
    &["at", "checkpoint", "as-of", "date"],
    &["all", "everything"],
    &["skip-invalid", "force", "ignore-errors", "keep-going", "no-verify"],
    &["fix-links", "update-links", "links"],
    &["whole-vault", "vault-wide", "global", "everywhere"],
    &["folder", "scope", "directory"],
    &["document", "id", "doc"],
];

/// Short options of git and other programs.
const SHORT: &[(&str, &str)] = &[("-a", "all"), ("-n", "dry-run"), ("-C", "vault"), ("-u", "as")];

/// What an unknown command, part, option or a missing value was meant to be, as hints.
pub(super) fn meant(why: &clap::Error, words: &[String]) -> Vec<String> {
    let mut root = groups::command();
    root.build();
    let (command, path) = reached(&root, words);
    let text = |kind| match why.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(" ")),
        _ => None,
    };
    match why.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            match path.is_empty() {
                true => verb(&root, &word),
                false => part(command, &path, &word),
            }
        }
        ErrorKind::UnknownArgument => {
            let word = text(ContextKind::InvalidArg).unwrap_or_default();
            match word.starts_with('-') {
                true => option(command, &word).into_iter().chain(help_of(&path)).collect(),
                false => beside(&path, words, &word).into_iter().chain(help_of(&path)).collect(),
            }
        }
        ErrorKind::MissingRequiredArgument => {
            missing(&path, words).into_iter().chain(example(command)).collect()
        }
        ErrorKind::ValueValidation => missing(&path, words).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// What is said of a command or a part of one that does not exist.
pub(super) fn unknown_command(why: &clap::Error, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(word)) = why.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let mut root = groups::command();
    root.build();
    let (_, path) = reached(&root, words);
    Some(match path.as_slice() {
        [] => format!("unknown command `{word}`"),
        path => format!("unknown command `{} {word}`", path.join(" ")),
    })
}

/// The command that the words lead to, and its path.
fn reached<'c>(root: &'c clap::Command, words: &[String]) -> (&'c clap::Command, Vec<&'c str>) {
    let (mut command, mut path) = (root, Vec::new());
    for word in words {
        match command.find_subcommand(word) {
            Some(part) => {
                command = part;
                path.push(part.get_name());
            }
            // A value or an option may stand before the verb, and nothing else before a part.
            None if path.is_empty() => {}
            None => break,
        }
    }
    (command, path)
}

/// A verb that other programs have: by its word, or as a part of one of ours.
fn verb(root: &clap::Command, word: &str) -> Vec<String> {
    let lower = word.to_ascii_lowercase();
    let known = WORDS.iter().find(|(words, _)| words.contains(&lower.as_str()));
    if let Some((_, hint)) = known {
        return vec![(*hint).to_owned()];
    }
    let has = |verb: &&clap::Command| verb.find_subcommand(&lower).is_some();
    let mut hints: Vec<String> = root
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help" && has(verb))
        .map(|verb| format!("did you mean `ctx {} {lower}`?", verb.get_name()))
        .collect();
    let near = crate::words::nearest(&lower, root.get_subcommands().map(clap::Command::get_name));
    hints.extend(near.map(|near| format!("did you mean `ctx {near}`?")));
    hints.push("`ctx --help` lists the commands".to_owned());
    hints
}

/// A part of a verb.
fn part(command: &clap::Command, path: &[&str], word: &str) -> Vec<String> {
    let verb = path.join(" ");
    let names: Vec<&str> =
        command.get_subcommands().map(clap::Command::get_name).filter(|n| *n != "help").collect();
    let word_is_id = word.contains('/') || word.contains('.');
    if word_is_id && names.contains(&"show") {
        return vec![format!("did you mean `ctx {verb} show {}`?", argument(word))];
    }
    match (verb.as_str(), word) {
        ("mcp", "start" | "serve" | "run") => {
            return vec!["`ctx mcp` serves the vault over standard input and output".to_owned()];
        }
        ("govern", "status" | "show") => {
            return vec![
                "`ctx owners` shows who governs what, `ctx status` what awaits a decision"
                    .to_owned(),
            ];
        }
        ("audit", "list" | "show" | "log" | "ls") => {
            return vec![
                "`ctx trace list` lists accesses, `ctx checkpoint list` publications".to_owned(),
            ];
        }
        ("checkpoint", "create" | "add" | "new" | "make") => {
            return vec!["`ctx publish` makes a checkpoint".to_owned()];
        }
        _ => {}
    }
    let found = synonym(word, |name| names.contains(&name));
    let near = found.or_else(|| crate::words::nearest(word, names.iter().copied()));
    let mut hints: Vec<String> =
        near.map(|name| format!("did you mean `ctx {verb} {name}`?")).into_iter().collect();
    hints.push(format!("`ctx {verb}` has the parts {}", names.join(", ")));
    hints
}

/// An option under the name that the command has for it.
fn option(command: &clap::Command, word: &str) -> Option<String> {
    let long: Vec<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
    let has = |name: &str| long.contains(&name);
    let name = match word.strip_prefix("--") {
        Some(name) => synonym(name.split('=').next().unwrap_or(name), has),
        None => SHORT.iter().find(|(short, _)| word == *short).map(|(_, name)| *name),
    };
    match (name.filter(|name| has(name)), word) {
        (Some(name), _) => Some(format!("did you mean `--{name}`?")),
        (None, "--cached" | "--staged") => {
            Some("`ctx validate --staged` checks what is staged in git".to_owned())
        }
        _ => None,
    }
}

/// The first of the names of one thing that a command has.
fn synonym(word: &str, has: impl Fn(&str) -> bool) -> Option<&'static str> {
    let sets = NAMES.iter().filter(|names| names.contains(&word));
    sets.flat_map(|names| names.iter().copied()).find(|name| *name != word && has(name))
}

/// What a value after the last one that the verb takes was meant for.
fn beside(path: &[&str], words: &[String], word: &str) -> Option<String> {
    let id = words.iter().find(|word| word.contains('/')).map(|id| argument(id));
    let id = id.as_deref().unwrap_or("ID");
    let version = word.trim_start_matches('v');
    let is_number = !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit());
    match path {
        ["history"] if is_number => Some(format!("`ctx show {id} {version}` prints version {version}")),
        ["owners"] => Some(format!("`ctx steward who {}` shows who decides about a document", argument(word))),
        ["graph"] => Some(format!("`ctx neighbors {}` shows the links of one document", argument(word))),
        ["stage", "list"] => Some(format!("`ctx stage show {}` prints one entry", argument(word))),
        ["index"] => Some("`ctx index` writes the derived files, `ctx checkpoint rebuild` the log".to_owned()),
        ["context"] => Some(format!("`ctx resolve {}` prints documents for an agent", argument(word))),
        ["head", "trust"] => Some("`ctx head trust` trusts the head of the log as it is; `ctx verify --expect-head HASH` compares it".to_owned()),
        ["steward", "remove"] => Some("`ctx steward remove PRINCIPAL --whole-vault` takes no role: it removes every assignment at the scope".to_owned()),
        _ => None,
    }
}

/// What a command without all that it needs was meant to be.
fn missing(path: &[&str], words: &[String]) -> Option<String> {
    let values: Vec<&String> =
        words.iter().skip(path.len()).filter(|w| !w.starts_with('-')).collect();
    let first = values.first().map(|value| argument(value));
    let first = first.as_deref().unwrap_or("PRINCIPAL");
    match path {
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

/// The first example of a command.
fn example(command: &clap::Command) -> Option<String> {
    let help = command.get_after_help()?.to_string();
    let line = help.lines().map(str::trim).find(|line| line.starts_with("ctx "))?;
    Some(format!("for example `{line}`"))
}

fn help_of(path: &[&str]) -> Option<String> {
    (!path.is_empty()).then(|| format!("`ctx help {}` lists its options", path.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command that a hint names is one, with its options.
    fn check(hint: &str) {
        let mut root = groups::command();
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

    #[test]
    fn hints_name_commands_that_exist() {
        WORDS.iter().for_each(|(_, hint)| check(hint));
        for path in [&["history"][..], &["owners"], &["graph"], &["stage", "list"], &["index"]] {
            beside(path, &["nodes/a".to_owned()], "2").iter().for_each(|hint| check(hint));
        }
        for path in [&["show"][..], &["checkout"], &["steward", "remove"], &["steward", "assign"]] {
            let words: Vec<String> =
                [path, &["nodes/a@2"]].concat().iter().map(|w| (*w).to_owned()).collect();
            missing(path, &words).iter().for_each(|hint| check(hint));
        }
    }

    #[test]
    fn words_of_other_programs_are_no_commands() {
        let mut words: Vec<&str> =
            WORDS.iter().flat_map(|(words, _)| words.iter().copied()).collect();
        assert!(words.iter().all(|word| !groups::is_recorded(word)));
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }
}
