//! Access logs that this user made at other paths (AUDIT-34): before the vault was moved, or in a
//! worktree, a clone or a copy of it. A line of such a log, or of the vault's own path, is used if
//! its head is a checkpoint of the vault with the same hash.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use memchr::memmem::Finder;
use rayon::prelude::*;

use super::chain::Logs;
use super::fault::{Fault, writer_of};
use super::folder::{Compared, Folder};
use super::heads::Heads;
use super::line::Line;
use crate::record::journal::WriterId;
use crate::values::model::number::CheckpointNumber;

/// Beginning of the head in a line that has one.
const HEAD: &[u8] = b"\"head\":{\"checkpoint\":";
/// Beginning of the chain hash in each text of a line.
const CHAIN: &[u8] = b"\"chain_hash\":\"";
/// Bytes that no line contains. A search for them reads only the ends of a file.
const IN_NO_LINE: &[u8] = b"\0\0";

/// A folder with logs of another path.
#[derive(Clone, Debug)]
pub(crate) struct Elsewhere {
    /// The folder of the logs.
    pub(crate) dir: PathBuf,
    /// The folder of the vault whose logs these are; the folder of the logs if the vault is
    /// not known.
    pub(crate) of: PathBuf,
}

/// Relation of a folder's lines to the vault, by their heads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shared {
    /// True if some heads are checkpoints of the vault.
    pub(crate) any: bool,
    /// True if some of these are not the first checkpoint, which all copies of a template have, or
    /// if a line names a version that a later checkpoint of the vault set.
    pub(crate) later: bool,
    /// Number of heads that are not checkpoints of the vault.
    pub(crate) others: u64,
    /// A file that cannot be read.
    pub(crate) unreadable: Option<String>,
    /// A writer without a line.
    pub(crate) empty: Option<String>,
}

impl Shared {
    /// Compares the heads of all lines in a folder. The rest of each line is not parsed.
    ///
    /// # Errors
    /// Fails if the folder cannot be listed, or if a file in it cannot be read.
    pub(crate) fn of(dir: &Path, heads: &Heads) -> io::Result<Self> {
        let logs = Logs::open(dir)?;
        let [any, later] = [const { AtomicBool::new(false) }; 2];
        let others = AtomicU64::new(0);
        let (head_finder, chain_finder) = (Finder::new(HEAD), Finder::new(CHAIN));
        let meet = |text: &[u8]| {
            for at in head_finder.find_iter(text) {
                let Some((number, hash)) = head(&text[at + HEAD.len()..]) else { continue };
                match heads.has(number, hash) {
                    true if number == CheckpointNumber::FIRST.0 => {
                        any.store(true, Ordering::Relaxed);
                    }
                    true => later.store(true, Ordering::Relaxed),
                    false => drop(others.fetch_add(1, Ordering::Relaxed)),
                }
            }
        };
        let is_related = |text: &[u8]| {
            let mut chains = chain_finder.find_iter(text);
            chains.any(|at| value(&text[at + CHAIN.len()..]).is_some_and(|one| heads.has_set(one)))
        };
        let related = AtomicBool::new(false);
        let (mut unreadable, mut empty) = (None, None);
        for (writer, files) in &logs.files {
            let mut has_line = false;
            for first in &files.firsts {
                let file = match logs.opened(writer, *first)? {
                    Ok((_, file)) => file,
                    Err(Fault { file, why, .. }) => {
                        unreadable.get_or_insert(format!("`{file}`: {why}"));
                        has_line = true;
                        continue;
                    }
                };
                has_line |= file.end_of_lines()? > 0;
                (0..file.blocks()).into_par_iter().try_for_each_init(
                    Vec::new,
                    |buffer, block| {
                        file.with_block(block, buffer, |lines| {
                            meet(lines.text);
                            if !related.load(Ordering::Relaxed) && is_related(lines.text) {
                                related.store(true, Ordering::Relaxed);
                            }
                        })
                    },
                )?;
            }
            if !has_line {
                empty.get_or_insert(format!("`{}` is empty", writer.file(1)));
            }
        }
        let later = later.into_inner();
        Ok(Self {
            any: later || any.into_inner(),
            later: later || related.into_inner(),
            others: others.into_inner(),
            unreadable,
            empty,
        })
    }
}

