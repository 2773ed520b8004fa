//! The change log: one line for each command that changed the vault, or the head that is trusted
//! for it. The log is in the vault, next to the changed files (AUDIT-18 to AUDIT-22). Only the
//! holder of the write lock appends.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::bind::BindLines;
use super::chain::Logs;
use super::change::{Change, HeadRef, StagedEnd};
use super::cut::Cuts;
use super::end::{end_of_line, lines_after};
use super::event::Event;
use super::folder::Folder;
use super::line::{Request, genesis};
use super::missing::{self, Missing};
use crate::files::vault::Vault;
use crate::files::vault::audit::{Audit, Queries};
use crate::files::vault::config::Config;
use crate::files::vault::files::{FileError, Files};
use crate::files::vault::outside::{self, StateFolder};
use crate::files::vault::write::TornLine;
use crate::record::chain::{replay, vouched};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::state::{Bound, Mark};
use crate::record::journal::{
    self, End, FilesByWriter, Journal, LastLines, Random, Seat, Tail, Tails, WriterId,
};
use crate::record::trusted_head::{self, Head, Incomplete, Memory};
use crate::values::model::digest::Digest;
use crate::values::model::id::{DocumentId, IdError};
use crate::values::model::layout::{self, AUDIT_DIR};
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// The writer of lines in the change log, and the request to record.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// The source of the id of a new writer.
    pub random: Random,
    /// The command and its principal. The head is filled in when a line is written.
    pub request: Request,
}

impl Default for Recorder {
    /// Returns a recorder for a program without a principal or command.
    fn default() -> Self {
        let principal_source = "none".to_owned();
        let request = Request { principal_source, ..Request::default() };
        Self { random: outside::random, request }
    }
}

impl Recorder {
    /// Returns the recorder for a change of another command of this user that was interrupted
    /// before it wrote its line. The principal is the one that the history names.
    #[must_use]
    pub(crate) fn of_interrupted(&self, made_by: &str) -> Self {
        let mut recorder = self.clone();
        recorder.request.principal = Some(made_by.to_owned());
        "history".clone_into(&mut recorder.request.principal_source);
        recorder
    }

    /// Returns the recorder that a configuration requires: if it says that queries are hashed, or
    /// cannot be read (`None`), the arguments are recorded by their hash only.
    #[must_use]
    pub(crate) fn under(&self, config: Option<Option<&Config>>) -> Self {
        let hashes = |config: &Config| Audit::of(config).queries == Queries::Hash;
        let is_hashed = config.is_none_or(|config| config.is_some_and(hashes));
        let mut recorder = self.clone();
        if is_hashed {
            recorder.request.args = recorder.request.args.hashed();
        }
        recorder
    }
}

/// Failure to record a change.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The line could not be written, or the end of the log could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The line was written, but the user's directory does not record it as the last one.
    #[error("the end of the change log could not be written to the user's directory of state: {0}")]
    Tail(io::Error),
    /// A line could not be written as JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// Returns true if changes of a vault are recorded: its configuration says so, or a change
/// log exists.
pub(crate) fn is_begun(vault: &Vault) -> bool {
    vault.config().audit.is_some() || vault.files().exists(AUDIT_DIR)
}

/// Works like [`is_begun`], and also reads the configuration that the head seals. The command that
/// sealed it may have been interrupted before it wrote anything else.
pub(crate) fn is_begun_at(vault: &Vault, chronicle: &Chronicle<'_>) -> bool {
    let by_head = || {
        let (files, id) = (vault.files(), DocumentId::config());
        let (_, mark) = chronicle.head()?.set.iter().find(|(set, _)| *set == id)?;
        let (version, hash) = mark.sealed()?;
        let history = replay::load(files, &id).ok()?;
        let sealed = vouched::sealed(files, &id, &history, version, &hash).ok()?;
        Config::parse(&sealed.text).ok()?.audit
    };
    is_begun(vault) || by_head().is_some()
}

