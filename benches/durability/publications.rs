//! Publications compared with their floor.

use std::convert::identity;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contextnest::files::vault::Vault;
use contextnest::files::vault::disk::Disk;

use crate::changes::{Made, Op, Recorder, Slow};
use crate::floor::Floor;
use crate::place::{Beside, Place};
use crate::process::{Options, Result, head, median, row, settle};
use crate::{documents, fine};

/// Additional time of a sync on the simulated disk.
const DELAY: Duration = Duration::from_millis(5);
const LOG: &str = ".versions/checkpoints.jsonl";

/// The documents of an event, and the kind of vault.
#[derive(Clone, Copy)]
struct Case {
    what: &'static str,
    /// Number of documents of the vault, and of those that an event publishes.
    documents: usize,
    published: usize,
    /// True if each round is the first event of a vault.
    is_new: bool,
    beside: Beside,
    delay: Duration,
    rounds: usize,
}

/// The measured times of a case.
#[derive(Default)]
struct Figures {
    durable: Vec<Duration>,
    floor: Vec<Duration>,
    /// Part of the floor that was spent waiting for the disk.
    waited: Vec<Duration>,
    no_sync: Vec<Duration>,
    syncs: usize,
    /// Of the recorded publications: the times until the first change, from there to the commit,
    /// and from there to the end.
    parts: [Vec<Duration>; 3],
}

/// Measures every case and adds the tables.
pub(crate) fn measure(options: &Options, out: &mut String) -> Result<()> {
    let many = documents(options);
    // These are 100, 15 and 7; in a smoke test 2, 3 and 1.
    let (few, rounds, first) = (options.samples / 2, options.repetitions, 3 * options.events - 2);
    let zero = Duration::ZERO;
    let one = |what, documents, beside, delay| {
        let (published, is_new) = (1, false);
        Case { what, documents, published, is_new, beside, delay, rounds: few }
    };
    let all = Case { published: many, rounds, ..one("all, edited", many, Beside::All, zero) };
    let cases = [
        one("1, edited", 1, Beside::All, zero),
        one("1, edited", many, Beside::All, zero),
        one("1, edited; no derived files", many, Beside::Index, zero),
        one("1, edited; no derived files, no index", many, Beside::Nothing, zero),
        one("1, edited; no derived files; 5 ms more a sync", many, Beside::Index, DELAY),
        all,
        Case { what: "all, new", is_new: true, rounds: first, ..all },
        Case { what: "all, edited; 5 ms more a sync", delay: DELAY, ..all },
    ];
    let mut parts = String::new();
    head(&mut parts, "published | documents | to the first change | to the commit | to the end");
    head(
        out,
        "published | documents | rounds | durable | its changes alone | ratio | syncs | their part of that | without sync",
    );
    // A smoke test runs every other case: one of each sort.
    let step = if options.events == 1 { 2 } else { 1 };
    for (n, case) in cases.iter().enumerate().step_by(step) {
        eprintln!("{} of {}", case.what, case.documents);
        let figures = case.measure(&options.dir.join(format!("case-{n}")))?;
        let [durable, floor, waited, no_sync] =
            [figures.durable, figures.floor, figures.waited, figures.no_sync].map(median);
        let ratio = format!("{:.2}", durable.as_secs_f64() / floor.as_secs_f64());
        row(
            out,
            &[
                case.what.to_owned(),
                case.documents.to_string(),
                case.rounds.to_string(),
                fine(durable),
                fine(floor),
                ratio,
                figures.syncs.to_string(),
                fine(waited),
                fine(no_sync),
            ],
        );
        if case.delay > zero {
            // Only the measured case has the slow disk.
            continue;
        }
        let times = figures.parts.map(|times| fine(median(times)));
        let what = [case.what.to_owned(), case.documents.to_string()];
        row(&mut parts, &[&what[..], &times].concat());
    }
    *out += "\n";
    *out += &parts;
    Ok(())
}

impl Case {
    fn measure(&self, dir: &Path) -> Result<Figures> {
        let mut figures = Figures::default();
        let mut places = None;
        for round in 1..=self.rounds {
            // A vault in which changes are recorded, one in which they are only made, the measured
            // one, and one without sync.
            let [recorded, bare, durable, no_sync] = match places.take() {
                Some(places) if !self.is_new => places,
                _ => self.places(&dir.join(round.to_string()))?,
            };
            if !self.is_new {
                for place in [&recorded, &durable, &no_sync] {
                    place.edit(self.published, round)?;
                }
            }
            let recorder = Arc::new(Recorder::default());
            let disk = Disk::overseen(recorder.clone());
            let [began, ended] = recorded.publish(self.published, round, disk, identity)?;
            let made = recorder.made();
            let [first, commit] = marks(&made).ok_or("no commit")?;
            for (times, [from, to]) in
                figures.parts.iter_mut().zip([[began, first], [first, commit], [commit, ended]])
            {
                times.push(to - from);
            }
            let homes = [bare.root.as_path(), bare.home.as_path()];
            let floor = Floor::new(made, homes, &recorded.home, self.delay);
            figures.syncs = floor.syncs();
            self.settle(dir)?;
            let disk = match self.delay {
                Duration::ZERO => Disk::default(),
                delay => Disk::overseen(Arc::new(Slow(delay))),
            };
            let mut measure = || -> Result<()> {
                let [began, ended] =
                    durable.publish(self.published, round, disk.clone(), identity)?;
                figures.durable.push(ended - began);
                Ok(())
            };
            // Neither is always the first after the pause.
            if round % 2 == 0 {
                measure()?;
                self.settle(dir)?;
            }
            let began = Instant::now();
            let waited = floor.make()?;
            figures.floor.push(began.elapsed());
            figures.waited.push(waited);
            if round % 2 == 1 {
                self.settle(dir)?;
                measure()?;
            }
            self.settle(dir)?;
            let disk = Disk::default();
            let [began, ended] =
                no_sync.publish(self.published, round, disk, Vault::without_sync)?;
            figures.no_sync.push(ended - began);
            self.settle(dir)?;
            places = Some([recorded, bare, durable, no_sync]);
        }
        Ok(figures)
    }

    /// Waits until the disk has everything, unless the times are not used.
    fn settle(&self, dir: &Path) -> Result<()> {
        if self.rounds > 3 { settle(dir) } else { Ok(()) }
    }

    /// Makes four equal vaults.
    fn places(&self, dir: &Path) -> Result<[Place; 4]> {
        fs::create_dir_all(dir)?;
        let new = |name| -> Result<Place> {
            let place = Place::new(dir, name, self.documents, self.beside)?;
            if !self.is_new {
                place.publish(self.documents, 0, Disk::default(), Vault::without_sync)?;
            }
            Ok(place)
        };
        let recorded = new("recorded")?;
        let bare = Place::at(dir, "bare");
        for (from, to) in [(&recorded.root, &bare.root), (&recorded.home, &bare.home)] {
            let status = Command::new("cp").arg("-a").arg(from).arg(to).status()?;
            if !status.success() {
                return Err(format!("cp: {status}").into());
            }
        }
        let same = [recorded, bare, new("durable")?, new("no-sync")?];
        self.settle(dir)?;
        Ok(same)
    }
}

/// Returns the times of the first change and of the durable commit, which is followed by the
/// changes after the first sync of the log.
fn marks(made: &[Made]) -> Option<[Instant; 2]> {
    let synced = made.iter().position(|made| made.op.syncs(LOG) && made.op != Op::SyncAll)?;
    Some([made.first()?.at, made.get(synced + 1)?.at])
}
