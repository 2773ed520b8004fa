//! Appends lines to a writer's chain (AUDIT-5). Processes take turns by a lock on the writer's
//! first file, so that no process overwrites a line of another.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use super::end::{end_of_line, lines_after};
use super::event::Event;
use super::folder::Folder;
use super::line::{Request, TraceId, genesis};
use super::place::Place;
use crate::files::vault::disk::Disk;
use crate::record::journal::{End, FULL, Random, WriterId, last_line};
use crate::values::model::timestamp::Timestamp;

/// Failure to record a line.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// A file could not be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A line could not be written as JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// Appends an event and returns the trace of its first line; if `is_durable`, syncs the file.
///
/// # Errors
/// Fails if nothing was recorded, or if a durable line was not synced.
pub(crate) fn append(
    place: &Place,
    (random, disk): (Random, &Disk),
    is_durable: bool,
    at: Timestamp,
    request: &Request,
    event: Event,
) -> Result<TraceId, AppendError> {
    place.folder.make()?;
    let Seat { writer, _turn, end, name, file } = seat(place, random)?;
    let first = TraceId::of(&writer.to_string(), end.seq + 1);
    let (bytes, end) = lines_after(&end, &writer, at, request, event)?;
    let length = file.metadata()?.len();
    place.folder.append((&name, &file, length), &bytes, is_durable, disk)?;
    place.wrote(&writer, end, is_durable);
    Ok(first)
}

/// Position at which the next line is appended.
struct Seat {
    writer: WriterId,
    /// Lock on the log, released on drop.
    _turn: File,
    end: End,
    /// Name of the file to append to.
    name: String,
    file: File,
}

/// Takes the writer's lock and finds the end of its log. A log whose last line cannot be read is
/// left as it is, and a new writer begins: `trace verify` reports what is wrong with it.
fn seat(place: &Place, random: Random) -> io::Result<Seat> {
    let mut writer = place.writer(random)?;
    for _ in 0..2 {
        let turn = place.folder.take_turn(&writer.file(1), place.patience)?;
        if let Some((end, first, file)) = end_of(&place.folder, &writer, &turn)?
            && place.may_follow(&writer, &end)
        {
            return Ok(Seat { name: writer.file(first), writer, _turn: turn, end, file });
        }
        drop(turn);
        writer = place.begin(Some(&writer), random)?;
    }
    Err(io::Error::other("another process is changing the log"))
}

/// Returns the end of a writer's log, and the file to append to with the number in its name; `None`
/// if the last line cannot be read. A line that a crash tore is truncated: no answer depends on it.
fn end_of(folder: &Folder, writer: &WriterId, turn: &File) -> io::Result<Option<(End, u64, File)>> {
    let files = folder.files()?.remove(writer).unwrap_or_default();
    let later = files.into_iter().filter(|first| *first > 1).rev();
    let (mut name, mut file) = (1, turn.try_clone()?);
    let mut line = None;
    // A crash may have left a new file without a line.
    for first in later {
        let one = folder.open_to_append(&writer.file(first))?;
        line = whole_end(&one)?;
        if line.is_some() {
            (name, file) = (first, one);
            break;
        }
    }
    let line = match line {
        Some(line) => Some(line),
        None => whole_end(&file)?,
    };
    let Some(line) = line else { return Ok(Some((End::begin(genesis(writer)), name, file))) };
    let Some(end) = end_of_line(&line, writer) else { return Ok(None) };
    if file.metadata()?.len() >= FULL {
        name = end.seq + 1;
        file = folder.open_to_append(&writer.file(name))?;
    }
    Ok(Some((end, name, file)))
}

