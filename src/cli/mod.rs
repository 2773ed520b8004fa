//! Words in, words out: one file a verb, no rule of the domain. `--help` is documentation; what it
//! says is snapshot into `docs/cli.md`.

mod add;
mod ask;
mod checkout;
mod checkpoint;
mod context;
mod convert;
mod demo;
mod diff;
mod expect;
mod explain;
pub mod failure;
pub mod git;
mod graph;
mod head;
mod help;
mod history;
mod index;
mod init;
mod list;
mod moved;
mod neighbors;
mod outline;
mod pack;
mod progress;
mod publish;
mod read;
mod recover;
mod resolve;
mod retire;
mod rows;
mod search;
mod session;
mod show;
mod status;
pub(crate) mod ui;
mod validate;
mod verify;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory as _, Parser, Subcommand};

use crate::live::is_known;
use crate::model::id::Id;
use crate::vault::Vault;
use crate::vault::disk::Disk;
use crate::words::nearest;

use failure::{Code, Failure};
use git::GitError;
use session::Session;
use ui::{Ui, harmless_lines};

/// Everything outside the process that a command may depend on, handed in by `main`.
pub struct World {
    /// The current folder.
    pub cwd: PathBuf,
    /// The environment.
    pub vars: BTreeMap<String, String>,
    /// Milliseconds since 1970, from the clock.
    pub clock: fn() -> i64,
    /// What git prints when it is run in a folder with these arguments.
    pub git: fn(&Path, &[&str]) -> Result<Vec<u8>, GitError>,
    /// The disk that is written to.
    pub disk: Disk,
    /// Whether stdout is a terminal.
    pub terminal: bool,
    /// Whether stderr is a terminal.
    pub error_terminal: bool,
}

impl World {
    fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// The three streams of a process.
pub struct Streams<'s> {
    /// Standard input.
    pub stdin: &'s mut dyn Read,
    /// Standard output: the result.
    pub stdout: &'s mut dyn Write,
    /// Standard error: status, hints, errors.
    pub stderr: &'s mut dyn Write,
}

/// A governed knowledge vault in a folder of Markdown.
///
/// Publish documents as hash-chained versions, select what an agent may read at any checkpoint,
/// and prove that nothing was altered since.
#[derive(Debug, Parser)]
#[command(name = "ctx", version, propagate_version = false, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 the answer is no, 2 usage, 3 refused by governance, \
4 locked or changed, 5 input or output failed.\n\nStart with `ctx init`, or see everything at work \
with `ctx demo my-vault`."
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    verb: Verb,
}

/// Options of every verb.
#[derive(Clone, Debug, Args)]
struct Global {
    /// Use the vault in this folder instead of searching from here upwards [env: CTX_VAULT]
    #[arg(long, global = true, value_name = "DIR")]
    vault: Option<PathBuf>,
    /// Act as this principal [env: CTX_PRINCIPAL; else git's user.email]
    #[arg(long = "as", global = true, value_name = "PRINCIPAL")]
    principal: Option<String>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
    /// Wait so long for another command that writes; 0: not at all [default: 10]
    #[arg(long, global = true, value_name = "SECONDS")]
    lock_timeout: Option<u64>,
    /// Use this time instead of the clock [env: CTX_NOW]
    #[arg(long, global = true, hide = true, value_name = "TIME")]
    now: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Init(init::Init),
    Add(add::Add),
    Publish(publish::Publish),
    Retire(retire::Retire),
    Mv(moved::Mv),
    Status(status::Status),
    Resolve(resolve::Resolve),
    Explain(explain::Explain),
    Pack(pack::Pack),
    List(list::List),
    Read(read::Read),
    Outline(outline::Outline),
    Search(search::Search),
    History(history::History),
    Show(show::Show),
    Diff(diff::Diff),
    Checkpoint(checkpoint::Checkpoint),
    Checkout(checkout::Checkout),
    Neighbors(neighbors::Neighbors),
    Graph(graph::Graph),
    Index(index::Index),
    Context(context::Context),
    Validate(validate::Validate),
    Verify(verify::Verify),
    Recover(recover::Recover),
    Head(head::Head),
    Demo(demo::Demo),
    Help(help::Help),
}

/// How a verb that did its work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Done; exit code 0.
    Yes,
    /// The answer is no: findings, errors, something withheld; exit code 1.
    No,
    /// Some of the writing failed after the commit; exit code 5.
    Incomplete,
}

