//! `cargo bench --bench verify`: the cost of `ctx verify`, compared with the bare hashing of the
//! same bytes.
//!
//! The first table is about histories: every document has five versions, published in five events
//! (one beyond 100,000 documents), and the peer is `sha256sum` over every file of the vault with
//! one process for each core. The second is about the log: each document is an event of its own,
//! and the peer hashes texts of the same lengths as the pre-images of the checkpoints, on the same
//! number of threads. Both peers run in turns with the command. The result is Markdown on stdout;
//! progress goes to stderr.
//!
//! ```text
//! cargo bench --bench verify -- [--sizes 100,1000,10000,100000] [--dir DIR] [--quick]
//! ```

#![allow(clippy::disallowed_methods, reason = "the bench reads its own clock and its own files")]
#![allow(clippy::disallowed_macros, reason = "the tables are this program's result")]

#[path = "corpus.rs"]
mod corpus;
#[path = "process.rs"]
mod process;

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use process::sha256sum;
use process::{Options, Result, ctx, files_below, head, median_of, ms, peak_memory, row, settle};

const SEED: u64 = 42;
const VERSIONS: usize = 5;
/// Publishing more documents five times each takes hours: they have one version, and are
/// verified once.
const MOST_DOCUMENTS: usize = 100_000;
/// Publishing more events one by one takes hours.
const MOST_EVENTS: usize = 10_000;

fn main() -> Result<()> {
    let sizes = [100, 1_000, 10_000, 100_000];
    let mut options = Options::read(std::env::args().skip(1), &sizes)?;
    options.repetitions = options.repetitions.min(5);
    // Printed before the folder is removed, which takes long for a million documents.
    options.in_folder(|options| -> Result<()> {
        let mut out = String::new();
        head(
            &mut out,
            "documents | versions | all bytes | `verify` | `sha256sum` | ratio | peak memory",
        );
        for size in &options.sizes {
            row(&mut out, &batches(options, *size)?);
        }
        out.push('\n');
        head(&mut out, "checkpoints | pre-images | `verify` | bare SHA-256 | ratio | peak memory");
        for size in options.sizes.iter().filter(|size| **size <= MOST_EVENTS) {
            row(&mut out, &one_by_one(options, *size)?);
        }
        print!("{out}");
        Ok(())
    })?
}

/// Measures a vault in which every document has some versions.
fn batches(options: &Options, size: usize) -> Result<Vec<String>> {
    let root = options.dir.join(format!("batches-{size}"));
    let ids = make_vault(&root, size)?;
    let versions = if size > MOST_DOCUMENTS { 1 } else { VERSIONS };
    for version in 1..=versions {
        eprintln!("{} documents: publish version {version}", ids.len());
        for id in ids.iter().filter(|_| version > 1) {
            let mut file = OpenOptions::new().append(true).open(root.join(format!("{id}.md")))?;
            writeln!(file, "- Read again in round {version:02}.")?;
        }
        ctx(&root, &["publish", "--all", "--no-sync"])?;
    }
    settle(&root)?;
    eprintln!("{} documents: verify", ids.len());
    let files = files_below(&root)?;
    let all: Vec<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
    let repetitions = if size > MOST_DOCUMENTS { 1 } else { options.repetitions };
    let peer = sha256sum(&options.dir, repetitions, &all)?;
    let bytes: u64 = files.iter().map(|(_, length)| length).sum();
    let verify = verify(repetitions, &root)?;
    Ok([
        [ids.len().to_string(), versions.to_string(), megabytes(bytes)].to_vec(),
        against(verify, peer),
        vec![memory(&root)],
    ]
    .concat())
}

/// Measures a vault in which each document was published by itself.
fn one_by_one(options: &Options, size: usize) -> Result<Vec<String>> {
    let root = options.dir.join(format!("one-by-one-{size}"));
    let ids = make_vault(&root, size)?;
    for (n, id) in ids.iter().enumerate() {
        if n % 1_000 == 0 {
            eprintln!("{} documents: publish one by one, {n}", ids.len());
        }
        ctx(&root, &["publish", id, "--no-sync"])?;
    }
    settle(&root)?;
    let lengths = preimages(&root)?;
    let total: u64 = lengths.iter().map(|length| *length as u64).sum();
    let peer = median_of(options.repetitions, || hash(&lengths))?;
    let verify = verify(options.repetitions, &root)?;
    Ok([
        vec![lengths.len().to_string(), megabytes(total)],
        against(verify, Some(peer)),
        vec![memory(&root)],
    ]
    .concat())
}

/// Makes a vault of about `size` unpublished documents; returns their ids.
fn make_vault(root: &Path, size: usize) -> Result<Vec<String>> {
    let services = size.div_ceil(corpus::TEMPLATES);
    corpus::write(root, services, SEED)?;
    ctx(root, &["init", ".", "--name", "Services"])?;
    Ok(corpus::documents(services, SEED).map(|document| document.id).collect())
}

fn verify(repetitions: usize, root: &Path) -> Result<Duration> {
    median_of(repetitions, || ctx(root, &["verify"]))
}

/// Returns the lengths of the pre-images of all checkpoints, computed from the log.
fn preimages(root: &Path) -> Result<Vec<usize>> {
    const HASH: usize = "\"sha256:\"".len() + 64;
    let mut versions: HashMap<String, usize> = HashMap::new();
    let mut length = 0;
    let log = fs::read_to_string(log_of(root))?;
    let mut lengths = Vec::new();
    for line in log.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        for (id, mark) in line["set"].as_object().ok_or("a line without `set`")? {
            // Each entry of a map has quotes, a colon, a comma, and the value.
            let number = mark[0].to_string().len();
            let before = versions.insert(id.clone(), number);
            length += before.map_or(2 * (id.len() + 4) + HASH + number, |before| number - before);
        }
        lengths.push(length);
    }
    Ok(lengths)
}

fn log_of(root: &Path) -> PathBuf {
    root.join(".versions").join("checkpoints.jsonl")
}

/// Hashes texts of these lengths with one thread for each core.
fn hash(lengths: &[usize]) -> Result<()> {
    let text = vec![b'x'; lengths.iter().copied().max().unwrap_or(0)];
    let threads = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let mine = lengths.iter().skip(thread).step_by(threads);
            let text = &text;
            scope.spawn(move || {
                mine.for_each(|length| {
                    std::hint::black_box(Sha256::digest(&text[..*length]));
                });
            });
        }
    });
    Ok(())
}

/// Returns a time, that of a peer, and their ratio.
fn against(time: Duration, peer: Option<Duration>) -> Vec<String> {
    let cells =
        peer.map(|peer| (ms(peer), format!("{:.2}", time.as_secs_f64() / peer.as_secs_f64())));
    let (peer, ratio) = cells.unwrap_or_else(|| ("–".to_owned(), "–".to_owned()));
    vec![ms(time), peer, ratio]
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn memory(root: &Path) -> String {
    let peak = peak_memory(root, &["verify"]);
    peak.map_or_else(|| "–".to_owned(), |kib| format!("{} MiB", kib.div_ceil(1024)))
}