/// Returns the last whole line of a file, and truncates an incomplete one after it.
fn whole_end(file: &File) -> io::Result<Option<Vec<u8>>> {
    let total = file.metadata()?.len();
    let (line, length) = last_line(total, |from, length| {
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, from)?;
        Ok::<_, io::Error>(bytes)
    })?;
    if length < total {
        file.set_len(length)?;
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::files::vault::outside::{self, StateFolder};
    use crate::record::audit::{
        Access, Arguments, Labels, Line, Logs, MAX_DOCUMENTS, Output, Text, Verified,
    };
    use crate::values::model::digest::Digest;

    /// Returns an answer with this number of documents.
    fn answer(documents: usize) -> Event {
        let text = Text {
            uri: None,
            id: Some("nodes/a".to_owned()),
            version: 1,
            checkpoint: None,
            chain_hash: Digest::of(b"chain").to_string(),
            range: None,
            part: None,
            author: None,
            edited_by: "e".to_owned(),
            edited_at: Timestamp::from_millis(0).to_string(),
            approved_by: Vec::new(),
            approved_at: None,
            steward: None,
            review_due: None,
            bytes: 1,
            sha256: Digest::of(b"x").to_string(),
        };
        let output = Output { bytes: 1, sha256: text.sha256.clone(), elapsed_us: 0 };
        Event::Access(Access { output, documents: vec![text; documents], ..Access::default() })
    }

    fn request(verb: String) -> Request {
        Request {
            verb,
            args: Arguments::default(),
            principal: None,
            principal_source: "none".to_owned(),
            head: None,
            labels: Labels::default(),
            client: None,
            traceparent: None,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6))]

        /// Eight threads each have their own open file, as processes do, and take turns by
        /// the lock.
        #[test]
        fn append_by_concurrent_processes_keeps_every_line_and_chain(
            plans in prop::collection::vec(
                prop::collection::vec((0..3_usize, prop::sample::select(vec![1, 1, 2, 2001])), 0..6),
                8,
            ),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let (home, root) = (folder.path().join("home"), folder.path().join("vault"));
            std::fs::create_dir(&root).unwrap();
            let place = |writer: usize| {
                let (dir, home) = (home.join(format!("writer-{writer}")), home.clone());
                let state = StateFolder { home, dir, checked_out: None, repository: None };
                Place::of(&root, Some(state), None).unwrap()
            };
            std::thread::scope(|scope| {
                for (thread, plan) in plans.iter().enumerate() {
                    let place = &place;
                    scope.spawn(move || {
                        for (n, (writer, documents)) in plan.iter().enumerate() {
                            let request = request(format!("thread {thread}, answer {n}"));
                            let at = Timestamp::from_millis(0);
                            let place = place(*writer);
                            let event = answer(*documents);
                            let random: Random = outside::random;
                            let disk = Disk::default();
                            append(&place, (random, &disk), false, at, &request, event).unwrap();
                        }
                    });
                }
            });
            let logs = Logs::open(&place(0).folder.shown()).unwrap();
            let (mut found, mut lines) = (BTreeMap::new(), 0);
            let mut last: Option<Line> = None;
            let faults = logs.each(&mut |line| {
                lines += 1;
                // The parts of one answer follow each other.
                let is_further = |last: &Line| line.request.verb == last.request.verb;
                assert_eq!(line.cause.is_some(), last.as_ref().is_some_and(is_further));
                let Event::Access(access) = &line.event else { panic!("an access") };
                *found.entry(line.request.verb.clone()).or_insert(0) += access.documents.len();
                last = Some(line);
            });
            let faults = faults.unwrap();
            prop_assert!(faults.is_empty(), "{:?}", faults);
            let all = plans.iter().enumerate().flat_map(|(thread, plan)| {
                let answers = plan.iter().enumerate();
                answers.map(move |(n, (_, texts))| (format!("thread {thread}, answer {n}"), *texts))
            });
            let expected: BTreeMap<String, usize> = all.collect();
            let parts: usize = expected.values().map(|texts| texts.div_ceil(MAX_DOCUMENTS)).sum();
            prop_assert_eq!((found, lines), (expected, parts));
            let writers: std::collections::BTreeSet<usize> =
                plans.iter().flatten().map(|(writer, _)| *writer).collect();
            prop_assert_eq!(logs.writers(), writers.len());
            let Verified { lines, .. } = logs.verify().unwrap();
            prop_assert_eq!(lines, parts as u64);
        }
    }
}
