//! The two encodings of the log: `delta`, a line with the changes of each checkpoint, and
//! `full`, the whole maps of each (`spec/checkpoint.md`, sections 3 and 4). No other module
//! knows their bytes.

mod delta;
mod full;
mod lines;
mod plain;

use std::io::{self, Read as _};

use crate::files::vault::Vault;
use crate::files::vault::config::LogForm;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::fault::{Diagnosis, EntryFault};
use crate::record::checkpoint::state::PublishedSet;
use crate::record::torn_tail;
use crate::values::model::digest::Digest;
use crate::values::model::layout::{self, limit};

/// Maximum number of unreadable entries: a damaged log could have billions.
pub(super) const MAX_FAULTY: usize = 100;

/// Number of bytes of a log in full form that are read at a time.
const PIECE: u64 = 4 << 20;

/// Decoded contents of one log file.
#[derive(Clone, Debug, Default)]
pub(super) struct Decoded {
    /// The entries in file order; an entry that cannot be read is its fault.
    pub(super) entries: Vec<Result<Checkpoint, EntryFault>>,
    pub(super) diagnosis: Diagnosis,
    pub(super) end: End,
}

/// The end of a file, for its next writer.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// Length of the file in bytes.
    pub(super) length: u64,
    /// Offset of the last entry; in a file that cannot be read, that of the unreadable part.
    pub(super) last_at: u64,
    /// True if a line end must precede an appended entry.
    pub(super) lacks_newline: bool,
    /// Offset of the last entry's hash.
    pub(super) head_hash_at: Option<u64>,
    /// True if an appended entry becomes the next one.
    pub(super) appendable: bool,
}

impl Default for End {
    fn default() -> Self {
        Self { length: 0, last_at: 0, lacks_newline: false, head_hash_at: None, appendable: true }
    }
}

/// Path of the log in one of its forms.
pub(crate) fn path_of(form: LogForm) -> &'static str {
    match form {
        LogForm::Delta => layout::DELTA_LOG,
        LogForm::Full => layout::FULL_LOG,
    }
}

/// The forms, in the order in which their files are searched.
pub(crate) const FORMS: [LogForm; 2] = [LogForm::Full, LogForm::Delta];

/// Returns the form of a vault's log: that of the existing log file, else the configured one.
pub(crate) fn form_of(vault: &Vault) -> LogForm {
    let found = FORMS.into_iter().find(|form| vault.files().exists(path_of(*form)));
    found.or(vault.config().checkpoint_log).unwrap_or(LogForm::Delta)
}

/// Reads a file of `on_disk` bytes to its end.
///
/// # Errors
/// Fails if the file cannot be read.
pub(super) fn read(
    form: LogForm,
    file: impl io::Read,
    on_disk: Option<u64>,
) -> io::Result<Decoded> {
    match form {
        LogForm::Delta => read_delta(file),
        LogForm::Full => {
            let (bytes, has_nul) = until_nul(file.take(limit::LOG))?;
            let read = bytes.len() as u64;
            let length = on_disk.filter(|_| has_nul).map_or(read, |length| length.max(read));
            Ok(read_full(&bytes, length))
        }
    }
}

fn read_delta(file: impl io::Read) -> io::Result<Decoded> {
    let read = lines::read(file)?;
    let end = End { length: read.length, ..End::default() };
    let mut decoded = Decoded { end, ..Decoded::default() };
    decoded.diagnosis.torn = read.torn;
    if read.faulty > MAX_FAULTY {
        decoded.diagnosis.unreadable =
            Some(format!("more than {MAX_FAULTY} lines are not checkpoints"));
        return Ok(decoded);
    }
    decoded.end.last_at = read.last_at;
    decoded.entries = read.entries;
    let is_marker = |entry: &Result<_, EntryFault>| *entry == Err(EntryFault::Conflict);
    decoded.diagnosis.conflict = decoded.entries.iter().position(is_marker).map(|n| n + 1);
    if let Some(Ok(head)) = decoded.entries.last() {
        decoded.end.head_hash_at = find(&read.last_line, &head.hash).map(|at| read.last_at + at);
    }
    Ok(decoded)
}

