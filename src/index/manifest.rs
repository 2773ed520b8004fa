//! Which segments make up the index, and which log they were made from.

use crate::checkpoint::codec::path_of;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::checkpoint::fault::Damaged;
use crate::model::digest::Digest;
use crate::vault::Vault;
use crate::vault::config::LogForm;
use crate::vault::files::Stamp;

/// The file's name.
const NAME: &str = "index";
/// How the name of a segment ends.
pub(super) const SEGMENT: &str = ".segment";
/// The first bytes, with the number of the format.
const MAGIC: &[u8; 8] = b"ctxman\x00\x01";
const SUM: usize = 8;
/// More than a manifest of the most segments has.
const LIMIT: u64 = 64 << 10;

/// What an index is made of, and of what it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The program that wrote it: another one may read a text otherwise.
    program: String,
    /// Whether the log has whole maps.
    full: bool,
    /// The log as it was.
    pub(super) stamp: Stamp,
    /// The last checkpoint.
    pub(super) head: u64,
    head_hash: [u8; 32],
    /// Where in the log the spelling of that hash begins.
    head_hash_at: u64,
    /// The first checkpoint from which on every hash was recomputed.
    pub(super) checked_from: u64,
    /// The files, oldest first.
    pub(super) segments: Vec<String>,
}

/// The end of a log that an index was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogEnd {
    pub(super) form: LogForm,
    pub(super) stamp: Stamp,
    pub(super) head: u64,
    pub(super) hash: Digest,
    /// Where the spelling of the hash begins.
    pub(super) hash_at: u64,
}

impl Manifest {
    pub(super) fn new(end: &LogEnd, checked_from: u64, segments: Vec<String>) -> Self {
        Self {
            program: program(),
            full: end.form == LogForm::Full,
            stamp: end.stamp,
            head: end.head,
            head_hash: *end.hash.bytes(),
            head_hash_at: end.hash_at,
            checked_from,
            segments,
        }
    }

    /// Reads the manifest in a folder; `None` where there is none that can be used.
    pub(super) fn read(dir: &Path) -> Option<Self> {
        let mut bytes = Vec::new();
        File::open(dir.join(NAME)).ok()?.take(LIMIT).read_to_end(&mut bytes).ok()?;
        let (sum, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<SUM>()?;
        if u64::from_le_bytes(*sum) != XxHash3_64::oneshot(rest) {
            return None;
        }
        let manifest: Self = postcard::from_bytes(rest).ok()?;
        let names_files = manifest.segments.iter().all(|name| is_segment(name));
        (manifest.program == program() && names_files).then_some(manifest)
    }

    /// Puts the manifest in the place of the one before.
    pub(super) fn write(&self, dir: &Path) -> io::Result<()> {
        let content = postcard::to_allocvec(self).map_err(io::Error::other)?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&XxHash3_64::oneshot(&content).to_le_bytes());
        bytes.extend_from_slice(&content);
        let new = dir.join(format!("{NAME}.new"));
        let mut open = OpenOptions::new();
        open.write(true).create(true).truncate(true).mode(0o600).open(&new)?.write_all(&bytes)?;
        rename(&new, &dir.join(NAME))
    }

    /// Takes the index away, so that the next one is made again.
    pub(super) fn remove(dir: &Path) {
        let _ = fs::remove_file(dir.join(NAME));
    }

    /// The hash of the last checkpoint.
    pub(super) fn head_hash(&self) -> Digest {
        Digest::from_bytes(self.head_hash)
    }

    /// Whether the log of a vault is the one that the index was made from: no other process touched
    /// its file since, and it has the same last hash in its place. What the hash covers was checked
    /// when the index was made.
    pub(super) fn is_of(&self, vault: &Vault) -> bool {
        let Some(log) = self.log_of(vault) else { return false };
        let expected = self.head_hash().to_string();
        let head = || vault.files().read_at(log, self.head_hash_at, expected.len());
        vault.files().stamp(log).is_ok_and(|stamp| stamp == self.stamp)
            && head().is_ok_and(|found| found == expected.as_bytes())
    }

    /// The path of the vault's log, if it is the only one and of the same form.
    pub(super) fn log_of(&self, vault: &Vault) -> Option<&'static str> {
        let form = self.form();
        (!vault.files().exists(path_of(form.other()))).then(|| path_of(form))
    }

    pub(super) fn form(&self) -> LogForm {
        if self.full { LogForm::Full } else { LogForm::Delta }
    }
}

fn program() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Whether a name is one that a segment can have: a file right in the folder.
fn is_segment(name: &str) -> bool {
    let stem = name.strip_suffix(SEGMENT).unwrap_or_default();
    !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

/// The name of a segment: the checkpoints it holds, and the hash of the last of them.
pub(super) fn segment_name(first: u64, last: u64, hash: &Digest) -> String {
    format!("{first:x}-{last:x}-{}{SEGMENT}", hash.short())
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
