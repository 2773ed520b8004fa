//! The command line: arguments in, text or JSON out. Each verb has a file, which calls the library
//! and formats the report; this module has neither rules of the domain nor JSON shapes.
//!
//! `--help` is documentation; `docs/cli.md` is generated from it, and a test compares them.

mod add;
mod adopt;
mod as_of;
mod audit;
mod blame;
mod check;
mod checkout;
mod checkpoint;
mod choice;
mod ci;
mod color;
mod context;
mod convert;
mod decide;
mod demo;
mod diff;
mod document;
mod editor;
mod event;
mod evidence;
mod expect;
mod failure;
mod format;
mod govern;
mod graph;
mod head;
mod help;
mod help_groups;
mod history;
mod hook;
mod impact;
mod index;
mod init;
mod limit;
mod list;
#[cfg(feature = "mcp")]
mod mcp;
mod meant;
mod merge;
mod mv;
mod neighbors;
mod next;
mod owners;
mod pack;
mod progress;
mod publish;
mod read;
mod rebuild;
mod recover;
mod replay;
mod resolve;
mod restore;
mod retire;
mod review;
mod search;
mod session;
mod show;
mod skill;
mod source;
mod stage;
mod status;
mod steward;
mod submit;
mod textconv;
mod trace;
pub(crate) mod ui;
mod validate;
mod verify;

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::record::audit::Labels;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::Call;
use crate::service::workspace::recording::{Command, GivenLabels};
use crate::service::workspace::{Environment, Options, Workspace};
use crate::values::model::verb::{Discloses, Verb};

pub use help_groups::reference;
use session::Session;
use ui::{Terminal, Ui, harmless_lines};

/// Everything outside of the process that a command may depend on, passed by `main`.
pub struct World {
    /// The folder, the variables, the clock, git and the disk.
    pub environment: Environment,
    /// True if stdin is a terminal.
    pub input_terminal: bool,
    /// True if stdout is a terminal.
    pub terminal: bool,
    /// True if stderr is a terminal.
    pub error_terminal: bool,
}

/// The three streams of a process.
pub struct Streams<'s> {
    /// Standard input.
    pub stdin: &'s mut (dyn Read + Send),
    /// Standard output: the report.
    pub stdout: &'s mut dyn Write,
    /// Standard error: progress, then hints and errors.
    pub stderr: &'s mut dyn Write,
}

/// Governed knowledge vaults for AI agents, in a folder of Markdown.
///
/// ctx publishes documents as hash-chained versions, selects what agents may read at any
/// checkpoint, and verifies that nothing was altered since.
#[derive(Debug, Parser)]
#[command(name = "ctx", version, propagate_version = false, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 the answer is no, 2 usage, 3 refused by governance, \
4 locked or changed, 5 input or output failed.\n\nStart with `ctx init`, or run `ctx demo my-vault` \
for a tour."
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    verb: Given,
}

/// Options of every verb.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
struct Global {
    /// Use the vault in this folder, not the nearest one above [env: CTX_VAULT]
    #[arg(long, global = true, value_name = "DIR")]
    vault: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long, global = true)]
    json: bool,
    /// Act, or read, as this principal [env: CTX_PRINCIPAL; default: git's user.email]
    #[arg(long = "as", global = true, value_name = "PRINCIPAL")]
    acting_as: Option<String>,
    /// Record the access under this agent [env: CTX_AGENT]
    #[arg(long, global = true, value_name = "ID", hide_short_help = true)]
    agent: Option<String>,
    /// Record the access under this session [env: CTX_SESSION]
    #[arg(long, global = true, value_name = "ID", hide_short_help = true)]
    session: Option<String>,
    /// Record the access under this thread [env: CTX_THREAD]
    #[arg(long, global = true, value_name = "ID", hide_short_help = true)]
    thread: Option<String>,
    /// Record the access under this task [env: CTX_TASK]
    #[arg(long, global = true, value_name = "ID", hide_short_help = true)]
    task: Option<String>,
    /// Record the access under this node of a graph of agents [env: CTX_NODE]
    #[arg(long, global = true, value_name = "ID", hide_short_help = true)]
    node: Option<String>,
    /// Use this time instead of the clock [env: CTX_NOW]
    #[arg(long, global = true, hide = true, value_name = "TIME")]
    now: Option<String>,
}

/// Options of verbs that take the write lock.
#[derive(Clone, Debug, Default, Args)]
struct Locking {
    /// Seconds to wait for the write lock; 0 fails at once [default: 10]
    #[arg(long, value_name = "SECONDS")]
    lock_timeout: Option<u64>,
}

