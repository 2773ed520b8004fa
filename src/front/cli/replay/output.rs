//! `ctx replay --output`: runs a recorded command, or call of a tool, again on the vault as it was
//! at the recorded head, and compares its output with the log (AUDIT-17).
//!
//! The words of a line are not trusted. They are parsed as a command line, or as the arguments of a
//! tool, and only verbs that print the contents of a checkpoint are run: without a terminal,
//! variables, git, a search program, or any folder of the user, so that nothing is written and no
//! other program is run.

use std::io;
use std::path::{Component, Path};

use crate::files::vault::Vault;
use crate::front::cli::session::Session;
use crate::front::cli::ui::{Terminal, Ui};
use crate::front::cli::{Cli, Given, dispatch, help_groups};
use crate::prove::evidence::replay::{Outcome, may_know};
use crate::read::snapshot::CheckpointSource;
use crate::record::audit::{Event, Labels, Line, Output, Text, WithheldCount};
use crate::record::checkpoint::log::Log;
use crate::record::trusted_head;
use crate::service::report::trace::ReplayedOutput;
use crate::service::workspace::call::Call;
use crate::service::workspace::git::{Emails, GitError};
use crate::service::workspace::{Environment, Options, Workspace};
use crate::text::uri::{Class, is_staged};
use crate::values::model::digest::Digest;
use crate::values::model::layout::STAGING_CHAINS;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::principal::PrincipalKey;
use crate::values::text_util::count;

/// The output of a command, with its withheld documents.
struct Recorded<'l> {
    output: &'l Output,
    withheld: &'l [WithheldCount],
    is_delegated: bool,
}

/// A command that was run again.
struct Printed {
    bytes: u64,
    sha256: String,
    withheld: u64,
}

/// Runs the command of a line again.
pub(super) fn replay(
    session: &Session<'_>,
    (vault, source): (&Vault, &CheckpointSource),
    line: &Line,
) -> ReplayedOutput {
    let outcome = match recorded(line) {
        None => Outcome::CannotTell("the line records no output of a command".to_owned()),
        Some(_) if !may_know(vault, source, line) && !is_own(vault, line) => {
            cannot_tell("you may not read all of it")
        }
        Some(recorded) => match again(session, vault, line) {
            Ok(printed) => compare(vault, line, &recorded, &printed),
            Err(outcome) => outcome,
        },
    };
    ReplayedOutput::new(line, recorded(line).map(|recorded| recorded.output), outcome)
}

fn recorded(line: &Line) -> Option<Recorded<'_>> {
    match &line.event {
        Event::Access(access) => {
            let is_delegated = access.class.as_deref() == Some(Class::Delegated.as_str());
            Some(Recorded { output: &access.output, withheld: &access.withheld, is_delegated })
        }
        Event::Listing(listing) => {
            let withheld = &listing.withheld;
            Some(Recorded { output: &listing.output, withheld, is_delegated: false })
        }
        Event::Refused(_) | Event::Output(_) | Event::Hydration(_) | Event::Change(_) => None,
    }
}

/// Returns true if staged results may have been part of an answer (STAGE-13). They belong to
/// no checkpoint.
fn may_have_staged(vault: &Vault, line: &Line) -> bool {
    let is_staged = |text: &Text| text.uri.as_deref().is_some_and(is_staged);
    match &line.event {
        Event::Access(access) => access.documents.iter().any(is_staged),
        // Without their contents, the line does not name them.
        Event::Listing(_) => line.request.verb == "resolve" && vault.files().exists(STAGING_CHAINS),
        _ => false,
    }
}

fn compare(vault: &Vault, line: &Line, recorded: &Recorded<'_>, printed: &Printed) -> Outcome {
    let Output { bytes, sha256, .. } = recorded.output;
    if (printed.bytes, &printed.sha256) == (*bytes, sha256) {
        return Outcome::Same;
    }
    let length = |n: u64| count(usize::try_from(n).unwrap_or(usize::MAX), "byte");
    let (then, now) = (length(*bytes), length(printed.bytes));
    let differs = format!("recorded: {then}; printed now: {now} with another hash");
    let before = recorded.withheld.iter().fold(0, |sum: u64, w| sum.saturating_add(w.count));
    let program = env!("CARGO_PKG_VERSION");
    let why = if line.tool != program {
        format!("version {} of the program printed it, and this is {program}", line.tool)
    } else if may_have_staged(vault, line) {
        "staged results do not belong to a checkpoint".to_owned()
    } else if recorded.is_delegated {
        "results of a search may change".to_owned()
    } else if printed.withheld > before {
        let more = usize::try_from(printed.withheld - before).unwrap_or(usize::MAX);
        format!("{} more may not be served now", count(more, "document"))
    } else {
        return Outcome::Different(differs);
    };
    Outcome::CannotTell(format!("{differs}; {why}"))
}