/// Decodes the beginning of a file of this length; the rest is not text.
fn read_full(bytes: &[u8], length: u64) -> Decoded {
    let mut decoded = Decoded { end: End { length, ..End::default() }, ..Decoded::default() };
    let parse = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes)
            .map_err(|e| format!("not UTF-8 at byte {}", e.valid_up_to()))?;
        full::parse(text).map_err(|e| e.to_string())
    };
    let mut parsed = parse(bytes);
    let ends_well = |read: &full::Read| read.entries.last().is_none_or(Result::is_ok);
    let is_sound = parsed.as_ref().is_ok_and(ends_well);
    if !is_sound {
        decoded.diagnosis.conflict = torn_tail::conflict(bytes);
    }
    if !is_sound && decoded.diagnosis.conflict.is_none() {
        // The last entry is incomplete, or a power cut left other bytes in its place.
        let whole = torn_tail::ends_before_torn(bytes, false)
            .filter_map(|end| Some((end, parse(&bytes[..end]).ok()?)))
            .find(|(_, read)| ends_well(read));
        if let Some((end, read)) = whole {
            decoded.diagnosis.torn = usize::try_from(length).unwrap_or(usize::MAX) - end;
            parsed = Ok(read);
        }
    }
    decoded.end.lacks_newline = !bytes.is_empty() && !bytes.ends_with(b"\n");
    let read = match parsed {
        Ok(read) => Some(read),
        Err(why) => {
            decoded.diagnosis.unreadable = Some(match torn_tail::doubled(bytes) {
                Some(line) => {
                    format!("line {line} repeats the end of an entry, {}", torn_tail::UNION)
                }
                None => why,
            });
            // Entries before an unreadable part are still returned, but not relied on.
            let whole = torn_tail::end_of_last_entry(bytes)
                .and_then(|end| Some(full::Read { last_at: end, ..parse(&bytes[..end]).ok()? }));
            whole.filter(|_| decoded.diagnosis.conflict.is_none())
        }
    };
    if let Some(read) = read {
        decoded.entries = read.entries;
        decoded.end.appendable = read.appendable;
        decoded.end.last_at = read.last_at as u64;
        decoded.diagnosis.respelled = read.respelled;
    }
    if let Some(Ok(head)) = decoded.entries.last() {
        let hash = head.hash.to_string();
        let at = bytes.windows(hash.len()).rposition(|window| window == hash.as_bytes());
        decoded.end.head_hash_at = at.map(|at| at as u64);
    }
    decoded
}

/// Returns the bytes that append a checkpoint to a file with this end. `state` is that of
/// the checkpoint.
pub(super) fn append(
    form: LogForm,
    end: &End,
    checkpoint: &Checkpoint,
    state: &PublishedSet,
) -> Vec<u8> {
    let begin = match (form, end.length, end.lacks_newline) {
        (LogForm::Full, 0, _) => full::HEADER,
        (LogForm::Full, _, true) => "\n",
        _ => "",
    };
    let mut bytes = begin.as_bytes().to_vec();
    spell(form, checkpoint, state, &mut bytes);
    bytes
}

/// Returns a whole log of these checkpoints.
pub(super) fn export(form: LogForm, checkpoints: &[&Checkpoint]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut state = PublishedSet::default();
    if form == LogForm::Full {
        out.extend_from_slice(full::HEADER.as_bytes());
    }
    for checkpoint in checkpoints {
        checkpoint.apply(&mut state);
        spell(form, checkpoint, &state, &mut out);
    }
    out
}

fn spell(form: LogForm, checkpoint: &Checkpoint, state: &PublishedSet, out: &mut Vec<u8>) {
    match form {
        LogForm::Delta => {
            out.extend_from_slice(&delta::spell(checkpoint));
            out.push(b'\n');
        }
        LogForm::Full => out.extend_from_slice(full::spell(checkpoint, state).as_bytes()),
    }
}

/// Reads text up to its first NUL, and returns true with it if there is one. Text contains no NUL,
/// and an attacker can make a sparse file of any length without using disk space.
fn until_nul(mut file: impl io::Read) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    loop {
        let from = bytes.len();
        if file.by_ref().take(PIECE).read_to_end(&mut bytes)? == 0 {
            return Ok((bytes, false));
        }
        if let Some(at) = memchr::memchr(0, &bytes[from..]) {
            bytes.truncate(from + at + 1);
            return Ok((bytes, true));
        }
    }
}

/// Returns the offset of a hash in a line; it is near the beginning.
fn find(line: &[u8], hash: &Digest) -> Option<u64> {
    let hash = hash.to_string();
    line.windows(hash.len()).position(|window| window == hash.as_bytes()).map(|at| at as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn until_nul_stops_at_the_first_nul() {
        let read = |bytes: &[u8]| until_nul(bytes).unwrap();
        assert_eq!(read(b"text"), (b"text".to_vec(), false));
        assert_eq!(read(b"text\0\0\0"), (b"text\0".to_vec(), true));
        let long = vec![b'x'; usize::try_from(2 * PIECE).unwrap() + 1];
        assert_eq!(read(&long), (long.clone(), false));
        let holed = [&long[..], b"\0more"].concat();
        assert_eq!(read(&holed), (holed[..=long.len()].to_vec(), true));
    }
}
