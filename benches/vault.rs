//! `cargo bench`: the cost of the main verbs on the corpus of the ContextNest paper, §11.3.
//!
//! Every figure is the wall time of a whole `ctx` process, or the median of several, compared with
//! the floor of the machine in the same run: one sync of a small append on the same disk, the start
//! of a process, and `sha256sum` over the same files with one process for each core. The result is
//! Markdown on stdout, as in `docs/benchmarks.md`; progress goes to stderr.
//!
//! ```text
//! cargo bench --bench vault -- [--sizes 100,1000,10000] [--dir DIR] [--quick]
//! ```

#![allow(clippy::disallowed_methods, reason = "the bench reads its own clock and its own files")]
#![allow(clippy::disallowed_macros, reason = "the tables are this program's result")]

#[path = "corpus.rs"]
mod corpus;
#[path = "process.rs"]
mod process;

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use process::{
    Options, Result, ctx, files_below, head, median, median_of, ms, peak_memory, row, settle,
    sha256sum, timed,
};

const SEED: u64 = 42;
const DOCUMENT: &str = "nodes/deploy/payments-service";
/// Distance between the versions that are stored in full.
const KEYFRAME_INTERVAL: usize = 10;

fn main() -> Result<()> {
    let options = Options::read(std::env::args().skip(1), &[100, 1_000, 10_000])?;
    let measured: Result<Vec<Figures>> = options
        .in_folder(|options| options.sizes.iter().map(|n| measure(options, *n)).collect())?;
    print!("{}", tables(&measured?));
    Ok(())
}

/// The figures of one size.
struct Figures {
    documents: usize,
    start: Duration,
    sync: Duration,
    publish: Duration,
    plan: Duration,
    growth: Growth,
    growth_of_keyframe: Growth,
    publish_all: Duration,
    verify: Duration,
    hash_all: Option<Duration>,
    bytes: u64,
    peaks: [Option<u64>; 2],
}

fn measure(options: &Options, size: usize) -> Result<Figures> {
    let n = options.repetitions;
    let (mut root, mut documents) = (PathBuf::new(), 0);
    let mut events = Vec::new();
    let mut peak_of_plan = None;
    for event in 0..options.events {
        // Vaults are removed only at the end: file systems are slow to make files where others have
        // just been removed.
        root = options.dir.join(format!("{size}-{event}"));
        documents = make_vault(&root, size)?;
        eprintln!("{documents} documents: publish --all");
        peak_of_plan = peak_memory(&root, &["publish", "--all", "--dry-run"]);
        events.push(timed(|| ctx(&root, &["publish", "--all"]))?);
    }
    // Write-back of the event must not overlap with the next measurement.
    settle(&root)?;
    eprintln!("{documents} documents: publish one");
    let growth = growth(&root, || republish(&root, 1))?;
    let (mut publishes, mut plans, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    let ids: Vec<String> = corpus::documents(size.div_ceil(corpus::TEMPLATES), SEED)
        .map(|document| document.id)
        .filter(|id| id != DOCUMENT)
        .take(n)
        .collect();
    for id in &ids {
        syncs.push(sync_of_append(&options.dir)?);
        edit(&root, id, 1)?;
        plans.push(timed(|| ctx(&root, &["publish", id, "--dry-run"]))?);
        publishes.push(timed(|| ctx(&root, &["publish", id]))?);
    }
    for round in 2..KEYFRAME_INTERVAL - 1 {
        republish(&root, round)?;
    }
    let growth_of_keyframe = self::growth(&root, || republish(&root, KEYFRAME_INTERVAL))?;

    eprintln!("{documents} documents: verify");
    let run = |args: &[&str]| median_of(n, || ctx(&root, args));
    let files = files_below(&root)?;
    let all: Vec<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
    Ok(Figures {
        documents,
        start: median_of(n, || ctx(&root, &["--version"]))?,
        sync: median(syncs),
        publish: median(publishes),
        plan: median(plans),
        growth,
        growth_of_keyframe,
        publish_all: median(events),
        verify: run(&["verify"])?,
        hash_all: sha256sum(&options.dir, n, &all)?,
        bytes: files.iter().map(|(_, length)| length).sum(),
        peaks: [peak_of_plan, peak_memory(&root, &["verify"])],
    })
}

/// Makes a vault of about `size` unpublished documents, and waits for the disk.
fn make_vault(root: &Path, size: usize) -> Result<usize> {
    let documents = corpus::write(root, size.div_ceil(corpus::TEMPLATES), SEED)?;
    ctx(root, &["init", ".", "--name", "Services"])?;
    settle(root)?;
    Ok(documents)
}

/// Changes the live file of a document by one line.
fn edit(root: &Path, id: &str, round: usize) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(root.join(format!("{id}.md")))?;
    writeln!(file, "- Read again in round {round:02}.")?;
    file.sync_all()
}

