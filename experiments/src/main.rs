//! `cargo bench -p experiments`: experiments of the ContextNest paper, run against this code.
//!
//! `e2` repeats queries in fresh processes and compares their answers, byte by byte (paper, E2 in
//! section 12.3). `stale` counts which ways of finding text return superseded or unpublished texts
//! (section 11.2). `e3` makes every attack of the threat model and checks the findings of `verify`
//! (E3 in section 12.3). `storage` keeps ten years of edits in vaults, in git and as files (E8 in
//! section 12.3). `honest` looks for false alarms about honest edits and commands, and `mutation`
//! flips bits of every authoritative file. `faults`, `full`, `recovered`, `crashes`, `kills` and
//! `writers` interrupt commands everywhere, and run many at once. They print the tables of
//! `docs/experiments.md`; a claim that fails is an error, so that a short run of them is a test.
//! Progress goes to stderr.
//!
//! `vaults` is without claims: it writes attacked vaults to `DIR/experiments`, each with the answer
//! of `verify --json`, for the reader in `spec/reader`.
//!
//! ```text
//! cargo bench -p experiments --
//! [e2|e3|vaults|storage|retention|stale|honest|mutation|faults|full|recovered|crashes|kills|writers]
//! [--quick|--brief] [--seed N] [--repetitions N] [--cold PERCENT] [--dir DIR] [--figure FILE] [--only WORD]
//! ```

#![allow(clippy::disallowed_methods, reason = "the bench reads its own clock and its own files")]
#![allow(clippy::disallowed_macros, reason = "the tables are this program's result")]

mod bm25;
#[path = "../../benches/changes.rs"]
mod changes;
#[path = "../../benches/corpus.rs"]
mod corpus;
mod e2;
mod e3;
mod faults;
mod handbook;
mod honest;
mod inside;
mod kills;
mod mutation;
#[path = "../../benches/process.rs"]
mod process;
mod queries;
mod reference;
mod retention;
mod stale;
mod storage;
mod threads;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use process::Result;

fn main() -> Result<()> {
    let options = Options::read(std::env::args().skip(1))?;
    if let Some(above) = options.dir.parent() {
        fs::create_dir_all(above)?;
    }
    // An existing folder must not be removed.
    fs::create_dir(&options.dir).map_err(|why| format!("{}: {why}", options.dir.display()))?;
    let broken = run(&options);
    if options.chosen != Some(VAULTS) {
        fs::remove_dir_all(&options.dir)?;
    }
    let broken = broken?;
    for claim in &broken {
        eprintln!("claim failed: {claim}");
    }
    if broken.is_empty() { Ok(()) } else { Err("a claim failed".into()) }
}

/// An experiment, which returns the claims that failed.
type Experiment = fn(&Options) -> Result<Vec<String>>;

/// The experiments that make claims, in the order of their runs.
const EXPERIMENTS: [(&str, Experiment); 13] = [
    ("e2", e2::run),
    ("e3", e3::run),
    ("storage", storage::run),
    ("retention", retention::run),
    ("stale", stale::run),
    ("honest", honest::run),
    ("mutation", mutation::run),
    ("faults", faults::run),
    ("full", faults::full),
    ("recovered", faults::recovered),
    ("crashes", faults::crashes),
    ("kills", kills::kills),
    ("writers", kills::writers),
];

/// The name of the one without claims.
const VAULTS: &str = "vaults";

/// Runs the chosen experiments and returns the claims that failed.
fn run(options: &Options) -> Result<Vec<String>> {
    if options.chosen == Some(VAULTS) {
        e3::write_vaults(options)?;
    }
    let mut broken = Vec::new();
    for (name, run) in EXPERIMENTS {
        if options.chosen.is_none_or(|chosen| chosen == name) {
            let began = Instant::now();
            broken.extend(run(options)?);
            eprintln!("{name} took {} s", began.elapsed().as_secs());
        }
    }
    Ok(broken)
}

/// A number for a full, a quick, and a brief run.
type Sizes<T> = (T, T, T);

struct Options {
    /// The chosen experiment; `None` for all.
    chosen: Option<&'static str>,
    /// Folder of the vaults.
    dir: PathBuf,
    /// True if the user named the folder.
    dir_named: bool,
    /// True for small vaults, and few of them.
    quick: bool,
    /// True for a quick run with a sample of slow cases: it still covers every attack, command and
    /// kind of vault.
    brief: bool,
    services: usize,
    /// Number of queries of each arm.
    queries: usize,
    /// Number of times that each query is asked in each vault.
    repetitions: usize,
    /// Percentages of repetitions without an index, of selectors and of searches. A search without
    /// one reads and indexes all documents, which takes longer than everything else.
    cold: [usize; 2],
    /// Seed of the only history of `honest`, to repeat it; or of the bits of `mutation`.
    seed: Option<u64>,
    /// Path of the figure of `storage`.
    figure: Option<PathBuf>,
    /// A word in the names of the commands of `faults` to run; `None` for all.
    only: Option<String>,
}

impl Options {
    /// Returns the size for this run.
    fn size<T>(&self, (full, quick, brief): Sizes<T>) -> T {
        match (self.quick, self.brief) {
            (false, _) => full,
            (true, false) => quick,
            (true, true) => brief,
        }
    }

    fn read(args: impl Iterator<Item = String>) -> Result<Self> {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("experiments");
        let mut options = Self {
            chosen: None,
            dir,
            dir_named: false,
            quick: false,
            brief: false,
            services: 106,
            queries: 100,
            repetitions: 100,
            cold: [50, 10],
            seed: None,
            figure: None,
            only: None,
        };
        // `cargo bench` passes `--bench`; without it this runs as a test, which must be short.
        let (mut is_bench, mut quick) = (false, false);
        let mut args = args.peekable();
        while let Some(arg) = args.next() {
            let names = EXPERIMENTS.iter().map(|(name, _)| *name).chain([VAULTS]);
            if let Some(name) = names.into_iter().find(|name| *name == arg) {
                options.chosen = Some(name);
                continue;
            }
            let mut value = || args.next().ok_or_else(|| format!("`{arg}` wants a value"));
            match arg.as_str() {
                "--seed" => options.seed = Some(value()?.parse()?),
                "--figure" => options.figure = Some(std::path::absolute(value()?)?),
                "--only" => options.only = Some(value()?),
                "--bench" => is_bench = true,
                "--quick" => quick = true,
                "--brief" => (quick, options.brief) = (true, true),
                "--repetitions" => options.repetitions = value()?.parse()?,
                "--cold" => options.cold = [value()?.parse()?; 2],
                // A folder of its own inside, which is removed at the end.
                "--dir" => {
                    options.dir = Path::new(&value()?).join("experiments");
                    options.dir_named = true;
                }
                other => return Err(format!("unknown argument `{other}`").into()),
            }
        }
        // Several experiments may run at the same time.
        if let Some(chosen) = options.chosen.filter(|_| !options.dir_named) {
            options.dir.set_file_name(format!("experiments-{chosen}"));
        }
        if quick || !is_bench {
            let cold = [50, 50];
            options =
                Self { quick: true, services: 6, queries: 20, repetitions: 4, cold, ..options };
        }
        Ok(options)
    }
}
