//! Determinism: the same questions, again and again, in fresh processes and two vaults.
//!
//! The vaults contain the same documents, whose files were made in different order. One has an
//! index that followed every event, in the other the index was made at the end; the other also has
//! unpublished edits. Some of the processes find no index. Answers are compared as bytes, and the
//! sets of ids over all pairs of processes, vaults and caches mixed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Options;
use crate::corpus::{self, Document, Draw};
use crate::process::{Result, command, head, median, ms, output, row};
use crate::queries::{Query, searches, selectors};

const SEED: u64 = 42;
/// Publications after the first; each edits a part of the documents.
const LATER_EVENTS: usize = 3;

/// Runs the experiment, prints its table, and returns the claims that failed.
pub(crate) fn run(options: &Options) -> Result<Vec<String>> {
    let corpus: Vec<Document> = corpus::documents(options.services, SEED).collect();
    let reversed: Vec<usize> = (0..corpus.len()).rev().collect();
    let a = Vault { root: options.dir.join("a"), cache: options.dir.join("cache-a") };
    let b = Vault { root: options.dir.join("b"), cache: options.dir.join("cache-b") };
    eprintln!("e2: two vaults of {} documents", corpus.len());
    a.make(&corpus, &shuffled(corpus.len()), true)?;
    b.make(&corpus, &reversed, false)?;
    leave_unpublished(&b, &corpus)?;
    let mut broken = Vec::new();
    let log = |vault: &Vault| fs::read(vault.root.join(".versions/checkpoints.jsonl"));
    if log(&a)? != log(&b)? {
        broken.push("the logs of the two vaults differ".to_owned());
    }

    let vaults = [a, b];
    let mut table = String::new();
    head(
        &mut table,
        "arm | class | queries | not empty | processes | of these without an index | most distinct outputs of a query \
         | mean Jaccard | min Jaccard | median, warm | median, without",
    );
    let arms = [
        ("selector", selectors(&corpus, options.queries, SEED)),
        ("search", searches(&corpus, options.queries, SEED)),
    ];
    let began = Instant::now();
    for ((arm, queries), cold) in arms.iter().zip(options.cold) {
        eprintln!("e2: {arm}, {} queries", queries.len());
        let asked = ask(options, &vaults, queries, cold)?;
        let mut classes: BTreeMap<&str, Vec<&Asked>> = BTreeMap::new();
        for (query, asked) in queries.iter().zip(&asked) {
            classes.entry(query.class).or_default().push(asked);
            if asked.outputs.len() != 1 {
                broken.push(format!("`ctx {}` has several answers", query.args.join(" ")));
            }
        }
        let all = Row::of(&asked.iter().collect::<Vec<_>>());
        if all.mean < 1.0 {
            broken.push(format!("{arm}: the mean Jaccard is {}", all.mean));
        }
        if all.not_empty * 2 <= all.queries {
            broken.push(format!("{arm}: most answers are empty, which shows nothing"));
        }
        for (class, asked) in &classes {
            row(&mut table, &Row::of(asked).cells(arm, class));
        }
        row(&mut table, &all.cells(arm, "**all**"));
    }
    println!("{table}");
    println!(
        "{} documents, {} repetitions in each of two vaults, {:.0} s.\n",
        corpus.len(),
        options.repetitions,
        began.elapsed().as_secs_f64()
    );
    Ok(broken)
}

struct Vault {
    root: PathBuf,
    cache: PathBuf,
}

impl Vault {
    /// Makes the files in this order and publishes them, edits of them, two retirements and a move.
    fn make(&self, corpus: &[Document], order: &[usize], index_follows: bool) -> Result<()> {
        for at in order {
            let path = self.root.join(format!("{}.md", corpus[*at].id));
            fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
            fs::write(path, &corpus[*at].text)?;
        }
        self.ctx(0, &["init", ".", "--name", "Services"])?;
        self.ctx(0, &["publish", "--all", "--no-sync"])?;
        for event in 1..=LATER_EVENTS {
            if index_follows {
                self.ctx(event, &["resolve", "#runbook"])?;
                self.ctx(event, &["search", "rollback"])?;
            }
            for at in order.iter().filter(|at| Draw::new(SEED, event, **at).below(8) == 0) {
                append(&self.root, &corpus[*at].id, &format!("- Read again, round {event}."))?;
            }
            self.ctx(event, &["publish", "--changed", "--no-sync"])?;
        }
        self.ctx(LATER_EVENTS + 1, &["retire", &corpus[3].id, &corpus[14].id])?;
        self.ctx(LATER_EVENTS + 2, &["mv", &corpus[25].id, "nodes/moved/to-here"])
    }

