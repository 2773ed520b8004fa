//! The change log: a line for each command that changed the vault, or what is trusted of it, in the
//! vault beside what it changed (AUDIT-18 to AUDIT-22). Only the holder of the write lock appends.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::bind::BindLines;
use super::chain::Logs;
use super::change::{Change, StagedEnd};
use super::cut::Cuts;
use super::end::{End, last_line};
use super::event::Event;
use super::folder::Folder;
use super::last::LastLines;
use super::line::{HeadRef, Request};
use super::missing::{self, Missing};
use super::tails::{Tail, Tails};
use super::writer::{FULL, FilesByWriter, Random, WriterId};
use crate::chain::{replay, vouched};
use crate::checkpoint::chronicle::Chronicle;
use crate::checkpoint::event::Checkpoint;
use crate::checkpoint::state::{Bound, Mark};
use crate::model::digest::Digest;
use crate::model::id::{DocumentId, IdError};
use crate::model::layout::{self, AUDIT_DIR};
use crate::model::number::{CheckpointNumber, Version};
use crate::model::timestamp::Timestamp;
use crate::trust::{self, Head, Incomplete, Memory};
use crate::vault::Vault;
use crate::vault::audit::{Audit, Queries};
use crate::vault::config::Config;
use crate::vault::files::{FileError, Files};
use crate::vault::outside;
use crate::vault::write::{TornLine, Written};

/// Who changes a vault, as the change log says it.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// Where the id of a new writer is from.
    pub random: Random,
    /// The command and who gave it; its head is filled in.
    pub request: Request,
}

impl Default for Recorder {
    /// A program that says nothing of itself.
    fn default() -> Self {
        let principal_source = "none".to_owned();
        let request = Request { principal_source, ..Request::default() };
        Self { random: outside::random, request }
    }
}

impl Recorder {
    /// The same for what another command of this user made, and was interrupted before its line: the
    /// principal is whom the history names.
    #[must_use]
    pub(crate) fn of_interrupted(&self, made_by: &str) -> Self {
        let mut recorder = self.clone();
        recorder.request.principal = Some(made_by.to_owned());
        "history".clone_into(&mut recorder.request.principal_source);
        recorder
    }

    /// The same where a configuration may say that no words are recorded; where it cannot be read
    /// (none), none are.
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

/// Why a change was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The line could not be written, or the end of the log not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The line was written; that it is the last one could not be kept in mind.
    #[error("the end of the change log could not be written to the user's directory of state: {0}")]
    Tail(io::Error),
    /// A line could not be written as JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// Whether changes of a vault are recorded: its configuration says so, or they were once.
pub(crate) fn is_begun(vault: &Vault) -> bool {
    vault.config().audit.is_some() || vault.files().exists(AUDIT_DIR)
}

/// The same for a vault whose head may seal the configuration that says so, if the command that made it
/// was interrupted before it wrote anything else.
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

/// Records an event that was committed, durable.
///
/// # Errors
/// It was not recorded; the next writer does it then, see [`catch_up`].
pub(crate) fn sealed(
    (vault, before): (&Vault, &Chronicle<'_>),
    checkpoint: &Checkpoint,
    recorder: &Recorder,
    now: Timestamp,
) -> Result<(), ChangeError> {
    let head = before.head().map(HeadRef::from);
    append(vault, recorder, now, head, Change::of_event(checkpoint, false)).map(|_| ())
}

/// Writes a line for an event that is about to be committed, durable; gives what the checkpoint is to
/// bind (AUDIT-25): the change log, and the ends of staging chains that are `staged`. Without its
/// event the line is harmless.
///
/// # Errors
/// It could not be written.
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
    // Of this writer's hand both are always there.
    let id = path_of(&writer, 1).parse().map_err(|why: IdError| io::Error::other(why.to_string()));
    let staged = staged.into_iter().map(|(chain, mark)| (chain, Some(mark)));
    let mut bound: Vec<Bound> = staged.chain([(id.map_err(ChangeError::Tail)?, mark)]).collect();
    bound.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(bound)
}

/// What each event bound, by the time of the event and in the order of the ids: by the last of the
/// lines that name it.
///
/// # Errors
/// A log cannot be read.
pub(crate) fn bindings(vault: &Vault) -> io::Result<BTreeMap<Timestamp, Vec<(DocumentId, Mark)>>> {
    let mut found: BTreeMap<Timestamp, BindLines> = BTreeMap::new();
    let logs = Logs::of_changes(vault)?;
    logs.each(&mut |line| {
        let Some(lines) = BindLines::begin(&line) else { return };
        let Ok(at) = lines.event_at.parse::<Timestamp>() else { return };
        // Times are written in one form, so that they compare as texts.
        if let Some(last) = found.get_mut(&at)
            && (last.go_on(&line) || last.at > lines.at)
        {
            return;
        }
        found.insert(at, lines);
    })?;
    Ok(found.into_iter().filter_map(|(at, lines)| Some((at, lines.marks()?))).collect())
}

/// Records a change that sealed no checkpoint.
///
/// # Errors
/// It was not recorded.
pub(crate) fn other(
    vault: &Vault,
    head: Option<&Head>,
    recorder: &Recorder,
    now: Timestamp,
    change: Change,
) -> Result<(), ChangeError> {
    append(vault, recorder, now, head.and_then(HeadRef::of), change).map(|_| ())
}

/// The lines of this user that a vault lacks, and that are given up where it is declared that the
/// vault counts as it is.
///
/// # Errors
/// A log cannot be read.
pub(crate) fn given_up(vault: &Vault) -> io::Result<GivenUp> {
    let cuts = Cuts::of(&Logs::of_changes(vault)?)?;
    let given_up = |lost: Vec<Missing>| lost.into_iter().filter(Missing::is_given_up).collect();
    let accesses = given_up(missing::accesses(vault, &cuts)?);
    Ok(GivenUp { changes: given_up(missing::changes(vault)?), accesses })
}

/// Lines of this user that are given up.
#[derive(Debug)]
pub(crate) struct GivenUp {
    changes: Vec<Missing>,
    accesses: Vec<Missing>,
}

impl GivenUp {
    /// Each.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Missing> {
        self.changes.iter().chain(&self.accesses)
    }
}

