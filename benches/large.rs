//! `cargo bench --bench large`: commands that read a whole large vault, with their peak of memory,
//! and commands without an index, each compared with a peer of the same run.
//!
//! Every figure is the wall time of a whole process on a warm page cache, the median of several;
//! command and peer take turns. The result is Markdown on stdout, as in `docs/benchmarks.md`.
//!
//! ```text
//! cargo bench --bench large -- [--sizes 30000,100000] [--dir DIR] [--quick]
//! ```

#![allow(clippy::disallowed_methods, reason = "the bench reads its own clock and its own files")]
#![allow(clippy::disallowed_macros, reason = "the tables are this program's result")]

#[path = "corpus.rs"]
mod corpus;
#[path = "process.rs"]
mod process;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use process::{
    Options, Result, command, ctx, head, median, ms, output, peak_memory, row, settle, timed,
};

const SEED: u64 = 42;
const DOCUMENT: &str = "nodes/deploy/payments-service";
/// `status` does not record files that are younger (IDX-11).
const SETTLED: Duration = Duration::from_millis(2_100);
/// A tag of three documents in ten.
const TAG: &str = "#engineering";

fn main() -> Result<()> {
    let options = Options::read(std::env::args().skip(1), &[30_000, 100_000])?;
    let mut table = String::new();
    head(&mut table, "documents | command | time | peer | its time | ratio | peak memory");
    options.in_folder(|options| {
        options.sizes.iter().try_for_each(|size| measure(options, *size, &mut table))
    })??;
    print!("{table}");
    Ok(())
}

fn measure(options: &Options, size: usize, table: &mut String) -> Result<()> {
    let n = options.repetitions;
    let root = &options.dir.join(size.to_string());
    let documents = corpus::write(root, size.div_ceil(corpus::TEMPLATES), SEED)?;
    ctx(root, &["init", ".", "--name", "Services"])?;
    ctx(root, &["publish", "--all", "--no-sync"])?;
    settle(root)?;
    let mut note = |what: &str, (ours, theirs): (Duration, Duration), peer: &str, memory| {
        eprintln!("{documents} documents: {what}: {}", ms(ours));
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        let memory: Option<u64> = memory;
        let memory = memory.map_or_else(String::new, |kib| format!("{} MiB", kib.div_ceil(1024)));
        let (what, peer) = (format!("`{what}`"), format!("`{peer}`"));
        let cells = [documents.to_string(), what, ms(ours), peer, ms(theirs)];
        row(table, &[&cells[..], &[format!("{ratio:.2}"), memory]].concat());
    };

    let without = |args: &[&str]| {
        let mut command = command(root, args);
        command.env("XDG_CACHE_HOME", root.with_extension("no-cache"));
        command
    };
    for args in [&["history", DOCUMENT][..], &["checkpoint", "list"], &["history"]] {
        let times = in_turns(n, || without(args), || without(&["--version"]))?;
        note(&args.join(" "), times, "--version", None);
    }

    ctx(root, &["resolve", TAG])?;
    for args in [
        &["evidence", "report"][..],
        &["list"],
        &["list", "--json"],
        &["graph"],
        &["validate"],
        &["resolve", TAG],
        &["resolve", TAG, "--json"],
    ] {
        let times = in_turns(n.min(5), || command(root, args), || command(root, &["verify"]))?;
        note(&args.join(" "), times, "verify", peak_memory(root, args));
    }

    std::thread::sleep(SETTLED);
    ctx(root, &["status"])?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..n.min(5) {
        edit(root, round)?;
        theirs.push(timed(|| ctx(root, &["status"]))?);
        ours.push(timed(|| ctx(root, &["publish", "--changed"]))?);
    }
    note("publish --changed", (median(ours), median(theirs)), "status", None);

    let before =
        in_turns(n.min(5), || command(root, &["verify"]), || command(root, &["--version"]))?;
    ctx(root, &["index"])?;
    let after =
        in_turns(n.min(5), || command(root, &["verify"]), || command(root, &["--version"]))?;
    let peak = peak_memory(root, &["verify"]);
    note("verify, with derived files", (after.0, before.0), "verify, without", peak);
    Ok(())
}

/// Returns the medians of two commands that take turns.
fn in_turns(
    n: usize,
    ours: impl Fn() -> Command,
    theirs: impl Fn() -> Command,
) -> Result<(Duration, Duration)> {
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..n {
        times.0.push(timed(|| output(&mut ours()).map(drop))?);
        times.1.push(timed(|| output(&mut theirs()).map(drop))?);
    }
    Ok((median(times.0), median(times.1)))
}

/// Changes the live file of a document by one line.
fn edit(root: &Path, round: usize) -> Result<()> {
    let mut file = OpenOptions::new().append(true).open(root.join(format!("{DOCUMENT}.md")))?;
    writeln!(file, "- Read again in round {round:02}.")?;
    Ok(())
}