/// Records a committed event and syncs the line.
///
/// # Errors
/// Fails if the event was not recorded. The next writer then records it, see [`catch_up`].
pub(crate) fn sealed(
    (vault, before): (&Vault, &Chronicle<'_>),
    checkpoint: &Checkpoint,
    recorder: &Recorder,
    now: Timestamp,
) -> Result<(), ChangeError> {
    let head = before.head().map(HeadRef::from);
    append(vault, recorder, now, head, Change::of_event(checkpoint, false)).map(|_| ())
}

/// Writes and syncs a line for an event that is about to be committed. Returns the artifacts for
/// the checkpoint to bind (AUDIT-25): the change log, and the staging chains in `staged`. The line
/// does no harm if the event is never committed.
///
/// # Errors
/// Fails if the line could not be written.
pub(crate) fn bind(
    (vault, before): (&Vault, &Chronicle<'_>),
    at: Timestamp,
    (recorder, now): (&Recorder, Timestamp),
    staged: Vec<(DocumentId, Mark)>,
) -> Result<Vec<Bound>, ChangeError> {
    let head = before.head().map(HeadRef::from);
    let ends = staged.iter().filter_map(|(chain, mark)| StagedEnd::of(chain, mark)).collect();
    let change = Change::Bind { event_at: at.to_string(), staged: ends };
    let Tail { writer, seq, hash, .. } = append(vault, recorder, now, head, change)?;
    let mark = hash.parse().ok().map(|hash| Mark::new(Version(seq), hash));
    // Both are valid, because this writer just wrote them.
    let id = path_of(&writer, 1).parse().map_err(|why: IdError| io::Error::other(why.to_string()));
    let staged = staged.into_iter().map(|(chain, mark)| (chain, Some(mark)));
    let mut bound: Vec<Bound> = staged.chain([(id.map_err(ChangeError::Tail)?, mark)]).collect();
    bound.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(bound)
}

/// Returns the marks that each event bound, by the time of the event, in the order of the ids. If
/// several lines name an event, the last of them decides.
///
/// # Errors
/// Fails if a log cannot be read.
pub(crate) fn bindings(vault: &Vault) -> io::Result<BTreeMap<Timestamp, Vec<(DocumentId, Mark)>>> {
    let mut found: BTreeMap<Timestamp, BindLines> = BTreeMap::new();
    let logs = Logs::of_changes(vault)?;
    logs.each(&mut |line| {
        let Some(lines) = BindLines::begin(&line) else { return };
        let Ok(at) = lines.event_at.parse::<Timestamp>() else { return };
        // Times have one form, so they compare as texts.
        if let Some(last) = found.get_mut(&at)
            && (last.go_on(&line) || last.at > lines.at)
        {
            return;
        }
        found.insert(at, lines);
    })?;
    Ok(found.into_iter().filter_map(|(at, lines)| Some((at, lines.marks()?))).collect())
}

/// Records a change that did not make a checkpoint.
///
/// # Errors
/// Fails if the change was not recorded.
pub(crate) fn other(
    vault: &Vault,
    head: Option<&Head>,
    recorder: &Recorder,
    now: Timestamp,
    change: Change,
) -> Result<(), ChangeError> {
    append(vault, recorder, now, head.and_then(HeadRef::of), change).map(|_| ())
}

/// Returns the lines of this user that are missing from a vault, and that are given up if the user
/// declares the vault valid as it is.
///
/// # Errors
/// Fails if a log cannot be read.
pub(crate) fn given_up(vault: &Vault) -> io::Result<GivenUp> {
    let cuts = Cuts::of(&Logs::of_changes(vault)?)?;
    let given_up = |lost: Vec<Missing>| lost.into_iter().filter(Missing::is_given_up).collect();
    let accesses = given_up(missing::accesses(vault, &cuts)?);
    Ok(GivenUp { changes: given_up(missing::changes(vault)?), accesses })
}

/// Missing lines of this user that are given up.
#[derive(Debug)]
pub(crate) struct GivenUp {
    changes: Vec<Missing>,
    accesses: Vec<Missing>,
}

impl GivenUp {
    /// Iterates over the lines of change logs, then those of access logs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Missing> {
        self.changes.iter().chain(&self.accesses)
    }
}

/// Forgets the last lines of logs that no longer contain them.
///
/// # Errors
/// Fails if the record of them could not be written.
pub(crate) fn accept(vault: &Vault, lost: &GivenUp) -> io::Result<()> {
    for (dir, writers) in by_memory(&lost.accesses) {
        LastLines::read_from(dir).without(&writers).write_to(dir)?;
    }
    for (dir, writers) in by_memory(&lost.changes) {
        let is_kept = |tail: &Tail| !writers.contains(&tail.writer);
        Tails::retain_in(vault.files().disk(), (dir, outside::CHANGES), "", is_kept)?;
    }
    Ok(())
}

/// Groups the writers of missing lines by the folder of state that records them.
fn by_memory(missing: &[Missing]) -> BTreeMap<&Path, Vec<WriterId>> {
    let mut found: BTreeMap<&Path, Vec<WriterId>> = BTreeMap::new();
    for one in missing {
        found.entry(&one.memory).or_default().push(one.writer.clone());
    }
    found
}

/// Forgets the last lines of logs of a vault that was in the same place before.
///
/// # Errors
/// Fails if the record of them could not be written.
pub(crate) fn forget(vault: &Vault) -> io::Result<()> {
    for Memory { dir, .. } in
        trusted_head::memories(vault).iter().filter(|memory| memory.is_binding)
    {
        if LastLines::read_from(dir) != LastLines::default() {
            LastLines::default().write_to(dir)?;
        }
        Tails::retain_in(vault.files().disk(), (dir, outside::CHANGES), "", |_| false)?;
    }
    Ok(())
}

/// Additional parts of the record for the event of an interrupted command.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// The line to write before that of the event.
    pub(crate) change: Option<Change>,
    /// The principal of the event, from the histories.
    pub(crate) made_by: Option<String>,
}

