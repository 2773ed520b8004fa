//! An immutable file in which every block is checked before it is first read.
//!
//! The payload is followed by a checksum for each of its blocks, and by a trailer of fixed size. So
//! opening takes the same time for every length, and a reader detects a flipped bit in the blocks
//! that it reads. Checksums find accidents, not attacks: a process that can write the user's cache
//! directory acts as the user (`spec/index.md`).

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use memmap2::Mmap;
use twox_hash::XxHash3_64;

use crate::record::checkpoint::fault::Damaged;

/// Size of a block with one checksum, in bytes.
const BLOCK: usize = 16 << 10;
/// Start of the trailer: the format and its number.
const MAGIC: &[u8; 8] = b"ctxidx\x00\x01";
/// Size of the trailer: magic, length of the payload, last word, checksum of these three.
const TRAILER: usize = 32;
const SUM: usize = 8;

/// The checked bytes of one file.
#[derive(Debug)]
pub(super) struct Blocks {
    map: Mmap,
    payload: usize,
    /// Last word of the writer: the position of its table of contents.
    word: u64,
    /// True for each block that was read and verified.
    sound: Box<[AtomicBool]>,
}

impl Blocks {
    /// Opens a file that a [`Writer`] finished.
    ///
    /// # Errors
    /// Fails if the file cannot be opened or mapped, or its trailer is invalid.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let map = map(&File::open(path)?)?;
        let foreign = || io::Error::new(io::ErrorKind::InvalidData, Damaged);
        let at = map.len().checked_sub(TRAILER).ok_or_else(foreign)?;
        let trailer = &map[at..];
        let sum = XxHash3_64::oneshot(&trailer[..TRAILER - SUM]);
        let payload = usize::try_from(word_at(trailer, 8)).map_err(|_| foreign())?;
        let table = payload.div_ceil(BLOCK) * SUM;
        let fits = payload <= at && payload.checked_add(table) == Some(at);
        if !trailer.starts_with(MAGIC) || word_at(trailer, 24) != sum || !fits {
            return Err(foreign());
        }
        let word = word_at(trailer, 16);
        let sound = (0..payload.div_ceil(BLOCK)).map(|_| AtomicBool::new(false)).collect();
        Ok(Self { map, payload, word, sound })
    }

    /// Returns the last word of the writer.
    pub(super) fn word(&self) -> u64 {
        self.word
    }

    /// Returns the payload from a position on.
    ///
    /// # Errors
    /// Fails like [`Blocks::get`].
    pub(super) fn rest(&self, start: usize) -> Result<&[u8], Damaged> {
        self.get(start..self.payload)
    }

    /// Returns a range of the payload.
    ///
    /// # Errors
    /// Fails if the range exceeds the payload, or one of its blocks is damaged.
    pub(super) fn get(&self, range: Range<usize>) -> Result<&[u8], Damaged> {
        let bytes = self.map.get(range.clone()).filter(|_| range.end <= self.payload);
        let bytes = bytes.ok_or(Damaged)?;
        for block in range.start / BLOCK..range.end.div_ceil(BLOCK) {
            // Two threads may check the same block, with the same result.
            if !self.sound[block].load(Ordering::Relaxed) {
                let start = block * BLOCK;
                let content = &self.map[start..self.payload.min(start + BLOCK)];
                let sum = word_at(&self.map, self.payload + block * SUM);
                if XxHash3_64::oneshot(content) != sum {
                    return Err(Damaged);
                }
                self.sound[block].store(true, Ordering::Relaxed);
            }
        }
        Ok(bytes)
    }
}

#[allow(unsafe_code, reason = "a mapping is the one way to open a file of any size in no time")]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: files of an index are written once under another name and renamed into place; no
    // process changes or shortens them, and the directory belongs to the user.
    unsafe { Mmap::map(file) }
}

fn word_at(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..at + SUM).and_then(|word| word.try_into().ok());
    word.map_or(0, u64::from_le_bytes)
}