fn republish(root: &Path, round: usize) -> Result<()> {
    edit(root, DOCUMENT, round)?;
    ctx(root, &["publish", DOCUMENT])
}

/// Returns the time to append the bytes of one event to the log, and to sync it.
fn sync_of_append(dir: &Path) -> Result<Duration> {
    let mut file = OpenOptions::new().create(true).append(true).open(dir.join("appended"))?;
    file.sync_all()?;
    timed(|| {
        file.write_all(&[b'x'; 300])?;
        Ok(file.sync_all()?)
    })
}

/// Growth of the files of a vault by an event, in bytes.
#[derive(Default)]
struct Growth {
    history: u64,
    keyframe: u64,
    log: u64,
    live: u64,
}

/// Measures the growth by an event that edits a document and publishes it.
fn growth(root: &Path, event: impl FnOnce() -> Result<()>) -> Result<Growth> {
    let before: std::collections::HashMap<PathBuf, u64> = files_below(root)?.into_iter().collect();
    event()?;
    let mut growth = Growth::default();
    for (path, length) in files_below(root)? {
        let more = length.saturating_sub(before.get(&path).copied().unwrap_or(0));
        let name = path.file_name().unwrap_or_default();
        let in_history = path.components().any(|part| part.as_os_str() == ".versions");
        *match (in_history, name.to_string_lossy().as_ref()) {
            (true, "checkpoints.jsonl") => &mut growth.log,
            (true, "history.yaml") => &mut growth.history,
            (true, _) => &mut growth.keyframe,
            (false, _) => &mut growth.live,
        } += more;
    }
    Ok(growth)
}

fn tables(figures: &[Figures]) -> String {
    let mut out = String::new();
    let ratio = |a: Duration, b: Duration| format!("{:.1}", a.as_secs_f64() / b.as_secs_f64());
    let against = |time, peer: Option<Duration>| {
        peer.map_or_else(
            || "– | –".to_owned(),
            |peer| format!("{} | {}", ms(peer), ratio(time, peer)),
        )
    };
    let mib = |kib: Option<u64>| {
        kib.map_or_else(|| "–".to_owned(), |kib| format!("{} MiB", kib.div_ceil(1024)))
    };
    head(
        &mut out,
        "documents | one sync | publish one | × sync | its plan (`--dry-run`) | process start",
    );
    for f in figures {
        let times = [ms(f.sync), ms(f.publish), ratio(f.publish, f.sync), ms(f.plan), ms(f.start)];
        row(&mut out, &[&[f.documents.to_string()][..], &times].concat());
    }
    row(&mut out, &[]);
    head(&mut out, "documents | version | history | log | keyframe | live file | all bytes");
    for f in figures {
        for (version, g) in [(2, &f.growth), (KEYFRAME_INTERVAL, &f.growth_of_keyframe)] {
            let all = g.history + g.log + g.keyframe + g.live;
            let bytes = [g.history, g.log, g.keyframe, g.live, all].map(|n| n.to_string());
            row(&mut out, &[&[f.documents.to_string(), version.to_string()][..], &bytes].concat());
        }
    }
    row(&mut out, &[]);
    head(
        &mut out,
        "documents | `publish --all`, all new | documents a second | peak memory of its plan (`--dry-run`)",
    );
    for f in figures {
        let rate = f.documents as f64 / f.publish_all.as_secs_f64();
        let time = format!("{:.2} s", f.publish_all.as_secs_f64());
        row(&mut out, &[f.documents.to_string(), time, format!("{rate:.0}"), mib(f.peaks[0])]);
    }
    row(&mut out, &[]);
    head(&mut out, "documents | all bytes | `verify` | `sha256sum` | ratio | peak memory");
    for f in figures {
        let size = format!("{:.1} MB", f.bytes as f64 / 1e6);
        let peer = against(f.verify, f.hash_all);
        row(&mut out, &[f.documents.to_string(), size, ms(f.verify), peer, mib(f.peaks[1])]);
    }
    out.replace("|  |\n", "\n")
}