#[derive(Debug, Subcommand)]
enum Given {
    Init(init::Init),
    Demo(demo::Demo),
    Add(add::Add),
    Status(status::Status),
    Validate(validate::Validate),
    Diff(diff::Diff),
    Publish(publish::Publish),
    Retire(retire::Retire),
    Restore(restore::Restore),
    Mv(mv::Mv),
    Merge(merge::Merge),
    MergeDriver(merge::MergeDriver),
    Submit(submit::Submit),
    Review(review::Review),
    Approve(decide::Approve),
    Reject(decide::Reject),
    Withdraw(decide::Withdraw),
    Comment(decide::Comment),
    Govern(govern::Govern),
    List(list::List),
    Read(read::Read),
    Resolve(resolve::Resolve),
    Search(search::Search),
    Context(context::Context),
    Pack(pack::Pack),
    Neighbors(neighbors::Neighbors),
    Graph(graph::Graph),
    Source(source::Source),
    Verify(verify::Verify),
    Ci(ci::Ci),
    Head(head::Head),
    History(history::History),
    Blame(blame::BlameArgs),
    Check(check::Check),
    Show(show::Show),
    Checkpoint(checkpoint::Checkpoint),
    Checkout(checkout::Checkout),
    Audit(audit::Audit),
    Trace(trace::Trace),
    Impact(impact::Impact),
    Replay(replay::Replay),
    Evidence(evidence::Evidence),
    Recover(recover::Recover),
    #[cfg(feature = "mcp")]
    Mcp(mcp::Mcp),
    Skill(skill::Skill),
    Index(index::Index),
    Textconv(textconv::Textconv),
    Hook(hook::Hook),
    Stage(stage::Stage),
    Steward(steward::Steward),
    Owners(owners::Owners),
    Help(help::Help),
}

/// The answer of a verb that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Done; exit code 0.
    Yes,
    /// The answer is no: findings, errors, something withheld; exit code 1.
    No,
    /// Some of the writing failed after the commit; exit code 5.
    Incomplete,
}

impl Answer {
    /// Returns `Yes`, or `No` if something is withheld.
    fn of<T>(withheld: &[T]) -> Self {
        if withheld.is_empty() { Self::Yes } else { Self::No }
    }
}

/// Runs one command and returns its exit code.
pub fn run(args: Vec<OsString>, world: &World, streams: Streams<'_>) -> u8 {
    let Streams { stdin, stdout, stderr } = streams;
    let wants_json = args.iter().any(|arg| arg == "--json");
    let words: Vec<String> =
        args.iter().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let terminal = Terminal::of(world);
    let (cli, words_of_verb) = match help_groups::parse(args) {
        Ok(parsed) => parsed,
        Err(why) => return usage(&why, &words, wants_json, (stdout, stderr)),
    };
    let mut ui = Ui::new(stdout, stderr, terminal);
    let Global { vault, json, acting_as: principal, now, agent, session, thread, task, node } =
        cli.global;
    ui.json = json;
    let labels = GivenLabels { agent, session, thread, task, node };
    let verb = Verb::of_words(&words_of_verb);
    let command =
        Command { verb: words_of_verb, argv: words, terminal: world.terminal, client: None };
    let options = Options { vault, principal, now, labels, command, ..Options::default() };
    let workspace = Workspace { environment: &world.environment, options };
    let call = Call::new(workspace, Labels::default());
    let mut session = Session { ui, call, stdin, named_logs: None };
    let mut exit = recorded(cli.verb, verb, &mut session).unwrap_or_else(|failure| {
        session.ui.failure(&failure);
        failure.code.exit()
    });
    if let Err(why) = session.ui.finish()
        && why.kind() != io::ErrorKind::BrokenPipe
    {
        session.ui.note(&format!("error[io]: cannot write the result: {why}"));
        session.ui.write_notes();
        exit = 5;
    }
    exit
}

/// Runs a verb. Returned texts are recorded before any output leaves (AUDIT-5).
fn recorded(given: Given, verb: Option<Verb>, session: &mut Session<'_>) -> Result<u8, Failure> {
    session.workspace.environment.check_vars()?;
    session.labels = match verb {
        // `--session` names the accesses to export, not the exporter.
        Some(Verb::EvidenceExport) => {
            let given = &session.workspace.options.labels;
            let given = GivenLabels { session: None, ..given.clone() };
            let options = Options { labels: given, ..session.workspace.options.clone() };
            Workspace { environment: session.workspace.environment, options }.labels()?
        }
        _ => session.workspace.labels()?,
    };
    let hands_out = verb.is_none_or(|verb| verb.discloses() != Discloses::Nothing);
    if hands_out {
        session.ui.hold();
    }
    let answer = dispatch(given, session).map_err(|failure| session.call.explained(failure));
    let refused = answer.as_ref().err().map(|failure| failure.code).filter(|code| code.exit() == 3);
    let is_explained = !session.recording.is_empty();
    match &answer {
        Err(failure) if is_explained && refused.is_none() => session.record_failure(failure)?,
        _ if hands_out || is_explained || refused.is_some() => session.record(refused)?,
        _ => {}
    }
    Ok(match answer? {
        Answer::Yes if !session.ui.withholds => 0,
        Answer::Yes | Answer::No => 1,
        Answer::Incomplete => 5,
    })
}

