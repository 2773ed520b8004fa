//! The index agrees with the log after any changes of the vault.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::{Index, refresh};
use crate::files::vault::Vault;
use crate::read::graph::walk::{Direction, Walk};
use crate::read::snapshot::seals;
use crate::read::snapshot::{
    Around, CheckpointSource, Known, Listed, QueryPlan, Resolution, Served, Snapshot,
};
use crate::record::audit::Recorder;
use crate::record::chain::replay;
use crate::record::checkpoint::event::Event;
use crate::record::checkpoint::log::Log;
use crate::text::selector::parse;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;
use crate::write::publish::{self, Author, Mode, Request, Which};

/// One step of a random test.
#[derive(Clone, Debug)]
enum Step {
    Write {
        document: u8,
        tag: u8,
        link: u8,
    },
    Retire {
        document: u8,
    },
    Publish,
    /// Configures another layout, which the next publication seals.
    Layout {
        word: u8,
    },
    /// Publishes without the index, as another machine does.
    Away,
    /// Updates the index, as a reader does.
    Back,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0u8..7, 0u8..4, 0u8..7).prop_map(|(document, tag, link)| Step::Write { document, tag, link }),
        1 => (0u8..7).prop_map(|document| Step::Retire { document }),
        5 => Just(Step::Publish),
        2 => (0u8..4).prop_map(|word| Step::Layout { word }),
        1 => Just(Step::Away),
        2 => Just(Step::Back),
    ];
    prop::collection::vec(step, 1..40)
}

const DOCUMENTS: [&str; 7] =
    ["nodes/a", "nodes/a/b", "nodes/ab", "nodes/z/c", "sources/s", "nodes/\u{e9}", "nodes/a/index"];

struct Place {
    _dir: tempfile::TempDir,
    vault: Vault,
    cache: PathBuf,
    now: i64,
    present: bool,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("vault");
        fs::create_dir_all(root.join(".context")).unwrap();
        fs::write(root.join("CONTEXT.md"), "# Here\n").unwrap();
        fs::create_dir_all(root.join("nodes")).unwrap();
        fs::create_dir_all(root.join("packs")).unwrap();
        fs::write(root.join("packs/p.yml"), "id: p\nquery: '#t0 | #t1 | #t2'\n").unwrap();
        let cache = dir.path().join("cache");
        let vault = Vault::open(&root).unwrap().with_cache(Some(cache.clone()));
        Self { _dir: dir, vault, cache, now: 1_800_000_000_000, present: true }
    }

    fn author(&mut self) -> Author {
        self.now += 1000;
        let (principal, now) =
            ("ana@example.com".parse().unwrap(), Timestamp::from_millis(self.now));
        Author { principal, author: None, now, note: None, recorder: Recorder::default() }
    }

    fn step(&mut self, step: &Step) {
        let author = self.author();
        // An absent machine publishes without this cache.
        let away = Vault::open(self.vault.root()).unwrap();
        let vault = if self.present { &self.vault } else { &away };
        match *step {
            Step::Write { document, tag, link } => {
                let id = DOCUMENTS[usize::from(document)];
                let source = if id.starts_with("sources") {
                    "type: source\nsource: {transport: rest, server: s1, tools: [t]}\n"
                } else {
                    ""
                };
                let link = DOCUMENTS[usize::from(link)];
                let text = format!(
                    "---\ntitle: T\ntags: [t{tag}, all]\naliases: [one, b{tag}]\n{source}---\n# H\n\
                     [x](/{link}.md) [y](/{link}/) [z](/a/) [[{}]] [[{}]] {}\n\n#h{tag} #all %%#t0%%\n",
                    ["b", "c", "A", "none"][usize::from(tag)],
                    ["b1", "B0", "One", "b3"][usize::from(tag)],
                    self.now
                );
                let path = self.vault.root().join(format!("{id}.md"));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Step::Layout { word } => {
                let layout =
                    ["layout: obsidian\n", "layout: structured\n", "", "links: {/: nodes/}\n"]
                        [usize::from(word)];
                let path = self.vault.root().join(".context/config.yaml");
                fs::write(path, format!("name: V\n{layout}")).unwrap();
            }
            Step::Away => {
                self.present = false;
            }
            Step::Back => {
                self.present = true;
                self.refresh();
            }
            Step::Publish => {
                let request = Request {
                    author,
                    which: Which::All,
                    mode: Mode { skip_invalid: true, ..Mode::default() },
                };
                publish::publish(vault, &request).unwrap();
            }
            Step::Retire { document } => {
                let id: DocumentId = DOCUMENTS[usize::from(document)].parse().unwrap();
                // Retiring a document that was never published fails.
                let _ = publish::retire(vault, &[id], (&author, Mode::default()), None);
            }
        }
    }

    fn refresh(&self) -> Option<Index> {
        let log = Log::read(&self.vault).unwrap();
        refresh(&self.cache, &self.vault, &log.sound().unwrap(), &mut |_, _| ())
    }
}

