//! The vault as git would commit it: the staged files, as a separate folder.
//!
//! A commit hook must judge what is committed, not the working tree: unrelated work in progress
//! must not block a commit, and a partly staged publication must not pass.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::Workspace;
use super::copies::Copy;
use super::git::{self, GitError};
use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::files::vault::ignored::{self, WorkTree};
use crate::service::report::failure::{Code, Failure};
use crate::values::model::layout::{self, limit};
use crate::values::model::visible::shown;

/// Maximum number of bytes in one batch of blobs.
pub(super) const AT_ONCE: u64 = 32 << 20;
/// Maximum number of blobs in one batch.
pub(super) const MANY: usize = 10_000;

/// A copy of a vault with the files that are staged in git, removed on drop. The copy of a killed
/// process is removed when the next one is made.
pub(crate) struct GitIndex {
    /// The vault, without a trusted head and without a cache.
    pub(crate) vault: Vault,
    /// True if no file of the vault's folder is staged.
    pub(crate) is_empty: bool,
    _folder: Copy,
}

/// Refuses an environment that names another repository or index than those of a folder.
pub(super) fn refuse_another(folder: &Path) -> Result<(), Failure> {
    if !git::names_another(folder) {
        return Ok(());
    }
    let message = "GIT_DIR or GIT_INDEX_FILE names something outside of the vault's repository";
    Err(Failure::new(Code::Usage, message)
        .hint("unset them, or commit from the repository that contains the vault"))
}

/// Copies the staged files of a vault to a temporary folder. If they do not include a vault, the
/// copy is a vault in which nothing is published.
///
/// Conversions by git at a checkout (line ends, filters) are not done, because a commit contains
/// the bytes that are staged.
///
/// # Errors
/// The vault is not in a repository, paths of it are not merged, or git lacks a blob.
pub(crate) fn staged(workspace: &Workspace<'_>, vault: &Vault) -> Result<GitIndex, Failure> {
    refuse_another(vault.root())?;
    let index = Index { workspace, root: vault.root() };
    let entries = index.entries()?;
    let folder = Copy::new().map_err(|why| no_copy(&why))?;
    fs::create_dir(folder.path().join(layout::CONTEXT_DIR)).map_err(|why| no_copy(&why))?;
    index.write(&entries, folder.path())?;
    let vault = Vault::open(folder.path())?.on(workspace.environment.disk.clone());
    let vault = vault.within(index.work_tree()?);
    Ok(GitIndex { vault, is_empty: entries.is_empty(), _folder: folder })
}

/// An entry of git's index, with a path that is relative to the folder where git was asked.
pub(super) struct Entry {
    pub(super) mode: String,
    pub(super) object: String,
    /// The path; bytes that are not UTF-8 become replacement characters.
    path: String,
    /// The path in the bytes of the system.
    pub(super) place: OsString,
}

impl Entry {
    const LINK: &str = "120000";
    const SUBMODULE: &str = "160000";

    /// Parses the answer of `ls-tree -r -z`.
    pub(super) fn of_tree(listed: &[u8]) -> Vec<Self> {
        let entry = |line: &[u8]| {
            let at = line.iter().position(|byte| *byte == b'\t')?;
            let (meta, path) = (String::from_utf8_lossy(&line[..at]), &line[at + 1..]);
            let mut words = meta.split(' ');
            let (mode, object) = (words.next()?.to_owned(), words.nth(1)?.to_owned());
            let place = OsString::from_vec(path.to_vec());
            Some(Self { mode, object, path: String::from_utf8_lossy(path).into_owned(), place })
        };
        listed.split(|byte| *byte == 0).filter_map(entry).collect()
    }

    /// Returns the mode, the object and the path, as a tree takes them.
    pub(super) fn parts(&self) -> (&str, &str, &[u8]) {
        (&self.mode, &self.object, self.place.as_bytes())
    }

    /// Returns the object.
    pub(super) fn object(&self) -> &str {
        &self.object
    }

