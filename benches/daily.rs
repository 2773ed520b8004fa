//! `cargo bench --bench daily`: commands that people wait for in a large vault, compared with
//! a peer.
//!
//! Every figure is the wall time of a whole process on a warm page cache, the median of several;
//! command and peer take turns. The corpus is that of the ContextNest paper, §11.3. The result is
//! Markdown on stdout, as in `docs/benchmarks.md`.
//!
//! ```text
//! cargo bench --bench daily -- [--sizes 1000,10000,100000] [--dir DIR] [--quick]
//! ```

#![allow(clippy::disallowed_methods, reason = "the bench reads its own clock and its own files")]
#![allow(clippy::disallowed_macros, reason = "the tables are this program's result")]

#[path = "corpus.rs"]
mod corpus;
#[path = "process.rs"]
mod process;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use contextnest::files::vault::Vault;
use contextnest::model::number::CheckpointNumber;
use contextnest::record::checkpoint::log::Log;

use process::{
    Options, Result, cache_of, command, ctx, files_below, head, median, median_of, ms, output,
    peak_memory, row, settle, sha256sum, timed,
};

const SEED: u64 = 42;
const DOCUMENT: &str = "nodes/deploy/payments-service";
/// Publications of one document after the import.
const EVENTS: usize = 20;
/// Documents that a commit publishes.
const STAGED: usize = 50;
/// `status` does not record files that are younger (IDX-11).
const SETTLED: Duration = Duration::from_millis(2_100);

fn main() -> Result<()> {
    let options = Options::read(std::env::args().skip(1), &[1_000, 10_000, 100_000])?;
    let measured: Result<Vec<Vec<Figure>>> = options
        .in_folder(|options| options.sizes.iter().map(|n| measure(options, *n)).collect())?;
    print!("{}", table(&measured?.concat()));
    Ok(())
}

/// A command and its peer.
#[derive(Clone)]
struct Figure {
    documents: usize,
    what: String,
    time: Duration,
    peer: &'static str,
    /// Time of the peer; `None` if it is not installed.
    floor: Option<Duration>,
    /// Length of the answer in bytes, or the peak of memory.
    size: String,
}

fn measure(options: &Options, size: usize) -> Result<Vec<Figure>> {
    let n = options.repetitions;
    let root = options.dir.join(size.to_string());
    let documents = corpus::write(&root, size.div_ceil(corpus::TEMPLATES), SEED)?;
    ctx(&root, &["init", ".", "--name", "Services"])?;
    settle(&root)?;
    let mut figures = Vec::new();
    let mut note = |what: &str, time, peer, floor, size: String| {
        eprintln!("{documents} documents: {what}: {}", ms(time));
        figures.push(Figure { documents, what: what.to_owned(), time, peer, floor, size });
    };

    let live: Vec<PathBuf> = files_below(&root)?.into_iter().map(|(path, _)| path).collect();
    let plan = peak_memory(&root, &["publish", "--all", "--dry-run"]);
    let all = timed(|| ctx(&root, &["publish", "--all"]))?;
    settle(&root)?;
    let copied = timed(|| copies(&options.dir.join(format!("{size}-copies")), &live))?;
    note("`publish --all`, all new", all, "its files, written and synced", Some(copied), mib(plan));

    fs::remove_dir_all(cache_of(&root)).or_else(absent)?;
    let resolve = ["resolve", "#runbook #deploy #payments-service"];
    let first = timed(|| ctx(&root, &resolve))?;
    let recorded = recorded(&root)?;
    let paths: Vec<&Path> = recorded.iter().map(PathBuf::as_path).collect();
    let hashed = sha256sum(&options.dir, n.min(5), &paths)?;
    note("first `resolve` after a clone", first, "`sha256sum` of histories", hashed, String::new());

    for round in 0..EVENTS {
        publish_again(&root, DOCUMENT, round)?;
    }
    let start = median_of(n, || ctx(&root, &["--version"]))?;
    let of_start = "an empty run";
    for args in [&["history", DOCUMENT][..], &["checkpoint", "list"], &["context"]] {
        let time = median_of(n, || ctx(&root, args))?;
        let bytes = output(&mut command(&root, args))?.len();
        note(&format!("`{}`", args.join(" ")), time, of_start, Some(start), kb(bytes));
    }

    let mut times = Vec::new();
    for round in 0..n {
        edit(&root, DOCUMENT, EVENTS + round)?;
        times.push(timed(|| ctx(&root, &["publish", DOCUMENT]))?);
    }
    let maps = maps_hashed(&root, n)?;
    note(
        "`publish` of one document",
        median(times),
        "hashing both maps twice",
        Some(maps),
        String::new(),
    );

    let time = median_of(n.min(5), || ctx(&root, &["list", "--json"]))?;
    let bytes = output(&mut command(&root, &["list", "--json"]))?.len();
    let hashed = sha256sum(&options.dir, n.min(5), &paths)?;
    note("`list --json`", time, "`sha256sum` of histories", hashed, kb(bytes));

    std::thread::sleep(SETTLED);
    let git = git(&root).unwrap_or(false);
    let first = timed(|| ctx(&root, &["status"]))?;
    note("`status`, the first", first, "", None, String::new());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..n {
        ours.push(timed(|| ctx(&root, &["status"]))?);
        if git {
            theirs.push(timed(|| output(&mut git_in(&root, &["status"])).map(drop))?);
        }
    }
    let floor = git.then(|| median(theirs));
    note("`status`, nothing changed", median(ours), "`git status`", floor, String::new());

    if git {
        let documents =
            live.iter().filter(|path| path.ancestors().any(|dir| dir == root.join("nodes")));
        for path in documents.take(STAGED) {
            writeln!(OpenOptions::new().append(true).open(path)?, "- Read again before a commit.")?;
        }
        ctx(&root, &["publish", "--changed"])?;
        output(&mut git_in(&root, &["add", "-A"]))?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let diff = ["diff", "--cached", "--quiet", "--exit-code"];
        for _ in 0..n {
            ours.push(timed(|| ctx(&root, &["hook", "run", "pre-commit"]))?);
            // Git exits 1, because something is staged.
            theirs.push(timed(|| {
                git_in(&root, &diff).output()?;
                Ok(())
            })?);
        }
        let what = format!("`hook run pre-commit`, {STAGED} staged");
        note(&what, median(ours), "`git diff --cached`", Some(median(theirs)), String::new());
    }
    Ok(figures)
}

