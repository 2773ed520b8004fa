//! Commands of `ctx` in this process: a person with a home, a clock and a name, who works in vaults
//! in memory.

use std::fs;
use std::path::{Path, PathBuf};

use contextnest::files::vault::disk::Disk;
use contextnest::front::cli::{Streams, World, run};
use contextnest::model::timestamp::Timestamp;
use contextnest::workspace::Environment;
use contextnest::workspace::git::{self, GitError};
use serde_json::Value;
use tempfile::TempDir;

use crate::process::Result;

/// Returns a folder that is removed with its owner; in memory if the system has a file system for
/// that, because these experiments make hundreds of thousands of small writes.
pub(crate) fn scratch(otherwise: &Path) -> Result<TempDir> {
    let memory = Path::new("/dev/shm");
    let within = if memory.is_dir() { memory } else { otherwise };
    Ok(tempfile::Builder::new().prefix("contextnest-").tempdir_in(within)?)
}

/// A user who runs commands.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    /// Folder of trusted heads and indexes; `None` for a user without them.
    pub(crate) home: Option<PathBuf>,
    pub(crate) principal: String,
    /// The clock, in milliseconds since 1970.
    pub(crate) now: i64,
}

/// The output of a command.
pub(crate) struct Said {
    what: String,
    pub(crate) exit: u8,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `ctx` in a folder, with these variables and no others, and no clock. Git is asked only if the
/// folder is a repository.
pub(crate) fn ctx(
    root: &Path,
    args: &[&str],
    vars: impl IntoIterator<Item = (&'static str, String)>,
) -> Said {
    ctx_given(b"", Disk::default(), root, args, vars)
}

/// Runs `ctx` with bytes on standard input, on a disk that may have an observer.
pub(crate) fn ctx_given(
    mut stdin: &[u8],
    disk: Disk,
    root: &Path,
    args: &[&str],
    vars: impl IntoIterator<Item = (&'static str, String)>,
) -> Said {
    let environment = Environment {
        vars: vars.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        git: if root.join(".git").exists() { git::ask } else { no_git },
        disk,
        ..Environment::new(root.to_owned(), || 0)
    };
    let world =
        World { environment, input_terminal: false, terminal: false, error_terminal: false };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let streams = Streams { stdin: &mut stdin, stdout: &mut stdout, stderr: &mut stderr };
    let all = ["ctx"].iter().chain(args).map(Into::into).collect();
    let exit = run(all, &world, streams);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let what = format!("ctx {}", args.join(" "));
    Said { what, exit, stdout: text(stdout), stderr: text(stderr) }
}

fn no_git(_: &Path, _: &[&str], _: &[u8]) -> std::result::Result<Vec<u8>, GitError> {
    Err(GitError::NotRun("not here".to_owned()))
}

impl Person {
    /// Runs `ctx` in a folder.
    pub(crate) fn ctx(&self, root: &Path, args: &[&str]) -> Said {
        self.ctx_on(Disk::default(), root, args)
    }

    /// Runs `ctx` with bytes on standard input.
    pub(crate) fn given(&self, stdin: &[u8], root: &Path, args: &[&str]) -> Said {
        self.ctx_with(stdin, Disk::default(), root, args)
    }

    /// Runs `ctx` on a disk with an observer.
    pub(crate) fn ctx_on(&self, disk: Disk, root: &Path, args: &[&str]) -> Said {
        self.ctx_with(b"", disk, root, args)
    }

    /// Runs `ctx` with bytes on standard input, on a disk with an observer.
    pub(crate) fn ctx_with(&self, stdin: &[u8], disk: Disk, root: &Path, args: &[&str]) -> Said {
        let vars = [
            ("CTX_PRINCIPAL", self.principal.clone()),
            ("CTX_NOW", Timestamp::from_millis(self.now).to_string()),
        ];
        let home = self.home.iter().map(|home| ("HOME", home.display().to_string()));
        ctx_given(stdin, disk, root, args, vars.into_iter().chain(home))
    }

    /// Returns a person with the same vaults and clock under another name.
    pub(crate) fn named(&self, principal: &str) -> Self {
        Self { principal: principal.to_owned(), ..self.clone() }
    }

    /// Runs `ctx`, which must succeed.
    pub(crate) fn done(&self, root: &Path, args: &[&str]) -> Result<Said> {
        let said = self.ctx(root, args);
        if said.exit == 0 { Ok(said) } else { Err(said.complaint().into()) }
    }
}

impl Said {
    /// Parses the result, or else the error, if it was printed as JSON.
    pub(crate) fn json(&self) -> Value {
        let said = if self.stdout.is_empty() { &self.stderr } else { &self.stdout };
        // Remarks may precede it.
        let from = said.find('{').unwrap_or(0);
        serde_json::from_str(&said[from..]).unwrap_or_default()
    }

    /// Returns all output, for debugging.
    pub(crate) fn complaint(&self) -> String {
        let Self { what, exit, stdout, stderr } = self;
        format!("`{what}` ended with {exit}\n{stdout}{stderr}")
    }
}

/// Writes a file and the folders above it.
pub(crate) fn write(root: &Path, path: &str, bytes: impl AsRef<[u8]>) -> Result<()> {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap_or(root))?;
    Ok(fs::write(path, bytes)?)
}

/// Copies a folder of plain files and folders; none of the target files may exist.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(source, target)?;
        }
    }
    Ok(())
}

/// Returns every file in a folder, as sorted relative paths.
pub(crate) fn files(root: &Path) -> Result<Vec<String>> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(path) = path.strip_prefix(root)?.to_str() {
                found.push(path.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}
