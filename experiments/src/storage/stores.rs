//! The stores of versions: whole files, git, and a vault.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use contextnest::files::vault::Vault;
use contextnest::model::id::DocumentId;
use contextnest::model::number;
use contextnest::model::timestamp::Timestamp;
use contextnest::record::chain::history::TextStorage;
use contextnest::record::chain::replay;
use contextnest::record::chain::vouched;
use contextnest::text::document::Document;

use super::edits::Version;
use crate::process::{Result, command, output};

/// Says whether a publication waits for the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    Durable,
    NoSync,
}

/// Size of versions on the disk, in bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct Bytes {
    /// Full texts, or git's blobs, which may be deltas.
    pub(super) texts: u64,
    pub(super) diffs: u64,
    /// Principals, times and hashes: the rest of the histories of ctx; commits and trees of git.
    pub(super) records: u64,
    /// The checkpoint log; the overhead of a pack besides its objects.
    pub(super) log: u64,
    /// Blocks of the files and of the folders that name them.
    pub(super) allocated: u64,
}

impl Bytes {
    pub(super) fn all(&self) -> u64 {
        self.texts + self.diffs + self.records + self.log
    }
}

/// A store of versions.
pub(super) trait Store {
    /// Edits the file as its author does, before the publication.
    fn edit(&mut self, version: &Version) -> Result<()>;
    /// Keeps the file as a version.
    fn publish(&mut self, version: &Version, wait: Wait) -> Result<()>;
    /// Returns an old version.
    fn read(&mut self, version: &Version) -> Result<String>;
    fn bytes(&self) -> Result<Bytes>;

    /// Checks that everything is intact, if the store can tell.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Packs everything, if the store can.
    fn pack(&mut self) -> Result<()> {
        Ok(())
    }

    /// Ends the process that reads, if there is one.
    fn stop(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Every version as a file of its own.
pub(super) struct Snapshots(pub(super) PathBuf);

impl Snapshots {
    fn path(&self, version: &Version) -> PathBuf {
        self.0.join(version.id()).join(format!("v{}.md", version.number))
    }
}

impl Store for Snapshots {
    fn edit(&mut self, version: &Version) -> Result<()> {
        Ok(fs::create_dir_all(self.path(version).with_file_name(""))?)
    }

    fn publish(&mut self, version: &Version, wait: Wait) -> Result<()> {
        let path = self.path(version);
        let mut file = File::create_new(&path)?;
        file.write_all(version.text().as_bytes())?;
        if wait == Wait::Durable {
            file.sync_all()?;
            File::open(path.with_file_name(""))?.sync_all()?;
        }
        Ok(())
    }

    fn read(&mut self, version: &Version) -> Result<String> {
        Ok(fs::read_to_string(self.path(version))?)
    }

    fn bytes(&self) -> Result<Bytes> {
        let mut bytes = Bytes::default();
        for (_, meta) in below(&self.0)? {
            bytes.allocated += 512 * meta.blocks();
            bytes.texts += if meta.is_dir() { 0 } else { meta.len() };
        }
        Ok(bytes)
    }
}

/// A repository in which every version is a commit.
pub(super) struct Git {
    root: PathBuf,
    /// The commits, in the order of the publications.
    commits: Vec<String>,
    /// The commit of each version, by document.
    of: Vec<Vec<usize>>,
    reader: Option<Reader>,
}

/// One long-running `git cat-file --batch`.
struct Reader {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Git {
    pub(super) fn new(root: &Path) -> Result<Self> {
        fs::create_dir_all(root)?;
        let git = Self { root: root.to_owned(), commits: vec![], of: vec![], reader: None };
        git.run(&["init", "--quiet", "--initial-branch=main"])?;
        // Nothing is packed early, and packs are the same in every run.
        for (name, value) in [
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
            ("pack.threads", "1"),
            ("core.logAllRefUpdates", "false"),
        ] {
            git.run(&["config", name, value])?;
        }
        Ok(git)
    }

    fn run(&self, args: &[&str]) -> Result<()> {
        output(self.command().args(args)).map(drop)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.root).stdin(Stdio::null());
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Bench");
            command.env(format!("GIT_{who}_EMAIL"), "bench@example.com");
        }
        command
    }

    fn reader(&mut self) -> Result<&mut Reader> {
        if self.reader.is_none() {
            let mut command = self.command();
            command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn()?;
            let answers = BufReader::new(child.stdout.take().ok_or("no pipe")?);
            self.reader = Some(Reader { child, answers });
        }
        self.reader.as_mut().ok_or_else(|| "no reader".into())
    }
}

impl Store for Git {
    fn edit(&mut self, version: &Version) -> Result<()> {
        let path = self.root.join(version.id() + ".md");
        fs::create_dir_all(path.with_file_name(""))?;
        Ok(fs::write(path, version.text())?)
    }

    fn publish(&mut self, version: &Version, wait: Wait) -> Result<()> {
        let path = version.id() + ".md";
        let durable = ["-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync"];
        let waits: &[&str] = if wait == Wait::Durable { &durable } else { &[] };
        if version.number == 1 {
            output(self.command().args(waits).args(["add", &path]))?;
        }
        let mut commit = self.command();
        let date = format!("{} +0000", version.at / 1000);
        commit.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        commit.args(waits).args(["commit", "--quiet", "-m", "edit", "--", &path]);
        output(&mut commit)?;
        let head = fs::read_to_string(self.root.join(".git/refs/heads/main"))?;
        let missing = (version.document + 1).saturating_sub(self.of.len());
        self.of.extend(vec![Vec::new(); missing]);
        self.of[version.document].push(self.commits.len());
        self.commits.push(head.trim().to_owned());
        Ok(())
    }

