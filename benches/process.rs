//! Helpers of the benches: processes of `ctx`, and Markdown tables.

// Each target that includes this file uses a part of it.
#![allow(dead_code, unreachable_pub)]
#![allow(clippy::disallowed_methods, reason = "the benches make their own folders")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Path of the measured binary: that of this package, or the one that the experiments build.
pub const CTX: &str =
    match (option_env!("CARGO_BIN_EXE_ctx"), option_env!("CARGO_BIN_EXE_experiments-ctx")) {
        (Some(path), _) | (None, Some(path)) => path,
        (None, None) => panic!("no binary to measure"),
    };

/// Returns a command in a vault, as the principal of the benches.
pub fn command(root: &Path, args: &[impl AsRef<str>]) -> Command {
    let mut command = Command::new(CTX);
    command.current_dir(root).args(args.iter().map(AsRef::as_ref)).stdin(Stdio::null());
    beside(&mut command, root);
    command
}

/// Puts the state and caches of a command next to the vault, so that they are removed with it.
fn beside(command: &mut Command, root: &Path) {
    command.env("CTX_PRINCIPAL", "bench@example.com").env("XDG_CACHE_HOME", cache_of(root));
    command.env("XDG_STATE_HOME", root.with_extension("state"));
}

/// Returns the directory of caches for a vault that a bench made: next to it.
pub fn cache_of(root: &Path) -> PathBuf {
    root.with_extension("cache")
}

/// Returns the peak of resident memory in kibibytes; `None` if GNU time is not installed.
pub fn peak_memory(root: &Path, args: &[&str]) -> Option<u64> {
    let mut timed = Command::new("/usr/bin/time");
    timed.args(["-f", "%M", CTX]).args(args).current_dir(root).stdin(Stdio::null());
    beside(&mut timed, root);
    String::from_utf8(timed.output().ok()?.stderr).ok()?.lines().last()?.trim().parse().ok()
}

/// The sizes and the place of a measurement.
pub struct Options {
    pub sizes: Vec<usize>,
    /// Folder of the vaults, which decides the disk that is measured.
    pub dir: PathBuf,
    pub repetitions: usize,
    /// Number of events for a median.
    pub events: usize,
    /// Number of questions for percentiles.
    pub samples: usize,
}

impl Options {
    pub fn read(args: impl Iterator<Item = String>, sizes: &[usize]) -> Result<Self> {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench-vaults");
        let sizes = sizes.to_vec();
        let mut options = Self { sizes, dir, repetitions: 15, events: 3, samples: 200 };
        // `cargo bench` passes `--bench`; without it this runs as a test, which must be short.
        let (mut is_bench, mut quick) = (false, false);
        let mut args = args.peekable();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("`{arg}` wants a value"));
            match arg.as_str() {
                "--bench" => is_bench = true,
                "--quick" => quick = true,
                "--sizes" => {
                    let sizes = value()?;
                    options.sizes =
                        sizes.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?;
                }
                "--samples" => options.samples = value()?.parse()?,
                // A folder of its own inside, which is removed at the end.
                "--dir" => options.dir = Path::new(&value()?).join("bench-vaults"),
                other => return Err(format!("unknown argument `{other}`").into()),
            }
        }
        if quick || !is_bench {
            options = Self { sizes: vec![100], repetitions: 3, events: 1, samples: 5, ..options };
        }
        Ok(options)
    }

    /// Works in a folder that is made for it and removed afterwards.
    pub fn in_folder<T>(&self, work: impl FnOnce(&Self) -> T) -> Result<T> {
        if let Some(above) = self.dir.parent() {
            fs::create_dir_all(above)?;
        }
        // An existing folder must not be removed.
        fs::create_dir(&self.dir).map_err(|why| format!("{}: {why}", self.dir.display()))?;
        let done = work(self);
        fs::remove_dir_all(&self.dir)?;
        Ok(done)
    }
}

/// Runs a command and returns its standard output; fails with its messages if it does not succeed.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let program = program.to_string_lossy();
    Err(format!("{program} {}: {}\n{said}", args.join(" "), output.status).into())
}

/// Runs `ctx` in a vault; the bench ends with its messages if it does not succeed.
pub fn ctx(root: &Path, args: &[&str]) -> Result<()> {
    output(&mut command(root, args)).map(drop)
}

/// Waits until the disk has everything.
pub fn settle(root: &Path) -> Result<()> {
    Command::new("sync").arg("-f").arg(root).status()?;
    Ok(())
}

/// Returns every file of a vault with its length, without local state and hidden files that are not
/// of the vault.
pub fn files_below(root: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let meta = entry.metadata()?;
            if entry.file_name() == "local" {
            } else if meta.is_dir() {
                folders.push(entry.path());
            } else {
                found.push((entry.path(), meta.len()));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the time of the peer of `verify`, `sha256sum` over the same files on all cores; `None`
/// if it is not installed.
pub fn sha256sum(dir: &Path, n: usize, files: &[&Path]) -> Result<Option<Duration>> {
    let cores = std::thread::available_parallelism()?.get();
    let list = dir.join("files");
    let mut out = File::create(&list)?;
    for path in files {
        out.write_all(path.as_os_str().as_encoded_bytes())?;
        out.write_all(b"\0")?;
    }
    let each = files.len().div_ceil(cores).clamp(1, 2_000).to_string();
    let hash = || -> Result<()> {
        let mut command = Command::new("xargs");
        command.arg("-0").arg("-a").arg(&list).args(["-n", &each, "-P", &cores.to_string()]);
        let status = command.arg("sha256sum").stdout(Stdio::null()).status()?;
        if status.success() { Ok(()) } else { Err(format!("sha256sum: {status}").into()) }
    };
    if hash().is_err() {
        return Ok(None);
    }
    median_of(n, hash).map(Some)
}

pub fn median(times: Vec<Duration>) -> Duration {
    percentile(times, 50)
}

/// Returns the time that `percent` percent of the times do not exceed.
pub fn percentile(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort_unstable();
    times.get(times.len() * percent / 100).copied().unwrap_or_default()
}

/// Returns the time of `work`.
pub fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed())
}

/// Returns the median time of `n` runs.
pub fn median_of(n: usize, mut work: impl FnMut() -> Result<()>) -> Result<Duration> {
    let times: Result<Vec<Duration>> = (0..n).map(|_| timed(&mut work)).collect();
    Ok(median(times?))
}

/// Formats a duration in milliseconds.
pub fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// Formats a duration in microseconds.
pub fn us(time: Duration) -> String {
    format!("{:.0} µs", time.as_secs_f64() * 1e6)
}

/// Adds the head of a table; `|` separates the titles. Figures are aligned right.
pub fn head(table: &mut String, titles: &str) {
    let titles: Vec<String> = titles.split('|').map(|title| title.trim().to_owned()).collect();
    row(table, &titles);
    row(table, &titles.iter().map(|_| "--:".to_owned()).collect::<Vec<_>>());
}

/// Adds a row to a table.
pub fn row(table: &mut String, cells: &[String]) {
    *table += &format!("| {} |\n", cells.join(" | "));
}
