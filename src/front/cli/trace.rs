//! `ctx trace`.

mod collect;
mod follow;
mod format;
mod hold;
mod list;
mod output;
mod place;
mod prune;
mod show;
mod verify;

use std::io;

use super::session::Session;
use super::ui::shown;
use super::{Answer, help_groups};
use crate::files::vault::Vault;
use crate::record::audit::{EventKind, Fault, Filter, Follower, Logs, Sight};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::trace::TraceRow;
use crate::service::workspace::call::Note;
use crate::service::workspace::recording::{GivenLabels, of_log};
pub(super) use crate::service::workspace::traces::{
    naming, of_writer, trace_id, unknown_access, unknown_trace,
};
use crate::service::workspace::version::number;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;
use crate::values::text_util::count;

use collect::Collect;
use follow::Follow;
use format::Format;
use hold::HoldArgs;
pub(super) use hold::reason;
use list::{Grep, List};
use place::Asked;
pub(in crate::front::cli) use place::LogPlace;
use prune::Prune;

/// Show which texts were returned, to whom, at which checkpoint
///
/// Every command that prints texts or names of published documents appends a line to the access
/// log, before anything is printed: which version, with its chain hash, author and editor, and the
/// hash of the text itself. The log is a hash chain in the user's state directory, or below
/// CTX_AUDIT_DIR; with `accesses: vault` under `audit:` in the configuration it is in the vault.
/// Both places are read. The options --agent, --session, --thread, --task and --node, or CTX_AGENT
/// and so on, name the caller.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx trace list --session 7f3a\n  \
ctx trace list --document nodes/policies/returns --version 2 --from 2026-11-01T00:00:00Z\n  \
ctx trace list --session s-42 --format otlp > spans.jsonl\n  \
ctx trace grep refund --verb search\n  ctx trace show 0a1b2c3d-17\n  \
ctx trace output --session s-42 --model small-1 answer.md\n  ctx trace verify")]
pub(super) struct Trace {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List accesses and changes, the newest last
    ///
    /// Reads only the lines that it needs: a line that was overwritten may be missing without a
    /// message. `ctx trace verify` checks the log.
    List(Box<List>),
    Grep(Box<Grep>),
    Follow(Box<Follow>),
    /// Print everything that is recorded of one access or change
    ///
    /// Of an output, the accesses and hydrations of its session before it are listed too.
    Show {
        /// Its name, as `ctx trace list` prints it
        trace: String,
        /// Print it in a format of other programs
        #[arg(long, value_enum, conflicts_with = "json")]
        format: Option<Format>,
        #[command(flatten)]
        place: LogPlace,
    },
    /// Recompute every hash of the access log and the change log
    ///
    /// Compares the logs in the vault with those that this machine wrote, and with the lines that
    /// checkpoints bind. `ctx verify` also compares the change log with the checkpoints and the
    /// histories. With `--logs` only the logs in that folder are verified.
    Verify {
        #[command(flatten)]
        place: LogPlace,
    },
    /// Record the hash of the output of an agent in a session
    ///
    /// Reads a file or standard input to its end, and appends its length and SHA-256 to the access
    /// log. The text itself is not kept. The chain of the log binds it to the texts that were
    /// returned before it: `ctx trace show` lists the accesses of the same session before it. The
    /// session must be named, by --session or CTX_SESSION. Prints the name of the new line. Exit
    /// code 5 if it cannot be recorded.
    Output(output::OutputArgs),
    Collect(Collect),
    Hold(HoldArgs),
    Prune(Prune),
}

/// A choice of lines and logs.
#[derive(Debug, clap::Args)]
struct Which {
    /// Only accesses of this document, by id or file
    #[arg(long, value_name = "ID")]
    document: Option<String>,
    /// Only accesses of this version of the document
    #[arg(long, value_name = "N", requires = "document")]
    version: Option<String>,
    /// Only accesses with a text as of this checkpoint
    #[arg(long, value_name = "N", value_parser = super::as_of::number)]
    checkpoint: Option<CheckpointNumber>,
    /// Only accesses by this principal
    #[arg(long, value_name = "PRINCIPAL")]
    principal: Option<String>,
    /// Only accesses by this command, as in `read`, `stage` or 'stage list'
    #[arg(long, value_name = "VERB")]
    verb: Option<String>,
    #[command(flatten)]
    period: Period,
    #[command(flatten)]
    place: LogPlace,
}

impl Which {
    /// Returns the logs, and a filter of their lines.
    fn open(&self, session: &mut Session<'_>) -> Result<(Filter, Asked), Failure> {
        let vault = session.workspace.vault()?;
        let sight = sight(session, &vault)?;
        let logs = self.place.all(&vault, session, &sight)?;
        Ok((self.filter(&vault, session)?, logs))
    }