    fn read(&mut self, version: &Version) -> Result<String> {
        let at = self.of[version.document][usize::try_from(version.number)? - 1];
        let question = format!("{}:{}.md\n", self.commits[at], version.id());
        let reader = self.reader()?;
        let asked = reader.child.stdin.as_mut().ok_or("no pipe")?;
        asked.write_all(question.as_bytes())?;
        let mut line = String::new();
        reader.answers.read_line(&mut line)?;
        let length: usize = line.trim().rsplit(' ').next().unwrap_or_default().parse()?;
        let mut text = vec![0; length + 1];
        reader.answers.read_exact(&mut text)?;
        text.pop();
        Ok(String::from_utf8(text)?)
    }

    fn bytes(&self) -> Result<Bytes> {
        let mut bytes = Bytes::default();
        let mut files = 0;
        for (_, meta) in below(&self.root.join(".git/objects"))? {
            bytes.allocated += 512 * meta.blocks();
            files += if meta.is_dir() { 0 } else { meta.len() };
        }
        let format = "--batch-check=%(objecttype) %(objectsize:disk)";
        let list = output(self.command().args(["cat-file", "--batch-all-objects", format]))?;
        for line in list.lines() {
            let (kind, length) = line.split_once(' ').ok_or("no size")?;
            *if kind == "blob" { &mut bytes.texts } else { &mut bytes.records } +=
                length.parse::<u64>()?;
        }
        bytes.log = files - bytes.all();
        Ok(bytes)
    }

    fn check(&self) -> Result<()> {
        self.run(&["fsck", "--strict", "--no-progress"])
    }

    fn pack(&mut self) -> Result<()> {
        self.stop()?;
        self.run(&["repack", "-a", "-d", "-f", "--depth=50", "--window=50", "--quiet"])
    }

    fn stop(&mut self) -> Result<()> {
        if let Some(mut reader) = self.reader.take() {
            drop(reader.child.stdin.take());
            reader.child.wait()?;
        }
        Ok(())
    }
}

/// A vault with its interval of keyframes; each publication is a process of `ctx`.
pub(super) struct Ours {
    root: PathBuf,
    vault: Option<Vault>,
}

impl Ours {
    pub(super) fn new(root: &Path, interval: u64) -> Result<Self> {
        fs::create_dir_all(root)?;
        let ours = Self { root: root.to_owned(), vault: None };
        ours.run(&["init", ".", "--name", "Storage"], None)?;
        let config = root.join(".context/config.yaml");
        let text = fs::read_to_string(&config)?;
        fs::write(config, format!("{text}versions:\n  keyframe_interval: {interval}\n"))?;
        Ok(ours)
    }

    fn run(&self, args: &[&str], at: Option<i64>) -> Result<()> {
        let mut command = command(&self.root, args);
        command.env("XDG_STATE_HOME", self.root.with_extension("state"));
        if let Some(at) = at {
            command.env("CTX_NOW", Timestamp::from_millis(at).to_string());
        }
        output(&mut command).map(drop)
    }
}

impl Store for Ours {
    /// The fields that the last publication wrote stay, as under an editor.
    fn edit(&mut self, version: &Version) -> Result<()> {
        let path = self.root.join(version.id() + ".md");
        if version.number == 1 {
            fs::create_dir_all(path.with_file_name(""))?;
            return Ok(fs::write(path, version.text())?);
        }
        let published = fs::read_to_string(&path)?;
        let fields = &published[..Document::parse(&published)?.parts.body];
        Ok(fs::write(path, format!("{fields}{}", version.body))?)
    }

    fn publish(&mut self, version: &Version, wait: Wait) -> Result<()> {
        let id = version.id();
        let no_sync = (wait == Wait::NoSync).then_some("--no-sync");
        let args: Vec<&str> = ["publish", &id].into_iter().chain(no_sync).collect();
        self.run(&args, Some(version.at))
    }

    /// Reads a version as `ctx show ID N` does: reads the history, rebuilds the text, recomputes
    /// every hash from the keyframe on.
    fn read(&mut self, version: &Version) -> Result<String> {
        if self.vault.is_none() {
            self.vault = Some(Vault::open(&self.root)?);
        }
        let vault = self.vault.as_ref().ok_or("no vault")?;
        let id: DocumentId = version.id().parse()?;
        let history = replay::load(vault.files(), &id)?;
        Ok(vouched::vouched(vault.files(), &id, &history, number::Version(version.number))?)
    }

    fn bytes(&self) -> Result<Bytes> {
        let mut bytes = Bytes::default();
        let mut histories = 0;
        for (path, meta) in below(&self.root)? {
            if !path.components().any(|part| part.as_os_str() == ".versions") {
                continue;
            }
            bytes.allocated += 512 * meta.blocks();
            match path.file_name().and_then(|name| name.to_str()) {
                _ if meta.is_dir() => {}
                Some("checkpoints.jsonl") => bytes.log += meta.len(),
                Some("history.yaml") => {
                    histories += meta.len();
                    let text = fs::read(&path)?;
                    let history = contextnest::record::chain::history::History::parse(&text)?;
                    for entry in history.entries() {
                        if let TextStorage::Diff(diff) = &entry.stored {
                            bytes.diffs += diff.len() as u64;
                        }
                    }
                }
                _ => bytes.texts += meta.len(),
            }
        }
        bytes.records = histories - bytes.diffs;
        Ok(bytes)
    }

    fn check(&self) -> Result<()> {
        self.run(&["verify"], None)
    }
}

/// Returns every file and folder in a folder.
fn below(root: &Path) -> Result<Vec<(PathBuf, fs::Metadata)>> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let meta = entry.metadata()?;
            if meta.is_dir() {
                folders.push(entry.path());
            }
            found.push((entry.path(), meta));
        }
    }
    Ok(found)
}
