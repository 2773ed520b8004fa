//! A small good vault, made by the library under a fixed clock, in each form of the log.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use contextnest::files::vault::Vault;
use contextnest::files::vault::config::LogForm;
use contextnest::model::id::DocumentId;
use contextnest::model::number::Version;
use contextnest::model::timestamp::Timestamp;
use contextnest::record::audit::Recorder;
use contextnest::record::chain::replay;
use contextnest::record::checkpoint::log::Log;
use contextnest::write::publish::{Author, Mode, Request, Which, publish, retire};

/// Files by their paths in a vault.
pub type Tree = BTreeMap<String, Vec<u8>>;

/// A vault in its own folder, and its original content.
pub struct Good {
    /// Path of the folder.
    pub root: PathBuf,
    /// The files of the vault.
    pub files: Tree,
    /// The text of every published version, by id and version.
    pub texts: BTreeMap<(DocumentId, Version), String>,
    /// The artifacts in the maps of the head.
    pub head: Vec<DocumentId>,
}

/// Returns the instant of an event, some minutes after the first.
pub fn minute(number: i64) -> Timestamp {
    Timestamp::from_millis(1_795_000_000_000 + number * 60_000)
}

const BODY: &str = "\n# A\n\nOne.\n\nSee [c](legal/c.md) and [[b]].\n\n## Part\n\nMore: one.\n";

impl Good {
    /// Makes the vault in an existing folder: `nodes/a` in five versions, two of them with notes,
    /// `nodes/b` retired and published again, `nodes/d` retired, and governance files.
    pub fn make(root: PathBuf, form: LogForm) -> Self {
        let word = if form == LogForm::Full { "full" } else { "delta" };
        let config =
            format!("name: Good\nversions:\n  keyframe_interval: 3\n  checkpoint_log: {word}\n");
        let put = |path: &str, text: &str| write(&root, path, text.as_bytes());
        put(".context/config.yaml", &config);
        put("CONTEXT.md", "# Good\n\nRead this first.\n");
        put("packs/warm.yml", "id: warm\nlabel: Warm\nquery: '#red'\n");
        put("nodes/a.md", &format!("---\ntitle: A\ntags: [red]\n---\n{BODY}"));
        put("nodes/b.md", "---\ntitle: B\ntype: glossary\n---\n\n# B\n");
        put("nodes/legal/c.md", "# C\r\n\r\nCafé.\r\n");
        put("nodes/d.md", "# D\n");
        let open = || Vault::open(&root).expect("it is a vault").without_sync();
        let by = |number: i64, note: Option<&str>| Author {
            principal: "ana@example.com".parse().expect("it is a principal"),
            author: None,
            now: minute(number),
            note: note.map(str::to_owned),
            recorder: Recorder::default(),
        };
        let all = |author| {
            let which = Which::All;
            let request = Request { author, which, mode: Mode::default() };
            publish(&open(), &request).expect("all can be published");
        };
        let gone = |id: &str, author| {
            let id = id.parse().expect("it is an id");
            retire(&open(), &[id], (&author, Mode::default()), None).expect("it can be retired");
        };
        all(by(0, Some("first")));
        for (number, (old, new)) in
            [("One.", "Two."), ("# A\n", "# A\n\nNew.\n"), ("Two.", "Three.")].iter().enumerate()
        {
            let text = fs::read_to_string(root.join("nodes/a.md")).expect("it is there");
            put("nodes/a.md", &text.replacen(old, new, 1));
            all(by(1 + number as i64, (number == 1).then_some("so: why")));
        }
        gone("nodes/b", by(4, None));
        gone("nodes/d", by(5, None));
        put("CONTEXT.md", "# Good\n\nRead this last.\n");
        put(
            "nodes/a.md",
            &format!(
                "---\ntitle: A\nversion: 4\ntags: [red, blue]\n---\n{BODY}\nEnd without newline"
            ),
        );
        let which =
            Which::Ids(["nodes/a", "nodes/b"].map(|id| id.parse().expect("an id")).to_vec());
        let request = Request { author: by(6, None), which, mode: Mode::default() };
        publish(&open(), &request).expect("a retired document can be published again");

        let _ = fs::remove_dir_all(root.join(".context/local"));
        let mut files = Tree::new();
        collect(&root, &root, &mut files);
        let vault = open();
        let log = Log::read(&vault).expect("the log is there");
        let chronicle = log.sound().expect("the log is sound");
        let head = chronicle.state_at(chronicle.head_number()).expect("its hashes follow");
        let mut texts = BTreeMap::new();
        for (id, mark) in chronicle.checkpoints().iter().flat_map(|c| &c.set) {
            let version = mark.version.expect("it is sealed");
            let history = replay::load(vault.files(), id).expect("the history is there");
            let text = replay::reconstruct(vault.files(), id, &history, version);
            texts.insert((id.clone(), version), text.expect("the version is there"));
        }
        let head = head.iter().map(|(id, _)| id.clone()).collect();
        Self { root, files, texts, head }
    }

    /// Returns true if a text was published as some version of an artifact.
    pub fn published(&self, id: &DocumentId, text: &str) -> bool {
        self.texts.iter().any(|((known, _), good)| known == id && good == text)
    }

    /// Replaces the files of the folder by these.
    pub fn put_on(&self, tree: &Tree) {
        change(&self.root, &self.files, tree);
    }

    /// Restores the own files of the folder.
    pub fn restore(&self, tree: &Tree) {
        change(&self.root, tree, &self.files);
    }
}

/// Turns a folder with one tree into one with another.
fn change(root: &Path, from: &Tree, to: &Tree) {
    for path in from.keys().filter(|path| !to.contains_key(*path)) {
        let path = root.join(path);
        fs::remove_file(&path).expect("it can be removed");
        // Folders are removed with their last file.
        for folder in path.ancestors().skip(1).take_while(|folder| *folder != root) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
    for (path, bytes) in to {
        if from.get(path) != Some(bytes) {
            write(root, path, bytes);
        }
    }
}

fn write(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("it lies in the root")).expect("it can be made");
    fs::write(&path, bytes).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
}

fn collect(root: &Path, folder: &Path, found: &mut Tree) {
    for entry in fs::read_dir(folder).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            collect(root, &path, found);
        } else {
            let name = path.strip_prefix(root).ok().and_then(Path::to_str).expect("it is UTF-8");
            found.insert(name.to_owned(), fs::read(&path).expect("it can be read"));
        }
    }
}

/// Returns a new folder in memory, if there is such a file system. libFuzzer ends without cleaning
/// up, so the next process removes the folders of ended ones.
pub fn folder() -> PathBuf {
    const PREFIX: &str = "contextnest-fuzz-";
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
        let process =
            entry.file_name().to_str().and_then(|n| n.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if process.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    let own = place.join(format!("{PREFIX}{}", std::process::id()));
    fs::create_dir_all(&own).expect("a folder can be made");
    own
}
