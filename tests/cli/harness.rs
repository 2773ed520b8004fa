//! A place to run the binary in: a fresh folder, a cleared environment, and a clock and a principal
//! that are the same in every run, so that snapshots can contain hashes.
//!
//! [`Place::new`] is an empty folder, [`Place::vault`] a vault after `ctx init`. Every command runs
//! one second after the one before. [`Output::whole`] compares an [`Output`] completely.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use contextnest::files::vault::Vault;
use contextnest::files::vault::config::LogForm;
use contextnest::files::vault::disk::{Disk, Overseer};
use contextnest::front::cli::{Streams, World};
use contextnest::model::timestamp::Timestamp;
use contextnest::record::checkpoint::log::Log;
use contextnest::workspace::Environment;
use contextnest::workspace::git::GitError;
use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;

/// Path of the binary under test.
pub(crate) const CTX: &str = env!("CARGO_BIN_EXE_ctx");

/// Returns the path of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the step between the cases of a slow test: `step` if `CTX_BRIEF_TESTS` is set, as in
/// `.ci/run`; else 1.
pub(crate) fn stride(step: usize) -> usize {
    if std::env::var_os("CTX_BRIEF_TESTS").is_some() { step } else { 1 }
}

/// Returns the time of the last published version of a history.
pub(crate) fn instant_of(history: &str) -> String {
    let (_, at) = history.rsplit_once("published_at: '").unwrap();
    at[..24].to_owned()
}

/// A folder with everything that a command can access.
pub(crate) struct Place {
    _dir: TempDir,
    root: PathBuf,
    home: PathBuf,
    seconds: Cell<u32>,
}

/// A command that has not run yet.
#[must_use]
pub(crate) struct Run<'p> {
    place: &'p Place,
    args: Vec<String>,
    vars: BTreeMap<String, String>,
    cwd: PathBuf,
    stdin: Vec<u8>,
}

/// The output of a command, which must be checked, if only with [`Output::ok`].
pub(crate) struct Output {
    what: String,
    root: String,
    pub(crate) exit: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    /// Makes an empty folder `vault` in an empty home.
    pub(crate) fn new() -> Self {
        Self::within(TempDir::new().unwrap())
    }

