//! `ctx trace`.

mod collect;
mod follow;
mod format;
mod hold;
mod list;
mod output;
mod prune;
mod verify;

use std::path::PathBuf;

use super::color::Paint;
use super::session::Session;
use super::ui::shown;
use super::{Answer, groups};
use crate::audit::{
    Cached, Change, Cut, Event, Fault, FaultKind, Filter, Follower, HeadRef, Line, Logs, LostLines,
    Sight, Text, TraceId, missing,
};
use crate::model::number::CheckpointNumber;
use crate::model::timestamp::Timestamp;
use crate::report::failure::{Code, Failure};
use crate::report::trace::{TraceReport, TraceRow};
use crate::vault::Vault;
use crate::words::count;
use crate::workspace::recording::{AccessLogs, GivenLabels, of_log};
use crate::workspace::version::number;

use collect::Collect;
use follow::Follow;
use format::Format;
use hold::HoldArgs;
pub(super) use hold::reason;
use list::{Grep, List};
use prune::Prune;

/// Show which texts were handed out, to whom, at which checkpoint
///
/// Every command that prints texts or names of published documents leaves a line in the access log,
/// before anything is printed: which version, with its chain hash, author and editor, and the hash of
/// the text itself. The log is a hash chain in the user's state directory, or below CTX_AUDIT_DIR; with
/// `accesses: vault` under `audit:` in the configuration it is in the vault. Both places are read. The
/// options --agent, --session, --thread, --task and --node, or CTX_AGENT and so on, say who asks.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx trace list --session 7f3a\n  \
ctx trace list --document nodes/policies/returns --version 2 --from 2026-11-01T00:00:00Z\n  \
ctx trace list --session s-42 --format otlp > spans.jsonl\n  \
ctx trace grep refund --verb search\n  ctx trace show 0a1b2c3d-17\n  \
ctx trace output --session s-42 --model small-1 answer.md\n  ctx trace verify")]
pub(super) struct Trace {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    /// List accesses and changes, the newest last
    ///
    /// Reads only the lines that it needs: a line that was overwritten may be missing without a word.
    /// `ctx trace verify` checks the log.
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
    /// With `--logs` only of the logs in that folder. `ctx verify` also compares the change log with
    /// the checkpoints.
    Verify {
        #[command(flatten)]
        place: LogPlace,
    },
    /// Record the hash of what an agent produced in a session
    ///
    /// Reads a file or standard input to its end, and appends its length and SHA-256 to the access
    /// log. The text itself is not kept. The chain of the log binds it to what was handed out
    /// before it: `ctx trace show` lists the accesses of the same session before it. The session
    /// must be named, by --session or CTX_SESSION. Prints the name of the new line. Exit code 5 if
    /// it cannot be recorded.
    Output(output::OutputArgs),
    Collect(Collect),
    Hold(HoldArgs),
    Prune(Prune),
}

/// Which lines of which logs.
#[derive(Debug, clap::Args)]
struct Which {
    /// Only accesses of this document, by id or file
    #[arg(long, value_name = "ID")]
    document: Option<String>,
    /// Only accesses of this version of the document
    #[arg(long, value_name = "N", requires = "document")]
    version: Option<String>,
    /// Only accesses with a text as of this checkpoint
    #[arg(long, value_name = "N")]
    checkpoint: Option<CheckpointNumber>,
    /// Only accesses by this principal
    #[arg(long, value_name = "PRINCIPAL")]
    principal: Option<String>,
    /// Only accesses by this command
    #[arg(long, value_name = "VERB")]
    verb: Option<String>,
    #[command(flatten)]
    period: Period,
    #[command(flatten)]
    place: LogPlace,
}

impl Which {
    /// The logs, and a filter of their lines.
    fn open(&self, session: &mut Session<'_>) -> Result<(Filter, Asked), Failure> {
        let vault = session.workspace.vault()?;
        let sight = session.workspace.sight(&vault)?;
        note_limited(session, &sight);
        let logs = self.place.all(&vault, session, &sight)?;
        Ok((self.filter(&vault, session)?, logs))
    }

