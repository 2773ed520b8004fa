//! Runs git for questions about the repository that contains a folder.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use crate::files::vault::outside::repository;

/// The reason why git did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// Git could not be run, or did not end in time.
    #[error("git cannot be run: {0}")]
    NotRun(String),
    /// Git refused; with its error output, which may be empty.
    #[error("git refuses: {}", .0.lines().next().unwrap_or("no reason given"))]
    Refused(String),
}

/// A function that asks git, with a folder, arguments and input. See [`ask`].
pub type Git = fn(&Path, &[&str], &[u8]) -> Result<Vec<u8>, GitError>;

/// The configured email address for each folder that was asked for; `None` if git has none.
pub type Emails = Arc<Mutex<BTreeMap<PathBuf, Option<String>>>>;

/// Environment variables that name a repository. A hook has them, but they may name another
/// repository than that of the folder.
const REPOSITORY: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_CEILING_DIRECTORIES",
];

/// Environment variables that change the meaning of paths in arguments.
const PATHS: [&str; 4] =
    ["GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"];

/// Maximum time for an answer. Git answers these questions at once unless something makes it wait.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum number of bytes that are read of git's error output.
const COMPLAINT: u64 = 64 << 10;

/// Settings that keep git from running programs that the repository's own configuration names.
///
/// Filters and `textconv` programs have names of their own. Therefore no question compares files of
/// the working copy, and questions about changes use `--no-textconv`.
const RUNS_NOTHING: [&str; 4] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "diff.ignoreSubmodules=all",
    "log.showSignature=false",
];

/// Runs git in a folder with `input`, and returns its output.
///
/// Git only answers from its own data: it does not prompt, lock, fetch or replace objects, and does
/// not run programs of the repository (VAULT-66).
///
/// The repository is the one whose `.git` is in the folder or above it. If there is none, as in a
/// folder into which a hook checked out a commit, GIT_DIR and GIT_WORK_TREE together may name one.
/// A folder that looks like a bare repository is not used as one, unless GIT_DIR names exactly this
/// folder, as in a hook of a bare repository. Another index that a hook names
/// (`git commit -a` has one) is used if it is inside of the repository.
///
/// # Errors
/// See [`GitError`].
pub fn ask(folder: &Path, args: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
    let mut git = command(folder);
    git.args(args).stderr(Stdio::piped());
    let mut child = git.spawn().map_err(|why| GitError::NotRun(why.to_string()))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdin, input) = (child.stdin.take(), input.to_vec());
    // Git may print before it has read all input, or end without reading it.
    std::thread::spawn(move || stdin.map(|mut pipe| pipe.write_all(&input)));
    let (done, said) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut out, mut complaint) = (Vec::new(), Vec::new());
        let _ = stdout.map(|mut pipe| pipe.read_to_end(&mut out));
        let _ = stderr.map(|pipe| pipe.take(COMPLAINT).read_to_end(&mut complaint));
        // The caller may have given up.
        let _ = done.send((out, complaint));
    });
    let Ok((out, complaint)) = said.recv_timeout(PATIENCE) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(GitError::NotRun(format!("no answer in {} s", PATIENCE.as_secs())));
    };
    match child.wait() {
        Ok(status) if status.success() => Ok(out),
        Ok(_) => Err(GitError::Refused(String::from_utf8_lossy(&complaint).trim().to_owned())),
        Err(why) => Err(GitError::NotRun(why.to_string())),
    }
}

/// Returns a process of git in a folder, with pipes for its input and output.
fn command(folder: &Path) -> Command {
    let mut git = Command::new("git");
    let var = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    // Relative paths start at the working directory of this process.
    let here = std::env::current_dir().unwrap_or_default();
    let is_own = is_repository(folder);
    git.args(["-c", "safe.bareRepository=explicit"]);
    git.args(RUNS_NOTHING.iter().flat_map(|setting| ["-c", setting])).current_dir(folder);
    git.stdin(Stdio::piped()).stdout(Stdio::piped());
    git.envs([
        ("GIT_ALLOW_PROTOCOL", ""),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
    ]);
    for name in PATHS {
        git.env_remove(name);
    }
    let named = var("GIT_DIR").zip(var("GIT_WORK_TREE"));
    match named.filter(|_| repository(folder).is_none()) {
        // The objects of a push are in a folder that the environment names.
        _ if is_own => {
            git.env("GIT_DIR", folder).env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
        }
        Some((dir, tree)) => {
            git.env("GIT_DIR", here.join(dir)).env("GIT_WORK_TREE", here.join(tree));
        }
        None => {
            for name in REPOSITORY {
                git.env_remove(name);
            }
            if let Some(index) = var("GIT_INDEX_FILE").and_then(|index| index_of(folder, &index)) {
                git.env("GIT_INDEX_FILE", index);
            }
        }
    }
    git
}

