//! `cargo bench -p experiments`: experiments of the ContextNest paper, run against this code.
//!
//! `e2` repeats queries in fresh processes and compares what they answer, byte by byte (paper, E2
//! in section 12.3). `stale` counts which way of finding text hands out what is no longer, or never
//! was, published (section 11.2). `e3` makes every attack of the threat model and looks at what
//! `verify` finds (E3 in section 12.3). `storage` keeps ten years of edits in vaults, in git and as
//! files (E8 in section 12.3). `honest` looks for false alarms in what people honestly do to a
//! vault, and `mutation` flips bits of every authoritative file. `faults`, `full`, `recovered`,
//! `crashes`, `kills` and `writers` stop commands wherever they can be stopped, and let many run at once. They
//! print the tables of `docs/experiments.md`; a claim that does not hold is an error, so that a
//! short run of them is a test. Progress goes to stderr.
//!
//! `vaults` makes no claim: it leaves attacked vaults in `DIR/experiments`, each with the answer
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
    // What is there already is not ours to remove.
    fs::create_dir(&options.dir).map_err(|why| format!("{}: {why}", options.dir.display()))?;
    let broken = run(&options);
    if options.chosen != Some(VAULTS) {
        fs::remove_dir_all(&options.dir)?;
    }
    let broken = broken?;
    for claim in &broken {
        eprintln!("does not hold: {claim}");
    }
    if broken.is_empty() { Ok(()) } else { Err("a claim does not hold".into()) }
}

/// An experiment, which gives the claims that did not hold.
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

/// The one that makes no claim.
const VAULTS: &str = "vaults";

/// Runs the chosen experiments and gives the claims that did not hold.
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

/// A number of full size, of a quick run, and of a brief one.
type Sizes<T> = (T, T, T);

struct Options {
    /// One of them; else all.
    chosen: Option<&'static str>,
    /// Where the vaults are made.
    dir: PathBuf,
    /// Whether that was said, and is not the place for want of another.
    dir_named: bool,
    /// Small vaults, and few of them.
    quick: bool,
    /// A quick run with a sample of what takes long: every attack, command and kind of vault is in it.
    brief: bool,
    services: usize,
    /// How many queries each arm has.
    queries: usize,
    /// How often each query is asked in each vault.
    repetitions: usize,
    /// How many of a hundred repetitions find no index, of selectors and of searches. A search
    /// without one reads and indexes all documents, which takes longer than all else.
    cold: [usize; 2],
    /// The one history of `honest` to draw, to see it again; the bits that `mutation` draws.
    seed: Option<u64>,
    /// Where `storage` draws its figure.
    figure: Option<PathBuf>,
    /// The commands of `faults` whose names have this word; else all.
    only: Option<String>,
}

impl Options {
    /// The size of this run.
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
        // `cargo bench` says `--bench`; without it this runs as a test, which is to be short.
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
                // A folder of our own in it: it is removed at the end.
                "--dir" => {
                    options.dir = Path::new(&value()?).join("experiments");
                    options.dir_named = true;
                }
                other => return Err(format!("unknown argument `{other}`").into()),
            }
        }
        // Several may run side by side.
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