    /// Returns a follower of the logs that can be read, a filter of their lines, and true if a log
    /// cannot be read, after a warning.
    fn follow(&self, session: &mut Session<'_>) -> Result<Followed, Failure> {
        let vault = session.workspace.vault()?;
        let sight = sight(session, &vault)?;
        let dir = self.place.folder(&vault, session)?;
        let mut begun: Vec<io::Result<Follower>> =
            dir.map(|dir| Follower::at_end(&dir)).into_iter().collect();
        if self.place.logs.is_none() {
            begun.push(Follower::of_accesses_in(&vault));
            begun.push(Follower::of_changes(&vault));
        }
        let filter = self.filter(&vault, session)?;
        let (mut followers, mut unread) = (Vec::new(), None);
        for follower in begun {
            match follower {
                Ok(follower) => followers.push(follower.seen_by(sight.clone())),
                Err(why) => {
                    follow::warn_of(session, &why);
                    unread = Some(why);
                }
            }
        }
        match unread {
            Some(why) if followers.is_empty() => of_log(Err(why)),
            unread => Ok(Followed { filter, followers, is_partial: unread.is_some() }),
        }
    }

    fn filter(&self, vault: &Vault, session: &Session<'_>) -> Result<Filter, Failure> {
        let document = self.document.as_ref();
        // Logs of other machines may be from other versions of the program.
        let verb = self.verb.as_deref().filter(|_| self.place.logs.is_none());
        verb.map_or(Ok(()), check_verb)?;
        Ok(Filter {
            principal: self.principal.clone(),
            verb: self.verb.clone(),
            document: document.map(|id| session.workspace.readable_id(vault, id)).transpose()?,
            version: self.version.as_deref().map(number).transpose()?,
            checkpoint: self.checkpoint,
            ..self.period.with_labels(session)?
        })
    }
}

/// The logs that are followed.
struct Followed {
    filter: Filter,
    followers: Vec<Follower>,
    /// True if one of the logs cannot be read.
    is_partial: bool,
}

pub(super) fn run(args: &Trace, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.action {
        Action::List(args) => list::list(args, session),
        Action::Grep(args) => list::grep(args, session),
        Action::Follow(args) => follow::run(args, session),
        Action::Show { trace, format, place } => show::show(trace, (*format, place), session),
        Action::Verify { place } => verify::run(place, session),
        Action::Output(args) => output::run(args, session),
        Action::Collect(args) => collect::run(args, session),
        Action::Hold(args) => hold::run(args, session),
        Action::Prune(args) => prune::run(args, session),
    }
}

/// A period of accesses or publications.
#[derive(Debug, clap::Args)]
pub(super) struct Period {
    /// Only from this time on; a date is its first instant in UTC
    // A span such as `-7d` is answered with the date to pass.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// Only before this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,
}

impl Period {
    /// Returns a filter for accesses of this period.
    pub(super) fn filter(&self, session: &Session<'_>) -> Result<Filter, Failure> {
        let now = session.workspace.now()?;
        let read = |text: &Option<String>| text.as_deref().map(|text| time(text, now)).transpose();
        let (from, to) = (read(&self.from)?, read(&self.to)?);
        if let (Some(from), Some(to)) = (from, to)
            && from > to
        {
            let message = format!("the period begins at {from}, after it ends at {to}");
            return Err(Failure::new(Code::Usage, message).hint("exchange `--from` and `--to`"));
        }
        Ok(Filter { from, to, ..Filter::default() })
    }

    /// Returns a filter for accesses of this period with the labels that the user gave.
    pub(super) fn with_labels(&self, session: &Session<'_>) -> Result<Filter, Failure> {
        let Filter { from, to, .. } = self.filter(session)?;
        Ok(Filter { from, to, ..labelled(session) })
    }
}

/// Returns a filter for accesses with the labels that the user gave.
pub(super) fn labelled(session: &Session<'_>) -> Filter {
    let GivenLabels { agent, session, thread, task, node } =
        session.workspace.options.labels.clone();
    Filter { agent, session, thread, task, node, ..Filter::default() }
}

/// Refuses the name of a command that does not exist, because no line would match.
fn check_verb(verb: &str) -> Result<(), Failure> {
    if help_groups::is_recorded(verb) {
        return Ok(());
    }
    Err(Failure::new(Code::Usage, format!("unknown command `{}`", shown(verb)))
        .hint("`ctx --help` lists the commands"))
}

/// Returns the date of a span before now, such as `7d`, `2w` or `yesterday`.
fn days_before(text: &str, now: Timestamp) -> Option<String> {
    const DAY: i64 = 24 * 3_600_000;
    let text = text.to_ascii_lowercase();
    let text = text.trim_end_matches(" ago").replace(' ', "");
    let text = text.trim_start_matches('-');
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let days = match (number.parse::<i64>(), unit) {
        (Err(_), "today") => 0,
        (Err(_), "yesterday") => 1,
        (Ok(n), "d" | "day" | "days") => n,
        (Ok(n), "w" | "week" | "weeks") => n.checked_mul(7)?,
        (Ok(n), "mo" | "month" | "months") => n.checked_mul(30)?,
        (Ok(n), "y" | "year" | "years") => n.checked_mul(365)?,
        (Ok(n), "h" | "hour" | "hours") => {
            let at = now.millis().checked_sub(n.checked_mul(3_600_000)?)?;
            return Some(Timestamp::from_millis(at).to_string());
        }
        _ => return None,
    };
    let day = Timestamp::from_millis(now.millis().checked_sub(days.checked_mul(DAY)?)?);
    Some(day.to_string().split('T').next()?.to_owned())
}

