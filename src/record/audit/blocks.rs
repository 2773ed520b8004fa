//! Reads a log file in blocks of lines, which threads read in parallel.
//!
//! A block has the lines that begin in it; the last one may end in a later block. A file is read up
//! to the length that it had when it was opened, because a writer may append to it at the same
//! time. Memory does not grow with the file. Lines that are longer than a few blocks are read one
//! at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use memchr::{memchr, memrchr};
use rustix::fs::OFlags;

use crate::record::journal::MAX_LINE;

/// Length of a block in bytes.
const BLOCK: usize = 256 << 10;
/// Length from which a line is long.
const LONG: usize = 4 * BLOCK;

/// A file of a log.
pub(super) struct LogFile {
    file: File,
    length: u64,
    /// Held by the thread that reads a long line.
    long: Mutex<()>,
}

/// The lines that begin in a block.
pub(super) struct Lines<'b> {
    /// Whole lines with their line ends.
    pub(super) text: &'b [u8],
    /// Reason why a last line is not among them.
    pub(super) unread: Option<Unread>,
}

/// Reason why a line is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// The line end is missing.
    Torn,
    /// The line is longer than [`MAX_LINE`].
    TooLong,
}

impl LogFile {
    /// Opens a regular file; fails on a link and on anything else.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        Self::of(OpenOptions::new().read(true).custom_flags(flags).open(path)?)
    }

    /// Wraps a file that is already open; fails if it is not a regular file.
    pub(super) fn of(file: File) -> io::Result<Self> {
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::Error::other("not a file"));
        }
        Ok(Self { file, length: meta.len(), long: Mutex::new(()) })
    }

    /// Returns a reader for the file as a whole.
    pub(super) fn into_reader(self) -> BufReader<File> {
        BufReader::with_capacity(1 << 16, self.file)
    }

    /// Returns device and inode. They differ if another file has replaced this one.
    pub(super) fn identity(&self) -> io::Result<(u64, u64)> {
        let meta = self.file.metadata()?;
        Ok((meta.dev(), meta.ino()))
    }

    /// Number of bytes that are read of the file.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Reads `length` bytes at an offset.
    pub(super) fn part(&self, from: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, from)?;
        Ok(bytes)
    }

    /// Returns a reader for the first bytes of the file.
    pub(super) fn beginning(&self, bytes: u64) -> io::Result<impl Read + '_> {
        let mut file = BufReader::with_capacity(BLOCK, &self.file);
        file.seek(SeekFrom::Start(0))?;
        Ok(file.take(bytes))
    }

    /// Returns a reader from an offset to the length at opening.
    pub(super) fn from(&self, begin: u64) -> io::Result<impl Read + '_> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(begin))?;
        Ok(file.take(self.length.saturating_sub(begin)))
    }

    /// Returns the offset at which the last whole line ends. A line that is too long is treated
    /// as whole.
    pub(super) fn end_of_lines(&self) -> io::Result<u64> {
        let (mut buffer, mut to) = (Vec::new(), self.length);
        while to > 0 && self.length - to < MAX_LINE {
            let from = to.saturating_sub(BLOCK as u64);
            let wanted = usize::try_from(to - from).unwrap_or(BLOCK);
            let read = self.read(from, wanted, 0, &mut buffer)?;
            if let Some(end) = memrchr(b'\n', &buffer[..read]) {
                return Ok(from + end as u64 + 1);
            }
            to = from;
        }
        Ok(if to == 0 { 0 } else { self.length })
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.length.div_ceil(BLOCK as u64)
    }

    /// Calls `work` with the lines that begin in a block. The buffer may be reused for
    /// other blocks.
    pub(super) fn with_block<R>(
        &self,
        block: u64,
        buffer: &mut Vec<u8>,
        work: impl FnOnce(Lines<'_>) -> R,
    ) -> io::Result<R> {
        let from = block * BLOCK as u64;
        // The byte before the block shows whether a line begins with the block.
        let before = usize::from(block > 0);
        let wanted = before + usize::try_from(self.length - from).unwrap_or(BLOCK).min(BLOCK);
        let read = self.read(from - before as u64, wanted, 0, buffer)?;
        let text = &buffer[..read];
        let begin = if block == 0 { Some(0) } else { memchr(b'\n', text).map(|end| end + 1) };
        let Some(begin) = begin.filter(|begin| *begin < read) else {
            return Ok(work(Lines { text: &[], unread: None }));
        };
        let end = begin + memrchr(b'\n', &text[begin..]).map_or(0, |end| end + 1);
        if end == read {
            return Ok(work(Lines { text: &text[begin..], unread: None }));
        }
        self.with_last_line(from + (read - before) as u64, (begin, end, read), buffer, work)
    }

    /// Reads the last line of a block to its end. The buffer already contains its beginning.
    fn with_last_line<R>(
        &self,
        mut at: u64,
        (begin, line, mut filled): (usize, usize, usize),
        buffer: &mut Vec<u8>,
        work: impl FnOnce(Lines<'_>) -> R,
    ) -> io::Result<R> {
        let most = usize::try_from(MAX_LINE).unwrap_or(usize::MAX);
        let mut turn = None;
        let (end, unread) = loop {
            if filled - line >= most {
                break (line, Some(Unread::TooLong));
            }
            if filled - line > LONG && turn.is_none() {
                turn = Some(self.long.lock().unwrap_or_else(PoisonError::into_inner));
            }
            let more = usize::try_from(self.length - at).unwrap_or(BLOCK).min(BLOCK);
            let read = self.read(at, more, filled, buffer)?;
            let piece = &buffer[filled..filled + read];
            match memchr(b'\n', piece) {
                _ if read == 0 => break (line, Some(Unread::Torn)),
                Some(end) if filled + end + 1 - line > most => {
                    break (line, Some(Unread::TooLong));
                }
                Some(end) => break (filled + end + 1, None),
                None => (filled, at) = (filled + read, at + read as u64),
            }
        };
        let done = work(Lines { text: &buffer[begin..end], unread });
        // Frees the memory before another thread reads a long line.
        if turn.is_some() {
            *buffer = Vec::new();
        }
        drop(turn);
        Ok(done)
    }

    /// Reads bytes into a buffer from an index on; returns how many were read.
    fn read(
        &self,
        from: u64,
        wanted: usize,
        filled: usize,
        buffer: &mut Vec<u8>,
    ) -> io::Result<usize> {
        if buffer.len() < filled + wanted {
            // Doubling the length would need twice the memory of the longest line.
            buffer.reserve_exact(filled + wanted - buffer.len());
            buffer.resize(filled + wanted, 0);
        }
        let mut read = 0;
        while read < wanted {
            let rest = &mut buffer[filled + read..filled + wanted];
            match self.file.read_at(rest, from + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        Ok(read)
    }
}

/// Reads lines one after the other from any offset to the end of the file, even if the file grows.
pub(super) struct LineReader<'f> {
    file: BufReader<&'f File>,
    line: Vec<u8>,
}

/// A line, or the reason why there is none.
pub(super) enum Ending<'l> {
    /// With its LF, which is left out of the slice.
    Line(&'l [u8]),
    /// The line is longer than [`MAX_LINE`]; contains the number of bytes skipped.
    TooLong(u64),
    /// An incomplete line, or the end of the file.
    None,
}

impl<'f> LineReader<'f> {
    pub(super) fn new(file: &'f LogFile) -> Self {
        Self { file: BufReader::new(&file.file), line: Vec::new() }
    }

    pub(super) fn go_to(&mut self, place: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(place)).map(drop)
    }

    /// Returns the offset of the line that follows the one at a place.
    pub(super) fn line_after(&mut self, place: u64) -> io::Result<u64> {
        self.go_to(place)?;
        Ok(place + self.file.skip_until(b'\n')? as u64)
    }

    pub(super) fn next(&mut self) -> io::Result<Ending<'_>> {
        self.line.clear();
        let read = self.file.by_ref().take(MAX_LINE).read_until(b'\n', &mut self.line)? as u64;
        if !self.line.ends_with(b"\n") && read == MAX_LINE {
            return Ok(Ending::TooLong(read + self.file.skip_until(b'\n')? as u64));
        }
        Ok(self.line.strip_suffix(b"\n").map_or(Ending::None, Ending::Line))
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test writes its own log")]
mod tests {
    use super::*;

    /// Returns the lines of all blocks, with their line ends, and the reasons of those not read.
    fn lines(text: &[u8]) -> (Vec<Vec<u8>>, Vec<Unread>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, text).unwrap();
        let file = LogFile::open(&path).unwrap();
        let (mut buffer, mut whole, mut unread) = (Vec::new(), Vec::new(), Vec::new());
        for block in 0..file.blocks() {
            let keep = |lines: Lines<'_>| {
                whole.extend(lines.text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec));
                unread.extend(lines.unread);
            };
            file.with_block(block, &mut buffer, keep).unwrap();
        }
        (whole, unread)
    }

    #[test]
    fn blocks_contain_each_line_exactly_once() {
        for lengths in [
            &[BLOCK, BLOCK, 3][..],
            &[BLOCK - 1, 1, BLOCK + 1, BLOCK - 1],
            &[1, BLOCK - 1, BLOCK, 3 * BLOCK + 7, 1, 1, 2 * BLOCK],
            &[LONG + 5, 2, 2 * LONG, 1],
            &[],
        ] {
            let all: Vec<Vec<u8>> = lengths
                .iter()
                .zip(b'a'..)
                .map(|(length, byte)| [vec![byte; length - 1], b"\n".to_vec()].concat())
                .collect();
            assert_eq!(lines(&all.concat()), (all.clone(), Vec::new()), "{lengths:?}");
            let torn = [all.concat(), vec![b'z'; BLOCK]].concat();
            assert_eq!(lines(&torn), (all, vec![Unread::Torn]), "{lengths:?}");
        }
    }

    #[test]
    fn blocks_skip_a_line_that_is_too_long() {
        let most = usize::try_from(MAX_LINE).unwrap();
        let line = |length: usize| [vec![b'x'; length - 1], b"\n".to_vec()].concat();
        let (longest, longer, short) = (line(most), line(most + 1), line(2));
        let text = [short.clone(), longest.clone(), longer.clone(), short.clone()].concat();
        let whole = vec![short.clone(), longest, short];
        assert_eq!(lines(&text), (whole, vec![Unread::TooLong]));
        assert_eq!(lines(&longer[..most]), (Vec::new(), vec![Unread::TooLong]));
        assert_eq!(lines(&longer[..most - 1]), (Vec::new(), vec![Unread::Torn]));
    }

    #[test]
    fn open_refuses_anything_but_a_regular_file() {
        let folder = tempfile::tempdir().unwrap();
        let (link, fifo) = (folder.path().join("link"), folder.path().join("fifo"));
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
        for path in [&link, &fifo, &folder.path().to_owned()] {
            assert!(LogFile::open(path).is_err(), "{}", path.display());
        }
    }
}