const SELECTORS: [&str; 12] = [
    "#h1 | #h2 - #t2",
    "#all - #h0",
    "pack:p - #t2",
    "#all",
    "#t1 | #t2",
    "#all - #t1",
    "#t3 + contextnest://nodes/",
    "contextnest://nodes/a",
    "contextnest://nodes/a/ | type:source",
    "status:published - transport:rest",
    "server:s1 + #t0",
    "(#t0 | #t1) - contextnest://nodes/z/",
];

fn said(resolution: &Resolution) -> Vec<(String, Version, String)> {
    let documents = resolution.documents.iter();
    let shown = |d: &Served| d.shown(d.body_range()).0.into_owned();
    documents.map(|d| (d.id.to_string(), d.entry.version, shown(d))).collect()
}

fn plan(snapshot: &Snapshot<'_>, text: &str) -> QueryPlan {
    QueryPlan::new(&parse(text).unwrap(), snapshot, &mut |query| Err(query.to_owned())).unwrap()
}

fn ask(snapshot: &Snapshot<'_>, text: &str) -> Resolution {
    snapshot.resolve(&plan(snapshot, text)).unwrap()
}

fn explained(snapshot: &Snapshot<'_>, text: &str) -> String {
    let plan = plan(snapshot, text);
    let (tree, cost, _) = snapshot.explain(&plan).unwrap();
    let known = snapshot.known(Known::Tags).unwrap();
    format!("{tree:?} {cost:?} {known:?} {}", snapshot.count(&plan).unwrap())
}

fn counted(snapshot: &Snapshot<'_>) -> String {
    format!("{:?}", snapshot.overview().unwrap())
}

fn listed(snapshot: &Snapshot<'_>) -> Vec<Listed> {
    snapshot.listing().unwrap().documents
}

/// Compares all questions at every checkpoint.
fn compare(vault: &Vault, index: Index, rebuilt: Index) {
    let dir = &index.dir.clone();
    let log = Log::read(vault).unwrap();
    let chronicle = log.sound().unwrap();
    let events: Vec<Event> = chronicle.checkpoints().iter().map(|c| Event::from(*c)).collect();
    assert_eq!((index.events(), rebuilt.events()), (Ok(events.clone()), Ok(events)));
    let (index, rebuilt) = (CheckpointSource::from(index), CheckpointSource::from(rebuilt));
    for number in CheckpointNumber::sequence().take(chronicle.checkpoints().len()) {
        let by_log = Snapshot::at(vault, &chronicle, Some(number)).unwrap();
        for source in [&index, &rebuilt] {
            let by_index = Snapshot::of(vault, source, Some(number)).unwrap();
            assert_eq!(by_index.state().unwrap(), by_log.state().unwrap(), "at {number}");
            assert_eq!(by_index.made_at(), by_log.made_at());
            assert_eq!(counted(&by_index), counted(&by_log), "at {number}");
            assert_eq!(listed(&by_index), listed(&by_log), "at {number}");
            for id in DOCUMENTS.map(|id| id.parse::<DocumentId>().unwrap()) {
                if let Ok(history) = replay::load(vault.files(), &id) {
                    let found = source.seals(vault, &id, &history).unwrap();
                    assert_eq!(found, seals::of_log(&chronicle, &id, &history), "{id}");
                }
                let walk = Walk { hops: 2, direction: Direction::Both, kind: None, limit: 99 };
                let (found, expected) = (by_index.around(&id, &walk), by_log.around(&id, &walk));
                let said = |around: Option<Around>| around.map(|a| (a.found, a.withheld.len()));
                assert_eq!(said(found.unwrap()), said(expected.unwrap()), "around {id}");
            }
            for text in SELECTORS {
                let (found, expected) = (ask(&by_index, text), ask(&by_log, text));
                assert_eq!(said(&found), said(&expected), "{text}");
                assert_eq!(explained(&by_index, text), explained(&by_log, text), "{text}");
                assert!(found.withheld.is_empty(), "{:?}", found.withheld);
            }
        }
    }
    assert!(Index::open(dir, vault).is_some(), "a question took the index away");
}

