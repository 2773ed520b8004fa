//! `cargo bench --bench selection`: the cost of finding and serving a few documents of many.
//!
//! Every figure but one is the wall time of a whole `ctx` process on a warm page cache, the median
//! of several, compared with the floor of the same run: the start of a process that does nothing.
//! The exception is the evaluation of a selector alone, inside one process. The corpus is that of
//! the ContextNest paper, §11.3. The result is Markdown on stdout, as in `docs/benchmarks.md`.
//!
//! ```text
//! cargo bench --bench selection -- [--sizes 100,1000,10000,100000] [--dir DIR] [--quick]
//! ```

#![allow(clippy::disallowed_methods, reason = "the bench reads its own clock and its own files")]
#![allow(clippy::disallowed_macros, reason = "the tables are this program's result")]

#[path = "corpus.rs"]
mod corpus;
#[path = "process.rs"]
mod process;

use std::fs::{self, OpenOptions};
use std::hint::black_box;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use contextnest::files::vault::{Vault, outside};
use contextnest::read::snapshot::{CheckpointSource, Need, QueryPlan, Snapshot};
use contextnest::text::selector::parse;

use process::{
    Options, Result, cache_of, ctx, head, median, median_of, ms, output, peak_memory, row, timed,
};

const SEED: u64 = 42;
/// Three terms that select one document of any size of the corpus.
const SELECTOR: &str = "#runbook #deploy #payments-service";
const DOCUMENT: &str = "nodes/deploy/payments-service";
/// Two words: one of a service, one of a tenth of all documents.
const WORDS: [&str; 2] = ["payments", "rollback"];
/// Publications of one document after the import: the past that is resolved.
const EVENTS: usize = 20;
/// From this size on, the slow commands are not measured.
const LARGE: usize = 200_000;

fn main() -> Result<()> {
    let options = Options::read(std::env::args().skip(1), &[100, 1_000, 10_000, 100_000])?;
    let measured: Result<Vec<Figures>> = options
        .in_folder(|options| options.sizes.iter().map(|n| measure(options, *n)).collect())?;
    print!("{}", tables(&measured?));
    Ok(())
}

/// The figures of one size.
struct Figures {
    documents: usize,
    import: Duration,
    disk: u64,
    log: u64,
    start: Duration,
    first: Duration,
    first_peak: Option<u64>,
    index: u64,
    resolve: Duration,
    peak: Option<u64>,
    /// Without a cache directory.
    without: Option<Duration>,
    read: Duration,
    neighbors: Duration,
    search_first: Duration,
    search: Duration,
    search_index: u64,
    /// Times of resolutions in the past: the median, and the 99th percentile.
    at: [Duration; 2],
    evaluate: Duration,
}

fn measure(options: &Options, size: usize) -> Result<Figures> {
    let n = options.repetitions;
    let root = options.dir.join(size.to_string());
    let documents = corpus::write(&root, size.div_ceil(corpus::TEMPLATES), SEED)?;
    ctx(&root, &["init", ".", "--name", "Services"])?;
    eprintln!("{documents} documents: import");
    let import = timed(|| ctx(&root, &["publish", "--all", "--no-sync"]))?;
    let (disk, log) =
        (disk_use(&root)?, root.join(".versions/checkpoints.jsonl").metadata()?.len());
    // The import makes an index if that is cheap; here its making is measured.
    let _ = fs::remove_dir_all(cache_of(&root));
    eprintln!("{documents} documents: first questions");
    let first = timed(|| ctx(&root, &["resolve", SELECTOR]))?;
    fs::remove_dir_all(cache_of(&root))?;
    let first_peak = peak_memory(&root, &["resolve", SELECTOR]);
    for round in 0..EVENTS {
        let mut file = OpenOptions::new().append(true).open(root.join(format!("{DOCUMENT}.md")))?;
        writeln!(file, "- Read again in round {round:02}.")?;
        ctx(&root, &["publish", DOCUMENT, "--no-sync"])?;
    }
    let index = disk_use(&cache_of(&root))?;
    let search = [&["search"][..], &WORDS].concat();
    let search_first = timed(|| ctx(&root, &search))?;
    eprintln!("{documents} documents: warm questions");
    let run = |args: &[&str]| median_of(n, || ctx(&root, args));
    let mut past: Vec<Duration> = Vec::new();
    for sample in 0..options.samples {
        let number = (sample % (EVENTS + 1) + 1).to_string();
        past.push(timed(|| ctx(&root, &["resolve", SELECTOR, "--at", &number]))?);
    }
    past.sort_unstable();
    Ok(Figures {
        documents,
        import,
        disk,
        log,
        start: run(&["--version"])?,
        first,
        first_peak,
        index,
        resolve: run(&["resolve", SELECTOR])?,
        peak: peak_memory(&root, &["resolve", SELECTOR]),
        without: without_cache(&root, size)?,
        read: run(&["read", DOCUMENT])?,
        neighbors: run(&["neighbors", DOCUMENT, "--hops", "2"])?,
        search_first,
        search: run(&search)?,
        search_index: disk_use(&cache_of(&root))?.saturating_sub(index),
        at: [past[past.len() / 2], past[past.len() * 99 / 100]],
        evaluate: evaluate(&root)?,
    })
}