    /// What follows the logs, and a filter of their lines.
    fn follow(&self, session: &mut Session<'_>) -> Result<(Filter, Vec<Follower>), Failure> {
        let vault = session.workspace.vault()?;
        let sight = session.workspace.sight(&vault)?;
        note_limited(session, &sight);
        let dir = self.place.open(&vault, session)?.folder;
        let own = dir.map(|dir| Follower::at_end(&dir));
        let mut followers: Vec<Follower> = of_log(own.into_iter().collect())?;
        if self.place.logs.is_none() {
            followers.push(of_log(Follower::of_accesses_in(&vault))?);
            followers.push(of_log(Follower::of_changes(&vault))?);
        }
        let seen = |follower: Follower| follower.seen_by(sight.clone());
        Ok((self.filter(&vault, session)?, followers.into_iter().map(seen).collect()))
    }

    fn filter(&self, vault: &Vault, session: &Session<'_>) -> Result<Filter, Failure> {
        let document = self.document.as_ref();
        // Logs of other machines may be of other versions of the program.
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

/// The logs that are asked.
struct Asked {
    logs: Vec<Logs>,
    /// Whether those of accesses are among them: there may be no place for them.
    has_accesses: bool,
}

/// Which logs.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct LogPlace {
    /// Read the logs in this folder, as `ctx trace collect` makes it
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
}

impl LogPlace {
    /// The logs that are named, or all of this vault: of accesses on this machine or in the vault,
    /// and of changes; as a reader may see them.
    fn all(
        &self,
        vault: &Vault,
        session: &mut Session<'_>,
        sight: &Sight,
    ) -> Result<Asked, Failure> {
        let mut has_accesses = true;
        let all = match &self.logs {
            Some(dir) => vec![session.workspace.logs_in(vault, dir)?.logs],
            None => {
                let (logs, lacks) = session.workspace.all_logs(vault)?;
                if let Some(why) = lacks {
                    has_accesses = false;
                    let why = why.to_string();
                    session.ui.warn(&format!("no access log is read: {}", shown(&why)));
                }
                logs
            }
        };
        let logs = all.into_iter().map(|logs| logs.seen_by(sight.clone())).collect();
        Ok(Asked { logs, has_accesses })
    }

    /// Says where the accesses of a vault are that was moved, if these logs have none.
    pub(in crate::cli) fn note_elsewhere(&self, vault: &Vault, session: &mut Session<'_>) {
        if self.logs.is_some() {
            return;
        }
        if let Some(dir) = session.workspace.lacking_folder(vault) {
            let dir = dir.display().to_string();
            let dir = shown(&dir);
            session.ui.note(&format!(
                "note: there is no access log of this user: `{dir}` is not a folder"
            ));
        }
        for dir in session.workspace.logs_elsewhere(vault) {
            let dir = dir.display().to_string();
            let dir = shlex::try_quote(&dir).unwrap_or_default();
            session.ui.note(&format!(
                "hint: an access log is kept by the path of the vault; accesses at another path are read with `--logs {}`",
                shown(&dir)
            ));
        }
    }

    /// What of the accesses of this user the vault lacks. That it is on another ref is no fault of an
    /// answer here.
    pub(in crate::cli) fn lost_accesses(
        &self,
        vault: &Vault,
        logs: &Logs,
    ) -> Result<Vec<Fault>, Failure> {
        if self.is_named() {
            return Ok(Vec::new());
        }
        Ok(here(missing::faults(&of_log(missing::accesses(vault, logs.cuts()))?)))
    }

    /// The same of changes.
    pub(in crate::cli) fn lost_changes(&self, vault: &Vault) -> Result<Vec<Fault>, Failure> {
        if self.is_named() {
            return Ok(Vec::new());
        }
        Ok(here(missing::faults(&of_log(missing::changes(vault))?)))
    }

    /// Both.
    pub(in crate::cli) fn lost(&self, vault: &Vault, logs: &Logs) -> Result<Vec<Fault>, Failure> {
        let mut lost = self.lost_accesses(vault, logs)?;
        lost.extend(self.lost_changes(vault)?);
        Ok(lost)
    }