/// Forgets the last lines of logs that no longer hold them.
///
/// # Errors
/// It could not be written.
pub(crate) fn accept(vault: &Vault, lost: &GivenUp) -> io::Result<()> {
    for (dir, writers) in by_memory(&lost.accesses) {
        LastLines::read_from(dir).without(&writers).write_to(dir)?;
    }
    for (dir, writers) in by_memory(&lost.changes) {
        let (_, tails) = Tails::read_from(&dir.join(outside::CHANGES));
        let disk = vault.files().disk();
        tails.without(&writers).write_to(disk, (dir, outside::CHANGES), "")?;
    }
    Ok(())
}

/// The writers of lines that are missing, by the folder of state that knows of them.
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
/// It could not be written.
pub(crate) fn forget(vault: &Vault) -> io::Result<()> {
    for Memory { dir, .. } in trust::memories(vault).iter().filter(|memory| memory.is_binding) {
        if LastLines::read_from(dir) != LastLines::default() {
            LastLines::default().write_to(dir)?;
        }
        let (_, tails) = Tails::read_from(&dir.join(outside::CHANGES));
        if tails != Tails::default() {
            let disk = vault.files().disk();
            Tails::default().write_to(disk, (dir, outside::CHANGES), "")?;
        }
    }
    Ok(())
}

/// What is recorded with the event of an interrupted command.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// The line that comes before that of the event.
    pub(crate) change: Option<Change>,
    /// Who made the event, as the histories say.
    pub(crate) made_by: Option<String>,
}

/// The events that commands of this user committed and did not complete, and of which this user
/// wrote no line that is known of. Only an intent record shows that (VER-30).
pub(crate) fn unwritten(
    vault: &Vault,
    hash_of: impl Fn(CheckpointNumber) -> Option<Digest>,
) -> Vec<Incomplete> {
    let mut found = trust::incomplete(vault, hash_of);
    let here = Tails::read(vault.state());
    found.retain(|one| {
        let (_, there) = Tails::read_from(&one.dir.join(outside::CHANGES));
        !here.has_sealed(one.checkpoint()) && !there.has_sealed(one.checkpoint())
    });
    found
}

/// The checkpoints whose lines the next command of this user adds, in order: those of [`unwritten`]
/// that no line names. A command that was interrupted right after its line did not note that it
/// wrote one.
///
/// # Errors
/// A log cannot be read.
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

/// Records the events of [`owed`], each after the line that it is to have `beside` it; returns their
/// checkpoints. Which principal made an event, the histories say.
///
/// # Errors
/// One was not recorded.
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