/// Merges three versions of a text by lines, as `git merge-file` does: that of the trunk, the one
/// that both sides began with, and that of the branch. Returns the result, and true if it has
/// conflict markers, with these labels.
///
/// # Errors
/// Git cannot be run, or a temporary file cannot be written.
#[allow(clippy::disallowed_methods, reason = "temporary files, and no vault")]
pub(crate) fn merge_texts(texts: [&str; 3], labels: [&str; 3]) -> Result<(String, bool), GitError> {
    let not_run = |why: &dyn std::fmt::Display| GitError::NotRun(why.to_string());
    let folder = tempfile::tempdir().map_err(|why| not_run(&why))?;
    let names = ["trunk", "base", "branch"];
    for (name, text) in names.iter().zip(texts) {
        std::fs::write(folder.path().join(name), text).map_err(|why| not_run(&why))?;
    }
    let mut git = command(folder.path());
    git.args(["merge-file", "-p"]);
    git.args(labels.iter().flat_map(|label| ["-L", label])).args(names).stderr(Stdio::piped());
    let said = git.stdin(Stdio::null()).output().map_err(|why| not_run(&why))?;
    let merged = String::from_utf8(said.stdout).map_err(|why| not_run(&why))?;
    // It ends with the number of conflicts, and with 255 after an error.
    match said.status.code() {
        Some(0) => Ok((merged, false)),
        Some(1..=127) => Ok((merged, true)),
        _ => Err(GitError::Refused(String::from_utf8_lossy(&said.stderr).trim().to_owned())),
    }
}

/// Returns true if GIT_DIR names exactly this folder.
pub(crate) fn is_repository(folder: &Path) -> bool {
    let here = std::env::current_dir().unwrap_or_default();
    let named = std::env::var_os("GIT_DIR").filter(|dir| !dir.is_empty());
    let named = named.and_then(|dir| here.join(dir).canonicalize().ok());
    named.is_some_and(|dir| folder.canonicalize().is_ok_and(|folder| folder == dir))
}

/// The contents of git's objects, from one process that is asked for each.
pub(crate) struct Objects {
    pipes: Mutex<(Child, BufReader<ChildStdout>)>,
}

impl Objects {
    /// Starts the process for the repository of a folder; see [`ask`].
    ///
    /// # Errors
    /// Git cannot be run.
    pub(crate) fn of(folder: &Path) -> Result<Self, GitError> {
        let not_run = |why: &dyn std::fmt::Display| GitError::NotRun(why.to_string());
        let mut git = command(folder);
        git.args(["cat-file", "--batch=%(objecttype) %(objectsize)"]).stderr(Stdio::null());
        let mut child = git.spawn().map_err(|why| not_run(&why))?;
        let out = child.stdout.take().ok_or_else(|| not_run(&"no pipe"))?;
        Ok(Self { pipes: Mutex::new((child, BufReader::with_capacity(1 << 16, out))) })
    }

    /// Returns the content of a blob; `None` if it has more than `limit` bytes.
    ///
    /// # Errors
    /// Git lacks the blob, or the process ended.
    pub(crate) fn read(&self, object: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let lacks = || {
            let hint =
                format!("a partial clone may lack it: `git cat-file blob {object}` fetches it");
            io::Error::other(format!("git lacks the blob {object}; {hint}"))
        };
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        let (child, out) = &mut *pipes;
        let pipe = child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(pipe, "{object}")?;
        let mut head = String::new();
        out.read_line(&mut head)?;
        let length = head.trim_end().strip_prefix("blob ").and_then(|n| n.parse::<u64>().ok());
        let length = length.ok_or_else(lacks)?;
        // The answer ends in a line end.
        if length > limit {
            io::copy(&mut out.take(length + 1), &mut io::sink())?;
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
        out.take(length + 1).read_to_end(&mut bytes)?;
        match bytes.pop() {
            Some(b'\n') if bytes.len() as u64 == length => Ok(Some(bytes)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        let (child, _) = self.pipes.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The process ends with its input.
        drop(child.stdin.take());
        let _ = child.wait();
    }
}

/// Returns true if the environment names a repository or an index that [`ask`] does not use for a
/// folder, so that git itself would read another one.
pub(crate) fn names_another(folder: &Path) -> bool {
    let var = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let Some(own) = repository(folder) else { return false };
    let same = |dir: &OsStr| {
        let here = std::env::current_dir().unwrap_or_default();
        let both = here.join(dir).canonicalize().ok().zip(own.canonicalize().ok());
        both.is_some_and(|(named, own)| named == own)
    };
    var("GIT_DIR").is_some_and(|dir| !same(&dir))
        || var("GIT_INDEX_FILE").is_some_and(|index| index_of(folder, &index).is_none())
}

/// Returns the index that a hook names, if it belongs to the repository that contains a folder.
fn index_of(folder: &Path, named: &OsStr) -> Option<PathBuf> {
    // Relative paths start at the top of the work tree, where hooks run.
    let index = std::env::current_dir().ok()?.join(named);
    let within = index.parent()?.canonicalize().ok()?;
    within.starts_with(repository(folder)?.canonicalize().ok()?).then_some(index)
}
