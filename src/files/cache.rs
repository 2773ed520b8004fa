//! The life of a cache in the user's cache directory: its private folder, its lock, and the small
//! file that describes its content.
//!
//! A writer makes new files next to the old ones, and then exchanges that small file, the
//! [`Current`]. So no process sees a partial cache, and an interrupted writer leaves only files
//! that the next one removes. A file of another program, or with a wrong checksum, is treated as
//! missing, because every cache can be built again. There are four caches: the index of postings
//! (`read/index`), that of staged results (`read/index/staged`), the text index (`read/search`),
//! and the files that `read/status` compared. The last byte of a [`Current::magic`] is the number
//! of the format: it rises with each change of a row.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;
use twox_hash::XxHash3_64;

use crate::files::vault::files::Files;
use crate::files::vault::outside;

const LOCK: &str = "lock";
const SUM: usize = 8;
const PAUSE: Duration = Duration::from_millis(15);

/// Format of the file that describes the content of a cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Current {
    /// Name of the file.
    pub(crate) name: &'static str,
    /// First bytes of the file, with the number of the format.
    pub(crate) magic: &'static [u8; 8],
    /// Maximum size of the file in bytes.
    pub(crate) limit: u64,
}

/// Returns the flags that let opening a pipe in place of a file fail, so that no command waits for
/// the other end.
fn at_once() -> i32 {
    i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).unwrap_or_default()
}

/// A cache in its folder.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
    current: Current,
}

impl Cache {
    /// Describes the cache in a folder, which need not exist.
    pub(crate) fn new(dir: PathBuf, current: Current) -> Self {
        Self { dir, current }
    }

    /// Returns the folder.
    #[cfg_attr(not(feature = "search"), allow(dead_code, reason = "only the text index calls it"))]
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes the folder with mode 0700; returns false if other users may write to it.
    pub(crate) fn make_private(&self) -> bool {
        let found = outside::make_private(&self.dir).and_then(|()| fs::symlink_metadata(&self.dir));
        found.is_ok_and(|found| {
            let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
            is_ours && found.mode() & 0o022 == 0
        })
    }

    /// Takes the lock of the writers and waits up to `patience` for another one; `None` if that one
    /// still has the lock.
    ///
    /// # Errors
    /// The lock file cannot be made.
    pub(crate) fn lock(&self, patience: Duration) -> io::Result<Option<File>> {
        outside::make_private(&self.dir)?;
        let began = Instant::now();
        let mut open = OpenOptions::new();
        let open = open.write(true).create(true).truncate(false).mode(0o600);
        let file = open.custom_flags(at_once()).open(self.dir.join(LOCK))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::WouldBlock) if began.elapsed() < patience => {
                    std::thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(why)) => return Err(why),
            }
        }
    }

    /// Returns the time of the file system with the cache, in seconds and nanoseconds; `None` if no
    /// file can be made there.
    pub(crate) fn now(&self) -> Option<(i64, i64)> {
        let meta = tempfile::tempfile_in(&self.dir).ok()?.metadata().ok()?;
        Some((meta.mtime(), meta.mtime_nsec()))
    }

    /// Returns the content of the cache; `None` if this program did not write it, or it is damaged.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Option<T> {
        let bytes =
            Files::open(&self.dir).ok()?.read(self.current.name, self.current.limit).ok()?;
        let (sum, rest) = bytes.strip_prefix(self.current.magic)?.split_first_chunk::<SUM>()?;
        if u64::from_le_bytes(*sum) != XxHash3_64::oneshot(rest) {
            return None;
        }
        let (program, content): (String, T) = postcard::from_bytes(rest).ok()?;
        (program == PROGRAM).then_some(content)
    }

    /// Replaces the content of the cache.
    ///
    /// # Errors
    /// The file cannot be written.
    #[allow(clippy::disallowed_methods, reason = "a cache of the user, not a vault")]
    pub(crate) fn exchange<T: Serialize>(&self, content: &T) -> io::Result<()> {
        let content = postcard::to_allocvec(&(PROGRAM, content)).map_err(io::Error::other)?;
        let mut bytes = self.current.magic.to_vec();
        bytes.extend_from_slice(&XxHash3_64::oneshot(&content).to_le_bytes());
        bytes.extend_from_slice(&content);
        let next = self.dir.join(format!("{}.new", self.current.name));
        let mut open = OpenOptions::new();
        let open = open.write(true).create(true).truncate(true).mode(0o600);
        open.custom_flags(at_once()).open(&next)?.write_all(&bytes)?;
        fs::rename(&next, self.dir.join(self.current.name))
    }

    /// Removes the description, so that the cache is built again.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_file(self.dir.join(self.current.name));
    }

    /// Removes the files and folders whose names `is_old` selects. A process that has one of them
    /// open can continue to read it.
    pub(crate) fn clear(&self, is_old: impl Fn(&str) -> bool) {
        for entry in fs::read_dir(&self.dir).into_iter().flatten().filter_map(Result::ok) {
            if entry.file_name().to_str().is_some_and(&is_old) {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let _ = match is_folder {
                    true => fs::remove_dir_all(entry.path()),
                    false => fs::remove_file(entry.path()),
                };
            }
        }
    }
}

/// Version of the program: another version may read a text differently.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test damages the file")]
mod tests {
    use super::*;

    const CURRENT: Current = Current { name: "current", magic: b"ctxtest\x01", limit: 1 << 10 };

    fn cache(place: &tempfile::TempDir) -> Cache {
        Cache::new(place.path().join("cache"), CURRENT)
    }

    #[test]
    fn cache_returns_the_content_of_the_last_exchange() {
        let place = tempfile::tempdir().unwrap();
        let cache = cache(&place);
        assert!(cache.make_private());
        assert_eq!(cache.read::<u64>(), None);
        cache.exchange(&7_u64).unwrap();
        cache.exchange(&8_u64).unwrap();
        assert_eq!(cache.read::<u64>(), Some(8));
        cache.remove();
        assert_eq!(cache.read::<u64>(), None);
    }

    #[test]
    fn cache_with_a_flipped_bit_or_another_format_is_missing() {
        let place = tempfile::tempdir().unwrap();
        let cache = cache(&place);
        cache.make_private();
        cache.exchange(&7_u64).unwrap();
        let path = cache.dir().join(CURRENT.name);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut altered = whole.clone();
            altered[at] ^= 1;
            fs::write(&path, altered).unwrap();
            assert_eq!(cache.read::<u64>(), None, "byte {at}");
        }
    }

    #[test]
    fn cache_does_not_wait_for_a_pipe_in_place_of_a_file() {
        let place = tempfile::tempdir().unwrap();
        let cache = cache(&place);
        cache.make_private();
        let (mode, kind) = (rustix::fs::Mode::RWXU, rustix::fs::FileType::Fifo);
        for name in [LOCK.to_owned(), format!("{}.new", CURRENT.name)] {
            let path = cache.dir().join(name);
            rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
        }
        assert!(cache.lock(Duration::from_secs(60)).is_err());
        assert!(cache.exchange(&7_u64).is_err());
    }

    #[test]
    fn cache_lock_admits_one_writer() {
        let place = tempfile::tempdir().unwrap();
        let cache = cache(&place);
        let held = cache.lock(Duration::ZERO).unwrap();
        assert!(held.is_some() && cache.lock(Duration::ZERO).unwrap().is_none());
        drop(held);
        assert!(cache.lock(Duration::ZERO).unwrap().is_some());
    }
}