/// Whether the change logs hold the last line that this user wrote of each writer: without one of
/// them they do not say everything.
///
/// # Errors
/// A log cannot be read.
pub(crate) fn are_whole(vault: &Vault) -> Result<bool, FileError> {
    for memory in trust::memories(vault).iter().filter(|memory| memory.is_binding) {
        let (_, tails) = Tails::read_from(&memory.dir.join(outside::CHANGES));
        for tail in tails.iter() {
            if Seat::find(vault.files(), tail)?.is_none() {
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
    let files = vault.files();
    let mut tails = Tails::read(vault.state());
    let seat = match tails.last() {
        Some(tail) => Seat::of(files, tail)?,
        None => None,
    };
    let seat = seat.unwrap_or_else(|| Seat::begin(recorder.random));
    let sealed = change.sealed().map(|sealed| sealed.checkpoint);
    if let Change::HeadTrust { to, .. } | Change::ReplaceLog { to } = &change {
        tails.end_at(to.as_ref().map_or(0, |to| to.checkpoint));
    }
    let request = Request { head, ..recorder.request.clone() };
    let event = Event::Change(change);
    let (bytes, end) = seat.end.then(&seat.writer, now, &request, event)?;
    if seat.length == 0 {
        // That there is one already, or that it cannot be written, is no reason to record nothing.
        let text = layout::ATTRIBUTES_TEXT.as_bytes();
        let _ = files.create_new(layout::AUDIT_ATTRIBUTES, text);
    }
    files.append(&seat.path, seat.length, &bytes)?;
    let written = match seat.length {
        0 => Written::New(&seat.path),
        _ => Written::Longer(&seat.path),
    };
    files.sync(&[written])?;
    let tail = Tail { writer: seat.writer, seq: end.seq, hash: end.hash, sealed };
    tails.advance(tail.clone());
    tails.write(vault).map_err(ChangeError::Tail)?;
    Ok(tail)
}

/// The torn lines at the ends of this user's logs, which the next line of the writer would replace.
///
/// # Errors
/// A log cannot be read.
pub(crate) fn torn(vault: &Vault) -> Result<Vec<TornLine>, FileError> {
    let mut found = Vec::new();
    for tail in Tails::read(vault.state()).iter() {
        if let Some((Seat { path, length, .. }, total)) = Seat::find(vault.files(), tail)?
            && length < total
        {
            found.push(TornLine { path, total, length });
        }
    }
    Ok(found)
}

/// Where the next line goes.
struct Seat {
    writer: WriterId,
    end: End,
    path: String,
    length: u64,
}

impl Seat {
    /// A new writer's.
    fn begin(random: Random) -> Self {
        let writer = WriterId::new(random);
        let (end, path) = (End::begin(&writer), path_of(&writer, 1));
        Self { writer, end, path, length: 0 }
    }

    /// Where the log of a writer goes on; none where it is not what it was. What a crash left of a
    /// line is truncated.
    fn of(files: &Files, tail: &Tail) -> Result<Option<Self>, FileError> {
        let Some((seat, total)) = Self::find(files, tail)? else { return Ok(None) };
        if seat.length < total {
            files.cut(&seat.path, total, seat.length)?;
        }
        Ok(Some(match seat.length >= FULL {
            true => Self { path: path_of(&seat.writer, seat.end.seq + 1), length: 0, ..seat },
            false => seat,
        }))
    }

    /// The end of a writer's log, and the length of its file; none where it is not what it was: the
    /// line that was written last is gone, or another.
    fn find(files: &Files, tail: &Tail) -> Result<Option<(Self, u64)>, FileError> {
        let mut firsts = in_vault(files)?.remove(&tail.writer).unwrap_or_default();
        let Some(first) = firsts.pop() else { return Ok(None) };
        let path = path_of(&tail.writer, first);
        let total = match files.stamp(&path) {
            Err(FileError::Link { .. } | FileError::NotRegular { .. }) => return Ok(None),
            other => other?.length,
        };
        let read = |from, length| files.read_at(&path, from, length);
        let Some((end, length)) = whole_end(total, read, tail)? else { return Ok(None) };
        if !tail.may_be_followed_by(&end) {
            return Ok(None);
        }
        Ok(Some((Self { writer: tail.writer.clone(), end, path, length }, total)))
    }
}

/// So many lines after the one that was written last are looked at.
const MOST_AFTER: usize = 4096;

/// The last line that a power cut left whole, and the length up to its end. It leaves NUL in a line
/// that was not synced; the lines after it were appended together with it.
fn whole_end<E>(
    total: u64,
    read: impl Fn(u64, usize) -> Result<Vec<u8>, E>,
    tail: &Tail,
) -> Result<Option<(End, u64)>, E> {
    let (mut found, mut at) = (None, total);
    for _ in 0..MOST_AFTER {
        let (Some(line), length) = last_line(at, &read)? else { return Ok(found) };
        at = length.saturating_sub(line.len() as u64 + 1);
        if line.contains(&0) {
            found = None;
            continue;
        }
        let Some(end) = End::of_line(&line, &tail.writer) else { return Ok(found) };
        let is_before = end.seq <= tail.seq;
        found.get_or_insert((end, length));
        if is_before {
            return Ok(found);
        }
    }
    Ok(None)
}

fn path_of(writer: &WriterId, first: u64) -> String {
    format!("{AUDIT_DIR}/{}", writer.file(first))
}

/// The files of the change logs of a vault.
fn in_vault(files: &Files) -> Result<FilesByWriter, FileError> {
    Folder::of_changes(files).files().map_err(FileError::io("list", AUDIT_DIR))
}
