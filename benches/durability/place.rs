//! A vault that a case publishes to with the library, and the after-commit steps of `ctx`.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use contextnest::files::vault::Vault;
use contextnest::files::vault::disk::Disk;
use contextnest::files::vault::outside::StateFolder;
use contextnest::model::id::DocumentId;
use contextnest::model::timestamp::Timestamp;
use contextnest::record::audit::Recorder;
use contextnest::write::publish::{self, Author, Mode, Request, Which};

use crate::corpus;
use crate::process::{Result, cache_of, command, output};

const SEED: u64 = 42;
/// Time of the first event: 2026-01-01.
const BEGIN: i64 = 1_767_225_600_000;

/// The after-commit steps of an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// The index, and the derived files of a vault of at most 2,000 documents.
    All,
    Index,
    Nothing,
}

/// A vault, and the home of its writer.
pub(crate) struct Place {
    pub(crate) root: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) ids: Vec<String>,
    beside: Beside,
}

impl Place {
    pub(crate) fn at(dir: &Path, name: &str) -> Self {
        let (root, home) = (dir.join(name), dir.join(format!("{name}.home")));
        Self { root, home, ids: Vec::new(), beside: Beside::All }
    }

    /// Makes a vault with this number of unpublished documents of the corpus.
    pub(crate) fn new(dir: &Path, name: &str, documents: usize, beside: Beside) -> Result<Self> {
        let mut place = Self { beside, ..Self::at(dir, name) };
        let corpus = corpus::documents(documents.div_ceil(corpus::TEMPLATES), SEED);
        for document in corpus.take(documents) {
            let path = place.root.join(format!("{}.md", document.id));
            fs::create_dir_all(path.with_file_name(""))?;
            fs::write(path, document.text)?;
            place.ids.push(document.id);
        }
        fs::create_dir_all(place.memory())?;
        fs::create_dir_all(&place.root)?;
        place.ctx(&["init", ".", "--name", "Services"])?;
        if beside != Beside::All {
            let mut config =
                OpenOptions::new().append(true).open(place.root.join(".context/config.yaml"))?;
            config.write_all(b"index:\n  auto: 0\n")?;
        }
        Ok(place)
    }

    /// Runs `ctx` with its own state and cache directories.
    pub(crate) fn ctx(&self, args: &[&str]) -> Result<()> {
        let mut command = command(&self.root, args);
        output(command.env("XDG_STATE_HOME", &self.home)).map(drop)
    }

    /// Returns the folder with the trusted heads.
    fn memory(&self) -> PathBuf {
        self.home.join("contextnest/bench")
    }

    /// Adds a line to the first live files.
    pub(crate) fn edit(&self, count: usize, round: usize) -> Result<()> {
        for id in self.ids.iter().take(count) {
            let path = self.root.join(format!("{id}.md"));
            let mut file = OpenOptions::new().append(true).open(path)?;
            writeln!(file, "- Read again in round {round:03}.")?;
        }
        Ok(())
    }

    /// Publishes the first documents as one event; returns its beginning and end. Both include the
    /// time to open the vault.
    pub(crate) fn publish(
        &self,
        count: usize,
        round: usize,
        disk: Disk,
        how: fn(Vault) -> Vault,
    ) -> Result<[Instant; 2]> {
        let which = if count == self.ids.len() {
            Which::All
        } else {
            let ids = self.ids.iter().take(count).map(|id| id.parse::<DocumentId>());
            Which::Ids(ids.collect::<std::result::Result<_, _>>()?)
        };
        let now = Timestamp::from_millis(BEGIN + 60_000 * i64::try_from(round)?);
        let principal = "bench@example.com".parse()?;
        let author =
            Author { principal, author: None, now, note: None, recorder: Recorder::default() };
        let request = Request { author, which, mode: Mode::default() };
        let began = Instant::now();
        let cache = (self.beside != Beside::Nothing).then(|| cache_of(&self.root));
        let (home, dir) = (self.home.clone(), self.memory());
        let state = StateFolder { home, dir, checked_out: None, repository: None };
        let vault = Vault::open(&self.root)?.with_cache(cache).with_state(Some(state));
        let outcome = publish::publish(&how(vault.on(disk)), &request)?;
        let ended = Instant::now();
        let done = outcome.items.iter().filter(|item| item.id.is_document()).count();
        if done != count || outcome.committed.is_none_or(|c| !c.left_alone.is_empty()) {
            return Err(format!("{done} of {count} documents were published").into());
        }
        Ok([began, ended])
    }
}