fn dispatch(given: Given, session: &mut Session<'_>) -> Result<Answer, Failure> {
    // A verifier reports it itself.
    let is_alone =
        matches!(given, Given::Textconv(_) | Given::Hook(_) | Given::Demo(_) | Given::Help(_));
    if !is_alone && !matches!(given, Given::Init(_) | Given::Verify(_) | Given::Ci(_)) {
        session.warn_of_nested();
    }
    match given {
        Given::Init(args) => init::run(args, session),
        Given::Demo(args) => demo::run(&args, session),
        Given::Add(args) => add::run(&args, session),
        Given::Status(args) => status::run(&args, session),
        Given::Validate(args) => validate::run(&args, session),
        Given::Diff(args) => diff::run(&args, session),
        Given::Publish(args) => publish::run(&args, session),
        Given::Retire(args) => retire::run(&args, session),
        Given::Restore(args) => restore::run(&args, session),
        Given::Mv(args) => mv::run(&args, session),
        Given::Merge(args) => merge::run(&args, session),
        Given::MergeDriver(args) => merge::drive(&args, session),
        Given::Submit(args) => submit::run(&args, session),
        Given::Review(args) => review::run(&args, session),
        Given::Approve(args) => decide::approve(&args, session),
        Given::Reject(args) => decide::reject(&args, session),
        Given::Withdraw(args) => decide::withdraw(&args, session),
        Given::Comment(args) => decide::comment(&args, session),
        Given::Govern(args) => govern::run(&args, session),
        Given::List(args) => list::run(&args, session),
        Given::Read(args) => read::run(&args, session),
        Given::Resolve(args) => resolve::run(&args, session),
        Given::Search(args) => search::run(&args, session),
        Given::Context(args) => context::run(&args, session),
        Given::Pack(args) => pack::run(&args, session),
        Given::Neighbors(args) => neighbors::run(&args, session),
        Given::Graph(args) => graph::run(&args, session),
        Given::Source(args) => source::run(&args, session),
        Given::Verify(args) => verify::run(&args, session),
        Given::Ci(args) => ci::run(&args, session),
        Given::Head(args) => head::run(&args, session),
        Given::History(args) => history::run(&args, session),
        Given::Blame(args) => blame::run(&args, session),
        Given::Check(args) => check::run(&args, session),
        Given::Show(args) => show::run(&args, session),
        Given::Checkpoint(args) => checkpoint::run(&args, session),
        Given::Checkout(args) => checkout::run(&args, session),
        Given::Audit(args) => audit::run(&args, session),
        Given::Trace(args) => trace::run(&args, session),
        Given::Impact(args) => impact::run(&args, session),
        Given::Replay(args) => replay::run(&args, session),
        Given::Evidence(args) => evidence::run(&args, session),
        Given::Recover(args) => recover::run(&args, session),
        #[cfg(feature = "mcp")]
        Given::Mcp(args) => mcp::run(&args, session),
        Given::Skill(args) => skill::run(&args, session),
        Given::Index(args) => index::run(&args, session),
        Given::Textconv(args) => textconv::run(&args, session),
        Given::Hook(args) => hook::run(&args, session),
        Given::Stage(args) => stage::run(&args, session),
        Given::Steward(args) => steward::run(&args, session),
        Given::Owners(args) => owners::run(&args, session),
        Given::Help(args) => help::run(&args, session),
    }
}

/// Prints help to stdout and misuse to stderr; a closed pipe is a quiet end.
fn usage(
    why: &clap::Error,
    words: &[String],
    wants_json: bool,
    (stdout, stderr): (&mut dyn Write, &mut dyn Write),
) -> u8 {
    // clap repeats the words of the command line in its message.
    let text = harmless_lines(&why.render().to_string()).into_owned();
    if !why.use_stderr() {
        let _ = stdout.write_all(text.as_bytes());
        return 0;
    }
    let meant::Meant { message, hints } = meant::meant(why, words);
    let hints: Vec<String> = hints.iter().map(|hint| harmless_lines(hint).into_owned()).collect();
    if wants_json || message.is_some() {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or_default().trim_start_matches("error: ");
        let is_parsers = message.is_none();
        let mut failure = Failure::new(Code::Usage, message.unwrap_or_else(|| first.to_owned()));
        let details = lines.filter(|_| is_parsers).map(|line| line.trim().to_owned());
        failure.details = details.collect();
        let failure = hints.into_iter().fold(failure, Failure::hint);
        let mut ui = Ui::new(stdout, stderr, Terminal::default());
        ui.json = wants_json;
        ui.failure(&failure);
        let _ = ui.finish();
    } else {
        let hints: String = hints.iter().map(|hint| format!("hint: {hint}\n")).collect();
        let _ = stderr.write_all([text, hints].concat().as_bytes());
    }
    2
}