    fn ctx(&self, event: usize, args: &[&str]) -> Result<()> {
        let mut command = command(&self.root, args);
        command.env("CTX_NOW", format!("2026-01-01T00:00:{event:02}.000Z"));
        output(command.env("XDG_CACHE_HOME", &self.cache)).map(drop)
    }
}

/// Adds drafts and unpublished edits, which no answer may depend on.
fn leave_unpublished(vault: &Vault, corpus: &[Document]) -> Result<()> {
    for document in corpus.iter().step_by(31).filter(|document| document.id != corpus[25].id) {
        append(&vault.root, &document.id, "- An edit about rollback that was never published.")?;
    }
    let draft = corpus[0].text.replace("title: ", "title: Draft of a ");
    Ok(fs::write(vault.root.join("nodes/draft.md"), draft)?)
}

fn append(root: &Path, id: &str, line: &str) -> Result<()> {
    let mut file = OpenOptions::new().append(true).open(root.join(format!("{id}.md")))?;
    Ok(writeln!(file, "{line}")?)
}

fn shuffled(count: usize) -> Vec<usize> {
    let mut draw = Draw::new(SEED, 0, 0);
    let mut order: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, draw.below(at + 1));
    }
    order
}

/// The cache of a process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cache {
    Warm,
    /// The process lacks a directory for caches.
    None,
    /// The process has an empty directory of its own.
    Fresh,
}

impl Cache {
    /// The first repetitions are warm; of the others, one in five has an empty cache.
    fn of(repetition: usize, repetitions: usize, cold: usize) -> Self {
        let is_warm = repetition * 100 < repetitions * (100 - cold);
        match (is_warm, (repetitions - repetition) % 5) {
            (true, _) => Self::Warm,
            (false, 1) => Self::Fresh,
            (false, _) => Self::None,
        }
    }
}

/// All answers to one query.
#[derive(Default)]
struct Asked {
    /// Each distinct output, with the number of processes that returned it.
    outputs: Vec<(Answer, usize)>,
    warm: Vec<Duration>,
    cold: Vec<Duration>,
}

#[derive(PartialEq, Eq)]
struct Answer {
    exit: Option<i32>,
    stdout: Vec<u8>,
}

impl Answer {
    /// Returns the documents, with the sections that were found; empty without an answer.
    fn ids(&self) -> BTreeSet<String> {
        let json: Value = serde_json::from_slice(&self.stdout).unwrap_or_default();
        let rows = ["documents", "hits"].into_iter().filter_map(|key| json[key].as_array());
        rows.flatten().map(|row| format!("{}#{}", row["id"], row["anchor"])).collect()
    }
}