/// Returns the time of one resolution that reads every document.
fn without_cache(root: &Path, size: usize) -> Result<Option<Duration>> {
    if size >= LARGE {
        return Ok(None);
    }
    let mut command = process::command(root, &["resolve", SELECTOR]);
    command.env_remove("XDG_CACHE_HOME").env_remove("HOME");
    timed(|| output(&mut command).map(drop)).map(Some)
}

/// Returns the time of the set algebra inside one process, with posting lists read from the map.
fn evaluate(root: &Path) -> Result<Duration> {
    let folder = outside::folder_of(&cache_of(root), &root.canonicalize()?, None);
    let vault = Vault::open(root)?.with_cache(Some(folder));
    let source = CheckpointSource::open(&vault, Need::Fields, &mut |_, _| ())?;
    let snapshot = Snapshot::of(&vault, &source, None)?;
    let plan = QueryPlan::new(&parse(SELECTOR)?, &snapshot, &mut |query| Err(query.to_owned()))?;
    let mut times = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        black_box(snapshot.count(black_box(&plan))?);
        times.push(began.elapsed());
    }
    Ok(median(times))
}

/// Returns the size of a folder on the disk, in bytes.
fn disk_use(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let meta = entry.metadata()?;
            bytes += meta.blocks() * 512;
            if meta.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(bytes)
}

fn tables(figures: &[Figures]) -> String {
    let mut out = String::new();
    let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
    let mb = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let mib = |kib: Option<u64>| {
        kib.map_or_else(|| "–".to_owned(), |kib| format!("{} MiB", kib.div_ceil(1024)))
    };
    head(
        &mut out,
        "documents | process start | `resolve`, three terms | × start | `read` | `neighbors`, 2 hops \
         | `search`, two words | `resolve --at N`, p50 | p99 | evaluation alone",
    );
    for f in figures {
        let ratio = format!("{:.1}", f.resolve.as_secs_f64() / f.start.as_secs_f64());
        let evaluate = format!("{:.0} µs", f.evaluate.as_secs_f64() * 1e6);
        let times = [f.read, f.neighbors, f.search, f.at[0], f.at[1]].map(ms);
        let first = [f.documents.to_string(), ms(f.start), ms(f.resolve), ratio];
        row(&mut out, &[&first[..], &times, &[evaluate]].concat());
    }
    row(&mut out, &[]);
    head(
        &mut out,
        "documents | import (`publish --all --no-sync`) | disk use | log | first `resolve` (makes the \
         index) | its peak memory | index | warm `resolve`, peak memory | `resolve` without a cache \
         | first `search` (makes its index) | its index",
    );
    for f in figures {
        row(
            &mut out,
            &[
                f.documents.to_string(),
                seconds(f.import),
                mb(f.disk),
                mb(f.log),
                seconds(f.first),
                mib(f.first_peak),
                mb(f.index),
                mib(f.peak),
                f.without.map_or_else(|| "–".to_owned(), seconds),
                seconds(f.search_first),
                mb(f.search_index),
            ],
        );
    }
    out.replace("|  |\n", "\n")
}
