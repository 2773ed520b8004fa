//! The status cache changes no answer after any changes of the files.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::cache::Seen;
use super::status;
use crate::files::vault::Vault;
use crate::read::snapshot::Snapshot;
use crate::record::audit::Recorder;
use crate::record::trusted_head;
use crate::values::model::id::DocumentId;
use crate::values::model::timestamp::Timestamp;
use crate::write::publish::{self, Author, Mode, Request, Which};

const DOCUMENTS: [&str; 5] = ["nodes/a", "nodes/a/b", "nodes/deep/er/c", "sources/s", "root"];

struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
    cache: PathBuf,
    now: i64,
}

impl Place {
    /// Makes a vault whose documents are published and were compared.
    fn warm() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("vault");
        let cache = dir.path().join("cache");
        let mut place = Self { _dir: dir, root, cache, now: 1_800_000_000_000 };
        place.write(".context/config.yaml", "version: 1\nname: V\n");
        for id in DOCUMENTS {
            let source = match id.starts_with("sources") {
                true => "type: source\nsource: {transport: rest, tools: [t]}\n",
                false => "",
            };
            place.write(&format!("{id}.md"), &format!("---\ntitle: T\n{source}---\n# T\nText.\n"));
        }
        place.publish();
        place.warm_up();
        assert_eq!(place.known(), DOCUMENTS.len());
        place
    }

    fn vault(&self) -> Vault {
        Vault::open(&self.root).unwrap().with_cache(Some(self.cache.clone()))
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn author(&mut self) -> Author {
        self.now += 1000;
        author(self.now)
    }

    fn publish(&mut self) {
        let mode = Mode { skip_invalid: true, drafts: true, ..Mode::default() };
        let request = Request { author: self.author(), which: Which::All, mode };
        publish::publish(&self.vault(), &request).unwrap();
    }

    fn retire(&mut self, id: &str) {
        let (vault, author) = (self.vault(), self.author());
        publish::retire(&vault, &[id.parse().unwrap()], (&author, Mode::default()), None).unwrap();
    }

    fn answer(&self, seen: &Seen) -> String {
        let vault = self.vault();
        let log = trusted_head::open_log(&vault).unwrap();
        let head = Snapshot::whole(&vault, &log.sound().unwrap(), None).unwrap();
        let compared = status(&vault, &head, seen).unwrap();
        format!("{:#?}\n{:#?}", compared.documents, compared.governance)
    }

    fn seen(&self) -> Seen {
        Seen::settled_for(&self.vault(), Duration::ZERO)
    }

    /// Compares after the clock of the file system has advanced.
    fn warm_up(&self) {
        std::thread::sleep(Duration::from_millis(25));
        self.answer(&self.seen());
    }

    /// Returns the number of files that would not be read now.
    fn known(&self) -> usize {
        let (vault, seen) = (self.vault(), self.seen());
        let log = trusted_head::open_log(&vault).unwrap();
        let head = Snapshot::whole(&vault, &log.sound().unwrap(), None).unwrap();
        let known = |id: &&str| {
            let path = format!("{id}.md");
            seen.folder(&vault, &head, &path).is_unchanged(&path).is_some()
        };
        DOCUMENTS.into_iter().filter(known).count()
    }

    /// Returns what `publish --changed` would do.
    fn plan(&self, vault: &Vault) -> String {
        let mode = Mode { skip_invalid: true, dry_run: true, ..Mode::default() };
        let author = author(self.now + 1000);
        let plan = publish::publish(vault, &Request { author, which: Which::Changed, mode });
        format!("{plan:#?}")
    }

    /// Checks that cached and fresh comparisons give one answer.
    fn agrees(&self, what: &str) -> String {
        let plans = [self.vault(), self.vault().with_cache(None)].map(|vault| self.plan(&vault));
        assert_eq!(plans[0], plans[1], "{what}, published");
        let read = self.answer(&Seen::default());
        assert_eq!(self.answer(&self.seen()), read, "{what}");
        assert_eq!(self.answer(&self.seen()), read, "{what}, once more");
        read
    }
}

fn author(now: i64) -> Author {
    Author {
        principal: "ana@example.com".parse().unwrap(),
        author: None,
        now: Timestamp::from_millis(now),
        note: None,
        recorder: Recorder::default(),
    }
}