/// Runs one command and gives its exit code.
pub fn run(args: Vec<OsString>, world: &World, streams: Streams<'_>) -> u8 {
    let Streams { stdin, stdout, stderr } = streams;
    let wants_json = args.iter().any(|arg| arg == "--json");
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(why) => return usage(&why, wants_json, stdout, stderr),
    };
    let mut ui = Ui::new(stdout, stderr, world.terminal);
    ui.json = cli.global.json;
    let mut session = Session { ui, world, stdin, global: cli.global };
    let answer = dispatch(cli.verb, &mut session);
    let mut exit = match answer {
        Ok(Answer::Yes) => 0,
        Ok(Answer::No) => 1,
        Ok(Answer::Incomplete) => 5,
        Err(failure) => {
            session.ui.error(&failure.text(), &failure);
            failure.code.exit()
        }
    };
    if let Err(why) = session.ui.finish()
        && why.kind() != io::ErrorKind::BrokenPipe
    {
        session.ui.note(&format!("error[io]: cannot write the result: {why}"));
        exit = 5;
    }
    exit
}

fn dispatch(verb: Verb, session: &mut Session<'_>) -> Result<Answer, Failure> {
    // A verifier reports it.
    if !matches!(verb, Verb::Init(_) | Verb::Verify(_) | Verb::Demo(_) | Verb::Help(_)) {
        session.warn_of_outer();
    }
    match verb {
        Verb::Init(args) => init::run(&args, session),
        Verb::Add(args) => add::run(&args, session),
        Verb::Publish(args) => publish::run(&args, session),
        Verb::Retire(args) => retire::run(&args, session),
        Verb::Mv(args) => moved::run(&args, session),
        Verb::Status(args) => status::run(&args, session),
        Verb::Resolve(args) => resolve::run(&args, session),
        Verb::Explain(args) => explain::run(&args, session),
        Verb::Pack(args) => pack::run(&args, session),
        Verb::List(args) => list::run(&args, session),
        Verb::Read(args) => read::run(&args, session),
        Verb::Outline(args) => outline::run(&args, session),
        Verb::Search(args) => search::run(&args, session),
        Verb::History(args) => history::run(&args, session),
        Verb::Show(args) => show::run(&args, session),
        Verb::Diff(args) => diff::run(&args, session),
        Verb::Checkpoint(args) => checkpoint::run(&args, session),
        Verb::Checkout(args) => checkout::run(&args, session),
        Verb::Neighbors(args) => neighbors::run(&args, session),
        Verb::Graph(args) => graph::run(&args, session),
        Verb::Index(args) => index::run(&args, session),
        Verb::Context(args) => context::run(&args, session),
        Verb::Validate(args) => validate::run(&args, session),
        Verb::Verify(args) => verify::run(&args, session),
        Verb::Recover(args) => recover::run(&args, session),
        Verb::Head(args) => head::run(&args, session),
        Verb::Demo(args) => demo::run(&args, session),
        Verb::Help(args) => help::run(&args, session),
    }
}

/// The id that an argument names; something of that name must exist.
fn known_id(session: &Session<'_>, vault: &Vault, text: &str) -> Result<Id, Failure> {
    let id = session.named(vault, text)?;
    if is_known(vault, &id) {
        return Ok(id);
    }
    let live = vault.documents().documents;
    let near = nearest(id.as_str(), live.iter().filter_map(|path| path.strip_suffix(".md")));
    Err(Failure::unknown_id(id.as_str(), near))
}

/// Help goes to stdout, misuse to stderr; a closed pipe is a quiet end.
fn usage(
    why: &clap::Error,
    wants_json: bool,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> u8 {
    // Of a misuse clap repeats the words of the command line.
    let text = harmless_lines(&why.render().to_string()).into_owned();
    if why.use_stderr() && wants_json {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let message = lines.next().unwrap_or_default().trim_start_matches("error: ");
        let mut failure = Failure::new(Code::Usage, message);
        failure.details = lines.map(|line| line.trim().to_owned()).collect();
        let mut ui = Ui::new(stdout, stderr, false);
        ui.json = true;
        ui.error(&failure.text(), &failure);
        2
    } else if why.use_stderr() {
        let _ = stderr.write_all(text.as_bytes());
        2
    } else {
        let _ = stdout.write_all(text.as_bytes());
        0
    }
}

/// The help texts of all verbs, as Markdown: the contents of `docs/cli.md`.
pub fn reference() -> String {
    let mut out = String::from(
        "# Command reference\n\nGenerated from `ctx --help`; a test holds it equal.\n",
    );
    let mut section = |name: &str, command: &mut clap::Command| {
        let help = command.render_long_help().to_string();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        out.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()));
    };
    let mut root = Cli::command().term_width(90);
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