/// Asks every query repeatedly in both vaults, on all cores.
fn ask(
    options: &Options,
    vaults: &[Vault; 2],
    queries: &[Query],
    cold: usize,
) -> Result<Vec<Asked>> {
    let asked: Vec<Mutex<Asked>> = queries.iter().map(|_| Mutex::default()).collect();
    let jobs = queries.len() * vaults.len() * options.repetitions;
    let next = AtomicUsize::new(0);
    let work = || -> std::result::Result<(), String> {
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                return Ok(());
            }
            // The queries take turns, so that the processes of one are far apart.
            let (query, turn) = (job % queries.len(), job / queries.len());
            let (vault, repetition) = (&vaults[turn % vaults.len()], turn / vaults.len());
            let cache = Cache::of(repetition, options.repetitions, cold);
            let fresh = options.dir.join(format!("cache-{job}"));
            let mut command = command(&vault.root, &queries[query].args);
            command.env_remove("HOME").env_remove("XDG_CACHE_HOME").env_remove("CTX_NOW");
            match cache {
                Cache::Warm => command.env("XDG_CACHE_HOME", &vault.cache),
                Cache::Fresh => command.env("XDG_CACHE_HOME", &fresh),
                Cache::None => &mut command,
            };
            let began = Instant::now();
            let output = command.output().map_err(|why| why.to_string())?;
            let took = began.elapsed();
            if cache == Cache::Fresh && fresh.exists() {
                fs::remove_dir_all(&fresh).map_err(|why| format!("{}: {why}", fresh.display()))?;
            }
            let answer = Answer { exit: output.status.code(), stdout: output.stdout };
            let mut asked = asked[query].lock().map_err(|why| why.to_string())?;
            if cache == Cache::Warm { &mut asked.warm } else { &mut asked.cold }.push(took);
            match asked.outputs.iter_mut().find(|(known, _)| *known == answer) {
                Some((_, count)) => *count += 1,
                None => asked.outputs.push((answer, 1)),
            }
        }
    };
    let cores = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Err("panic".into())))
    })?;
    asked.into_iter().map(|one| Ok(one.into_inner().map_err(|why| why.to_string())?)).collect()
}

/// A line of the table.
struct Row {
    queries: usize,
    not_empty: usize,
    processes: usize,
    without_index: usize,
    distinct: usize,
    mean: f64,
    min: f64,
    warm: Duration,
    cold: Duration,
}

impl Row {
    fn of(asked: &[&Asked]) -> Self {
        let jaccards: Vec<(f64, f64)> = asked.iter().map(|one| jaccard(&one.outputs)).collect();
        let not_empty =
            |one: &&&Asked| one.outputs.iter().all(|(answer, _)| !answer.ids().is_empty());
        let processes = |one: &&Asked| one.outputs.iter().map(|(_, count)| count).sum::<usize>();
        Self {
            queries: asked.len(),
            not_empty: asked.iter().filter(not_empty).count(),
            processes: asked.iter().map(processes).sum(),
            without_index: asked.iter().map(|one| one.cold.len()).sum(),
            distinct: asked.iter().map(|one| one.outputs.len()).max().unwrap_or(0),
            mean: jaccards.iter().map(|(mean, _)| mean).sum::<f64>() / asked.len() as f64,
            min: jaccards.iter().map(|(_, min)| *min).fold(1.0, f64::min),
            warm: median(asked.iter().flat_map(|one| one.warm.clone()).collect()),
            cold: median(asked.iter().flat_map(|one| one.cold.clone()).collect()),
        }
    }

    fn cells(&self, arm: &str, class: &str) -> Vec<String> {
        vec![
            arm.to_owned(),
            class.to_owned(),
            self.queries.to_string(),
            self.not_empty.to_string(),
            self.processes.to_string(),
            self.without_index.to_string(),
            self.distinct.to_string(),
            format!("{:.3}", self.mean),
            format!("{:.3}", self.min),
            ms(self.warm),
            ms(self.cold),
        ]
    }
}

/// Returns the mean and least Jaccard similarity of the sets of ids over all pairs of processes.
fn jaccard(outputs: &[(Answer, usize)]) -> (f64, f64) {
    let sets: Vec<(BTreeSet<String>, usize)> =
        outputs.iter().map(|(answer, count)| (answer.ids(), *count)).collect();
    let (mut sum, mut pairs, mut min) = (0.0, 0.0, 1.0_f64);
    for (at, (left, n)) in sets.iter().enumerate() {
        for (other, (right, m)) in sets.iter().enumerate().skip(at) {
            let (shared, all) = (left.intersection(right).count(), left.union(right).count());
            let similarity = if all == 0 { 1.0 } else { shared as f64 / all as f64 };
            let (n, m) = (*n as f64, *m as f64);
            // Pairs of processes with the same output, or with one output each.
            let count = if other == at { n * (n - 1.0) / 2.0 } else { n * m };
            if count > 0.0 {
                (sum, pairs, min) = (sum + similarity * count, pairs + count, min.min(similarity));
            }
        }
    }
    if pairs > 0.0 { (sum / pairs, min) } else { (1.0, 1.0) }
}