    /// Whether the user named a folder.
    pub(in crate::cli) fn is_named(&self) -> bool {
        self.logs.is_some()
    }

    /// The logs of accesses: in the folder that is named, or those of this machine and of the vault.
    pub(in crate::cli) fn open(
        &self,
        vault: &Vault,
        session: &Session<'_>,
    ) -> Result<AccessLogs, Failure> {
        match &self.logs {
            Some(dir) => session.workspace.logs_in(vault, dir),
            None => session.workspace.asked_logs(vault),
        }
    }

    /// The same logs as a reader may see them.
    pub(in crate::cli) fn seen(
        &self,
        vault: &Vault,
        session: &mut Session<'_>,
    ) -> Result<Logs, Failure> {
        let sight = session.workspace.sight(vault)?;
        note_limited(session, &sight);
        Ok(self.open(vault, session)?.logs.seen_by(sight))
    }
}

pub(super) fn run(args: &Trace, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.part {
        Part::List(args) => list::list(args, session),
        Part::Grep(args) => list::grep(args, session),
        Part::Follow(args) => follow::run(args, session),
        Part::Show { trace, format, place } => show(trace, (*format, place), session),
        Part::Verify { place } => verify::run(place, session),
        Part::Output(args) => output::run(args, session),
        Part::Collect(args) => collect::run(args, session),
        Part::Hold(args) => hold::run(args, session),
        Part::Prune(args) => prune::run(args, session),
    }
}

/// Which accesses or publications, by their time.
#[derive(Debug, clap::Args)]
pub(super) struct Period {
    /// Only from this time on; a date is its first instant in UTC
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Only before this time
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
}

impl Period {
    /// A filter for accesses of this time.
    pub(super) fn filter(&self) -> Result<Filter, Failure> {
        let read = |text: &Option<String>| text.as_deref().map(time).transpose();
        let (from, to) = (read(&self.from)?, read(&self.to)?);
        if let (Some(from), Some(to)) = (from, to)
            && from > to
        {
            let message = format!("the period begins at {from}, after it ends at {to}");
            return Err(Failure::new(Code::Usage, message).hint("exchange `--from` and `--to`"));
        }
        Ok(Filter { from, to, ..Filter::default() })
    }