/// Writes the files of a first publication, with about their lengths, and waits for the disk: a
/// history and a keyframe for each live file, each pair in a folder.
fn copies(to: &Path, live: &[PathBuf]) -> Result<()> {
    for (n, path) in live.iter().enumerate() {
        let folder = to.join(format!("{}/{n}", n % 10));
        fs::create_dir_all(&folder)?;
        let text = fs::read(path)?;
        fs::write(folder.join("v1.md"), &text)?;
        fs::write(folder.join("history.yaml"), [b'x'; 400])?;
        fs::write(folder.join("live.md"), &text)?;
    }
    settle(to)
}

/// Returns the files with published content: histories and keyframes.
fn recorded(root: &Path) -> Result<Vec<PathBuf>> {
    let is_recorded = |path: &Path| path.components().any(|part| part.as_os_str() == ".versions");
    let files = files_below(root)?.into_iter().map(|(path, _)| path);
    Ok(files.filter(|path| is_recorded(path)).collect())
}

fn edit(root: &Path, id: &str, round: usize) -> Result<()> {
    let mut file = OpenOptions::new().append(true).open(root.join(format!("{id}.md")))?;
    writeln!(file, "- Read again in round {round:02}.")?;
    Ok(())
}

fn publish_again(root: &Path, id: &str, round: usize) -> Result<()> {
    edit(root, id, round)?;
    ctx(root, &["publish", id])
}

/// Returns the time to hash the maps of the head twice: as they are, and with one more version.
fn maps_hashed(root: &Path, n: usize) -> Result<Duration> {
    let log = Log::read(&Vault::open(root)?)?;
    let chronicle = log.sound()?;
    let head = chronicle.head().ok_or("no checkpoint")?;
    let state = chronicle.state_at(head.number)?;
    let hash = |number: CheckpointNumber| state.hash(Some(&head.hash), number, head.at, "x");
    median_of(n, || {
        std::hint::black_box((hash(head.number), hash(head.number)));
        Ok(())
    })
}

fn git_in(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(root).args(["-c", "user.name=bench", "-c", "user.email=bench@example.com"]);
    // One uncompressed pack, instead of a file for each object: only the index is measured.
    command.args(["-c", "core.bigFileThreshold=1", "-c", "core.compression=0", "-c", "gc.auto=0"]);
    command.args(args);
    command
}

/// Commits the vault, so that git has a warm index of the same tree; false if git is not installed.
fn git(root: &Path) -> Result<bool> {
    for args in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "all"]] {
        output(&mut git_in(root, args))?;
    }
    // Entries that are as young as the index are read again until it is written once more.
    std::thread::sleep(SETTLED);
    output(&mut git_in(root, &["status"])).map(|_| true)
}

fn absent(why: std::io::Error) -> std::io::Result<()> {
    if why.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(why) }
}

fn kb(bytes: usize) -> String {
    format!("{:.1} kB", bytes as f64 / 1e3)
}

fn mib(kib: Option<u64>) -> String {
    kib.map_or_else(String::new, |kib| format!("{} MiB, its plan", kib.div_ceil(1024)))
}

fn table(figures: &[Figure]) -> String {
    let mut out = String::new();
    head(&mut out, "documents | command | time | peer | its time | ratio | answer or memory");
    for f in figures {
        let ratio = f.floor.map(|floor| f.time.as_secs_f64() / floor.as_secs_f64());
        row(
            &mut out,
            &[
                f.documents.to_string(),
                f.what.clone(),
                ms(f.time),
                f.peer.to_owned(),
                f.floor.map_or_else(|| "–".to_owned(), ms),
                ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}")),
                f.size.clone(),
            ],
        );
    }
    out
}
