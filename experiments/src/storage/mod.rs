//! The cost of ten years of edits on the disk, and in time to write and read: every version as a
//! file, git with loose objects and packed, and vaults with different intervals of keyframes
//! (paper, E8 in section 12.3).
//!
//! All of them keep the same texts, each version by its own publication. Then random old versions
//! are read back from each. The claim fails if one differs from what was written, or if `ctx
//! verify` does not find a vault intact.

mod edits;
mod figure;
mod stores;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use contextnest::text::document::Document;

use self::edits::{Size, Version};
use self::stores::{Bytes, Git, Ours, Snapshots, Store, Wait};
use crate::Options;
use crate::corpus::Draw;
use crate::process::{
    CTX, Result, head, median, median_of, ms, output, percentile, row, settle, us,
};

/// Intervals of full texts, in versions.
const INTERVALS: [u64; 5] = [1, 5, 10, 20, 50];
const FULL: Size = Size { documents: 200, edits: 10.0 };
const QUICK: Size = Size { documents: 6, edits: 1.5 };
/// Interval of publications that wait for the disk.
const DURABLE: usize = 8;
const SEED: u64 = 42;
/// Index of the git store.
const GIT: usize = 1;

/// The measurements of a store.
struct Figures {
    name: String,
    bytes: Bytes,
    /// Publications that do not wait for the disk, in the order of time, and those that do.
    writes: [Vec<Duration>; 2],
    reads: Vec<Duration>,
}

impl Figures {
    fn new(name: &str) -> Self {
        let (name, writes) = (name.to_owned(), [Vec::new(), Vec::new()]);
        Self { name, bytes: Bytes::default(), writes, reads: Vec::new() }
    }

    fn publish(&mut self, store: &mut dyn Store, version: &Version, wait: Wait) -> Result<()> {
        store.edit(version)?;
        let began = Instant::now();
        store.publish(version, wait)?;
        self.writes[usize::from(wait == Wait::Durable)].push(began.elapsed());
        Ok(())
    }

    /// Reads a version back; reports a different text.
    fn read(&mut self, store: &mut dyn Store, version: &Version) -> Result<Option<String>> {
        let began = Instant::now();
        let text = store.read(version)?;
        self.reads.push(began.elapsed());
        // Publishing writes only fields above the body.
        let is_same = text[Document::parse(&text)?.parts.body..] == version.body;
        let id = version.id();
        Ok((!is_same).then(|| format!("{}: {id} v{} is another text", self.name, version.number)))
    }

    fn cells_of_bytes(&self, snapshots: u64) -> Vec<String> {
        let Bytes { texts, diffs, records, log, allocated } = self.bytes;
        let all = self.bytes.all();
        let ratio = format!("{:.3}", all as f64 / snapshots as f64);
        let sizes = [texts, diffs, records, log, all].map(megabytes);
        [&[self.name.clone()][..], &sizes, &[ratio, megabytes(allocated)]].concat()
    }

    fn cells_of_times(&self) -> Vec<String> {
        let [no_sync, durable] = &self.writes;
        let last = &no_sync[no_sync.len() - no_sync.len().div_ceil(10)..];
        let times = [no_sync, last, durable].map(|times| match times.is_empty() {
            true => "–".to_owned(),
            false => ms(median(times.to_vec())),
        });
        let reads = [50, 95].map(|percent| us(percentile(self.reads.clone(), percent)));
        [&[self.name.clone()][..], &times, &reads].concat()
    }
}

/// Runs the experiment, prints its tables, and returns the claims that failed.
pub(crate) fn run(options: &Options) -> Result<Vec<String>> {
    let (size, samples) = if options.quick { (QUICK, 20) } else { (FULL, 1_000) };
    let dir = options.dir.join("storage");
    fs::create_dir_all(&dir)?;
    let versions = edits::history(size, SEED);
    let mut figures = vec![Figures::new("full snapshots"), Figures::new("git, loose objects")];
    let mut stores: Vec<Box<dyn Store>> =
        vec![Box::new(Snapshots(dir.join("snapshots"))), Box::new(Git::new(&dir.join("git"))?)];
    for k in INTERVALS {
        figures.push(Figures::new(&format!("`ctx`, k = {k}")));
        stores.push(Box::new(Ours::new(&dir.join(format!("k-{k}")), k)?));
    }
    // The stores take turns, so that other work on the machine affects all of them.
    for (n, version) in versions.iter().enumerate() {
        if n % 500 == 0 {
            eprintln!("storage: version {n} of {}", versions.len());
        }
        let wait = if n % DURABLE == DURABLE - 1 { Wait::Durable } else { Wait::NoSync };
        for (figures, store) in figures.iter_mut().zip(&mut stores) {
            figures.publish(store.as_mut(), version, wait)?;
        }
    }
    settle(&dir)?;

    eprintln!("storage: {samples} old versions of each");
    let mut broken = Vec::new();
    for (figures, store) in figures.iter_mut().zip(&mut stores) {
        figures.bytes = store.bytes()?;
        broken.extend(store.check().err().map(|why| format!("{}: {why}", figures.name)));
    }
    let mut draw = Draw::new(SEED, size.documents, 1);
    let asked: Vec<&Version> =
        (0..samples).map(|_| &versions[draw.below(versions.len())]).collect();
    for version in &asked {
        for (figures, store) in figures.iter_mut().zip(&mut stores) {
            broken.extend(figures.read(store.as_mut(), version)?);
        }
    }
    let git = stores[GIT].as_mut();
    git.pack()?;
    let mut packed = Figures::new("git, packed");
    packed.bytes = git.bytes()?;
    for version in &asked {
        broken.extend(packed.read(git, version)?);
    }
    git.stop()?;
    figures.insert(GIT + 1, packed);
    print(&figures, &versions);
    let repetitions = if options.quick { 3 } else { 50 };
    let start = |program| {
        median_of(repetitions, || output(Command::new(program).arg("--version")).map(drop))
    };
    println!("The start of a process: `ctx` {}, `git` {}.", ms(start(CTX)?), ms(start("git")?));
    if let Some(path) = &options.figure {
        fs::write(path, figure::draw(&figures))?;
    }
    Ok(broken)
}

fn print(figures: &[Figures], versions: &[Version]) {
    let snapshots = figures[0].bytes.all();
    let mut out = String::new();
    head(
        &mut out,
        "way | texts | diffs | records | log, index | all bytes | of full snapshots | on the disk",
    );
    for one in figures {
        row(&mut out, &one.cells_of_bytes(snapshots));
    }
    out.push('\n');
    head(
        &mut out,
        "way | publication, no sync | the last tenth of these | durable | old version, median | p95",
    );
    for one in figures {
        row(&mut out, &one.cells_of_times());
    }
    println!("{out}");
    let documents = versions.iter().filter(|version| version.number == 1).count();
    let mut counts = vec![0; documents];
    versions.iter().for_each(|version| counts[version.document] += 1);
    counts.sort_unstable();
    let mut lengths: Vec<usize> = versions.iter().map(|version| version.body.len()).collect();
    lengths.sort_unstable();
    println!(
        "{documents} documents, {} versions: a median of {} a document, at most {}; a version has a \
         median of {} bytes, the longest {}.",
        versions.len(),
        counts[documents / 2],
        counts[documents - 1],
        lengths[lengths.len() / 2],
        lengths[lengths.len() - 1],
    );
}

fn megabytes(bytes: u64) -> String {
    format!("{:.2} MB", bytes as f64 / 1e6)
}