/// Returns the events that commands of this user committed and did not complete, and for which no
/// line of this user is recorded. Only an intent record shows such an event (VER-30).
pub(crate) fn unwritten(
    vault: &Vault,
    hash_of: impl Fn(CheckpointNumber) -> Option<Digest>,
) -> Vec<Incomplete> {
    let mut found = trusted_head::incomplete(vault, hash_of);
    let here = tails(vault.state());
    found.retain(|one| {
        let there = tails_in(&one.dir);
        !here.has_sealed(one.checkpoint()) && !there.has_sealed(one.checkpoint())
    });
    found
}

/// Returns the checkpoints whose lines the next command of this user must add, in order: those of
/// [`unwritten`] that no line names. A command that was interrupted right after its line did not
/// record that it had written one.
///
/// # Errors
/// Fails if a log cannot be read.
pub(crate) fn owed<'c>(
    vault: &Vault,
    chronicle: &Chronicle<'c>,
) -> io::Result<BTreeMap<CheckpointNumber, Incomplete>> {
    let found = unwritten(vault, |number| chronicle.hash_of(number)).into_iter();
    let mut owed: BTreeMap<_, _> = found.map(|one| (one.checkpoint(), one)).collect();
    if owed.is_empty() || !is_begun_at(vault, chronicle) {
        return Ok(BTreeMap::new());
    }
    Logs::of_changes(vault)?.each(&mut |line| {
        let Event::Change(change) = &line.event else { return };
        let Some(sealed) = change.sealed() else { return };
        let made = |one: &mut Incomplete| one.intent.makes.map(|hash| hash.to_string());
        let number = CheckpointNumber(sealed.checkpoint);
        if owed.get_mut(&number).and_then(made).as_ref() == Some(&sealed.hash) {
            owed.remove(&number);
        }
    })?;
    Ok(owed)
}