/// Alters one letter of a file and restores its time.
fn alter(path: &Path) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.len() - 2;
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
    set_time(path, modified);
}

fn set_time(path: &Path, modified: SystemTime) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_times(FileTimes::new().set_modified(modified)).unwrap();
}

/// Replaces a file by another one with the same length and time.
fn exchange(path: &Path) {
    let beside = path.with_extension("beside");
    fs::copy(path, &beside).unwrap();
    alter(&beside);
    set_time(&beside, fs::metadata(path).unwrap().modified().unwrap());
    fs::rename(beside, path).unwrap();
}

/// Moves a file or folder away and leaves a link to it.
fn link(path: &Path) {
    let away = path.parent().unwrap().join(".away");
    fs::rename(path, &away).unwrap();
    symlink(&away, path).unwrap();
}

#[test]
fn status_detects_a_change_that_keeps_length_and_time() {
    type Change = fn(&Path);
    let cases: [(&str, &str, Change); 10] = [
        ("Changed", "nodes/a.md", alter),
        ("Changed", "root.md", alter),
        ("Changed", "nodes/a/b.md", exchange),
        ("Missing", "nodes/a.md", |path| fs::remove_file(path).unwrap()),
        ("Invalid", "nodes/a.md", link),
        ("Withheld", "nodes/deep", link),
        ("Withheld", "nodes/.versions/a/history.yaml", alter),
        ("Withheld", "nodes/a/.versions/b/v1.md", exchange),
        ("Withheld", "nodes/.versions/a", link),
        ("Withheld", "sources/.versions", link),
    ];
    for (state, path, change) in cases {
        let place = Place::warm();
        change(&place.path(path));
        let answer = place.agrees(path);
        assert!(answer.contains(&format!("state: {state},")), "{path}: {answer}");
        assert_eq!(place.known(), DOCUMENTS.len() - 1, "{path}");
    }
}

#[test]
fn publish_changed_skips_unchanged_files() {
    let place = Place::warm();
    let plan = place.plan(&place.vault());
    for id in DOCUMENTS {
        assert!(plan.contains(id), "`{id}` is not reported as unchanged: {plan}");
    }
    alter(&place.path("nodes/a.md"));
    assert!(place.agrees("one edited").contains("state: Changed"));
    assert!(place.plan(&place.vault()).contains("change: Changed"));
}

#[test]
fn publish_changed_refuses_a_history_with_more_than_the_log_seals() {
    let place = Place::warm();
    let path = place.path("nodes/.versions/a/history.yaml");
    let mut history = fs::read(&path).unwrap();
    history.extend_from_slice(b"  - version: 2");
    fs::write(&path, history).unwrap();
    place.warm_up();
    assert_eq!(place.known(), DOCUMENTS.len() - 1);
    place.agrees("an entry that was cut short");
    let plan = place.plan(&place.vault());
    assert!(plan.contains("history-unsealed"), "{plan}");
}

#[test]
fn status_detects_another_head() {
    let mut place = Place::warm();
    place.write("nodes/a.md", "---\ntitle: T\nstatus: draft\n---\n# T\nMore.\n");
    place.publish();
    assert_eq!(place.known(), DOCUMENTS.len() - 1);
    place.agrees("published again");
    place.retire("nodes/a/b");
    assert!(place.agrees("retired").contains("state: Retired"));
    // The earlier log: the live file is not the text that it seals.
    let older = Place::warm();
    let log = older.path(".versions/checkpoints.jsonl");
    let before = fs::read(&log).unwrap();
    let mut older = older;
    older.write("nodes/a.md", "---\ntitle: T\n---\n# T\nMore.\n");
    older.publish();
    older.warm_up();
    assert_eq!(older.known(), DOCUMENTS.len());
    fs::write(&log, before).unwrap();
    assert!(older.agrees("an older log").contains("state: Changed"));
}

#[test]
fn status_cache_is_dropped_with_another_configuration() {
    let place = Place::warm();
    place.write(".context/config.yaml", "version: 1\nname: V\nlayout: obsidian\n");
    assert_eq!(place.known(), 0);
    place.agrees("another layout");
    place.write(".context/config.yaml", "version: 1\nexclude: ['nodes/a.md']\n");
    place.agrees("excluded");
    place.write(".context/config.yaml", "version: [\n");
    assert_eq!(place.known(), 0);
    place.agrees("no configuration");
    // The layout follows from the existing folders.
    let place = Place::warm();
    fs::rename(place.path("nodes"), place.path("other")).unwrap();
    assert_eq!(place.known(), 0);
    place.agrees("no folder of documents");
}