/// Writer of a file that [`Blocks`] reads.
pub(super) struct Writer {
    out: BufWriter<File>,
    block: Vec<u8>,
    sums: Vec<u64>,
}

impl Writer {
    /// Creates a file that only its owner can read.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        Ok(Self { out: BufWriter::new(file), block: Vec::with_capacity(BLOCK), sums: Vec::new() })
    }

    /// Returns the number of payload bytes so far.
    pub(super) fn position(&self) -> u64 {
        (self.sums.len() * BLOCK + self.block.len()) as u64
    }

    /// Appends bytes, and returns the position of the first one.
    pub(super) fn put(&mut self, mut bytes: &[u8]) -> io::Result<u64> {
        let start = self.position();
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK - self.block.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if self.block.len() == BLOCK {
                self.end_block()?;
            }
        }
        Ok(start)
    }

    fn end_block(&mut self) -> io::Result<()> {
        self.sums.push(XxHash3_64::oneshot(&self.block));
        self.out.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }

    /// Completes the file with a last word.
    pub(super) fn finish(mut self, word: u64) -> io::Result<()> {
        let payload = self.position();
        if !self.block.is_empty() {
            self.end_block()?;
        }
        for sum in &self.sums {
            self.out.write_all(&sum.to_le_bytes())?;
        }
        let mut trailer = MAGIC.to_vec();
        trailer.extend_from_slice(&payload.to_le_bytes());
        trailer.extend_from_slice(&word.to_le_bytes());
        let sum = XxHash3_64::oneshot(&trailer);
        trailer.extend_from_slice(&sum.to_le_bytes());
        self.out.write_all(&trailer)?;
        self.out.flush()
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests damage files on purpose")]
mod tests {
    use std::fs;

    use super::*;

    fn written(length: usize) -> (tempfile::TempDir, std::path::PathBuf, Vec<u8>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let bytes: Vec<u8> = (0..length).map(|n| u8::try_from(n * 7 % 251).unwrap()).collect();
        let mut writer = Writer::create(&path).unwrap();
        for piece in bytes.chunks(1000) {
            writer.put(piece).unwrap();
        }
        writer.finish(42).unwrap();
        (dir, path, bytes)
    }

    #[test]
    fn blocks_read_what_was_written_at_any_length() {
        for length in [1, 100, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17] {
            let (_dir, path, bytes) = written(length);
            let blocks = Blocks::open(&path).unwrap();
            assert_eq!((blocks.get(0..length).unwrap(), blocks.word()), (&bytes[..], 42));
            assert_eq!(blocks.get(length - 1..length + 1), Err(Damaged));
            assert_eq!(blocks.get(length..length), Ok(&[][..]));
        }
    }

    #[test]
    fn blocks_detect_flipped_bits_and_truncation() {
        let (_dir, path, bytes) = written(2 * BLOCK + 5);
        let whole = fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(911).chain(whole.len() - TRAILER - 30..whole.len()) {
            let mut altered = whole.clone();
            altered[at] ^= 1 << (at % 8);
            fs::write(&path, &altered).unwrap();
            let read = Blocks::open(&path).ok().map(|b| b.get(0..bytes.len()).map(<[u8]>::to_vec));
            assert!(matches!(read, None | Some(Err(Damaged))), "byte {at}");
        }
        for length in [0, 1, 31, 32, 33, BLOCK, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(Blocks::open(&path).is_err(), "{length}");
        }
        // A damaged block does not affect the reading of others.
        let mut altered = whole;
        altered[BLOCK + 3] ^= 1;
        fs::write(&path, &altered).unwrap();
        let blocks = Blocks::open(&path).unwrap();
        assert_eq!(blocks.get(5..10).unwrap(), &bytes[5..10]);
        assert_eq!(blocks.get(BLOCK - 1..BLOCK + 1), Err(Damaged));
    }
}
