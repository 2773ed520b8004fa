//! The manifest: the segments of the index, and the log that they were made from.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::cache::{Cache, Current};
use crate::files::vault::Vault;
use crate::files::vault::config::LogForm;
use crate::files::vault::files::Stamp;
use crate::record::checkpoint::codec::path_of;
use crate::record::checkpoint::fault::Damaged;
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;

/// Suffix of the name of a segment.
pub(super) const SEGMENT: &str = ".segment";
/// File that names the segments. The last byte of the magic is the number of the format: increase
/// it with each change of a row.
const CURRENT: Current = Current { name: "index", magic: b"ctxman\x00\x0b", limit: 64 << 10 };

/// Returns the cache of the index in a vault's cache folder.
pub(super) fn cache(dir: &Path) -> Cache {
    Cache::new(dir.to_owned(), CURRENT)
}

/// Segments of an index, and the log that it was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// True if the log has whole maps.
    full: bool,
    /// Stamp of the log file.
    pub(super) stamp: Stamp,
    /// Last checkpoint.
    pub(super) head: CheckpointNumber,
    head_hash: [u8; 32],
    /// Position of the spelling of that hash in the log.
    head_hash_at: u64,
    /// First checkpoint from which on every hash was recomputed.
    pub(super) checked_from: CheckpointNumber,
    /// Names of the segments, oldest first.
    pub(super) segments: Vec<String>,
    /// Artifacts that checkpoints removed without a valid approval, with the checkpoints.
    pub(super) lost: Vec<Lost>,
}

/// A checkpoint, and an artifact that it removed without a valid approval.
pub(super) type Lost = (u32, String);

/// End of a log that an index is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogEnd {
    pub(super) form: LogForm,
    pub(super) stamp: Stamp,
    pub(super) head: CheckpointNumber,
    pub(super) hash: Digest,
    /// Position of the spelling of the hash.
    pub(super) hash_at: u64,
}

impl Manifest {
    pub(super) fn new(
        end: &LogEnd,
        checked_from: CheckpointNumber,
        segments: Vec<String>,
        lost: Vec<Lost>,
    ) -> Self {
        Self {
            full: end.form == LogForm::Full,
            stamp: end.stamp,
            head: end.head,
            head_hash: *end.hash.bytes(),
            head_hash_at: end.hash_at,
            checked_from,
            segments,
            lost,
        }
    }

    /// Reads the manifest in a folder; `None` if it is missing or unusable.
    pub(super) fn read(dir: &Path) -> Option<Self> {
        let manifest: Self = cache(dir).read()?;
        manifest.segments.iter().all(|name| is_segment(name)).then_some(manifest)
    }

    /// Returns the hash of the last checkpoint.
    pub(super) fn head_hash(&self) -> Digest {
        Digest::from_bytes(self.head_hash)
    }

    /// Returns true if the index was made from the current log of the vault: its file has the same
    /// stamp, and the same last hash in the same place. The content of the log was checked when the
    /// index was made.
    pub(super) fn is_of(&self, vault: &Vault) -> bool {
        let Some(log) = self.log_of(vault) else { return false };
        let expected = self.head_hash().to_string();
        let head = || vault.files().read_at(log, self.head_hash_at, expected.len());
        vault.files().stamp(log).is_ok_and(|stamp| stamp == self.stamp)
            && head().is_ok_and(|found| found == expected.as_bytes())
    }

    /// Returns the path of the vault's log, if it is the only one and has the same form.
    pub(super) fn log_of(&self, vault: &Vault) -> Option<&'static str> {
        let form = self.form();
        (!vault.files().exists(path_of(form.other()))).then(|| path_of(form))
    }

    pub(super) fn form(&self) -> LogForm {
        if self.full { LogForm::Full } else { LogForm::Delta }
    }
}

/// Returns true if a segment can have this name: a file directly in the folder.
fn is_segment(name: &str) -> bool {
    let stem = name.strip_suffix(SEGMENT).unwrap_or_default();
    !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

/// Returns the name of a segment: its checkpoints, and the hash of the last one.
pub(super) fn segment_name(
    first: CheckpointNumber,
    last: CheckpointNumber,
    hash: &Digest,
) -> String {
    format!("{:x}-{:x}-{}{SEGMENT}", first.0, last.0, hash.short())
}

/// Renames a file of the cache.
#[allow(clippy::disallowed_methods, reason = "the cache is not in the vault")]
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

impl From<Damaged> for io::Error {
    fn from(damaged: Damaged) -> Self {
        Self::other(damaged)
    }
}