#[test]
fn status_does_not_record_recent_or_future_changes() {
    let place = Place::warm();
    fs::remove_dir_all(&place.cache).unwrap();
    let open = || Seen::open(&place.vault());
    place.answer(&open());
    assert_eq!(place.known(), 0, "the files are younger than two seconds");
    let ahead = SystemTime::UNIX_EPOCH + Duration::from_secs(20_000_000_000);
    set_time(&place.path("nodes/a.md"), ahead);
    set_time(&place.path("nodes/a/b.md"), SystemTime::UNIX_EPOCH);
    set_time(&place.path("sources/.versions/s/v1.md"), ahead);
    std::thread::sleep(Duration::from_millis(2100));
    place.answer(&open());
    assert_eq!(place.known(), DOCUMENTS.len() - 2);
    place.agrees("times of the past and of the future");
}

#[test]
fn status_detects_a_change_in_the_same_tick_of_the_clock() {
    let place = Place::warm();
    let path = place.path("nodes/a.md");
    let text = fs::read(&path).unwrap();
    for round in 0..40 {
        fs::write(&path, &text).unwrap();
        place.answer(&place.seen());
        alter(&path);
        assert!(place.answer(&place.seen()).contains("state: Changed"), "round {round}");
    }
}

#[test]
fn status_ignores_a_damaged_cache_and_that_of_another_vault() {
    let place = Place::warm();
    let file = place.cache.join("status/compared");
    let whole = fs::read(&file).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&file, damaged).unwrap();
        assert_eq!(place.known(), 0, "byte {at}");
    }
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(place.known(), 0);
    place.agrees("damaged");
    let other = Place::warm();
    alter(&other.path("nodes/a.md"));
    fs::write(other.cache.join("status/compared"), &whole).unwrap();
    assert_eq!(other.known(), 0);
    other.agrees("of another vault");
    // A copy of the vault in the same place consists of other files.
    let copy = place.root.with_extension("copy");
    assert!(
        std::process::Command::new("cp").arg("-rp").args([&place.root, &copy]).status().is_ok()
    );
    fs::rename(&place.root, place.root.with_extension("old")).unwrap();
    fs::rename(&copy, &place.root).unwrap();
    fs::write(&file, &whole).unwrap();
    assert_eq!(place.known(), 0);
    place.agrees("a copy");
}

#[test]
fn status_records_nothing_while_another_process_writes_or_others_may() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::warm();
    let folder = place.cache.join("status");
    fs::remove_file(folder.join("compared")).unwrap();
    let lock = File::options().write(true).open(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    place.answer(&place.seen());
    assert_eq!(place.known(), 0);
    drop(lock);
    place.answer(&place.seen());
    assert_eq!(place.known(), DOCUMENTS.len());
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).unwrap();
    assert_eq!(place.known(), 0);
    place.agrees("others may write");
}

#[test]
fn status_is_correct_with_concurrent_processes() {
    let place = Place::warm();
    let path = place.path("nodes/a.md");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..30).for_each(|_| drop(place.answer(&place.seen()))));
        }
        scope.spawn(|| (0..200).for_each(|_| alter(&path)));
    });
    place.agrees("after even changes");
    alter(&path);
    assert!(place.agrees("after one more").contains("state: Changed"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn status_cache_changes_no_answer(steps in prop::collection::vec((0usize..5, 0u8..6), 1..14)) {
        let mut place = Place::warm();
        for (document, step) in steps {
            let id: DocumentId = DOCUMENTS[document].parse().unwrap();
            let path = id.live_path();
            let there = place.path(&path).exists();
            match step {
                0 if there => alter(&place.path(&path)),
                1 if there => exchange(&place.path(&path)),
                2 if there => fs::remove_file(place.path(&path)).unwrap(),
                3 => place.publish(),
                4 => place.warm_up(),
                _ => place.write(&path, "---\ntitle: T\n---\n# T\nText.\n"),
            }
            let read = place.answer(&Seen::default());
            prop_assert_eq!(place.answer(&place.seen()), read);
        }
    }
}
