//! No false alarm: after honest commands and edits of any kind, `ctx verify` calls nothing damaged
//! or unsettled, and names exactly the live files that differ.
//!
//! Histories are drawn by a seed: `steps` has the actions in a vault, `git` those in its
//! repository, `places` copies and crashes, `governed` reviews in a copy, `shared` the reference
//! implementation in the same vault. `scene` keeps the expected state and compares each report
//! with it.

mod git;
mod governed;
mod places;
mod scene;
mod shared;
mod steps;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub(crate) use scene::Kind;
use scene::{CONFIG, Model, Scene, Tally, normal};
use steps::Step;

use crate::Options;
use crate::corpus::Draw;
use crate::inside::{Person, copy, files, scratch, write};
use crate::process::{Result, head, row};

const HISTORIES: u64 = 1000;
const QUICK: u64 = 30;
const BRIEF: u64 = 9;
/// Time of the first event: 2026-01-01.
const BEGIN: i64 = 1_767_225_600_000;
/// Maximum number of printed alarms: more are not informative.
const SHOWN: usize = 20;

/// Runs the experiment, prints its tables, and returns the claims that failed.
pub(crate) fn run(options: &Options) -> Result<Vec<String>> {
    let began = Instant::now();
    let seeds = match options.seed {
        Some(seed) => seed..seed + 1,
        None => 0..options.size((HISTORIES, QUICK, BRIEF)),
    };
    let (count, last) = (seeds.end - seeds.start, seeds.end);
    eprintln!("honest: {count} histories");
    let dir = scratch(&options.dir)?;
    let next = AtomicU64::new(seeds.start);
    let all = Mutex::new((Tally::default(), Vec::new()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= last {
                return;
            }
            let base = dir.path().join(seed.to_string());
            let (tally, alarm) = one(seed, &base, options.seed.is_some());
            let _ = fs::remove_dir_all(&base);
            let mut all = all.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            all.0.add(tally);
            all.1.extend(alarm.map(|why| format!("--seed {seed}: {why}")));
        }
    };
    let cores = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    let (tally, mut alarms) = all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    tally.print(count, began.elapsed().as_secs_f64());
    let more = alarms.len().saturating_sub(SHOWN);
    alarms.truncate(SHOWN);
    if more > 0 {
        alarms.push(format!("and {more} more alarms"));
    }
    Ok(alarms)
}

/// Runs one history; returns its counts, and the step that failed.
fn one(seed: u64, base: &Path, talks: bool) -> (Tally, Option<String>) {
    let kind = Kind::ALL[usize::try_from(seed % 3).unwrap_or(0)];
    let person =
        Person { home: Some(base.join("home")), principal: "ana@example.com".into(), now: BEGIN };
    let mut scene = Scene {
        kind,
        draw: Draw::new(seed, 0, 0),
        person,
        base: base.to_owned(),
        root: base.join("vault"),
        model: Model::default(),
        git: None,
        backup: None,
        latest: BEGIN,
        over: false,
        counter: 0,
        tally: Tally::default(),
    };
    let mut place = "the beginning".to_owned();
    let told = catch_unwind(AssertUnwindSafe(|| live(&mut scene, &mut place, talks)));
    let alarm = match told {
        Ok(Ok(())) => None,
        Ok(Err(why)) => Some(format!("{} vault, {place}: {why}", kind.word())),
        Err(_) => Some(format!("{} vault, {place}: panic", kind.word())),
    };
    (scene.tally, alarm)
}

fn live(scene: &mut Scene, place: &mut String, talks: bool) -> Result<()> {
    begin(scene)?;
    scene.verify()?;
    let steps = 10 + scene.draw.below(51);
    let with_git = scene.draw.below(3) == 0;
    for n in 1..=steps {
        scene.pass_time();
        let (name, step) = chosen(scene, with_git && n > 3);
        *place = format!("step {n}, {name}");
        if talks {
            eprintln!("{place}, {} at {}", scene.person.principal, scene.person.now);
        }
        if step(scene)? {
            *scene.tally.steps.entry((name, scene.kind)).or_default() += 1;
        }
        scene.verify()?;
        if scene.over {
            return Ok(());
        }
    }
    *place = "the end".to_owned();
    scene.verify_without_trusted_head()
}