/// Returns what is wrong with the first and the last lines of the files in a folder, and with their
/// numbers; `None` if nothing is.
///
/// # Errors
/// Fails if a file cannot be read.
pub(crate) fn fault_at_ends(dir: &Path) -> io::Result<Option<String>> {
    let faults = Logs::open(dir)?.having(&[IN_NO_LINE.to_vec()], &|_| None::<()>, &mut drop)?;
    let fault = faults.into_iter().find(|fault| fault.kind.is_damage());
    Ok(fault.map(|fault| format!("`{}`, line {}: {}", fault.file, fault.line, fault.why)))
}

/// Returns the text up to the quote that ends it.
fn value(rest: &[u8]) -> Option<&str> {
    std::str::from_utf8(&rest[..memchr::memchr(b'"', rest)?]).ok()
}

/// Parses number and hash of a head, after [`HEAD`].
fn head(rest: &[u8]) -> Option<(u64, &str)> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    Some((number, value(rest[digits..].strip_prefix(b",\"hash\":\"")?)?))
}

impl Logs {
    /// Compares the lines in the user's folders with the checkpoints of the vault, in the logs of
    /// its own path and in those of other paths. Lines that name other checkpoints are ignored.
    #[must_use]
    pub(crate) fn with_elsewhere(mut self, found: &[Elsewhere], heads: Heads) -> Self {
        self.known = heads;
        let own = self.folders.iter().enumerate().filter(|(_, folder)| !folder.is_shared());
        self.compared = own.map(|(place, _)| (place, Compared::Own)).collect();
        found.iter().fold(self, |mut logs, Elsewhere { dir, of }| {
            let folder = Folder::Outside(dir.clone());
            // A folder that was removed after it was listed contains no logs.
            let files = folder.files().unwrap_or_default();
            logs.compared.insert(logs.folders.len(), Compared::Other(of.clone()));
            logs.having_files(folder, files)
        })
    }

    /// Uses every line of the vault's own path, even if its checkpoint is gone: such a line shows
    /// that the checkpoint log was replaced.
    #[must_use]
    pub(crate) fn with_lost_checkpoints(mut self) -> Self {
        self.compared.retain(|_, compared| matches!(compared, Compared::Other(_)));
        self
    }

    /// Returns the folder of another vault whose log a line is from; `None` if it is of this one.
    pub(crate) fn elsewhere(&self, line: &Line) -> Option<&Path> {
        self.elsewhere_of(&line.writer.parse().ok()?)
    }

    fn elsewhere_of(&self, writer: &WriterId) -> Option<&Path> {
        match self.compared.get(&self.files.get(writer)?.folder)? {
            Compared::Own => None,
            Compared::Other(of) => Some(of),
        }
    }

    /// Returns the path of the file that a fault is in, if it is in a log of another path; otherwise
    /// its name.
    pub(crate) fn named_file(&self, fault: &Fault) -> String {
        let writer = writer_of(&fault.file).parse().ok();
        let writer = writer.filter(|writer| self.elsewhere_of(writer).is_some());
        match writer.and_then(|writer| self.folder_of(&writer)) {
            Some(folder) => folder.shown().join(&fault.file).display().to_string(),
            None => fault.file.clone(),
        }
    }

    /// Returns true if a line of a writer is about this vault.
    pub(super) fn answers(&self, line: &Line, writer: &WriterId) -> bool {
        let compared = self.files.get(writer).and_then(|files| self.compared.get(&files.folder));
        let head = line.request.head.as_ref();
        let is_held = head.map(|head| self.known.has(head.checkpoint, &head.hash));
        match compared {
            None => true,
            // A line that contradicts itself is damage in any log.
            Some(Compared::Own) => is_held.unwrap_or(true) || line.after_head().is_some(),
            Some(Compared::Other(_)) => is_held.unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_parsed_without_the_rest_of_its_line() {
        let of = |text: &'static str| head(text.as_bytes());
        assert_eq!(of("12,\"hash\":\"sha256:ab\"},\"x\":1"), Some((12, "sha256:ab")));
        for other in
            ["", "12", "12,\"hash\":\"sha256", "x,\"hash\":\"a\"", "1}", "-1,\"hash\":\"a\""]
        {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
