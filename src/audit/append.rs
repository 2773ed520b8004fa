//! Putting lines at the end of a writer's chain (AUDIT-5). Processes take turns by a lock on the
//! writer's first file, so that none loses a line of another.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use serde::Deserialize;

use super::line::{Event, Line, Request};
use super::writer::{Place, Random, WriterId, files_in};
use crate::model::digest::Digest;
use crate::model::timestamp::Timestamp;
use crate::vault::outside;

/// A file of this length gets no further line.
const FULL: u64 = 64 << 20;
/// No line is longer.
pub(super) const MAX_LINE: u64 = 16 << 20;

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A line could not be written as JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// Records an event.
///
/// # Errors
/// Nothing was recorded.
pub(crate) fn append(
    place: &Place,
    random: Random,
    at: Timestamp,
    request: &Request,
    event: Event,
) -> Result<(), AppendError> {
    outside::make_private(&place.dir)?;
    let (writer, _turn, mut end, mut file) = seat(place, random)?;
    let mut bytes = Vec::new();
    let mut first = None;
    for part in event.parts() {
        let seat = (&writer, end.seq + 1, end.hash);
        let line = Line::new(seat, at.to_string(), request.clone(), first.clone(), part);
        let (spelled, hash) = line.spell()?;
        bytes.extend_from_slice(&spelled);
        bytes.push(b'\n');
        end = End { seq: line.seq, hash: hash.to_string() };
        first.get_or_insert_with(|| line.trace().to_string());
    }
    file.write_all(&bytes)?;
    Ok(())
}

/// Who we are, our turn at the log, its end, and the file that is next written to. A log whose last
/// line is none is left as it is: `trace verify` says what is wrong with it.
fn seat(place: &Place, random: Random) -> io::Result<(WriterId, File, End, File)> {
    let mut writer = place.writer(random)?;
    for _ in 0..2 {
        let turn = take_turn(&place.dir.join(writer.file(1)))?;
        if let Some((end, file)) = End::of(&place.dir, &writer, &turn)? {
            return Ok((writer, turn, end, file));
        }
        drop(turn);
        writer = place.begin(Some(&writer), random)?;
    }
    Err(io::Error::other("another process changes the log"))
}

/// What is read of the last line.
#[derive(Deserialize)]
struct Last<'l> {
    writer: &'l str,
    seq: u64,
    hash: &'l str,
}

/// The end of a writer's chain.
struct End {
    seq: u64,
    hash: String,
}

impl End {
    fn begin(writer: &WriterId) -> Self {
        Self { seq: 0, hash: writer.genesis() }
    }

    /// The end of a writer's chain, and the file that is next written to; none where its last line
    /// is none. A line that a crash tore is truncated: nothing was handed out on its word.
    fn of(dir: &Path, writer: &WriterId, turn: &File) -> io::Result<Option<(Self, File)>> {
        let files = files_in(dir)?.remove(writer).unwrap_or_default();
        let later = files.into_iter().filter(|first| *first > 1).rev();
        let mut file = turn.try_clone()?;
        let mut line = None;
        // A crash may have left a new file without a line.
        for first in later {
            let mut one = open(&dir.join(writer.file(first)))?;
            line = last_line(&mut one)?;
            if line.is_some() {
                file = one;
                break;
            }
        }
        let line = match line {
            Some(line) => Some(line),
            None => last_line(&mut file)?,
        };
        let Some(line) = line else { return Ok(Some((Self::begin(writer), file))) };
        // What the line says of itself is enough: whether it was changed is for the verifier, which
        // would find it before this line as after.
        let Ok(last) = serde_json::from_slice::<Last<'_>>(&line) else { return Ok(None) };
        if last.writer != writer.to_string() || last.hash.parse::<Digest>().is_err() {
            return Ok(None);
        }
        let end = Self { seq: last.seq, hash: last.hash.to_owned() };
        let file = match file.metadata()?.len() >= FULL {
            true => open(&dir.join(writer.file(end.seq + 1)))?,
            false => file,
        };
        Ok(Some((end, file)))
    }
}

/// The last whole line of a file, without its end; what a crash left after it is truncated.
fn last_line(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    let length = file.metadata()?.len();
    let (mut step, mut tail) = (4096_u64, Vec::new());
    loop {
        let from = length.saturating_sub(step);
        file.seek(SeekFrom::Start(from))?;
        tail.clear();
        file.take(length - from).read_to_end(&mut tail)?;
        let end = tail.iter().rposition(|byte| *byte == b'\n');
        let begin = end.and_then(|end| tail[..end].iter().rposition(|byte| *byte == b'\n'));
        match (begin, end) {
            (None, None) if from == 0 => {
                file.set_len(0)?;
                return Ok(None);
            }
            (begin, Some(end)) if begin.is_some() || from == 0 => {
                if end + 1 < tail.len() {
                    file.set_len(from + end as u64 + 1)?;
                }
                return Ok(Some(tail[begin.map_or(0, |begin| begin + 1)..end].to_vec()));
            }
            _ if step > 2 * MAX_LINE => return Ok(Some(Vec::new())),
            _ => step *= 8,
        }
    }
}

/// The writer's first file, locked until it is dropped.
fn take_turn(path: &Path) -> io::Result<File> {
    Ok(outside::locked(open(path)?))
}

/// A file of a log, made if it is not there.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::audit::{Access, Arguments, Labels, Logs, MAX_DOCUMENTS, Text, Verified};
    use crate::vault::outside::StateFolder;

    /// An answer with so many documents.
    fn answer(documents: usize) -> Event {
        let text = Text {
            uri: None,
            id: Some("nodes/a".to_owned()),
            version: 1,
            checkpoint: None,
            chain_hash: "c".to_owned(),
            range: None,
            part: None,
            author: None,
            edited_by: "e".to_owned(),
            edited_at: "t".to_owned(),
            bytes: 1,
            sha256: "s".to_owned(),
        };
        Event::Access(Access { documents: vec![text; documents], ..Access::default() })
    }

    fn request(verb: String) -> Request {
        Request {
            verb,
            args: Arguments::default(),
            principal: None,
            principal_source: "none".to_owned(),
            head: None,
            labels: Labels::default(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6))]

        /// Eight threads with an open file each, as processes have: each takes its turns by the lock.
        #[test]
        fn processes_that_append_at_once_lose_no_line_and_break_no_chain(
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
                            append(&place, outside::random, at, &request, event).unwrap();
                        }
                    });
                }
            });
            let logs = Logs::open(&place(0).dir).unwrap();
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