    /// Returns the path, if it is text.
    pub(super) fn text(&self) -> Option<&str> {
        self.place.to_str()
    }

    /// Returns true if a command reads the file. For other files, such as images, only their
    /// existence matters.
    fn is_read(&self) -> bool {
        let ends = [".yaml", ".yml", ignored::NAME];
        let path = self.path.to_ascii_lowercase();
        self.mode == Self::LINK
            || layout::is_markdown(&path)
            || ends.iter().any(|end| path.ends_with(end))
            || path.split('/').any(|name| [layout::VERSIONS, layout::CONTEXT_DIR].contains(&name))
    }
}

/// The index of the repository that contains a vault.
struct Index<'s, 'w> {
    workspace: &'s Workspace<'w>,
    root: &'s Path,
}

impl Index<'_, '_> {
    fn ask(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>, Failure> {
        (self.workspace.environment.git)(self.root, args, input).map_err(|why| no_answer(&why))
    }

    /// Returns the files of the vault that a commit would contain, in the order of the index.
    fn entries(&self) -> Result<Vec<Entry>, Failure> {
        let listed = self.ask(&["ls-files", "-z", "--stage", "--", "."], b"")?;
        let mut entries = entries_of(&listed)?;
        self.drop_announced(&mut entries)?;
        Ok(entries)
    }

    /// Drops the files that `git add --intent-to-add` announced: they are in the index, but a
    /// commit would not contain them. Only the index is read, because git would run filters of the
    /// repository on the files.
    fn drop_announced(&self, entries: &mut Vec<Entry>) -> Result<(), Failure> {
        let empty = self.object_of_nothing("blob")?;
        if !entries.iter().any(|entry| entry.object == empty) {
            return Ok(());
        }
        let nothing = self.object_of_nothing("tree")?;
        let args = ["diff-index", "-z", "--cached", "--ita-invisible-in-index", "--relative"];
        let rest = ["--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", &nothing];
        let committed = self.ask(&[args, rest].concat(), b"")?;
        let committed: BTreeSet<&[u8]> = committed.split(|byte| *byte == 0).collect();
        entries.retain(|entry| committed.contains(entry.place.as_bytes()));
        Ok(())
    }

    /// Returns the name of an empty object.
    fn object_of_nothing(&self, kind: &str) -> Result<String, Failure> {
        let said = self.ask(&["hash-object", "-t", kind, "--stdin"], b"")?;
        Ok(String::from_utf8_lossy(&said).trim().to_owned())
    }

    /// Returns the place of the vault in the work tree, with the staged ignore rules of the folders
    /// above it; `None` if these rules ignore the vault itself.
    fn work_tree(&self) -> Result<Option<WorkTree>, Failure> {
        let prefix = self.ask(&["rev-parse", "--show-prefix"], b"")?;
        let prefix = String::from_utf8_lossy(&prefix);
        let prefix = prefix.trim_end_matches('\n').trim_end_matches('/');
        let mut staged: BTreeMap<String, Result<Vec<u8>, FileError>> = BTreeMap::new();
        let ends = prefix.match_indices('/').map(|(at, _)| at + 1);
        let folders = std::iter::once(0).chain(ends).map(|end| &prefix[..end]);
        for path in folders.map(|folder| format!("{folder}{}", ignored::NAME)) {
            let named = format!(":(top,literal){path}");
            let said =
                self.ask(&["ls-files", "-z", "--stage", "--full-name", "--", &named], b"")?;
            let Some(at) = said.iter().position(|byte| *byte == b'\t') else { continue };
            let found = entry(&String::from_utf8_lossy(&said[..at]), path.as_bytes())?;
            let text = match (found.mode == Entry::LINK, self.lengths(&[&found])?.as_slice()) {
                (true, _) => Err(FileError::Link { path: path.clone() }),
                (false, [length]) if *length <= ignored::LIMIT => {
                    Ok(self.ask(&["cat-file", "blob", &found.object], b"")?)
                }
                _ => Err(FileError::TooLarge { path: path.clone(), limit: ignored::LIMIT }),
            };
            staged.insert(path, text);
        }
        let staged = std::cell::RefCell::new(staged);
        Ok(WorkTree::new(prefix, |path| staged.borrow_mut().remove(path).transpose()))
    }

    /// Writes the entries to an empty folder. Links are written last, so that no file is written
    /// through one.
    fn write(&self, entries: &[Entry], folder: &Path) -> Result<(), Failure> {
        let (links, others): (Vec<&Entry>, Vec<&Entry>) =
            entries.iter().partition(|entry| entry.mode == Entry::LINK);
        let folders: BTreeSet<PathBuf> = entries.iter().map(|entry| above(folder, entry)).collect();
        for dir in &folders {
            fs::create_dir_all(dir).map_err(|why| no_copy(&why))?;
        }
        let (submodules, files): (Vec<&Entry>, Vec<&Entry>) =
            others.into_iter().partition(|entry| entry.mode == Entry::SUBMODULE);
        for entry in submodules {
            fs::create_dir_all(folder.join(&entry.place)).map_err(|why| no_copy(&why))?;
        }
        let (read, named): (Vec<&Entry>, Vec<&Entry>) =
            files.into_iter().partition(|entry| entry.is_read());
        named.par_iter().try_for_each(|entry| {
            File::create_new(folder.join(&entry.place)).map(|_| ()).map_err(|why| no_copy(&why))
        })?;
        self.blobs(&read, |entry, content| match content {
            Content::Bytes(bytes) => {
                File::create_new(folder.join(&entry.place)).and_then(|mut f| f.write_all(bytes))
            }
            // Files of this length are not read, but reported by their length.
            Content::TooLong(length) => {
                File::create_new(folder.join(&entry.place)).and_then(|f| f.set_len(length))
            }
        })?;
        self.blobs(&links, |entry, content| match content {
            Content::Bytes(target) => symlink(OsStr::from_bytes(target), folder.join(&entry.place)),
            Content::TooLong(_) => Ok(()),
        })
    }

    /// Passes the content of each entry to `take`.
    fn blobs(
        &self,
        entries: &[&Entry],
        take: impl Fn(&Entry, Content<'_>) -> std::io::Result<()> + Sync,
    ) -> Result<(), Failure> {
        let lengths = self.lengths(entries)?;
        let mut batch = Vec::new();
        let mut bytes = 0;
        for (entry, length) in entries.iter().zip(lengths) {
            // A log or a history may be longer than a document.
            let may_be_longer =
                [layout::VERSIONS, layout::AUDIT_DIR].iter().any(|dir| entry.path.contains(dir));
            if length > limit::DOCUMENT && !may_be_longer {
                take(entry, Content::TooLong(length)).map_err(|why| no_copy(&why))?;
                continue;
            }
            if !batch.is_empty() && (bytes + length > AT_ONCE || batch.len() == MANY) {
                self.batch(&std::mem::take(&mut batch), &take)?;
                bytes = 0;
            }
            bytes += length;
            batch.push((*entry, usize::try_from(length).unwrap_or(usize::MAX)));
        }
        self.batch(&batch, &take)
    }

    fn lengths(&self, entries: &[&Entry]) -> Result<Vec<u64>, Failure> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let said = self.ask(&["cat-file", "--batch-check=%(objectsize)"], &names(entries))?;
        let said = String::from_utf8_lossy(&said);
        let lengths: Vec<Option<u64>> = said.lines().map(|line| line.parse().ok()).collect();
        match lengths.iter().position(Option::is_none) {
            None if lengths.len() == entries.len() => Ok(lengths.into_iter().flatten().collect()),
            n => Err(lacks(entries[n.unwrap_or(0)])),
        }
    }

    fn batch(
        &self,
        batch: &[(&Entry, usize)],
        take: &(impl Fn(&Entry, Content<'_>) -> std::io::Result<()> + Sync),
    ) -> Result<(), Failure> {
        if batch.is_empty() {
            return Ok(());
        }
        let entries: Vec<&Entry> = batch.iter().map(|(entry, _)| *entry).collect();
        let said = self.ask(&["cat-file", "--batch=%(objectsize)"], &names(&entries))?;
        let blobs = split(&said, batch.iter().map(|(_, length)| *length));
        let blobs = blobs.map_err(|at| lacks(entries[at]))?;
        entries.par_iter().zip(blobs).try_for_each(|(entry, bytes)| {
            take(entry, Content::Bytes(bytes)).map_err(|why| no_copy(&why))
        })
    }
}

/// Splits the answer of `cat-file --batch=%(objectsize)` into blobs of these lengths. The error is
/// the place of the first blob that git lacks.
pub(super) fn split(
    mut said: &[u8],
    lengths: impl Iterator<Item = usize>,
) -> Result<Vec<&[u8]>, usize> {
    let blob = |(at, length): (usize, usize)| {
        // The answer is a line with the length, the bytes, and a line end.
        let head = format!("{length}\n");
        let content = said.strip_prefix(head.as_bytes());
        let (bytes, after) = content.and_then(|rest| rest.split_at_checked(length)).ok_or(at)?;
        said = after.strip_prefix(b"\n").ok_or(at)?;
        Ok(bytes)
    };
    lengths.enumerate().map(blob).collect()
}

/// The content of a blob.
enum Content<'b> {
    Bytes(&'b [u8]),
    /// The content exceeds the limit of a document; with its length.
    TooLong(u64),
}

/// Returns the names of the objects of entries, one per line.
fn names(entries: &[&Entry]) -> Vec<u8> {
    entries.iter().flat_map(|entry| [entry.object.as_bytes(), b"\n"].concat()).collect()
}

/// Parses the answer of `ls-files -z --stage`.
///
/// # Errors
/// A file is not merged.
pub(super) fn entries_of(listed: &[u8]) -> Result<Vec<Entry>, Failure> {
    let lines = listed.split(|byte| *byte == 0).filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b'\t')?;
        Some(entry(&String::from_utf8_lossy(&line[..at]), &line[at + 1..]))
    });
    lines.collect()
}