fn fresh(place: &Place) -> Index {
    let elsewhere = place.cache.with_file_name("elsewhere");
    let _ = fs::remove_dir_all(&elsewhere);
    let log = Log::read(&place.vault).unwrap();
    refresh(&elsewhere, &place.vault, &log.sound().unwrap(), &mut |_, _| ()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn index_answers_like_the_log(steps in steps()) {
        let mut place = Place::new();
        for step in &steps {
            place.step(step);
        }
        if let Some(index) = place.refresh() {
            let rebuilt = fresh(&place);
            compare(&place.vault, index, rebuilt);
        }
    }
}

fn published() -> Place {
    let mut place = Place::new();
    for document in 0..6 {
        place.step(&Step::Write { document, tag: document % 4, link: 0 });
        place.step(&Step::Publish);
    }
    place.refresh().unwrap();
    place
}

#[test]
fn index_keeps_few_segments_for_many_events() {
    let mut place = published();
    for n in 0..40 {
        place.step(&Step::Write { document: n % 6, tag: n % 4, link: 1 });
        place.step(&Step::Publish);
    }
    let index = Index::open(&place.cache, &place.vault).expect("publications keep it up to date");
    assert!(index.segments.len() <= 5, "{:?}", index.manifest.segments);
    let files = fs::read_dir(&place.cache).unwrap().count();
    assert_eq!(files, index.segments.len() + 2, "what is not used is removed");
    let rebuilt = fresh(&place);
    compare(&place.vault, index, rebuilt);
}

#[test]
fn index_of_another_log_is_not_opened() {
    let mut place = published();
    assert!(Index::open(&place.cache, &place.vault).is_some());
    let log = place.vault.root().join(".versions/checkpoints.jsonl");
    let whole = fs::read(&log).unwrap();
    let other = published();
    let foreign = fs::read(other.vault.root().join(".versions/checkpoints.jsonl")).unwrap();
    let cut = whole.iter().rposition(|b| *b == b'"').unwrap();
    for bytes in [&whole[..cut], &[], &[&whole[..], b"x"].concat(), &foreign[1..]] {
        fs::write(&log, bytes).unwrap();
        assert!(Index::open(&place.cache, &place.vault).is_none());
    }
    fs::write(&log, &whole).unwrap();
    assert!(Index::open(&place.cache, &place.vault).is_none(), "another process touched the log");
    assert!(place.refresh().is_some(), "it is the same log all the same");
    // The log continues elsewhere, from a head that this index knows.
    place.present = false;
    place.step(&Step::Write { document: 0, tag: 3, link: 0 });
    place.step(&Step::Publish);
    assert!(Index::open(&place.cache, &place.vault).is_none());
}

#[test]
fn index_has_one_writer_at_a_time() {
    let place = published();
    let held = super::build::lock(&place.cache).unwrap().unwrap();
    let log = Log::read(&place.vault).unwrap();
    assert!(refresh(&place.cache, &place.vault, &log.sound().unwrap(), &mut |_, _| ()).is_none());
    drop(held);
    assert!(place.refresh().is_some());
}

/// Alters or cuts every byte of every file of the index: the answer is that of the log.
#[test]
fn index_damage_never_changes_an_answer() {
    let place = published();
    let log = Log::read(&place.vault).unwrap();
    let by_log = Snapshot::at(&place.vault, &log.sound().unwrap(), None).unwrap();
    let expected: Vec<_> = SELECTORS.iter().map(|text| said(&ask(&by_log, text))).collect();
    let names: Vec<_> = fs::read_dir(&place.cache).unwrap().map(|e| e.unwrap().path()).collect();
    let whole: Vec<Vec<u8>> = names.iter().map(|path| fs::read(path).unwrap()).collect();
    let check = |what: &str| {
        if let Some(index) = Index::open(&place.cache, &place.vault) {
            let source = CheckpointSource::from(index);
            let snapshot = Snapshot::of(&place.vault, &source, None);
            for (text, expected) in SELECTORS.iter().zip(&expected) {
                let Ok(snapshot) = &snapshot else { break };
                let found = ask(snapshot, text);
                assert_eq!(&said(&found), expected, "{what}, {text}");
            }
        }
    };
    let restore = || {
        for (path, bytes) in names.iter().zip(&whole) {
            fs::write(path, bytes).unwrap();
        }
    };
    for (path, bytes) in names.iter().zip(&whole) {
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 150) {
            let mut altered = bytes.clone();
            altered[at] ^= 1 << (at % 8);
            fs::write(path, &altered).unwrap();
            check(&format!("{} with byte {at} altered", path.display()));
            restore();
            fs::write(path, &bytes[..at]).unwrap();
            check(&format!("{} cut at {at}", path.display()));
            restore();
        }
        fs::remove_file(path).unwrap();
        check(&format!("{} removed", path.display()));
        restore();
    }
    assert!(Index::open(&place.cache, &place.vault).is_some());
}

#[test]
fn index_never_serves_a_forged_row() {
    // Rows of another vault whose documents have the same ids, under the manifest of this vault.
    let (place, other) = (published(), published());
    let segments = |place: &Place| -> Vec<PathBuf> {
        let files = fs::read_dir(&place.cache).unwrap().map(|e| e.unwrap().path());
        let is_segment = |path: &PathBuf| path.extension().is_some_and(|e| e == "segment");
        let mut found: Vec<_> = files.filter(is_segment).collect();
        found.sort();
        found
    };
    let (ours, theirs) = (segments(&place), segments(&other));
    assert!(!ours.is_empty() && ours.len() == theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        fs::copy(theirs, ours).unwrap();
    }
    let Some(index) = Index::open(&place.cache, &place.vault) else { return };
    let source = CheckpointSource::from(index);
    let snapshot = Snapshot::of(&place.vault, &source, None).unwrap();
    let found = ask(&snapshot, "#all");
    let ours = Log::read(&place.vault).unwrap();
    let by_log = Snapshot::at(&place.vault, &ours.sound().unwrap(), None).unwrap();
    let texts = said(&ask(&by_log, "#all"));
    assert!(said(&found).iter().all(|document| texts.contains(document)));
}