/// Records the events of [`owed`], each after the line that `beside` returns, and returns their
/// checkpoints. The histories name the principal of an event.
///
/// # Errors
/// Fails if an event was not recorded.
pub(crate) fn catch_up(
    (vault, chronicle): (&Vault, &Chronicle<'_>),
    recorder: &Recorder,
    now: Timestamp,
    beside: &dyn Fn(&Checkpoint) -> Result<Beside, ChangeError>,
) -> Result<Vec<CheckpointNumber>, ChangeError> {
    let owed = owed(vault, chronicle).map_err(ChangeError::Tail)?;
    for (number, one) in &owed {
        let Ok(checkpoint) = chronicle.checkpoint(*number) else { continue };
        let head = HeadRef::of(&one.intent.upon);
        let Beside { change, made_by } = beside(checkpoint)?;
        let recorder = &made_by.map_or_else(|| recorder.clone(), |by| recorder.of_interrupted(&by));
        if let Some(change) = change {
            append(vault, recorder, now, head.clone(), change)?;
        }
        append(vault, recorder, now, head, Change::of_event(checkpoint, true))?;
    }
    Ok(owed.into_keys().collect())
}

/// Returns true if the change logs contain the last line that this user wrote of each writer.
/// Without one of them the logs are incomplete.
///
/// # Errors
/// Fails if a log cannot be read.
pub(crate) fn are_whole(vault: &Vault) -> Result<bool, FileError> {
    for memory in trusted_head::memories(vault).iter().filter(|memory| memory.is_binding) {
        for tail in tails_in(&memory.dir).iter() {
            if Seat::find(vault.files(), &ChangeLog, tail)?.is_none() {
                return Ok(false);
            }
        }
    }
    Ok(!in_vault(vault.files())?.is_empty())
}

fn append(
    vault: &Vault,
    recorder: &Recorder,
    now: Timestamp,
    head: Option<HeadRef>,
    change: Change,
) -> Result<Tail, ChangeError> {
    let (files, mut tails) = (vault.files(), tails(vault.state()));
    let seat = Seat::take(files, &ChangeLog, (&tails, recorder.random))?;
    let sealed = change.sealed().map(|sealed| sealed.checkpoint);
    if let Change::HeadTrust { to, .. } | Change::ReplaceLog { to } = &change {
        tails.end_at(to.as_ref().map_or(0, |to| to.checkpoint));
    }
    let request = Request { head, ..recorder.request.clone() };
    let event = Event::Change(change);
    let (bytes, end) = lines_after(&seat.end, &seat.writer, now, &request, event)?;
    seat.append::<ChangeLog>(files, &bytes)?;
    let tail = Tail { writer: seat.writer, seq: end.seq, hash: end.hash, sealed };
    tails.advance(tail.clone());
    keep(vault, &tails).map_err(ChangeError::Tail)?;
    Ok(tail)
}

/// Returns the last line of each writer of this user; nothing without a directory of state.
pub(crate) fn tails(state: Option<&StateFolder>) -> Tails {
    state.map(|state| tails_in(&state.dir)).unwrap_or_default()
}

/// Returns the last line of each writer in a folder of state.
pub(super) fn tails_in(dir: &Path) -> Tails {
    Tails::read_from(&dir.join(outside::CHANGES)).1
}

fn keep(vault: &Vault, tails: &Tails) -> io::Result<()> {
    let Some(state) = vault.state() else { return Ok(()) };
    outside::make_private(&state.dir)?;
    state.write_mark()?;
    tails.write_to(vault.files().disk(), (&state.dir, outside::CHANGES), "")
}

/// Returns the torn lines at the ends of this user's logs, which the writer's next line
/// would replace.
///
/// # Errors
/// Fails if a log cannot be read.
pub(crate) fn torn(vault: &Vault) -> Result<Vec<TornLine>, FileError> {
    journal::torn(vault.files(), &ChangeLog, &tails(vault.state()))
}

/// Journal of the change logs of a vault.
struct ChangeLog;

impl Journal for ChangeLog {
    const ATTRIBUTES: &'static str = layout::AUDIT_ATTRIBUTES;
    const GOES_ON: bool = true;

    fn genesis(&self, writer: &WriterId) -> String {
        genesis(writer)
    }

    fn path(&self, writer: &WriterId, first: u64) -> String {
        path_of(writer, first)
    }

    fn last_file(&self, files: &Files, writer: &WriterId) -> Result<Option<u64>, FileError> {
        Ok(in_vault(files)?.remove(writer).and_then(|mut firsts| firsts.pop()))
    }

    fn read(&self, line: &[u8], writer: &WriterId) -> Option<End> {
        end_of_line(line, writer)
    }
}

fn path_of(writer: &WriterId, first: u64) -> String {
    format!("{AUDIT_DIR}/{}", writer.file(first))
}

/// Returns the files of the change logs of a vault.
fn in_vault(files: &Files) -> Result<FilesByWriter, FileError> {
    Folder::of_changes(files).files().map_err(FileError::io("list", AUDIT_DIR))
}