    /// Makes a place like [`Place::new`], on a file system in memory if there is one.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        Self::within(match memory.is_dir() {
            true => TempDir::new_in(memory).unwrap(),
            false => TempDir::new().unwrap(),
        })
    }

    fn within(dir: TempDir) -> Self {
        let home = dir.path().canonicalize().unwrap();
        let root = home.join("vault");
        fs::create_dir(&root).unwrap();
        Self { _dir: dir, root, home, seconds: Cell::new(0) }
    }

    /// Makes an empty vault.
    pub(crate) fn vault() -> Self {
        let place = Self::new();
        place.ctx("init --name Test").ok();
        place
    }

    /// Makes an empty vault whose configuration asks for a log of whole maps.
    pub(crate) fn with_maps() -> Self {
        let place = Self::vault();
        place.edit(".context/config.yaml", "layout:", "versions:\n  checkpoint_log: full\nlayout:");
        place
    }

    /// Makes a vault that publishes these documents under one checkpoint.
    pub(crate) fn published(documents: &[(&str, &str)]) -> Self {
        let place = Self::vault();
        for (id, body) in documents {
            place.write(&format!("{id}.md"), body);
        }
        place.ctx("publish --all").ok();
        place
    }

    /// Makes a vault with these documents and further lines in its configuration.
    pub(crate) fn published_with(config: &str, documents: &[(&str, &str)]) -> Self {
        let place = Self::vault();
        place.write(".context/config.yaml", place.read(".context/config.yaml") + config);
        for (id, body) in documents {
            place.write(&format!("{id}.md"), body);
        }
        place.ctx("publish --all").ok();
        place
    }

    /// Makes a vault with these documents that does not record changes.
    pub(crate) fn unrecorded(documents: &[(&str, &str)]) -> Self {
        let place = Self::vault();
        place.edit(".context/config.yaml", "audit:\n  retention: 184d\n", "");
        for (id, body) in documents {
            place.write(&format!("{id}.md"), body);
        }
        place.ctx("publish --all").ok();
        place
    }

    /// Makes a place with a copy of another folder.
    pub(crate) fn copy_of(from: &Path) -> Self {
        let place = Self::new();
        for (path, bytes) in files_in(from) {
            place.write(&path, bytes);
        }
        place
    }

    /// Makes a second place with the same files and the same clock.
    pub(crate) fn duplicate(&self) -> Self {
        let duplicate = Self::copy_of(&self.root);
        duplicate.seconds.set(self.seconds.get());
        duplicate
    }

    /// Returns the folder that commands run in.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder above the vault.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the absolute path of a path in the vault.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file and the folders above it.
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Reads a file as text.
    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).unwrap()
    }

    /// Reads a file as bytes.
    #[track_caller]
    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    /// Returns true if the file or folder exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// Removes a file, or a folder with its contents.
    #[track_caller]
    pub(crate) fn remove(&self, path: &str) {
        let path = self.path(path);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }

    /// Replaces a text in a file, which must contain it.
    #[track_caller]
    pub(crate) fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} holds no {from:?}:\n{text}");
        self.write(path, text.replacen(from, to, 1));
    }

    /// Returns every file with its bytes, except for those that no command trusts.
    pub(crate) fn tree(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = files_in(&self.root);
        files.retain(|path, _| !path.starts_with(".context/local"));
        files
    }

    /// Returns the files of [`Place::tree`] without the change logs, whose names and lines
    /// are random.
    pub(crate) fn chained(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = self.tree();
        files.retain(|path, _| !path.starts_with(".context/audit/"));
        files
    }

    /// Makes a command from a typed line, with `'...'` around arguments that contain blanks.
    pub(crate) fn typed(&self, line: &str) -> Run<'_> {
        self.args(&words(line))
    }

    /// Makes a command with these arguments.
    pub(crate) fn args<S: AsRef<str>>(&self, args: &[S]) -> Run<'_> {
        let vars = [
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("HOME", self.home.display().to_string()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("CTX_PRINCIPAL", "ana@example.com".to_owned()),
            ("CTX_NOW", self.tick()),
        ];
        Run {
            place: self,
            args: args.iter().map(|arg| arg.as_ref().to_owned()).collect(),
            vars: vars.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            cwd: self.root.clone(),
            stdin: Vec::new(),
        }
    }

    /// Runs a command line; see [`Place::typed`].
    #[must_use]
    pub(crate) fn ctx(&self, line: &str) -> Output {
        self.typed(line).run()
    }

    /// Writes the intent record of an interrupted writer, ana, whose event began at this instant on
    /// the trusted head.
    pub(crate) fn began(&self, at: &str) {
        let state = self.home.join(".local/state");
        let found = files_in(&state).into_iter().find_map(|(path, bytes)| {
            let folder = path.strip_suffix("/head.json")?;
            Some((state.join(folder), serde_json::from_slice::<Value>(&bytes).unwrap()))
        });
        let (folder, mut memory) = found.expect("a head is remembered");
        memory["event"] = at.into();
        memory["by"] = "ana@example.com".into();
        fs::write(folder.join("intent.json"), memory.to_string()).unwrap();
    }

    /// Returns the time of the last command.
    pub(crate) fn last_command(&self) -> Timestamp {
        let millis = 1_795_255_200_000 + 1000 * (i64::from(self.seconds.get()) - 1);
        Timestamp::from_millis(millis)
    }

    fn tick(&self) -> String {
        let n = self.seconds.replace(self.seconds.get() + 1);
        format!("2026-11-21T{:02}:{:02}:{:02}.000Z", 10 + n / 3600, n / 60 % 60, n % 60)
    }
}

