//! Logs of accesses that this user made at other paths (AUDIT-34): before the vault was moved, or in
//! a worktree, a clone or a copy of it. A line of them answers if its head is a checkpoint of the
//! vault with the same hash.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::memmem::Finder;
use rayon::prelude::*;

use super::chain::Logs;
use super::folder::Folder;
use super::heads::Heads;
use super::line::Line;
use super::writer::WriterId;
use crate::model::number::CheckpointNumber;

/// How each line that has a head begins to name it, in the one spelling of a line.
const HEAD: &[u8] = b"\"head\":{\"checkpoint\":";

/// A folder with logs of another path.
#[derive(Clone, Debug)]
pub(crate) struct Elsewhere {
    /// The folder of the logs.
    pub(crate) dir: PathBuf,
    /// The folder of the vault whose logs these are; the folder of the logs if that is not known.
    pub(crate) of: PathBuf,
}

/// Which lines a folder of logs has, by their heads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shared {
    /// Some heads are checkpoints of the vault.
    pub(crate) any: bool,
    /// Some of these are not the first one, which all copies of a template have.
    pub(crate) later: bool,
    /// Other heads are not checkpoints of the vault.
    pub(crate) others: bool,
}

impl Shared {
    /// Looks at the heads of all lines in a folder. No line is read further.
    ///
    /// # Errors
    /// The folder or a file of it cannot be read.
    pub(crate) fn of(dir: &Path, heads: &Heads) -> io::Result<Self> {
        let logs = Logs::open(dir)?;
        let [any, later, others] = [const { AtomicBool::new(false) }; 3];
        let finder = Finder::new(HEAD);
        let meet = |text: &[u8]| {
            for at in finder.find_iter(text) {
                let Some((number, hash)) = head(&text[at + HEAD.len()..]) else { continue };
                match heads.has(number, hash) {
                    true if number == CheckpointNumber::FIRST.0 => {
                        any.store(true, Ordering::Relaxed);
                    }
                    true => later.store(true, Ordering::Relaxed),
                    false => others.store(true, Ordering::Relaxed),
                }
            }
        };
        for (writer, first) in logs.each_file() {
            let (_, file) = logs.file(writer, first)?;
            (0..file.blocks()).into_par_iter().try_for_each_init(Vec::new, |buffer, block| {
                file.with_block(block, buffer, |lines| meet(lines.text))
            })?;
        }
        let later = later.into_inner();
        Ok(Self { any: later || any.into_inner(), later, others: others.into_inner() })
    }
}

/// Parses number and hash of a head, after the words that begin it.
fn head(rest: &[u8]) -> Option<(u64, &str)> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    let hash = rest[digits..].strip_prefix(b",\"hash\":\"")?;
    let length = memchr::memchr(b'"', hash)?;
    Some((number, std::str::from_utf8(&hash[..length]).ok()?))
}

impl Logs {
    /// Adds logs of other paths. A line of them answers if its head is a checkpoint of the vault.
    #[must_use]
    pub(crate) fn with_elsewhere(mut self, found: &[Elsewhere], heads: Heads) -> Self {
        self.known = heads;
        found.iter().fold(self, |mut logs, Elsewhere { dir, of }| {
            let folder = Folder::Outside(dir.clone());
            // A folder that was removed after it was listed has no lines.
            let files = folder.files().unwrap_or_default();
            logs.elsewhere.insert(logs.folders.len(), of.clone());
            logs.having_files(folder, files)
        })
    }

    /// Returns the folder of another vault whose log a line is from; `None` if it is of this one.
    pub(crate) fn elsewhere(&self, line: &Line) -> Option<&Path> {
        let writer: WriterId = line.writer.parse().ok()?;
        self.elsewhere_of(&writer)
    }

    pub(super) fn elsewhere_of(&self, writer: &WriterId) -> Option<&Path> {
        let folder = self.files.get(writer)?.folder;
        self.elsewhere.get(&folder).map(PathBuf::as_path)
    }

    /// Returns true if a line of a writer is about this vault.
    pub(super) fn answers(&self, line: &Line, writer: &WriterId) -> bool {
        let head = line.request.head.as_ref();
        self.elsewhere_of(writer).is_none()
            || head.is_some_and(|head| self.known.has(head.checkpoint, &head.hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_parsed_without_the_rest_of_its_line() {
        let of = |text: &'static str| head(text.as_bytes());
        assert_eq!(of("12,\"hash\":\"sha256:ab\"},\"x\":1"), Some((12, "sha256:ab")));
        for other in
            ["", "12", "12,\"hash\":\"sha256", "x,\"hash\":\"a\"", "1}", "-1,\"hash\":\"a\""]
        {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