    /// The same with the labels that the user gave.
    pub(super) fn with_labels(&self, session: &Session<'_>) -> Result<Filter, Failure> {
        Ok(Filter { from: self.filter()?.from, to: self.filter()?.to, ..labelled(session) })
    }
}

/// A filter for accesses with the labels that the user gave.
pub(super) fn labelled(session: &Session<'_>) -> Filter {
    let GivenLabels { agent, session, thread, task, node } =
        session.workspace.options.labels.clone();
    Filter { agent, session, thread, task, node, ..Filter::default() }
}

/// Refuses what is the name of no command: no line would have it.
fn check_verb(verb: &str) -> Result<(), Failure> {
    if groups::is_verb(verb) {
        return Ok(());
    }
    Err(Failure::new(Code::Usage, format!("`{}` is no command of ctx", shown(verb)))
        .hint("`ctx --help` lists the commands"))
}

/// A time or a date on the command line.
fn time(text: &str) -> Result<Timestamp, Failure> {
    Timestamp::of_rfc3339(text).ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{text}` is not a time or a date"))
            .hint("write a time such as `2026-11-21T20:06:06Z`, or a date such as `2026-11-21`")
    })
}

/// The name of an access on the command line.
pub(super) fn trace_id(text: &str) -> Result<TraceId, Failure> {
    text.parse().map_err(|why| {
        Failure::new(Code::Usage, format!("`{text}` is not the name of an access: {why}"))
    })
}

/// That the log has no line that was asked for; one that was altered is none.
pub(super) fn unknown_access(logs: &Logs) -> Failure {
    if let Some(failure) = unlisted(std::slice::from_ref(logs)) {
        return failure;
    }
    let message = match logs.sight().is_limited() {
        true => "no such access is recorded that you may read",
        false => "no such access is recorded",
    };
    Failure::new(Code::UnknownTrace, message)
        .hint("`ctx trace list` lists them; `ctx trace verify` names lines that were altered")
}

/// The faults that are not of lines on another ref.
fn here(mut faults: Vec<Fault>) -> Vec<Fault> {
    faults.retain(|fault| fault.kind != FaultKind::Elsewhere);
    faults
}

/// The same failure with what is wrong with the logs: a line that is asked for may be one that they
/// lack.
pub(super) fn naming(mut failure: Failure, lost: &[Fault]) -> Failure {
    let name = |fault: &Fault| {
        format!("{}: {}: {}", fault.kind.as_str(), shown(&fault.file), shown(&fault.why))
    };
    failure.details.extend(lost.iter().take(MOST_NAMED).map(name));
    failure
}

/// So many faults are named with a failure.
const MOST_NAMED: usize = 20;

/// Of some faults, those of the writer whose line a trace names.
pub(super) fn of_writer<'f>(
    faults: &'f [Fault],
    name: &'f TraceId,
) -> impl Iterator<Item = &'f Fault> {
    let is_of = |fault: &&Fault| {
        fault.file.rsplit('/').next().is_some_and(|file| file.starts_with(&name.writer))
    };
    faults.iter().filter(is_of)
}

/// That a line which was not found may be in a folder that could not be listed.
fn unlisted(all: &[Logs]) -> Option<Failure> {
    let fault = all.iter().flat_map(Logs::unlisted).next()?;
    let Fault { file, why, .. } = fault;
    Some(Failure::new(Code::Io, format!("the access log `{}`: {why}", shown(file))))
}

/// Says that not every change is shown, where that is so.
fn note_limited(session: &mut Session<'_>, sight: &Sight) {
    if sight.is_limited() {
        session.ui.note("note: only what you may read of the logs is shown");
    }
}

/// Warns of what is wrong with the logs that an answer is from, and gives how the verb ends.
pub(super) fn warn_of(session: &mut Session<'_>, faults: &[Fault]) -> Answer {
    if faults.is_empty() {
        return Answer::Yes;
    }
    let what = count(faults.len(), "fault");
    session.ui.note(&format!(
        "warning: the log has {what}, so accesses may be missing; run `ctx trace verify`"
    ));
    match faults.iter().any(|fault| fault.kind.is_damage()) {
        true => Answer::No,
        false => Answer::Yes,
    }
}

/// A session in a table: one that was not named joins nothing.
pub(super) fn session_of(session: Option<&str>, is_implicit: bool) -> String {
    named(session.filter(|_| !is_implicit))
}

/// A label or a principal in a table, `-` for none. With a blank it could look like several columns,
/// so that it is quoted.
pub(super) fn named(name: Option<&str>) -> String {
    let Some(name) = name else { return "-".to_owned() };
    let is_word = |c: char| !c.is_whitespace() && !c.is_control() && c != '"';
    match name != "-" && !name.is_empty() && name.chars().all(is_word) {
        true => shown(name).into_owned(),
        false => format!("\"{}\"", shown(&name.replace('\\', "\\\\").replace('"', "\\\""))),
    }
}

fn row(trace: &TraceRow) -> Vec<String> {
    let session = session_of(trace.session.as_deref(), trace.session_implicit);
    let what = match trace.event {
        "access" => count(usize::try_from(trace.count).unwrap_or(usize::MAX), "text"),
        "listing" => format!("{} listed", trace.count),
        "change" => changed(trace),
        "output" => format!("{} bytes produced", trace.count),
        "hydration" => format!("{} bytes fetched", trace.count),
        event => format!("{event}: {}", shown(trace.code.as_deref().unwrap_or_default())),
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
    ]
}

/// A change in a table.
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

fn show(
    trace: &str,
    (format, place): (Option<Format>, &LogPlace),
    session: &mut Session<'_>,
) -> Result<Answer, Failure> {
    let name = trace_id(trace)?;
    let vault = session.workspace.vault()?;
    let sight = session.workspace.sight(&vault)?;
    let Asked { logs: all, .. } = place.all(&vault, session, &sight)?;
    let mut lines = Vec::new();
    for logs in &all {
        lines.extend(of_log(logs.find(&name))?);
    }
    let lost = match all.first() {
        Some(accesses) => place.lost(&vault, accesses)?,
        None => Vec::new(),
    };
    let Some(first) = lines.first() else {
        place.note_elsewhere(&vault, session);
        return Err(naming(unknown_trace(&all, &name), &lost));
    };
    let lost: Vec<Fault> = of_writer(&lost, &name).cloned().collect();
    let answer = warn_of(session, &lost);
    if let Some(format) = format {
        format::show(format, (&all, lines), session)?;
        return Ok(answer);
    }
    let before = match first.event {
        Event::Output(_) => Some(output::before(session, &all, first)?),
        _ => None,
    };
    if session.ui.json {
        session.ui.report(&TraceReport { trace: name.to_string(), lines: &lines, before });
        return Ok(answer);
    }
    text(session, first, &lines);
    before.iter().for_each(|before| output::list(session, before));
    Ok(answer)
}

fn text(session: &mut Session<'_>, first: &Line, lines: &[Line]) {
    let ui = &mut session.ui;
    let request = &first.request;
    ui.painted(Paint::Heading, &format!("{} {}", first.trace(), first.event.as_str()));
    let mut field = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            ui.line(&format!("  {name:<10} {}", shown(value)));
        }
    };
    let labels = &request.labels;
    let words = request
        .args
        .argv
        .as_ref()
        .map(|argv| shlex::try_join(argv.iter().map(String::as_str)).unwrap_or_default());
    let implicit = if labels.session_implicit { " (not named)" } else { "" };
    let head =
        request.head.as_ref().map(|head| format!("checkpoint {} {}", head.checkpoint, head.hash));
    field("at", Some(&first.at));
    field("command", Some(&words.map_or(request.verb.clone(), |words| format!("ctx {words}"))));
    field("principal", request.principal.as_deref());
    field("agent", labels.agent.as_deref());
    field("session", labels.session.as_ref().map(|id| format!("{id}{implicit}")).as_deref());
    field("thread", labels.thread.as_deref());
    field("task", labels.task.as_deref());
    field("node", labels.node.as_deref());
    field("traced in", request.traceparent.as_deref());
    field("head", head.as_deref());
    match &first.event {
        Event::Access(access) => {
            field("class", access.class.as_deref());
            field("query", access.query.query.as_deref());
            for withheld in &access.withheld {
                field("withheld", Some(&format!("{} ({})", withheld.count, withheld.reason)));
            }
            field(
                "output",
                Some(&format!("{} bytes {}", access.output.bytes, access.output.sha256)),
            );
        }
        Event::Listing(listing) => {
            field("query", listing.query.query.as_deref());
            field("listed", Some(&listing.count.to_string()));
        }
        Event::Refused(refused) => field("code", Some(&refused.code)),
        Event::Change(change) => {
            let sealed = change.sealed();
            let sealed = sealed.map(|head| format!("checkpoint {} {}", head.checkpoint, head.hash));
            field("sealed", sealed.as_deref());
            field("binds", change.event_at().map(|at| format!("the event of {at}")).as_deref());
            if let Change::Hold { hold } = change {
                field("hold", Some(&hold.id));
                field("of", Some(&hold::what(hold)));
            }
            if let Change::Acknowledge { acknowledged, .. } = change {
                let HeadRef { checkpoint, hash } = acknowledged;
                field("no line", Some(&format!("checkpoint {checkpoint} {hash}")));
            }
            if let Change::Lift { lifted, .. } = change {
                field("lifted", Some(lifted));
            }
            if let Change::Prune { before, .. } = change {
                field("before", Some(before));
            }
            for Cut { writer, seq, hash } in change.pruned() {
                field("pruned", Some(&format!("up to line {seq} of {writer} {hash}")));
            }
            if let Change::HeadTrust { lost, .. } = change {
                for LostLines { writer, from, to } in lost {
                    field("given up", Some(&format!("lines {from} to {to} of {writer}")));
                }
            }
            field("reason", change.reason());
        }
        Event::Hydration(of) => {
            field("source", Some(&format!("{} v{}", of.name(), of.source_version)));
            field("chain", Some(&of.chain_hash));
            field("server", of.server.as_deref());
            field("tools", Some(&of.tools.join(", ")));
            field("cache", of.cache.map(Cached::as_str));
            field("took", of.duration_ms.map(|ms| format!("{ms} ms")).as_deref());
            field("media type", of.media_type.as_deref());
            field("result", Some(&format!("{} bytes {}", of.bytes, of.result_hash)));
            field("error", of.error.as_deref());
            of.depends_on.iter().for_each(|trace| field("used", Some(trace)));
        }
        Event::Output(produced) => {
            field("model", produced.model.as_deref());
            field("produced", Some(&format!("{} bytes {}", produced.bytes, produced.sha256)));
        }
    }
    for line in lines {
        match &line.event {
            Event::Access(access) => {
                access.documents.iter().for_each(|text| document(session, text));
            }
            Event::Change(change) => {
                change
                    .names()
                    .iter()
                    .for_each(|name| session.ui.line(&format!("    {}", shown(name))));
            }
            Event::Listing(_) | Event::Refused(_) | Event::Output(_) | Event::Hydration(_) => {}
        }
    }
}

fn document(session: &mut Session<'_>, text: &Text) {
    let ui = &mut session.ui;
    ui.line(&format!("\n  {}  v{}", shown(text.name()), text.version));
    let range = match (text.range, text.part) {
        (Some([first, end]), _) => format!(", bytes {first} to {end} of the version"),
        (None, Some(part)) => format!(", a {}", part.as_str()),
        (None, None) => String::new(),
    };
    ui.line(&format!("    text       {} bytes{range}", text.bytes));
    ui.line(&format!("    sha256     {}", shown(&text.sha256)));
    ui.line(&format!("    chain      {}", shown(&text.chain_hash)));
    if let Some(author) = &text.author {
        ui.line(&format!("    author     {}", shown(author)));
    }
    ui.line(&format!("    edited     {} by {}", shown(&text.edited_at), shown(&text.edited_by)));
    if let Some(at) = &text.approved_at {
        let by = shown(&text.approved_by.join(", ")).into_owned();
        ui.line(&format!("    approved   {} by {by}", shown(at)));
    }
    if let Some(steward) = &text.steward {
        ui.line(&format!("    steward    {}", shown(&steward.to_string())));
    }
    if let Some(due) = &text.review_due {
        ui.line(&format!("    review due {}", shown(due)));
    }
}

/// Says that accesses before a time were pruned, where a question may be about them.
pub(super) fn note_pruned(session: &mut Session<'_>, logs: &Logs, from: Option<Timestamp>) {
    let Some(last) = logs.last_pruning() else { return };
    if from.is_none_or(|from| last.before.parse().is_ok_and(|before: Timestamp| from < before)) {
        let (before, by) = (shown(&last.before), shown(&last.by));
        session.ui.note(&format!(
            "note: accesses before {before} were pruned (`ctx trace show {by}`), and may be missing here"
        ));
    }
}

/// That no line has a name; a line that was pruned had it.
pub(super) fn unknown_trace(all: &[Logs], name: &TraceId) -> Failure {
    match all.iter().find_map(|logs| logs.cuts().covers(name)) {
        Some(cut) => {
            let message = format!("the access `{name}` was pruned");
            let hint = format!("`ctx trace show {}` shows who pruned it", shown(&cut.by));
            Failure::new(Code::UnknownTrace, message).hint(hint)
        }
        None => {
            if let Some(failure) = unlisted(all) {
                return failure;
            }
            let is_limited = all.iter().any(|logs| logs.sight().is_limited());
            let which = if is_limited { " that you may read" } else { "" };
            let message = format!("no access `{name}` is recorded{which}");
            Failure::new(Code::UnknownTrace, message).hint(
                "`ctx trace list` lists them; `ctx trace verify` names lines that were altered",
            )
        }
    }
}
