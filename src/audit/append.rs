//! Putting lines at the end of a writer's chain (AUDIT-5). Processes take turns by a lock on the
//! writer's first file, so that none loses a line of another.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use serde::Deserialize;

use super::line::{Event, Line, Request, TraceId};
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

/// Records an event; gives what names its first line.
///
/// # Errors
/// Nothing was recorded.
pub(crate) fn append(
    place: &Place,
    random: Random,
    at: Timestamp,
    request: &Request,
    event: Event,
) -> Result<TraceId, AppendError> {
    outside::make_private(&place.dir)?;
    let (writer, _turn, mut end, mut file) = seat(place, random)?;
    let mut bytes = Vec::new();
    let first = TraceId::of(&writer.to_string(), end.seq + 1);
    let mut cause = None;
    for part in event.parts() {
        let seat = (&writer, end.seq + 1, end.hash);
        let line = Line::new(seat, at.to_string(), request.clone(), cause, part);
        let (spelled, hash) = line.spell()?;
        bytes.extend_from_slice(&spelled);
        bytes.push(b'\n');
        end = End { seq: line.seq, hash: hash.to_string() };
        cause = Some(first.to_string());
    }
    file.write_all(&bytes)?;
    Ok(first)
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