/// Parses a time or a date on the command line.
fn time(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    Timestamp::of_rfc3339(text).ok_or_else(|| {
        let failure = Failure::new(Code::Usage, format!("`{text}` is not a time or a date"));
        match days_before(text, now) {
            Some(day) => {
                let span = text.trim_start_matches('-');
                let is_span = span.starts_with(|c: char| c.is_ascii_digit());
                let ago = if is_span && !span.ends_with("ago") { " ago" } else { "" };
                failure.hint(format!("`{span}`{ago} is `{day}`"))
            }
            None => failure.hint(
                "write a time such as `2026-11-21T20:06:06Z`, or a date such as `2026-11-21`",
            ),
        }
    })
}

/// Returns the part of the logs that the reader may see, and notes if that is not everything.
fn sight(session: &mut Session<'_>, vault: &Vault) -> Result<Sight, Failure> {
    let sight = session.workspace.sight(vault)?;
    if sight.is_limited() {
        session.ui.note("note: only what you may read of the logs is shown");
        name_lost_rules(session, vault);
    }
    Ok(sight)
}

/// Names the damaged file of the rules that makes the answer incomplete.
fn name_lost_rules(session: &mut Session<'_>, vault: &Vault) {
    if let Err(why) = session.workspace.check_rules(vault) {
        session.ui.withhold(&why);
    }
}

/// Warns of the faults of the logs that an answer is from; returns the answer of the verb.
pub(super) fn warn_of(session: &mut Session<'_>, faults: &[Fault]) -> Answer {
    if faults.is_empty() {
        return Answer::Yes;
    }
    let folder = session.named_logs.as_ref().map(|dir| dir.display().to_string());
    session.note(Note::LogFaults(faults.len(), folder));
    session.tell();
    match faults.iter().any(|fault| fault.kind.is_damage()) {
        true => Answer::No,
        false => Answer::Yes,
    }
}

/// Formats a session for a table, `-` if it was not named.
pub(super) fn session_of(session: Option<&str>, is_implicit: bool) -> String {
    named(session.filter(|_| !is_implicit))
}

/// Formats a label or a principal for a table, `-` for none. With a blank it could look like
/// several columns, so it is quoted.
pub(super) fn named(name: Option<&str>) -> String {
    let Some(name) = name else { return "-".to_owned() };
    let is_word = |c: char| !c.is_whitespace() && !c.is_control() && c != '"';
    match name != "-" && !name.is_empty() && name.chars().all(is_word) {
        true => shown(name).into_owned(),
        false => format!("\"{}\"", shown(&name.replace('\\', "\\\\").replace('"', "\\\""))),
    }
}

/// Returns the end of a row whose line is in the access log of another folder.
pub(super) fn in_log_of(folder: Option<&str>) -> String {
    folder.map_or(String::new(), |folder| format!("log of {}", shown(folder)))
}

fn row(trace: &TraceRow) -> Vec<String> {
    let session = session_of(trace.session.as_deref(), trace.session_implicit);
    let what = match trace.event {
        EventKind::Access => count(usize::try_from(trace.count).unwrap_or(usize::MAX), "text"),
        EventKind::Listing => format!("{} listed", trace.count),
        EventKind::Change => changed(trace),
        EventKind::Output => format!("{} bytes produced", trace.count),
        EventKind::Hydration => format!("{} bytes fetched", trace.count),
        EventKind::Refused => {
            format!("refused: {}", shown(trace.code.as_deref().unwrap_or_default()))
        }
    };
    vec![
        trace.trace.clone(),
        trace.at.clone(),
        shown(&trace.verb).into_owned(),
        what,
        named(trace.principal.as_deref()),
        named(trace.agent.as_deref()),
        session,
        shown(trace.query.as_deref().or(trace.source.as_deref()).unwrap_or_default()).into_owned(),
        in_log_of(trace.log_of.as_deref()),
    ]
}

/// Formats a change for a table.
fn changed(trace: &TraceRow) -> String {
    let what = trace.action.unwrap_or_default();
    match trace.sealed {
        Some(checkpoint) => {
            let ids = count(usize::try_from(trace.count).unwrap_or(usize::MAX), "document");
            format!("{ids} in checkpoint {checkpoint}")
        }
        None => match &trace.detail {
            Some(detail) => format!("{what} {}", shown(detail)),
            None => what.to_owned(),
        },
    }
}

/// Notes that accesses before a time were pruned, if a question may be about them.
pub(super) fn note_pruned(session: &mut Session<'_>, logs: &Logs, from: Option<Timestamp>) {
    let Some(last) = logs.last_pruning() else { return };
    if from.is_none_or(|from| last.before.parse().is_ok_and(|before: Timestamp| from < before)) {
        let (before, by) = (shown(&last.before), shown(&last.by));
        session.ui.note(&format!(
            "note: accesses before {before} were pruned (`ctx trace show {by}`), and may be missing here"
        ));
    }
}
