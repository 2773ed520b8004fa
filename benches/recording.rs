//! `cargo bench --bench recording`: the cost of recording an access, compared with the same command
//! of the same binary without a log, and with a bare sync.
//!
//! Each figure is the wall time of a process that resolves the ten documents of one service among
//! all, with their texts. The variants take turns, so that other work on the machine affects all of
//! them. No setting turns the log off, so this bench runs the command line in its own process
//! (`--as-ctx`). The result is Markdown on stdout, as in `docs/benchmarks.md`.
//!
//! ```text
//! cargo bench --bench recording -- [--sizes 1000,10000] [--dir DIR] [--quick]
//! ```
//!
//! Counts of instructions are independent of other work:
//!
//! ```text
//! valgrind --tool=callgrind target/release/deps/recording-* --as-ctx on resolve '#payments-service'
//! ```

#![allow(clippy::disallowed_methods, reason = "the bench reads its own clock and its own files")]
#![allow(clippy::disallowed_macros, reason = "the tables are this program's result")]

#[path = "corpus.rs"]
mod corpus;
#[path = "process.rs"]
mod process;

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use contextnest::front::cli::{Streams, World, run};
use contextnest::workspace::Environment;

use process::{Options, Result, cache_of, ctx, head, median, ms, output, row, settle, timed, us};

const SEED: u64 = 42;
/// A tag that the ten documents of one service have.
const SELECTOR: &str = "#payments-service";
const RESOLVE: [&str; 3] = ["resolve", SELECTOR, "--bodies"];
/// The argument before the words of a command, followed by `on` or `off`.
const AS_CTX: &str = "--as-ctx";

/// Variants of recording: the name, the log, and the lines of the configuration.
const VARIANTS: [(&str, &str, &str); 4] = [
    ("log switched off", "off", "audit: {durability: async}\n"),
    ("`async`", "on", "audit: {durability: async}\n"),
    ("`async`, in the vault", "on", "audit: {durability: async, accesses: vault}\n"),
    ("`sync`", "on", "audit: {durability: sync}\n"),
];

fn main() -> Result<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == AS_CTX) {
        return as_ctx(args.collect());
    }
    let options = Options::read(std::env::args().skip(1), &[1_000, 10_000])?;
    options.in_folder(|options| -> Result<()> {
        let mut out = String::new();
        head(&mut out, "documents | log | time | ratio | more | bare sync");
        for size in &options.sizes {
            measure(options, *size, &mut out)?;
        }
        print!("{out}");
        Ok(())
    })??;
    Ok(ExitCode::SUCCESS)
}

/// Runs a command line as `ctx` does, with the log or without it.
fn as_ctx(words: Vec<OsString>) -> Result<ExitCode> {
    let clock = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    };
    let variables = std::env::vars_os();
    let vars = variables
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let environment = Environment::new(std::env::current_dir()?, clock);
    let is_recorded = words.first().is_some_and(|word| word == "on");
    let environment = Environment { vars: vars.collect(), is_recorded, ..environment };
    let (input_terminal, terminal, error_terminal) = (false, false, false);
    let world = World { environment, input_terminal, terminal, error_terminal };
    let (stdin, stdout) = (&mut std::io::stdin(), &mut std::io::stdout());
    let streams = Streams { stdin, stdout, stderr: &mut std::io::stderr() };
    Ok(ExitCode::from(run(words, &world, streams)))
}

fn measure(options: &Options, size: usize, out: &mut String) -> Result<()> {
    let root = options.dir.join(size.to_string());
    let documents = corpus::write(&root, size.div_ceil(corpus::TEMPLATES), SEED)?;
    ctx(&root, &["init", ".", "--name", "Services"])?;
    eprintln!("{documents} documents: import");
    ctx(&root, &["publish", "--all", "--no-sync"])?;
    let config = root.join(".context/config.yaml");
    let before = std::fs::read_to_string(&config)?;
    let name = before.lines().find(|line| line.starts_with("name:")).unwrap_or_default();
    let (mut times, mut syncs) = (vec![Vec::new(); VARIANTS.len()], Vec::new());
    // Makes the index, and reads the configuration of each variant once.
    ctx(&root, &RESOLVE)?;
    settle(&root)?;
    eprintln!("{documents} documents: {}", RESOLVE.join(" "));
    for turn in 0..=4 * options.repetitions {
        for ((_, log, setting), times) in VARIANTS.iter().zip(&mut times) {
            std::fs::write(&config, format!("{name}\nlayout: structured\n{setting}"))?;
            let time = timed(|| output(&mut command(&root, log)?).map(drop))?;
            if turn > 0 {
                times.push(time);
            }
        }
        syncs.push(bare_sync(&root)?);
    }
    let times: Vec<Duration> = times.into_iter().map(median).collect();
    let sync = median(syncs);
    for ((name, ..), time) in VARIANTS.iter().zip(&times) {
        row(
            out,
            &[
                documents.to_string(),
                (*name).to_owned(),
                ms(*time),
                format!("{:.3}", time.as_secs_f64() / times[0].as_secs_f64()),
                us(time.saturating_sub(times[0])),
                us(sync),
            ],
        );
    }
    Ok(())
}

/// Returns the measured process.
fn command(root: &Path, log: &str) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.current_dir(root).arg(AS_CTX).arg(log).args(RESOLVE).stdin(Stdio::null());
    command.env("CTX_PRINCIPAL", "bench@example.com").env("XDG_CACHE_HOME", cache_of(root));
    command.env("XDG_STATE_HOME", root.with_extension("state"));
    Ok(command)
}

/// Appends a line to a file next to the vault, and waits for the disk.
fn bare_sync(root: &Path) -> Result<Duration> {
    let path = root.with_extension("synced");
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    timed(|| {
        file.write_all(&[b'x'; 4096])?;
        Ok(file.sync_all()?)
    })
}