fn cannot_tell(why: impl Into<String>) -> Outcome {
    Outcome::CannotTell(why.into())
}

/// Returns true if it is the reader's own line.
fn is_own(vault: &Vault, line: &Line) -> bool {
    let asked = line.request.principal.as_deref().map(PrincipalKey::of);
    let reader = vault.reader().principal().map(|(principal, _)| principal.to_string());
    asked.is_some() && asked == reader.as_deref().map(PrincipalKey::of)
}

/// Runs the command of a line as of its head, as its principal, who determines what may be read.
fn again(session: &Session<'_>, vault: &Vault, line: &Line) -> Result<Printed, Outcome> {
    let args = &line.request.args;
    if args.terminal {
        return Err(cannot_tell("it was printed to a terminal"));
    }
    let Some(argv) = &args.argv else {
        return Err(cannot_tell(match args.sha256 {
            Some(_) => "only the hash of its command line is recorded",
            None => "its command line is not shown to you",
        }));
    };
    let log = log_at_head(vault, line)?;
    let cwd = args.cwd.as_deref().unwrap_or_default();
    if !Path::new(cwd).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(cannot_tell("its folder is not inside the vault"));
    }
    let outside = session.workspace.environment;
    let principal = line.request.principal.iter();
    let principal = principal.map(|name| ("CTX_PRINCIPAL".to_owned(), name.clone()));
    let environment = Environment {
        cwd: vault.root().join(cwd),
        vars: principal.collect(),
        is_recorded: false,
        git: |_, _, _| Err(GitError::NotRun("a command is repeated without git".to_owned())),
        emails: Emails::default(),
        ..outside.duplicate()
    };
    let options = Options {
        vault: Some(vault.root().to_owned()),
        // A time that `--at` names had passed then.
        now: Some(line.at.clone()),
        ..Options::default()
    };
    let mut call = Call::new(Workspace { environment: &environment, options }, Labels::default());
    call.pinned = Some(log);
    #[cfg(feature = "mcp")]
    if let Some(made) = crate::front::mcp::again(&mut call, argv) {
        let bytes = made.map_err(cannot_tell)?;
        return Ok(Printed::new(&bytes, &call));
    }
    let cli = parse(argv)?;
    let (mut stdout, mut stderr, mut stdin) = (io::sink(), io::sink(), io::empty());
    let mut ui = Ui::new(&mut stdout, &mut stderr, Terminal::default());
    ui.json = cli.global.json;
    ui.hold();
    let mut inner = Session { ui, call, stdin: &mut stdin, named_logs: None };
    if let Err(failure) = dispatch(cli.verb, &mut inner) {
        return Err(cannot_tell(format!("the command fails now: {}", failure.message)));
    }
    Ok(Printed::new(inner.ui.held(), &inner.call))
}

impl Printed {
    fn new(output: &[u8], call: &Call<'_>) -> Self {
        Self {
            bytes: output.len() as u64,
            sha256: Digest::of(output).to_string(),
            withheld: call.recording.withheld as u64,
        }
    }
}

/// Parses the words of a line as a command that may be run again.
fn parse(argv: &[String]) -> Result<Cli, Outcome> {
    let words = std::iter::once("ctx").chain(argv.iter().map(String::as_str));
    let (cli, verb) = help_groups::parse(words.map(Into::into).collect())
        .map_err(|_| cannot_tell("its words are not a command of this version"))?;
    let is_of_checkpoint = match &cli.verb {
        Given::Read(_)
        | Given::Resolve(_)
        | Given::Show(_)
        | Given::Blame(_)
        | Given::Context(_) => true,
        Given::Diff(diff) => diff.is_between_versions(),
        _ => false,
    };
    match (is_of_checkpoint, &cli.verb) {
        (true, _) => Ok(cli),
        (false, Given::Diff(_)) => Err(cannot_tell("a diff with a live file is not reproduced")),
        (false, _) => Err(cannot_tell(format!("the output of `{verb}` is not reproduced"))),
    }
}

/// Returns the log as it was when a line was recorded.
fn log_at_head(vault: &Vault, line: &Line) -> Result<Log, Outcome> {
    let Some(head) = &line.request.head else {
        return Err(cannot_tell("the line names no checkpoint"));
    };
    let log = trusted_head::open_log(vault).map_err(|why| cannot_tell(why.to_string()))?;
    let chronicle = log.sound().map_err(|why| cannot_tell(why.to_string()))?;
    let number = CheckpointNumber(head.checkpoint);
    let known = chronicle.checkpoint(number).map_err(|why| cannot_tell(why.to_string()))?;
    if known.hash.to_string() != head.hash {
        let why = format!("checkpoint {number} has another hash now");
        return Err(Outcome::Different(why));
    }
    let before = chronicle.checkpoints().iter().take(number.count());
    Ok(Log::of(log.form, before.map(|checkpoint| (*checkpoint).clone()).collect()))
}