impl Run<'_> {
    /// Sets a variable of the environment.
    pub(crate) fn var(mut self, name: &str, value: &str) -> Self {
        self.vars.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Removes a variable from the environment.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.vars.remove(name);
        self
    }

    /// Runs in another folder.
    pub(crate) fn within(mut self, path: &Path) -> Self {
        self.cwd = self.cwd.join(path);
        self
    }

    /// Sets the standard input.
    pub(crate) fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.stdin = bytes.as_ref().to_vec();
        self
    }

    /// Returns the process, not yet started.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(CTX);
        command.args(&self.args);
        self.dress(command)
    }

    /// Runs the command after a prefix for the shell, such as `ulimit -f 1`.
    #[must_use]
    pub(crate) fn behind(&self, shell: &str) -> Output {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{shell}; exec \"$0\" \"$@\""), CTX]).args(&self.args);
        self.output(self.dress(command))
    }

    /// Runs a line of the shell in place of the binary.
    #[must_use]
    pub(crate) fn shell(&self, line: &str) -> Output {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        self.output(self.dress(command))
    }

    fn dress(&self, mut command: Command) -> Command {
        command.env_clear().envs(&self.vars).current_dir(&self.cwd);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    #[must_use]
    pub(crate) fn run(self) -> Output {
        self.output(self.command())
    }

    /// Runs the command in this process, on a disk with an observer.
    #[must_use]
    pub(crate) fn on(self, overseer: Arc<dyn Overseer>) -> Output {
        self.in_process(Disk::overseen(overseer), false)
    }

    /// Runs the command in this process, which is fast enough for thousands of commands.
    #[must_use]
    pub(crate) fn here(self) -> Output {
        self.in_process(Disk::default(), false)
    }

    fn in_process(self, disk: Disk, is_terminal: bool) -> Output {
        let environment = Environment {
            vars: self.vars.clone(),
            git: |_, _, _| Err(GitError::NotRun("not here".to_owned())),
            disk,
            ..Environment::new(self.cwd.clone(), || 0)
        };
        let world = World {
            environment,
            input_terminal: is_terminal,
            terminal: is_terminal,
            error_terminal: is_terminal,
        };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut stdin = self.stdin.as_slice();
        let streams = Streams { stdin: &mut stdin, stdout: &mut stdout, stderr: &mut stderr };
        let args = std::iter::once("ctx").chain(self.args.iter().map(String::as_str));
        let exit = contextnest::front::cli::run(args.map(Into::into).collect(), &world, streams);
        self.said(i32::from(exit), stdout, stderr)
    }

    /// Runs the command in this process, with a terminal at all three streams.
    #[must_use]
    pub(crate) fn on_terminal(self) -> Output {
        self.in_process(Disk::default(), true)
    }

    fn output(&self, mut command: Command) -> Output {
        let mut child = command.spawn().unwrap();
        // A command that reads nothing may have ended already.
        let _ = child.stdin.take().unwrap().write_all(&self.stdin);
        let output = child.wait_with_output().unwrap();
        self.said(output.status.code().unwrap_or(-1), output.stdout, output.stderr)
    }

    fn said(&self, exit: i32, stdout: Vec<u8>, stderr: Vec<u8>) -> Output {
        Output {
            what: format!("ctx {:?} in {}", self.args, self.cwd.display()),
            root: self.place.home.display().to_string(),
            exit,
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }
}

impl Output {
    /// Returns exit code and both streams for a snapshot, without the random ids of writers.
    pub(crate) fn whole(&self) -> String {
        let mut out = format!("exit: {}\n-- stdout\n{}", self.exit, self.stdout);
        if !self.stdout.is_empty() && !self.stdout.ends_with('\n') {
            out.push('\n');
        }
        let _ = write!(out, "-- stderr\n{}", self.stderr);
        let line = Regex::new("line [0-9a-f]{8}-").unwrap();
        line.replace_all(&out, "line [WRITER]-").replace(&self.root, "[ROOT]")
    }

    /// Returns the output; panics if the command failed.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.exits(0)
    }

    /// Returns the output; panics if the exit code is another one.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.exit, code, "{}\n{}", self.what, self.whole());
        self
    }

    /// Parses the result as JSON, which must name this schema.
    #[track_caller]
    pub(crate) fn json(&self, schema: &str) -> Value {
        let text = if schema == "ctx.error" { &self.stderr } else { &self.stdout };
        let value: Value = serde_json::from_str(text)
            .unwrap_or_else(|why| panic!("{}: {why}\n{}", self.what, self.whole()));
        assert_eq!(value["schema"], schema, "{}", self.whole());
        assert_eq!(value["schema_version"], 2, "{}", self.whole());
        value
    }

    /// Returns the lines of standard output.
    pub(crate) fn lines(&self) -> Vec<&str> {
        self.stdout.lines().collect()
    }
}

impl Place {
    /// Returns the checkpoint log in one of its forms.
    pub(crate) fn exported(&self, form: LogForm) -> String {
        let vault = Vault::open(&self.root).unwrap();
        let log = Log::read(&vault).unwrap();
        String::from_utf8(log.sound().unwrap().export(form)).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let tree = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.tree()));
            let names: Vec<String> = tree.unwrap_or_default().into_keys().collect();
            eprintln!("{}:\n{}", self.root.display(), names.join("\n"));
        }
    }
}

/// Returns every file in a folder; links by their targets.
pub(crate) fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let kind = path.symlink_metadata().unwrap().file_type();
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                found.insert(name, fs::read(&path).unwrap());
            } else {
                found.insert(name, format!("{kind:?}").into_bytes());
            }
        }
    }
    found
}

/// Splits a command line; `'` and `"` keep blanks together.
pub(crate) fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