fn entry(meta: &str, path: &[u8]) -> Result<Entry, Failure> {
    let name = || shown(&String::from_utf8_lossy(path)).into_owned();
    let mut words = meta.split(' ');
    let (mode, object, stage) = (words.next(), words.next(), words.next());
    if stage != Some("0") {
        return Err(Failure::new(
            Code::Usage,
            format!("`{}` is not merged in git's index", name()),
        )
        .hint("resolve the conflict and run `git add` on the file"));
    }
    // Git refuses such names, but another program may have made the index.
    let stays = |name: &[u8]| ![b"".as_slice(), b".", b".."].contains(&name);
    if !path.split(|byte| *byte == b'/').all(stays) {
        let message = format!("git's index has a file `{}` outside of its folder", name());
        return Err(Failure::new(Code::Usage, message));
    }
    Ok(Entry {
        mode: mode.unwrap_or_default().to_owned(),
        object: object.unwrap_or_default().to_owned(),
        path: String::from_utf8_lossy(path).into_owned(),
        place: OsString::from_vec(path.to_vec()),
    })
}

fn above(folder: &Path, entry: &Entry) -> PathBuf {
    folder.join(Path::new(&entry.place).parent().unwrap_or(Path::new("")))
}

fn no_answer(why: &GitError) -> Failure {
    Failure::new(Code::Usage, format!("`--staged` needs git: {why}"))
        .hint("the vault must be in a git repository that you own")
}

fn lacks(entry: &Entry) -> Failure {
    Failure::new(Code::Io, format!("git lacks the staged content of `{}`", shown(&entry.path)))
        .hint(format!(
            "a partial clone may lack it: `git cat-file blob {}` fetches it",
            entry.object
        ))
}

fn no_copy(why: &std::io::Error) -> Failure {
    Failure::new(Code::Io, format!("cannot copy the staged files to a temporary folder: {why}"))
        .hint("set TMPDIR to another folder for temporary files")
}