/// Makes the initial vault of its kind.
fn begin(scene: &mut Scene) -> Result<()> {
    if scene.kind == Kind::Interop {
        let fixture = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .join("fixtures/interop/procurement");
        copy(&fixture, &scene.root)?;
        // The reference implementation wrote it in November.
        scene.person.now = BEGIN + 365 * 24 * 3_600_000;
        scene.latest = scene.person.now;
        for path in files(&scene.root)? {
            if path.contains(".versions/") || !path.ends_with(".md") || !path.contains('/') {
                continue;
            }
            let text = normal(&fs::read(scene.root.join(&path))?);
            scene.model.sealed.insert(path.trim_end_matches(".md").to_owned(), text);
        }
        // In half of them, git's user configured line ends.
        if scene.draw.below(2) == 0 {
            write(&scene.root, ".gitattributes", "**/.versions/** -text -whitespace\n")?;
        }
        return Ok(());
    }
    fs::create_dir_all(&scene.root)?;
    let root = scene.root.clone();
    scene.person.done(&root, &["init", ".", "--name", "Test", "--layout", "structured"])?;
    if scene.kind == Kind::Full || scene.draw.below(2) == 0 {
        let text = steps::configuration(scene);
        write(&scene.root, CONFIG, text)?;
    }
    for _ in 0..=scene.draw.below(5) {
        let text = steps::document(scene);
        let path = format!("nodes/first{}.md", scene.number());
        write(&scene.root, &path, text)?;
    }
    Ok(())
}

/// Returns the next step, by the weights of the possible ones.
fn chosen(scene: &mut Scene, with_git: bool) -> (&'static str, Step) {
    let mut possible: Vec<(&'static str, usize, Step)> = steps::STEPS.to_vec();
    possible.extend(places::STEPS);
    possible.push(governed::STEP);
    if shared::is_possible(scene.kind) {
        possible.extend(shared::STEPS);
    }
    match (with_git, scene.git.is_some()) {
        (true, true) => possible.extend(git::STEPS),
        (true, false) => possible.push(("git init", 20, git::init)),
        (false, _) => {}
    }
    let mut at = scene.draw.below(possible.iter().map(|(_, weight, _)| weight).sum());
    for (name, weight, step) in possible {
        if at < weight {
            return (name, step);
        }
        at -= weight;
    }
    steps::STEPS.first().map(|(name, _, step)| (*name, *step)).unwrap_or(("", |_| Ok(false)))
}

impl Tally {
    fn add(&mut self, other: Self) {
        fn merge<K: Ord>(into: &mut BTreeMap<K, usize>, from: BTreeMap<K, usize>) {
            for (key, count) in from {
                *into.entry(key).or_default() += count;
            }
        }
        merge(&mut self.steps, other.steps);
        merge(&mut self.findings, other.findings);
        merge(&mut self.refused, other.refused);
        self.verifications += other.verifications;
        self.without_trusted_head += other.without_trusted_head;
    }

    fn print(&self, histories: u64, seconds: f64) {
        let mut table = String::new();
        head(&mut table, "step | delta | full | reference");
        let names: std::collections::BTreeSet<&str> = self.steps.keys().map(|(n, _)| *n).collect();
        let count = |name, kind| self.steps.get(&(name, kind)).copied().unwrap_or(0);
        for name in names {
            let counts = Kind::ALL.map(|kind| count(name, kind).to_string());
            row(&mut table, &[&[name.to_owned()][..], &counts].concat());
        }
        let sum = |kind| -> usize {
            self.steps.iter().filter(|((_, k), _)| *k == kind).map(|(_, n)| n).sum()
        };
        let sums = Kind::ALL.map(|kind| sum(kind).to_string());
        row(&mut table, &[&["**all**".to_owned()][..], &sums].concat());
        println!("{table}");
        let mut table = String::new();
        head(&mut table, "class | finding | times");
        for ((class, code), count) in &self.findings {
            row(&mut table, &[class.clone(), format!("`{code}`"), count.to_string()]);
        }
        println!("{table}");
        let refused: Vec<String> =
            self.refused.iter().map(|(code, count)| format!("`{code}` {count}")).collect();
        println!(
            "{histories} histories, {} steps, {} verifications with a trusted head and {} without; {seconds:.0} s. \
             Refused publications: {}.\n",
            self.steps.values().sum::<usize>(),
            self.verifications,
            self.without_trusted_head,
            refused.join(", ")
        );
    }
}
